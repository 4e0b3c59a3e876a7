"""Commands are made one at a time, and listed without being made."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from fpbandits.cli import lazily


def add(first: int, second: Annotated[int, typer.Option(help="what is added")] = 1) -> None:
    """Add
    two numbers.

    More of it.
    """
    typer.echo(first + second)


def say(word: str) -> None:
    """Say a word."""
    typer.echo(word)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which commands are made."""
    names: list[str] = []
    make = typer.main.get_command_from_info

    def noting(info: typer.models.CommandInfo, **settings: object) -> object:
        assert info.callback is not None
        names.append(info.callback.__name__)
        return make(info, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(typer.main, "get_command_from_info", noting)
    return names


def run(*words: str) -> str:
    app = typer.Typer(
        cls=lazily.group_of({"add": add, "say": say}), add_completion=False, rich_markup_mode=None
    )
    app.callback()(lambda: None)
    result = CliRunner().invoke(app, words)
    return result.output if result.exit_code == 0 else f"{result.exit_code}: {result.output}"


def test_the_list_makes_none(made: list[str]) -> None:
    listed = run("--help").split("Commands:\n")[1]
    assert listed == "  add  Add two numbers.\n  say  Say a word.\n"
    assert made == []


def test_one_is_made_to_be_run(made: list[str]) -> None:
    assert run("add", "2", "--second", "5") == "7\n"
    assert made == ["add"]


def test_its_help_is_its_own(made: list[str]) -> None:
    said = run("add", "--help")
    assert "More of it." in said
    assert "what is added" in said
    assert made == ["add"]


def test_an_unknown_one_is_told_by_names_alone(made: list[str]) -> None:
    said = run("sy")
    assert said.startswith("2: ")
    assert "Did you mean 'say'" in said
    assert made == []
