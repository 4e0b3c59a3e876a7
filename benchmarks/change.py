"""What a truth that changes costs: the table of docs/changing.md.

Mean regret at T = 10^5 if the truth changes halfway, and if it does not; so many runs as are asked
for, 50 if nobody asks.
"""

from __future__ import annotations

import sys

from fpbandits import (
    FPUCB,
    Frugal,
    Optimist,
    Policy,
    Thompson,
    ThompsonTheta,
    load_problem,
    simulate,
)
from fpbandits.report.text import text_table

POLICIES: list[Policy] = [
    *(Frugal(change_rate=rate) for rate in (0, 1e-5, 1e-4, 1e-3)),
    *(Optimist(change_rate=rate) for rate in (0, 1e-5, 1e-4, 1e-3)),
    *(ThompsonTheta(change_rate=rate) for rate in (0, 1e-5, 1e-4, 1e-3)),
    FPUCB(),
    Thompson(),
]

CASES = [
    ("paper:two", "theta1", "theta2"),
    ("paper:two", "theta2", "theta1"),
    ("paper:permutations", "0.6,0.4,0.3,0.2", "0.2,0.3,0.6,0.4"),
]
TITLES = ["two, θ¹ → θ²", "two, θ² → θ¹", "24 permutations"]


def main() -> None:
    """Print a row per policy: two columns per case."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    columns: list[list[str]] = [["", *map(str, POLICIES)]]
    for (name, before, after), title in zip(CASES, TITLES, strict=True):
        for truth, head in (({0: before, 50_000: after}, title), (before, "no change")):
            result = simulate(
                load_problem(name), POLICIES, truth=truth, horizon=10**5, runs=runs, times=[10**5]
            )
            means = [result.final_regret(str(each)).mean() for each in POLICIES]
            columns.append([head, *(f"{mean:,.1f}" for mean in means)])
    rows = list(zip(*columns, strict=True))
    print(text_table(f"mean regret at T = 100,000, {runs} runs, seed 0", rows, text_columns=1))


if __name__ == "__main__":
    main()
