"""Late rewards: the default beside Thompson sampling on Θ, on practice sets without contexts.

Truths are drawn from the prior. Beside each mean regret stands what cannot be avoided, about: D
times what the best single arm loses per play under the prior, plus the default's regret with no
delay. Run by hand, ``python benchmarks/late.py [SEED ...]``.
"""

from __future__ import annotations

import sys

import numpy as np

from fpbandits import Problem, simulate
from fpbandits.problem.practice import practice
from fpbandits.simulation.delays import Delay

HORIZON, RUNS = 3_000, 200
DELAYS: dict[Delay, int] = {30: 30, 300: 300, "batch:300": 300}
"""With how many rewards are missing, at most."""


def mean_regret(problem: Problem, word: str, delay: Delay) -> tuple[float, float]:
    """Return the mean regret, and its standard error."""
    result = simulate(problem, word, truth="prior", horizon=HORIZON, runs=RUNS, delay=delay)
    regret = result.final_regret(word)
    return float(regret.mean()), float(regret.std() / np.sqrt(RUNS))


def main() -> None:
    """Print each set, and geometric means over all of them."""
    seeds = [int(word) for word in sys.argv[1:]] or [0, 1, 2]
    ratios: dict[Delay, list[tuple[float, float]]] = {delay: [] for delay in DELAYS}
    for seed in seeds:
        for problem in practice(seed):
            if problem.contexts:
                continue
            prior = np.array(problem.prior or np.ones(len(problem.models)))
            gaps = problem.means.max(axis=1, keepdims=True) - problem.means
            alone = float((prior @ gaps / prior.sum()).min())
            at_once, _ = mean_regret(problem, "frugal", 0)
            for delay, missing in DELAYS.items():
                mine, error = mean_regret(problem, "frugal", delay)
                theirs, _ = mean_regret(problem, "thompson-theta", delay)
                least = missing * alone + at_once
                ratios[delay].append((mine / theirs, mine / least))
                print(
                    f"{seed} {problem.name:18} {delay!s:>9}: {mine:8.2f} ± {error:6.2f} of "
                    f"{theirs:8.2f}: {mine / theirs:.3f}; of {least:8.2f}: {mine / least:.2f}",
                    flush=True,
                )
    for delay, found in ratios.items():
        sampling, least = np.exp(np.log(found).mean(axis=0))
        worst = max(ratio for ratio, _ in found)
        print(f"{delay!s:>9}: {sampling:.3f} of thompson-theta's, worst {worst:.2f}; {least:.2f}")


if __name__ == "__main__":
    main()
