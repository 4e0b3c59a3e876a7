"""``fpbandits simulate``: Monte Carlo runs of policies on a problem."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fpbandits.cli import options
from fpbandits.errors import InputError, counted, quote, within

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem
    from fpbandits.simulation.result import Result


def simulate(
    problem: options.ProblemName,
    truth: Annotated[
        str | None,
        options.which_truth(
            "the problem's own, else drawn from the prior", "; all: each model in turn"
        ),
    ] = None,
    truth_means: Annotated[
        Sequence[float] | None,
        options.floats(
            "--truth-means",
            "M,M,..",
            "The arms' true means, for a truth outside Θ; context by context if there are any.",
        ),
    ] = None,
    policy: options.PolicyWords = None,
    horizon: options.Horizon = 10**5,
    runs: options.Runs = 100,
    seed: options.Seed = 0,
    times: Annotated[
        Sequence[float] | None,
        options.floats(
            "--times",
            "T,T,..",
            "Times to record, for --json and --out.  [default: 100 times]",
        ),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Shuffle arms and models in each run.")
    ] = False,
    no_leap: Annotated[bool, typer.Option("--no-leap", help="Play step by step.")] = False,
    worst_case: Annotated[
        bool,
        typer.Option("--worst-case", help="Leap only where no rewards could change a decision."),
    ] = False,
    delay: options.Delay = "0",
    stop: Annotated[
        float | None,
        typer.Option(
            "--stop",
            metavar="ERROR",
            help="End each run at its first verdict, wrong with at most this probability.",
            show_default=False,
        ),
    ] = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Play policies on a problem, and show their regret.

    With --out, result.npz, regret.csv and regret.png are written, finished runs are kept, and the
    same command resumes after an interruption, or adds more runs.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import playing
    from fpbandits.problem.files import load_problem
    from fpbandits.simulation.simulate import simulate_spec, simulate_truths
    from fpbandits.simulation.spec import RunSpec
    from fpbandits.simulation.tables import truths_table
    from fpbandits.simulation.truths import checked_truth

    if truth is not None and truth_means is not None:
        raise InputError("--truth and --truth-means exclude each other: give one of them")
    if no_leap and worst_case:
        raise InputError("--no-leap and --worst-case exclude each other: give one of them")
    loaded = load_problem(problem)
    every_truth = truth == "all" and "all" not in loaded.models
    if every_truth and out is not None:
        raise InputError("--out keeps the runs of one truth: for all of them write a study (sweep)")
    if stop is not None and (out is not None or dask is not None):
        given = "--out" if out is not None else "--dask"
        raise InputError(f"--stop plays here and keeps no runs: leave out {given}")
    notes = []
    if truth is None and truth_means is None and loaded.truth is None:
        notes.append(f"{loaded.name} names no truth: it is drawn from the prior, for each run")
    chosen, left_out = options.chosen_policies(policy, loaded, horizon)
    spec = RunSpec(
        horizon=horizon,
        times=times,
        runs=runs,
        seed=seed,
        truth=truth if truth_means is None else _by_context(loaded, truth_means),
        shuffle=shuffle,
        leap=not no_leap,
        worst_case=worst_case,
        delay=delay,
        stop=stop,
    )
    if truth_means is not None:
        with within("--truth-means"):
            checked_truth(loaded, spec.truth, spec.horizon)
    with playing(out, workers, dask, notes=[*left_out, *notes]) as how:
        if every_truth:
            results = simulate_truths(loaded, chosen, spec, **how)
        else:
            result = simulate_spec(loaded, chosen, spec, out=out, **how)
    if every_truth:
        print_result(json, lambda: _by_truth(results), lambda: truths_table(results))
        return
    if out is not None:
        result.save(out / "result.npz")
        result.to_csv(out / "regret.csv")
        result.plot(out / "regret.png")
    print_result(json, result.as_dict, result.table)
    if out is not None:
        sys.stderr.write(f"wrote {out / 'result.npz'}, regret.csv and regret.png\n")


def _by_context(problem: Problem, means: Sequence[float]) -> Sequence[Any]:
    """Return means as one list per context; without contexts, as they are."""
    if not problem.contexts:
        return means
    if len(means) != problem.pairs:
        raise InputError(
            f"--truth-means has {counted(len(means), 'value')}, and {problem.name} has "
            f"{counted(len(problem.contexts), 'context')} of {counted(len(problem.arms), 'arm')}: "
            f"give {problem.pairs}, those of context {quote(problem.contexts[0])} first"
        )
    starts = range(0, problem.pairs, len(problem.arms))
    return [means[start : start + len(problem.arms)] for start in starts]


def _by_truth(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the results as one dict: fields that all truths share, then "truths" by name."""
    by_truth = {truth: result.as_dict() for truth, result in results.items()}
    shared = dict(next(iter(by_truth.values())))
    del shared["truth"], shared["policies"]
    return {**shared, "truths": by_truth}
