"""`Material`: the data behind all claims and figures, and the measurements that they share.

Verdicts depend on nothing else, so tests can change the data and see the verdict change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import rel_entr

from fpbandits.core.arrays import Counts, Floats
from fpbandits.paper.experiments import (
    NEAR_END,
    SAME_TRUTH,
    SETTINGS,
    WITHOUT_MODELS,
    Distance,
    Episodes,
    experiment_name,
)
from fpbandits.paper.limits import limits, paired_difference
from fpbandits.problem.problem import Problem
from fpbandits.simulation.result import Result
from fpbandits.theory.analysis import Analysis, analyze
from fpbandits.theory.cases import Case

INFORMATIVE = Problem.bernoulli([[0.5, 0.4, 0.49], [0.5, 0.6, 0.01]], name="informative")
"""A problem whose third arm is best under no model, and tells the two models apart."""


@dataclass(frozen=True)
class Material:
    """The data behind claims and figures.

    Attributes
    ----------
    results
        Results of the simulations, by the experiment's name.
    analyses
        The output of `analyze`, by the problem's name.
    numbers
        Numbers of the paper's proofs; see `formulas`.
    episodes
        The arms of one run of FP-UCB, episode by episode.
    """

    results: Mapping[str, Result]
    analyses: Mapping[str, Analysis]
    numbers: Mapping[str, float]
    episodes: Episodes

    def case(self, setting: str) -> Case:
        """Return the analysis of a setting's problem under its truth."""
        chosen = SETTINGS[setting]
        cases = self.analyses[chosen.problem.name].cases
        return next(case for case in cases if case.truth == chosen.truth)

    def constant(self, setting: str, version: Literal["printed", "corrected"]) -> float:
        """Return the constant of Theorem 1; the printed one exists where B(θ°) is empty."""
        constant = getattr(self.case(setting).theorem1, version).constant
        assert constant is not None
        return float(constant)

    def result(self, setting: str, policy: str, distance: Distance) -> Result:
        """Return the result of a policy in a setting."""
        if policy in WITHOUT_MODELS:
            setting = SAME_TRUTH.get(setting, setting)
        return self.results[experiment_name(setting, policy, distance)]

    def regret(
        self, setting: str, policy: str, time: int, distance: Distance | None = None
    ) -> Floats:
        """Return each run's regret at a recorded time, by default of the nearest experiment."""
        result = self.result(setting, policy, distance or _nearest(time))
        regret: Floats = result.regret(policy)[:, result.times == time][:, 0]
        return regret

    def plays(self, setting: str, arm: str, time: int) -> Floats:
        """Return how often FP-UCB played an arm up to a recorded time, in each far run."""
        result = self.result(setting, "fp-ucb", "far")
        index = result.problem.arms.index(arm)
        plays: Floats = result.pulls["fp-ucb"][:, result.times == time, index][:, 0].astype(float)
        return plays

    def slope(
        self, setting: str, policy: str, start: int, end: int, distance: Distance | None = None
    ) -> Floats:
        """Return each run's growth of regret per unit of ln t between two recorded times."""
        distance = distance or _nearest(end)
        growth = self.regret(setting, policy, end, distance)
        growth = growth - self.regret(setting, policy, start, distance)
        slope: Floats = growth / math.log(end / start)
        return slope

    def difference(
        self, setting: str, first: str, second: str, distance: Distance
    ) -> tuple[Counts, Floats]:
        """Return the recorded times of both policies, and first − second in regret[run, time]."""
        ours, theirs = (self.result(setting, policy, distance) for policy in (first, second))
        times = np.intersect1d(ours.times, theirs.times)
        return times, paired_difference(
            ours.regret(first)[:, np.isin(ours.times, times)],
            theirs.regret(second)[:, np.isin(theirs.times, times)],
        )

    def ahead_from(self, setting: str, first: str, second: str) -> int | None:
        """Return the time from which on ``first`` has less expected regret than ``second``.

        At that recorded time and every later one, the upper limit of the expected difference is
        below 0. None if there is no such time.
        """
        is_ahead: dict[int, bool] = {}
        distances: tuple[Distance, ...] = ("far", "near")
        for distance in distances:  # near replaces far at times that both recorded
            times, differences = self.difference(setting, first, second, distance)
            below = (limits(sample)[1] < 0 for sample in differences.T)
            is_ahead |= zip(times.tolist(), below, strict=True)
        return _since(is_ahead)

    def growing_from(self, setting: str) -> int | None:
        """Return the power of ten from which on FP-UCB's regret grows in every later decade.

        In each of them the lower limit of the growth is above 0. None if there is no such time.
        """
        end = self.result(setting, "fp-ucb", "far").horizon
        is_growing = {}
        for time in (10**power for power in range(4, round(math.log10(end)))):
            slope = self.slope(setting, "fp-ucb", time, 10 * time, "far")
            is_growing[time] = limits(slope)[0] > 0
        return _since(is_growing)

    def crossing(self, setting: str, *, overtaking: str, overtaken: str) -> float | None:
        """Return the time at which the mean regret of ``overtaking`` falls below the other.

        The last such time in the near experiments, interpolated in ln t; None if there is none.
        """
        times, differences = self.difference(setting, overtaking, overtaken, "near")
        difference = differences.mean(axis=0)
        behind = np.flatnonzero(difference >= 0)
        if not len(behind) or behind[-1] + 1 == len(times):
            return None
        around = slice(behind[-1], behind[-1] + 2)
        return float(np.exp(np.interp(0, -difference[around], np.log(times[around]))))

    def lai_robbins(self, setting: str) -> float:
        """Return Σ Δ_i/kl(μ_i, μ*), Thompson sampling's growth per unit of ln t in the long run."""
        chosen = SETTINGS[setting]
        means = chosen.problem.means[chosen.problem.index(chosen.truth)]
        best = means.max()
        others = means[means < best]
        divergence = rel_entr(others, best) + rel_entr(1 - others, 1 - best)
        return float(((best - others) / divergence).sum())

    def meeting(self, setting: str) -> float:
        """Return log10 of the time at which Thompson sampling would reach FP-UCB's regret.

        Extrapolated from the last time simulated: FP-UCB flat, Thompson sampling by `lai_robbins`.
        """
        end = self.result(setting, "thompson", "far").horizon
        gap = paired_difference(
            self.regret(setting, "fp-ucb", end), self.regret(setting, "thompson", end)
        )
        return math.log10(end) + float(gap.mean()) / self.lai_robbins(setting) / math.log(10)


def _since(holds_at: Mapping[int, bool]) -> int | None:
    """Return the first time from which on the values of all times are true, or None."""
    last_false = max((time for time, holds in holds_at.items() if not holds), default=0)
    return min((time for time in holds_at if time > last_false), default=None)


def _nearest(time: int) -> Distance:
    """Return how far the nearest experiment goes that has a time."""
    return "near" if time <= NEAR_END else "far"


def analyze_problems() -> dict[str, Analysis]:
    """Analyze every problem that a claim is about."""
    problems = {setting.problem.name: setting.problem for setting in SETTINGS.values()}
    problems[INFORMATIVE.name] = INFORMATIVE
    return {name: analyze(problem) for name, problem in problems.items()}
