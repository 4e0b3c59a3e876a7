"""How many units a control group needs: the interval of `report`, by units and share.

Customers of the README's shop come 20 times each. The policy's get the best price of their kind,
those of the control group 9 EUR. Printed is what is added to and taken from the difference, in EUR
per decision, at the first look after all have come.

    python benchmarks/control_size.py
"""

from __future__ import annotations

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.service.comparison import error_at, half_width, looks

CHANCES = np.array([[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]])
PRICES = np.array([9.0, 12.0, 15.0])
VISITS, LARGEST = 20, 15.0


def group(random: np.random.Generator, prices: Floats, units: int) -> tuple[Floats, Floats]:
    """Return decisions and sums of rewards of units; ``prices`` has the index for each kind."""
    kinds = random.integers(3, size=units)
    arms = prices[kinds]
    sums = random.binomial(VISITS, CHANCES[kinds, arms]) * PRICES[arms]
    return np.full(units, float(VISITS)), sums / LARGEST


def main() -> None:
    """Print a table."""
    shares = (0.1, 0.2, 0.5)
    pays = CHANCES * PRICES
    gain = pays.max(axis=1).mean() - pays.mean(axis=0)[0]
    print(f"EUR per decision, {VISITS} decisions per unit; the policy gains {gain:.2f}")
    print("  units" + "".join(f"{share:>10.0%}" for share in shares) + "  in the control group")
    for units in (300, 1000, 3000, 10_000, 30_000, 100_000):
        look = next(n for n, rewards in enumerate(looks(), 1) if rewards >= units * VISITS)
        widths = []
        for share in shares:
            random, control = np.random.default_rng(0), round(units * share)
            groups = [
                group(random, pays.argmax(axis=1), units - control),
                group(random, np.zeros(3, int), control),
            ]
            widths.append(LARGEST * half_width(groups, error_at(look, 0.05)))
        print(f"{units:>7,}" + "".join(f"{width:>10.2f}" for width in widths))


if __name__ == "__main__":
    main()
