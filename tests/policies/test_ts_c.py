"""TS-C: when it draws, and how, and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import numpy as np
import pytest
from boxes import fitting
from moments import Moment, assert_certain_as, moments
from scipy import stats

from fpbandits import TSC, Agent, Problem, simulate


@pytest.mark.parametrize("alpha", [3.0, 0.5])
def test_it_is_certain_while_no_other_arm_can_become_competitive(alpha: float) -> None:
    def best(one: Moment) -> np.ndarray:
        means = one.unit_means
        return np.array((means >= means.max(axis=1)[:, None] - 1e-9).argmax(axis=1))

    def stays(one: Moment, more: int, by: float) -> bool:
        own = best(one) == one.cycle[0]
        surely, _ = fitting(one, more, by)
        _, maybe = fitting(one, more, -by)
        return bool((surely & own).any() and not (maybe & ~own).any())

    def is_alone(one: Moment) -> bool:
        return set(best(one)[fitting(one, 0, 0)[0]].tolist()) == {one.cycle[0]}

    assert_certain_as(stays, filter(is_alone, moments(TSC(alpha=alpha), 150)))


def test_among_competitive_arms_it_draws_normal_means() -> None:
    """Two arms of which either may be best: how often each is played is a normal probability.

    4,000 agents of seeds of their own: five standard errors, a false alarm in 2 million.
    """
    problem = Problem.bernoulli([[0.6, 0.5, 0.1], [0.5, 0.6, 0.1], [0.2, 0.2, 0.9]])
    plays, means = (300, 500), (0.55, 0.52)
    chosen = []
    state = state_after(problem, plays, means)
    for seed in range(4000):
        agent = Agent.from_state(state | {"seed": seed}, problem)
        chosen.append(agent.ask().arm)
    # The third arm is best under the third model alone, which the other two arms rule out.
    assert set(chosen) == {"arm1", "arm2"}
    deviation = np.sqrt(0.25 / plays[0] + 0.25 / plays[1])
    expected = stats.norm.cdf((means[0] - means[1]) / deviation)
    found = np.mean([arm == "arm1" for arm in chosen])
    assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / 4000)


def state_after(
    problem: Problem, plays: tuple[int, int], means: tuple[float, float]
) -> dict[str, object]:
    agent = Agent(problem, TSC())
    for arm, count, mean in zip(problem.arms, plays, means, strict=False):
        for _ in range(count):
            agent.observe(arm, mean)
    return dict(agent.state())


def test_misfits_are_plays_for_which_no_model_fits() -> None:
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])
    for rewards, misfits in ((9, False), (0, True)):  # of every ten; no model has means of 0
        agent = Agent(problem, TSC())
        for number in range(400):
            agent.tell(agent.ask(), 1 if number % 10 < rewards else 0)
        assert (agent.misfits > 0) == misfits


def test_one_competitive_arm_is_played_whatever_is_drawn() -> None:
    """Far into a run of a problem whose best arm tells: to 10¹², in few plans."""
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])
    result = simulate(
        problem, TSC(), truth="theta1", horizon=10**12, runs=20, times=[10**6, 10**12]
    )
    before, after = result.mean_regret("ts-c")
    assert after == before < 20
    assert result.plans["ts-c"].max() < 2000
