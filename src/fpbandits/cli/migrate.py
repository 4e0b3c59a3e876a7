"""``fpbandits migrate``: a new experiment, with other models, from the history of an old one."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from fpbandits.cli.options import Json, ProblemName
from fpbandits.cli.verify import StoreName, show_status

if TYPE_CHECKING:
    from fpbandits.service.migrate import Migration


def migrate(
    store: StoreName,
    problem: ProblemName,
    old: Annotated[str, typer.Option("--from", metavar="NAME", help="The old experiment.")],
    new: Annotated[str, typer.Option("--to", metavar="NAME", help="The new experiment.")],
    policy: Annotated[
        str | None, typer.Option(metavar="POLICY", help="[default: the old one's]")
    ] = None,
    retire: Annotated[
        list[str] | None,
        typer.Option(metavar="ARM", help="An arm whose rewards are left out; may be repeated."),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(metavar="ARM", help="The control group's arm.  [default: the old one's]"),
    ] = None,
    json: Json = False,
) -> None:
    """Begin an experiment with the history of another.

    Every unit's rewards are observed under the new models. Stop asking the old experiment first.
    Run again, it brings the rewards that the old experiment got since then.
    """
    from fpbandits.cli.output import print_json
    from fpbandits.problem.files import load_problem, problem_to_toml
    from fpbandits.service.migrate import migrate
    from fpbandits.service.store import open_store

    definition: dict[str, object] = {"problem": problem_to_toml(load_problem(problem))}
    if policy is not None:
        definition["policy"] = policy
    with closing(open_store(store)) as opened, show_status() as progress:
        migration = migrate(
            opened, old, new, definition, retire=retire or (), control=control, progress=progress
        )
    if json:
        print_json(vars(migration))
    else:
        sys.stdout.write(_describe(migration, old, new))


def _describe(migration: Migration, old: str, new: str) -> str:
    """Say what was migrated, what was left out, and how units' likeliest models changed."""
    from fpbandits.errors import counted, quote

    units = f"{new} has the history of {counted(migration.units, 'unit')}"
    lines = [f"{units}, {counted(migration.rewards, 'reward')}, and takes requests"]
    if 0 < migration.added < migration.rewards:
        lines.append(f"{counted(migration.added, 'reward')} of these came with this run")
    for arm, rewards in migration.retired.items():
        lines.append(f"{counted(rewards, 'reward')} of {quote(arm)} left out: it is retired")
    if migration.erased:
        lines.append(f"{counted(migration.erased, 'unit')} left out: erased in {new}")
    if migration.not_erased:
        their, them = ("its", "it") if migration.not_erased == 1 else ("their", "them")
        lines.append(
            f"{counted(migration.not_erased, 'unit')} erased in {old} and not in {new}, which "
            f"still has {their} history: erase {them} there, too"
        )
    if migration.decided:
        units = counted(len(migration.decided), "unit")
        lines.append(
            f"{counted(migration.decided.total(), 'reward')} of {units} left out: the truth moves "
            f"with every decision, and {new} has decided since"
        )
    if migration.pending:
        blocked = f", and block {counted(migration.blocked, 'reward')}" if migration.blocked else ""
        lines.append(
            f"{counted(migration.pending, 'decision')} of {old} are pending{blocked}: send their "
            "rewards there, then run this command again"
        )
    if sum(map(len, migration.types.values())) > 1:
        lines += ["", f"units by their likeliest model, in {old} and then in {new}:"]
        width = max(map(len, migration.types))
        for model, after in migration.types.items():
            shares = ", ".join(f"{units:,} {name}" for name, units in after.most_common())
            lines.append(f"  {model:<{width}}  {after.total():>7,}  → {shares}")
    return "\n".join(lines) + "\n"
