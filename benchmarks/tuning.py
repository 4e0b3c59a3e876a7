"""Every policy on the paper's five simulations: tables of docs/optimist.md.

What frugal and optimist lose under θ¹ of the two models is computed (see ``exact_two.py``): what
simulation says of it is mostly luck. All else is mean regret over 4,000 runs.

Run by hand, ``python benchmarks/tuning.py [RUNS] [POLICY …]``; 4,000 runs of everyone take long.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from exact_two import growth, mean_regret
from scipy.special import rel_entr

from fpbandits.leaderboard import HORIZON, contests, play
from fpbandits.policies import POLICIES, Frugal, Optimist, Policy

SETTINGS = ((0, 0), (0.05, 0), (0.1, 0), (0, 0.7), (0.05, 0.7), (0.1, 0.7), (0.1, 1.2))
"""δ and b."""

OTHERS = (
    "frugal",
    "fp-llr",
    "ata",
    "ossb",
    "thompson-theta",
    "ucb-s",
    "ucb-c",
    "imed",
    "thompson",
)


def frugal_threshold() -> tuple[float, float]:
    """Return δ and b of the threshold on W that frugal's rule comes down to with these two models.

    While arm 2 leads, arm 1 is worth its cost if p(θ¹)·Δ₂(θ¹)·D/(1 + D)·κt^{1+δ} ≥ Δ₁(θ²), with
    D = D₁(θ²‖θ¹), where p(θ¹) is e^{−W}, but for a share of e^{−W}.
    """
    told = float(rel_entr([0.2, 0.8], [0.9, 0.1]).sum())
    return Frugal().delta, math.log(Frugal().kappa * 0.4 * told / (1 + told) / 0.3)


def exactly() -> None:
    """Print what frugal loses under θ¹ of the two models in the mean, and optimist by setting."""
    print("two θ¹, exactly, at T = 1e5, 1e6, 1e12 and for ever:")
    for delta, offset in (frugal_threshold(), *SETTINGS):
        values = [mean_regret(horizon, delta, offset) for horizon in (1e5, 1e6, 1e12, math.inf)]
        more = "" if delta else f", + {growth(offset):.4f} per unit of ln T"
        text = "  ".join(f"{value:.4f}" for value in values)
        print(f"  {1 + delta:g} ln t + {offset:.3g}: {text}{more}", flush=True)


def simulated(runs: int, asked: Sequence[str]) -> None:
    """Print mean regret and its standard error, in all five simulations."""
    tuned: dict[str, Policy] = {
        f"{1 + delta:g} ln t + {offset:g}": Optimist(delta=delta, offset=offset)
        for delta, offset in SETTINGS
    }
    others = {word: POLICIES[word]() for word in OTHERS}
    board = contests("paper")
    print(f"T = {HORIZON:,}, {runs:,} runs: {', '.join(contest.name for contest in board)}")
    for name, policy in ({word: POLICIES[word]() for word in asked} or tuned | others).items():
        played = play(runs=runs, policies={name: policy}, among=board, floors=False)
        standings = played.standings[name]
        cells = [standings[contest.name] for contest in board]
        text = "  ".join(f"{cell.mean:7.2f} ± {cell.standard_error:5.2f}" for cell in cells)
        print(f"  {name:16} {text}", flush=True)
    lower = [contest.lower_bound * math.log(HORIZON) for contest in board]
    print("  Theorem 2 · ln T", "  ".join(f"{value:15.2f}" for value in lower))


if __name__ == "__main__":
    exactly()
    simulated(int(sys.argv[1]) if len(sys.argv) > 1 else 4000, sys.argv[2:])
