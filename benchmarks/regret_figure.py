"""The README's figure: regret on the shop's problem, beside what no policy can avoid.

The truth of each run is drawn from the prior. Thompson sampling without models is as one would
write it for a shop: a Beta posterior of the probability of a sale at each price, times the price.
(The policy ``thompson`` knows only the range of rewards, and loses more.)
``python benchmarks/keep.py regret_figure`` draws docs/figures/regret.png and records the numbers.
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
RUNS = 4_000
TIMES = [10, 30, 100, 300, 1_000, 3_000, 10_000]
SHOP = Problem.bernoulli(
    [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]],
    value=[9, 12, 15],
    arms=["9 EUR", "12 EUR", "15 EUR"],
    models=["loyal", "regular", "thrifty"],
)
POLICIES = {
    "thompson-theta": ("Thompson sampling that knows the models", GREEN),
    "frugal": ("fpbandits' default", BLUE),
}


def thompson() -> np.ndarray:
    """Return the regret of Thompson sampling without models, [run, time]."""
    random, runs, prices = np.random.default_rng(0), np.arange(RUNS), np.array([9.0, 12.0, 15.0])
    means = SHOP.means[random.integers(len(SHOP.models), size=RUNS)]
    sold, unsold = np.ones((2, RUNS, len(prices)))
    lost, regret = np.zeros(RUNS), np.zeros((RUNS, len(TIMES)))
    for play in range(1, TIMES[-1] + 1):
        arm = (random.beta(sold, unsold) * prices).argmax(axis=1)
        sale = random.random(RUNS) < means[runs, arm] / prices[arm]
        sold[runs, arm] += sale
        unsold[runs, arm] += ~sale
        lost += means.max(axis=1) - means[runs, arm]
        if play in TIMES:
            regret[:, TIMES.index(play)] = lost
    return regret


def main() -> None:
    """Play, print and draw."""
    result = simulate(
        SHOP, list(POLICIES), truth="prior", horizon=TIMES[-1], runs=RUNS, times=TIMES, seed=0
    )
    lines = {"Thompson sampling": (thompson(), ORANGE)}
    lines |= {label: (result.regret(name), colour) for name, (label, colour) in POLICIES.items()}
    gaps = SHOP.means.max(axis=1, keepdims=True) - SHOP.means
    best = int(gaps.mean(axis=0).argmin())
    always = f"always {SHOP.arms[best]}", gaps.mean(axis=0)[best] * np.array(TIMES)
    floor = [each.value for each in floor_curve(SHOP, TIMES)]
    print(f"mean regret in EUR, {RUNS:,} runs, seed 0\n{'plays':40}", *(f"{t:>8,}" for t in TIMES))
    with own_style():
        figure = blank(7, 4)
        axes = figure.subplots()
        print(f"{always[0]:40}", *(f"{value:8,.1f}" for value in always[1]))
        axes.plot(TIMES, always[1], ":", color="0.5", label=always[0])
        for label, (regret, colour) in lines.items():
            mean, error = regret.mean(axis=0), 1.96 * regret.std(axis=0) / np.sqrt(RUNS)
            print(f"{label:40}", *(f"{value:8.1f}" for value in mean))
            axes.plot(TIMES, mean, color=colour, label=label)
            axes.fill_between(TIMES, mean - error, mean + error, color=colour, alpha=0.2, lw=0)
        print(f"{'no policy can lose less':40}", *(f"{value:8.1f}" for value in floor))
        axes.plot(TIMES, floor, "--", color="0.3", label="the floor: no policy can lose less")
        axes.set(
            xscale="log", yscale="log", ylim=(2, 20_000), xlabel="plays", ylabel="regret in EUR"
        )
        axes.legend(frameon=False)
        words = f"Three models, each equally likely; {RUNS:,} runs, seed 0; bands: 95 % of the mean"
        save_figure(footnote(figure, words), FIGURE)


if __name__ == "__main__":
    main()
