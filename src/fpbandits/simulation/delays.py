"""Late rewards: when each becomes known.

With a delay, a run is played step by step. The reward of a decision is drawn when it is made and
becomes known later, as to an agent with ``late="any"``. When it does is independent of rewards, so
it is fixed before the run begins: a `Schedule`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.core.checks import is_real, whole_number
from fpbandits.core.streams import DELAY, random_stream
from fpbandits.errors import InputError, counted, quote

Delay = int | str
"""A number of decisions; or "geometric:300", 300 decisions on average; or "batch:1000", when 1,000
decisions have been made."""

_LONGEST = 10**12
"""Decisions of a delay, at the most."""

GEOMETRIC = "geometric"
BATCH = "batch"


class Schedule(NamedTuple):
    """When rewards become known.

    Attributes
    ----------
    known
        How many rewards are known after t decisions, t = 0 … T.
    order
        The decision, from 0, whose reward becomes known first, second, and so on.
    """

    known: Counts
    order: Counts


def checked_delay(delay: object) -> Delay:
    """Return a delay in its shortest form, 0 for none; refuse what is no delay.

    >>> checked_delay("geometric:300"), checked_delay(30.0), checked_delay("batch:1")
    ('geometric:300', 30, 0)
    """
    if is_real(delay):
        return whole_number("delay", delay, most=_LONGEST, why="longer than any run")
    kind, _, text = delay.partition(":") if isinstance(delay, str) else ("", "", "")
    if text.isdecimal() and kind in (GEOMETRIC, BATCH):
        least = 1 if kind == BATCH else 0
        number = whole_number(f"delay={kind}", int(text), least=least, most=_LONGEST)
        return f"{kind}:{number}" if number > least else 0
    if kind.isdecimal() and delay == kind:
        return checked_delay(int(kind))
    raise InputError(
        f"delay is {quote(delay)}: it must be a number of decisions, geometric:MEAN or batch:SIZE",
        about=("delay",),
    )


def delay_text(delay: Delay) -> str:
    """Return a delay in words that follow other settings; nothing for none.

    >>> delay_text("geometric:300")
    ', rewards 300 decisions late on average'
    """
    if not delay:
        return ""
    kind, _, number = str(delay).rpartition(":")
    if kind == BATCH:
        return f", rewards known {int(number):,} at a time"
    late = f", rewards {counted(int(number), 'decision')} late"
    return f"{late} on average" if kind == GEOMETRIC else late


def make_schedule(delay: Delay, horizon: int, seed: int, run: int) -> Schedule:
    """Return when the rewards of a run become known; random delays have a stream of their own."""
    made = np.arange(horizon + 1)
    if not isinstance(delay, str):
        return Schedule(np.maximum(made - delay, 0), made)
    kind, _, text = delay.partition(":")
    if kind == BATCH:
        return Schedule(made // int(text) * int(text), made)
    late = random_stream(seed, run, DELAY).geometric(1 / (1 + int(text)), horizon) - 1
    due = made[1:] + late
    order = np.argsort(due, kind="stable")
    return Schedule(np.searchsorted(due[order], made, side="right"), order)
