"""``fpbandits sweep``: a study of many combinations, from one file."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fpbandits.cli.options import Dask, Json, Workers, folder, whole_number


def sweep(
    study: Annotated[Path, typer.Argument(help="A .toml file; docs/scale.md shows one.")],
    runs: Annotated[
        int | None, whole_number("--runs", "N", "Runs of each combination.  [default: the file's]")
    ] = None,
    out: Annotated[
        Path | None, folder("--out", "The folder of the results.  [default: STUDY-out]")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Play a whole study from one file.

    It plays all combinations of problems, truths, policies with options, horizons and seeds.

    Writes study.csv, a row for each combination, and study.png and .svg, regret against what
    varies. Finished runs are kept: after an interruption the same command resumes.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import playing
    from fpbandits.sweep.report import sweep_table
    from fpbandits.sweep.study import load_study
    from fpbandits.sweep.sweep import sweep

    loaded = load_study(study, runs=runs)
    into = out or Path(f"{study.stem}-out")
    with playing(into, workers, dask, notes=loaded.remarks) as how:
        found = sweep(loaded, out=into, **how)
    found.save(into)
    table = partial(sweep_table, loaded.against, found.points(), found.caption)
    print_result(json, found.as_dict, table, 120)
    sys.stderr.write(f"wrote {into / 'study.csv'}, study.png and study.svg\n")
