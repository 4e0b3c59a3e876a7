"""UCB-S: what it counts as misfits, and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import math

import pytest
from boxes import fitting
from moments import Moment, assert_certain_as, moments

from fpbandits import MUCB, UCBS, Agent, Policy, Problem


@pytest.mark.parametrize("policy", [UCBS(), UCBS(alpha=0.5), MUCB()], ids=str)
def test_it_is_certain_while_no_other_model_can_promise_more(policy: Policy) -> None:
    """None that may fit promises more, or as much with an earlier arm; one of its own stays."""

    def stays(one: Moment, more: int, by: float) -> bool:
        models = one.unit_means
        top, best = models.max(axis=1), (models >= models.max(axis=1)[:, None] - 1e-9).argmax(1)
        surely, _ = fitting(one, more, by)
        _, maybe = fitting(one, more, -by)
        now, _ = fitting(one, 0, 0)
        promised, played = top[now].max(), one.cycle[0]
        own = (best == played) & (abs(top - promised) < 1e-9)
        wins = (top > promised + 1e-9) | ((top > promised - 1e-9) & (best < played))
        return bool((surely & own).any() and not (maybe & wins).any())

    found = (one for one in moments(policy, 120) if fitting(one, 0, 0)[0].any())
    assert_certain_as(stays, found)


def test_where_no_model_fits_it_plays_by_the_index_of_ucb1_among_eligible_arms() -> None:
    """√(2 ln 400) = 3.4616: indices .5 + .2448, .5 + .3461 and .45 + .3461 after 400 plays."""
    problem = Problem.bernoulli([[0.05, 0.95, 0.05], [0.95, 0.05, 0.05]])
    for policy in (UCBS(), MUCB()):
        agent = Agent(problem, policy)
        for arm, plays, mean in (("arm1", 200, 0.5), ("arm2", 100, 0.5), ("arm3", 100, 0.45)):
            for _ in range(plays):
                agent.observe(arm, mean)
        assert agent.why().arm == "arm2"
        assert agent.why(among=["arm1", "arm3"]).arm == "arm3"
        assert agent.why(among=["arm1"]).arm == "arm1"


def test_of_models_that_promise_the_same_the_first_arm_counts() -> None:
    """Of the models that fit; an arm without rewards is played for one round."""
    agent = Agent(Problem.bernoulli([[0.1, 0.2, 0.9], [0.2, 0.9, 0.1], [0.8, 0.3, 0.3]]), UCBS())
    assert agent.ask().arm == "arm2"


def test_misfits_begin_with_the_second_play() -> None:
    agent = Agent(Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]]), UCBS())
    agent.observe("arm1", 0.5)
    agent.ask()  # ln 1 = 0: the radius is 0, and nothing fits
    assert agent.misfits == 0


def test_misfits_are_decisions_at_which_no_model_fits() -> None:
    """After one play the intervals are points, which says nothing of the models."""
    means = [[0.1, 0.9], [0.9, 0.1]]
    agent = Agent(Problem.bernoulli(means), UCBS())
    plays, misfits = [0, 0], 0
    for t in range(40):
        if t > 1:
            allowed = [math.sqrt(math.log(t) / n) if n else math.inf for n in plays]
            misfits += not any(
                all(abs(0.5 - mean) <= most for mean, most in zip(model, allowed, strict=True))
                for model in means
            )
        decision = agent.ask()
        plays[agent.problem.arms.index(decision.arm)] += 1
        agent.tell(decision, 0.5)
    assert agent.misfits == misfits
    assert 0 < misfits < 38
