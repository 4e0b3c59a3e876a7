"""Every policy on the paper's five simulations: the table of "What was tried" in docs/policies.md.

The default policy's rows under θ¹ of the two models are computed (see ``exact_two.py``): what
simulation says of them is mostly luck. All else is mean regret over 4,000 runs.

Run by hand, ``python benchmarks/tuning.py [RUNS]``; 4,000 runs of everyone take long.
"""

from __future__ import annotations

import math
import sys

from exact_two import growth, mean_regret

from fpbandits.leaderboard import HORIZON, contests, play
from fpbandits.policies import POLICIES, Optimist, Policy

SETTINGS = ((0, 0), (0.05, 0), (0.1, 0), (0, 0.7), (0.05, 0.7), (0.1, 0.7), (0.1, 1.2))
"""δ and b."""

OTHERS = (
    "fp-llr",
    "ata",
    "ossb",
    "thompson-theta",
    "ucb-s",
    "ucb-c",
    "imed",
    "thompson",
)


def exactly() -> None:
    """Print the default policy's mean regret under θ¹ of the two models, for each setting."""
    print("two θ¹, exactly, at T = 1e5, 1e6, 1e12 and for ever:")
    for delta, offset in SETTINGS:
        values = [mean_regret(horizon, delta, offset) for horizon in (1e5, 1e6, 1e12, math.inf)]
        more = "" if delta else f", + {growth(offset):.4f} per unit of ln T"
        text = "  ".join(f"{value:.4f}" for value in values)
        print(f"  {1 + delta:g} ln t + {offset:g}: {text}{more}", flush=True)


def simulated(runs: int) -> None:
    """Print mean regret and its standard error, in all five simulations."""
    tuned: dict[str, Policy] = {
        f"{1 + delta:g} ln t + {offset:g}": Optimist(delta=delta, offset=offset)
        for delta, offset in SETTINGS
    }
    others = {word: POLICIES[word]() for word in OTHERS}
    board = contests("paper")
    print(f"T = {HORIZON:,}, {runs:,} runs: {', '.join(contest.name for contest in board)}")
    for name, policy in (tuned | others).items():
        standings = play(runs=runs, policies={name: policy}, among=board).standings[name]
        cells = [standings[contest.name] for contest in board]
        text = "  ".join(f"{cell.mean:7.2f} ± {cell.standard_error:5.2f}" for cell in cells)
        print(f"  {name:16} {text}", flush=True)
    lower = [contest.lower_bound * math.log(HORIZON) for contest in board]
    print("  Theorem 2 · ln T", "  ".join(f"{value:15.2f}" for value in lower))


if __name__ == "__main__":
    exactly()
    simulated(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
