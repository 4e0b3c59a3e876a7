"""KL-UCB: its bound, and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from moments import Make, Moment, assert_certain_as, moment, moments, normal_problem, small_problem
from reference import kl
from scipy.optimize import brentq

from fpbandits import KLUCB, Agent, Problem
from fpbandits.engine.contract import CLOCK, Envelope
from fpbandits.policies.kl_ucb import _divergence, _index


def bound(mean: float, nats: float, normal: bool) -> float:
    """The largest q ≥ mean with kl(mean, q) ≤ nats."""
    if normal:
        return mean + math.sqrt(nats / 2)
    if nats <= 0 or mean >= 1:
        return mean
    end = 1 - 1e-16
    if kl(mean, end) <= nats:
        return 1.0
    return float(brentq(lambda q: kl(mean, q) - nats, mean, end, xtol=1e-16, rtol=1e-15))


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.02, 0.3, 0.5, 0.9, 1 - 1e-6, 1.0])
@pytest.mark.parametrize("nats", [0.0, 1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0, 40.0])
def test_the_bound_is_the_root_to_the_last_digits(mean: float, nats: float) -> None:
    found = _index(mean, nats, False)
    assert found == pytest.approx(bound(mean, nats, False), rel=1e-12)
    assert mean <= found <= 1
    assert _index(mean, nats, True) == mean + math.sqrt(nats / 2)


def test_divergences_of_bernoulli_and_of_normal_rewards() -> None:
    for p in (0.0, 0.2, 0.7, 1.0):
        for q in (0.1, 0.2, 0.9):
            assert _divergence(p, q, False) == pytest.approx(kl(p, q), abs=1e-15)
            assert _divergence(p, q, True) == pytest.approx((p - q) ** 2 / (2 * 0.25))


@pytest.mark.parametrize("make", [small_problem, normal_problem])
@pytest.mark.parametrize("c", [0.0, 3.0])
def test_it_is_certain_while_no_bound_can_reach_the_leaders_lowest(c: float, make: Make) -> None:
    """The leader's: of its lowest mean, with the most plays and the present t."""

    def level(t: int) -> float:
        return math.log(t) + c * math.log(math.log(t))

    def leads(one: Moment, more: int, by: float) -> bool:
        leader, n, normal = one.cycle[0], one.state.plays, not one.problem.rewards.bounded
        low, _ = one.mean_ahead(leader, more)
        least = bound(low if normal else max(low, 0), level(one.t) / (n[leader] + more), normal)
        return all(
            bound(mean, level(one.t + more) / n[arm], normal) < least + 10 * by
            for arm, mean in enumerate(one.seen)
            if arm != leader
        )

    assert_certain_as(leads, moments(KLUCB(c=c), 100, make))


def test_an_arm_whose_bound_is_just_below_the_leaders_is_certain_to_stay() -> None:
    """By a billionth, where it is certain, and where it is not."""
    n = np.array([1000, 50])
    for by, certain in ((-1e-9, True), (1e-9, False)):
        least = bound(0.6, math.log(1050) / n[0], False) + by
        # The mean of the second arm that has this bound.
        mean = brentq(lambda p, q=least: kl(p, q) - math.log(1050) / n[1], 1e-9, least, xtol=1e-16)
        policy, problem = KLUCB(), Problem.bernoulli([[0.6, 0.5]])
        state = policy.new_state(problem)
        state.plays[:], state.sums[:], state.counters[CLOCK] = n, n * [0.6, mean], 1050
        one = moment(policy, problem, state, Envelope(np.array([0.6, 0.5]), 0.5))
        one.workspace.cycle[0] = 0
        assert one.holds_for(1) is certain


def test_the_level_is_ln_t_until_there_is_a_logarithm_of_it() -> None:
    """ln ln t counts from t = 3 on; why gives the index in the user's units."""
    problem = Problem.beta([[12, 14]], 3, range=(10, 20))
    for c in (0.0, 0.5, 3.0):
        agent = Agent(problem, KLUCB(c=c))
        agent.observe("arm1", 15)
        assert agent.why().arms["arm2"]["index"] == math.inf
        assert agent.why().arm == "arm2"
        agent.observe("arm2", 12)
        for t in (2, 3, 4):
            level = math.log(t) + (c * math.log(math.log(t)) if t > 2 else 0)
            wanted = [bound(0.5, level / (t - 1), False), bound(0.2, level, False)]
            found = [numbers["index"] for numbers in agent.why().arms.values()]
            assert found == pytest.approx([10 + 10 * q for q in wanted])
            agent.observe("arm1", 15)
