"""`RunSpec`: how runs are to be played, whatever the problem and the policy.

A spec is checked once, where it is made: from a caller's keywords, a command line or a file. Cells
carry it to the workers, and the manifest of a folder of runs and results are written from it, so
that a new setting is a new field here, a keyword of `simulate` and the code that acts on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fpbandits.core.checks import flag, is_list, plain_list, whole_number
from fpbandits.errors import InputError, wrong_type
from fpbandits.problem.problem import Problem
from fpbandits.simulation.truths import Truth

LEAP_ERROR = 1e-18
"""The chance, for each leap and arm, that rewards leave the envelope."""

LONGEST_HORIZON = 2**53
_TOO_LONG = "2^53: beyond it the sum of an arm's rewards, a 64-bit float, is no longer exact"
_MOST_RUNS = 10**15


@dataclass(frozen=True, init=False)
class RunSpec:
    """What is asked of runs; `simulate` describes each field.

    ``times`` are in order and end with the horizon. ``truth`` is as it was given, since its meaning
    depends on the problem; in a cell it is the name of the truth.

    Fields from ``shuffle`` on are the `settings`. Give a new one its default in the list of fields
    too: files leave it out where it has that value, so that those of before remain as they are.

    >>> RunSpec(horizon=1e6, times=[1e3]).times
    (1000, 1000000)
    """

    horizon: int
    times: tuple[int, ...]
    runs: int
    seed: int
    truth: Truth | None
    shuffle: bool
    leap: bool
    worst_case: bool

    def __init__(
        self,
        *,
        horizon: float = 10**5,
        times: Sequence[float] | None = None,
        runs: float = 100,
        seed: int = 0,
        truth: Truth | None = None,
        shuffle: bool = False,
        leap: bool = True,
        worst_case: bool = False,
    ) -> None:
        T = whole_number("horizon", horizon, least=1, most=LONGEST_HORIZON, why=_TOO_LONG)
        vars(self).update(
            horizon=T,
            times=_times(times, T),
            runs=whole_number("runs", runs, least=1, most=_MOST_RUNS, why="more than memory holds"),
            seed=whole_number("seed", seed),
            truth=truth,
            shuffle=flag("shuffle", shuffle),
            leap=flag("leap", leap),
            worst_case=flag("worst_case", worst_case),
        )
        if self.worst_case and not self.leap:
            raise InputError("worst_case=True says how to leap, and leap=False not to: choose one")

    @property
    def settings(self) -> dict[str, Any]:
        """How runs are played, by name, as files and results have it."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value != SETTINGS[name]}

    def leap_error(self, problem: Problem) -> float:
        """Return the chance of an error per leap and arm: each statistic has its own envelope."""
        exact = self.worst_case or not self.leap
        return 0.0 if exact else LEAP_ERROR * max(1, problem.rewards.statistics)


_NOT_SETTINGS = ("horizon", "times", "runs", "seed", "truth")
SETTINGS = {
    field.name: field.default for field in fields(RunSpec) if field.name not in _NOT_SETTINGS
}
"""How runs are played: fields of a spec, with the value at which files leave them out, if any."""


def _times(times: Sequence[float] | None, horizon: int) -> tuple[int, ...]:
    if times is None:
        spaced = np.rint(np.geomspace(1, horizon, 100)).astype(np.int64)
        moments = set(spaced[spaced <= horizon].tolist())
    elif not is_list(times):
        raise wrong_type("times", times, "a list of whole numbers")
    else:
        moments = {
            whole_number("a time", moment, least=1, most=horizon, why="the horizon")
            for moment in plain_list(times)
        }
    return tuple(sorted(moments | {horizon}))
