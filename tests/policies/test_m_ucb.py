"""mUCB: its radius, and the bound of its docstring. Its decisions: `test_init`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fpbandits import MUCB, Agent, Problem, simulate


@pytest.mark.parametrize("t", [25, 40, 300, 10_000])
def test_a_model_fits_up_to_the_radius_of_the_docstring(t: int) -> None:
    """After t plays of arm 1 alone, of mean ½: |½ − μ| ≤ √(ln(3t³)/(2t)), and not beyond."""
    radius = math.sqrt(math.log(3 * t**3) / (2 * t))
    for distance, arm in ((radius - 1e-9, "arm2"), (radius + 1e-9, "arm1")):
        # The second model promises most, on arm 2, if arm 1 does not refute it.
        problem = Problem.bernoulli([[0.5, 0.1], [0.5 - distance, 0.9], [0.5, 0.2]])
        agent = Agent(problem, MUCB())
        for _ in range(t):
            agent.observe("arm1", 0.5)
        assert agent.ask().arm == arm


@pytest.mark.parametrize("truth", ["theta1", "theta2", "theta3"])
def test_regret_is_within_the_bound_that_is_claimed(truth: str) -> None:
    """Σ Δ_i (1 + 2 ln(|Θ|T³)/Γ_i²) + (π²/3)·L/|Θ|, by far; 100 runs, seed 0."""
    means = np.array([[0.8, 0.5, 0.2], [0.8, 0.9, 0.2], [0.3, 0.5, 0.6]])
    problem, horizon = Problem.bernoulli(means), 10**5
    own = means[int(truth[-1]) - 1]
    bound = math.pi**2 / 3
    for arm in range(3):
        rivals = [row for row in means if row.argmax() == arm and row.max() >= own.max()]
        if own[arm] < own.max() and rivals:
            nearest = min(abs(row[arm] - own[arm]) for row in rivals)
            bound += (own.max() - own[arm]) * (1 + 2 * math.log(3 * horizon**3) / nearest**2)
    result = simulate(problem, MUCB(), truth=truth, horizon=horizon, runs=100, times=[horizon])
    assert result.final_regret("m-ucb").mean() <= bound


def test_where_no_model_fits_all_arms_are_tried() -> None:
    agent = Agent(Problem.bernoulli([[0.9, 0.1], [0.8, 0.2]]), MUCB())
    for _ in range(400):
        decision = agent.ask()
        agent.tell(decision.id, 0.1 if decision.arm == "arm1" else 0.6)
    assert agent.misfits > 100
    assert agent.plays["arm2"] > 300
