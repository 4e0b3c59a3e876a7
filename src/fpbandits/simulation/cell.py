"""`Cell`: one policy on one problem under one truth, and the runs that are asked for.

A cell holds all that decides what a run will be, except the run's number. Every simulation is a
list of cells. The compiled loop of `kernel` plays a run with a random stream of its own
(`streams`), so it does not matter where, when and beside which others it is played.

Leaping runs have the law of stepwise ones up to a total variation of ``plans × arms × LEAP_ERROR``,
some 1e-15 per run: the chance that the rewards of a leap leave the envelope that certified it. With
``worst_case=True`` the envelope is the worst case, and the law is the same. Rounding adds some
1e-14 for every sum of rewards that is drawn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.streams import ORDER, REWARDS, random_stream
from fpbandits.engine.compiling import compile_for, prepare, uncompilable
from fpbandits.engine.contract import Envelope
from fpbandits.engine.plain import PlainPolicy
from fpbandits.engine.policy import Contexts, Policy
from fpbandits.engine.ready import Ready, ready
from fpbandits.errors import InputError
from fpbandits.families import RewardFamily
from fpbandits.problem.problem import Problem
from fpbandits.simulation.delays import make_schedule
from fpbandits.simulation.kernel import (
    END,
    RUNS,
    STOP,
    TIME,
    law_of,
    new_late,
    play,
    play_late,
)
from fpbandits.simulation.paths import draw_path
from fpbandits.simulation.plain import play_plainly
from fpbandits.simulation.result import Result, count_columns
from fpbandits.simulation.spec import LEAP_ERROR, LONGEST_HORIZON, RunSpec
from fpbandits.simulation.truths import checked_truth, truths

MANY = 100
"""From this many runs at a time it pays to look up the machine code for their types once: that
takes as long as looking at the types of all arguments in some twenty calls."""


class _Loop:
    """A compiled loop, to call run by run; ``same_types`` if its arguments keep their types."""

    def __init__(self, policy: Policy, loop: Callable[..., int], same_types: bool) -> None:
        self.policy, self.loop, self.same_types = policy, loop, same_types
        self._machine_code: Any = None

    def __call__(self, *arguments: Any) -> int:
        """Play a run; return how many plans it took."""
        try:
            if self.same_types and self._machine_code is None:
                self._machine_code = compile_for(self.policy, self.loop, arguments)
            plans: int = (self._machine_code or self.loop)(*arguments)
        except NumbaError as error:
            raise uncompilable(self.policy, error) from error
        return plans


@dataclass(frozen=True, eq=False)
class Cell:
    """All that decides what a run will be, except its number; see `make_cell`.

    Attributes
    ----------
    problem, policy
        What is played, and which policy plays it.
    spec
        How it is played. ``spec.truth`` is the name of the truth, and ``spec.times`` include those
        at which the truth changes.
    laws
        What rewards are drawn from: a row for each stage of the truth, or for each model if the
        truth is drawn for each run.
    starts
        After how many plays each stage begins.
    """

    problem: Problem
    policy: Policy
    spec: RunSpec
    laws: RewardFamily
    starts: tuple[int, ...]

    @property
    def truth(self) -> str:
        """What the truth is called."""
        return str(self.spec.truth)

    @property
    def columns(self) -> int:
        """How many counts of plays a run has at each time: by model too, if the truth moves."""
        return count_columns(self.problem)

    @cached_property
    def times(self) -> Counts:
        """When to record."""
        return np.array(self.spec.times, np.int64)

    def play(
        self, runs: range, progress: Counts, deadline: float = math.inf
    ) -> tuple[Counts, Counts]:
        """Play these runs; return pulls[run, time, arm] and the number of plans of each run.

        Once the deadline (of `time.perf_counter`) has passed no other run is begun, and those
        played are returned. Setting ``progress[STOP]`` also ends the run under way, which then does
        not count.
        """
        arms, pairs = len(self.problem.arms), self.problem.pairs
        spec, moving = self.spec, self.problem.transitions is not None
        rows = truths(self.problem, self.truth, spec.seed, runs)
        pulls = np.zeros((len(runs), len(self.times), self.columns), np.int64)
        plans = np.zeros(len(runs), np.int64)
        progress[END] = spec.horizon
        # Arrays of other orders and truths are made in other ways: their types may differ.
        same_types = rows is None and not spec.shuffle and not moving
        late = spec.delay != 0
        loop = _Loop(self.policy, play_late if late else play, same_types and len(runs) >= MANY)
        played = 0
        for run in runs:
            counts = np.zeros((len(self.times), self.columns), np.int64)
            columns = np.arange(pairs)
            problem, laws = self.problem, self.laws
            stages = np.array(self.starts), np.arange(len(self.starts))
            if moving:
                begins = self.problem.index(self.truth) if rows is None else rows[played]
                stages = draw_path(self.problem, int(begins), spec.horizon, spec.seed, run)
            elif rows is not None:
                laws = laws.reordered(rows[[played]], columns)
            if spec.shuffle:
                stream = random_stream(spec.seed, run, ORDER)
                order = stream.permutation(arms)
                models = stream.permutation(len(self.problem.models))
                columns = self.problem.columns(order)
                problem = self.problem.reordered(models, order)
                laws = laws.reordered(np.arange(len(laws.means)), columns)
            plans[played] = self._play_one(run, problem, laws, stages, loop, progress, counts)
            if progress[STOP] != 0:
                break
            firsts = np.arange(0, self.columns, pairs)[:, np.newaxis]
            pulls[played][:, (firsts + columns).reshape(-1)] = counts
            played += 1
            progress[TIME] = 0
            progress[RUNS] += 1
            if time.perf_counter() > deadline:
                break
        return pulls[:played], plans[:played]

    def _play_one(
        self,
        run: int,
        problem: Problem,
        laws: RewardFamily,
        stages: tuple[Counts, Counts],
        loop: _Loop,
        progress: Counts,
        pulls: Counts,
    ) -> int:
        """Play one run and fill pulls[time, arm]; return how many plans it took.

        ``stages`` are when each stage of the truth begins, and which row of the laws it is.
        """
        random, (starts, rows) = random_stream(self.spec.seed, run, REWARDS), stages
        several = len(laws.means) > 1
        if several:
            laws = laws.side_by_side()
        delayed = None
        if self.spec.delay != 0:
            delayed = make_schedule(self.spec.delay, self.spec.horizon, self.spec.seed, run)
        if isinstance(self.policy, PlainPolicy):
            return play_plainly(
                self.policy, problem, laws, random, self.times, stages, delayed, progress, pulls
            )
        if problem is self.problem:
            prepared, workspace = self.ready.prepared, self.ready.workspace
            self.policy.renew(workspace)
        else:
            prepared = prepare(self.policy, problem)
            workspace = self.policy.workspace(prepared, problem.pairs)
        contexts, state = len(problem.contexts), self.policy.new_state(problem)
        upto = np.cumsum(problem.shares or (1.0,))
        apart = contexts > 1 and self.policy.contexts is Contexts.APART
        if delayed is not None:
            late = new_late(self.spec.horizon, laws.statistics, problem.pairs)
            fixed = prepared, state, law_of(laws), workspace, random, self.times, starts
            return loop(*fixed, upto, apart, delayed, late, progress, pulls)
        spread = math.inf if self.spec.worst_case else math.log(2 / LEAP_ERROR) / 2
        # Rewards drawn one by one take time: a shorter leap lets Ctrl-C through.
        longest = LONGEST_HORIZON if laws.sum_in_one_draw else 10**6
        if contexts > 1 or not self._can_leap(laws):
            longest = 1
        envelopes = Envelope(
            np.array(laws.unit_means[0]), spread, laws.bounded, np.array(laws.expected(0))
        )
        now = envelopes
        if several:
            first = slice(rows[0] * problem.pairs, (rows[0] + 1) * problem.pairs)
            now = envelopes._replace(
                means=envelopes.means[first].copy(), expected=envelopes.expected[first].copy()
            )
        return loop(
            prepared,
            state,
            law_of(laws),
            now,
            workspace,
            random,
            self.times,
            starts,
            rows,
            envelopes,
            longest if self.spec.leap else 1,
            upto,
            apart,
            progress,
            pulls,
        )

    def _can_leap(self, laws: RewardFamily) -> bool:
        """Tell whether an envelope holds what this policy will look at."""
        near = laws.statistics_stay_near or not self.policy.looks_at_laws
        return laws.leaps and (laws.bounded or not self.spec.worst_case) and near

    @property
    def fixed_means(self) -> Floats:
        """The true means, where they are not drawn for each run; by stage if there are several.

        If the truth moves, those of all models, one after the other.
        """
        if self.problem.transitions is not None:
            return self.laws.means.reshape(-1)
        return self.laws.means if len(self.starts) > 1 else self.laws.means[0]

    @cached_property
    def ready(self) -> Ready:
        """The policy, prepared for the problem."""
        return ready(self.policy, self.problem)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is cached: other processes make it for themselves."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def result(self, pulls: Counts, plans: Counts) -> Result:
        """Return the first runs of this cell as a result, under the policy's own name."""
        return Result.of_policy(
            str(self.policy),
            pulls,
            plans,
            problem=self.problem,
            spec=self.spec,
            fixed_means=self.fixed_means,
            starts=self.starts,
        )


def make_cell(problem: Problem, policy: Policy, spec: RunSpec) -> Cell:
    """Return the runs that a spec asks for, with the truth's meaning in this problem."""
    if problem.transitions is not None and spec.delay != 0:
        raise InputError(
            f"the truth of {problem.name} moves by its transitions, and then simulated rewards are "
            "known at once: leave out delay",
            about=("delay",),
        )
    starts, laws, truth = checked_truth(problem, spec.truth, spec.horizon)
    if spec.stop is not None and len(starts) > 1:
        raise InputError("a verdict is for a truth that does not change: leave out stop")
    # Times at which the truth changes are recorded, so that regret follows from pulls.
    spec = replace(spec, truth=truth, times=(*spec.times, *starts[1:]))
    return Cell(problem, policy, spec, laws, starts)
