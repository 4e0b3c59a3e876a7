"""What policies that trust Θ do when no model fits: alike, whichever of them it is."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from oracle import kl_bernoulli

from fpbandits import Agent, Policy, Problem, simulate
from fpbandits.engine.contract import MISFITS, OWN, Envelope
from fpbandits.policies import IMED, Frugal, Optimist
from fpbandits.policies.shared.fit import new_fit
from fpbandits.policies.shared.giving_up import keeps_fitting, mark_unfit

WRONG = Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]])


@pytest.mark.parametrize("policy", [Frugal(), Optimist()], ids=str)
def test_without_the_option_misfits_are_counted_and_nothing_is_given_up(policy: Policy) -> None:
    agent = Agent(WRONG, policy)
    for _ in range(400):
        agent.tell(agent.ask().id, 0.5)
    assert agent.misfits > 0
    assert agent._seen.counters[OWN] == 0


@pytest.mark.parametrize("policy", [Frugal(), Optimist()], ids=str)
def test_without_the_option_a_right_model_is_a_misfit_once_in_a_thousand_times(
    policy: Policy,
) -> None:
    """n rewards of 0 surprise a mean of 0.8 by n·ln 5, and 7 + ln(n + 1) is allowed."""
    agent = Agent(Problem.bernoulli([[0.8]]), policy)
    for told in range(12):
        is_misfit = told * math.log(5) > 7 + math.log(told + 1)
        before = agent.misfits
        agent.tell(agent.ask().id, 0)
        assert agent.misfits - before == is_misfit == (told > 5)


@pytest.mark.parametrize(
    "policy",
    [Frugal(false_alarm=0.37), Frugal(false_alarm=0.001), Optimist(false_alarm=0.001)],
    ids=str,
)
def test_safe_gives_up_the_models_for_good_and_goes_on_with_imed(policy: Policy) -> None:
    """Also where the sums of all rewards fit again later, as rewards turn to those of a model."""
    agent, blind = Agent(WRONG, policy), Agent(WRONG, IMED())
    generator = np.random.default_rng(3)
    before = after = 0
    for number in range(900):
        given_up = agent._seen.counters[OWN] == 1
        decision = agent.ask()
        if given_up:
            assert decision.arm == blind.ask().arm
        after += given_up
        before += not given_up
        fits = number > 300
        chance = (0.1, 0.9) if fits else (0.5, 0.45)
        reward = float(generator.random() < chance[decision.arm == "arm2"])
        agent.tell(decision.id, reward)
        blind.observe(decision.arm, reward)
    assert before > 5
    assert after > 700
    # The plan that raised the alarm is the first that is counted.
    assert agent._seen.counters[MISFITS] >= after


def test_leaps_end_where_the_alarm_may_be_raised() -> None:
    """Leaping or step by step, plays until it gave up, and after, have the same law.

    Arm 1 pays .7, where a model says .9. 300 runs each, seeds 0 and 1; means within 4 standard
    errors: one false alarm in 15,000.
    """
    found = []
    for seed, leap in enumerate((True, False)):
        result = simulate(
            WRONG,
            Frugal(false_alarm=0.001),
            truth=[0.7, 0.75],
            horizon=3000,
            runs=300,
            seed=seed,
            leap=leap,
        )
        regret = result.final_regret(str(Frugal(false_alarm=0.001)))
        found.append((regret.mean(), regret.var(ddof=1) / 300))
    (one, its), (other, their) = found
    assert one > 1
    assert abs(one - other) < 4 * np.sqrt(its + their)


def test_a_model_that_fits_is_not_given_up() -> None:
    """Seed 1; 50 agents, each of which raises a false alarm with a chance below e^−7."""
    generator = np.random.default_rng(1)
    for _ in range(50):
        agent = Agent(WRONG, Frugal(false_alarm=0.001))
        for _ in range(100):
            decision = agent.ask()
            chance = 0.1 if decision.arm == "arm1" else 0.9
            agent.tell(decision.id, float(generator.random() < chance))
        assert agent._seen.counters[OWN] == agent.misfits == 0


@pytest.mark.parametrize("normal", [False, True])
def test_models_are_marked_that_surprise_by_more_than_is_allowed(normal: bool) -> None:
    """By the surprise of the arms that were played; a little more of an alarm marks none."""
    rows, generator = [[0.3, 0.8, 0.5], [0.6, 0.1, 0.5]], np.random.default_rng(7)
    problem = Problem.gaussian(rows, 0.5) if normal else Problem.bernoulli(rows)
    means, policy = np.array(problem.rewards.unit_means), Optimist()
    theta, state = policy.theta(problem), policy.new_state(problem)
    fit, marks = new_fit(theta), np.zeros(2, bool)
    for _ in range(20):
        n = state.plays[:] = [int(generator.integers(1, 3)), 0, int(generator.integers(0, 9))]
        S = state.sums[:] = np.array(n) * generator.random(3)
        surprises = [sum(map(partial(surprise, normal), n, S, row)) for row in means]
        allowed = np.log(np.array(n) + 1.0).sum()
        for model, other in ((0, 1), (1, 0)):
            for spare in (-1e-9, 1e-9):
                alarm = surprises[model] - allowed + spare
                mark_unfit(theta, state, alarm, fit, marks)
                assert marks[model] == (spare < 0)
                assert marks[other] == (surprises[other] > surprises[model] + spare)


def surprise(normal: bool, n: float, total: float, q: float) -> float:
    if n == 0 and not normal:
        return 0.0
    return 2 * (total - n * q) ** 2 / (n + 1) if normal else n * kl_bernoulli(total / n, q)


def test_a_millionth_of_a_nat_is_spared_for_rounding() -> None:
    """One more reward of an arm of mean ½, seen 3 times: the most surprising is another 1."""
    problem = Problem.bernoulli([[0.5, 0.25]])
    theta, state = Optimist().theta(problem), Optimist().new_state(problem)
    state.plays[:], state.sums[:] = [3, 2], [3, 1]
    most = 4 * math.log(2) + 2 * kl_bernoulli(0.5, 0.25)
    envelope = Envelope(np.array([0.5, 0.25]), math.inf)
    for spare, sure in ((2e-6, True), (0.5e-6, False), (-0.5e-6, False)):
        alarm = most - math.log(4) - math.log(3) + spare
        assert keeps_fitting(theta, alarm, state, 0, envelope, 0, 1) is sure


@pytest.mark.parametrize("normal", [False, True])
def test_the_alarm_is_not_raised_during_plays_that_keep_fitting(normal: bool) -> None:
    """By looking at every moment of a stretch, at the least and the largest sum of its rewards."""
    generator, said = np.random.default_rng(12), []
    for _ in range(400):
        rows = generator.uniform(0.05, 0.95, (3, 3))
        problem = Problem.gaussian(rows, 0.5) if normal else Problem.bernoulli(rows)
        policy = Optimist()
        theta, state = policy.theta(problem), policy.new_state(problem)
        means = np.array(problem.rewards.unit_means)
        truth, reference, played = (int(each) for each in generator.integers(0, 3, 3))
        state.plays[:] = generator.integers(0, 40, 3)
        state.sums[:] = state.plays * np.clip(means[truth] + generator.normal(0, 0.1, 3), 0, 1)
        m, spread, alarm = int(generator.integers(1, 60)), 0.5, float(generator.uniform(0, 9))
        envelope = Envelope(means[truth], spread, not normal)

        most, stray = 0.0, math.sqrt(m * spread)
        for j in np.linspace(0, m, 601).tolist():
            for side in (-1, 1):
                more = j * means[truth, played] + side * stray
                if not normal:
                    more = min(max(more, 0.0), j)
                n, total = state.plays[played] + j, state.sums[played] + more
                most = max(most, surprise(normal, n, total, means[reference, played]))
        others = sum(
            surprise(normal, state.plays[arm], state.sums[arm], means[reference, arm])
            for arm in range(3)
            if arm != played
        )
        limit = alarm + np.log(state.plays + 1.0).sum()
        if abs(most + others - limit) > 0.05:  # else moments in between might decide
            sure = keeps_fitting(theta, alarm, state, reference, envelope, played, m)
            assert sure == (most + others < limit)
            said.append(sure)
    assert 50 < sum(said) < len(said) - 50
