"""The application with all commands, exit codes and error messages."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from fpbandits import __version__
from fpbandits.errors import Error, nearest

_NAMES = """
analyze forecast simulate sweep reproduce leaderboard fit evaluate serve token verify export report
migrate upgrade adopt lab policies
"""
"""All commands, in the order of the help."""

_MODULES = {"token": "serve", "export": "verify", "adopt": "upgrade"}
"""The modules of commands that have none of their own."""

COMMANDS = {
    name: getattr(import_module(f"fpbandits.cli.{_MODULES.get(name, name)}"), name)
    for name in _NAMES.split()
}
"""The function of each command, by its name."""

_RENAMED = {
    "replay": "verify",
    "--true": "--truth",
    "--true-means": "--truth-means",
    "--step": "--no-leap",
    "--exact": "--worst-case",
    "--out": "--save",
}
"""Commands and options of earlier versions, and their new names."""


class _Commands(TyperGroup):
    """All commands; the error for an unknown one says its new name, or the names that exist."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, as Typer expects it."""
        name = args[0]
        # While a shell completes a line, an unknown command is no error.
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        reason = f"No such command {name!r}"
        if name in _RENAMED:
            raise TyperException(f"{reason}: it is now {_RENAMED[name]}")
        near = get_close_matches(name, COMMANDS)
        if near:
            raise TyperException(f"{reason}. Did you mean {', '.join(map(repr, near))}?")
        raise TyperException(f"{reason}. Known are {', '.join(COMMANDS)}.")


app = typer.Typer(cls=_Commands, rich_markup_mode=None, pretty_exceptions_enable=False)
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
        # Typer returns an exit code if it ends the command itself (0 for --help, 130 for Ctrl-C),
        # otherwise what the command returns, which is None.
        code = app(words or ["--help"], prog_name="fpbandits", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        _fail(2, _message(error))
    except Error as error:
        _fail(2, str(error))
    except OSError as error:
        # Only writing the output gets here: where a file fails, commands raise a StorageError.
        # The rest of the buffer would raise again at the exit of Python.
        sys.stdout = StringIO()
        _fail(1, f"the output could not be written ({error.strerror})")
    sys.exit(code if isinstance(code, int) else 0)


def _message(error: Any) -> str:
    """Return Typer's message; for an unknown option, with its new name or the names that exist."""
    # Typer's class of errors for unknown options is private; no other has possibilities.
    if not hasattr(error, "possibilities"):
        return str(error.format_message())
    parameters = error.ctx.command.get_params(error.ctx)
    options = [option for parameter in parameters for option in parameter.opts]
    known = [option for option in options if option.startswith("--")]
    new = _RENAMED.get(error.option_name)
    if new in known:
        return f"{error.message}: it is now {new}"
    near = nearest(error.option_name, known, 1)
    if near:
        return f"{error.message}: did you mean {near[0]}? Known are {', '.join(known)}"
    return f"{error.message}: known are {', '.join(known)}"


def _fail(code: int, message: str) -> NoReturn:
    """Print an error in one line, and exit."""
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(code)
