"""A group of commands, each of which is made when it is asked for.

Typer makes every command of a group at each start, from the types of all their options: a third of
what ``--help`` takes, and of what any command takes to begin. One at most is ever used; to list
them it is enough to know what their functions say of themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup


def group_of(functions: Mapping[str, Callable[..., None]]) -> type[TyperGroup]:
    """Return a class of groups with a command for each function, in this order."""

    class Lazily(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _Commands(functions)  # type: ignore[assignment]  # none is ever added

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, _summary(each)) for name, each in functions.items()])

    return Lazily


class _Commands(Mapping[str, Any]):
    """Commands by name."""

    def __init__(self, functions: Mapping[str, Callable[..., None]]) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command()(self._functions[name])
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def _summary(function: Callable[..., None]) -> str:
    """Return the first paragraph of what a function says of itself."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
