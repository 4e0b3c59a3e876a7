"""What is believed of the models, and what each arm is then expected to lose.

With the posterior p and the gaps Δ_i(θ), arm i is expected to lose c_i = Σ_θ p(θ)·Δ_i(θ) per play.
Beliefs come as −ln of them, less a constant: a model's deficit, to which −ln of its prior is added.
"""

from __future__ import annotations

import math

from fpbandits.core.arrays import Bools, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import State
from fpbandits.policies.shared.changing import follow
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.levels import Theta


@jitted
def believe(
    theta: Theta,
    prior: Floats,
    state: State,
    cost: Floats,
    change_rate: float,
    chain: Floats | None,
) -> None:
    """Turn the deficits in ``cost``, as `weigh` left them, into −ln of beliefs.

    ``prior`` is −ln of the prior, which may be the policy's own and not that in ``theta``. If the
    truth changes, beliefs follow it.
    """
    if change_rate > 0:
        follow(theta, prior, state, cost, change_rate, chain)
    else:
        for model in range(cost.size):
            cost[model] += prior[model]


@jitted
def fill_posterior(
    cost: Floats, negligible: float, posterior: Floats, unfit: Bools | None = None
) -> int:
    """Fill in the posterior from −ln of beliefs; return the likeliest model, the first of equals.

    Models that are less likely than that one by more than ``negligible`` nats get 0. If some are
    marked as ``unfit``, the likeliest of the others is returned, and those of them that are at
    least as likely get 0. The rest of them do no harm, and may be right after all.
    """
    least, total, likeliest = math.inf, 0.0, -1
    for model in range(cost.size):
        if unfit is None or not unfit[model]:
            least = min(least, cost[model])
    for model in range(cost.size):
        above, fits = cost[model] - least, unfit is None or not unfit[model]
        counts = above <= negligible and (fits or above > 0)
        posterior[model] = math.exp(-above) if counts else 0.0
        total += posterior[model]
        if likeliest < 0 and fits and above <= EQUAL:
            likeliest = model
    for model in range(cost.size):
        posterior[model] /= total
    return likeliest


@jitted
def gap(theta: Theta, pair: int, model: int) -> float:
    """Return what an arm loses per play under a model, in its context."""
    if theta.is_best[pair, model]:
        return 0.0
    mean = theta.levels[pair, theta.codes[pair, model]]
    return float(theta.top[pair // theta.arms, model] - mean)


@jitted
def expected_loss(theta: Theta, posterior: Floats, first: int, loss: Floats) -> None:
    """Fill in c of the pairs from ``first`` on; infinity if an arm is not eligible."""
    for i in range(loss.size):
        loss[i] = 0.0 if theta.eligible[first + i] else math.inf
    for model in range(posterior.size):
        if posterior[model] > 0:  # after some plays, few models have any
            for i in range(loss.size):
                loss[i] += posterior[model] * gap(theta, first + i, model)
