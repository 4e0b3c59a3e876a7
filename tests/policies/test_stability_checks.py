"""No rewards within the envelope break a stability check; what does not vary is leapt over."""

from __future__ import annotations

import math
from copy import deepcopy

import numpy as np
import pytest
from laws import random_example
from plans import plan_ahead, played, suited

from fpbandits import Problem, simulate
from fpbandits.engine.compiling import compile_for, prepare
from fpbandits.engine.contract import Envelope
from fpbandits.engine.ready import plan_once
from fpbandits.families.discrete import Discrete
from fpbandits.families.two_point import TwoPoint
from fpbandits.policies import POLICIES, parse_policy
from fpbandits.simulation.kernel import Law, law_of

OWN_DRAWS = ("thompson", "thompson-theta")
"""Their leaps end by draws of their own: what is certain there is a law, not a cycle."""

CERTIFYING = [name for name, kind in POLICIES.items() if kind.leaps and name not in OWN_DRAWS]
CERTIFYING += [
    "frugal:false_alarm=0.007:trust=0.2"
]  # which doubts, with few arms from the first plays on
CERTIFYING += ["frugal:horizon=4000"]  # whose h falls

LATE = ("ts-c", "ids-theta")
"""Sure of nothing before all best arms but one are ruled out: they have more plans before."""

KINDS = ["zeros", "ones", "alternating", "low edge", "high edge"]
KINDS += ["up then down", "down then up", "random"]


def hostile_rewards(
    kind: str, p: float, m: int, deviation: float, generator: np.random.Generator
) -> list[float]:
    """Rewards of m plays that stay inside the envelope: 0 ≤ x ≤ j and |x − jp| ≤ deviation."""
    rewards: list[float] = []
    total = 0.0
    for j in range(1, m + 1):
        low = max(total, j * p - deviation)
        high = min(total + 1, j * p + deviation)
        wish = {
            "zeros": total,
            "ones": total + 1,
            "alternating": total + j % 2,
            "low edge": j * p - deviation,
            "high edge": j * p + deviation,
            "up then down": j * p + (deviation if j < m / 2 else -deviation),
            "down then up": j * p + (-deviation if j < m / 2 else deviation),
            "random": total + generator.random(),
        }[kind]
        new = min(max(wish, low), high)
        rewards.append(new - total)
        total = new
    return rewards


@pytest.mark.parametrize("name", CERTIFYING)
@pytest.mark.parametrize(
    "spread", [math.log(2e18) / 2, 0.5, math.inf], ids=["1e-18", "tight", "worst"]
)
def test_no_rewards_within_the_envelope_break_a_stability_check(name: str, spread: float) -> None:
    """A certified stretch is replayed step by step with rewards that try to upset it.

    The "tight" envelope is one that rewards would often leave; the check must hold inside it all
    the same, and there is less room for one that is right by being timid.
    """
    reaches: list[int] = []
    # The first two have stability checks of their own; the others share theirs, and are slower.
    examples, longest = (200, 3000) if name in ("fp-ucb", "ucb1") else (50, 300)

    def challenge(seed: int) -> None:
        generator = np.random.default_rng(seed)
        kind, size = KINDS[seed % len(KINDS)], int(generator.integers(13))
        policy = parse_policy(name)
        problem = suited(policy, generator)
        arms = len(problem.arms)
        prepared = prepare(policy, problem)
        workspace = policy.workspace(prepared, arms)
        p = generator.random(arms)
        if generator.random() < 0.5:  # a truth in Θ, where cycles settle
            p = np.array(problem.rewards.unit_means[generator.integers(len(problem.models))])
        envelope = Envelope(p, spread)
        state = policy.new_state(problem)
        # Play a while to get to a state that can be reached.
        horizon = int(generator.integers(arms + 2, 4000 if name in LATE else 120)) << size // 2
        law = Law(0, p[:, np.newaxis].copy())
        played(policy, prepared, law, envelope, horizon, 2**size, state, generator)
        before = deepcopy(state)
        cycle, rounds = plan_ahead(policy, prepared, state, envelope, 10**6, generator)
        rounds = min(rounds, longest)
        reaches.append(rounds)
        if rounds == 1:  # nothing is certified, and a draw may be behind it
            return
        deviation = math.sqrt((rounds - 1) * spread) if rounds > 1 else 0.0
        paths = {
            arm: hostile_rewards(kind, p[arm], rounds, min(deviation, 1e9), generator)
            for arm in cycle
        }
        replay = deepcopy(before)
        nothing = np.zeros(arms, np.int64)
        arguments = prepared, replay, workspace, 0, nothing, generator
        once = compile_for(policy, plan_once, arguments)
        for step in range(rounds):
            made = step * len(cycle)
            length = once(prepared, replay, workspace, made, nothing, generator)
            assert workspace.cycle[:length].tolist() == cycle, (seed, kind, step, rounds)
            for arm in cycle:
                policy.observe(prepared, replay, arm, 1, paths[arm][step], generator)

    for seed in range(examples):
        challenge(seed)
    assert sum(rounds > 1 for rounds in reaches) > 0.15 * examples
    assert max(reaches) > 50


def hostile_counts(
    kind: str,
    values: np.ndarray,
    expected: np.ndarray,
    m: int,
    deviation: float,
    generator: np.random.Generator,
) -> list[float]:
    """Rewards of m plays whose counts stay inside their envelopes, and their sum in its own.

    Each value came between j·expected − deviation and j·expected + deviation times, after j plays.
    The path may end early, where every further reward would leave.
    """
    mean, counts, total = float(values @ expected), np.zeros(len(values)), 0.0
    likely = [k for k in range(len(values)) if expected[k] > 0]
    first, last = likely[0], likely[-1]
    rewards: list[float] = []
    for j in range(1, m + 1):
        early = j < m / 2
        order = {
            "zeros": [first],
            "ones": [last],
            "alternating": [first, last][:: 1 if j % 2 else -1],
            "low edge": likely,
            "high edge": likely[::-1],
            "up then down": likely[::-1] if early else likely,
            "down then up": likely if early else likely[::-1],
            "random": generator.permutation(likely).tolist(),
        }[kind]
        for k in [*order, *generator.permutation(likely).tolist()]:
            after = counts + (np.arange(len(values)) == k)
            if (np.abs(after - j * expected) <= deviation).all() and abs(
                total + values[k] - j * mean
            ) <= deviation:
                break
        else:
            return rewards
        counts, total = after, total + values[k]
        rewards.append(float(values[k]))
    return rewards


def hostile_sums(
    kind: str, mean: float, m: int, deviation: float, generator: np.random.Generator
) -> list[float]:
    """Normal rewards may jump from any edge of the envelope to any other at once."""
    rewards, total = [], 0.0
    for j in range(1, m + 1):
        side = {
            "zeros": 0.0,
            "ones": 1.0 if j == 1 else 0.0,
            "alternating": (-1.0) ** j,
            "low edge": -1.0,
            "high edge": 1.0,
            "up then down": 1.0 if j < m / 2 else -1.0,
            "down then up": -1.0 if j < m / 2 else 1.0,
            "random": generator.uniform(-1, 1),
        }[kind]
        new = j * mean + side * deviation * (1 - 1e-12)
        rewards.append(new - total)
        total = new
    return rewards


@pytest.mark.parametrize("family", ["gaussian", "discrete", "two-point"])
@pytest.mark.parametrize("name", CERTIFYING)
@pytest.mark.parametrize("spread", [math.log(2e18) / 2, 0.5], ids=["1e-18", "tight"])
def test_no_rewards_of_any_family_break_a_stability_check(
    name: str, family: str, spread: float
) -> None:
    """As above, with rewards that are normal, or counted value by value; the truth is in Θ."""
    reaches: list[int] = []
    examples, longest = 40, 200
    blind = name in ("ucb1", "moss", "kl-ucb", "imed")  # which explore for long before they leap

    def challenge(seed: int) -> None:
        generator = np.random.default_rng(seed)
        kind, size = KINDS[seed % len(KINDS)], int(generator.integers(13))
        policy, problem = parse_policy(name), random_example(family, generator).problem
        if name == "bpr":  # which must know the largest mean, the same for every model
            problem = permute(problem, generator)
        rewards, arms = problem.rewards, len(problem.arms)
        prepared = prepare(policy, problem)
        workspace = policy.workspace(prepared, arms)
        truth = int(generator.integers(len(problem.models)))
        law = law_of(rewards.reordered(np.array([truth]), np.arange(arms)))
        means = np.array(rewards.unit_means[truth])
        expected = np.array(rewards.expected(truth))
        envelope = Envelope(means, spread, rewards.bounded, expected)
        state = policy.new_state(problem)
        late = blind or name in LATE
        horizon = int(generator.integers(300, 4000) if late else generator.integers(9, 120))
        horizon <<= size // 2
        played(policy, prepared, law, envelope, horizon, 2**size, state, generator)
        before = deepcopy(state)
        cycle, rounds = plan_ahead(policy, prepared, state, envelope, 10**6, generator)
        deviation = math.sqrt((rounds - 1) * spread)
        rounds = min(rounds, longest)
        reaches.append(rounds)
        if rounds == 1:
            return
        paths = {}
        for arm in cycle:
            if family == "gaussian":
                path = hostile_sums(kind, means[arm], rounds, deviation, generator)
            else:
                values = possible_rewards(problem, arm)
                path = hostile_counts(kind, values, expected[arm], rounds, deviation, generator)
            paths[arm] = path
        replay = deepcopy(before)
        nothing = np.zeros(arms, np.int64)
        arguments = prepared, replay, workspace, 0, nothing, generator
        once = compile_for(policy, plan_once, arguments)
        for step in range(min(map(len, paths.values())) + 1):
            made = step * len(cycle)
            length = once(prepared, replay, workspace, made, nothing, generator)
            assert workspace.cycle[:length].tolist() == cycle, (seed, kind, step, rounds)
            if step == rounds - 1 or any(len(path) == step for path in paths.values()):
                break
            for arm in cycle:
                reward = paths[arm][step]
                replay.statistics[arm] += rewards.statistics_of(arm, reward)
                policy.observe(prepared, replay, arm, 1, reward, generator)

    for seed in range(examples):
        challenge(seed)
    assert sum(rounds > 1 for rounds in reaches) > 0.15 * examples
    assert max(reaches) > (10 if blind else 50)


def possible_rewards(problem: Problem, arm: int) -> np.ndarray:
    """Return what an arm can pay, on [0, 1], in the order of the family's statistics."""
    rewards = problem.rewards
    if isinstance(rewards, TwoPoint):
        return np.array([rewards.unit_value[arm], 0.0])
    return np.array(problem.rewards.to_unit(np.array([0.0, 0.5, 1.0])))


def permute(problem: Problem, generator: np.random.Generator) -> Problem:
    """Return models that differ in the order of their arms alone."""
    rewards = problem.rewards
    arms = len(problem.arms)
    orders = np.unique([generator.permutation(arms) for _ in range(6)], axis=0)
    if isinstance(rewards, TwoPoint):
        return Problem.bernoulli(rewards.probabilities[0][orders], value=[9.0] * arms)
    if isinstance(rewards, Discrete):
        return Problem.discrete(rewards.probabilities[0][orders], rewards.support)
    return Problem.gaussian(rewards.means[0][orders], 0.2)


def test_means_of_0_and_1_are_leapt_over() -> None:
    """Such rewards do not vary, so nothing stands in the way of a leap."""
    problem = Problem.bernoulli([[1.0, 0.5, 0.0], [0.5, 0.6, 0.2], [0.9, 0.95, 0.0]])
    for name, kind in POLICIES.items():
        # One does not apply here; and indices of arms played once come too close to a mean of 1.
        if name in ("bpr", "ucb1", "kl-ucb"):
            continue
        result = simulate(problem, kind(), truth="theta1", horizon=10**6, runs=2, times=[10**6])
        assert result.plans[name].max() < 30_000, name
        assert (result.pulls[name][:, -1].sum(axis=1) == 10**6).all()
