"""Which rows of a log are usable; and which logs are refused.

In row t the log drew an arm at random, arm a with probability p_t(a). That of the arm that it
played is its *propensity*, p_t for short. Accepting a row whenever the policy would have played the
same arm accepts the log's preferred arms more often than others, which biases the estimate. So a
row is *usable* with probability c/p_t, drawn at random, where c is the least propensity of any arm
in any row. Then, whatever the past and whichever arm a the policy asks for,

    P(the log played a, and the row is usable) = p_t(a) · c/p_t(a) = c.

Accepted rewards are distributed as those of the policy itself, and their number is independent of
them: Binomial(n, c) for n rows. In a uniform log with K eligible arms in every row, c = 1/K, and
every row is usable.

**A log does not show that least propensity**, since it holds the propensities of played arms only.
So from here on c is only an upper bound of it. An arm that the log never played in a context may
have a propensity of 0 there: Thompson sampling never plays an arm that is best under no model. The
bound disregards such arms. If a policy asks for one, the row is never accepted: for these arms the
equation above does not hold. Let ``drawn`` be the number of the row's eligible arms that the log
played at least once in the row's context. The played arm is one of them; the other ``drawn`` − 1
arms together have a probability of at most 1 − p_t, so the least likely of them has at most (1 −
p_t)/(drawn − 1). The bound c is the least of these numbers and of all p_t. If an arm that a row
did not play had a propensity below c there, the chance that the row would be accepted for it was at
most that propensity, not c: this bias remains.

**Contradictions.** We do not know an arm's propensity in rows that did not play it; it may have
been 0. So a log can show that an arm was played more often than its propensities allow, but not
that it was played too seldom. A row in which an arm has propensity p adds p·(1/p) = 1 on average to
the sum of 1/p_t over the rows that played the arm. So on average that sum is at most the number of
rows in which the arm was eligible. A second test takes all arms together: for every whole number m,
at most m arms of a row have a propensity above 1/(m + 1), so on average the sum of 1/p_t over all
rows with p_t > 1/(m + 1) is at most m times the number of rows.

A *pair* is a context and an arm. Its index in arrays by pair is context · arms + arm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Bools, Floats
from fpbandits.core.checks import number_text
from fpbandits.errors import InputError, counted
from fpbandits.families.estimator import Codes
from fpbandits.logs.log import Log

_DEVIATIONS = 6.0
"""A sum contradicts the propensities if it is off by more standard deviations than this …"""

_SHARE = 0.1
"""… and by more than this share of what is expected: rounding may change propensities that much."""


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


def _sum_where_eligible(log: Log, by_row: Floats) -> Floats:
    """Return by pair the sum of ``by_row`` over the rows in which the arm was eligible."""
    arms, contexts = len(log.arms), max(1, len(log.contexts))
    sets = eligible(log)
    sums = np.zeros((contexts, len(sets)))
    np.add.at(sums, (log.pair // arms, _set_of_rows(log)), by_row)
    return (sums @ sets).reshape(-1)


def check_propensities(log: Log, propensity: Floats) -> None:
    """Refuse numbers that are not probabilities, and decisions that were not random.

    Rows are named by their index in the log: `Log.naming_rows` says where that is in the file.
    """
    invalid = ~((propensity > 0) & (propensity <= 1))
    if invalid.any():
        row = int(invalid.argmax())
        value = number_text(float(propensity[row]))
        wanted = "is not a probability, above 0 and at most 1"
        raise InputError(f"the propensity {value} {wanted}").at(("index", row))
    choice = _choices(log) > 1
    impossible = (propensity < 1 - TOLERANCE) & ~choice
    if choice.any() and impossible.any():
        row = int(impossible.argmax())
        value = number_text(float(propensity[row]))
        raise InputError(
            f"the propensity is {value}, but only one arm was eligible: that one was certain"
        ).at(("index", row))
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
    """Return c, the upper bound of the least propensity."""
    by_context = drawn_pairs(log).reshape(-1, len(log.arms)).astype(np.int64)
    drawn = (by_context @ eligible(log).T)[log.pair // len(log.arms), _set_of_rows(log)]
    several = drawn > 1
    # Above 0: `check_propensities` has refused a 1 where there was a choice.
    others = (1 - propensity[several]) / (drawn[several] - 1)
    return float(np.concatenate([propensity, others]).min())


def check_balance(log: Log, propensity: Floats, uniform: bool) -> None:
    """Refuse a log that contradicts its propensities, by the two tests of the module's docstring.

    With ``uniform`` the log is said to have drawn all eligible arms of a row with equal
    probability: then an arm's propensity is known in every row in which it was eligible, and too
    few plays are a contradiction, too. ``propensity`` is then `uniform_propensities`.
    """
    arms, pairs = len(log.arms), log.pairs
    inverse = 1 / propensity
    rows = _sum_where_eligible(log, np.ones(len(inverse)))
    played = np.bincount(log.pair, minlength=pairs)
    total = np.bincount(log.pair, inverse, pairs)
    # Which rows play the arm is random, and so is Σ 1/p_t over them. Σ (1 − p_t)/p_t² over the same
    # rows estimates its variance without bias. (1 − p)/p² = 1/p² − 1/p.
    variance = np.bincount(log.pair, inverse**2 - inverse, pairs)
    if uniform:
        off_by = np.abs(total - rows)
        # The variance itself is known here, too: Σ (1 − p)/p = Σ (1/p − 1) over all eligible rows.
        # The larger one is taken, so as not to refuse a log by chance: the estimate is too small
        # for an arm that was hardly played, and six true deviations are too few for one with very
        # few eligible rows: one play in one row with K = 100 is off by ten.
        variance = np.maximum(variance, _sum_where_eligible(log, inverse - 1))
        expected_plays = _sum_where_eligible(log, propensity)
    else:
        off_by = total - rows
        # The number of plays whose 1/p_t would add up to ``rows``, with the same mean of 1/p_t.
        # (``total`` is below 1 only for an arm that was never played.)
        expected_plays = rows * played / np.maximum(total, 1)
    is_off = _clearly_off(off_by, np.sqrt(variance), rows)
    if is_off.any():
        pair = max(np.flatnonzero(is_off).tolist(), key=lambda pair: off_by[pair] / rows[pair])
        due = counted(round(expected_plays[pair]), "row")
        raise _unbalanced(
            f"{log.pair_names[pair]!r} was played in {played[pair]:,} of {rows[pair]:,.0f} rows, "
            f"where {'about' if uniform else 'at most'} {due} would be expected",
            uniform,
        )
    if uniform:  # each propensity is 1/(number of eligible arms), so the second test cannot fail
        return
    for m in range(1, arms):
        # A little above 1/(m + 1): a 1/6 that was rounded to 0.17 must not count as above 1/6.
        threshold = 1 / ((m + 1) * (1 - _SHARE))
        above = propensity > threshold
        summed, limit = float(inverse[above].sum()), m * len(inverse)
        # For several arms together the mean of this estimate is at least the variance: a row plays
        # only one of them, so their parts of the sum are negatively correlated.
        variance_above = float((inverse[above] ** 2 - inverse[above]).sum())
        if _clearly_off(summed - limit, np.sqrt(variance_above), limit):
            raise _unbalanced(
                f"{above.sum():,} of {len(above):,} rows have a propensity of "
                f"{number_text(float(propensity[above].min()))} or more, where at most "
                f"{round(above.sum() * limit / summed):,} would be expected",
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
        f"the propensities do not fit the log: {found}. A propensity is the probability with which "
        "the arm that a row played was chosen there"
    )


def usable_rows(propensity: Floats, least: float, random: np.random.Generator) -> Bools:
    """Draw which rows are usable: the same for all policies."""
    usable: Bools = random.random(len(propensity)) * propensity < least
    return usable
