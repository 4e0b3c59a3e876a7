"""The compiled recursions against twins in NumPy, which look every belief up by its index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.core.arrays import Floats, Ints
from fpbandits.theory.beliefs import Beliefs
from fpbandits.theory.bracket import Lower, Upper
from fpbandits.theory.recursions import REVIEW

PROBLEMS = {
    "arms": fpb.Problem.bernoulli(
        [[0.9, 0.4, 0.75, 0.1], [0.3, 0.8, 0.65, 0.05]], prior={"theta1": 3, "theta2": 2}
    ),
    "contexts": fpb.Problem.bernoulli(
        [[[0.7, 0.5, 0.2], [0.3, 0.4, 0.35]], [[0.6, 0.65, 0.1], [0.45, 0.38, 0.4]]],
        contexts=["a", "b"],
        shares=[0.3, 0.7],
    ),
    "normal": fpb.Problem.gaussian([[0.3, 0.0, 0.1], [0.0, 0.4, 0.1]], deviation=0.25),
}


def grid_of(name: str) -> Beliefs:
    return Beliefs.of(PROBLEMS[name], 100, budget=np.inf, most_points=200)


class Twin:
    """What both recursions share: which pairs are tried where."""

    def __init__(self, grid: Beliefs) -> None:
        self.grid, self.points, self.plays = grid, len(grid.log_odds), 0
        self.odds = np.exp(grid.log_odds)
        self.tried = [(0, self.points)] * grid.gaps.shape[1]

    def value(self, pair: int, at: Ints) -> Floats:
        raise NotImplementedError

    def play(self, regret: Floats) -> tuple[Any, Floats]:
        """Return for each context the value of each arm at each point, and their best mean."""
        self.plays += 1
        review = self.plays % REVIEW == 0
        if review:
            self.tried = [(0, self.points)] * len(self.tried)
        values = np.full((len(self.tried), self.points), np.inf)
        for pair, (first, last) in enumerate(self.tried):
            values[pair, first:last] = self.value(pair, np.arange(first, max(first, last)))
        by_context = values.reshape(len(self.grid.shares), -1, self.points)
        best = by_context.min(axis=1, keepdims=True)
        total = self.grid.shares @ best[:, 0]
        if review:
            growth = max(0.0, ((total - regret) / (1 + self.odds)).max())
            near = by_context <= best + REVIEW * growth * (1 + self.odds)
            self.tried = [
                (int(np.flatnonzero(row)[0]), int(np.flatnonzero(row)[-1]) + 1)
                if row.any()
                else (self.points, 0)
                for row in near.reshape(values.shape)
            ]
        return by_context, total


class TwinFromBelow(Twin):
    """Values by chords, over p(θ¹)."""

    def __init__(self, grid: Beliefs) -> None:
        super().__init__(grid)
        self.values = np.zeros(self.points)

    def at(self, index: Ints) -> Floats:
        """Below the grid a chord leads to certainty; above it the value is that of its end."""
        inside = self.values[np.clip(index, 0, self.points - 1)]
        return np.asarray(inside * np.exp(self.grid.step * np.minimum(index, 0)))

    def value(self, pair: int, at: Ints) -> Floats:
        t = self.grid.transitions[pair]
        found = self.grid.gaps[0, pair] + self.grid.gaps[1, pair] * self.odds[at]
        for shift, width, low, high in zip(
            t.shifts, t.widths, t.low_weight, t.high_weight, strict=True
        ):
            found = found + low * self.at(at + shift) + high * self.at(at + shift + width)
        return np.asarray(found)

    def advance(self) -> None:
        _, total = self.play(self.values)
        self.values = np.maximum(self.values, total)


class TwinFromAbove(Twin):
    """What the grid's policy loses under the first model, and under the second times the odds."""

    def __init__(self, grid: Beliefs) -> None:
        super().__init__(grid)
        self.a, self.b = np.zeros(self.points), np.zeros(self.points)

    def from_point(self, index: Ints) -> tuple[Floats, Floats]:
        """Beyond the grid the policy is that of its end."""
        end = np.clip(index, 0, self.points - 1)
        return self.a[end], self.b[end] * np.exp(self.grid.step * (index - end))

    def both(self, pair: int, at: Ints) -> tuple[Floats, Floats]:
        t = self.grid.transitions[pair]
        a = np.full(len(at), self.grid.gaps[0, pair])
        b = self.grid.gaps[1, pair] * self.odds[at]
        for shift, width, first, second in zip(
            t.shifts, t.widths, t.under_first, t.under_second, strict=True
        ):
            ends = []
            for end in (shift, shift + width):
                end_a, end_b = self.from_point(at + end)
                ends.append((first * end_a, second * np.exp(-self.grid.step * end) * end_b))
            (low_a, low_b), (high_a, high_b) = ends
            low = low_a + low_b <= high_a + high_b
            a, b = a + np.where(low, low_a, high_a), b + np.where(low, low_b, high_b)
        return a, b

    def value(self, pair: int, at: Ints) -> Floats:
        a, b = self.both(pair, at)
        return a + b

    def advance(self) -> tuple[Ints, float]:
        """Return the arm of each context and point, and the regret from the prior."""
        everywhere = np.arange(self.points)
        both = np.array([self.both(pair, everywhere) for pair in range(len(self.tried))])
        by_context, total = self.play(self.a + self.b)
        arms = by_context.argmin(axis=1)
        chosen = arms + by_context.shape[1] * np.arange(len(arms))[:, np.newaxis]
        by_arms = both[chosen, :, everywhere]  # [context, point, model]
        self.a, self.b = np.einsum("c,cpm->mp", self.grid.shares, by_arms)
        assert self.a + self.b == pytest.approx(total)
        return arms, float(total[self.grid.start])


@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_from_below_are_those_of_the_twin(name: str) -> None:
    grid = grid_of(name)
    bound, twin = Lower(grid), TwinFromBelow(grid)
    padded, ranges, work = bound._state
    assert padded.shape == (twin.points + 2 * grid.margin,)
    assert work.shape == (len(twin.tried) + 2, twin.points)
    for plays in (1, 2, 31, 32, 33, 70):
        bound.advance(plays)
        while twin.plays < plays:
            twin.advance()
        assert padded[grid.margin : grid.margin + twin.points] == pytest.approx(twin.values, 1e-12)
        assert ranges.tolist() == list(map(list, twin.tried))
    assert twin.plays > 2 * REVIEW
    assert any(last - first < twin.points for first, last in twin.tried), "some are left out"


@pytest.mark.parametrize("name", PROBLEMS)
def test_policies_are_those_of_the_twin(name: str) -> None:
    grid = grid_of(name)
    choices = np.full((70, len(grid.shares), len(grid.log_odds)), -1, np.int16)
    bound, quiet, twin = Upper(grid, choices=choices), Upper(grid), TwinFromAbove(grid)
    padded, ranges, work = bound._state
    assert padded.shape == (2, twin.points + 2 * grid.margin)
    assert work.shape == (len(twin.tried) + 6, twin.points)
    curve = [0.0]
    for plays in (1, 2, 31, 32, 33, 70):
        bound.advance(plays)
        quiet.advance(plays)
        while twin.plays < plays:
            arms, regret = twin.advance()
            curve.append(regret)
            assert choices[twin.plays - 1].tolist() == arms.tolist()
        regret_of_points = padded[:, grid.margin : grid.margin + twin.points]
        assert regret_of_points == pytest.approx(np.array([twin.a, twin.b]), rel=1e-12)
        assert ranges.tolist() == list(map(list, twin.tried))
        assert bound.bound == quiet.bound == pytest.approx(grid.prior[0] * max(curve), rel=1e-12)
    assert any(last - first < twin.points for first, last in twin.tried), "some are left out"
