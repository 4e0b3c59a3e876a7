"""Standard errors of means and shares: by the scores of units, or by a bootstrap over units.

With s_u the gradient of a unit's log-likelihood, Σ_u s_u s_uᵀ estimates the information about all
parameters of a mixture at once, although the units' types are not observed; the penalty adds its
own curvature. The inverse is the covariance, and a mean's error follows by the delta method.
Gradients are central differences of `Estimator.laws`.

Where that matrix would be too large, units are drawn with replacement (a bootstrap), and each
replicate is fitted from the mixture found: often enough for an error's first digit.

Both assume that the number of types is right and that units keep their types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.fitting import kernels
from fpbandits.fitting.em import Mixture, Sample

_MOST_PARAMETERS = 2_000
"""With more free parameters than this, errors are found by a bootstrap."""
_DRAWS = 50
"""Replicates of the bootstrap."""
_STEP = 1e-4
"""The step of central differences, in natural parameters."""


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
    if mixture.free_parameters > _MOST_PARAMETERS:
        return _bootstrap(sample, mixture, random)
    pairs, types, depth = mixture.parameters.shape
    covariance = _inverse(_information(sample, mixture))
    slopes = _derivatives(
        lambda moved: sample.estimator.means(moved, mixture.common), mixture.parameters
    )
    blocks = covariance[: slopes.size, : slopes.size].reshape(pairs * types, depth, -1, depth)
    diagonal = np.einsum("idie->ide", blocks)  # each mean has parameters of its own
    flat = slopes.reshape(pairs * types, depth)
    variances = np.einsum("id,ide,ie->i", flat, diagonal, flat).reshape(pairs, types)
    shares = np.exp(mixture.log_shares)
    gradient = (np.diag(shares) - np.outer(shares, shares))[:, :-1]
    first = mixture.free_parameters - types + 1
    of_odds = covariance[first:, first:]
    of_shares = np.einsum("td,de,te->t", gradient, of_odds, gradient)
    return Errors(_roots(variances), _roots(of_shares))


def _roots(variances: Floats) -> Floats:
    """Return standard errors to six digits: the next ones depend on the number of threads."""
    errors = np.sqrt(np.maximum(variances, 0))
    return np.array([float(f"{error:.6g}") for error in errors.flat]).reshape(errors.shape)


def _information(sample: Sample, mixture: Mixture) -> Floats:
    """Return the information about parameters, common ones and log-shares, in this order."""
    estimator, cells = sample.estimator, sample.cells
    pairs, types, depth = mixture.parameters.shape
    common = len(mixture.common)
    slopes = (
        _derivatives(lambda moved: estimator.laws(moved, mixture.common)[0], mixture.parameters),
        _derivatives(lambda moved: estimator.laws(moved, mixture.common)[1], mixture.parameters),
        _derivatives(lambda moved: estimator.laws(mixture.parameters, moved)[0], mixture.common),
        _derivatives(lambda moved: estimator.laws(mixture.parameters, moved)[1], mixture.common),
    )
    size = pairs * types * depth + common + types
    information = np.zeros((size, size))
    longest = int(np.diff(cells.starts).max())
    entries = longest * types * depth + common + types  # the most of one unit's score
    kernels.add_scores(
        cells.starts,
        cells.members,
        cells.pair,
        cells.plays,
        cells.sums,
        sample.weights,
        mixture.log_shares,
        sample.costs(mixture),
        *slopes,
        np.empty(types),
        np.empty(entries, np.int64),
        np.empty(entries),
        information,
    )
    information += _penalty_curvature(sample, mixture, size)
    return information[:-1, :-1]  # shares add up to 1: the last one follows


def _derivatives(function: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return central differences by each entry of the last axis of ``at``, as a new last axis."""
    slopes = np.empty((*function(at).shape, at.shape[-1]))
    for d, step in enumerate(_STEP * np.eye(at.shape[-1])):
        slopes[..., d] = (function(at + step) - function(at - step)) / (2 * _STEP)
    return slopes


def _penalty_curvature(sample: Sample, mixture: Mixture, size: int) -> Floats:
    """Return the curvature that the penalty adds: each pair and type has a block of its own."""
    pairs, types, depth = mixture.parameters.shape

    def penalty(one: Floats, two: Floats) -> Floats:
        return sample.pooled_cost(mixture.parameters + one + two, mixture.common)

    added, step = np.zeros((size, size)), 1e-3
    moves = step * np.eye(depth)
    first = depth * np.arange(pairs * types)
    for d in range(depth):
        for e in range(d + 1):
            one, two = moves[d], moves[e]
            bend = penalty(one, two) - penalty(one, -two)
            bend += penalty(-one, -two) - penalty(-one, two)
            curvature = sample.pseudo_count * bend.reshape(-1) / (4 * step**2)
            added[first + d, first + e] = added[first + e, first + d] = curvature
    shares = np.exp(mixture.log_shares)
    # One more unit of each type.
    added[-types:, -types:] = types * (np.diag(shares) - np.outer(shares, shares))
    return added


def _inverse(information: Floats) -> Floats:
    """Return the inverse; what is not known at all gets a huge variance, not an infinite one."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    inverse = (vectors / np.maximum(values, 1e-9)) @ vectors.T
    covariance: Floats = inverse / np.outer(scale, scale)
    return covariance


def _bootstrap(sample: Sample, mixture: Mixture, random: np.random.Generator) -> Errors:
    """Return the standard deviation of fits to units drawn with replacement."""
    units = int(sample.size)
    means, shares = [], []
    for _ in range(_DRAWS):
        weights = random.multinomial(units, sample.weights / sample.size).astype(np.float64)
        replicate, _ = replace(sample, weights=weights).climb(mixture, 30, 1e-6)
        means.append(sample.estimator.means(replicate.parameters, replicate.common))
        shares.append(np.exp(replicate.log_shares))
    return Errors(np.std(means, axis=0, ddof=1), np.std(shares, axis=0, ddof=1))
