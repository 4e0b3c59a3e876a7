"""`play`: simulate policies in contests, and rank them.

A contest with several truths is a cell for each, and they share the runs. If the truth is drawn
from the prior it is a single cell, and which truth a run had is drawn again here: it follows from
the seed and the run's number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import whole_number
from fpbandits.core.statistics import std_of
from fpbandits.engine.ready import refusal
from fpbandits.leaderboard.board import Leaderboard, Standing, WorstTruth
from fpbandits.leaderboard.contest import PRACTICE, Contest, contests
from fpbandits.policies import POLICIES, Policy
from fpbandits.policies.parsing import named_policies
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.delays import Delay
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.truths import is_drawn, truths
from fpbandits.theory.floor import LONGEST, MOST_MODELS, floor

RUNS, HORIZON = 100, 10**5
PRACTICE_RUNS, PRACTICE_HORIZON = 400, 2 * 10**4
"""The defaults if all contests are of the group ``practice``."""

SAFE = "frugal:false_alarm=0.001"
"""The default policy with its option for wrong models, which plays beside all others."""


def play(
    *,
    runs: float | None = None,
    horizon: float | None = None,
    seed: int = 0,
    delay: Delay = 0,
    policies: Mapping[str, Policy] | None = None,
    among: Sequence[Contest] | None = None,
    out: Path | None = None,
    **how: Any,
) -> Leaderboard:
    """Let policies, by default all of them, play contests, by default `contests()`.

    ``delay`` is as in `simulate`; ``out`` and ``how`` (workers, executor, progress) are as in
    `play_cells`. A policy that needs more information than a contest's models give is left out.
    """
    board = list(contests() if among is None else among)
    practical = all(contest.group == PRACTICE for contest in board)
    if runs is None:
        runs = PRACTICE_RUNS if practical else RUNS
    if horizon is None:
        horizon = PRACTICE_HORIZON if practical else HORIZON
    count = whole_number("runs", runs, least=2)
    spec = RunSpec(
        horizon=horizon, times=[horizon], runs=count, seed=seed, shuffle=True, delay=delay
    )
    chosen = named_policies(policies or (*POLICIES, SAFE), horizon)
    entries = [
        (contest, name, policy)
        for contest in board
        for name, policy in chosen.items()
        if not refusal(policy, contest.problem)
    ]
    cells = {
        _cell_name(contest, name, number): make_cell(contest.problem, policy, own)
        for contest, name, policy in entries
        for number, own in enumerate(_specs(contest, spec))
    }
    results = play_cells(cells, out=out, **how)
    standings: dict[str, dict[str, Standing]] = {name: {} for name in chosen}
    for contest, name, _ in entries:
        parts = [
            results[_cell_name(contest, name, number)] for number in range(len(contest.truths))
        ]
        lower = contest.lower_bound * math.log(spec.horizon)
        standings[name][contest.name] = _standing(parts, lower)
    least = {contest.name: _floor(contest, spec.horizon) for contest in board}
    floors = {name: value for name, value in least.items() if value is not None}
    return Leaderboard(board, standings, spec.horizon, spec.runs, spec.seed, floors)


def _floor(contest: Contest, horizon: int) -> float | None:
    """Return the least mean regret of any policy, where it is known and more than rounding."""
    problem = contest.problem
    names = [truth for truth in contest.truths if isinstance(truth, str)]
    if horizon > LONGEST or len(problem.models) > MOST_MODELS or not names:
        return None
    if sorted(names) == sorted(problem.models):  # each in turn
        problem = replace(problem, prior=None)
    elif not all(is_drawn(problem, name) for name in names):
        return None
    value = floor(problem, horizon).value
    return value if value > 1e-6 * problem.rewards.width else None


def _specs(contest: Contest, spec: RunSpec) -> list[RunSpec]:
    """Return a spec for each truth: they share the runs, and each has random streams of its own."""
    runs, seed = -(-spec.runs // len(contest.truths)), 1000 * spec.seed
    return [
        replace(spec, runs=runs, seed=seed + number, truth=truth)
        for number, truth in enumerate(contest.truths)
    ]


def _cell_name(contest: Contest, policy: str, truth: int) -> str:
    return f"{contest.name}: {policy}, truth {truth + 1}"


def _standing(parts: Sequence[Result], lower: float) -> Standing:
    final = np.concatenate([result.final_regret(result.policy) for result in parts])
    mean = float(final.mean())
    return Standing(
        mean=mean,
        standard_error=float(std_of(final)) / math.sqrt(len(final)),
        q95=float(np.quantile(final, 0.95)),
        ratio=mean / lower if lower > 0 else None,
        worst=_worst([by_truth for result in parts for by_truth in _by_truth(result).items()]),
    )


def _by_truth(result: Result) -> dict[str, Floats]:
    """Return the final regret of runs by their truth."""
    final = result.final_regret(result.policy)
    rows = truths(result.problem, result.truth, result.seed, range(result.runs))
    if rows is None:
        return {result.truth: final}
    names = result.problem.models
    return {names[row]: final[rows == row] for row in np.unique(rows).tolist()}


def _worst(regrets: Sequence[tuple[str, Floats]]) -> WorstTruth | None:
    if len(regrets) == 1:
        return None
    found = [WorstTruth(truth, float(own.mean()), len(own)) for truth, own in regrets]
    return max(found, key=lambda truth: truth.mean)
