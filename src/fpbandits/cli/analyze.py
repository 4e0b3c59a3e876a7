"""``fpbandits analyze``: the structure of a set of models, and bounds on regret."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fpbandits.cli.options import Json, ProblemName, which_truth


def analyze(
    problem: ProblemName,
    truth: Annotated[str | None, which_truth("all, one by one")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the means and the confused models, as .png or .svg."
        ),
    ] = None,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", help="Show the paper's bounds too: those of FP-UCB, its policy, and others."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show what can be learned for free, and what must cost."""
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import track_cases
    from fpbandits.core.storage import shown
    from fpbandits.problem.files import load_problem
    from fpbandits.report.figures import check_figure_path, save_figure
    from fpbandits.theory.analysis import analyze
    from fpbandits.theory.figure import structure_figure
    from fpbandits.theory.tables import analysis_table

    if plot is not None:
        check_figure_path(plot)
    loaded = load_problem(problem)
    if truth == "all" and "all" not in loaded.models:
        truth = None
    # Drawn before the analysis, which may be long, and written after it has succeeded.
    if plot is not None:
        figure = structure_figure(loaded)
    analysis = analyze(loaded, truth=truth, progress=track_cases)
    if plot is not None:
        save_figure(figure, plot)
    print_result(
        json, analysis.as_dict, lambda: analysis_table(analysis, loaded, bounds=bounds), 80
    )
    if plot is not None:
        sys.stderr.write(f"wrote {shown(plot)}\n")
