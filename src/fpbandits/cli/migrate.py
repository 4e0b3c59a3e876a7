"""``fpbandits migrate``: a new experiment, with other models, from the history of an old one."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

from fpbandits.cli.options import ProblemName
from fpbandits.cli.verify import StoreName, counting


def migrate(
    store: StoreName,
    problem: ProblemName,
    old: Annotated[str, typer.Option("--from", metavar="NAME", help="The old experiment.")],
    new: Annotated[str, typer.Option("--to", metavar="NAME", help="The new experiment.")],
    policy: Annotated[
        str | None, typer.Option(metavar="POLICY", help="[default: the old one's]")
    ] = None,
) -> None:
    """Begin an experiment with the history of another.

    Every unit's rewards are observed under the new models. Stop using the old experiment first.
    """
    from fpbandits.errors import counted
    from fpbandits.problem.files import load_problem, problem_to_toml
    from fpbandits.service.migrate import migrate
    from fpbandits.service.store import open_store

    definition: dict[str, object] = {"problem": problem_to_toml(load_problem(problem))}
    if policy is not None:
        definition["policy"] = policy
    with closing(open_store(store)) as opened, counting("rewards") as progress:
        units = migrate(opened, old, new, definition, progress)
    sys.stderr.write(f"{new} has the history of {counted(units, 'unit')}, and takes requests\n")
