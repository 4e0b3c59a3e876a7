"""Information-directed sampling on Θ: its law on two arms, the prior, sure posteriors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from moments import Make, Moment, assert_certain_as, moment, moments, normal_problem, small_problem
from plans import random_problem
from reference import Known, best_arm, ids, ids_theta

from fpbandits import Agent, IDSTheta, Problem, load_problem, simulate
from fpbandits.engine.contract import Ahead, Envelope
from fpbandits.policies.shared.likelihood import bracket


def regret_and_gain(means: np.ndarray, posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Δ_a and v_a, by the law of total variance."""
    best = np.array([best_arm(row) for row in means.tolist()])
    regret = posterior @ (means.max(axis=1, keepdims=True) - means)
    gain = posterior @ (means - posterior @ means) ** 2
    for arm in set(best.tolist()):
        own = posterior * (best == arm)
        if own.sum() > 0:
            middle = own @ means / own.sum()
            gain -= own @ (means - middle) ** 2
    return regret, gain


def test_no_law_on_arms_has_a_smaller_ratio() -> None:
    """Against laws on all arms: random ones, and all two arms in steps of a hundredth.

    In half of the examples the first arm is probably best, and pays the same under all models.
    """
    generator = np.random.default_rng(1)
    drawn = 0
    for _ in range(60):
        models, arms = int(generator.integers(2, 9)), int(generator.integers(2, 6))
        means, costs = generator.random((models, arms)), generator.exponential(4, models)
        if generator.random() < 0.5:
            means[:, 0], means[0, 1:], costs[0] = 0.6, 0.5 * means[0, 1:], 0.0
        posterior = np.exp(-costs) / np.exp(-costs).sum()
        regret, gain = regret_and_gain(means, posterior)
        arm, other, chance = ids(means.tolist(), costs.tolist(), [1.0] * models)
        law = np.zeros(arms)
        law[arm] += 1 - chance
        law[other] += chance
        laws = [*np.eye(arms), *generator.dirichlet(np.full(arms, 0.3), 500)]
        for step in np.linspace(0, 1, 101):
            laws += [step * one + (1 - step) * two for one in np.eye(arms) for two in np.eye(arms)]
        for rival in laws:
            mine = (law @ regret) ** 2 * (rival @ gain)
            assert mine <= (rival @ regret) ** 2 * (law @ gain) * (1 + 1e-6) + 1e-15
        drawn += 0 < chance < 1
    assert drawn > 10


class Draws:
    """A stream that gives one number, and counts how often."""

    def __init__(self, number: float) -> None:
        self.number, self.given = number, 0

    def random(self) -> float:
        self.given += 1
        return self.number


def plan(problem: Problem, seen: list[tuple[int, float]], number: float) -> tuple[int, int]:
    """Plan in plain Python, and return the arm, and how many numbers were drawn for it."""
    policy, random = IDSTheta(), Draws(number)
    state = policy.new_state(problem)
    prepared: Any = policy.prepare(problem)
    workspace = policy.workspace(prepared, len(problem.arms))
    for arm, reward in seen:
        state.plays[arm] += 1
        state.sums[arm] += reward
    given: Any = random
    IDSTheta.plan(prepared, state, workspace, Ahead(None, 1, 0, None), given)
    return int(workspace.cycle[0]), random.given


def test_the_chance_of_the_other_arm_is_right_to_the_last_digits() -> None:
    """Also where the posterior is all but sure: the best arm of paper:two's θ² tells nothing.

    So the other arm must be played at a chance near to the odds of θ¹, which fall to e^−75 here.
    """
    problem = load_problem("paper:two")
    known, least = Known(problem), 1.0
    for plays in range(1, 80):
        seen = [(0, float(number % 5 == 0)) for number in range(plays)]
        costs = known.misfits([plays, 0], [sum(reward for _, reward in seen), 0.0])
        arm, other, chance = ids(known.means, costs, [1.0, 1.0])
        if max(costs) > 80:
            assert plan(problem, seen, 0.0) == (1, 0)
            continue
        if 0 < chance < 1:
            assert plan(problem, seen, chance * (1 - 1e-9)) == (other, 1)
            assert plan(problem, seen, chance * (1 + 1e-9)) == (arm, 1)
            least = min(least, chance)
        else:
            assert plan(problem, seen, 0.5) == (arm, 0)
    assert least < 1e-25


@pytest.mark.parametrize("make", [small_problem, normal_problem])
def test_it_is_certain_while_no_model_with_another_best_arm_can_come_back(make: Make) -> None:
    """Within 80 nats of the nearest model with the same best arm, and a billionth."""

    def best(one: Moment) -> np.ndarray:
        return np.array([best_arm(row) for row in one.unit_means.tolist()])

    def stays(one: Moment, more: int, by: float) -> bool:
        fit, own = one.workspace.fit, best(one) == one.cycle[0]
        bracket(one.prepared.theta, one.envelope, fit, np.array(one.cycle), 1, more)
        nearest = fit.lowest[~own].min(initial=math.inf)
        return bool(nearest + by > fit.highest[own].min() + 80)

    def is_sure(one: Moment) -> bool:
        return set(best(one)[one.workspace.posterior > 0].tolist()) == {one.cycle[0]}

    assert_certain_as(stays, filter(is_sure, moments(IDSTheta(), 200, make)))


def test_a_model_is_ruled_out_beyond_80_nats() -> None:
    """Each failure of arm 1 tells ln 2 nats."""
    problem = Problem.bernoulli([[0.2, 0.1], [0.6, 0.7]])
    for plays, is_left in ((115, True), (116, False)):  # 79.71 and 80.41 nats
        state = IDSTheta().new_state(problem)
        state.plays[0] = plays
        one = moment(IDSTheta(), problem, state, Envelope(np.zeros(2), 0.0))
        assert (one.workspace.posterior[1] > 0) == is_left


def test_among_some_arms_it_draws_from_these_alone() -> None:
    """Of three arms the second tells nothing and loses most; without the third one is sure."""
    problem = Problem.bernoulli([[0.6, 0.2, 0.5], [0.4, 0.2, 0.9], [0.6, 0.2, 0.7]])
    agent = Agent(problem, IDSTheta())
    assert {agent.why().arm for _ in range(5)} <= {"arm1", "arm3"}
    assert agent.why(among=["arm1", "arm2"]).arm == "arm1"
    assert agent.why(among=["arm2"]).arm == "arm2"
    assert agent.why(among=["arm2", "arm3"]).arm == "arm3"


def test_the_prior_counts_and_what_it_rules_out_is_out() -> None:
    generator = np.random.default_rng(2)
    differ = 0
    for _ in range(15):
        means = random_problem(generator).means
        names = [f"theta{number + 1}" for number in range(len(means))]
        weights = generator.choice([0.0, 1.0, 5.0, 1e6], len(names))
        weights[0] = 2.0
        problem = Problem.bernoulli(means, prior=dict(zip(names, weights.tolist(), strict=True)))
        agent, blind = Agent(problem, IDSTheta()), Agent(Problem.bernoulli(means), IDSTheta())
        player = ids_theta(Known(problem))
        expected = next(player)
        for _ in range(60):
            decision, other = agent.ask(), blind.ask()
            assert decision.arm == problem.arms[expected]
            differ += decision.arm != other.arm
            reward = float(generator.random() < 0.5)
            agent.tell(decision.id, reward)
            blind.tell(other.id, reward)
            expected = player.send(reward)
    assert differ > 50


def test_an_arm_that_loses_nothing_is_played_though_it_tells_nothing() -> None:
    """Arm 2 pays as much as the best under both models: nothing is left to be learned."""
    problem = Problem.bernoulli([[0.5, 0.5, 0.1], [0.3, 0.5, 0.5]])
    agent = Agent(problem, IDSTheta())
    for number in range(50):
        decision = agent.ask()
        assert decision.arm == "arm2"
        agent.tell(decision.id, number % 2)


def test_regret_is_small_and_bounded_where_the_best_arm_tells_all() -> None:
    """Seed 1, 200 runs: 5.3 ± .5 on the permutations, 2.25 ± .06 under θ²; five errors allowed.

    From 10⁵ to 10¹² nothing more is lost on the permutations, and leaps take it there.
    """
    common: Any = {"runs": 200, "seed": 1, "shuffle": True}
    two = simulate(
        load_problem("paper:two"),
        IDSTheta(),
        truth="theta2",
        horizon=10**4,
        times=[10**4],
        **common,
    )
    assert two.final_regret("ids-theta").mean() < 2.6
    result = simulate(
        load_problem("paper:permutations"), IDSTheta(), horizon=10**12, times=[10**5], **common
    )
    before, after = result.mean_regret("ids-theta")
    assert before == after < 8
    assert result.plans["ids-theta"].mean() < 2000


def test_mean_regret_over_the_prior_is_within_its_bound() -> None:
    """√(½·L·H·T), by far: 30 runs under each of eight models."""
    generator = np.random.default_rng(3)
    problem, horizon = Problem.bernoulli(generator.random((8, 3))), 200
    best = np.bincount([best_arm(row) for row in problem.means.tolist()], minlength=3) / 8
    entropy = -sum(share * math.log(share) for share in best if share > 0)
    regret = [
        simulate(problem, IDSTheta(), truth=truth, horizon=horizon, runs=30, times=[horizon])
        .final_regret("ids-theta")
        .mean()
        for truth in problem.models
    ]
    assert np.mean(regret) < math.sqrt(0.5 * 3 * entropy * horizon)
