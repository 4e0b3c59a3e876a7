"""``fpbandits evaluate``: what policies would have earned on a log."""

from __future__ import annotations

from typing import Annotated

import typer

from fpbandits.cli import options


def evaluate(
    log: options.LogName,
    problem: options.ProblemName,
    unit: options.Unit,
    arm: options.Arm,
    reward: options.Reward,
    context: options.Context = None,
    time: Annotated[
        str | None,
        options.column("--time", "When: a number or a date.  [default: the order of the rows]"),
    ] = None,
    key: options.Key = None,
    among: Annotated[
        str | None,
        options.column("--among", "The eligible arms, such as: 9 EUR|12 EUR.  [default: all]"),
    ] = None,
    propensity: Annotated[
        str | None,
        options.column("--propensity", "The probability with which the arm was chosen."),
    ] = None,
    uniform: Annotated[
        bool,
        typer.Option(
            "--uniform",
            help="All eligible arms were equally likely. This or --propensity is needed.",
        ),
    ] = False,
    cost: options.Cost = None,
    missing: options.Missing = "refuse",
    policy: options.PolicyWords = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Estimate what policies would have earned on a log.

    The decisions in the log must have been random. Rows are left out at random, so that in the rest
    all eligible arms were equally likely. Each unit gets its own agent, and rows in which it
    decides differently are left out, too: the others are as if the policy had played.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.cli.progress import playing
    from fpbandits.evaluation.evaluate import evaluate
    from fpbandits.problem.files import load_problem

    loaded = load_problem(problem)
    chosen, why_left_out = options.chosen_policies(policy, loaded)
    with playing(notes=why_left_out) as how:
        found = evaluate(
            log,
            loaded,
            chosen,
            unit=unit,
            arm=arm,
            reward=reward,
            context=context,
            time=time,
            key=key,
            cost=cost,
            among=among,
            missing=missing,
            propensity=propensity,
            uniform=uniform,
            seed=seed,
            progress=how["progress"],  # and nothing else: evaluation takes no workers
        )
    print_result(json, found.as_dict, found.table)
