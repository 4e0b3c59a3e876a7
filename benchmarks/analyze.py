"""How long `analyze` takes, and how its cost grows with Θ.

Run by ``make bench``. Each measurement has a process of its own, so that memory is its own too, and
stands beside the most it may take; a share above 1.00 is too slow or too large.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

Measured = tuple[float, float, dict[str, int]]
"""Seconds, gigabytes, and sizes worth knowing."""

LEVELS = np.linspace(0.1, 0.9, 7)


def seven_values(count: int, arms: int) -> Measured:
    """Analyze one case with means on 7 values, chosen for its many models to tell apart."""
    from fpbandits import Problem, analyze
    from fpbandits.theory.structure import Structure

    generator = np.random.default_rng(1)
    problem = Problem.bernoulli(generator.choice(LEVELS, (count, arms)))
    structure = Structure(problem)
    below_top = np.flatnonzero(problem.means.max(axis=1) < LEVELS[-1])[:200]
    truth = max(below_top.tolist(), key=lambda index: len(structure.must_explore(index)))
    start = time.perf_counter()
    case = analyze(problem, problem.models[truth]).cases[0]
    seconds = time.perf_counter() - start
    sizes = {"|B|": len(case.confusion_set), "constraints": len(case.theorem2.confusion_set)}
    return seconds, _peak_gigabytes(), sizes


def distinct_means(count: int, arms: int) -> Measured:
    """Analyze one case with all means distinct: every model has an α of its own."""
    from fpbandits import Problem, analyze

    problem = Problem.bernoulli(np.random.default_rng(1).random((count, arms)))
    start = time.perf_counter()
    case = analyze(problem, problem.models[0]).cases[0]
    return time.perf_counter() - start, _peak_gigabytes(), {"terms": len(case.theorem1.terms)}


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def command(*words: str) -> float:
    """Time the whole command, the best of three: start-up counts, a busy neighbour does not."""
    executable = Path(sys.executable).with_name("fpbandits")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([executable, *words], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def apart(function: str, *arguments: int) -> Measured:
    """Call one of the functions above in a new process."""
    words = [sys.executable, __file__, function, *map(str, arguments)]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    seconds, gigabytes, sizes = json.loads(output)
    return seconds, gigabytes, sizes


def row(what: str, value: float, unit: str, limit: float) -> None:
    """Print what was measured beside what it may be."""
    print(f"{what:58} {value:8.3f} {unit:2}  of {limit:5.2f}  share {value / limit:5.2f}")


def main() -> None:
    """Print all measurements."""
    row("fpbandits --help", command("--help"), "s", 0.35)
    row("fpbandits analyze paper:grid, 256 cases", command("analyze", "paper:grid"), "s", 5)
    seconds, gigabytes, sizes = apart("seven_values", 100_000, 32)
    row("one case, |Θ| = 100,000, 32 arms, 7 values", seconds, "s", 5)
    row("  memory of that process", gigabytes, "GB", 1)
    print(f"  {sizes}")

    print("\nHow one case grows with |Θ| (8 arms):")
    print(f"{'|Θ|':>9} {'7 values':>12} {'ratio':>6} {'all distinct':>14} {'ratio':>6}")
    before: tuple[float, float] | None = None
    for count in (1_000, 10_000, 100_000, 1_000_000):
        few, distinct = apart("seven_values", count, 8)[0], apart("distinct_means", count, 8)[0]
        ratios = (
            ("", "")
            if before is None
            else (f"{few / before[0]:.1f}", f"{distinct / before[1]:.1f}")
        )
        print(f"{count:9,} {few:10.3f} s {ratios[0]:>6} {distinct:12.3f} s {ratios[1]:>6}")
        before = few, distinct


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measured = {"seven_values": seven_values, "distinct_means": distinct_means}
        print(json.dumps(measured[sys.argv[1]](*map(int, sys.argv[2:]))))
    else:
        main()
