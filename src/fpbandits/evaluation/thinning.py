"""Which rows of a log are usable; and which logs are refused.

In row t the log drew an arm at random. The one that it played had the probability p_t, its
*propensity*, and each other arm had its own. Accepting a row whenever the policy would have played
the same arm accepts the log's preferred arms more often than others, which biases the estimate. So
a row is *usable* with probability c/p_t, drawn at random, where c is the least propensity of any
arm in any row. Then, whatever the past and whichever arm a policy asks for,

    P(the log played it, and the row is usable) = p_t(arm) · c/p_t(arm) = c.

Accepted rewards are distributed as those of the policy itself, and their number is independent of
them: Binomial(n, c) for n rows. In a uniform log with K eligible arms in every row, c = 1/K, and
every row is usable.

**A log does not show that least propensity**, since it has those of the arms that were played only.
In place of c we take an upper bound of it. An arm that the log never played in a context may have a
propensity of 0 there: Thompson sampling never plays an arm that is best under no model. Such an arm
is left out, and rows at which a policy asks for it are not accepted. Let ``drawn`` be how many of a
row's eligible arms the log ever played in the row's context. All of them but the one played in this
row share at most 1 − p_t, so the least likely has at most (1 − p_t)/(drawn − 1). The bound is the
least of these numbers and of all p_t. An arm that was less likely than that in some row is accepted
too seldom there.

**Contradictions.** We do not know an arm's propensity in rows that did not play it; it may have
been 0. So a log can show that an arm was played more often than its propensities allow, but not
that it was played too seldom. A row in which an arm has propensity p adds p·(1/p) = 1 on average to
the sum of 1/p_t over the rows that played the arm. So on average that sum is at most the number of
rows in which the arm was eligible. A second test takes all arms together: for every whole number m,
at most m arms of a row have a propensity above 1/(m + 1), so on average the sum of 1/p_t over all
rows with p_t > 1/(m + 1) is at most m times the number of rows.

A *pair* is a context and an arm. Arrays by pair have all arms in the first context first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.core.checks import number_text
from fpbandits.errors import InputError, counted
from fpbandits.families.estimator import Codes
from fpbandits.logs.log import Log

_DEVIATIONS = 6.0
"""A sum contradicts the propensities if it is off by more standard deviations than this …"""

_SHARE = 0.1
"""… and by more than this share of what is expected: rounded propensities are a little off."""


def uniform_propensities(log: Log) -> Floats:
    """Return the propensities of a log in which every eligible arm was as likely as any other."""
    return 1 / _choices(log)


def eligible(log: Log) -> Bools:
    """Return which arms were eligible, [set, arm]; one set of all arms if the log has no sets."""
    return np.ones((1, len(log.arms)), bool) if log.sets is None else log.sets


def _set_of_rows(log: Log) -> Codes:
    """Return the set of each row, an index into `eligible`."""
    return np.zeros(len(log.reward), np.int32) if log.among is None else log.among


def _choices(log: Log) -> Floats:
    """Return how many arms were eligible in each row."""
    sizes: Floats = eligible(log).sum(axis=1).astype(np.float64)
    return sizes[_set_of_rows(log)]


def _possible(log: Log) -> tuple[Counts, Floats]:
    """Return by pair in how many rows the arm was eligible, and the mean number of choices there.

    For a pair that never was eligible, that mean is 1.
    """
    arms, contexts = len(log.arms), max(1, len(log.contexts))
    sets = eligible(log)
    rows_of_set = np.zeros((contexts, len(sets)), np.int64)
    np.add.at(rows_of_set, (log.pair // arms, _set_of_rows(log)), 1)
    rows = (rows_of_set @ sets).reshape(-1)
    choices = (rows_of_set * sets.sum(axis=1) @ sets).reshape(-1)
    return rows, np.divide(choices, rows, out=np.ones(len(rows)), where=rows > 0)


def check_propensities(log: Log, propensity: Floats) -> None:
    """Refuse numbers that are not probabilities, and decisions that were not random."""
    invalid = ~((propensity > 0) & (propensity <= 1))
    if invalid.any():
        row = int(invalid.argmax())
        value = number_text(float(propensity[row]))
        wanted = "is not a probability, above 0 and at most 1"
        raise InputError(f"the propensity {value} {wanted}").at(("index", row))
    choice = _choices(log) > 1
    certain = (propensity == 1) & choice
    if certain[choice].all():  # also if no row has a choice
        found = "every propensity is 1" if choice.any() else "no row has more than one eligible arm"
        raise InputError(
            f"{found}: the log always knew what to play, so it cannot tell what another decision "
            "would have earned. Only a log of randomised decisions can"
        )
    if certain.any():
        raise InputError(
            "the propensity is 1: this decision was not random, so it cannot tell what another "
            "would have earned. Leave out whatever was not randomised"
        ).at(("index", int(certain.argmax())))


def drawn_pairs(log: Log) -> Bools:
    """Tell which pairs the log ever played."""
    drawn: Bools = np.bincount(log.pair, minlength=log.pairs) > 0
    return drawn


def least_propensity(log: Log, propensity: Floats) -> float:
    """Return c: the largest value that the least propensity can have, as far as the log shows."""
    by_context = drawn_pairs(log).reshape(-1, len(log.arms)).astype(np.int64)
    drawn = (by_context @ eligible(log).T)[log.pair // len(log.arms), _set_of_rows(log)]
    several = drawn > 1
    others = (1 - propensity[several]) / (drawn[several] - 1)
    return float(np.concatenate([propensity, others]).min())


def check_balance(log: Log, propensity: Floats, uniform: bool) -> None:
    """Refuse a log whose arms were not played as often as its propensities say.

    With ``uniform`` the log is said to have drawn all eligible arms of a row with equal
    probability. Σ (1 − p_t)/p_t² over the rows that played an arm estimates the variance of Σ 1/p_t
    over the same rows, without bias.
    """
    arms, pairs = len(log.arms), log.pairs
    inverse = 1 / propensity
    rows, choices = _possible(log)
    played = np.bincount(log.pair, minlength=pairs)
    total = np.bincount(log.pair, inverse, pairs)
    variance = np.bincount(log.pair, inverse**2 - inverse, pairs)  # (1 − p)/p² = 1/p² − 1/p
    # An arm that was hardly played has too few rows to estimate its variance from. The variance is
    # the sum of 1/q_t − 1 over the n rows in which the arm was eligible, q_t its probability there,
    # and so by Jensen's inequality at least n·(1/q̄ − 1). The mean of 1/p_t over the rows that
    # played the arm estimates 1/q̄. If none did, a uniform log still has all q_t; in others the arm
    # is taken to be as unlikely as any arm ever was.
    if_never = choices if uniform else np.full(pairs, inverse.max())
    mean = np.divide(total, played, out=if_never, where=drawn_pairs(log))
    deviation = np.sqrt(np.maximum(variance, rows * (mean - 1)))
    # In a uniform log no arm has a propensity of 0, so too few plays are a contradiction, too.
    off_by = np.abs(total - rows) if uniform else total - rows
    is_off = _clearly_off(off_by, deviation, rows)
    if is_off.any():
        pair = max(np.flatnonzero(is_off).tolist(), key=lambda pair: off_by[pair] / rows[pair])
        expected = counted(round(rows[pair] / mean[pair]), "row")
        raise _unbalanced(
            f"{log.pair_names[pair]!r} was played in {played[pair]:,} of {rows[pair]:,} rows, "
            f"where {'about' if uniform else 'at most'} {expected} would be expected",
            uniform,
        )
    if uniform:  # each propensity is 1/(number of eligible arms), so the second test cannot fail
        return
    for m in range(1, arms):
        least = 1 / ((m + 1) * (1 - _SHARE))  # so that 0.17 is not above 1/6
        above = propensity > least
        # Of several arms together the same sum is at least the variance: a row plays one of them.
        summed, limit = float(inverse[above].sum()), m * len(inverse)
        spread = float(np.sqrt((inverse[above] ** 2 - inverse[above]).sum()))
        if _clearly_off(summed - limit, spread, limit):
            raise _unbalanced(
                f"{above.sum():,} of {len(above):,} rows have a propensity above "
                f"{least:.2g}, where at most {round(above.sum() * limit / summed):,} would "
                "be expected",
                uniform,
            )


def _clearly_off(off_by: Any, deviation: Any, expected: Any) -> Any:
    """Tell where a sum is too far off, in standard deviations and relative to what is expected."""
    return (off_by > _DEVIATIONS * deviation) & (off_by > _SHARE * expected)


def _unbalanced(found: str, uniform: bool) -> InputError:
    """Return an error that says what was found, and what to do about it."""
    if uniform:
        return InputError(
            f"arms were not chosen uniformly: {found}. Give the column that holds how likely the "
            "arm was (propensity)"
        )
    return InputError(
        f"the propensities do not fit the log: {found}. A propensity is how likely the arm that "
        "was played was to be chosen in that row"
    )


def usable_rows(propensity: Floats, least: float, random: np.random.Generator) -> Bools:
    """Draw which rows are usable: the same for all policies."""
    usable: Bools = random.random(len(propensity)) * propensity < least
    return usable
