"""What is true in a run: a model of Θ, means outside it, drawn from the prior, or changing.

If the problem has transitions, the truth begins so and moves by them (`paths`).

A truth becomes a family of reward laws with a row for each of its *stages*, usually one: after
``starts[stage]`` plays the laws of this row hold. If the truth is drawn for each run, the rows are
those of Θ, and the seed and the run's number determine which one is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fpbandits.core.arrays import Ints
from fpbandits.core.checks import is_list, plain_list, plain_text, whole_number
from fpbandits.core.names import Names
from fpbandits.core.streams import TRUTH, random_stream
from fpbandits.errors import InputError, listed, wrong_type
from fpbandits.families import RewardFamily
from fpbandits.problem.problem import Problem
from fpbandits.simulation.paths import check_length

Truth = str | Sequence[float] | Mapping[int, str | Sequence[float]]
"""What is true: a model's name, means outside Θ, or either by the number of plays before it."""

PRIOR = "prior"
"""The name of a truth that is drawn from the prior for each run."""


def is_drawn(problem: Problem, truth: str) -> bool:
    """Tell whether the truth of each run is drawn from the prior."""
    return truth == PRIOR and PRIOR not in problem.models


def truths(problem: Problem, truth: str, seed: int, runs: range) -> Ints | None:
    """Return the index of the true model in each of these runs, if it is drawn for each run."""
    if not is_drawn(problem, truth):
        return None
    count = len(problem.models)
    weights = np.full(count, 1 / count) if problem.prior is None else np.array(problem.prior)
    upto = np.cumsum(weights)
    draws = [random_stream(seed, run, TRUTH).random() * upto[-1] for run in runs]
    return np.searchsorted(upto, draws, side="right")


def checked_truth(
    problem: Problem, truth: Truth | None, horizon: int
) -> tuple[tuple[int, ...], RewardFamily, str]:
    """Return when each stage begins, its laws row by row, and what to call the truth."""
    if problem.transitions is not None:
        if truth is not None and not isinstance(truth, str):
            raise InputError(
                f"the truth of {problem.name} moves by its transitions: name the model that it "
                f"begins with, or {PRIOR}"
            )
        check_length(problem, horizon)
        return (0,), problem.rewards, _single_truth(problem, truth)[1]
    if isinstance(truth, Mapping):
        return _stages(problem, truth, horizon)
    return (0,), *_single_truth(problem, truth)


def _single_truth(problem: Problem, truth: Any) -> tuple[RewardFamily, str]:
    """Return the laws of a truth that does not change, and what to call it.

    They have one row, or if it is drawn for each run, those of Θ.
    """
    if truth is None:
        if problem.truth is None and PRIOR in problem.models:
            raise InputError(
                f"{problem.name} does not say which model is true: name one of "
                f"{listed(problem.models)}"
            )
        truth = problem.truth or PRIOR
    pairs = np.arange(problem.pairs)
    if isinstance(truth, str):
        truth = plain_text(truth)
        if is_drawn(problem, truth):
            return problem.rewards, truth
        return problem.rewards.reordered(np.array([problem.index(truth)]), pairs), truth
    if not is_list(truth):
        raise wrong_type("truth", truth, "a model's name or a list of means")
    names = Names(problem.name, problem.arms, ("the truth",), None, problem.contexts)
    (means,) = names.flat([plain_list(truth)])
    return problem.rewards.of_means(means, names), ",".join(repr(float(mean)) for mean in means)


def _stages(
    problem: Problem, given: Mapping[Any, Any], horizon: int
) -> tuple[tuple[int, ...], RewardFamily, str]:
    """Return when each stage of a changing truth begins, its laws row by row, and a label."""
    stages: dict[int, Any] = {}
    for key, truth in given.items():
        try:
            start = int(key) if isinstance(key, str) else key
        except ValueError:
            start = key
        start = whole_number("the start of a truth", start, most=horizon - 1, why="before T")
        if start in stages:
            raise InputError(f"two truths begin after {start:,} plays")
        stages[start] = truth
    if 0 not in stages:
        raise InputError("no truth begins at 0: say what is true from the start, as {0: NAME, …}")
    starts = tuple(sorted(stages))
    single = [_single_truth(problem, stages[start]) for start in starts]
    for _, label in single:
        if is_drawn(problem, label):
            raise InputError("a truth drawn from the prior does not change within a run")
    labels = [f"from {start} {label}" for start, (_, label) in zip(starts, single, strict=True)]
    first, *rest = (laws for laws, _ in single)
    return starts, first.stacked(rest), ", ".join([single[0][1], *labels[1:]])
