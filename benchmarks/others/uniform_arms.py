"""Two independent arms with uniform means, T = 60: beside the exact Bayes optimum.

P. Jacko's BinaryBandit computed it by dynamic programming over counts: 38.562343246635564 expected
successes, so a Bayes regret of 40 − 38.5623… = 1.4377, as the better of two uniform means is ⅔ on
average. Here the policies know 31 × 31 models, means (k + ½)/31, and the truth is drawn from the
continuous uniform distribution, so that it is hardly ever one of them.

Run by hand, ``python benchmarks/others/uniform_arms.py [TRUTHS]``: that many truths, a run of each.
"""

from __future__ import annotations

import sys

import numpy as np

from fpbandits import Problem
from fpbandits.core.arrays import Floats
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine.compiling import compiled, prepare
from fpbandits.engine.contract import Ahead, Prepared, Random, State, Workspace
from fpbandits.engine.policy import Policy
from fpbandits.policies import parse_policy

HORIZON, LEVELS = 60, 31
OPTIMUM = 2 / 3 * HORIZON - 38.562343246635564
_plan, _observe = Policy.plan, Policy.observe


@compiled
def play(
    prepared: Prepared, state: State, workspace: Workspace, means: Floats, random: Random
) -> int:
    """Play one run step by step; the pulls are in the state."""
    for t in range(60):
        _plan(prepared, state, workspace, Ahead(None, 1, t, None), random)
        arm = workspace.cycle[0]
        reward = 1.0 if random.random() < means[arm] else 0.0
        _observe(prepared, state, arm, 1, reward, random)
    return 0


def main() -> None:
    """Print the Bayes regret of each policy over the optimum's."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    models = np.stack(np.meshgrid(levels, levels, indexing="ij"), axis=-1).reshape(-1, 2)
    problem, truths = Problem.bernoulli(models), np.random.default_rng(0).random((count, 2))
    for word in (f"frugal:horizon={HORIZON}", "frugal", "thompson-theta", "thompson"):
        policy = parse_policy(word)
        prepared = prepare(policy, problem)
        workspace, lost = policy.workspace(prepared, 2), np.zeros(count)
        for run, means in enumerate(truths):
            state = policy.new_state(problem)
            play(prepared, state, workspace, means, random_stream(1, run, REWARDS))
            lost[run] = (means.max() - means) @ state.plays
        mean, error = lost.mean() / OPTIMUM, lost.std() / np.sqrt(count) / OPTIMUM
        print(f"{word:18} {lost.mean():.4f}: {mean:.3f} ± {error:.3f} of the optimum", flush=True)


if __name__ == "__main__":
    main()
