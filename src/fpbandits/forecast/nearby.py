"""Truths near the models: what a policy loses if the models are somewhat wrong.

Every mean of a model is moved by up to some fraction of the rewards' range, uniformly at random.
Normal rewards have no range; there it is a fraction of two deviations.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.streams import TRUTH, random_stream
from fpbandits.engine.policy import Policy
from fpbandits.families.beta import Beta
from fpbandits.families.gaussian import Gaussian
from fpbandits.families.two_point import TwoPoint
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.spec import RunSpec

_DRAWS = 4
"""Truths that are drawn near each model."""
_MOST_MODELS = 8
"""Models near which truths are drawn: the likeliest."""


def regret_nearby(
    problem: Problem,
    policies: dict[str, tuple[Policy, int]],
    spec: RunSpec,
    sizes: list[float],
    chosen: list[int],
    **how: Any,
) -> dict[str, Floats]:
    """Return the mean regret of each policy, [size, model], near each of the chosen models.

    ``policies`` holds each policy with how many runs it plays near a model.
    """
    shape = len(sizes), len(chosen), _DRAWS
    cells = {}
    for number, (size, model, _) in enumerate(np.ndindex(shape)):
        random = random_stream(spec.seed, number, TRUTH)
        means = move_means(problem, chosen[model], sizes[size], random)
        for name, (policy, runs) in policies.items():
            near = replace(spec, truth=means, runs=max(1, runs // _DRAWS), times=(spec.horizon,))
            cells[f"{name} {number}"] = make_cell(problem, policy, near)
    played = play_cells(cells, **how)
    return {
        name: np.array(
            [
                result.final_regret(result.policy).mean()
                for result in (played[f"{name} {number}"] for number in range(math.prod(shape)))
            ]
        )
        .reshape(shape)
        .mean(axis=2)
        for name in policies
    }


def likeliest(problem: Problem, truth: str | None) -> list[int]:
    """Return the models near which truths are drawn: the truth, or the likeliest few."""
    if truth is not None:
        return [problem.index(truth)]
    prior = np.array(problem.prior or np.ones(len(problem.models)))
    most = min(_MOST_MODELS, np.count_nonzero(prior))
    return sorted(np.argsort(-prior, kind="stable")[:most].tolist())


def move_means(problem: Problem, model: int, by: float, random: np.random.Generator) -> list[Any]:
    """Return the means of a model, each moved by up to ``by`` on [0, 1], in the user's units."""
    rewards = problem.rewards
    means = rewards.means[model] + rewards.width * random.uniform(-by, by, problem.pairs)
    if isinstance(rewards, TwoPoint):
        means = np.clip(means, np.minimum(0, rewards.value), np.maximum(0, rewards.value))
    elif not isinstance(rewards, Gaussian):
        # Beta rewards have no mean at an end of the range.
        spare = 0.001 * rewards.width if isinstance(rewards, Beta) else 0.0
        means = np.clip(means, rewards.range[0] + spare, rewards.range[1] - spare)
    by_context: list[Any] = means.reshape(problem.means.shape[1:]).tolist()
    return by_context
