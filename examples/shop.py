"""A shop's log, drawn from a known truth: spring.csv to learn from, summer.csv to look back on.

Three kinds of customers come some times each, and are asked 9, 12 or 15 EUR. The price is drawn: 12
EUR in six of ten visits, the others in two each. What is true is below, and `fit` does not know it.

    python examples/shop.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

PRICES = np.array([9, 12, 15])
CHANCES = np.array([0.2, 0.6, 0.2])
"""How likely each price was to be asked."""

SHARES = np.array([0.5, 0.3, 0.2])
"""Of thrifty, regular and loyal customers."""

BUYS = np.array([[0.5, 0.2, 0.05], [0.6, 0.5, 0.3], [0.9, 0.8, 0.7]])
"""The chance that each kind buys at each price: best are 9, 12 and 15 EUR."""


def write_log(path: Path, customers: int, visits: int, seed: int) -> None:
    """Write a row per visit, in the order of time."""
    random = np.random.default_rng(seed)
    kinds = random.choice(3, customers, p=SHARES)
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["customer", "price", "chance", "revenue"])
        for customer in random.integers(customers, size=customers * visits):
            price = random.choice(3, p=CHANCES)
            bought = random.random() < BUYS[kinds[customer], price]
            revenue = PRICES[price] * bought
            rows.writerow([f"{path.stem}-{customer}", PRICES[price], CHANCES[price], revenue])


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    write_log(folder / "spring.csv", 3000, 12, seed=1)
    write_log(folder / "summer.csv", 1000, 20, seed=2)
