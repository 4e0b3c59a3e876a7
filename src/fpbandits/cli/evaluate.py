"""``fpbandits evaluate``: what policies would have earned on a log."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fpbandits.cli import options
from fpbandits.cli.options import (
    Arm,
    Context,
    Json,
    LogName,
    PolicyWords,
    ProblemName,
    Reward,
    Seed,
    Unit,
)


def evaluate(
    log: LogName,
    problem: ProblemName,
    unit: Unit,
    arm: Arm,
    reward: Reward,
    context: Context = None,
    propensity: Annotated[
        str | None,
        options.column("--propensity", "How likely the arm that was played was to be chosen."),
    ] = None,
    uniform: Annotated[
        bool,
        typer.Option("--uniform", help="Every arm was as likely as any other, in every row."),
    ] = False,
    policy: PolicyWords = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Estimate what policies would have earned on a log.

    Its decisions must have been random. Each unit has an agent of its own. Rows that it would have
    decided otherwise are passed over, so that what is left is as if the policy had played.
    """
    from fpbandits.cli.output import print_json
    from fpbandits.cli.progress import playing
    from fpbandits.evaluation.evaluate import evaluate
    from fpbandits.problem.files import load_problem

    loaded = load_problem(problem)
    chosen, left_out = options.chosen_policies(policy, loaded)
    with playing(None, None, None) as (bar, how):
        for remark in left_out:
            bar.say(f"note: {remark}")
        found = evaluate(
            log,
            loaded,
            chosen,
            unit=unit,
            arm=arm,
            reward=reward,
            context=context,
            propensity=propensity,
            uniform=uniform,
            seed=seed,
            progress=how["progress"],
        )
    if json:
        print_json(found.as_dict())
    else:
        sys.stdout.write(found.table() + "\n")
