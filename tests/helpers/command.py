"""The command line, called by tests."""

from __future__ import annotations

import sys

import pytest

from fpbandits.cli import main

COMMAND = [sys.executable, "-c", "from fpbandits.cli import main; main()"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors of a command."""
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    output = capsys.readouterr()
    return int(str(caught.value.code)), output.out, output.err


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line with which a command is refused."""
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    return err
