"""The simulations behind the report: which there are, and how they are run and stored.

The paper simulates three sets of models under five truths; its horizons are not stated. Each
experiment here is one policy under one truth. *Near* experiments go to T = 10⁶, for the paper's own
figures. *Far* ones go to T = 10¹⁵, or to 10¹² where that is too costly or not needed. Among them is
our default policy, which the paper does not have. Six more settings are counterexamples: problems
on which a statement of the paper fails.

Finished runs are stored in the folder of results, so an interrupted reproduction can be resumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fpbandits.core.storage import shown
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine.policy import Policy
from fpbandits.engine.ready import NO_STREAM, ready
from fpbandits.errors import ConflictError
from fpbandits.policies import DEFAULT, FPUCB, UCB1, Optimist, Thompson
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.store import load_results

RUNS = 1_000
"""Runs of an experiment whose ``share`` is 1, by default."""

LEAST_RUNS = 10
"""Runs in the paper's own figures; no experiment has fewer."""

Distance = Literal["near", "far"]
"""How far an experiment goes."""

NEAR_END = 10**6
"""The last time of near experiments."""
_FAR_END = 10**12
"""The last time of far experiments with UCB1, and of some counterexamples."""
_FARTHEST_END = 10**15
"""The last time of the other far experiments."""


@dataclass(frozen=True)
class Setting:
    """A set of models and the truth among them.

    ``horizon`` is the last time in the report's version of the paper's figure.
    """

    name: str
    title: str
    problem: Problem
    truth: str
    horizon: int = 10**5


_TWO = built_in("paper:two")
_PERMUTATIONS = built_in("paper:permutations")
_GRID = built_in("paper:grid")
PAPER = (
    Setting("two-1", "two models, truth θ¹", _TWO, "theta1", 10**3),
    Setting("two-2", "two models, truth θ²", _TWO, "theta2", 10**4),
    Setting(
        "permutations", "24 permutations of [.6, .4, .3, .2]", _PERMUTATIONS, "0.6,0.4,0.3,0.2"
    ),
    Setting("grid-6", "256 models, truth [.6, .4, .3, .2]", _GRID, "0.6,0.4,0.3,0.2"),
    Setting("grid-4", "256 models, truth [.4, .3, .2, .2]", _GRID, "0.4,0.3,0.2,0.2", 10**6),
)
"""The five simulations of the paper, in its order."""


def _counterexample(name: str, *models: list[float]) -> Setting:
    """Return a setting of Bernoulli models with these means, the first of them true."""
    rows = ", ".join(
        f"({', '.join(f'{mean:g}'.lstrip('0') for mean in means)})" for means in models
    )
    problem = Problem.bernoulli(models, name=name)
    return Setting(name, f"Θ = {{{rows}}}, truth the first", problem, "theta1")


COUNTEREXAMPLES = (
    _counterexample("minimum", [0.5, 0.49], [0.01, 0.9], [0.501, 0.502]),
    _counterexample("forgotten", [0.5, 0.49], [0.5, 0.9], [0.501, 0.502]),
    _counterexample("constants", [0.5, 0.3], [0.5, 0.51]),
    _counterexample("certain", [0.5, 0.3], [0.5, 1]),
    Setting(
        "laws",
        "two models with another law, of the same mean, on arm 1; truth the first",
        Problem.discrete(
            [[[0, 1, 0], [0.7, 0, 0.3]], [[0.5, 0, 0.5], [0.2, 0, 0.8]]],
            support=[0, 0.5, 1],
            name="laws",
        ),
        "theta1",
    ),
    Setting("tied", "256 models, truth [.4, .6, .3, .2]", _GRID, "0.4,0.6,0.3,0.2"),
)
"""To Proposition 1, Proposition 2 and Remark 1, and three to FP-UCB's optimality."""

SETTINGS = {setting.name: setting for setting in (*PAPER, *COUNTEREXAMPLES)}
"""All settings, by name."""

SAME_TRUTH = {"grid-6": "permutations"}
"""A setting, and another with the same truth and a different Θ. Policies that do not use Θ play
alike in both, and are simulated in the second only."""

WITHOUT_MODELS = (UCB1.name, Thompson.name)
"""The policies that do not use Θ."""


@dataclass(frozen=True)
class Experiment:
    """One policy in one setting; it gets ``share`` of the runs that the user asks for."""

    setting: Setting
    policy: Policy
    distance: Distance
    horizon: int
    share: float = 1.0

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return experiment_name(self.setting.name, self.policy.name, self.distance)

    @property
    def title(self) -> str:
        """The name of the experiment for people."""
        return (
            f"{self.setting.title}: {self.policy.name} to T = 1e{round(math.log10(self.horizon))}"
        )

    @property
    def times(self) -> list[int]:
        """Recorded times: evenly spaced in log t, with all powers of ten; near, also in t."""
        decades = round(math.log10(self.horizon))
        per_decade = 16 if self.distance == "near" else 8
        times = {round(10 ** (step / per_decade)) for step in range(decades * per_decade + 1)}
        if self.distance == "near":
            end = min(self.setting.horizon, self.horizon)
            times.update(np.linspace(end / 100, end, 100).astype(int).tolist())
        return sorted(times)

    def runs(self, asked: int) -> int:
        """Return its number of runs if the user asks for ``asked``."""
        return max(LEAST_RUNS, math.ceil(asked * self.share))

    def cell(self, runs: int, seed: int) -> Cell:
        """Return the cell to play if the user asks for ``runs`` runs."""
        spec = RunSpec(
            horizon=self.horizon,
            times=self.times,
            runs=self.runs(runs),
            seed=seed,
            truth=self.setting.truth,
        )
        return make_cell(self.setting.problem, self.policy, spec)

    def matches(self, result: Result) -> bool:
        """Return whether a result comes from this experiment, with any seed and number of runs."""
        return (
            result.problem == self.setting.problem
            and result.truth == self.setting.truth
            and result.policies == (self.policy.name,)
            and result.times.tolist() == self.times
        )


def experiment_name(setting: str, policy: str, distance: Distance) -> str:
    """Return the name of an experiment."""
    return f"{setting}-{policy}-{distance}"


def _list_experiments() -> dict[str, Experiment]:
    """Return all experiments, by name."""
    near_and_far = []
    for setting in PAPER:
        for policy, end, share in (
            (FPUCB(), _FARTHEST_END, 1.0),
            (UCB1(), _FAR_END, 0.2),
            (Thompson(), _FARTHEST_END, 1.0),
        ):
            if policy.name not in WITHOUT_MODELS or setting.name not in SAME_TRUTH:
                near_and_far.append(Experiment(setting, policy, "near", NEAR_END))
                near_and_far.append(Experiment(setting, policy, "far", end, share))
    minimum, forgotten, constants, certain, laws, tied = COUNTEREXAMPLES
    far_only: list[tuple[Setting, Policy, int, float]] = [
        (minimum, FPUCB(), _FAR_END, 0.2),
        (forgotten, FPUCB(), _FAR_END, 0.2),
        (constants, FPUCB(), _FAR_END, 0.2),
        (constants, UCB1(), _FAR_END, 0.2),
        (certain, FPUCB(), _FARTHEST_END, 1.0),
        (certain, Optimist(), _FARTHEST_END, 1.0),
        (laws, FPUCB(), _FARTHEST_END, 1.0),
        (tied, FPUCB(), _FARTHEST_END, 0.2),
        *((setting, DEFAULT(), _FARTHEST_END, 0.2) for setting in PAPER),
    ]
    far = [
        Experiment(setting, policy, "far", end, share) for setting, policy, end, share in far_only
    ]
    return {experiment.name: experiment for experiment in (*near_and_far, *far)}


EXPERIMENTS = _list_experiments()
"""All experiments, by name."""


def run_experiments(folder: Path, *, runs: int, seed: int, **how: Any) -> dict[str, Result]:
    """Return the result of every experiment, by name; play only runs that the folder lacks.

    ``how`` holds workers, executor and progress, as in `play_cells`.
    """
    cells = {name: experiment.cell(runs, seed) for name, experiment in EXPERIMENTS.items()}
    return play_cells(cells, out=folder, **how)


def find_experiments(folder: Path) -> dict[str, Result]:
    """Return the stored results of all experiments; any version may have written them."""
    results = load_results(folder)
    if results.keys() != EXPERIMENTS.keys() or not all(
        experiment.matches(results[name]) for name, experiment in EXPERIMENTS.items()
    ):
        raise ConflictError("holds other experiments than this version has", place=(shown(folder),))
    return results


@dataclass(frozen=True)
class Episodes:
    """One run of FP-UCB on the 24 permutations.

    ``arms[k]`` holds the arms played in episode k, and ``arms[0]`` those of the initialisation.
    """

    seed: int
    arms: tuple[tuple[int, ...], ...]


def play_episodes(seed: int, plays: int = 1_500) -> Episodes:
    """Play Algorithm 1 until an episode ends with at least ``plays`` plays."""
    setting = SETTINGS["permutations"]
    problem, stream = setting.problem, random_stream(seed, 0, REWARDS)
    rules, means = ready(FPUCB(), problem), problem.means[problem.index(setting.truth)]
    state, episodes, played = rules.policy.new_state(problem), [], 0
    while played < plays:
        arms, _ = rules.plan(state, played, None, NO_STREAM)  # a plan is a whole episode
        for arm in arms:
            reward = float(stream.random() < means[arm])
            rules.observe(state, played, None, arm, reward, NO_STREAM)
        episodes.append(tuple(arms))
        played += len(arms)
    return Episodes(seed, tuple(episodes))
