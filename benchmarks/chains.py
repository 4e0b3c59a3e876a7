"""What knowing the chain is worth: the default with the chain, and with the best rate in hindsight.

Five kinds of chains (a cycle, birth and death, two blocks, absorbing, near-uniform), mean stays of
30, 180 and 1,000 plays, on models of `fpbandits.problem.practice`. The truth moves by the chain.
The default is told the chain, or only a ``change_rate``, of which the one that loses least is taken
afterwards. A ratio below 1: knowing the chain is worth something.

Run by hand: ``python benchmarks/chains.py [RUNS]``, by default 20 runs of 10,000 plays each.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from fpbandits import Problem, simulate
from fpbandits.core.arrays import Floats
from fpbandits.problem.practice import practice

HORIZON, STAYS = 10_000, (30, 180, 1_000)
SETS = ("tastes", "stars", "links", "share watched", "uniform means")
FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Rates that are tried, in changes per mean stay."""


def cycle(models: int) -> Floats:
    """Each model is followed by the next, and the last by the first."""
    moves: Floats = np.roll(np.eye(models), 1, axis=1)
    return moves


def birth_and_death(models: int) -> Floats:
    """To one of the two neighbours, equally likely; from the ends to the only one."""
    moves: Floats = np.eye(models, k=1) + np.eye(models, k=-1)
    moves /= moves.sum(axis=1, keepdims=True)
    return moves


def two_blocks(models: int) -> Floats:
    """Nineteen moves in twenty stay within the same half of the models."""
    half = np.arange(models) < models // 2
    same = half[:, np.newaxis] == half
    moves: Floats = np.where(same, 0.95 / np.maximum(same.sum(1, keepdims=True) - 1, 1), 0.0)
    moves += np.where(~same, 0.05 / (~same).sum(1, keepdims=True), 0.0)
    np.fill_diagonal(moves, 0.0)
    moves /= moves.sum(axis=1, keepdims=True)
    return moves


def absorbing(models: int) -> Floats:
    """To any other model; the last one is never left."""
    moves = (1 - np.eye(models)) / (models - 1)
    moves[-1] = np.eye(models)[-1]
    return moves


def near_uniform(models: int) -> Floats:
    """To any other model, some a few times as likely as others."""
    moves = np.random.default_rng(0).gamma(2.0, size=(models, models)) + 0.1
    np.fill_diagonal(moves, 0.0)
    moves /= moves.sum(axis=1, keepdims=True)
    return moves


CHAINS = (cycle, birth_and_death, two_blocks, absorbing, near_uniform)


def staying(moves: Floats, stay: float) -> list[list[float]]:
    """Return the chain that stays for so many plays on average before each move."""
    rows: list[list[float]] = (np.eye(len(moves)) * (1 - 1 / stay) + moves / stay).tolist()
    return rows


def measured(problem: Problem, stay: float, runs: int) -> tuple[float, float, float, float]:
    """Return the regret with the chain, with the best rate, that rate, and belief-greedily."""
    rates = [f"frugal:change_rate={factor / stay:.6g}" for factor in FACTORS]
    names = ["frugal", *rates, "belief-greedy"]
    how: dict[str, Any] = {"truth": "prior", "horizon": HORIZON, "runs": runs, "times": [HORIZON]}
    result = simulate(problem, names, **how)
    lost = {name: float(result.final_regret(name).mean()) for name in names}
    best = min(rates, key=lambda name: lost[name])
    return lost["frugal"], lost[best], float(best.partition("=")[2]), lost["belief-greedy"]


def main() -> None:
    """Print a row per chain and stay, and the geometric means of the ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    sets = {problem.name: problem for problem in practice(0)}
    everything: list[float] = []
    for chain in CHAINS:
        ratios = []
        for number, stay in enumerate(STAYS):
            for name in SETS[number::2]:
                models = sets[name]
                rows = staying(chain(len(models.models)), stay)
                problem = replace(models, transitions=tuple(map(tuple, rows)))
                known, rated, rate, greedy = measured(problem, stay, runs)
                ratios.append(known / rated)
                print(
                    f"{chain.__name__:16} stay {stay:5} {name:14} chain {known:9.2f}  best rate "
                    f"{rate:.2g}: {rated:9.2f}  ratio {known / rated:.3f}  belief-greedy "
                    f"{greedy:9.2f}",
                    flush=True,
                )
        everything += ratios
        print(f"{chain.__name__:16} geometric mean {np.exp(np.log(ratios).mean()):.3f}", flush=True)
    print(f"all chains       geometric mean {np.exp(np.log(everything).mean()):.3f}")


if __name__ == "__main__":
    main()
