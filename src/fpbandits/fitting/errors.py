"""Standard errors of means and shares: by the scores of units, or by a bootstrap over units.

With s_u the gradient of a unit's log-likelihood, Σ_u s_u s_uᵀ estimates the information about all
parameters of a mixture at once, although the units' types are not observed; the penalty (pooled
rewards, and one more unit of each type: see `fitting.em`) adds its own curvature. With one type the
pooled rewards are the type's own: so that they do not make errors too small, they count as at most
one reward, without which an arm that was never played would have no error at all. The inverse
is the covariance, and a mean's error follows by the delta method. Gradients are central differences
of `Estimator.laws`.

Where that matrix would be too large, units are drawn with replacement (a bootstrap), and each
replicate is fitted from the mixture found: 50 replicates give an error's first digit.

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
"""The step of central differences, in parameters as a `Mixture` has them."""
_SECOND_STEP = 1e-3
"""The step of second differences, which rounding disturbs more."""


@dataclass(frozen=True, eq=False)
class Errors:
    """Standard errors, those of means in the units of the logged rewards.

    Attributes
    ----------
    means
        By pair of context and arm, and by type: [pair, type].
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
    # `means` takes the common parameters, but in no family does a mean depend on them: their
    # variance does not matter here.
    slopes = _derivatives(
        lambda moved: sample.estimator.means(moved, mixture.common), mixture.parameters
    )
    size = mixture.parameters.size
    blocks = covariance[:size, :size].reshape(pairs * types, depth, pairs * types, depth)
    diagonal = np.einsum("idie->ide", blocks)  # each mean has parameters of its own
    flat = slopes.reshape(pairs * types, depth)
    variances = np.einsum("id,ide,ie->i", flat, diagonal, flat).reshape(pairs, types)
    shares = np.exp(mixture.log_shares)
    # The shares' own parameters are logits, the last of which is held at 0.
    gradient = (np.diag(shares) - np.outer(shares, shares))[:, :-1]
    first = size + len(mixture.common)
    of_logits = covariance[first:, first:]
    of_shares = np.einsum("td,de,te->t", gradient, of_logits, gradient)
    return Errors(_roots(variances), _roots(of_shares))


def _roots(variances: Floats) -> Floats:
    """Return standard errors to six digits: the next ones depend on the number of threads."""
    errors = np.sqrt(np.maximum(variances, 0))
    return np.array([float(f"{error:.6g}") for error in errors.flat]).reshape(errors.shape)


def _information(sample: Sample, mixture: Mixture) -> Floats:
    """Return the information about parameters, common ones and logits, in this order.

    `Estimator.laws` gives a base and costs: a reward's −log-likelihood is the base plus, added up
    over k, its kth statistic times the kth cost.
    """
    estimator, cells = sample.estimator, sample.cells
    pairs, types, depth = mixture.parameters.shape
    common = len(mixture.common)
    slopes = (  # by parameter d: base [pair, type, d], cost [pair, type, k, d]; then by common ones
        _derivatives(lambda moved: estimator.laws(moved, mixture.common)[0], mixture.parameters),
        _derivatives(lambda moved: estimator.laws(moved, mixture.common)[1], mixture.parameters),
        _derivatives(lambda moved: estimator.laws(mixture.parameters, moved)[0], mixture.common),
        _derivatives(lambda moved: estimator.laws(mixture.parameters, moved)[1], mixture.common),
    )
    size = pairs * types * depth + common + types
    information = np.zeros((size, size))
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
        np.empty(types),  # three workspaces
        np.empty(size, np.int64),
        np.empty(size),
        information,  # is filled
    )
    information += _penalty_curvature(sample, mixture, size)
    return information[:-1, :-1]  # shares add up to 1: the last logit is held at 0


def _derivatives(function: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return central differences by each entry of the last axis of ``at``, as a new last axis.

    Where ``at`` has parameters of all pairs and types, all move at once: each value depends on its
    own parameters alone.
    """
    slopes = np.empty((*function(at).shape, at.shape[-1]))
    for d, step in enumerate(_STEP * np.eye(at.shape[-1])):
        slopes[..., d] = (function(at + step) - function(at - step)) / (2 * _STEP)
    return slopes


def _penalty_curvature(sample: Sample, mixture: Mixture, size: int) -> Floats:
    """Return the curvature that the penalty adds: a block per pair and type, and the logits'.

    That of the common parameters is left out: all rewards determine them, and no mean depends on
    them.
    """
    pairs, types, depth = mixture.parameters.shape
    pseudo_count = sample.pseudo_count
    if types == 1:  # see the module's docstring
        pseudo_count = min(pseudo_count, 1.0)

    def penalty(one: Floats, two: Floats) -> Floats:
        return sample.pooled_cost(mixture.parameters + one + two, mixture.common)

    added = np.zeros((size, size))
    moves = _SECOND_STEP * np.eye(depth)
    first = depth * np.arange(pairs * types)
    for d in range(depth):
        for e in range(d + 1):
            one, two = moves[d], moves[e]
            # The mixed second difference, which is right for d = e, too.
            bend = penalty(one, two) - penalty(one, -two)
            bend += penalty(-one, -two) - penalty(-one, two)
            curvature = pseudo_count * bend.reshape(-1) / (4 * _SECOND_STEP**2)
            added[first + d, first + e] = added[first + e, first + d] = curvature
    shares = np.exp(mixture.log_shares)
    # The shares' penalty is −Σ_t ln π_t, as if one more unit of each type had been seen.
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
    units = int(sample.size)  # the sum of the weights: how many units each group stands for
    means, shares = [], []
    for _ in range(_DRAWS):
        weights = random.multinomial(units, sample.weights / sample.size).astype(np.float64)
        replicate, _ = replace(sample, weights=weights).climb(mixture, most=30, tolerance=1e-6)
        means.append(sample.estimator.means(replicate.parameters, replicate.common))
        shares.append(np.exp(replicate.log_shares))
    return Errors(np.std(means, axis=0, ddof=1), np.std(shares, axis=0, ddof=1))
