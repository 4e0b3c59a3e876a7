"""The application with all commands, exit codes and error messages."""

from __future__ import annotations

import sys
from io import StringIO, TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from fpbandits import __version__
from fpbandits.cli import (
    analyze,
    evaluate,
    fit,
    forecast,
    lab,
    leaderboard,
    migrate,
    policies,
    report,
    reproduce,
    serve,
    simulate,
    sweep,
    upgrade,
    verify,
)
from fpbandits.errors import Error, nearest

COMMANDS = {
    command.__name__: command
    for command in (
        analyze.analyze,
        forecast.forecast,
        simulate.simulate,
        sweep.sweep,
        reproduce.reproduce,
        leaderboard.leaderboard,
        fit.fit,
        evaluate.evaluate,
        serve.serve,
        serve.token,
        verify.verify,
        verify.export,
        report.report,
        migrate.migrate,
        upgrade.upgrade,
        upgrade.adopt,
        lab.lab,
        policies.policies,
    )
}
_RENAMED = {
    "--true": "--truth",
    "--true-means": "--truth-means",
    "--step": "--no-leap",
    "--exact": "--worst-case",
    "--out": "--save",
}
"""Options of earlier versions, and their new names."""

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
for _command in COMMANDS.values():
    app.command()(_command)


def _show_version(wanted: bool) -> None:
    """Print the version and exit, if ``--version`` was given."""
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


def run(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit.

    The exit code is 0 for success, 2 for an error, which is printed in one line, 130 for Ctrl-C,
    and 1 if the output cannot be written (a full disk, a closed pipe).
    """
    words = sys.argv[1:] if arguments is None else arguments
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            setattr(sys, name, StringIO())
        elif isinstance(stream, TextIOWrapper):
            # Characters that the terminal lacks are printed as question marks.
            stream.reconfigure(errors="replace")
    try:
        # Typer returns an exit code if it ends the command itself: --help, or Ctrl-C.
        code = app(words or ["--help"], prog_name="fpbandits", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        _fail(2, _with_choices(error))
    except Error as error:
        _fail(2, str(error))
    except OSError as error:
        # The rest of the buffer would raise again at the exit of Python.
        sys.stdout = StringIO()
        _fail(1, f"the output could not be written ({error.strerror})")
    sys.exit(code if isinstance(code, int) else 0)


def _with_choices(error: Any) -> str:
    """Return Typer's message, with the new name or the known ones of an unknown word."""
    said: str = error.message
    if said.startswith("No such command") and "'replay'" in said:
        return "No such command 'replay': it is now verify"
    if said.startswith("No such command") and "Did you mean" not in error.format_message():
        return f"{said} Known are {', '.join(error.ctx.command.list_commands(error.ctx))}."
    if not said.startswith("No such option") or error.ctx is None:
        return str(error.format_message())
    parameters = error.ctx.command.get_params(error.ctx)
    options = [option for parameter in parameters for option in parameter.opts]
    known = [option for option in options if option.startswith("--")]
    new = _RENAMED.get(error.option_name)
    if new in known:
        return f"{said}: it is now {new}"
    meant = "".join(f"did you mean {near}? " for near in nearest(error.option_name, known, 1))
    return f"{said}: {meant}{'K' if meant else 'k'}nown are {', '.join(known)}"


def _fail(code: int, message: str) -> NoReturn:
    """Print an error in one line, and exit."""
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(code)
