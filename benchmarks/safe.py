"""What `frugal:false_alarm=0.001` protects from, and its price: figures of docs/wrong-models.md.

First the two examples in which a wrong model fits all that is played under it, to T = 10⁷, beside
IMED and, with a tenth of the runs, beside the same without the option.

Then practice sets (docs/practice.md) with the truth among the models, at T = 10⁵: mean regret with
the option over that without, ½ added to both, which is half the width of the range of rewards.
With more than five pairs of a context and an arm claims are trusted to the end, and both decide
alike but for false alarms: such sets are played with a tenth of the runs.

    python benchmarks/safe.py [--runs 400] [SEED ...]
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from fpbandits import IMED, Frugal, Policy, Problem, load_problem, simulate
from fpbandits.problem.practice import practice

SAFE = Frugal(false_alarm=0.001)
LOCKS = (
    ("two models, truth (.5, .6)", Problem.bernoulli([[0.5, 0.4], [0.3, 0.45]]), [0.5, 0.6]),
    ("256 models, truth (.5, .4, .3, .1)", load_problem("paper:grid"), [0.5, 0.4, 0.3, 0.1]),
)


def locked(runs: int) -> None:
    """Print regret where the truth is no model, and a model fits what is played under it."""
    policies: list[Policy] = [IMED(), Frugal(), SAFE]
    times = [10**4, 10**5, 10**6, 10**7]
    for title, problem, truth in LOCKS:
        print(f"{title}, {runs:,} runs: mean regret at T = 10^4, …, 10^7")
        for policy in policies:
            many = runs if policy != Frugal() else max(runs // 10, 2)
            result = simulate(
                problem, policy, truth=truth, horizon=10**7, times=times, runs=many, shuffle=True
            )
            regret = result.regret(str(policy))
            error = regret[:, -1].std(ddof=1) / math.sqrt(many)
            means = " ".join(f"{mean:9.4g}" for mean in regret.mean(axis=0))
            print(f"  {policy!s:14} {means}   ± {error:.3g}", flush=True)


def price(problem: Problem, runs: int, seed: int) -> tuple[float, float, float]:
    """Return mean regret without and with the option, and the ratio."""
    means = []
    for policy in (Frugal(), SAFE):
        result = simulate(
            problem,
            policy,
            truth="prior",
            horizon=10**5,
            times=[10**5],
            runs=runs,
            seed=seed,
            shuffle=True,
        )
        means.append(float(result.final_regret(str(policy)).mean()))
    half = problem.rewards.width / 2
    return means[0], means[1], (means[1] + half) / (means[0] + half)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="*")
    parser.add_argument("--runs", type=int, default=400, help="default: %(default)s")
    asked = parser.parse_args()
    locked(5 * asked.runs)
    logs = []
    for seed in asked.seeds:
        print(f"practice, seed {seed}: T = 10^5, {asked.runs:,} runs: without, with, ratio")
        for problem in practice(seed=seed):
            runs = asked.runs if problem.pairs <= 5 else max(asked.runs // 10, 1)
            without, with_it, ratio = price(problem, runs, seed)
            logs.append(math.log(ratio))
            size = f"{problem.pairs} pairs"
            print(
                f"  {problem.name:18} {size:9} {without:8.4g} {with_it:8.4g} {ratio:6.2f}",
                flush=True,
            )
    if logs:
        print(f"the price: {np.exp(np.mean(logs)):.3f} ×, geometric mean of {len(logs)} sets")


if __name__ == "__main__":
    main()
