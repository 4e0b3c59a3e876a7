"""`Cell`: one policy on one problem under one truth, and the runs that are asked for.

A cell holds all that decides what a run will be, but for its number. Whatever is simulated is a
list of cells, and a run of one can be played anywhere, at any time, in any company: by the compiled
loop of `kernel`, with a random stream of its own (`streams`).

Leaping runs have the law of stepwise ones up to a total variation of ``plans × arms × LEAP_ERROR``,
some 1e-15 per run: the chance that the rewards of a leap leave the envelope that certified it. With
``exact=True`` the envelope is the worst case, and the law is the same. Rounding adds some 1e-14 for
every sum of rewards that is drawn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from fpbandits.arrays import Counts
from fpbandits.checks import flag, is_list, plain_list, plain_text, whole_number
from fpbandits.errors import InputError, listed, quote
from fpbandits.families import RewardFamily
from fpbandits.policies.base import Policy, check_policy
from fpbandits.policies.compiling import prepare, uncompilable
from fpbandits.policies.envelope import Envelope
from fpbandits.policies.plain import PlainPolicy
from fpbandits.policies.ready import Ready, ready
from fpbandits.problem import Problem
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, play
from fpbandits.simulation.plain import play_plainly
from fpbandits.simulation.result import Result
from fpbandits.streams import order_stream, run_stream
from fpbandits.table import Names

LEAP_ERROR = 1e-18
"""The chance, for each leap and arm, that rewards leave the envelope."""

LONGEST_HORIZON = 2**53
_TOO_LONG = "2^53: beyond it the sum of an arm's rewards, a 64-bit float, is no longer exact"
_MOST_RUNS = 10**15


@dataclass(frozen=True, eq=False)
class Cell:
    """All that decides what a run will be, but for its number; see `make_cell`.

    ``true`` is what the truth is called, and ``truth`` its laws.
    """

    problem: Problem
    true: str
    truth: RewardFamily
    policy: Policy
    seed: int
    times: Counts
    runs: int
    shuffle: bool = False
    leap: bool = True
    exact: bool = False

    @property
    def horizon(self) -> int:
        """T, the last time."""
        return int(self.times[-1])

    def play(self, runs: range, meter: Counts, deadline: float = math.inf) -> tuple[Counts, Counts]:
        """Play these runs; return pulls[run, time, arm] and the number of plans of each run.

        Once the deadline has passed no other run is begun, and those played are returned; whoever
        sets ``meter[STOP]`` also ends the run under way, which then does not count.
        """
        arms = len(self.problem.arms)
        pulls = np.zeros((len(runs), len(self.times), arms), np.int64)
        plans = np.zeros(len(runs), np.int64)
        meter[END] = self.horizon
        played = 0
        for run in runs:
            counts = np.zeros((len(self.times), arms), np.int64)
            order = np.arange(arms)
            problem, truth = self.problem, self.truth
            if self.shuffle:
                stream = order_stream(self.seed, run)
                order = stream.permutation(arms)
                parameters = stream.permutation(len(self.problem.parameters))
                problem = self.problem.reordered(parameters, order)
                truth = self.truth.reordered(np.array([0]), order)
            plans[played] = self._play_one(run, problem, truth, meter, counts)
            if meter[STOP] != 0:
                break
            pulls[played][:, order] = counts
            played += 1
            meter[TIME] = 0
            meter[RUNS] += 1
            if time.perf_counter() > deadline:
                break
        return pulls[:played], plans[:played]

    def _play_one(
        self, run: int, problem: Problem, truth: RewardFamily, meter: Counts, pulls: Counts
    ) -> int:
        """Play one run and fill pulls[time, arm]; return how many plans it took."""
        random = run_stream(self.seed, run)
        if isinstance(self.policy, PlainPolicy):
            return play_plainly(self.policy, problem, truth, random, self.times, meter, pulls)
        if problem is self.problem:
            own = self._ready
            known, scratch = own.known, own.scratch
        else:
            known = prepare(self.policy, problem)
            scratch = self.policy.scratch(known, len(problem.arms))
        spread = math.inf if self.exact else math.log(2 / LEAP_ERROR) / 2
        # Rewards drawn one by one take time: a shorter leap lets Ctrl-C through.
        longest = LONGEST_HORIZON if truth.sum_in_one_draw else 10**6
        try:
            return play(
                known,
                self.policy.tally(problem),
                truth.law(0),
                Envelope(np.array(truth.unit_means[0]), spread),
                scratch,
                random,
                self.times,
                longest if self.leap else 1,
                meter,
                pulls,
            )
        except NumbaError as error:
            raise uncompilable(self.policy, error) from error

    def make_ready(self) -> None:
        """Prepare the policy for the problem now, and keep what it knows."""
        _ = self._ready

    @cached_property
    def _ready(self) -> Ready:
        return ready(self.policy, self.problem)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what others can make for themselves."""
        return {key: value for key, value in vars(self).items() if key != "_ready"}

    def result(self, pulls: Counts, plans: Counts) -> Result:
        """Return the runs of this cell as a result, under the policy's own name."""
        return Result.of_policy(
            str(self.policy),
            pulls,
            plans,
            problem=self.problem,
            true=self.true,
            true_means=self.truth.means[0],
            seed=self.seed,
            times=self.times,
            settings={"shuffle": self.shuffle, "leap": self.leap, "exact": self.exact},
            leap_error=LEAP_ERROR,
        )


def make_cell(
    problem: Problem,
    policy: Policy,
    *,
    true: str | Sequence[float] | None = None,
    horizon: float = 10**5,
    runs: float = 100,
    seed: int = 0,
    times: Sequence[float] | None = None,
    shuffle: bool = False,
    leap: bool = True,
    exact: bool = False,
) -> Cell:
    """Check what is asked for, as `simulate` describes it, and return it as a cell."""
    if not isinstance(problem, Problem):
        raise InputError(f"expected a Problem, such as load_problem gives, not {quote(problem)}")
    check_policy(policy)
    truth, label = _truth(problem, true)
    T = whole_number("horizon", horizon, least=1, most=LONGEST_HORIZON, why=_TOO_LONG)
    count = whole_number("runs", runs, least=1, most=_MOST_RUNS, why="more than memory holds")
    seed = whole_number("seed", seed)
    moments = _times(times, T)
    shuffle, leap, exact = flag("shuffle", shuffle), flag("leap", leap), flag("exact", exact)
    if exact and not leap:
        raise InputError("exact=True says how to leap, and leap=False not to: choose one")
    return Cell(
        problem=problem,
        true=label,
        truth=truth,
        policy=policy,
        seed=seed,
        times=moments,
        runs=count,
        shuffle=shuffle,
        leap=leap,
        exact=exact,
    )


def _truth(problem: Problem, true: Any) -> tuple[RewardFamily, str]:
    """Return the laws of the truth as a family of one parameter, and what to call it."""
    if true is None:
        if problem.true is None:
            raise InputError(
                f"{problem.name} does not say which parameter is true: name one of "
                f"{listed(problem.parameters)}"
            )
        true = problem.true
    everything = np.arange(len(problem.arms))
    if isinstance(true, str):
        true = plain_text(true)
        return problem.rewards.reordered(np.array([problem.index(true)]), everything), true
    if not is_list(true):
        raise InputError(f"true must be a parameter's name or a list of means, not {quote(true)}")
    names = Names(problem.name, problem.arms, ("the truth",), None)
    true = plain_list(true)
    return problem.rewards.of_means(true, names), ",".join(repr(float(mean)) for mean in true)


def _times(times: Sequence[float] | None, horizon: int) -> Counts:
    if times is None:
        spaced = np.rint(np.geomspace(1, horizon, 100)).astype(np.int64)
        moments = set(spaced[spaced <= horizon].tolist())
    elif not is_list(times):
        raise InputError(f"times must be a list of whole numbers, not {quote(times)}")
    else:
        moments = {
            whole_number("a time", moment, least=1, most=horizon, why="the horizon")
            for moment in plain_list(times)
        }
    return np.array(sorted(moments | {horizon}), np.int64)
