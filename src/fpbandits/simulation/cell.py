"""`Cell`: one policy on one problem under one truth, and the runs that are asked for.

A cell holds all that decides what a run will be, but for its number. Whatever is simulated is a
list of cells, and a run of one can be played anywhere, at any time, in any company: by the compiled
loop of `kernel`, with a random stream of its own (`streams`).

Leaping runs have the law of stepwise ones up to a total variation of ``plans × arms × LEAP_ERROR``,
some 1e-15 per run: the chance that the rewards of a leap leave the envelope that certified it. With
``worst_case=True`` the envelope is the worst case, and the law is the same. Rounding adds some
1e-14 for every sum of rewards that is drawn.
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

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import flag, is_list, plain_list, whole_number
from fpbandits.core.streams import order_stream, run_stream
from fpbandits.engine.compiling import compile_for, prepare, uncompilable
from fpbandits.engine.envelope import Envelope
from fpbandits.engine.plain import PlainPolicy
from fpbandits.engine.policy import Contexts, Policy, check_policy
from fpbandits.engine.ready import Ready, ready
from fpbandits.errors import InputError, quote
from fpbandits.families import RewardFamily
from fpbandits.problem.problem import Problem
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, law_of, play
from fpbandits.simulation.plain import play_plainly
from fpbandits.simulation.result import Result
from fpbandits.simulation.truths import Truth, checked_truth, truth_means, truths

LEAP_ERROR = 1e-18
"""The chance, for each leap and arm, that rewards leave the envelope."""

LONGEST_HORIZON = 2**53
_TOO_LONG = "2^53: beyond it the sum of an arm's rewards, a 64-bit float, is no longer exact"
_MOST_RUNS = 10**15

MANY = 100
"""So many runs at a time are worth finding the machine code for their types once: that takes as
long as to look at the types of all arguments in some twenty calls."""


class _Loop:
    """The compiled loop, to call run by run; ``alike`` if all of its arguments keep their types."""

    def __init__(self, policy: Policy, alike: bool) -> None:
        self.policy, self.alike = policy, alike
        self._machine_code: Any = None

    def __call__(self, *arguments: Any) -> int:
        try:
            if self.alike and self._machine_code is None:
                self._machine_code = compile_for(self.policy, play, arguments)
            plans: int = (self._machine_code or play)(*arguments)
        except NumbaError as error:
            raise uncompilable(self.policy, error) from error
        return plans


@dataclass(frozen=True, eq=False)
class Cell:
    """All that decides what a run will be, but for its number; see `make_cell`.

    ``truth`` is what it is called, and ``laws`` has a row for each of its stages, which begins
    after ``starts`` plays; or, if the truth is drawn for each run, for all that it may be.
    """

    problem: Problem
    truth: str
    laws: RewardFamily
    policy: Policy
    seed: int
    times: Counts
    runs: int
    shuffle: bool = False
    leap: bool = True
    worst_case: bool = False
    starts: tuple[int, ...] = (0,)

    @property
    def horizon(self) -> int:
        """T, the last time."""
        return int(self.times[-1])

    def play(self, runs: range, meter: Counts, deadline: float = math.inf) -> tuple[Counts, Counts]:
        """Play these runs; return pulls[run, time, arm] and the number of plans of each run.

        Once the deadline has passed no other run is begun, and those played are returned; whoever
        sets ``meter[STOP]`` also ends the run under way, which then does not count.
        """
        arms, pairs = len(self.problem.arms), self.problem.pairs
        rows = truths(self.problem, self.truth, self.seed, runs)
        pulls = np.zeros((len(runs), len(self.times), pairs), np.int64)
        plans = np.zeros(len(runs), np.int64)
        meter[END] = self.horizon
        # Other orders and truths are other arrays, made in other ways: their types are looked at.
        alike = rows is None and not self.shuffle
        loop = _Loop(self.policy, alike and len(runs) >= MANY)
        played = 0
        for run in runs:
            counts = np.zeros((len(self.times), pairs), np.int64)
            columns = np.arange(pairs)
            problem, laws = self.problem, self.laws
            if rows is not None:
                laws = laws.reordered(rows[run - runs.start : run - runs.start + 1], columns)
            if self.shuffle:
                stream = order_stream(self.seed, run)
                order = stream.permutation(arms)
                models = stream.permutation(len(self.problem.models))
                columns = self.problem.columns(order)
                problem = self.problem.reordered(models, order)
                laws = laws.reordered(np.arange(len(laws.means)), columns)
            plans[played] = self._play_one(run, problem, laws, loop, meter, counts)
            if meter[STOP] != 0:
                break
            pulls[played][:, columns] = counts
            played += 1
            meter[TIME] = 0
            meter[RUNS] += 1
            if time.perf_counter() > deadline:
                break
        return pulls[:played], plans[:played]

    def _play_one(
        self,
        run: int,
        problem: Problem,
        laws: RewardFamily,
        loop: _Loop,
        meter: Counts,
        pulls: Counts,
    ) -> int:
        """Play one run and fill pulls[time, arm]; return how many plans it took."""
        random, starts = run_stream(self.seed, run), np.array(self.starts)
        if len(starts) > 1:
            laws = laws.side_by_side()
        if isinstance(self.policy, PlainPolicy):
            return play_plainly(
                self.policy, problem, laws, random, self.times, starts, meter, pulls
            )
        if problem is self.problem:
            own = self._ready
            known, scratch = own.known, own.scratch
        else:
            known = prepare(self.policy, problem)
            scratch = self.policy.scratch(known, problem.pairs)
        spread = math.inf if self.worst_case else math.log(2 / LEAP_ERROR) / 2
        # Rewards drawn one by one take time: a shorter leap lets Ctrl-C through.
        longest = LONGEST_HORIZON if laws.sum_in_one_draw else 10**6
        contexts = len(problem.contexts)
        if contexts > 1 or not self._can_leap(laws):
            longest = 1
        stages = Envelope(
            np.array(laws.unit_means[0]), spread, laws.bounded, np.array(laws.expected(0))
        )
        now = stages
        if len(starts) > 1:
            now = stages._replace(
                means=stages.means[: problem.pairs].copy(),
                expected=stages.expected[: problem.pairs].copy(),
            )
        return loop(
            known,
            self.policy.tally(problem),
            law_of(laws),
            now,
            scratch,
            random,
            self.times,
            starts,
            stages,
            longest if self.leap else 1,
            np.cumsum(problem.shares or (1.0,)),
            contexts > 1 and self.policy.contexts is Contexts.APART,
            meter,
            pulls,
        )

    def _can_leap(self, laws: RewardFamily) -> bool:
        """Tell whether something is sure of what this policy will look at."""
        near = laws.statistics_stay_near or not self.policy.looks_at_laws
        return (laws.bounded or not self.worst_case) and near

    @property
    def fixed_means(self) -> Floats:
        """The true means, where they are not drawn for each run; by stage if there are several."""
        return self.laws.means if len(self.starts) > 1 else self.laws.means[0]

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
        """Return the first runs of this cell as a result, under the policy's own name."""
        return Result.of_policy(
            str(self.policy),
            pulls,
            plans,
            problem=self.problem,
            truth=self.truth,
            truth_means=truth_means(
                self.problem, self.truth, self.seed, len(pulls), self.fixed_means
            ),
            starts=self.starts,
            seed=self.seed,
            times=self.times,
            settings={"shuffle": self.shuffle, "leap": self.leap, "worst_case": self.worst_case},
            leap_error=leap_error(self.problem),
        )


def make_cell(
    problem: Problem,
    policy: Policy,
    *,
    truth: Truth | None = None,
    horizon: float = 10**5,
    runs: float = 100,
    seed: int = 0,
    times: Sequence[float] | None = None,
    shuffle: bool = False,
    leap: bool = True,
    worst_case: bool = False,
) -> Cell:
    """Check what is asked for, as `simulate` describes it, and return it as a cell."""
    if not isinstance(problem, Problem):
        raise InputError(f"expected a Problem, such as load_problem gives, not {quote(problem)}")
    check_policy(policy)
    T = whole_number("horizon", horizon, least=1, most=LONGEST_HORIZON, why=_TOO_LONG)
    starts, laws, label = checked_truth(problem, truth, T)
    count = whole_number("runs", runs, least=1, most=_MOST_RUNS, why="more than memory holds")
    seed = whole_number("seed", seed)
    # Where the truth changes is recorded, so that regret can be told from pulls.
    moments = np.union1d(_times(times, T), np.array(starts[1:], np.int64))
    shuffle, leap = flag("shuffle", shuffle), flag("leap", leap)
    worst_case = flag("worst_case", worst_case)
    if worst_case and not leap:
        raise InputError("worst_case=True says how to leap, and leap=False not to: choose one")
    return Cell(
        problem=problem,
        truth=label,
        laws=laws,
        policy=policy,
        seed=seed,
        times=moments,
        runs=count,
        shuffle=shuffle,
        leap=leap,
        worst_case=worst_case,
        starts=starts,
    )


def leap_error(problem: Problem) -> float:
    """Return the chance of an error per leap and arm: each statistic has its own envelope."""
    return LEAP_ERROR * max(1, problem.rewards.statistics)


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
