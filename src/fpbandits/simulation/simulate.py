"""`simulate`: how policies do on a problem, by exact Monte Carlo.

A run of a policy is played by the compiled loop of `kernel`, with a random stream of its own
(`streams`). Runs go out in chunks to an executor, threads by default, and come back as counts: how
often each arm had been played at each recorded time. Regret is derived from the counts.

Leaping runs have the law of stepwise ones up to a total variation of ``plans × arms × LEAP_ERROR``,
some 1e-15 a run: that often may the rewards of a leap leave the envelope that certified it. With
``exact=True`` the envelope is the worst case, and the law is the same.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fpbandits.errors import InputError, quote, whole_number
from fpbandits.policies import DEFAULT
from fpbandits.policies.base import Counts, Envelope, Policy, desk, shared_model
from fpbandits.problem import Problem
from fpbandits.rewards import Bernoulli, Beta, RewardFamily
from fpbandits.simulation.kernel import play
from fpbandits.simulation.result import Result
from fpbandits.simulation.streams import order_stream, run_stream

LEAP_ERROR = 1e-18
"""The chance, a leap and arm, that rewards leave the envelope."""

CHUNK = 256
"""The most runs that go out together."""

LONGEST_HORIZON = 2**53
_TOO_LONG = "2^53: beyond it the sum of an arm's rewards, a 64-bit float, is no longer exact"

Progress = Callable[[str, float], None]
"""Called now and then with the name of a policy and the share of its work that is done."""


@dataclass(frozen=True)
class Task:
    """All that decides what a run will be, but for its number."""

    problem: Problem
    truth: RewardFamily
    policy: Policy
    seed: int
    times: Counts
    shuffle: bool
    stepwise: bool
    spread: float

    @property
    def reach(self) -> int:
        """How far a plan may reach: not far where rewards are drawn one by one, for Ctrl-C."""
        if self.stepwise:
            return 1
        return LONGEST_HORIZON if self.truth.sum_in_one_draw else 10**6

    def play(self, runs: range, clock: Counts) -> tuple[Counts, Counts]:
        """Play these runs; return pulls[run, time, arm] and the number of plans of each run."""
        arms = len(self.problem.arms)
        pulls = np.zeros((len(runs), len(self.times), arms), np.int64)
        plans = np.zeros(len(runs), np.int64)
        problem, truth = self.problem, self.truth
        model = None if self.shuffle else shared_model(self.policy, problem)
        room = desk(arms) if model is None else self.policy.desk(model, arms)
        for place, run in enumerate(runs):
            order = np.arange(arms)
            if self.shuffle:
                stream = order_stream(self.seed, run)
                order = stream.permutation(arms)
                parameters = stream.permutation(len(self.problem.parameters))
                problem = _reordered(self.problem, parameters, order)
                truth = self.truth.reordered(np.array([0]), order)
                model = self.policy.model(problem)
                room = self.policy.desk(model, arms)
            counts = np.zeros((len(self.times), arms), np.int64)
            plans[place] = play(
                model,
                self.policy.tally(problem),
                truth.law(0),
                Envelope(np.array(truth.unit_means[0]), self.spread),
                room,
                run_stream(self.seed, run),
                self.times,
                self.reach,
                clock,
                counts,
            )
            if clock[1] != 0:
                break
            pulls[place][:, order] = counts
            clock[0], clock[2] = 0, place + 1
        return pulls, plans


def simulate(
    problem: Problem,
    policies: Policy | Sequence[Policy] | Mapping[str, Policy] | None = None,
    *,
    true: str | Sequence[float] | None = None,
    horizon: float = 10**5,
    runs: float = 100,
    seed: int = 0,
    times: Sequence[float] | None = None,
    shuffle: bool = False,
    leap: bool = True,
    exact: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play policies on a problem, many runs each, and return how often each arm was played when.

    Parameters
    ----------
    problem
        The candidate models.
    policies
        One, several, or a dictionary of names of your own; by default the default policy.
    true
        The true parameter, by name, or a list of the arms' true means, for a truth outside Θ; by
        default `Problem.true`.
    horizon
        T, the number of plays in a run: at most 2⁵³.
    runs, seed
        How many runs, and what their random streams are spawned from.
    times
        When to record; by default about 100 times, evenly spaced in log t. T is always among them.
    shuffle
        Put arms and parameters in a random order in each run, so that ties favour no one.
    leap, exact
        ``leap=False`` plays step by step. ``exact=True`` leaps only where no rewards whatever could
        change a decision.
    workers, executor
        How many threads, by default one a core; or any executor of your own.
    progress
        Called with a policy's name and the share of its work that is done.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> problem = fpb.load_problem("paper:two")
    >>> result = fpb.simulate(problem, [fpb.FPUCB(), fpb.UCB1()], horizon=10**9, runs=20, seed=1)
    >>> result.mean_regret("fp-ucb")[-1] < 10 < result.mean_regret("ucb1")[-1]
    np.True_
    """
    if not isinstance(problem, Problem):
        raise InputError(f"expected a Problem, such as load_problem gives, not {quote(problem)}")
    named = _named(policies)
    truth, label = _truth(problem, true)
    T = whole_number("horizon", horizon, least=1, most=LONGEST_HORIZON, why=_TOO_LONG)
    count = whole_number("runs", runs, least=1)
    seed = whole_number("seed", seed)
    moments = _times(times, T)
    if exact and not leap:
        raise InputError("exact=True says how to leap, and leap=False not to: choose one")
    if workers is not None:
        workers = whole_number("workers", workers, least=1, most=4096)
    _check_memory(count * len(moments) * len(problem.arms) * 8 * len(named), count)

    pulls: dict[str, Counts] = {}
    plans: dict[str, Counts] = {}
    with _workers(executor, workers) as (pool, width):
        for name, policy in named.items():
            task = Task(
                problem=problem,
                truth=truth,
                policy=policy,
                seed=seed,
                times=moments,
                shuffle=shuffle,
                stepwise=not leap,
                spread=math.inf if exact else math.log(2 / LEAP_ERROR) / 2,
            )
            if not shuffle:
                shared_model(policy, problem)  # here, and not in every thread at once
            _warn_if_long(task, name, T * count, width)
            report = partial(progress, name) if progress else None
            pulls[name], plans[name] = _play_all(task, count, pool, width, executor is None, report)
    return Result(
        problem=problem,
        true=label,
        true_means=truth.means[0],
        seed=seed,
        times=moments,
        pulls=pulls,
        plans=plans,
        settings={"shuffle": shuffle, "leap": leap, "exact": exact},
        leap_error=0.0 if exact or not leap else LEAP_ERROR,
    )


def _play_all(
    task: Task,
    runs: int,
    pool: Executor,
    width: int,
    shares_memory: bool,
    report: Callable[[float], None] | None,
) -> tuple[Counts, Counts]:
    """Send runs out in chunks and put what comes back in its place."""
    size = max(1, min(runs // (4 * width), CHUNK))
    chunks = [range(start, min(start + size, runs)) for start in range(0, runs, size)]
    pulls = np.zeros((runs, len(task.times), len(task.problem.arms)), np.int64)
    plans = np.zeros(runs, np.int64)
    clocks = [np.zeros(3, np.int64) for _ in chunks]
    waiting: dict[Future[tuple[Counts, Counts]], range] = {}
    try:
        for chunk, clock in zip(chunks, clocks, strict=True):
            waiting[pool.submit(task.play, chunk, clock)] = chunk
        done_runs, start, said = 0, time.perf_counter(), False
        while waiting:
            finished, _ = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in finished:
                chunk = waiting.pop(future)
                pulls[chunk.start : chunk.stop], plans[chunk.start : chunk.stop] = future.result()
                done_runs += len(chunk)
            share = done_runs / runs
            if shares_memory:
                share = sum(clock[2] + clock[0] / task.times[-1] for clock in clocks) / runs
            if report:
                report(float(share))
            # Some problems leave little to leap over, which shows only once they are under way.
            spent = time.perf_counter() - start
            if spent > 10 and share > 0 and not said and task.policy.leaps and not task.stepwise:
                said = True
                _say_if_long(f"{task.policy} finds little to leap over here", spent / share)
    except BaseException:
        for clock in clocks:
            clock[1] = 1
        for future in waiting:
            future.cancel()
        raise
    return pulls, plans


@contextmanager
def _workers(executor: Executor | None, workers: int | None) -> Iterator[tuple[Executor, int]]:
    width = workers or os.cpu_count() or 1
    if executor is not None:
        yield executor, width
        return
    with ThreadPoolExecutor(width) as pool:
        yield pool, width


def _warn_if_long(task: Task, name: str, steps: int, width: int) -> None:
    """Measure a short run, and say so if all of them, step by step, would take an hour or more."""
    leaps = task.policy.leaps and task.truth.sum_in_one_draw and not task.stepwise
    if leaps or steps < 10**9:
        return
    sample, seconds = 500, 0.0
    while seconds < 0.02 and sample < min(int(task.times[-1]), 10**5):
        sample *= 2
        trial = replace(task, times=np.array([sample]))
        start = time.perf_counter()
        trial.play(range(1), np.zeros(3, np.int64))
        seconds = time.perf_counter() - start
    _say_if_long(
        f"{name} goes step by step here, {steps:.3g} steps in all", seconds / sample * steps / width
    )


def _say_if_long(what: str, seconds: float) -> None:
    if seconds > 3600:
        warnings.warn(f"{what}: about {_duration(seconds)}", stacklevel=4)


def _duration(seconds: float) -> str:
    for unit, size in (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 3600:.1f} hours"


def _reordered(problem: Problem, parameters: Any, arms: Any) -> Problem:
    return replace(
        problem,
        arms=tuple(problem.arms[arm] for arm in arms),
        parameters=tuple(problem.parameters[parameter] for parameter in parameters),
        rewards=problem.rewards.reordered(parameters, arms),
    )


def _named(policies: Policy | Sequence[Policy] | Mapping[str, Policy] | None) -> dict[str, Policy]:
    if policies is None:
        policies = DEFAULT()
    if isinstance(policies, Policy):
        policies = [policies]
    if not isinstance(policies, Mapping | Sequence):
        raise InputError(f"expected a policy such as FPUCB(), not {quote(policies)}")
    if not isinstance(policies, Mapping):
        names = [str(policy) for policy in policies]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"policy {quote(name)} is given twice")
        policies = dict(zip(names, policies, strict=True))
    if not policies:
        raise InputError("there are no policies to simulate")
    for name, policy in policies.items():
        if not isinstance(policy, Policy):
            raise InputError(f"expected a policy such as FPUCB(), not {quote(policy)}")
        if not isinstance(name, str):
            raise InputError(f"a policy is named by a text, not {quote(name)}")
    return dict(policies)


def _truth(problem: Problem, true: str | Sequence[float] | None) -> tuple[RewardFamily, str]:
    """Return the laws of the truth as a family of one parameter, and what to call it."""
    if true is None:
        if problem.true is None:
            shown = ", ".join(quote(name) for name in problem.parameters[:8])
            more = ", …" if len(problem.parameters) > 8 else ""
            raise InputError(
                f"{problem.name} does not say which parameter is true: name one of {shown}{more}"
            )
        true = problem.true
    everything = np.arange(len(problem.arms))
    if isinstance(true, str):
        return problem.rewards.reordered(np.array([problem.index(true)]), everything), true
    if not isinstance(true, Sequence | np.ndarray):
        raise InputError(f"true must be a parameter's name or a list of means, not {quote(true)}")
    rewards = problem.rewards
    common: dict[str, Any] = {
        "arms": problem.arms,
        "parameters": ["the truth"],
        "range": problem.range,
    }
    match rewards:
        case Bernoulli():
            outside = Problem.bernoulli([list(true)], **common)
        case Beta():
            outside = Problem.beta([list(true)], rewards.concentration, **common)
        case _:
            raise InputError(
                "means alone do not make a discrete law: name a true parameter instead"
            )
    return outside.rewards, ",".join(repr(float(mean)) for mean in true)


def _times(times: Sequence[float] | None, horizon: int) -> Counts:
    if times is None:
        spaced = np.geomspace(1, horizon, 100)
        moments = {*(int(moment) for moment in np.rint(spaced)), horizon}
    elif not isinstance(times, Sequence | np.ndarray):
        raise InputError(f"times must be a list of whole numbers, not {quote(times)}")
    else:
        moments = {
            *(
                whole_number("a time", moment, least=1, most=horizon, why="the horizon")
                for moment in times
            ),
            horizon,
        }
    return np.array(sorted(moment for moment in moments if moment <= horizon), np.int64)


def _check_memory(needed: int, runs: int) -> None:
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.7 * available:
        raise InputError(
            f"{runs:,} runs take {needed / 2**30:,.0f} GiB and this machine has "
            f"{available / 2**30:,.0f}: ask for fewer runs or times"
        )
