"""The command line: ``fpbandits analyze``.

Commands turn words into calls of the library and results into text. Whatever the caller did wrong
ends in `main`, as one line on standard error and exit code 2. Heavy imports stand inside the
commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from fpbandits import __version__
from fpbandits.errors import InputError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit: 0 for success, 2 for bad input, 130 for Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(words or ["--help"], prog_name="fpbandits", standalone_mode=False)
    except TyperException as error:
        _refuse(error.format_message())
    except InputError as error:
        _refuse(str(error))
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> None:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fpbandits {__version__}")
        raise typer.Exit


@app.callback()
def fpbandits(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Decide when you know the candidates.

    Bandits whose unknown environment is one of a finite set of known models.

    A PROBLEM is a .toml or .csv file, or a built-in one: paper:two, paper:permutations, paper:grid.
    """


@app.command()
def analyze(
    problem: Annotated[str, typer.Argument(help="A .toml or .csv file, or a built-in name.")],
    true: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The true parameter.  [default: each in turn]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the means and who is confused, as .png or .svg."),
    ] = None,
) -> None:
    """Say what a set of models allows: what is learned for free, and what must cost."""
    from fpbandits.files import load_problem
    from fpbandits.theory.analysis import analyze

    if plot is not None:
        from fpbandits.report.plots import check_figure_path, save_figure, structure_figure

        check_figure_path(plot)
    loaded = load_problem(problem)
    if plot is not None:
        save_figure(structure_figure(loaded), plot)
    analysis = analyze(loaded, true=true, progress=_progress)
    if json:
        from json import dumps

        sys.stdout.write(dumps(analysis.as_dict(), allow_nan=False) + "\n")
    else:
        from rich.console import Console

        from fpbandits.report.tables import analysis_table

        Console(soft_wrap=False).print(analysis_table(analysis, loaded))
    if plot is not None:
        sys.stderr.write(f"wrote {plot}\n")
    sys.stdout.flush()


def _progress(cases: Iterable[int]) -> Iterator[int]:
    """Show a bar on a terminal; it vanishes when done and never mixes with the output."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return iter(
        track(
            cases,
            description="analyzing",
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    )
