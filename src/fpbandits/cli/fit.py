"""``fpbandits fit``: models from a log."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fpbandits.cli import options
from fpbandits.cli.options import Arm, Context, Json, LogName, Reward, Seed, Unit
from fpbandits.errors import InputError


def fit(
    log: LogName,
    unit: Unit,
    arm: Arm,
    reward: Reward,
    context: Context = None,
    key: options.Key = None,
    family: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Rewards: bernoulli, revenue, gaussian, beta or discrete."
        ),
    ] = "bernoulli",
    range: Annotated[
        Sequence[float] | None,
        options.floats("--range", "LO,HI", "The lowest and the highest reward.  [default: 0,1]"),
    ] = None,
    types: Annotated[
        int | None,
        options.whole_number("--types", "N", "How many types.  [default: by cross-validation]"),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,..",
            help='All possible arms; in quotes with a comma, as "9,50".  [default: the log\'s]',
        ),
    ] = None,
    value: Annotated[
        Sequence[float] | None,
        options.floats(
            "--value",
            "V,V,..",
            "What each arm pays, less its cost, if it is not 0.  [default: as in the log]",
        ),
    ] = None,
    deviation: Annotated[
        float | None,
        typer.Option(metavar="SIGMA", help="Deviation of gaussian rewards.  [default: fitted]"),
    ] = None,
    concentration: Annotated[
        float | None,
        typer.Option(metavar="C", help="Concentration of beta rewards.  [default: fitted]"),
    ] = None,
    shape: Annotated[
        float | None,
        typer.Option(metavar="K", help="Shape of gamma amounts of revenue.  [default: fitted]"),
    ] = None,
    cost: options.Cost = None,
    missing: options.Missing = "refuse",
    like: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Models of an earlier fit, whose names types keep."),
    ] = None,
    seed: Seed = 0,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the types as a problem file, .toml.")
    ] = None,
    report: Annotated[
        Path | None, options.folder("--report", "Write a page with figures to this folder.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the types of units in a log, as models.

    A type is a mean reward for every arm; the shares of the types become the prior. The problem
    file that --save writes can be used by analyze, simulate and agents.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import playing
    from fpbandits.core.storage import make_folder, shown
    from fpbandits.fitting.fit import fit
    from fpbandits.fitting.report import fit_table
    from fpbandits.report.figures import check_drawing

    if save is not None:
        if save.suffix.lower() != ".toml":
            raise InputError(f"--save is {shown(save)}: the types are written as a .toml file")
        if not save.parent.is_dir():
            raise InputError(f"--save is {shown(save)}: there is no folder {shown(save.parent)}")
    if report is not None:
        check_drawing()
        make_folder(report)
    given = {"value": value, "deviation": deviation}
    given |= {"concentration": concentration, "shape": shape}
    known: Any = {field: value for field, value in given.items() if value is not None}
    with playing() as how:
        found = fit(
            log,
            unit=unit,
            arm=arm,
            reward=reward,
            context=context,
            key=key,
            cost=cost,
            missing=missing,
            like=like,
            family=family,
            range=range,
            types=types,
            arms=None if arms is None else _names(arms),
            seed=seed,
            progress=how["progress"],
            **known,
        )
    if save is not None:
        found.save(save)
    page = None if report is None else found.report(report)
    print_result(json, found.as_dict, lambda: fit_table(found), 80)
    written = [shown(path) for path in (save, page) if path is not None]
    if written:
        sys.stderr.write(f"wrote {' and '.join(written)}\n")


def _names(text: str) -> list[str]:
    """Return the names of arms in a line of CSV."""
    if not text.strip():
        raise InputError("--arms is empty: name the arms, as --arms A,B, or leave it out")
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
