"""What is printed for machines and for people."""

from __future__ import annotations

import json

import pytest
from rich.console import Group
from rich.table import Column, Table

from fpbandits.cli.output import new_console, print_result, print_table

LONG = "x" * 70


def made(*, no_wrap: bool) -> Table:
    table = Table(Column("a", no_wrap=no_wrap), Column("b", no_wrap=no_wrap))
    table.add_row(LONG, LONG)
    return table


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


@pytest.mark.parametrize("grouped", [True, False])
def test_cells_that_are_never_wrapped_are_whole(
    capsys: pytest.CaptureFixture[str], grouped: bool
) -> None:
    table = made(no_wrap=True)
    print_table(Group("caption", table) if grouped else table)
    assert capsys.readouterr().out.count(LONG) == 2


def test_other_tables_are_as_wide_as_the_terminal_or_the_least(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for least, width in ((40, 60), (75, 75)):
        print_table(made(no_wrap=False), least)
        assert max(map(len, capsys.readouterr().out.splitlines())) == width


def test_json_is_one_line_and_makes_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(True, lambda: {"a": [1, 2.5]}, lambda: pytest.fail("no table is asked for"))
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"a": [1, 2.5]}
    print_result(False, lambda: pytest.fail("no JSON is asked for"), lambda: "words")
    assert capsys.readouterr().out == "words\n"


@pytest.mark.parametrize(
    ("columns", "width"), [("0", 80), ("1", 1), ("39", 39), ("40", 40), ("100", 100)]
)
def test_widths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    """Without a least width, a table is at least 40 wide."""
    monkeypatch.setenv("COLUMNS", columns)
    for stderr in (False, True):
        console = new_console(stderr=stderr)
        assert (console.width, console.stderr) == (width, stderr)
    assert not new_console().stderr
    for show in (print_table, lambda table: print_result(False, dict, lambda: table)):
        show(made(no_wrap=False))
        assert max(map(len, capsys.readouterr().out.splitlines())) == max(40, width)
