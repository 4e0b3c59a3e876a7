"""`forecast`: what a policy will cost here, how long until it is sure, how wrong models may be."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.agent.agent import Agent
from fpbandits.core.checks import checked_path, number
from fpbandits.core.statistics import half_width
from fpbandits.engine.plain import PlainPolicy
from fpbandits.engine.policy import Policy
from fpbandits.engine.ready import refusal
from fpbandits.errors import InputError, quote
from fpbandits.families.discrete import Discrete
from fpbandits.families.revenue import Revenue
from fpbandits.forecast.nearby import likeliest, regret_nearby
from fpbandits.policies import DEFAULT, Thompson
from fpbandits.policies.parsing import the_policy
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.spec import LONGEST_STEPWISE, RunSpec
from fpbandits.simulation.stopping import can_be_sure, play_until_verdict
from fpbandits.simulation.stops import Stops
from fpbandits.simulation.truths import PRIOR, truths
from fpbandits.theory.floor import Floor, floor_curve, is_known
from fpbandits.theory.structure import gaps_by_pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THOMPSON = Thompson.name

_FLOORS = 12
"""Times for which a floor is computed, evenly spaced in log t."""

_SIZES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of ``off`` that are tried, to find out how wrong models may be."""

_RUNS_OF_OTHERS = 200
"""Runs of Thompson sampling, which is slower, and near each model."""

_RUNS_UNTIL_SURE = 500
"""The most runs that are played step by step until their verdict."""


@dataclass(frozen=True, repr=False)
class Sure:
    """Plays until an arm is best under every model that is not ruled out, at level ``error``.

    ``median`` and ``q95`` are None where that is beyond the horizon; ``share`` is that of runs with
    a verdict by then.
    """

    error: float
    median: float | None
    q95: float | None
    share: float


@dataclass(frozen=True, repr=False)
class Off:
    """What is lost if every mean of the truth is off by up to ``by``, at random.

    ``by`` is a fraction of the rewards' range (of two deviations, if they have none). ``worst`` is
    the regret near the model where it is largest, ``thompson`` that of Thompson sampling without
    models. ``until`` is the largest size tried up to which the policy loses no more than Thompson
    sampling; None if it loses more at every size.
    """

    by: float
    regret: float
    worst: float
    thompson: float | None
    until: float | None


@dataclass(frozen=True, repr=False)
class Forecast:
    """What will happen if a policy plays: `as_dict` for machines, print it for people.

    Attributes
    ----------
    problem, horizon, truth, policy, seed
        What was asked; ``truth`` is None if it is drawn from the prior.
    first_arm
        What to play first, by context if there are any.
    result
        The simulation behind it.
    per_truth
        Mean regret by truth, of those that were drawn.
    floors
        The least Bayes regret of any policy, by horizon; None where it is not known.
    until_sure, off
        None where they are not known: for policies in plain Python, for discrete rewards.
    baselines
        What others lose: the best single arm, always, and Thompson sampling without models (if
        it leaps, or up to 1e7 plays).
    """

    problem: Problem
    horizon: int
    truth: str | None
    policy: str
    seed: int
    first_arm: str | dict[str, str]
    result: Result
    per_truth: dict[str, float]
    floors: dict[int, Floor] | None
    until_sure: Sure | None
    baselines: dict[str, float]
    off: Off | None
    others: Result | None = field(default=None)

    @property
    def floor(self) -> Floor | None:
        """The least Bayes regret of any policy over the horizon."""
        return None if self.floors is None else self.floors[self.horizon]

    def as_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON."""
        regret = self.result.final_regret(self.policy)
        mean, half = float(regret.mean()), float(half_width(regret))
        floor = self.floor
        return {
            "problem": self.problem.name,
            "horizon": self.horizon,
            "truth": self.truth,
            "policy": self.policy,
            "runs": len(regret),
            "seed": self.seed,
            "first_arm": self.first_arm,
            "regret": {
                "mean": mean,
                "interval": [None, None] if half != half else [mean - half, mean + half],
                "q95": float(np.quantile(regret, 0.95)),
            },
            "per_truth": self.per_truth,
            "floor": None if floor is None else floor.value,
            "floor_upper": None if floor is None else floor.upper,
            "floor_method": None if floor is None else floor.method,
            "until_sure": None if self.until_sure is None else vars(self.until_sure),
            "baselines": self.baselines,
            "off": None if self.off is None else vars(self.off),
        }

    def __str__(self) -> str:
        from fpbandits.forecast.report import forecast_text

        return forecast_text(self)

    __repr__ = __str__

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw regret over time with a band, the floor and the baselines."""
        from fpbandits.forecast.report import forecast_figure

        return forecast_figure(self, None if path is None else checked_path(path))

    def report(self, folder: str | os.PathLike[str]) -> Path:
        """Write a page with the figure and the numbers, and return where it is."""
        from fpbandits.forecast.report import write_report

        return write_report(self, checked_path(folder))


def forecast(
    problem: Problem | str | os.PathLike[str],
    *,
    horizon: float = 10**4,
    truth: str | None = None,
    policy: Policy | str | None = None,
    runs: float = 1000,
    seed: int = 0,
    error: float = 0.05,
    off: float = 0.05,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[str, float, float], None] | None = None,
) -> Forecast:
    """Say what playing will cost: before anyone plays, by simulation.

    Parameters
    ----------
    problem
        The candidate models; or what `load_problem` takes, such as "paper:two".
    horizon
        T, the number of plays.
    truth
        The true model, by name; by default it is drawn for each run from the problem's prior, of
        equal weights if it has none.
    policy
        The policy that plays; by default the default one.
    runs, seed
        How many runs, and what their random streams are spawned from.
    error
        With which probability a verdict may ever be wrong.
    off
        How wrong models are taken to be: means are moved by up to this fraction of the rewards'
        range.
    workers, executor, progress
        As in `simulate`.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> found = fpb.forecast("paper:two", horizon=500, runs=200)
    >>> found.first_arm, found.floor.value < found.as_dict()["regret"]["mean"]
    ('arm1', True)
    """
    problem = the_problem(problem)
    refuse_moving(problem, "forecast")
    error, off = _checked_fraction("error", error), _checked_fraction("off", off)
    if truth is not None:
        problem.index(truth)
    spec = RunSpec(horizon=horizon, runs=runs, seed=seed, truth=PRIOR if truth is None else truth)
    chosen = DEFAULT() if policy is None else the_policy(policy, spec.horizon)
    if truth is None and PRIOR in problem.models:
        raise InputError(f"a model is called {quote(PRIOR)}: name the true one, or rename it")
    tell: Callable[[str, float, float], None] = progress or (lambda name, share, of_all: None)

    def stage(first: float, last: float) -> Callable[[str, float, float], None]:
        """Return the progress of one stage, which takes the work from ``first`` to ``last``."""
        return lambda name, share, of_stage: tell(name, share, first + (last - first) * of_stage)

    how: dict[str, Any] = {"workers": workers, "executor": executor}
    name = str(chosen)
    cell = make_cell(problem, chosen, spec)
    _ = cell.ready  # refused here, before anything is played
    cells = {name: cell}
    if _plays_thompson(problem, spec.horizon) and not isinstance(chosen, Thompson):
        few = RunSpec(
            horizon=horizon, runs=min(spec.runs, _RUNS_OF_OTHERS), seed=seed, truth=spec.truth
        )
        cells[THOMPSON] = make_cell(problem, Thompson(), few)
    played = play_cells(cells, progress=stage(0.0, 0.4), **how)
    result, others = played[name], played.get(THOMPSON)
    sure = None
    if can_be_sure(chosen) and spec.horizon <= LONGEST_STEPWISE:
        until_sure = stage(0.4, 0.6)
        plays = play_until_verdict(
            cell,
            min(spec.runs, _RUNS_UNTIL_SURE),
            error,
            progress=lambda share: until_sure("until sure", share, share),
        ).plays
        stops = Stops.of(plays, np.zeros(1, np.int64))
        sure = Sure(error, stops.median, stops.q95, stops.share)
    floors = None
    if truth is None:
        of_floor = stage(0.6, 0.7)
        floors = _floors(problem, spec.horizon, lambda share: of_floor("floor", share, share))
    return Forecast(
        problem=problem,
        horizon=spec.horizon,
        truth=truth,
        policy=name,
        seed=spec.seed,
        first_arm=_first_arm(problem, chosen),
        result=result,
        per_truth=_per_truth(result, truth),
        floors=floors,
        until_sure=sure,
        baselines=_baselines(problem, spec.horizon, truth, others),
        off=_off(problem, chosen, spec, off, truth, progress=stage(0.7, 1.0), **how),
        others=others,
    )


def _plays_thompson(problem: Problem, horizon: int) -> bool:
    """Tell whether Thompson sampling without models is played: it leaps with 0/1 rewards only."""
    quick = problem.rewards.all_or_nothing or horizon <= LONGEST_STEPWISE
    return quick and refusal(Thompson(), problem) is None


def _checked_fraction(name: str, given: object) -> float:
    """Return a number above 0 and below 1, or refuse it."""
    value = number(given, name)
    if not 0 < value < 1:
        raise InputError(f"{name} is {quote(given)}: it must be above 0 and below 1, as 0.05")
    return value


def _first_arm(problem: Problem, policy: Policy) -> str | dict[str, str]:
    """Return the arm that an agent plays first, by context if there are any."""
    if not problem.contexts:
        return Agent(problem, policy).ask().arm
    return {context: Agent(problem, policy).ask(context).arm for context in problem.contexts}


def _per_truth(result: Result, truth: str | None) -> dict[str, float]:
    """Return the mean regret by truth, of the truths that were drawn."""
    regret = result.final_regret(result.policy)
    if truth is not None:
        return {truth: float(regret.mean())}
    drawn = truths(result.problem, PRIOR, result.seed, range(len(regret)))
    assert drawn is not None
    return {
        model: float(regret[drawn == index].mean())
        for index, model in enumerate(result.problem.models)
        if (drawn == index).any()
    }


def _floors(
    problem: Problem, horizon: int, progress: Callable[[float], None]
) -> dict[int, Floor] | None:
    """Return the floor at several times up to the horizon, or None where it is not known."""
    if not is_known(problem, horizon):
        return None
    times = sorted({*np.rint(np.geomspace(1, horizon, _FLOORS)).astype(int).tolist(), horizon})
    return dict(zip(times, floor_curve(problem, times, progress), strict=True))


def _baselines(
    problem: Problem, horizon: int, truth: str | None, others: Result | None
) -> dict[str, float]:
    """Return what the best single arm loses, and Thompson sampling if it was played."""
    gaps = gaps_by_pair(problem).reshape(len(problem.models), -1, len(problem.arms))
    lost = np.einsum("c,mca->ma", np.array(problem.shares or (1.0,)), gaps)
    prior = np.array(problem.prior or [1 / len(problem.models)] * len(problem.models))
    arm = int((prior @ lost).argmin())
    per_play = prior @ lost if truth is None else lost[problem.index(truth)]
    baselines = {f"always {problem.arms[arm]}": float(horizon * per_play[arm])}
    if others is not None:
        baselines[THOMPSON] = float(others.final_regret(THOMPSON).mean())
    return baselines


def _off(
    problem: Problem, policy: Policy, spec: RunSpec, by: float, truth: str | None, **how: Any
) -> Off | None:
    """Return what the policy loses near the models, or None where that cannot be played."""
    if isinstance(problem.rewards, Discrete | Revenue) or isinstance(policy, PlainPolicy):
        return None
    chosen = likeliest(problem, truth)
    weights = np.array(problem.prior or np.ones(len(problem.models)))[chosen]
    sizes = [by * size for size in _SIZES if size <= 1 or by * size <= 0.5]
    policies: dict[str, tuple[Policy, int]] = {"chosen": (policy, _RUNS_OF_OTHERS // len(chosen))}
    if _plays_thompson(problem, spec.horizon):
        policies[THOMPSON] = Thompson(), _RUNS_OF_OTHERS // (4 * len(chosen))
    nearby = regret_nearby(problem, policies, spec, sizes, chosen, **how)
    at, shares = sizes.index(by), weights / weights.sum()
    regret = nearby["chosen"] @ shares
    thompson = nearby[THOMPSON] @ shares if THOMPSON in nearby else None
    until = None
    if thompson is not None:
        worse = np.flatnonzero(regret > thompson)
        within = int(worse[0]) if len(worse) else len(sizes)
        until = sizes[within - 1] if within else None
    return Off(
        by,
        float(regret[at]),
        float(nearby["chosen"][at].max()),
        None if thompson is None else float(thompson[at]),
        until,
    )
