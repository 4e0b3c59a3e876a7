"""``fpbandits verify`` and ``export``: check a service's log, and write it for `fit`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from fpbandits.cli.options import Json

StoreName = Annotated[
    str, typer.Argument(help="sqlite:///FILE, the FILE itself, or postgresql://…")
]


def verify(
    store: StoreName,
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this experiment.  [default: all]")
    ] = None,
    json: Json = False,
) -> None:
    """Check that a service decided as its log says.

    All decisions in the log are made again; the exit code is 1 if one differs.
    """
    from fpbandits.cli.output import print_json
    from fpbandits.errors import counted
    from fpbandits.service.store import open_store
    from fpbandits.service.verify import verify

    with closing(open_store(store)) as opened, show_count("events") as progress:
        outcome = verify(opened, experiment, progress)
    if json:
        print_json({**vars(outcome), "as_logged": not outcome.differences})
    elif outcome.differences:
        for line in outcome.shown:
            sys.stdout.write(f"{line}\n")
        more = outcome.differences - len(outcome.shown)
        sys.stdout.write(f"… and {more:,} more\n" if more else "")
        differences = counted(outcome.differences, "difference")
        sys.stdout.write(f"{counted(outcome.decisions, 'decision')}, {differences}\n")
    elif outcome.unchecked:
        checked = f"{outcome.decisions - outcome.unchecked:,} as logged"
        other = f"{outcome.unchecked:,} of other revisions not checked"
        sys.stdout.write(f"{counted(outcome.decisions, 'decision')}, {checked}, {other}\n")
    else:
        sys.stdout.write(f"{counted(outcome.decisions, 'decision')}, all as logged\n")
    for name in outcome.deleting:
        sys.stderr.write(f"{name} is left out: it is being deleted\n")
    if outcome.differences:
        raise typer.Exit(1)


def export(
    store: StoreName,
    file: Annotated[Path, typer.Argument(help="A .parquet or .csv file.")],
    experiment: Annotated[str, typer.Option(metavar="NAME", help="The experiment.")],
    json: Json = False,
) -> None:
    """Write a service's log as a file that fit reads.

    A row per reward that counts: unit, arm, context, reward, propensity, among, time, told,
    decision, key, inherited, and control if there is a control group.
    """
    from fpbandits.cli.output import print_json
    from fpbandits.core.storage import shown
    from fpbandits.errors import counted
    from fpbandits.service.export import export
    from fpbandits.service.store import open_store

    with closing(open_store(store)) as opened, show_count("rewards") as progress:
        exported = export(opened, experiment, file, progress)
    inherited = f", {exported.inherited:,} of them inherited," if exported.inherited else ""
    sys.stderr.write(f"wrote {counted(exported.counted, 'reward')}{inherited} to {shown(file)}\n")
    if exported.blocked:
        behind = f"behind {counted(exported.pending, 'pending decision')} do not count yet"
        sys.stderr.write(f"{counted(exported.blocked, 'reward')} {behind}, and are left out\n")
    if json:
        print_json(vars(exported))


@contextmanager
def show_count(things: str) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many ``things``, as "events", are done so far."""
    with show_status() as say:
        yield lambda count: say(f"{count:,} {things}")


@contextmanager
def show_status() -> Iterator[Callable[[str], None]]:
    """Show a line on a terminal that says what is done so far; elsewhere show nothing."""
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from fpbandits.cli.output import new_console

    console = new_console(stderr=True)
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=None)
        yield lambda words: bar.update(task, description=words)
