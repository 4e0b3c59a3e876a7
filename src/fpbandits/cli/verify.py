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

    with closing(open_store(store)) as opened, counting("events") as progress:
        found = verify(opened, experiment, progress)
    if json:
        print_json({**vars(found), "as_logged": not found.differences})
    elif found.differences:
        for line in found.shown:
            sys.stdout.write(f"{line}\n")
        more = found.differences - len(found.shown)
        sys.stdout.write(f"… and {more:,} more\n" if more else "")
        sys.stdout.write(
            f"{counted(found.decisions, 'decision')}, {counted(found.differences, 'difference')}\n"
        )
    elif found.unchecked:
        checked = f"{found.decisions - found.unchecked:,} as logged"
        other = f"{found.unchecked:,} of other revisions not checked"
        sys.stdout.write(f"{counted(found.decisions, 'decision')}, {checked}, {other}\n")
    else:
        sys.stdout.write(f"{counted(found.decisions, 'decision')}, all as logged\n")
    if found.differences:
        raise typer.Exit(1)


def export(
    store: StoreName,
    file: Annotated[Path, typer.Argument(help="A .parquet or .csv file.")],
    experiment: Annotated[str, typer.Option(metavar="NAME", help="The experiment.")],
    json: Json = False,
) -> None:
    """Write a service's log as a file that fit reads.

    A row per reward that counts: unit, arm, context, reward, propensity, among, time, told,
    decision, key, inherited.
    """
    from fpbandits.cli.output import print_json
    from fpbandits.core.storage import shown
    from fpbandits.errors import counted
    from fpbandits.service.export import export
    from fpbandits.service.store import open_store

    with closing(open_store(store)) as opened, counting("rewards") as progress:
        found = export(opened, experiment, file, progress)
    inherited = f", {found.inherited:,} of them inherited," if found.inherited else ""
    sys.stderr.write(f"wrote {counted(found.counted, 'reward')}{inherited} to {shown(file)}\n")
    if found.blocked:
        behind = f"behind {counted(found.pending, 'pending decision')} do not count yet"
        sys.stderr.write(f"{counted(found.blocked, 'reward')} {behind}, and are left out\n")
    if json:
        print_json(vars(found))


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Show a running count on a terminal."""
    with saying() as say:
        yield lambda count: say(f"{count:,} {what}")


@contextmanager
def saying() -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is done so far."""
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from fpbandits.cli.output import new_console

    console = new_console(stderr=True)
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=None)
        yield lambda words: bar.update(task, description=words)
