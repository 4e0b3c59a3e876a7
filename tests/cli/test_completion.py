"""What a shell offers when a word is half typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = ("mine.toml", "other.csv", "notes.txt", "folder/inner.toml", ".hidden.toml")


def offered(tmp_path: Path, shell: str, words: list[str]) -> list[str]:
    """Ask as bash and zsh do."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("truth = 'a'\n[models]\na = [0.1]\nb = [0.2]\n")
    asked = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": " ".join(words)},
    }
    process = subprocess.run(
        [sys.executable, "-m", "fpbandits"],
        env={**os.environ, **asked[shell], "_FPBANDITS_COMPLETE": f"complete_{shell}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert process.stderr == ""
    if shell == "bash":
        return process.stdout.split()
    return [
        line.strip("\"'()") for line in process.stdout.strip().replace("((", "\n").split("\n")[1:]
    ]


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["analyze", "p"], ["paper:two", "paper:permutations", "paper:grid"]),
        (["leaderboard", "other.csv", "m"], ["mine.toml"]),
        (["leaderboard", "--group", "p"], ["paper", "practice"]),
        (["analyze", "o"], ["other.csv"]),
        (["analyze", "n"], []),
        (["analyze", "f"], ["folder/", "folder/inner.toml"]),
        (["analyze", "folder/"], ["folder/inner.toml"]),
        (["analyze", ".h"], [".hidden.toml"]),
        (["analyze", "nowhere/"], []),
        (["simulate", "mine.toml", "--truth", ""], ["all", "a", "b"]),
        (["simulate", "mine.toml", "--truth", "al"], ["all"]),
        (["simulate", "none.toml", "--truth", ""], []),
        (["forecast", "mine.toml", "--truth", ""], ["a", "b"]),
        (["forecast", "mine.toml", "--policy", "a"], ["ata"]),
        (["simulate", "mine.toml", "--policy", "a"], ["all", "ata"]),
        (["policies", "th"], ["thompson-theta", "thompson"]),
        (["policies", "a"], ["ata"]),
    ],
)
def test_bash_is_offered_what_fits(tmp_path: Path, words: list[str], answers: list[str]) -> None:
    assert offered(tmp_path, "bash", ["fpbandits", *words]) == answers


def test_zsh_is_offered_whole_words(tmp_path: Path) -> None:
    found = offered(tmp_path, "zsh", ["fpbandits", "analyze", "paper:t"])
    assert found == [r"paper\\:two"]


@pytest.mark.parametrize("words", ["", "x"])
def test_a_shell_that_asks_strangely_gets_no_traceback(words: str) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "fpbandits"],
        env={
            **os.environ,
            "_FPBANDITS_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": "0",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in process.stderr
