"""`RunSpec`: how runs are played, whatever the problem and the policy.

A spec is checked once, where it is made: from a caller's keywords, a command line or a file. A
`Cell` (a spec with its problem and policy) carries it to the workers. The manifests of folders and
the files of results are written from its fields. So a new setting is a new field here, a keyword of
`simulate` and the code that acts on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fpbandits.core.checks import flag, is_list, number, plain_list, whole_number
from fpbandits.errors import InputError, wrong_type, wrong_value
from fpbandits.problem.problem import Problem
from fpbandits.simulation.delays import Delay, checked_delay
from fpbandits.simulation.truths import Truth

LEAP_ERROR = 1e-18
"""A leap plays many rounds at once; it is right while sums of rewards stay within an envelope. This
is the probability that they leave it, for each leap, arm and statistic."""

LONGEST_HORIZON = 2**53
_TOO_LONG = "2^53: beyond it 64-bit floats do not count exactly"

_MOST_RUNS = 10**15

LONGEST_STEPWISE = 10**7
"""The longest horizon of runs that are played step by step: a delay keeps every decision."""


@dataclass(frozen=True, init=False)
class RunSpec:
    """What is asked of runs; `simulate` describes each field.

    ``times`` are in order and end with the horizon. ``truth`` is as it was given, since its meaning
    depends on the problem; in a cell it is the name of the truth.

    Fields from ``shuffle`` on are the `settings`. Give any setting that is added later a default in
    the class body too: files omit it at that value, so that files written before stay valid.

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
    delay: Delay = 0
    stop: float | None = None

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
        delay: Delay = 0,
        stop: float | None = None,
    ) -> None:
        T = whole_number("horizon", horizon, least=1, most=LONGEST_HORIZON, why=_TOO_LONG)
        vars(self).update(  # as the class is frozen
            horizon=T,
            times=(T,) if times is None and stop is not None else _times(times, T),
            runs=whole_number("runs", runs, least=1, most=_MOST_RUNS, why="more than memory holds"),
            seed=whole_number("seed", seed),
            truth=truth,
            shuffle=flag("shuffle", shuffle),
            leap=flag("leap", leap),
            worst_case=flag("worst_case", worst_case),
            delay=checked_delay(delay),
            stop=None if stop is None else number(stop, "stop"),
        )
        if self.worst_case and not self.leap:
            raise InputError("worst_case=True says how to leap, and leap=False not to: choose one")
        if self.delay != 0 and self.worst_case:
            raise InputError("with a delay nothing leaps: leave worst_case=True out")
        if self.delay != 0 and T > LONGEST_STEPWISE:
            raise InputError(
                f"with a delay each decision is kept until its reward is known: horizon is {T}, "
                f"and may be {LONGEST_STEPWISE} at most"
            )
        if self.stop is not None:
            self._check_stop(self.stop)

    def _check_stop(self, stop: float) -> None:
        """Refuse settings that do not go with runs that end at a verdict."""
        if not 0 < stop < 1:
            raise wrong_value("stop", stop, "be a probability, above 0 and below 1, as 0.05")
        for setting, given in (
            ("times", self.times != (self.horizon,)),
            ("a delay", self.delay != 0),
            ("shuffle=True", self.shuffle),
            ("worst_case=True", self.worst_case),
        ):
            if given:
                raise InputError(f"stop ends runs at a verdict, step by step: leave out {setting}")
        if self.horizon > LONGEST_STEPWISE:
            raise InputError(
                f"stop plays step by step: horizon is {self.horizon}, and may be "
                f"{LONGEST_STEPWISE} at most"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name, as files and results have them."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value != SETTINGS[name]}

    def leap_error(self, problem: Problem) -> float:
        """Return the probability of an error per leap and arm, over all of its statistics."""
        stepwise = not self.leap or self.stop is not None or self.delay != 0
        exact = self.worst_case or stepwise  # in the worst case the envelope is certain
        return 0.0 if exact else LEAP_ERROR * max(1, problem.rewards.statistics)


_NOT_SETTINGS = ("horizon", "times", "runs", "seed", "truth")
SETTINGS = {
    field.name: field.default for field in fields(RunSpec) if field.name not in _NOT_SETTINGS
}
"""The settings, with the value at which files omit them; MISSING, which nothing equals, for those
that files always have."""


def _times(times: Sequence[float] | None, horizon: int) -> tuple[int, ...]:
    """Return when to record, in order; by default about 100 times, evenly spaced in log t."""
    if times is None:
        spaced = np.rint(np.geomspace(1, horizon, 100)).astype(np.int64)
        moments = set(spaced[spaced <= horizon].tolist())  # rounding may go beyond the last
    elif not is_list(times):
        raise wrong_type("times", times, "a list of whole numbers")
    else:
        moments = {
            whole_number("a time", moment, least=1, most=horizon, why="the horizon")
            for moment in plain_list(times)
        }
    return tuple(sorted(moments | {horizon}))
