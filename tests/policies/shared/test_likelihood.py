"""Misfits and those who look at them: against plain Python and the log-likelihoods of SciPy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import by_law
import numpy as np
import pytest
import reference
from laws import Example, random_example
from plans import random_problem

from fpbandits import (
    FPLLR,
    FPUCB,
    Agent,
    InputError,
    Optimist,
    Problem,
    analyze,
    simulate,
)
from fpbandits.core.arrays import Floats
from fpbandits.engine.compiling import compiled, prepare
from fpbandits.engine.contract import Envelope
from fpbandits.policies import DEFAULT, POLICIES
from fpbandits.policies.shared.fit import new_fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, alarm_of, bracket, weigh

KINDS = ["gaussian", "beta", "discrete", "two-point"]
WEIGHING = [name for name, kind in POLICIES.items() if issubclass(kind, LikelihoodPolicy)]


@compiled
def weigh_compiled(theta: Any, state: Any, fit: Any) -> int:
    return weigh(theta, state, fit)


def by_scipy(example: Example, seen: list[tuple[int, float]]) -> list[float]:
    """−ℓ of every model, less the least."""
    costs = [-sum(laws[arm].log(reward) for arm, reward in seen) for laws in example.laws]
    return [cost - min(costs) for cost in costs]


def span(theta: Theta, envelope: Envelope, arm: int, levels: tuple[int, int], m: int) -> Floats:
    """How far the costs of two levels can differ during m plays, by looking at every moment."""
    j = np.linspace(0, m, 5001)
    if not theta.by_law:
        p = float(envelope.means[arm])
        stray = 0.0 if p in (0, 1) else math.sqrt(m * envelope.spread)
        win, loss = (
            table[arm, levels[0]] - table[arm, levels[1]] for table in (theta.win, theta.loss)
        )
        sums = np.array([np.maximum(0, j * p - stray), np.minimum(j, j * p + stray)])
        differences = sums * win + (j - sums) * loss
        return np.array([differences.min(), differences.max()])
    base = theta.base[arm, levels[0]] - theta.base[arm, levels[1]]
    cost = theta.cost[arm, levels[0]] - theta.cost[arm, levels[1]]
    mean, expected = base + cost @ envelope.expected[arm], envelope.expected[arm]
    if not envelope.bounded:
        stray = math.sqrt(m * envelope.spread) * np.abs(cost).sum()
        return np.array([(j * mean - stray).min(), (j * mean + stray).max()])
    paid = base + cost[expected > 0]
    stray = math.sqrt(m * envelope.spread) * np.abs(paid - base - mean).sum()
    low, high = (
        np.maximum(j * paid.min(), j * mean - stray),
        np.minimum(j * paid.max(), j * mean + stray),
    )
    return np.array([min(0.0, low.min()), max(0.0, high.max())])


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "discrete", "two-point"])
def test_a_bracket_is_the_range_over_all_moments(kind: str) -> None:
    """Of every model's deficit less the reference's, while some arms are played m times each."""
    generator, policy = np.random.default_rng(11), Optimist()
    for _ in range(25):
        problem = (
            random_problem(generator)
            if kind == "bernoulli"
            else random_example(kind, generator).problem
        )
        rewards, arms = problem.rewards, len(problem.arms)
        theta, state = policy.theta(problem), policy.new_state(problem)
        truth = int(generator.integers(len(problem.models)))
        for arm, n in enumerate(generator.integers(0, 30, arms).tolist()):
            if n > 0:
                state.plays[arm] = n
                state.sums[arm] = rewards.draw_sum(
                    rewards.law(truth), arm, n, generator, state.statistics[arm]
                )
        fit = new_fit(theta)
        reference = weigh(theta, state, fit)
        spread, m = float(generator.uniform(0.1, 20)), int(generator.integers(1, 300))
        means = np.array(rewards.unit_means[truth])
        envelope = Envelope(means, spread, rewards.bounded, np.array(rewards.expected(truth)))
        cycle = generator.permutation(arms)
        length = int(generator.integers(1, arms + 1))
        bracket(theta, envelope, fit, cycle, length, m)
        for model in range(len(problem.models)):
            wanted = np.full(2, fit.deficit[model])
            for arm in cycle[:length].tolist():
                levels = int(theta.codes[arm, model]), int(theta.codes[arm, reference])
                if levels[0] != levels[1]:
                    wanted += span(theta, envelope, arm, levels, m)
            if wanted[1] > 1e100:  # a reward that is impossible by its law may come
                continue
            found = np.array([fit.lowest[model], fit.highest[model]])
            # A little is left to spare, and moments between those looked at may matter a little.
            np.testing.assert_allclose(found, wanted, rtol=0.01, atol=0.01)


@pytest.mark.parametrize(("more", "w"), [(25, 2.0), (10**12, 4e5)])
def test_a_bracket_leaves_room_for_rounding(more: int, w: float) -> None:
    """By hand at the corners of the envelope; beyond them 1e-7 nats and 1e-12 of their size."""
    problem, policy = Problem.bernoulli([[0.5], [0.2]]), Optimist()
    theta, fit = policy.theta(problem), new_fit(policy.theta(problem))
    fit.reference[0], fit.deficit[:] = 0, [0.0, 3.0]
    bracket(theta, Envelope(np.array([0.25]), 0.16), fit, np.array([0]), 1, more)
    win, loss = math.log(0.5 / 0.2), math.log(0.5 / 0.8)
    ends = [(p * win + (more - p) * loss) for p in (0.25 * more - w, 0.25 * more + w)]
    corners = [0.0, w / 0.25 * loss, w / 0.75 * win, *ends]
    spare = 1e-7 + 1e-12 * max(map(abs, ends))
    assert fit.lowest[0] == fit.highest[0] == 0
    assert 3 + min(corners) - fit.lowest[1] == pytest.approx(spare, rel=1e-3)
    assert fit.highest[1] - 3 - max(corners) == pytest.approx(spare, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_misfits_are_sums_of_log_likelihoods(kind: str) -> None:
    """For rewards that some model pays."""
    generator, policy = np.random.default_rng(4), Optimist()
    ruled_out = 0
    for _ in range(40):
        example = random_example(kind, generator)
        problem = example.problem
        rewards, state = problem.rewards, policy.new_state(problem)
        truth = example.laws[generator.integers(len(example.laws))]
        seen = []
        for arm in generator.integers(0, len(problem.arms), generator.integers(1, 60)).tolist():
            reward = truth[arm].draw(generator)
            unit = float(rewards.to_unit(np.array(reward)))
            state.plays[arm] += 1
            state.sums[arm] += unit
            state.statistics[arm] += rewards.statistics_of(arm, unit)
            seen.append((arm, reward))
        expected = np.array(by_scipy(example, seen))
        possible = np.isfinite(expected)
        ruled_out += int((~possible).sum())
        prepared = prepare(policy, problem)
        workspace = policy.workspace(prepared, len(problem.arms))
        least = weigh_compiled(prepared.theta, state, workspace.fit)
        assert expected[least] < 1e-8
        found = workspace.fit.deficit
        np.testing.assert_allclose(found[possible], expected[possible], rtol=1e-8, atol=1e-8)
        assert (found[~possible] > 1e200).all()
    assert (ruled_out > 20) == (kind == "discrete")


@dataclass(frozen=True)
class KnownByLaw(reference.Known):
    """What a twin may know, with likelihoods by SciPy of the rewards in ``seen``."""

    example: Example
    seen: list[tuple[int, float]] = field(default_factory=list)

    def misfits(self, n: list[int], S: list[float]) -> list[float]:
        return by_scipy(self.example, self.seen)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WEIGHING)
def test_agents_decide_by_the_laws_of_rewards(name: str, kind: str) -> None:
    """As their twins in plain Python do with SciPy's likelihoods, decision for decision."""
    generator = np.random.default_rng(6)
    decided, arms_played = 0, set()
    for _ in range(8):
        example = random_example(kind, generator)
        problem = example.problem
        known = KnownByLaw(problem, example)
        agent, player = Agent(problem, POLICIES[name]()), reference.twin(name)(known)
        truth = example.laws[generator.integers(len(example.laws))]
        expected = next(player)
        for _ in range(int(generator.integers(20, 80))):
            decision = agent.ask()
            assert decision.arm == problem.arms[expected]
            arms_played.add(expected)
            reward = truth[expected].draw(generator)
            agent.tell(decision.id, reward)
            known.seen.append((expected, reward))
            expected = player.send(float(problem.rewards.to_unit(np.array(reward))))
            decided += 1
    assert decided > 200
    assert len(arms_played) > 1


@pytest.mark.parametrize("kind", ["beta", "discrete", "two-point"])
@pytest.mark.parametrize("name", WEIGHING)
def test_by_means_every_reward_counts_as_a_coin_would(name: str, kind: str) -> None:
    """An agent that looks at means decides as that of a Bernoulli problem with the same means."""
    generator = np.random.default_rng(7)
    for _ in range(6):
        problem = random_example(kind, generator).problem
        units = problem.rewards.unit_means
        coins = Problem.bernoulli(units, arms=problem.arms, models=problem.models)
        policy = POLICIES[name](likelihood="means")  # type: ignore[call-arg]  # each of them has it
        one, other = Agent(problem, policy), Agent(coins, POLICIES[name]())
        low, high = problem.range
        for _ in range(60):
            mine, theirs = one.ask(), other.ask()
            assert mine.arm == theirs.arm
            unit = float(generator.integers(0, 3)) / 2  # halves, whatever the family pays
            one.tell(mine.id, low + (high - low) * unit)
            other.tell(theirs.id, unit)


@pytest.mark.parametrize("name", WEIGHING)
def test_means_are_not_enough_for_rewards_without_a_range(name: str) -> None:
    problem = Problem.gaussian([[0.3, 0.8], [0.9, 0.5]], 0.2)
    policy = POLICIES[name](likelihood="means")  # type: ignore[call-arg]  # each of them has it
    with pytest.raises(InputError) as caught:
        Agent(problem, policy)
    assert str(caught.value) == (
        f"{name}: likelihood=means takes rewards in a range, and gaussian ones have none: "
        "leave it out"
    )


def test_a_false_alarm_is_not_certain() -> None:
    assert Optimist(false_alarm=0.99).false_alarm == 0.99
    with pytest.raises(InputError) as caught:
        Optimist(false_alarm=1)
    assert str(caught.value) == (
        "optimist: false_alarm is 1: it is the probability of giving up models that are right, "
        "below 1, as 0.001"
    )
    assert [alarm_of(share) for share in (0, 0.5)] == [0, pytest.approx(math.log(2))]


def test_a_workspace_is_renewed_with_the_first_model_as_reference() -> None:
    policy, problem = Optimist(), Problem.bernoulli([[0.5, 0.4]] * 2)
    workspace = policy.workspace(policy.prepare(problem), 2)
    workspace.fit.reference[0] = 1
    policy.renew(workspace)
    assert workspace.fit.reference.tolist() == [0]


def test_a_likelihood_is_given_by_its_name() -> None:
    with pytest.raises(TypeError):
        FPLLR("means")  # type: ignore[call-arg]  # the mistake that is tested
    assert FPLLR(likelihood="means").likelihood == "means"


def test_a_likelihood_is_one_of_two_words() -> None:
    with pytest.raises(InputError, match="optimist: likelihood is 'mean': it must be law or means"):
        Optimist(likelihood="mean")
    with pytest.raises(InputError, match="it must be law or means"):
        Optimist(likelihood=np.zeros(2))  # type: ignore[arg-type]  # that is the point


LAWS = Problem.discrete(
    [[[0, 1, 0], [0.7, 0, 0.3]], [[0.5, 0, 0.5], [0.2, 0, 0.8]]], support=[0, 0.5, 1]
)
"""Under the first model arm 1 pays ½ for sure, under the second 0 or 1: one mean, two laws."""


def test_equal_means_are_told_apart_by_their_laws() -> None:
    """Playing arm 1 tells all: by the law regret is bounded, and by means it is logarithmic.

    Nothing is lost from T = 10³ to 10⁹, in any of 50 runs; FP-UCB and whoever looks at means alone
    explore arm 2 all along.
    """
    assert analyze(LAWS, truth="theta1").cases[0].theorem2.coefficient == 0
    by_means = Optimist(likelihood="means")
    result = simulate(
        LAWS,
        [Optimist(), by_means, FPUCB()],
        truth="theta1",
        horizon=10**9,
        runs=50,
        times=[10**3, 10**9],
    )
    grown = {
        name: result.mean_regret(name)[1] - result.mean_regret(name)[0] for name in result.pulls
    }
    assert grown["optimist"] == 0
    # ln t/kl(.3, .8) plays of arm 2, each of which costs .2.
    kl = 0.3 * math.log(0.3 / 0.8) + 0.7 * math.log(0.7 / 0.2)
    expected = 0.2 * math.log(10**6) / kl
    assert grown[str(by_means)] == pytest.approx(expected, rel=0.3)
    assert grown["fp-ucb"] > expected


LEAPING = [name for name in by_law.FAMILIES if not name.startswith(("bernoulli", "beta"))]


@pytest.mark.parametrize("family", LEAPING)
def test_regret_grows_as_the_law_of_rewards_allows(family: str) -> None:
    """At most 1.25 × Theorem 2 and two standard errors, from T = 10⁶ to 10¹²: 100 runs, seed 0.

    The policy's own rate is 1.1 × or so: a false alarm takes two standard errors and a margin.
    """
    # The paper's grid takes ten times as long as its two models: one family is enough there.
    for name, truth in by_law.LOGARITHMIC[: 2 if family == LEAPING[0] else 1]:
        found = by_law.growth(family, name, truth, 100)
        assert found.coefficient > 0
        assert found.fits, (name, found)
    for name, truth in by_law.BOUNDED[:2]:
        assert by_law.growth(family, name, truth, 100)[:1] == (0,)


@pytest.mark.parametrize("family", ["beta, concentration 10", "beta, concentration 100"])
def test_regret_of_beta_rewards_grows_as_their_law_allows(family: str) -> None:
    """From T = 10⁴ to 10⁶, two models, 20 runs, seed 0; by means it would be ten times as much."""
    assert by_law.growth(family, "paper:two", "theta2", 20).fits
    assert by_law.growth(family, "paper:two", "theta1", 4)[:1] == (0,)
    by_means = Optimist(likelihood="means")
    assert not by_law.growth(family, "paper:two", "theta2", 4, by_means).fits


def test_six_prices_cost_no_more_than_thompson_sampling_in_ten_lines() -> None:
    """At most three times as much, over 45 runs of 300 plays each."""
    lost = by_law.prices(45, 300)
    assert lost[DEFAULT.name][0] <= 3 * lost["ten lines"][0]
    assert lost[f"{DEFAULT.name}:likelihood=means"][0] > 5 * lost[DEFAULT.name][0]
