"""`simulate`: how policies do on one problem, by exact Monte Carlo."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from fpbandits.core.renamed import refuses_old_keywords
from fpbandits.engine.policy import Policy
from fpbandits.policies.parsing import Policies, named_policies
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.delays import Delay
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import Progress, play_cells
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.stopping import play_stopping
from fpbandits.simulation.truths import Truth


@refuses_old_keywords
def simulate(
    problem: Problem | str | os.PathLike[str],
    policies: Policies | None = None,
    *,
    truth: Truth | None = None,
    horizon: float = 10**5,
    runs: float = 100,
    seed: int = 0,
    times: Sequence[float] | None = None,
    shuffle: bool = False,
    leap: bool = True,
    worst_case: bool = False,
    delay: Delay = 0,
    stop: float | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play policies on a problem, many runs each; return how often each arm was played, over time.

    Parameters
    ----------
    problem
        The candidate models; or what `load_problem` takes, such as "paper:two".
    policies
        One or several, each as ``FPUCB()`` or as "fp-ucb"; or a dictionary of names of your own; by
        default the default policy. In a name, horizon=T stands for the horizon of the runs.
    truth
        The true model, by name, or a list of the arms' true means, for a truth outside Θ; by
        default `Problem.truth`, else "prior": drawn for each run from the prior. A truth that
        changes is {plays before it: one of these}, for instance {0: "loyal", 50_000: "thrifty"}.
    horizon
        T, the number of plays in a run: at most 2⁵³.
    runs, seed
        How many runs, and what their random streams are spawned from.
    times
        When to record; by default about 100 times, evenly spaced in log t. T is always among them.
    shuffle
        Put arms and models in a random order in each run, so that ties favour no arm.
    leap, worst_case
        ``leap=False`` plays step by step. ``worst_case=True`` leaps only where no rewards whatever
        could change a decision.
    delay
        After how many further decisions a reward becomes known: a whole number; "geometric:300",
        300 on average; or "batch:1000", all rewards of a batch when it is full. Then runs are
        played step by step.
    stop
        End each run at its first verdict, an arm that is best under every model not ruled out,
        which is wrong with probability at most ``stop``, as 0.05; see `Agent.verdict`. Regret is
        then that until the verdict, and `Result.verdicts` says how long it took. Runs are played
        step by step, in this process, and are not kept: no ``out`` and no ``executor``.
    workers, executor
        How many threads, by default one per core; or any executor of your own, such as a process
        pool or a Dask client's, and how many workers it has, by default what it says itself.
    out
        A folder that keeps finished runs: the same call goes on from there, and may ask for more
        runs. A folder that holds other runs is refused.
    progress
        Called with a policy's name, the share of its work that is done, and the share of all.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> problem = fpb.load_problem("paper:two")
    >>> result = fpb.simulate(problem, [fpb.FPUCB(), fpb.UCB1()], horizon=10**9, runs=20, seed=1)
    >>> result.mean_regret("fp-ucb")[-1] < 10 < result.mean_regret("ucb1")[-1]
    np.True_
    """
    problem, policies = the_problem(problem), named_policies(policies, horizon)
    spec = RunSpec(
        horizon=horizon,
        times=times,
        runs=runs,
        seed=seed,
        truth=truth,
        shuffle=shuffle,
        leap=leap,
        worst_case=worst_case,
        delay=delay,
        stop=stop,
    )
    how = {"out": out, "workers": workers, "executor": executor, "progress": progress}
    return simulate_spec(problem, policies, spec, **how)


def simulate_spec(
    problem: Problem, policies: Mapping[str, Policy], spec: RunSpec, **how: Any
) -> Result:
    """Do what `simulate` does; ``how`` has the keywords of `play_cells`."""
    cells = {name: make_cell(problem, policy, spec) for name, policy in policies.items()}
    for cell in cells.values():
        _ = cell.ready  # prepared here, and not in every thread at once
    return Result.together(_play(cells, spec, how))


def _play(cells: Mapping[str, Cell], spec: RunSpec, how: Mapping[str, Any]) -> dict[str, Result]:
    """Play cells to the horizon, or to their verdicts."""
    return play_cells(cells, **how) if spec.stop is None else play_stopping(cells, **how)


def simulate_truths(
    problem: Problem, policies: Mapping[str, Policy], spec: RunSpec, **how: Any
) -> dict[str, Result]:
    """Play policies under each model in turn; a truth's result is that of `simulate`."""
    cells = {
        f"{truth}: {name}": make_cell(problem, policy, replace(spec, truth=truth))
        for truth in problem.models
        for name, policy in policies.items()
    }
    played = _play(cells, spec, how)
    return {
        truth: Result.together({name: played[f"{truth}: {name}"] for name in policies})
        for truth in problem.models
    }
