"""``fpbandits leaderboard``: every policy on the same ground."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fpbandits.cli import completion
from fpbandits.cli.options import Dask, Horizon, Json, Out, Runs, Seed, Workers


def leaderboard(
    problems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM",
            help="Your own problems, or built-in ones.  [default: the paper's, random ones, "
            "wrong models]",
            show_default=False,
            autocompletion=completion.problems,
        ),
    ] = None,
    runs: Runs = 100,
    horizon: Horizon = 10**5,
    seed: Seed = 0,
    out: Out = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Let every policy play the same problems, and rank them.

    A problem is played under the truth that its file names, else under each of its parameters in
    turn, which share the runs.

    With --out, it writes leaderboard.json, .png and .svg, and the same command goes on after an
    interruption, and may ask for more runs.
    """
    from fpbandits.cli.output import print_json, print_table
    from fpbandits.cli.progress import playing
    from fpbandits.files import load_problem
    from fpbandits.leaderboard import own_contests, play
    from fpbandits.report.tables import leaderboard_table

    among = own_contests(list(map(load_problem, problems))) if problems else None
    with playing(out, workers, dask) as (_, how):
        board = play(runs=runs, horizon=horizon, seed=seed, among=among, out=out, **how)
    if out is not None:
        board.save(out)
    if json:
        print_json(board.as_dict())
    else:
        print_table(leaderboard_table(board.as_dict()), 80 if problems else 132)
    if out is not None:
        sys.stderr.write(f"wrote {out / 'leaderboard.json'}, .png and .svg\n")
