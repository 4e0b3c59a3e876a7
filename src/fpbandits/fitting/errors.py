"""Standard errors of means and shares: by the scores of units, or by drawing units again.

With s_u the gradient of a unit's log-likelihood, Σ_u s_u s_uᵀ estimates the information about all
numbers of a mixture at once, missing types included; the penalty adds its own curvature. The
inverse is the covariance, and a mean's error follows by its gradient. Gradients are central
differences of `Estimator.laws`.

Where the matrix would be too large, units are drawn again with replacement (a bootstrap), and the
fit goes on from where it is: as many times as are enough for an error's first digit.

Both are about the noise of a log in which the types are as many as were found. Neither knows of a
wrong number of types, nor of units that change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.fitting import kernels
from fpbandits.fitting.em import Mixture, Sample

_MOST_NUMBERS = 2_000
_DRAWS = 50
_STEP = 1e-4


@dataclass(frozen=True, eq=False)
class Errors:
    """Standard errors, in the user's units.

    Attributes
    ----------
    means
        [pair, type].
    shares
        By type.
    """

    means: Floats
    shares: Floats


def standard_errors(sample: Sample, mixture: Mixture, random: np.random.Generator) -> Errors:
    """Return how far means and shares may be off."""
    pairs, types, depth = mixture.coordinates.shape
    numbers = pairs * types * depth + len(mixture.common) + types - 1
    if numbers > _MOST_NUMBERS:
        return _drawn_again(sample, mixture, random)
    covariance = _inverse(_information(sample, mixture))
    slopes = _slopes_of_means(sample, mixture)
    blocks = covariance[: slopes.size, : slopes.size].reshape(pairs * types, depth, -1, depth)
    own = np.einsum("idie->ide", blocks)
    flat = slopes.reshape(pairs * types, depth)
    variances = np.einsum("id,ide,ie->i", flat, own, flat).reshape(pairs, types)
    shares = np.exp(mixture.log_shares)
    gradient = np.diag(shares) - np.outer(shares, shares)
    gradient = gradient[:, :-1]
    of_odds = covariance[numbers - types + 1 :, numbers - types + 1 :]
    of_shares = np.einsum("td,de,te->t", gradient, of_odds, gradient)
    return Errors(_rounded(variances), _rounded(of_shares))


def _rounded(variances: Floats) -> Floats:
    """Return errors to six digits: the next ones depend on how many threads solve the equations."""
    errors = np.sqrt(np.maximum(variances, 0))
    return np.array([float(f"{error:.6g}") for error in errors.flat]).reshape(errors.shape)


def _information(sample: Sample, mixture: Mixture) -> Floats:
    """Return the information about coordinates, common ones and odds of shares, in this order."""
    estimator, cells = sample.estimator, sample.cells
    pairs, types, depth = mixture.coordinates.shape
    common, statistics = len(mixture.common), estimator.statistics
    base, cost = estimator.laws(mixture.coordinates, mixture.common)
    slope_base, slope_cost = (
        np.zeros((pairs, types, depth)),
        np.zeros((pairs, types, statistics, depth)),
    )
    for d in range(depth):
        up, down = (_moved(sample, mixture, d, step) for step in (_STEP, -_STEP))
        slope_base[..., d] = (up[0] - down[0]) / (2 * _STEP)
        slope_cost[..., d] = (up[1] - down[1]) / (2 * _STEP)
    common_base = np.zeros((pairs, types, common))
    common_cost = np.zeros((pairs, types, statistics, common))
    for q in range(common):
        there = np.eye(common)[q] * _STEP
        up, down = (
            estimator.laws(mixture.coordinates, mixture.common + sign * there) for sign in (1, -1)
        )
        common_base[..., q] = (up[0] - down[0]) / (2 * _STEP)
        common_cost[..., q] = (up[1] - down[1]) / (2 * _STEP)
    size = pairs * types * depth + common + types
    information = np.zeros((size, size))
    longest = int(np.diff(cells.starts).max())
    room = longest * types * depth + common + types
    table = np.empty((len(cells.pair), types))
    by_statistic = np.ascontiguousarray(np.swapaxes(cost, 1, 2))
    kernels.tabulate(cells.pair, cells.plays, cells.sums, base, by_statistic, table)
    kernels.add_scores(
        cells.starts,
        cells.members,
        cells.pair,
        cells.plays,
        cells.sums,
        sample.weights,
        mixture.log_shares,
        table,
        slope_base,
        slope_cost,
        common_base,
        common_cost,
        np.empty(types),
        np.empty(room, np.int64),
        np.empty(room),
        information,
    )
    information += _of_penalty(sample, mixture, size)
    return information[:-1, :-1]  # shares add up to 1: the last one follows


def _moved(sample: Sample, mixture: Mixture, d: int, step: float) -> tuple[Floats, Floats]:
    """Return the laws with one coordinate of all pairs and types moved."""
    coordinates = mixture.coordinates.copy()
    coordinates[..., d] += step
    return sample.estimator.laws(coordinates, mixture.common)


def _of_penalty(sample: Sample, mixture: Mixture, size: int) -> Floats:
    """Return the curvature that the penalty adds: each pair and type has a block of its own."""
    pairs, types, depth = mixture.coordinates.shape

    def penalty(*moves: tuple[int, float]) -> Floats:
        coordinates = mixture.coordinates.copy()
        for d, step in moves:
            coordinates[..., d] += step
        base, cost = sample.estimator.laws(coordinates, mixture.common)
        value: Floats = base + np.einsum("ak,atk->at", sample.pooled, cost)
        return value

    added, step = np.zeros((size, size)), 1e-3
    first = depth * np.arange(pairs * types)
    for d in range(depth):
        for e in range(d + 1):
            bend = penalty((d, step), (e, step)) - penalty((d, step), (e, -step))
            bend += penalty((d, -step), (e, -step)) - penalty((d, -step), (e, step))
            curvature = sample.strength * bend.reshape(-1) / (4 * step**2)
            added[first + d, first + e] = added[first + e, first + d] = curvature
    shares = np.exp(mixture.log_shares)
    # One more unit of each type.
    added[-types:, -types:] = types * (np.diag(shares) - np.outer(shares, shares))
    return added


def _slopes_of_means(sample: Sample, mixture: Mixture) -> Floats:
    """Return the derivatives of means by coordinates, [pair, type, d]."""
    slopes = np.zeros(mixture.coordinates.shape)
    for d in range(mixture.coordinates.shape[-1]):
        ends = []
        for step in (_STEP, -_STEP):
            coordinates = mixture.coordinates.copy()
            coordinates[..., d] += step
            ends.append(sample.estimator.means(coordinates, mixture.common))
        slopes[..., d] = (ends[0] - ends[1]) / (2 * _STEP)
    return slopes


def _inverse(information: Floats) -> Floats:
    """Return the inverse; what is not known at all gets a variance that is huge, not infinite."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    inverse = (vectors / np.maximum(values, 1e-9)) @ vectors.T
    covariance: Floats = inverse / np.outer(scale, scale)
    return covariance


def _drawn_again(sample: Sample, mixture: Mixture, random: np.random.Generator) -> Errors:
    """Fit to units drawn with replacement, again and again."""
    units = int(sample.size)
    means, shares = [], []
    for _ in range(_DRAWS):
        weights = random.multinomial(units, sample.weights / sample.size).astype(np.float64)
        drawn = Sample(sample.cells, weights, sample.estimator, sample.strength)
        found, _ = drawn.climb(mixture, 30, 1e-6)
        means.append(sample.estimator.means(found.coordinates, found.common))
        shares.append(np.exp(found.log_shares))
    return Errors(np.std(means, axis=0, ddof=1), np.std(shares, axis=0, ddof=1))
