"""``fpbandits forecast``: what playing will cost, before anyone plays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fpbandits.cli import completion, options


def forecast(
    problem: options.ProblemName,
    horizon: Annotated[
        int,
        options.whole_number("--horizon", "T", "Plays.  [default: 1e4]", show_default=False),
    ] = 10**4,
    truth: Annotated[str | None, options.which_truth("drawn from the prior", all=False)] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME[:OPTION=VALUE]",
            help="A policy, or FILE.py:CLASS.  [default: frugal]",
            autocompletion=completion.policy_names,
        ),
    ] = None,
    runs: options.Runs = 1000,
    seed: options.Seed = 0,
    error: Annotated[
        float, options.real("--error", "P", "The probability with which a verdict may be wrong.")
    ] = 0.05,
    off: Annotated[
        float,
        options.real(
            "--off", "P", "How far the true means may be off, as a fraction of the range."
        ),
    ] = 0.05,
    report: Annotated[
        Path | None, options.folder("--report", "Write a page with the figure there.")
    ] = None,
    workers: options.Workers = None,
    json: options.Json = False,
) -> None:
    """Say what playing will cost, before anyone plays.

    It also says how long it takes to be sure, and how wrong the models may be.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import playing
    from fpbandits.core.storage import make_folder
    from fpbandits.forecast.forecast import forecast
    from fpbandits.problem.files import load_problem
    from fpbandits.report.figures import check_drawing

    if report is not None:
        check_drawing()
        make_folder(report)
    loaded = load_problem(problem)
    with playing(None, workers) as how:
        found = forecast(
            loaded,
            horizon=horizon,
            truth=truth,
            policy=policy,
            runs=runs,
            seed=seed,
            error=error,
            off=off,
            **how,
        )
    page = None if report is None else found.report(report)
    print_result(json, found.as_dict, lambda: str(found))
    if page is not None:
        sys.stderr.write(f"wrote {page}\n")
