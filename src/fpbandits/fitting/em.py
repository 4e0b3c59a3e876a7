"""Expectation-maximisation (EM) on cells.

A *mixture* of T types has shares π_t and, for each type and pair, the natural parameters of a
reward distribution. Of units u with cells (n, s) the penalised log-likelihood is

    Σ_u ln Σ_t π_t e^{ℓ_t(u)} + κ Σ_{pair, t} ℓ_t(a pooled reward of the pair) + Σ_t ln π_t:

a pseudo-count of κ rewards of the pair's pooled distribution is added to those of each type, which
shrinks thin cells to the arm's mean and leaves those with many rewards alone. A step of EM never
lowers it. Steps are short where cells are missing, so every third one extrapolates the last two
(SQUAREM, S3), and is undone where it does not help.

A start takes, for each type and pair, the distribution of one random cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.families.estimator import Estimator
from fpbandits.fitting import kernels
from fpbandits.fitting.cells import Cells

TOLERANCE = 1e-7
"""A climb ends when the mean log-likelihood of units rises by less than this in a step."""

_ENOUGH = 5e4
"""With more units than this the tolerance is on the sum: numbers of types are compared in nats."""
_WORK = 80_000_000
"""The most cells visited in one climb: with very many units, fewer steps are enough."""
_FEWEST_STEPS = 24
"""A climb may always take this many."""
_LEAST_SHARE = 1e-12
"""The smallest share of a type, so that its logarithm stays finite."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Types: log-shares [t], natural parameters [pair, t, d], those common to all [q]."""

    log_shares: Floats
    parameters: Floats
    common: Floats

    @property
    def types(self) -> int:
        """The number of types."""
        return len(self.log_shares)

    @property
    def free_parameters(self) -> int:
        """How many numbers a fit chooses: shares add up to 1, so the last one follows."""
        return len(self.flat) - 1

    @property
    def flat(self) -> Floats:
        """All numbers in a row."""
        return np.concatenate([self.log_shares, self.parameters.reshape(-1), self.common])

    def from_flat(self, flat: Floats) -> Mixture:
        """Return a mixture of the same shape with these numbers; its shares add up to 1."""
        shares = flat[: self.types]
        end = self.types + self.parameters.size
        logs = shares - shares.max()
        logs = np.maximum(logs - np.log(np.exp(logs).sum()), np.log(_LEAST_SHARE))
        parameters = flat[self.types : end].reshape(self.parameters.shape)
        return Mixture(logs, parameters, flat[end:])

    def ordered(self, order: Ints) -> Mixture:
        """Return the types ``order``, in that order."""
        logs = self.log_shares[order]
        logs = logs - np.log(np.exp(logs).sum())
        return Mixture(logs, np.ascontiguousarray(self.parameters[:, order]), self.common)


class Fitted(NamedTuple):
    """A mixture, and its penalised log-likelihood."""

    mixture: Mixture
    value: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Units to fit to: cells with a weight per group, and a pseudo-count.

    Attributes
    ----------
    pseudo_count
        κ, how many rewards of the pooled distribution are added to those of each type and pair.
    """

    cells: Cells
    weights: Floats
    estimator: Estimator
    pseudo_count: float
    _arrays: dict[int, tuple[Floats, ...]] = field(default_factory=dict)

    @cached_property
    def pooled(self) -> Floats:
        """The mean statistics of a reward of each pair, over all units: [pair, k]."""
        plays, sums = self.cells.totals(self.weights)
        return self.estimator.pooled(plays, sums, self.cells.within)

    @cached_property
    def size(self) -> float:
        """How many units there are."""
        return float(self.weights.sum())

    def _workspace(self, types: int) -> tuple[Floats, ...]:
        """Return the arrays for this number of types; they are large, so they are kept."""
        if types not in self._arrays:
            self._arrays.clear()
            cells, pairs = len(self.cells.pair), self.cells.pairs
            statistics = self.estimator.statistics
            shapes = [(cells, types), (cells, types), (types,), (types,), (len(self.weights),)]
            shapes += [(pairs, types), (pairs, statistics, types)]
            self._arrays[types] = tuple(np.zeros(shape) for shape in shapes)
        return self._arrays[types]

    def costs(self, mixture: Mixture) -> Floats:
        """Return −ℓ of each distinct cell under each type, in an array that is used again."""
        table, cells = self._workspace(mixture.types)[0], self.cells
        base, cost = self.estimator.laws(mixture.parameters, mixture.common)
        by_statistic = np.ascontiguousarray(np.swapaxes(cost, 1, 2))
        kernels.tabulate(cells.pair, cells.plays, cells.sums, base, by_statistic, table)
        return table

    def expect(self, mixture: Mixture) -> tuple[float, Floats, Floats, Floats, Floats]:
        """Return the log-likelihood; plays, sums and units by type; and each group's likelihood."""
        _, mass, row, counts, each, plays, sums = self._workspace(mixture.types)
        cells, table = self.cells, self.costs(mixture)
        total = kernels.expect(
            cells.starts,
            cells.members,
            self.weights,
            mixture.log_shares,
            table,
            row,
            mass,
            counts,
            each,
        )
        kernels.gather(cells.pair, cells.plays, cells.sums, mass, plays, sums)
        return total, plays, np.swapaxes(sums, 1, 2), counts, each

    def likelihoods(self, mixture: Mixture) -> Floats:
        """Return the log-likelihood of a unit of each group."""
        return self.expect(mixture)[4].copy()

    def sureness(self, mixture: Mixture) -> float:
        """Return the posterior probability of a unit's likeliest type, averaged over units."""
        surest, cells, costs = np.empty(len(self.weights)), self.cells, self.costs(mixture)
        kernels.assign(cells.starts, cells.members, mixture.log_shares, costs, surest)
        return float((surest * self.weights).sum() / self.size)

    def pooled_cost(self, parameters: Floats, common: Floats) -> Floats:
        """Return −ℓ of a pooled reward of each pair under each type, [pair, type]."""
        base, cost = self.estimator.laws(parameters, common)
        total: Floats = base + np.einsum("ak,atk->at", self.pooled, cost)
        return total

    def penalty(self, mixture: Mixture) -> float:
        """Return what the penalised log-likelihood adds to the log-likelihood."""
        total = float(self.pooled_cost(mixture.parameters, mixture.common).sum())
        return float(mixture.log_shares.sum()) - self.pseudo_count * total

    def divergences(self, mixture: Mixture) -> Floats:
        """Return the divergence from the pooled distribution, in nats per reward: [pair, type]."""
        one = self.pooled[:, np.newaxis]
        nearest, _ = self.estimator.maximise(np.ones(one.shape[:2]), one, mixture.common)
        least = self.pooled_cost(nearest, mixture.common)
        costs = self.pooled_cost(mixture.parameters, mixture.common)
        return np.maximum(costs - least, 0)

    def maximise(self, plays: Floats, sums: Floats, counts: Floats, near: Mixture) -> Mixture:
        """Return the M-step: the likeliest mixture given plays, sums and units by type."""
        plays = plays + self.pseudo_count
        sums = sums + self.pseudo_count * self.pooled[:, np.newaxis]
        shares = (counts + 1) / (counts.sum() + len(counts))
        found = self.estimator.maximise(plays, sums, near.common, near.parameters)
        return Mixture(np.log(shares), *found)

    def step(self, mixture: Mixture) -> tuple[Mixture, float]:
        """Take a step of EM; return the new mixture, and the old one's penalised log-likelihood."""
        total, plays, sums, counts, _ = self.expect(mixture)
        value = total + self.penalty(mixture)
        return self.maximise(plays, sums, counts, mixture), value

    def climb(self, mixture: Mixture, most: int, tolerance: float = TOLERANCE) -> Fitted:
        """Take up to ``most`` steps; return the best mixture."""
        enough = tolerance * min(self.size, _ENOUGH)
        most = min(most, max(_FEWEST_STEPS, _WORK // len(self.cells.members)))
        first, value = self.step(mixture)
        for _ in range(max(1, most // 3)):
            second, next_value = self.step(first)
            away = first.flat - mixture.flat
            bend = second.flat - first.flat - away
            length = float((bend**2).sum())
            leap = math.sqrt(float((away**2).sum()) / length) if length > 0 else 1.0
            leap = min(max(1.0, leap), 64.0)
            ahead = second
            if leap > 1:
                ahead = mixture.from_flat(mixture.flat + 2 * leap * away + leap**2 * bend)
            after, reached = self.step(ahead)
            if not reached >= next_value:  # too far, or not a number
                ahead = second
                after, reached = self.step(ahead)
            gained = reached - value
            mixture, first, value = ahead, after, reached
            if gained < 3 * enough:
                break
        return Fitted(mixture, value)

    def start(self, types: int, random: np.random.Generator) -> Mixture:
        """Return a start: for each type and pair a random cell, shrunk to the pooled mean."""
        plays = np.zeros((self.cells.pairs, types))
        sums = np.zeros((*plays.shape, self.estimator.statistics))
        for pair, cells in enumerate(self._of_pair):
            if len(cells):
                chosen = random.choice(cells, types)
                plays[pair], sums[pair] = self.cells.plays[chosen], self.cells.sums[chosen]
        weight = 1 + 0.25 * plays
        mixed = (sums + weight[..., np.newaxis] * self.pooled[:, np.newaxis]) / (plays + weight)[
            ..., np.newaxis
        ]
        ones = np.ones_like(plays)
        found = self.estimator.maximise(ones, mixed, self.estimator.begin)
        return Mixture(np.full(types, -np.log(types)), *found)

    @cached_property
    def _of_pair(self) -> list[Floats]:
        """The distinct cells of each pair."""
        order = np.argsort(self.cells.pair, kind="stable")
        ends = np.cumsum(np.bincount(self.cells.pair, minlength=self.cells.pairs))
        return np.split(order, ends[:-1])


def add_type(mixture: Mixture, sample: Sample, random: np.random.Generator) -> Mixture:
    """Return a mixture with one more type: a random one, or one near an existing type."""
    kind = int(random.integers(mixture.types))
    new = sample.start(1, random)
    own = mixture.parameters[:, kind : kind + 1]
    # Half way to a type of its own: it takes over units of the one that it comes from.
    mixed = own + random.choice([0.3, 1.0]) * (new.parameters - own)
    logs = np.append(mixture.log_shares, mixture.log_shares[kind] - np.log(2))
    logs[kind] -= np.log(2)
    parameters = np.concatenate([mixture.parameters, mixed], axis=1)
    return Mixture(logs, np.ascontiguousarray(parameters), mixture.common)


def remove_type(mixture: Mixture, kind: int) -> Mixture:
    """Return a mixture with one type less."""
    return mixture.ordered(np.delete(np.arange(mixture.types), kind))


def merge_pairs(
    mixture: Mixture, sample: Sample, pairs: Iterable[tuple[int, int]]
) -> Iterator[Mixture]:
    """Yield, for each pair of types, a mixture in which they are merged.

    Where units see few arms, two fitted types may be one true type, each right about some arms.
    """
    _, plays, sums, counts, _ = sample.expect(mixture)
    found = plays.copy(), sums.copy(), counts.copy()
    for one, two in pairs:
        plays, sums, counts = (part.copy() for part in found)
        plays[:, one] += plays[:, two]
        sums[:, one] += sums[:, two]
        counts[one] += counts[two]
        rest = np.delete(np.arange(mixture.types), two)
        yield sample.maximise(plays[:, rest], sums[:, rest], counts[rest], mixture.ordered(rest))


def merge_same(mixture: Mixture, sample: Sample, nats: float) -> Mixture:
    """Merge types that are the same, as long as merging two of them costs at most ``nats``.

    With units assigned by their posteriors, the log-likelihood falls by at most what their plays
    cost more under one distribution than under two.
    """

    def cost(plays: Floats, sums: Floats, parameters: Floats) -> Floats:
        base, by_statistic = sample.estimator.laws(parameters, mixture.common)
        total: Floats = (plays * base + (sums * by_statistic).sum(axis=2)).sum(axis=0)
        return total

    while mixture.types > 1:
        _, plays, sums, _, _ = sample.expect(mixture)
        plays = plays + sample.pseudo_count
        sums = sums + sample.pseudo_count * sample.pooled[:, np.newaxis]
        one, two = np.triu_indices(mixture.types, 1)
        both = plays[:, one] + plays[:, two], sums[:, one] + sums[:, two]
        near = (mixture.parameters[:, one] + mixture.parameters[:, two]) / 2
        together, _ = sample.estimator.maximise(*both, mixture.common, near)
        apart = cost(plays, sums, mixture.parameters)
        more = cost(*both, together) - apart[one] - apart[two]
        least = int(more.argmin())
        if more[least] > nats:
            break
        pair = int(one[least]), int(two[least])
        mixture, _ = sample.climb(next(merge_pairs(mixture, sample, [pair])), 600)
    return mixture


def random_starts(
    sample: Sample, types: int, before: Mixture | None, count: int, random: np.random.Generator
) -> Iterator[Mixture]:
    """Yield random starts, every second one ``before``, of one type less, with a type added."""
    for number in range(count):
        if before is not None and number % 2:
            yield add_type(before, sample, random)
        else:
            yield sample.start(types, random)
