"""``fpbandits reproduce``: the paper, its experiments and its claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from fpbandits.cli.options import Dask, Json, Workers, folder, whole_number
from fpbandits.errors import InputError


def reproduce(
    out: Annotated[
        Path | None, folder("--out", "The folder of the report.  [default: report]")
    ] = None,
    runs: Annotated[
        int | None, whole_number("--runs", "N", "Runs of most experiments.  [default: 1000]")
    ] = None,
    seed: Annotated[
        int | None, whole_number("--seed", "N", "The seed of all random numbers.  [default: 0]")
    ] = None,
    source: Annotated[
        Path | None,
        folder("--from", "Simulate nothing: use the results in this report."),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Run the paper's experiments and judge its claims.

    The outcome is report.html. Finished runs are kept: after an interruption the same command
    resumes.
    """
    from fpbandits.cli.progress import playing
    from fpbandits.paper.experiments import EXPERIMENTS, RUNS
    from fpbandits.paper.reproduce import claims_json, reproduce

    if source is not None and (runs is not None or seed is not None):
        raise InputError("--from takes results as they are: leave out --runs and --seed")
    into = out or source or Path("report")
    titles = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
    with playing(into, workers, dask, titles=titles) as how:
        report = reproduce(
            into,
            runs=RUNS if runs is None else runs,
            seed=0 if seed is None else seed,
            source=source,
            **how,
        )
    text = claims_json(report.claims).decode() if json else f"{report.summary()}\n"
    sys.stdout.write(text)
    sys.stderr.write(f"wrote {report.path}\n")
