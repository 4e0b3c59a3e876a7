"""Run a benchmark and keep what it prints, with version, date and machine, in benchmarks/results.

``python benchmarks/keep.py NAME [ARGUMENT …]``. Where prose is marked `<!-- measured: NAME -->`,
``tests/test_docs.py`` looks for its numbers there.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import fpbandits

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"


def processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main(name: str, *words: str) -> None:
    """Run and record."""
    line = [sys.executable, str(FOLDER / f"{name}.py"), *words]
    printed = subprocess.check_output(line, text=True)
    head = [
        f"benchmarks/{name}.py {' '.join(words)}".strip(),
        f"fpbandits {fpbandits.__version__}, Python {platform.python_version()}",
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"{platform.system()}, {os.cpu_count()} cores, {processor()}",
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text("\n".join([*head, "", printed]))
    sys.stdout.write(printed)


if __name__ == "__main__":
    main(*sys.argv[1:])
