"""What wrong models cost: the figures of docs/doubt.md.

Every mean of a truth is off by 0.1, up or down: all 16 ways for four arms, each as often as the
others, also those that are a model of Θ after all. So means are over every such truth, and standard
errors come from the runs alone. Then one truth for which regret is linear, further and further.

Run by hand, ``python benchmarks/misfit.py``; it takes some minutes. Regret is in units of [0, 1].
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from fpbandits import load_problem, simulate
from fpbandits.core.arrays import Floats
from fpbandits.core.statistics import std_of
from fpbandits.policies import parse_policy

ERROR, MUCH = 0.1, 1500
POLICIES = {"optimist:false_alarm=0.001": 10, "optimist": 10, "imed": 1, "ucb1": 1}
"""How many times as many runs each policy gets: a few runs that lose much take many to be seen."""

SETS = (
    ("paper:permutations", (0.6, 0.4, 0.3, 0.2)),
    ("paper:grid", (0.6, 0.4, 0.3, 0.2)),
    ("paper:grid", (0.4, 0.3, 0.2, 0.2)),
)
LOCKED_IN = (0.5, 0.4, 0.3, 0.1)
"""The grid has models that say .4 of arm 2, as is true, and no more of arm 1, which has no .5."""


def losses(problem: str, truth: tuple[float, ...], word: str, horizon: float, runs: int) -> Floats:
    """Return the regret of every run, arms and models shuffled."""
    result = simulate(
        load_problem(problem),
        {word: parse_policy(word)},
        truth=list(truth),
        horizon=horizon,
        runs=runs,
        times=[horizon],
        shuffle=True,
    )
    return result.final_regret(word)


def off_by(error: float, base: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Return all truths whose means are off by ``error``, up or down."""
    signs = product((-error, error), repeat=len(base))
    return [tuple(np.round(np.add(base, sign), 9).tolist()) for sign in signs]


def everywhere(problem: str, base: tuple[float, ...], runs: int) -> None:
    """Print each policy's mean regret over all truths, and how many of its runs lose much."""
    truths = off_by(ERROR, base)
    inside = sum(
        bool((np.abs(load_problem(problem).means - t).max(axis=1) < 1e-6).any()) for t in truths
    )
    print(f"{problem} around {base}: {len(truths)} truths, {inside} of them models of Θ; T = 1e5")
    for word, times in POLICIES.items():
        parts = [losses(problem, truth, word, 1e5, times * runs) for truth in truths]
        mean = np.mean([part.mean() for part in parts])
        error = math.sqrt(sum(float(std_of(part)) ** 2 / part.size for part in parts)) / len(parts)
        much = np.mean([(part > MUCH).mean() for part in parts])
        worst = max(range(len(truths)), key=lambda k: parts[k].mean())
        print(
            f"  {word:16} {mean:7.1f} ± {error:4.1f}   {100 * much:5.2f} % lose over {MUCH:,}"
            f"   worst {truths[worst]}: {parts[worst].mean():.0f}"
        )


def locked_in(runs: int) -> None:
    """Print what a truth costs that a wrong model can hide for ever."""
    print(f"paper:grid, truth {LOCKED_IN}:")
    for word, times in POLICIES.items():
        for horizon in (1e5, 1e6, 1e7):
            final = losses("paper:grid", LOCKED_IN, word, horizon, times * runs)
            error = float(std_of(final)) / math.sqrt(final.size)
            # More than an average of a hundredth per play, to the end.
            stuck = (final > horizon / 100).mean()
            print(
                f"  {word:16} T = {horizon:.0e}: {final.mean():9.1f} ± {error:6.1f}, "
                f"{100 * stuck:.1f} % lose over T/100"
            )


if __name__ == "__main__":
    for problem, base in SETS:
        everywhere(problem, base, runs=100)
    locked_in(runs=400)
