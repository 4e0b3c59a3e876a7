"""``fpbandits simulate``: policies on a problem."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fpbandits.cli import options
from fpbandits.cli.options import (
    Dask,
    Horizon,
    Json,
    Out,
    PolicyWords,
    ProblemName,
    Runs,
    Seed,
    Workers,
)
from fpbandits.errors import InputError, counted, listed, quote

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem
    from fpbandits.simulation.result import Result


def simulate(
    problem: ProblemName,
    true: Annotated[
        str | None, options.truth("the problem's own", "; all for each in turn")
    ] = None,
    true_means: Annotated[
        Sequence[float] | None,
        options.floats(
            "--true-means",
            "M,M,..",
            "The arms' true means, for a truth outside Θ; context by context if there are any.",
        ),
    ] = None,
    policy: PolicyWords = None,
    horizon: Horizon = 10**5,
    runs: Runs = 100,
    seed: Seed = 0,
    times: Annotated[
        Sequence[float] | None,
        options.floats(
            "--times",
            "T,T,..",
            "When to record, for --json and --out.  [default: 100 times]",
        ),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Reorder arms and parameters in each run.")
    ] = False,
    step: Annotated[bool, typer.Option("--step", help="Play step by step.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Leap only where no rewards could matter.")
    ] = False,
    workers: Workers = None,
    dask: Dask = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Play policies on a problem, and show their regret.

    Each plays many runs, to any horizon.

    With --out, it writes result.npz, regret.csv and regret.png, and the same command goes on after
    an interruption, and may ask for more runs.
    """
    from fpbandits.cli.output import print_json
    from fpbandits.cli.progress import playing
    from fpbandits.problem.files import load_problem
    from fpbandits.simulation.simulate import Asked, simulate, simulate_truths
    from fpbandits.simulation.tables import truths_table

    if true is not None and true_means is not None:
        raise InputError("--true and --true-means both say what is true: give one of them")
    if step and exact:
        raise InputError("--step and --exact exclude each other: give one of them")
    loaded = load_problem(problem)
    each = true == "all" and "all" not in loaded.parameters
    if each and out is not None:
        raise InputError("--out keeps the runs of one truth: for all of them write a study (sweep)")
    if true is None and true_means is None and loaded.true is None:
        raise InputError(
            f"{loaded.name} does not say which parameter is true: give --true all, or one of "
            f"{listed(loaded.parameters)}"
        )
    chosen, left_out = options.chosen_policies(policy, loaded)
    asked: Asked = {
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "times": times,
        "shuffle": shuffle,
        "leap": not step,
        "exact": exact,
    }
    with playing(out, workers, dask) as (bar, how):
        for remark in left_out:
            bar.say(f"note: {remark}")
        if each:
            results = simulate_truths(loaded, chosen, asked, **how)
        else:
            truth = true if true_means is None else _by_context(loaded, true_means)
            result = simulate(loaded, chosen, true=truth, out=out, **asked, **how)
    if each:
        if json:
            print_json(_each_as_dict(results))
        else:
            sys.stdout.write(truths_table(results) + "\n")
        return
    if out is not None:
        result.save(out / "result.npz")
        result.to_csv(out / "regret.csv")
        result.plot(out / "regret.png")
    if json:
        print_json(result.as_dict())
    else:
        sys.stdout.write(result.table() + "\n")
    if out is not None:
        sys.stderr.write(f"wrote {out / 'result.npz'}, regret.csv and regret.png\n")


def _by_context(problem: Problem, means: Sequence[float]) -> Sequence[Any]:
    """Return the means of each context, where there are any, from those of all."""
    if not problem.contexts:
        return means
    if len(means) != problem.pairs:
        raise InputError(
            f"--true-means has {counted(len(means), 'value')}, and {problem.name} has "
            f"{counted(len(problem.contexts), 'context')} of {counted(len(problem.arms), 'arm')}: "
            f"give {problem.pairs}, those of context {quote(problem.contexts[0])} first"
        )
    starts = range(0, problem.pairs, len(problem.arms))
    return [means[start : start + len(problem.arms)] for start in starts]


def _each_as_dict(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return what all truths share, and below "truths" what a single one would be printed as."""
    by_truth = {true: result.as_dict() for true, result in results.items()}
    shared = dict(next(iter(by_truth.values())))
    del shared["true"], shared["policies"]
    return {**shared, "truths": by_truth}
