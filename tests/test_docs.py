"""The commands of docs/logs.md, typed in one after the other, print what stands there."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import run

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "logs.md"


def commands() -> list[tuple[str, list[str]]]:
    """Return the commands of the page, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_every_command_prints_what_stands_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command, expected in commands():
        program, *words = shlex.split(command)
        if program == "fpbandits":
            code, out, _ = run(capsys, *words)
            assert code == 0
        elif program == "python":
            out = subprocess.check_output([sys.executable, ROOT / words[0], *words[1:]], text=True)
        else:
            out = subprocess.check_output([program, *words], text=True)
        assert [line.rstrip() for line in out.splitlines()] == expected, command
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried > 5) == (0, True)
    page = (tmp_path / "fit" / "report.html").read_text()
    assert "spring: 3 types of units" in page
