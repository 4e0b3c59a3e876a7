"""``fpbandits simulate``: policies on a problem."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from fpbandits.cli import options
from fpbandits.cli.options import Dask, Horizon, Json, Out, ProblemName, Runs, Seed, Workers
from fpbandits.errors import InputError


def simulate(
    problem: ProblemName,
    true: Annotated[str | None, options.truth("the problem's own")] = None,
    true_means: Annotated[
        Sequence[float] | None,
        options.floats("--true-means", "M,M,..", "The arms' true means, for a truth outside Θ."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:OPTION=VALUE]",
            help="A policy, or FILE.py:CLASS; may be given again.  [default: optimist]",
        ),
    ] = None,
    horizon: Horizon = 10**5,
    runs: Runs = 100,
    seed: Seed = 0,
    times: Annotated[
        Sequence[float] | None,
        options.floats("--times", "T,T,..", "When to record.  [default: 100 times, in log t]"),
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
    from fpbandits.files import load_problem
    from fpbandits.policies import DEFAULT, parse_policy
    from fpbandits.simulation.simulate import simulate

    if true is not None and true_means is not None:
        raise InputError("--true and --true-means both say what is true: give one of them")
    if step and exact:
        raise InputError("--step and --exact exclude each other: give one of them")
    words = policy or [DEFAULT.name]
    for word in words:
        if words.count(word) > 1:
            raise InputError(f"--policy {word} is given twice")
    loaded = load_problem(problem)
    chosen = {word: parse_policy(word) for word in words}
    with playing(out, workers, dask) as (_, how):
        result = simulate(
            loaded,
            chosen,
            true=true if true_means is None else true_means,
            horizon=horizon,
            runs=runs,
            seed=seed,
            times=times,
            shuffle=shuffle,
            leap=not step,
            exact=exact,
            out=out,
            **how,
        )
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
