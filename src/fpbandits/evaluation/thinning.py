"""Which rows of a log are usable, and logs that cannot answer.

In row t the log played an arm that it chose with probability p_t, its *propensity*; other arms had
others. Accepting a row whenever the policy would have played the same arm accepts the log's
preferred arms more often than others, which biases the estimate. So a row is *usable* with
probability c/p_t, drawn at random, where c is the least propensity of any arm in any row. Then,
whatever the past and whichever arm a policy asks for,

    P(the log played it, and the row is usable) = p_t(arm) · c/p_t(arm) = c.

Accepted rewards are drawn as those of the policy itself, and how many there are says nothing about
them: of n rows, Binomial(n, c). Of a uniform log every row is usable, and c = 1/(number of arms).

The log has the propensities of arms that were played alone. Others follow in part: they share
1 − p_t, so the least of them is at most (1 − p_t)/(arms − 1). c is the least of both over all rows.
"""

from __future__ import annotations

import numpy as np

from fpbandits.core.arrays import Bools, Floats
from fpbandits.core.checks import number_text
from fpbandits.errors import InputError, counted
from fpbandits.logs.log import Log

_DEVIATIONS, _SHARE = 6.0, 0.1
"""An arm is played too often or too seldom for its propensities if it is by so many standard
deviations, and by so large a share: rounded propensities are a little off."""


def uniform_propensities(log: Log) -> Floats:
    """Return the propensities of a log in which every arm was as likely as any other."""
    return np.full(len(log.reward), 1 / len(log.arms))


def check_propensities(log: Log, propensity: Floats) -> None:
    """Refuse numbers that are not probabilities, and decisions that were not random."""
    wrong = ~((propensity > 0) & (propensity <= 1))
    if wrong.any():
        row = int(wrong.argmax())
        value = number_text(float(propensity[row]))
        wanted = "is not a probability, above 0 and at most 1"
        raise InputError(f"the propensity {value} {wanted}", place=(("index", row),))
    certain = propensity == 1
    if certain.all():
        raise InputError(
            "every propensity is 1: the log always knew what to play, so it cannot tell what "
            "another decision would have earned. Only a log of randomised decisions can"
        )
    if certain.any():
        raise InputError(
            "the propensity is 1: this decision was not random, so it cannot tell what another "
            "would have earned. Leave out whatever was not randomised"
        ).at(("index", int(certain.argmax())))


def least_propensity(log: Log, propensity: Floats) -> float:
    """Return c: no arm was less likely in any row, as far as the log tells."""
    others = (1 - float(propensity.max())) / (len(log.arms) - 1)
    return min(float(propensity.min()), others)


def check_balance(log: Log, propensity: Floats, uniform: bool) -> None:
    """Refuse a log whose arms were not played as often as its propensities say.

    Over the rows of a context, 1/p_t summed over those that played an arm is n on average, for
    every arm; its variance is at least Σ (1 − p_t)/p_t², estimated by the same rows.
    """
    arms, pairs = len(log.arms), log.pairs
    inverse = 1 / propensity
    came = np.repeat(np.bincount(log.pair // arms, minlength=pairs // arms), arms)
    played = np.bincount(log.pair, minlength=pairs)
    total = np.bincount(log.pair, inverse, pairs)
    squares = np.bincount(log.pair, inverse**2 - inverse, pairs)
    # Where an arm was hardly played, its few rows say little of the variance: by their mean it is
    # that of a binomial number, and by the least propensity if there are none.
    mean = np.where(played > 0, total / np.maximum(played, 1), inverse.max())
    deviation = np.sqrt(np.maximum(squares, came * (mean - 1)))
    off = np.abs(total - came)
    wrong = (off > _DEVIATIONS * deviation) & (off > _SHARE * came)
    if not wrong.any():
        return
    pair = int(np.argmax(wrong * off / np.maximum(came, 1)))
    expected = counted(round(came[pair] / mean[pair]), "row")
    found = (
        f"{log.pair_names[pair]!r} was played in {played[pair]:,} of {came[pair]:,} rows, where "
        f"about {expected} would be expected"
    )
    if uniform:
        raise InputError(
            f"arms were not chosen uniformly: {found}. Give the column that holds how likely the "
            "arm was (propensity)"
        )
    raise InputError(
        f"the propensities do not fit the log: {found}. A propensity is how likely the arm that "
        "was played was to be chosen in that row"
    )


def usable_rows(propensity: Floats, least: float, random: np.random.Generator) -> Bools:
    """Draw which rows are usable: the same for all policies."""
    usable: Bools = random.random(len(propensity)) * propensity < least
    return usable
