"""``fpbandits leaderboard``: all policies on the same problems."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fpbandits.cli import completion
from fpbandits.cli.options import Dask, Delay, Json, Out, Seed, Workers, whole_number
from fpbandits.errors import InputError


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
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One group of built-in problems: paper, random, wrong or practice. Practice sets "
            "resemble real ones; --seed draws them, and they take many minutes.",
            autocompletion=completion.groups,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        whole_number(
            "--runs",
            "N",
            "Runs of each policy on each problem.  [default: 100; of practice 400]",
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        whole_number("--horizon", "T", "Plays per run.  [default: 1e5; of practice 2e4]"),
    ] = None,
    seed: Seed = 0,
    delay: Delay = "0",
    out: Out = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Play every policy on the same problems, and rank them.

    The truth is the one in the problem's file, or else each model in turn, which share the runs.
    For practice sets it is drawn from the prior in each run.

    With --out, leaderboard.json, .png and .svg are written, finished runs are kept, and the same
    command resumes after an interruption, or adds more runs.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import playing
    from fpbandits.leaderboard import contests, own_contests, play
    from fpbandits.leaderboard.report import leaderboard_table
    from fpbandits.problem.files import load_problem

    if problems and group is not None:
        raise InputError("--group and problems of your own exclude each other: give one of them")
    own = own_contests(list(map(load_problem, problems or [])))
    among = own or contests(group, seed)
    with playing(out, workers, dask) as how:
        board = play(
            runs=runs, horizon=horizon, seed=seed, delay=delay, among=among, out=out, **how
        )
    if out is not None:
        board.save(out)
    print_result(json, board.as_dict, lambda: leaderboard_table(board))
    if out is not None:
        sys.stderr.write(f"wrote {out / 'leaderboard.json'}, .png and .svg\n")
