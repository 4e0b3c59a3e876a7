"""Runs of the paper's experiments that nobody played: plays by a formula, for what reads them."""

from __future__ import annotations

import numpy as np

from fpbandits.paper.experiments import EXPERIMENTS, Experiment, play_episodes
from fpbandits.paper.formulas import compute_numbers
from fpbandits.paper.material import Material, analyze_problems
from fpbandits.simulation.result import Result

RUNS = 20


def made_up_result(experiment: Experiment) -> Result:
    """Let each worse arm be played so often per unit of ln t, some arms and runs more than others.

    FP-UCB stops at T = 10⁵ under those truths of the paper where its regret is bounded.
    """
    spec = experiment.cell(RUNS, 0).spec
    problem, truth = experiment.setting.problem, experiment.setting.truth
    means, times = problem.means[problem.index(truth)], np.array(experiment.times)
    logs = np.log(times + 1.0)
    if experiment.policy.name == "fp-ucb" and experiment.setting.name in ("two-1", "permutations"):
        logs = np.minimum(logs, np.log(1e5))
    rate = {"fp-ucb": 9.0, "ucb1": 14.0, "thompson": 2.0, "frugal": 1.0}.get(
        experiment.policy.name, 0.5
    )
    runs = max(4, round(RUNS * experiment.share))
    arms = np.arange(len(means))
    pulls = np.floor(
        rate
        * logs[np.newaxis, :, np.newaxis]
        * (1 + 0.1 * np.cos(3.0 * np.arange(runs)))[:, np.newaxis, np.newaxis]
        * (1 + arms / 5)
    ).astype(np.int64)
    best = int(means.argmax())
    pulls[:, :, best] = 0
    pulls[:, :, best] = np.maximum(times - pulls.sum(axis=2), 0)
    return Result.of_policy(
        experiment.policy.name,
        pulls,
        np.full(runs, 7),
        problem=problem,
        spec=spec,
        fixed_means=means,
    )


def made_up_material() -> Material:
    """Return all that claims are judged by and figures drawn from, without a single play."""
    results = {name: made_up_result(experiment) for name, experiment in EXPERIMENTS.items()}
    return Material(results, analyze_problems(), compute_numbers(), play_episodes(1))
