"""Run a benchmark and keep what it prints, with version, date and machine, in benchmarks/results.

    python benchmarks/keep.py NAME [ARGUMENT …]

runs ``benchmarks/NAME.py``, `change` or `others/correlated`, and writes ``results/change.txt`` or
``results/correlated.txt``. Pages include such a file, or quote numbers from it below the line
``<!-- measured: change -->``; ``tests/test_docs.py`` looks them up. A block that is marked
``<!-- not on record: change -->`` waits for its benchmark to be run with this script.
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
    """Run and record. Of an argument that is a path, its last part is kept."""
    line = [sys.executable, str(FOLDER / f"{name}.py"), *words]
    printed = subprocess.check_output(line, text=True)
    shown = [Path(word).name for word in words]
    head = [
        " ".join([f"benchmarks/{name}.py", *shown]),
        f"fpbandits {fpbandits.__version__}, Python {platform.python_version()}",
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"{platform.system()}, {os.cpu_count()} cores, {processor()}",
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{Path(name).name}.txt").write_text("\n".join([*head, "", printed]))
    sys.stdout.write(printed)


if __name__ == "__main__":
    main(*sys.argv[1:])
