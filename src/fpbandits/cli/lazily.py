"""A group of commands, each of which is built when it is used.

Typer builds every command of a group at each start, from the types of all their options: a third of
the time of ``--help``, and of the start of any command. At most one is used; the list of commands
needs their docstrings only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup


def group_of(functions: Mapping[str, Callable[..., None]]) -> type[TyperGroup]:
    """Return a group class with a command for each function, in this order."""

    class Lazily(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = dict.fromkeys(functions)  # type: ignore[assignment]  # names only

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in functions:
                return None
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command()(functions[cmd_name])
            return typer.main.get_command(alone)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, _summary(each)) for name, each in functions.items()])

    return Lazily


def _summary(function: Callable[..., None]) -> str:
    """Return the first paragraph of a function's docstring."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
