"""MOSS: what it does with the horizon, and its stability check."""

from __future__ import annotations

import math

import pytest
from moments import Make, Moment, assert_certain_as, moments, normal_problem, small_problem

from fpbandits import MOSS, Agent, InputError, Problem, simulate
from fpbandits.policies import parse_policy


def width(share: float, n: float) -> float:
    return math.sqrt(max(0.0, math.log(share / n)) / n)


@pytest.mark.parametrize("make", [small_problem, normal_problem])
@pytest.mark.parametrize("horizon", [0, 10**4])
def test_it_is_certain_while_no_index_can_reach_the_leaders_lowest(
    horizon: int, make: Make
) -> None:
    """The leader's: of its lowest mean with the most plays; the others' are those of the end."""

    def leads(one: Moment, more: int, by: float) -> bool:
        leader, n = one.cycle[0], one.state.plays
        share = (horizon or one.t + more) / len(n)
        least = one.mean_ahead(leader, more)[0] + width(share, n[leader] + more)
        others = [mean + width(share, plays) for mean, plays in zip(one.seen, n, strict=True)]
        return all(index < least + by for arm, index in enumerate(others) if arm != leader)

    assert_certain_as(leads, moments(MOSS(horizon=horizon), 150, make))


def test_why_gives_the_index_in_the_users_units() -> None:
    problem = Problem.bernoulli([[12, 14]], range=(10, 20))
    for horizon in (0, 100):
        agent = Agent(problem, MOSS(horizon=horizon))
        for arm, reward in (("arm1", 20), ("arm1", 10), ("arm1", 20), ("arm2", 10)):
            agent.observe(arm, reward)
        share = (horizon or 4) / 2
        assert [numbers["index"] for numbers in agent.why().arms.values()] == pytest.approx(
            [10 + 10 * (2 / 3 + width(share, 3)), 10 + 10 * width(share, 1)]
        )


def test_an_arm_that_had_its_share_is_taken_at_its_mean() -> None:
    """Told T = 8 the second of two arms is tried four times at most; not told, again and again."""
    plays = []
    for policy in (MOSS(horizon=8), MOSS()):
        agent = Agent(Problem.bernoulli([[0.5, 0.5]]), policy)
        for _ in range(1000):
            decision = agent.ask()
            agent.tell(decision.id, 1 if decision.arm == "arm1" else 0.9)
        plays.append(agent.plays["arm2"])
    assert plays[0] <= 4
    assert plays[1] > 40


def test_regret_is_within_its_bound() -> None:
    """Gaps of √(L/T), where regret is largest: 49 √(LT) is far above, and UCB1's is higher.

    30 runs each, seed 0; UCB1 loses 15 standard errors more.
    """
    horizon = 10**5
    gap = 2 * math.sqrt(10 / horizon)
    problem = Problem.bernoulli([[0.5 + gap] + [0.5] * 9], truth="theta1")
    words = [f"moss:horizon={horizon}", "moss", "ucb1"]
    result = simulate(
        problem, list(map(parse_policy, words)), horizon=horizon, runs=30, times=[horizon]
    )
    told, untold, ucb1 = (result.final_regret(name) for name in result.pulls)
    assert told.max() < 49 * math.sqrt(10 * horizon)
    assert told.mean() < ucb1.mean()
    assert untold.mean() < ucb1.mean()


def test_words_for_it() -> None:
    assert parse_policy("moss:horizon=1e5") == MOSS(horizon=1e5)
    assert str(MOSS(horizon=1e5)) == "moss:horizon=100000.0"
    assert MOSS().horizon == 0
    with pytest.raises(InputError, match="moss: horizon is -1: it must be 0 or more"):
        MOSS(horizon=-1)
