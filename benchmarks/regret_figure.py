"""The README's figure: regret on the shop's problem, beside what no policy can avoid.

The truth of each run is drawn from the prior. ``python benchmarks/keep.py regret_figure`` draws
docs/figures/regret.png and records the numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fpbandits import Problem, simulate
from fpbandits.report.figures import (
    BLUE,
    GREEN,
    ORANGE,
    blank,
    footnote,
    own_style,
    save_figure,
)
from fpbandits.theory.floor import floor_curve

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "regret.png"
RUNS = 1_000
TIMES = [10, 30, 100, 300, 1_000, 3_000, 10_000]
SHOP = Problem.bernoulli(
    [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]],
    value=[9, 12, 15],
    arms=["9 EUR", "12 EUR", "15 EUR"],
    models=["loyal", "regular", "thrifty"],
)
LINES = {
    "thompson": ("Thompson sampling", ORANGE, "-"),
    "thompson-theta": ("Thompson sampling that knows the models", GREEN, "-"),
    "frugal": ("fpbandits' default", BLUE, "-"),
}


def main() -> None:
    """Play, print and draw."""
    result = simulate(
        SHOP, list(LINES), truth="prior", horizon=TIMES[-1], runs=RUNS, times=TIMES, seed=0
    )
    floor = [each.value for each in floor_curve(SHOP, TIMES)]
    print(f"mean regret in EUR, {RUNS:,} runs, seed 0\n{'plays':40}", *(f"{t:>8,}" for t in TIMES))
    with own_style():
        figure = blank(7, 4)
        axes = figure.subplots()
        for policy, (label, colour, style) in LINES.items():
            mean = result.mean_regret(policy)
            error = 1.96 * result.std_regret(policy) / np.sqrt(RUNS)
            print(f"{label:40}", *(f"{value:8.1f}" for value in mean))
            axes.plot(TIMES, mean, style, color=colour, label=label)
            axes.fill_between(TIMES, mean - error, mean + error, color=colour, alpha=0.2, lw=0)
        print(f"{'no policy can lose less':40}", *(f"{value:8.1f}" for value in floor))
        axes.plot(TIMES, floor, "--", color="0.3", label="the floor: no policy can lose less")
        axes.set(xscale="log", yscale="log", xlabel="plays", ylabel="regret in EUR")
        axes.legend(frameon=False)
        words = (
            f"Three prices, three models, each equally likely; {RUNS:,} runs, seed 0; bands: 95 %"
        )
        save_figure(footnote(figure, words), FIGURE)


if __name__ == "__main__":
    main()
