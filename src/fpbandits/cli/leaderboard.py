"""``fpbandits leaderboard``: every policy on the same ground."""

from __future__ import annotations

import sys

from fpbandits.cli.options import Dask, Horizon, Json, Out, Runs, Seed, Workers


def leaderboard(
    runs: Runs = 100,
    horizon: Horizon = 10**5,
    seed: Seed = 0,
    out: Out = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Let every policy play the paper's problems, random ones and wrong models, and rank them.

    With --out, it writes leaderboard.json, .png and .svg, and the same command goes on after an
    interruption, and may ask for more runs.
    """
    from fpbandits.cli.output import print_json, print_table
    from fpbandits.cli.progress import playing
    from fpbandits.leaderboard import play
    from fpbandits.report.tables import leaderboard_table

    with playing(out, workers, dask) as (_, how):
        board = play(runs=runs, horizon=horizon, seed=seed, out=out, **how)
    if out is not None:
        board.save(out)
    if json:
        print_json(board.as_dict())
    else:
        print_table(leaderboard_table(board.as_dict()), 132)
    if out is not None:
        sys.stderr.write(f"wrote {out / 'leaderboard.json'}, .png and .svg\n")
