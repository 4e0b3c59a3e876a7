"""The floor by counts against all histories in fractions, and against a published optimum."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.theory import counts
from fpbandits.theory.counts import CountProgram
from fpbandits.theory.floor import floor, floor_curve


def least(means: list[list[Fraction]], prior: list[Fraction], horizon: int) -> Fraction:
    """The least regret of Bernoulli arms, by all that can be seen."""
    gaps = [[max(row) - mean for mean in row] for row in means]

    @cache
    def value(weights: tuple[Fraction, ...], plays: int) -> Fraction:
        if plays == 0:
            return Fraction(0)
        found = []
        for arm in range(len(means[0])):
            won = tuple(w * row[arm] for w, row in zip(weights, means, strict=True))
            lost = tuple(w - v for w, v in zip(weights, won, strict=True))
            now = sum((w * g[arm] for w, g in zip(weights, gaps, strict=True)), Fraction(0))
            found.append(now + value(won, plays - 1) + value(lost, plays - 1))
        return min(found)

    return value(tuple(prior), horizon)


def test_the_least_of_all_histories() -> None:
    random = np.random.default_rng(7)
    for arms, models, horizon in ((2, 3, 9), (2, 5, 8), (3, 4, 6)):
        tenths = random.integers(0, 11, (models, arms))
        weights = random.integers(1, 6, models)
        problem = fpb.Problem.bernoulli(
            tenths / 10, prior={f"theta{k + 1}": int(w) for k, w in enumerate(weights)}
        )
        means = [[Fraction(int(m), 10) for m in row] for row in tenths]
        prior = [Fraction(int(w), int(weights.sum())) for w in weights]
        exact = float(least(means, prior, horizon))
        found = floor(problem, horizon)
        assert found == fpb.Floor(found.value, found.value, "counts")
        assert found.value == pytest.approx(exact, rel=1e-12, abs=1e-14)


def test_as_by_belief_with_contexts_and_rewards_of_several_values() -> None:
    chances = [
        [[[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], [[0.1, 0.4, 0.5], [0.1, 0.2, 0.7]]],
        [[[0.5, 0.3, 0.2], [0.3, 0.0, 0.7]], [[0.4, 0.5, 0.1], [0.1, 0.3, 0.6]]],
    ]
    problem = fpb.Problem.discrete(
        chances, support=[0, 0.4, 1], contexts=["a", "b"], shares=[0.3, 0.7], prior={"theta1": 2}
    )
    program = CountProgram.of(problem, 6)
    assert program is not None
    by_belief = floor(problem, 6)
    assert by_belief.method == "belief"
    assert program.values([6]) == pytest.approx([by_belief.value], abs=1e-7)


def test_a_published_optimum_is_approached() -> None:
    """Two arms with uniform means, T = 60: 38.562343 successes (Jacko, BinaryBandit).

    On k × k levels the mean of the larger of two levels is not that of two uniforms, and what can
    be earned is less by a term of 1/k²: at 7 and 11 levels, both known, so is the limit.
    """
    earned = {}
    for k in (7, 11):
        levels = (np.arange(k) + 0.5) / k
        means = np.array([[a, b] for a in levels for b in levels])
        earned[k] = 60 * means.max(axis=1).mean() - floor(fpb.Problem.bernoulli(means), 60).value
    limit = (121 * earned[11] - 49 * earned[7]) / (121 - 49)
    assert limit == pytest.approx(38.562343, abs=2e-3)
    assert earned[7] < earned[11] < limit


def test_a_curve_is_made_of_floors() -> None:
    problem = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    curve = [each.value for each in floor_curve(problem, [1, 5, 12])]
    assert curve == pytest.approx([floor(problem, time).value for time in (1, 5, 12)], rel=1e-12)


def test_what_is_too_large_or_continuous_has_no_program() -> None:
    three = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    assert CountProgram.of(three, 80) is not None
    assert CountProgram.of(three, 120) is None
    assert CountProgram.of(fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=1), 5) is None


def states_in_order(kinds: int, rewards: int) -> list[tuple[int, ...]]:
    """All counts that add up to so many rewards, those with most of the first kind first."""
    every = product(range(rewards + 1), repeat=kinds)
    return sorted((counts for counts in every if sum(counts) == rewards), reverse=True)


def test_states_are_numbered_in_lexicographic_order() -> None:
    three = fpb.Problem.discrete(
        [[[0.2, 0.3, 0.5], [0.5, 0.0, 0.5]], [[0.3, 0.3, 0.4], [0.4, 0.0, 0.6]]], [0, 0.5, 1]
    )
    program = CountProgram.of(three, 5)
    assert program is not None
    # No model lets the second arm pay ½.
    assert program.kinds.tolist() == [[0, 1, 2], [3, -1, 4]]
    for rewards in range(6):
        states = states_in_order(5, rewards)
        assert [program.number(np.array(state)) for state in states] == list(range(len(states)))


def test_the_best_arms_are_those_of_the_definition() -> None:
    """By F_n(s) = min_i …, in fractions and for every state, with contexts and a skewed prior."""
    tenths = [[[3, 6], [5, 2]], [[7, 4], [1, 5]], [[5, 5], [9, 3]]]
    shares, prior = (
        [Fraction(1, 4), Fraction(3, 4)],
        [Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)],
    )
    problem = fpb.Problem.bernoulli(
        np.array(tenths) / 10,
        contexts=["a", "b"],
        shares=[0.25, 0.75],
        prior={"theta1": 3, "theta2": 1, "theta3": 2},
    )
    program = CountProgram.of(problem, 3)
    assert program is not None
    # Kinds: a failure and a success of each pair. Rounding may decide between equal arms.
    chances = [[Fraction(c, 10) for row in m for p in row for c in (10 - p, p)] for m in tenths]
    gaps = [[Fraction(max(row) - p, 10) for row in m for p in row] for m in tenths]
    everything = list(zip(prior, chances, gaps, strict=True))

    @cache
    def arms_of(state: tuple[int, ...], left: int) -> tuple[tuple[Fraction, ...], ...]:
        """What each arm in each context loses, then and later."""
        weights = [
            share * math.prod(c**n for c, n in zip(chance, state, strict=True))
            for share, chance, _ in everything
        ]

        def one_more(kind: int) -> tuple[int, ...]:
            return (*state[:kind], state[kind] + 1, *state[kind + 1 :])

        lost = [
            sum((w * gap[pair] for w, (_, _, gap) in zip(weights, everything, strict=True)), zero)
            + sum((least_of(one_more(kind), left - 1) for kind in (2 * pair, 2 * pair + 1)), zero)
            for pair in range(4)
        ]
        return (lost[0], lost[1]), (lost[2], lost[3])

    def least_of(state: tuple[int, ...], left: int) -> Fraction:
        if not left:
            return zero
        arms = arms_of(state, left)
        return sum((share * min(row) for share, row in zip(shares, arms, strict=True)), zero)

    zero = Fraction(0)
    choices: list[np.ndarray] = []
    found = program.values([2, 3], choices)
    nothing = (0,) * 8
    assert found == pytest.approx([float(least_of(nothing, n)) for n in (2, 3)], rel=1e-12)
    assert [each.shape for each in choices] == [(2, 8), (2, 1), (2, 36), (2, 8), (2, 1)]
    for left, chosen in zip((1, 2, 1, 2, 3), choices, strict=True):
        seen = {2: 1, 8: 1, 36: 2, 1: 0}[chosen.shape[1]]
        for number, state in enumerate(states_in_order(8, seen)):
            for context, row in enumerate(arms_of(state, left)):
                arm = int(chosen[context, number])
                assert row[arm] == min(row)


@pytest.mark.parametrize(
    ("models", "arms", "most"), [(3, 2, None), (3, 1, None), (3, 3, 1000), (900, 2, None)]
)
def test_how_many_plays_can_be_counted(models: int, arms: int, most: int | None) -> None:
    """Three million states of at most T rewards, C(T + P, P), and two billion weights."""
    problem = fpb.Problem.bernoulli(np.full((models, arms), 0.5))
    states, plays = min(most or 3_000_000, 2_000_000_000 // models), 0
    while math.comb(plays + 1 + 2 * arms, 2 * arms) <= states:
        plays += 1
    longest = CountProgram.longest(problem) if most is None else CountProgram.longest(problem, most)
    assert longest == plays
    normal = fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=1)
    assert CountProgram.longest(normal) == 0
    sure = fpb.Problem.bernoulli([[1.0], [1.0]])
    assert CountProgram.longest(sure, 10) == 9, "one kind of reward: a state for each number"


def test_blocks_of_states_change_nothing_and_progress_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two horizons, first the states, of which P kinds make about (n/T)^P, then each value."""
    problem = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    program = CountProgram.of(problem, 2)
    assert program is not None
    shares: list[float] = []
    values = program.values([1, 2], tell=shares.append)
    assert shares == pytest.approx([0, 0.8 / 2**4, 0.8, 0.9, 0.9])
    assert counts._WEIGHTS_AT_ONCE * 8 == 32 * 2**20, "32 MB: less at a time takes longer"
    exp, sizes = np.exp, list[int]()

    def spy(logs: np.ndarray) -> np.ndarray:
        sizes.append(logs.size)
        return np.asarray(exp(logs))

    monkeypatch.setattr(np, "exp", spy)
    # One state of no reward, then four of one, each with three weights.
    for most, expected in ((9, [3, 9, 3]), (2, [3] * 5)):
        sizes.clear()
        monkeypatch.setattr(counts, "_WEIGHTS_AT_ONCE", most)
        assert program.values([1, 2]) == pytest.approx(values, rel=1e-14)
        assert sizes == expected
