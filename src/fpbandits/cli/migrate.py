"""``fpbandits migrate``: new models for an experiment that has learned something."""

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
    old: Annotated[str, typer.Option("--from", metavar="NAME", help="Whose history.")],
    new: Annotated[str, typer.Option("--to", metavar="NAME", help="What the new one is called.")],
    policy: Annotated[
        str | None, typer.Option(metavar="POLICY", help="[default: the old one's]")
    ] = None,
) -> None:
    """Begin an experiment with the history of another.

    Every unit's rewards are observed under the new models. Stop asking the old one first.
    """
    from fpbandits.errors import counted
    from fpbandits.problem.files import load_problem, problem_to_toml
    from fpbandits.service.migrate import migrate
    from fpbandits.service.store import open_store

    definition: dict[str, object] = {"problem": problem_to_toml(load_problem(problem))}
    if policy is not None:
        definition["policy"] = policy
    with closing(open_store(store)) as opened, counting("units") as progress:
        units = migrate(opened, old, new, definition, progress)
    sys.stderr.write(f"{new} has the history of {counted(units, 'unit')}, and takes requests\n")
