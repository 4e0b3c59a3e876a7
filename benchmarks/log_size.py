"""How large a log must be: types found, and what the fitted models are worth, by users and visits.

Logs are drawn from a known truth; every visit shows an arm at random and brings 0 or 1. A fit is
judged by what decides: each true type plays the best arm of the fitted type that is nearest to it,
as an agent does in the end. What this loses is relative to the best single arm for all: 0 is as
good as the true models, 1 as bad as no types.

    python benchmarks/log_size.py [LOGS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy.special import xlogy

from fpbandits import fit
from fpbandits.core.arrays import Floats

VISITS = (3, 6, 12, 24)
ROLES: Any = {"unit": "user", "arm": "arm", "reward": "reward"}
SHOP = np.array([[0.5, 0.2, 0.05], [0.6, 0.5, 0.3], [0.9, 0.8, 0.7]])

KINDS: dict[str, tuple[Callable[[Any], tuple[Floats, Floats]], Floats, tuple[int, ...]]] = {
    "the shop: 3 types like each other, 3 prices": (
        lambda random: (SHOP, np.array([0.5, 0.3, 0.2])),
        np.array([9.0, 12.0, 15.0]),
        (300, 1000, 3000),
    ),
    "tastes: 4 types, 8 arms, chances uniform": (
        lambda random: (random.uniform(0.05, 0.95, (4, 8)), random.dirichlet(np.full(4, 5.0))),
        np.ones(8),
        (300, 1000, 3000),
    ),
    "clicks: 4 types, 8 arms, chances of 0.16 on average": (
        lambda random: (random.beta(1.2, 6.0, (4, 8)), random.dirichlet(np.full(4, 5.0))),
        np.ones(8),
        (1000, 3000, 10_000),
    ),
}
"""How chances and shares are drawn, what a success of each arm is worth, and numbers of users."""


def draw_log(random: Any, chances: Floats, shares: Floats, users: int, visits: int) -> Any:
    """Return a log in which every user comes equally often."""
    user = np.repeat(np.arange(users), visits)
    arm = random.integers(chances.shape[1], size=users * visits)
    types = random.choice(len(shares), users, p=shares)
    reward = random.random(users * visits) < chances[types[user], arm]
    return {"user": user, "arm": arm, "reward": reward}


def remaining_loss(found: Floats, chances: Floats, shares: Floats, value: Floats) -> float:
    """Return what the nearest fitted types lose, relative to the best single arm."""
    p, q = chances[:, np.newaxis], found.clip(1e-6, 1 - 1e-6)
    divergence = (xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q))).sum(axis=2)
    played = (found * value).argmax(axis=1)[divergence.argmin(axis=1)]
    pays = chances * value
    best = shares @ pays.max(axis=1)
    lost = best - shares @ pays[np.arange(len(pays)), played]
    return float(lost / (best - (shares @ pays).max()))


def one(kind: str, users: int, visits: int, seed: int) -> tuple[bool, float]:
    """Fit one log; return whether it has as many types as the truth, and what is lost."""
    (truth, value, _), random = KINDS[kind], np.random.default_rng(seed)
    chances, shares = truth(random)
    log = draw_log(random, chances, shares, users, visits)
    found = fit(log, **ROLES, arms=[str(arm) for arm in range(len(value))])
    return found.types == len(chances), remaining_loss(found.problem.means, chances, shares, value)


def main(logs: int = 3) -> None:
    """Print a table for each kind of log."""
    print(f"types found in how many of {logs} logs; then what is lost, the mean over the logs")
    with ProcessPoolExecutor(logs) as pool:
        for kind, (_, _, numbers) in KINDS.items():
            print(f"\n{kind}\n{'users':>7}" + "".join(f"{visits:>12} visits" for visits in VISITS))
            for users in numbers:
                cells = []
                for visits in VISITS:
                    right, lost = zip(
                        *pool.map(partial(one, kind, users, visits), range(logs)), strict=True
                    )
                    cells.append(f"{sum(right)} of {logs}, {np.mean(lost):5.2f}")
                print(f"{users:>7,}" + "".join(f"{cell:>19}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
