"""Runs that end at their first verdict: an arm that is best under every model not ruled out.

By `fpbandits.theory.ruling_out` the truth is ever ruled out with probability at most ``error``, so
a verdict is wrong with at most that probability. With contexts there must be such an arm in each of
them. Runs are played step by step, by a compiled loop of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Bools, Counts, Floats
from fpbandits.core.checks import whole_number
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine.compiling import compiled, jitted
from fpbandits.engine.contract import Ahead
from fpbandits.engine.plain import PlainPolicy
from fpbandits.engine.policy import Contexts, Policy
from fpbandits.errors import InputError
from fpbandits.families.information import minus_log
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.kernel import draw_sum, enter_context, law_of
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import Progress, check_memory
from fpbandits.simulation.truths import truths
from fpbandits.theory.ruling_out import is_ruled_out

_plan, _observe = Policy.plan, Policy.observe


class Stopped(NamedTuple):
    """Runs that ended at their verdicts: pulls[run, pair], plans[run], and named[run, context].

    ``named`` are the arms of the verdict; −1 for a run that has none by the horizon.
    """

    pulls: Counts
    plans: Counts
    named: Counts

    @property
    def plays(self) -> Counts:
        """After how many plays each run has its verdict; 0 if it has none."""
        return np.where(self.named[:, 0] >= 0, self.pulls.sum(axis=1), 0)


def play_stopping(
    cells: Mapping[str, Cell],
    *,
    out: object = None,
    workers: int | None = None,
    executor: object = None,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Play cells whose runs stop at a verdict; arguments are as in `play_cells`."""
    if out is not None or executor is not None:
        given = "out" if out is not None else "executor"
        raise InputError(
            "runs that stop at a verdict are played in this process and not kept: use no "
            f"{given}; Result.save writes what they found"
        )
    if workers is not None:
        workers = whole_number("workers", workers, least=1, most=4096)
    check_memory([(cell.spec.runs, 1, cell.problem.pairs) for cell in cells.values()])
    for cell in cells.values():
        _check(cell)
    results, total = dict[str, Result](), sum(cell.spec.runs for cell in cells.values())
    ended = 0
    for name, cell in cells.items():
        error = cell.spec.stop
        assert error is not None
        stopped = play_until_verdict(cell, cell.spec.runs, error, workers)
        ended += cell.spec.runs
        if progress is not None:
            progress(name, 1.0, ended / total)
        result = cell.result(stopped.pulls[:, np.newaxis], stopped.plans)
        shape = len(cell.problem.contexts) or 1, len(cell.problem.arms)
        gaps = np.atleast_2d(result.gaps).reshape(-1, *shape) / cell.problem.rewards.width
        stops = np.stack([stopped.plays, _is_wrong(stopped.named, gaps)])
        results[name] = replace(result, stops={result.policy: stops})
    return results


def can_be_sure(policy: Policy) -> bool:
    """Tell whether runs of a policy can be played up to a verdict."""
    return not getattr(policy, "change_rate", 0) and not isinstance(policy, PlainPolicy)


def _check(cell: Cell) -> None:
    """Refuse a cell whose runs cannot end at a verdict."""
    policy = cell.policy
    if cell.problem.transitions is not None:
        raise InputError(
            f"the truth of {cell.problem.name} moves by its transitions, and a verdict is for a "
            "truth that does not: leave out stop"
        )
    if getattr(policy, "change_rate", 0):
        raise InputError(
            f"{policy} expects the truth to change, and a verdict is for a truth that does not: "
            "leave out stop or change_rate"
        )
    if isinstance(policy, PlainPolicy):
        raise InputError(f"{policy} is in ordinary Python, and stop plays compiled policies only")


def play_until_verdict(
    cell: Cell,
    runs: int,
    error: float,
    workers: int | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Stopped:
    """Play runs of a cell up to their verdicts; ``progress`` hears which share has ended."""
    problem, seed, horizon = cell.problem, cell.spec.seed, cell.spec.horizon
    models, pairs = len(problem.models), problem.pairs
    costs = problem.rewards.costs()
    if costs is None:  # of 0/1 rewards: of 0, and of 1
        means = problem.rewards.unit_means
        costs = minus_log(1 - means), minus_log(means)[:, :, np.newaxis]
    base, cost = map(np.ascontiguousarray, costs)
    means = problem.rewards.unit_means.reshape(models, -1, len(problem.arms))
    best = np.ascontiguousarray(means >= means.max(axis=2, keepdims=True) - TOLERANCE)
    prior = np.array(problem.prior or [1 / models] * models)
    with np.errstate(divide="ignore"):
        weights = np.log(prior)
    upto = np.cumsum(problem.shares or (1.0,))
    apart = len(upto) > 1 and cell.policy.contexts is Contexts.APART
    rows = truths(problem, cell.truth, seed, range(runs))
    pulls, named = np.zeros((runs, pairs), np.int64), np.full((runs, len(upto)), -1, np.int64)
    plans = np.zeros(runs, np.int64)

    def play_run(run: int) -> int:
        """Play a run, fill its rows of ``pulls`` and ``named``, return how many plans it took."""
        laws = cell.laws
        if rows is not None:
            laws = laws.reordered(rows[run : run + 1], np.arange(pairs))
        ready, policy, state = cell.ready, cell.policy, cell.policy.new_state(problem)
        policy.renew(ready.workspace)
        count: int = _play(
            ready.prepared,
            state,
            law_of(laws),
            ready.workspace,
            random_stream(seed, run, REWARDS),
            upto,
            apart,
            horizon,
            base,
            cost,
            best,
            prior,
            error,
            weights.copy(),
            np.zeros(models),
            np.zeros(problem.rewards.statistics),
            named[run],
        )
        pulls[run] = state.plays
        return count

    with ThreadPoolExecutor(workers) as executor:
        for run, count in enumerate(executor.map(play_run, range(runs))):
            plans[run] = count
            progress((run + 1) / runs)
    return Stopped(pulls, plans, named)


def _is_wrong(named: Counts, gaps: Floats) -> Bools:
    """Tell which runs ended with an arm that is not best, by gaps[run or 1, context, arm]."""
    arms = np.maximum(named, 0)[:, :, np.newaxis]
    lost = np.take_along_axis(np.broadcast_to(gaps, (len(named), *gaps.shape[1:])), arms, axis=2)
    wrong: Bools = (named[:, 0] >= 0) & (lost > TOLERANCE).any(axis=(1, 2))
    return wrong


@compiled
def _play(
    prepared: Any,
    state: Any,
    law: Any,
    workspace: Any,
    random: Any,
    upto: Any,
    apart: bool,
    horizon: int,
    base: Any,
    cost: Any,
    best: Any,
    prior: Any,
    error: float,
    weights: Any,
    shares: Any,
    statistics: Any,
    named: Any,
) -> int:
    """Play one run up to its first verdict, or to the horizon; return how many plans it took.

    ``weights`` are the logarithms of prior times likelihood, by model. ``shares``, by model, and
    ``statistics``, of one reward, are written to. ``base`` and ``cost`` are a family's `costs`; of
    0/1 rewards, which have no statistics, what a 0 and a 1 cost. ``best[model, context, arm]``
    tells which arms are best. ``named`` gets the arms of the verdict.
    """
    contexts = upto.size
    arms = base.shape[1] // contexts
    t, plans = 0, 0
    while t < horizon:
        first, here = enter_context(state, upto, apart, arms, random)
        length = _plan(prepared, here, workspace, Ahead(None, 1, t, None), random)[0]
        plans += 1
        for place in range(length if contexts == 1 else 1):
            if t == horizon:
                break
            arm = workspace.cycle[place]
            pair = first + arm
            for k in range(statistics.size):
                statistics[k] = 0.0
            total = draw_sum(law, pair, 1, random, statistics)
            for k in range(statistics.size):
                state.statistics[pair, k] += statistics[k]
            _observe(prepared, here, arm if apart else pair, 1, total, random)
            t += 1
            for model in range(weights.size):
                if statistics.size == 0:
                    weights[model] -= cost[model, pair, 0] if total > 0 else base[model, pair]
                else:
                    weights[model] -= base[model, pair]
                for k in range(statistics.size):
                    weights[model] -= statistics[k] * cost[model, pair, k]
            if is_sure(weights, prior, error, best, shares, named):
                return plans
    return plans


@jitted
def is_sure(weights: Any, prior: Any, error: float, best: Any, shares: Any, named: Any) -> bool:
    """Tell whether, in every context, some arm is best under every model that is not ruled out.

    If so ``named`` gets the first such arm of each context, else it stays as it was.
    """
    largest, total = weights[0], 0.0
    for model in range(weights.size):
        largest = max(largest, weights[model])
    for model in range(weights.size):
        shares[model] = math.exp(weights[model] - largest)
        total += shares[model]
    for model in range(weights.size):  # from here on, 0 for models that are ruled out
        if is_ruled_out(shares[model], total - shares[model], prior[model], error):
            shares[model] = 0.0
    for context in range(best.shape[1]):
        if _first_sure(best, shares, context) < 0:
            return False
    for context in range(best.shape[1]):
        named[context] = _first_sure(best, shares, context)
    return True


@jitted
def _first_sure(best: Any, shares: Any, context: int) -> int:
    """Return the first arm that is best under all models with a share; −1 if there is none."""
    for arm in range(best.shape[2]):
        everywhere = True
        for model in range(shares.size):
            if shares[model] > 0 and not best[model, context, arm]:
                everywhere = False
                break
        if everywhere:
            return arm
    return -1
