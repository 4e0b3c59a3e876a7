"""How much memory a process holds while its work goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_STATUS = Path("/proc/self/statm")

measured = pytest.mark.skipif(not _STATUS.exists(), reason="resident memory is read from /proc")
"""Marks a test that asks for resident memory."""

_LOOP = f"""
import resource
from pathlib import Path
for number in {{numbers}}:
    work(number)
    print(int(Path("{_STATUS}").read_text().split()[1]) * resource.getpagesize() / 2**20)
"""


def resident(program: str, *numbers: int) -> list[float]:
    """Return MiB held by a new process after each of several calls of the program's ``work``."""
    done = subprocess.run(
        [sys.executable, "-c", program + _LOOP.format(numbers=numbers)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(line) for line in done.stdout.split()]
