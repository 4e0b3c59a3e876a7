"""Thompson sampling on Θ: its prior, as it is written and as it plays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from laws import chi_square
from moments import (
    Moment,
    assert_certain_as,
    moment,
    moments,
    normal_problem,
    planned,
    small_problem,
)
from reference import best_arm

from fpbandits import Agent, InputError, Problem, ThompsonTheta, load_problem, simulate
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import BOUND, CLOCK, OWN, Envelope
from fpbandits.engine.ready import plan_once
from fpbandits.errors import UnknownError
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies import parse_policy
from fpbandits.policies.shared.likelihood import bracket
from fpbandits.policies.thompson_theta import _candidate, _draw, _odds

TWO = load_problem("paper:two")


def test_a_prior_is_written_and_read() -> None:
    policy = ThompsonTheta({"theta1": 3, "theta2": 1})
    assert str(policy) == "thompson-theta:prior=theta1=3.0,theta2=1.0"
    assert parse_policy(str(policy)) == policy
    assert parse_policy("thompson-theta:prior=theta1=3,theta2=1") == policy
    assert ThompsonTheta(prior=[("theta1", 3), ("theta2", np.float64(1))]) == policy
    assert str(ThompsonTheta()) == "thompson-theta"


def test_names_of_any_kind_can_stand_in_a_prior() -> None:
    policy = ThompsonTheta({"0.6,0.4": 1, "a=b": 2, "x:y": 0.5, "50 %": 3})
    assert parse_policy(str(policy)) == policy


def test_weights_need_not_add_up_to_one() -> None:
    cost = ThompsonTheta({"theta2": 9, "theta1": 3}).prepare(TWO).cost
    np.testing.assert_allclose(cost, [math.log(4), math.log(4 / 3)])
    np.testing.assert_allclose(ThompsonTheta().prepare(TWO).cost, math.log(2))
    only = ThompsonTheta({"theta2": 1}).prepare(TWO).cost
    assert only.tolist() == [IMPOSSIBLE, 0]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (3, "a prior gives weights by name, as {'theta1': 3, 'theta2': 1}, not 3"),
        ([1, 2], "a prior gives weights by name"),
        ({"theta1": -1}, "the prior of 'theta1' is -1: it must be a number, 0 or more"),
        ({"theta1": True}, "the prior of 'theta1' is True: it must be a number"),
        ({"theta1": "3"}, "the prior of 'theta1' is '3': it must be a number"),
        ({"theta1": math.nan}, "the prior of 'theta1' is nan"),
        ({"theta1": math.inf}, "the prior of 'theta1' is inf"),
        ({"theta1": 0, "theta2": 0}, "the prior leaves no model possible"),
        ({}, "the prior leaves no model possible"),
        ("theta1", "expected prior=NAME=WEIGHT,… (a comma in a name is %2C), not 'theta1'"),
        ("theta1=much", "expected prior=NAME=WEIGHT,…"),
    ],
)
def test_priors_that_are_none(prior: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ThompsonTheta(prior)
    assert str(caught.value).startswith("thompson-theta: ")
    assert message in str(caught.value)


def test_a_prior_names_models_of_the_problem() -> None:
    with pytest.raises(UnknownError, match="unknown model 'theta3': did you mean 'theta"):
        Agent(TWO, ThompsonTheta({"theta3": 1}))


def test_before_any_reward_models_are_drawn_from_the_prior() -> None:
    """Seeds 0 … 3999; 5 standard errors. Arm 2 is best under the second model alone."""
    policy = ThompsonTheta({"theta1": 3, "theta2": 1})
    prepared, state = prepare(policy, TWO), policy.new_state(TWO)
    workspace = policy.workspace(prepared, 2)
    second = 0
    for seed in range(4000):
        nothing = np.zeros(2, np.int64)
        plan_once(prepared, state, workspace, 0, nothing, np.random.default_rng(seed))
        second += int(workspace.cycle[0])
    assert abs(second / 4000 - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 4000)


def test_what_the_prior_rules_out_is_never_believed() -> None:
    problem = Problem.bernoulli([[0.6, 0.4, 0.1], [0.4, 0.6, 0.1], [0.1, 0.4, 0.6]])
    policy = ThompsonTheta({"theta1": 1, "theta2": 1})
    result = simulate(problem, policy, truth="theta3", horizon=10**5, runs=5)
    pulls = result.pulls[str(policy)][:, -1]
    assert (pulls[:, 2] == 0).all()
    assert (pulls.sum(axis=1) == 10**5).all()


def test_large_and_small_weights_keep_their_proportions() -> None:
    """1e308 + 1e308 is no number: their sum became infinite, and the prior uniform."""
    for scale in (1e308, 1.0, 1e-300):
        cost = ThompsonTheta({"theta1": scale, "theta2": scale / 4}).prepare(TWO).cost
        np.testing.assert_allclose(cost, [math.log(1.25), math.log(5)], rtol=1e-12)
    both = ThompsonTheta({"theta1": 1e308, "theta2": 1.7e308}).prepare(TWO).cost
    np.testing.assert_allclose(both, [math.log(2.7), math.log(2.7 / 1.7)], rtol=1e-12)
    for weight in (10**400, float("inf"), np.complex128(1), np.timedelta64(1), np.True_):
        with pytest.raises(
            InputError, match=r"the prior of 'theta1' is .*: it must be a number, 0"
        ):
            ThompsonTheta({"theta1": weight})


def test_scaling_rounds_nothing() -> None:
    """Costs are those of weights that were never scaled, to the last bit."""
    random = np.random.default_rng(5)
    for weights in random.exponential(size=(200, 2)) * 10.0 ** random.integers(-9, 9, (200, 1)):
        policy = ThompsonTheta(dict(zip(TWO.models, weights, strict=True)))
        assert (policy.prepare(TWO).cost == -np.log(weights / weights.sum())).all()


def test_names_in_a_prior_are_plain_texts() -> None:
    policy = ThompsonTheta({np.str_("theta1"): 3, "theta2": 1})
    assert policy == ThompsonTheta({"theta1": 3, "theta2": 1})
    assert repr(policy.prior) == "(('theta1', 3.0), ('theta2', 1.0))"


def test_models_are_named_by_texts() -> None:
    with pytest.raises(InputError, match="a prior names models by texts, not by 1"):
        ThompsonTheta(prior={1: 3.0})


def test_odds_against_an_arm_are_those_of_its_models() -> None:
    """Others' weights over its own: the worst case has others at their lowest, its own highest."""
    best = np.array([0, 1, 0, 2, 1])
    low, high = np.array([0.3, 2.0, 1.0, 4.0, 3.0]), np.array([0.5, 2.5, 1.5, 4.0, 9.0])
    others, own = np.exp(-low[[1, 3, 4]]).sum(), np.exp(-high[[0, 2]]).sum()
    assert _odds(best, low, high, 0) == pytest.approx(others / own, rel=1e-12, abs=0)
    # Differences of thousands, which no exponential function can take.
    far = low + np.array([5000.0, 0, 5000, 0, 0])
    assert math.log(_odds(best, low, low - 5000 * (best != 0), 0)) == pytest.approx(
        math.log(others / np.exp(-low[[0, 2]]).sum())
    )
    assert _odds(best, far, far, 0) > 1e300
    assert _odds(best, far, far, 1) == pytest.approx(
        math.exp(-low[3]) / np.exp(-low[[1, 4]]).sum(), rel=1e-12
    )


def test_a_candidate_is_another_arm_as_often_as_the_posterior_says() -> None:
    """Candidates come with the bound's chance, so each of them with the posterior's over that.

    Seed 6, 20,000 candidates, one χ² test at level 1e-4.
    """
    best, energy = np.array([0, 1, 1, 2, 0]), np.array([0.1, 2.3, 3.0, 2.9, 1.0])
    chances = np.exp(-energy) / np.exp(-energy).sum()
    bound, random = 0.4, np.random.default_rng(6)
    drawn = [_candidate(best, energy, bound, 0, random) for _ in range(20_000)]
    of_arm = np.bincount(best, chances) / bound
    of_arm[0] = 1 - of_arm[1:].sum()
    assert chi_square(np.bincount(drawn, minlength=3), 20_000 * of_arm) > 1e-4


class Draws:
    """A stream that gives these numbers, in turn: uniform ones and exponential ones."""

    def __init__(self, uniform: list[float], exponential: list[float] | None = None) -> None:
        self.uniform, self.exponential = uniform, exponential or []

    def random(self) -> float:
        return self.uniform.pop(0)

    def standard_exponential(self) -> float:
        return self.exponential.pop(0)


def test_a_model_is_drawn_by_its_weight() -> None:
    """Of weights ½, ¼, ¼ and 0. Where rounding leaves nothing below the draw, the last of them."""
    cost, best = np.array([math.log(2), math.log(4), math.log(4), 1e9]), np.array([0, 1, 0, 2])
    for draw, model in ((0.0, 0), (0.499, 0), (0.501, 1), (0.749, 1), (0.751, 2), (1.0, 2)):
        assert _draw(cost, best, -1, Draws([draw])) == model  # type: ignore[arg-type]
    for leader, draw, model in ((0, 0.99, 1), (1, 0.66, 0), (1, 0.67, 2), (2, 0.5001, 1)):
        assert _draw(cost, best, leader, Draws([draw])) == model  # type: ignore[arg-type]
    assert _draw(cost + 5000, best, 1, Draws([0.67])) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [small_problem, normal_problem])
def test_a_plan_is_certain_while_the_odds_of_another_arm_are_below_the_bound(make: Any) -> None:
    def stays(one: Moment, more: int, by: float) -> bool:
        fit = one.workspace.fit
        bracket(one.prepared.theta, one.envelope, fit, np.array(one.cycle), 1, more)
        best = np.array([best_arm(row) for row in one.unit_means.tolist()])
        own = best == one.cycle[0]
        others = np.logaddexp.reduce(-fit.lowest[~own], initial=-math.inf)
        odds = others - np.logaddexp.reduce(-fit.highest[own], initial=-math.inf)
        return bool(odds <= math.log(one.state.drawn[BOUND]) + by)

    def leaps(one: Moment) -> bool:
        return bool(one.state.drawn[BOUND] > 0)

    assert_certain_as(stays, filter(leaps, moments(ThompsonTheta(), 250, make)))


def test_a_leap_ends_at_the_first_candidate() -> None:
    """Odds of 3 : 97 against arm 1, which tells nothing: candidates come with probability 6/97."""
    problem = Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]])
    policy = ThompsonTheta({"theta1": 97, "theta2": 3})
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace, envelope = policy.workspace(prepared, 2), Envelope(np.array([0.5, 0.4]), 0.5)
    rate = -math.log1p(-6 / 97)

    def plan(plays: int, uniform: list[float], exponential: float | None) -> tuple[int, int]:
        stream = Draws(uniform, [] if exponential is None else [exponential])
        given: Any = stream
        length, rounds = planned(policy, prepared, state, workspace, envelope, plays, given)
        assert (length, stream.uniform, stream.exponential) == (1, [], [])
        return int(workspace.cycle[0]), rounds

    assert plan(1, [0.969], None) == (0, 1)
    assert plan(1, [0.971], None) == (1, 1)
    assert plan(64, [], 64.01 * rate) == (0, 64)
    assert state.counters[OWN] == 0
    assert plan(64, [], 63.99 * rate) == (0, 63)
    assert state.counters[OWN] == 1  # a candidate is due: a change with probability .03/(6/97)
    assert plan(64, [0.97 / 2 - 1e-9, 0.5], None) == (1, 1)
    assert state.counters[OWN] == 0
    assert plan(64, [], 1.01 * rate) == (0, 1)
    assert plan(64, [0.97 / 2 + 1e-9], None) == (0, 1)
    # If it comes at once, it is the plan.
    assert plan(64, [0.97 / 2 - 1e-9, 0.5], 0.99 * rate) == (1, 1)
    assert plan(64, [0.97 / 2 + 1e-9], 0.99 * rate) == (0, 1)
    assert state.counters[OWN] == 0


def test_where_leaps_would_be_short_models_are_drawn_one_by_one() -> None:
    """With odds above .3 against the leader, or a truth that changes."""
    problem = Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]])
    envelope = Envelope(np.array([0.5, 0.4]), 0.5)
    for weight, rate, draws in ((0.29, 0.0, 0), (0.31, 0.0, 1), (0.29, 0.01, 1)):
        policy = ThompsonTheta({"theta1": 1, "theta2": weight}, change_rate=rate)
        prepared, state = policy.prepare(problem), policy.new_state(problem)
        workspace, stream = policy.workspace(prepared, 2), Draws([0.99], [1e9])
        given: Any = stream
        _, rounds = planned(policy, prepared, state, workspace, envelope, 50, given)
        assert len(stream.uniform) == 1 - draws
        assert (int(workspace.cycle[0]), rounds) == ((1, 1) if draws else (0, 50))


def test_the_leader_is_the_arm_of_most_mass() -> None:
    """Arms of .6, .2 and .2; and of .2, .2 and .6, each for two models."""
    means = [[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]]
    for weights, leader in (((90, 1, 1), 0), ((1, 90, 2), 1), ((1, 2, 90), 2)):
        problem = Problem.bernoulli(means)
        prior = dict(zip(problem.models, weights, strict=True))
        policy, state = ThompsonTheta(prior), ThompsonTheta().new_state(problem)
        one = moment(policy, problem, state, Envelope(np.array([0.9, 0.1, 0.1]), 0.5))
        assert one.workspace.mass.argmax() == leader
        assert one.workspace.mass / one.workspace.mass.sum() == pytest.approx(
            np.array(weights) / sum(weights)
        )
        assert one.state.drawn[BOUND] == pytest.approx(2 * (sum(weights) - 90) / 90)


def test_the_bound_on_the_odds_is_never_0() -> None:
    problem, policy = Problem.bernoulli([[0.9, 0.1], [0.1, 0.9]]), ThompsonTheta()
    state = policy.new_state(problem)
    state.plays[0], state.sums[0], state.counters[CLOCK] = 1000, 900, 1000
    one = moment(policy, problem, state, Envelope(np.array([0.9, 0.1]), 0.5))
    assert one.state.drawn[BOUND] == 1e-25


def test_why_gives_the_chance_of_each_arm_and_the_weights() -> None:
    problem = Problem.bernoulli([[0.6, 0.4, 0.1], [0.4, 0.6, 0.1], [0.6, 0.3, 0.1]])
    agent = Agent(problem, ThompsonTheta({"theta1": 1, "theta2": 2, "theta3": 1}))
    agent.observe("arm2", 1)
    weights = np.array([0.4, 1.2, 0.3]) / 1.9
    why = agent.why()
    assert [numbers["probability of being drawn"] for numbers in why.arms.values()] == (
        pytest.approx([weights[0] + weights[2], weights[1], 0])
    )
    among = agent.why(among=["arm1", "arm3"])
    assert among.arm == "arm1"


def test_a_decision_is_as_likely_as_the_models_that_hold_it_best() -> None:
    problem = Problem.bernoulli([[0.6, 0.4], [0.5, 0.8], [0.3, 0.2]])
    policy = ThompsonTheta({"theta1": 1, "theta2": 2, "theta3": 3})
    prepared, state = prepare(policy, problem), policy.new_state(problem)
    state.plays[:], state.sums[:] = [3, 2], [1, 2]
    workspace = policy.workspace(prepared, 2)
    nothing = np.zeros_like(state.plays)
    plan_once(prepared, state, workspace, 0, nothing, np.random.default_rng(0))
    weights = [
        weight * p**1 * (1 - p) ** 2 * q**2
        for weight, (p, q) in zip((1, 2, 3), problem.means.tolist(), strict=True)
    ]
    wanted = [(weights[0] + weights[2]) / sum(weights), weights[1] / sum(weights)]
    found = [policy.chance(prepared, state, workspace, arm) for arm in range(2)]
    assert found == pytest.approx(wanted, rel=1e-9)
