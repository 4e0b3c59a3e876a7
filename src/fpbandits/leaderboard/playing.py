"""`play`: simulate policies in contests, and rank them.

A contest with several truths has a cell for each policy and truth, and the runs are divided among
the truths. If truths are drawn from the prior there is one cell for each policy; its result does
not say which truth a run had, so the truth is drawn again here, from the seed and the run's number.
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
from fpbandits.leaderboard.contest import MOST_TRUTHS, PRACTICE, Contest, contests
from fpbandits.policies import POLICIES, Policy
from fpbandits.policies.parsing import named_policies
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.delays import Delay
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.truths import is_drawn, truths
from fpbandits.theory.floor import floor, is_known

RUNS = 100
"""Runs of each policy in each contest, by default; a few more if they do not divide evenly."""

HORIZON = 10**5
"""Plays per run, by default."""

PRACTICE_RUNS = 400
"""The default of runs if all contests are of the group ``practice``."""

PRACTICE_HORIZON = 2 * 10**4
"""The default of plays per run if all contests are of the group ``practice``."""

SAFE = "frugal:false_alarm=0.001"
"""The default policy with its option for wrong models, which plays beside all others."""

_LEAST_FLOOR = 1e-6
"""A floor below this part of the width of the rewards' range may be nothing but rounding."""


def play(
    *,
    runs: float | None = None,
    horizon: float | None = None,
    seed: int = 0,
    delay: Delay = 0,
    policies: Mapping[str, Policy] | None = None,
    among: Sequence[Contest] | None = None,
    out: Path | None = None,
    floors: bool = True,
    **how: Any,
) -> Leaderboard:
    """Let policies, by default all of them, play contests, by default `contests()`.

    ``delay`` is as in `simulate`; ``out`` and ``how`` (workers, executor, progress) are as in
    `play_cells`. A policy that needs more information than a contest's models give is left out.
    Floors of large sets of models take up to a minute each: without ``floors`` there are none.
    """
    chosen = list(contests() if among is None else among)
    all_practice = all(contest.group == PRACTICE for contest in chosen)
    if runs is None:
        runs = PRACTICE_RUNS if all_practice else RUNS
    if horizon is None:
        horizon = PRACTICE_HORIZON if all_practice else HORIZON
    count = whole_number("runs", runs, least=2)
    spec = RunSpec(
        horizon=horizon, times=[horizon], runs=count, seed=seed, shuffle=True, delay=delay
    )
    by_name = named_policies(policies or (*POLICIES, SAFE), spec.horizon)
    entries = [
        (contest, name, policy)
        for contest in chosen
        for name, policy in by_name.items()
        if not refusal(policy, contest.problem)
    ]
    cells = {
        _cell_name(contest, name, number): make_cell(contest.problem, policy, truth_spec)
        for contest, name, policy in entries
        for number, truth_spec in enumerate(_specs(contest, spec))
    }
    results = play_cells(cells, out=out, **how)
    standings: dict[str, dict[str, Standing]] = {name: {} for name in by_name}
    for contest, name, _ in entries:
        of_truths = [
            results[_cell_name(contest, name, number)] for number in range(len(contest.truths))
        ]
        grown = contest.lower_bound * math.log(spec.horizon)  # that bound is a coefficient
        standings[name][contest.name] = _standing(of_truths, grown)
    found = {contest.name: _floor(contest, spec.horizon) for contest in chosen if floors}
    known = {name: value for name, value in found.items() if value is not None}
    return Leaderboard(chosen, standings, spec.horizon, spec.runs, spec.seed, known, spec.delay)


def _floor(contest: Contest, horizon: int) -> float | None:
    """Return the floor of a contest: no policy has a smaller mean regret.

    None where it is so small that it may be rounding, or unknown. It can be known if no truth is
    outside Θ, and either all truths are drawn from the prior or each model is the truth of equally
    many runs.
    """
    problem = contest.problem
    names = [truth for truth in contest.truths if isinstance(truth, str)]  # others are outside Θ
    if not is_known(problem, horizon) or len(names) < len(contest.truths):
        return None
    if sorted(names) == sorted(problem.models):
        problem = replace(problem, prior=None)  # which means that all are equally likely
    elif not all(is_drawn(problem, name) for name in names):
        return None
    value = floor(problem, horizon).value
    return value if value > _LEAST_FLOOR * problem.rewards.width else None


def _specs(contest: Contest, spec: RunSpec) -> list[RunSpec]:
    """Return a spec for each truth, with its part of the runs, rounded up, and its own seed."""
    runs = math.ceil(spec.runs / len(contest.truths))
    return [
        replace(spec, runs=runs, seed=MOST_TRUTHS * spec.seed + number, truth=truth)
        for number, truth in enumerate(contest.truths)
    ]


def _cell_name(contest: Contest, policy: str, number: int) -> str:
    return f"{contest.name}: {policy}, truth {number + 1}"


def _standing(of_truths: Sequence[Result], lower_bound: float) -> Standing:
    """Summarise the results of one policy in one contest, one for each truth.

    The standard error takes the runs of all truths for one sample. Where each truth has a part of
    the runs, that is more than the mean's error: it counts the differences between truths, too.
    """
    final = np.concatenate([result.final_regret(result.policy) for result in of_truths])
    mean = float(final.mean())
    return Standing(
        mean=mean,
        standard_error=float(std_of(final)) / math.sqrt(len(final)),
        q95=float(np.quantile(final, 0.95)),
        ratio=mean / lower_bound if lower_bound > 0 else None,
        worst=_worst([item for result in of_truths for item in _by_truth(result).items()]),
    )


def _by_truth(result: Result) -> dict[str, Floats]:
    """Return the final regret of runs by their truth."""
    final = result.final_regret(result.policy)
    rows = truths(result.problem, result.truth, result.seed, range(result.runs))
    if rows is None:  # the truth was fixed
        return {result.truth: final}
    names = result.problem.models
    return {names[row]: final[rows == row] for row in np.unique(rows).tolist()}


def _worst(by_truth: Sequence[tuple[str, Floats]]) -> WorstTruth | None:
    """Return the truth of the largest mean regret; None if there is only one truth."""
    if len(by_truth) == 1:
        return None
    truths_played = [
        WorstTruth(truth, float(regret.mean()), len(regret)) for truth, regret in by_truth
    ]
    return max(truths_played, key=lambda truth: truth.mean)
