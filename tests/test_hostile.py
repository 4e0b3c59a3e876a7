"""Whatever people give, the answer is a result or one of our own errors, never a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fpbandits


def check(calls: int, folder: Path, *words: str) -> None:
    """Make so many calls in a process of its own, which an invalid pointer would end."""
    program = Path(__file__).parent / "helpers" / "hostile.py"
    source = Path(fpbandits.__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", program, str(calls), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
    )
    last = folder / "last"
    doing = last.read_text() if last.exists() else "nothing yet"
    assert ran.returncode == 0, f"{ran.stderr[-2000:]}\nwhile: {doing}"
    report = json.loads(ran.stdout)
    assert report["failures"] == {}
    outcomes = report["outcomes"]
    assert sum(outcomes.values()) > 0.9 * calls
    # Calls that were all refused would test the first check alone.
    assert outcomes["done"] > 0.1 * calls


def test_hostile_calls(tmp_path: Path) -> None:
    check(1_500, tmp_path)


@pytest.mark.nightly
def test_many_hostile_calls(tmp_path: Path) -> None:
    check(25_000, tmp_path, "--all")
