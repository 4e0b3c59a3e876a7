"""What the paper's statements are judged by: results, analyses, numbers; and the tests used.

Regret is compared run by run: two policies play run r on the same random stream, so differences are
taken within runs, and are independent from run to run. Limits of an expected value are Student's.
Each limit is one-sided and has level `LEVEL`; a statement needs one or a few of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fpbandits.arrays import Floats
from fpbandits.paper.experiments import (
    FAR,
    NEAR,
    SAME_TRUTH,
    SETTINGS,
    Episodes,
    experiment_name,
)
from fpbandits.problem import Problem
from fpbandits.simulation.result import Result
from fpbandits.theory.analysis import Analysis, Case, analyze
from fpbandits.theory.bounds import separation
from fpbandits.theory.structure import Structure

LEVEL = 0.001
"""How often a limit is wrong."""

INFORMATIVE = Problem.bernoulli([[0.5, 0.4, 0.49], [0.5, 0.6, 0.01]], name="informative")
"""A problem in which an arm outside A, the third, tells the two models apart."""

LAWS = Problem.discrete(
    [[[0, 1, 0], [0.7, 0, 0.3]], [[0.5, 0, 0.5], [0.2, 0, 0.8]]],
    support=[0, 0.5, 1],
    name="laws",
)
"""Arm 1 has mean .5 under both models, and two laws."""


@dataclass(frozen=True)
class Evidence:
    """All that claims and figures are made of.

    Attributes
    ----------
    results
        What was simulated, by the experiment's name.
    analyses
        The theory of every problem, by the problem's name.
    numbers
        What the remaining statements are about; see `numbers`.
    episodes
        One run, episode by episode.
    """

    results: Mapping[str, Result]
    analyses: Mapping[str, Analysis]
    numbers: Mapping[str, float]
    episodes: Episodes

    def case(self, setting: str) -> Case:
        """Return the theory of a setting."""
        chosen = SETTINGS[setting]
        cases = self.analyses[chosen.problem.name].cases
        return next(case for case in cases if case.true == chosen.true)

    def result(self, setting: str, policy: str, reach: str) -> Result:
        """Return what was simulated in a setting."""
        if policy != "fp-ucb":
            setting = SAME_TRUTH.get(setting, setting)
        return self.results[experiment_name(setting, policy, reach)]

    def regret(self, setting: str, policy: str, time: int, reach: str | None = None) -> Floats:
        """Return the regret of each run at a recorded time, by default from the near experiment."""
        result = self.result(setting, policy, reach or (NEAR if time <= 10**6 else FAR))
        regret: Floats = result.regret(policy)[:, result.times == time][:, 0]
        return regret

    def plays(self, setting: str, arm: str, time: int, reach: str = NEAR) -> Floats:
        """Return how often FP-UCB played an arm up to a recorded time, in each run."""
        result = self.result(setting, "fp-ucb", reach)
        place = result.problem.arms.index(arm)
        plays: Floats = result.pulls["fp-ucb"][:, result.times == time, place][:, 0].astype(float)
        return plays

    def slope(
        self, setting: str, policy: str, start: int, end: int, reach: str | None = None
    ) -> Floats:
        """Return what each run lost a unit of ln t between two recorded times."""
        reach = reach or (NEAR if end <= 10**6 else FAR)
        growth = self.regret(setting, policy, end, reach)
        growth = growth - self.regret(setting, policy, start, reach)
        slope: Floats = growth / math.log(end / start)
        return slope

    def ahead(self, setting: str, first: str, second: str) -> int | None:
        """Return the time from which on ``first`` has less expected regret than ``second``.

        At that recorded time and every later one, the upper limit of the expected difference is
        below 0. None if there is no such time.
        """
        last_time, start = 0, None
        for reach in (NEAR, FAR):
            ours, theirs = (self.result(setting, p, reach) for p in (first, second))
            times = np.intersect1d(ours.times, theirs.times)
            times = times[times > last_time]
            differences = paired(
                ours.regret(first)[:, np.isin(ours.times, times)],
                theirs.regret(second)[:, np.isin(theirs.times, times)],
            )
            for place, time in enumerate(times.tolist()):
                if limits(differences[:, place])[1] >= 0:
                    start = None
                elif start is None:
                    start = time
            last_time = ours.horizon
        return start

    def growing_from(self, setting: str) -> int | None:
        """Return the power of ten from which on FP-UCB's regret grows in every later decade.

        In each of them the lower limit of the growth is above 0. None if there is no such time.
        """
        end = self.result(setting, "fp-ucb", FAR).horizon
        start, time = None, 10**4
        while time < end:
            if limits(self.slope(setting, "fp-ucb", time, 10 * time, FAR))[0] <= 0:
                start = None
            elif start is None:
                start = time
            time *= 10
        return start

    def crossing(self, setting: str, first: str, second: str) -> float | None:
        """Return where the mean regret of ``first`` last falls below that of ``second``, near."""
        ours, theirs = (self.result(setting, policy, NEAR) for policy in (first, second))
        times = np.intersect1d(ours.times, theirs.times)
        difference = (
            ours.mean_regret(first)[np.isin(ours.times, times)]
            - theirs.mean_regret(second)[np.isin(theirs.times, times)]
        )
        above = np.flatnonzero((difference[:-1] >= 0) & (difference[1:] < 0))
        if not len(above) or difference[-1] >= 0:
            return None
        place = above[-1]
        share = difference[place] / (difference[place] - difference[place + 1])
        logs = np.log(times[place : place + 2])
        return float(np.exp(logs[0] + share * (logs[1] - logs[0])))


def paired(first: Floats, second: Floats) -> Floats:
    """Return the differences within the runs that both have."""
    runs = min(len(first), len(second))
    difference: Floats = first[:runs] - second[:runs]
    return difference


def limits(sample: Floats) -> tuple[float, float]:
    """Return a lower and an upper limit of the expected value, each of level `LEVEL`."""
    from scipy.special import stdtrit

    mean, runs = float(sample.mean()), len(sample)
    half = float(stdtrit(runs - 1, 1 - LEVEL)) * float(sample.std(ddof=1)) / math.sqrt(runs)
    return mean - half, mean + half


def most_of(count: int, runs: int) -> float:
    """Return the upper limit of a share of which ``count`` in ``runs`` were seen (binomial)."""
    from scipy.special import betaincinv

    return 1.0 if count == runs else float(betaincinv(count + 1, runs - count, 1 - LEVEL))


def analyses() -> dict[str, Analysis]:
    """Analyze every problem that a statement is about."""
    problems = {setting.problem.name: setting.problem for setting in SETTINGS.values()}
    problems |= {problem.name: problem for problem in (INFORMATIVE, LAWS)}
    return {name: analyze(problem) for name, problem in problems.items()}


def numbers() -> dict[str, float]:
    """Compute the numbers behind statements that are about neither a run nor a problem."""
    alphas = np.linspace(0.01, 1, 991)
    worst, crudest = 0.0, 1.0
    for candidates in (2, 4, 16):
        times = separation(alphas, candidates)
        ratio = times.episodes / times.lemma2_printed
        worst, crudest = max(worst, float(ratio.max())), min(crudest, float(ratio.min()))
    alpha_2 = separation(np.array([0.2]), 4)
    k = np.arange(alpha_2.k[0], 10**5, dtype=float)
    radius = math.sqrt(3 * math.log(60) / 60)
    return {
        "Σ 2 k⁻⁵": float(2 * (np.arange(1.0, 1e4) ** -5).sum()),
        "K at α = .2": float(alpha_2.K[0]),
        "K at α = .2, to 1e5": float((8 * k / (k - np.ceil(300 * np.log(k))) ** 5).sum()),
        "margin of θ°": radius - (1 - 0.5),
        "margin of a stand-in": radius - (1 - 0.9),
        "lemma 1: least β − Δ": _least_beta_less_gap(),
        "lemma 2: largest share of the bound": worst,
        "lemma 2: least share of the bound": crudest,
        "lemma 2: step (a)": _step_a(0.2),
        "lemma 2: step (b)": _step_b(),
        "k just above 2√(3/e)": _first_episode(2 * math.sqrt(3 / math.e) + 1e-9),
        "2√(3/e)": 2 * math.sqrt(3 / math.e),
        "first α with k = 3": math.sqrt(6 * math.log(3)),
    }


def _least_beta_less_gap() -> float:
    """Return the least β_i − Δ_i over 2,000 random sets of models with unique best arms."""
    random = np.random.default_rng(1)
    least = math.inf
    for _ in range(2_000):
        arms = int(random.integers(2, 6))
        means = random.integers(1, 20, (int(random.integers(2, 12)), arms)) / 20
        means = np.unique(means, axis=0)
        ordered = np.sort(means, axis=1)
        means = means[ordered[:, -1] > ordered[:, -2]]
        if not len(means):
            continue
        structure = Structure(Problem.bernoulli(means.tolist()))
        for true in range(len(means)):
            gaps = structure.gaps(true)
            for arm, beta in structure.betas(true).items():
                least = min(least, beta - float(gaps[arm]))
    return least


def _step_a(alpha: float) -> float:
    """Return α²√k − 12 at k = E + 1, which Lemma 2's proof takes to exceed 1."""
    E = round(144 / alpha**4)
    return alpha**2 * math.sqrt(E + 1) - 12


def _step_b() -> float:
    """Return Σ_{k≥4} k^{7/2}/(k − 1)⁵; beyond N the terms are k^{−3/2}(1 + 5/k + …)."""
    N = 10**6
    k = np.arange(4, N, dtype=float)
    return float((k**3.5 / (k - 1) ** 5).sum()) + 2 / math.sqrt(N - 0.5)


def _first_episode(alpha: float) -> int:
    """Return min{k ≥ 3 : k > ⌈12 ln k/α²⌉}, by trying."""
    k = 3
    while k <= math.ceil(12 * math.log(k) / alpha**2):
        k += 1
    return k
