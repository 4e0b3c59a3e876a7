"""A new family takes its file and one line of registration: all else finds it by its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import (
    FPUCB,
    UCB1,
    Agent,
    InputError,
    Problem,
    Thompson,
    analyze,
    load_problem,
    save_problem,
    simulate,
)
from fpbandits.core.arrays import TOLERANCE, Floats, Ints
from fpbandits.core.checks import Numbers, Range
from fpbandits.core.names import Names
from fpbandits.core.table import checked_means
from fpbandits.families import FAMILIES
from fpbandits.families.base import RewardFamily


@dataclass(frozen=True, eq=False, kw_only=True)
class Sure(RewardFamily):
    """Every reward is its arm's mean."""

    name = "sure"
    sum_in_one_draw = True

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Sure:
        return cls(means=checked_means(rows, names, range), range=range)

    def law(self, model: int) -> Floats:
        return np.array(self.unit_means[model])[:, np.newaxis]

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        return float(plays * law[arm, 0])

    def divergence(self, truth: int, others: Ints) -> Floats:
        distance = np.abs(self.unit_means[others] - self.unit_means[truth])
        return np.where(distance <= TOLERANCE, 0.0, np.inf)


FILE = """
name = "fixed prices"
reward = "sure"
arms = ["a", "b", "c"]
range = [0, 10]
truth = "x"

[models]
x = [6, 4, 1]
y = [6, 4, 9]
z = [2, 5, 1]
"""


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Problem:
    monkeypatch.setitem(FAMILIES, "sure", Sure)
    path = tmp_path / "sure.toml"
    path.write_text(FILE)
    return load_problem(path)


def test_it_is_read_and_written(problem: Problem, tmp_path: Path) -> None:
    assert repr(problem) == ("Problem('fixed prices': 3 models, 3 arms, sure rewards in [0, 10])")
    save_problem(problem, tmp_path / "again.toml")
    again = load_problem(tmp_path / "again.toml")
    assert again == problem
    assert isinstance(again.rewards, Sure)
    assert np.array_equal(again.means, problem.means)
    bernoulli = Problem.bernoulli(
        problem.means, arms=problem.arms, models=problem.models, range=problem.range
    )
    assert problem.fingerprint != bernoulli.fingerprint
    with pytest.raises(InputError, match="CSV holds Bernoulli means"):
        save_problem(problem, tmp_path / "again.csv")


def test_it_is_analyzed(problem: Problem) -> None:
    """Under x the best arm looks as under y, which one play of c rules out for good."""
    x, y, z = analyze(problem).cases
    assert (x.theorem2.confusion_set, y.theorem2.confusion_set) == (("y",), ())
    assert z.theorem2.confusion_set == ()
    assert x.theorem2.coefficient == 0


@pytest.mark.parametrize("policy", [FPUCB(), UCB1(), Thompson()], ids=str)
def test_it_is_simulated(problem: Problem, policy: Any) -> None:
    result = simulate(problem, policy, horizon=10**4, runs=3)
    pulls = result.pulls[policy.name][:, -1]
    assert (pulls.sum(axis=1) == 10**4).all()
    assert (pulls.argmax(axis=1) == 0).all()
    if not policy.randomised:  # nothing is left to chance
        stepwise = simulate(problem, policy, horizon=10**4, runs=1, leap=False)
        assert (pulls == stepwise.pulls[policy.name][0, -1]).all()
        assert (result.plans[policy.name] < stepwise.plans[policy.name]).all()
    outside = simulate(problem, policy, truth=[1, 2, 3], horizon=100, runs=1)
    assert outside.final_regret(policy.name)[0] > 0


def test_it_is_played_live(problem: Problem, tmp_path: Path) -> None:
    agent = Agent(problem, FPUCB())
    rewards = dict(zip(problem.arms, problem.means[0], strict=True))
    for _ in range(2000):
        decision = agent.ask()
        agent.tell(decision.id, rewards[decision.arm])
    assert list(agent.plausible()) == ["x"]
    assert agent.misfits == 0
    agent.save(tmp_path / "agent.json")
    assert Agent.load(tmp_path / "agent.json", problem).ask() == agent.ask()
