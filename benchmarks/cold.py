"""The first result on a machine that has compiled nothing, and how long it takes.

``python benchmarks/cold.py [PYTHON …]`` measures this version and those of other interpreters, in
turn, so that versions can be compared side by side. Each step is a process of its own. CPU seconds,
the best of `ROUNDS`; "kept" is the same again, with the machine code that was kept.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3

PRICING = """
name = "pricing"
arms = ["9 EUR", "12 EUR", "15 EUR"]
value = [9, 12, 15]
true = "loyal"
[parameters]
loyal   = [0.9, 0.8, 0.7 ]
regular = [0.6, 0.5, 0.3 ]
thrifty = [0.5, 0.2, 0.05]
"""
"""In the words of 0.6.0, which all versions read."""

ASK = "import fpbandits; print(fpbandits.Agent('paper:two').ask())"
STEPS = {
    "an agent's first decision": ["-c", ASK],
    "simulate paper:two": ["-m", "fpbandits", "simulate", "paper:two"],
    "then simulate pricing.toml": ["-m", "fpbandits", "simulate", "pricing.toml"],
    "an agent, kept": ["-c", ASK],
    "simulate paper:two, kept": ["-m", "fpbandits", "simulate", "paper:two"],
    "simulate pricing.toml, kept": ["-m", "fpbandits", "simulate", "pricing.toml"],
    "--help": ["-m", "fpbandits", "--help"],
    "analyze paper:two": ["-m", "fpbandits", "analyze", "paper:two"],
}


def measured(python: str, folder: Path) -> list[float]:
    """Return the CPU seconds of each step, beginning with no machine code."""
    found = []
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as unused:
        for number, words in enumerate(STEPS.values()):
            # The first agent compiles for itself, if it does: simulating begins with nothing.
            cache = unused if number == 0 else kept
            settings = {**os.environ, "NUMBA_CACHE_DIR": cache}
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [python, *words], cwd=folder, env=settings, check=True, capture_output=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return found


def main() -> None:
    """Print a column per interpreter."""
    pythons = [sys.executable, *sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pricing.toml").write_text(PRICING)
        rounds = [[measured(python, folder) for python in pythons] for _ in range(ROUNDS)]
    version = "import fpbandits; print(fpbandits.__version__)"
    names = [
        subprocess.run(
            [python, "-c", version], check=True, capture_output=True, text=True
        ).stdout.strip()
        for python in pythons
    ]
    print(f"{'CPU seconds':30}", *(f"{name:>10}" for name in names))
    for number, step in enumerate(STEPS):
        best = [min(each[place][number] for each in rounds) for place in range(len(pythons))]
        print(f"{step:30}", *(f"{seconds:10.2f}" for seconds in best))


if __name__ == "__main__":
    main()
