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


def main() -> None:
    """Print a row per policy: two columns per case."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    columns: list[list[float]] = []
    for name, before, after in CASES:
        for truth in ({0: before, 50_000: after}, before):
            result = simulate(
                load_problem(name), POLICIES, truth=truth, horizon=10**5, runs=runs, times=[10**5]
            )
            columns.append([float(result.final_regret(str(each)).mean()) for each in POLICIES])
    for row, policy in enumerate(POLICIES):
        cells = " | ".join(f"{column[row]:,.4g}" for column in columns)
        sys.stdout.write(f"| {policy} | {cells} |\n")


if __name__ == "__main__":
    main()
