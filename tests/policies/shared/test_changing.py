"""Beliefs in a truth that changes, against the filter of a hidden chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hidden import DENSE, SPARSE, beliefs, tenths
from scipy import stats

from fpbandits import (
    FPLLR,
    Agent,
    BeliefGreedy,
    Frugal,
    InputError,
    Optimist,
    Problem,
    ThompsonTheta,
    simulate,
)
from fpbandits.core.arrays import Floats
from fpbandits.engine.contract import Ahead
from fpbandits.engine.policy import Policy
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.changing import numbers_kept, without_infinity
from fpbandits.policies.shared.levels import theta


@pytest.mark.parametrize("prior", [None, {"x": 5.0, "y": 0.5}])
@pytest.mark.parametrize(
    "policy", [ThompsonTheta(change_rate=0.05), Optimist(change_rate=0.05)], ids=str
)
def test_beliefs_leak_as_those_of_a_chain_that_is_drawn_anew(policy: Any, prior: Any) -> None:
    """Against the forward filter of a hidden chain that leaves for the prior before each play."""
    means = np.array([[0.9, 0.5], [0.2, 0.5], [0.4, 0.3]])
    problem = Problem.bernoulli(means, models=["x", "y", "z"], prior=prior)
    start = np.array([5, 0.5, 1]) / 6.5 if prior else np.full(3, 1 / 3)
    agent, generator = Agent(problem, policy), np.random.default_rng(3)
    belief = start
    for _ in range(60):
        decision = agent.ask()
        found = np.exp(-np.array(agent.state()["beliefs"][:3]))
        np.testing.assert_allclose(found / found.sum(), belief, rtol=1e-9)
        reward = int(generator.random() < 0.5)
        arm = problem.arms.index(decision.arm)
        agent.tell(decision.id, reward)
        belief = belief * (means[:, arm] if reward else 1 - means[:, arm])
        belief = 0.95 * belief / belief.sum() + 0.05 * start


@pytest.mark.parametrize("likelihood", ["law", "means"])
@pytest.mark.parametrize("kind", [ThompsonTheta, BeliefGreedy, Optimist, Frugal])
@pytest.mark.parametrize("laws", ["bernoulli", "categorical"])
def test_a_model_that_was_impossible_comes_back(kind: Any, likelihood: str, laws: str) -> None:
    """Against the same filter, through rewards that one model rules out, and then the other."""
    means = np.array([[1.0, 1.0], [0.0, 0.0], [0.5, 0.5]])
    if laws == "bernoulli":
        problem = Problem.bernoulli(means)
    else:
        problem = Problem.discrete([[[1 - m, m] for m in row] for row in means], [0, 1])
    agent, start = Agent(problem, kind(change_rate=0.05, likelihood=likelihood)), np.full(3, 1 / 3)
    belief = start
    for reward in [1] * 5 + [0] * 30 + [1] * 40 + [0, 1, 0] + [1] * 5:
        decision = agent.ask()
        found = np.exp(-np.array(agent.state()["beliefs"][:3]))
        np.testing.assert_allclose(found / found.sum(), belief, rtol=1e-9)
        agent.tell(decision.id, reward)
        belief = belief * (means[:, 0] if reward else 1 - means[:, 0])
        belief = 0.95 * belief / belief.sum() + 0.05 * start


@pytest.mark.parametrize("kind", [Frugal, BeliefGreedy, ThompsonTheta])
@pytest.mark.parametrize("contexts", [(), ("mobile", "desktop")])
def test_a_model_that_was_ruled_out_comes_back(kind: Any, contexts: tuple[str, ...]) -> None:
    rows = [[1.0, 0.5], [0.0, 0.5]]
    means = [[row] * len(contexts) for row in rows] if contexts else rows
    problem = Problem.bernoulli(means, contexts=contexts or None)
    agent, belief = Agent(problem, kind(change_rate=0.01)), np.full(2, 0.5)
    for number, reward in enumerate([1] * 5 + [0] * 5 + [1] * 5):
        context = contexts[number % 2] if contexts else None
        decision = agent.follow("arm1", context)
        found = np.exp(-np.array(agent.state()["beliefs"][:2]))
        np.testing.assert_allclose(found / found.sum(), belief, rtol=1e-9)
        agent.tell(decision, reward)
        belief = belief * [reward, 1 - reward]
        belief = 0.99 * belief / belief.sum() + 0.005


def test_agents_that_kept_an_infinite_cost_forget_it() -> None:
    problem = Problem.bernoulli([[1.0, 0.5], [0.2, 0.5]])
    agent = Agent(problem, ThompsonTheta(change_rate=0.05))
    for _ in range(3):
        agent.tell(agent.ask(), 1)
    agent.ask()
    old = agent.state()
    believed = old["beliefs"][:2]
    old["beliefs"][2] = 1e250  # what the first model cost so far, before 0.9.0
    again = Agent.from_state(old, problem)
    again.ask()
    assert again.state()["beliefs"][:2] == pytest.approx(believed)


def test_late_rewards_leak_once_for_each() -> None:
    """Plans without news change no belief; three rewards at once leak as three plays do."""
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])
    agent = Agent(problem, ThompsonTheta(change_rate=0.1), late="any")
    decisions = [agent.ask() for _ in range(4)]
    before = agent.state()["beliefs"]
    assert before[:2] == [0, 0]
    for decision in decisions[:3]:
        agent.tell(decision.id, 1)
    agent.ask()
    plays = [agent.plays["arm1"], agent.plays["arm2"]]
    likelihood = np.array([0.9, 0.2]) ** plays[0] * 0.5 ** plays[1]
    belief = 0.9**3 * likelihood / likelihood.sum() + (1 - 0.9**3) / 2
    found = np.exp(-np.array(agent.state()["beliefs"][:2]))
    np.testing.assert_allclose(found / found.sum(), belief / belief.sum(), rtol=1e-9)


def test_leaking_beliefs_follow_a_truth_that_changes() -> None:
    """Seeds fixed; what forgets loses a twentieth of what does not, with a wide margin."""
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], models=["loyal", "thrifty"])
    policies = [
        Optimist(),
        Optimist(change_rate=1e-4),
        ThompsonTheta(),
        ThompsonTheta(change_rate=1e-4),
    ]
    result = simulate(
        problem, policies, truth={0: "loyal", 5000: "thrifty"}, horizon=10**4, runs=30
    )
    for name in ("optimist", "thompson-theta"):
        forgetful = result.final_regret(f"{name}:change_rate=0.0001").mean()
        assert forgetful < 0.05 * result.final_regret(name).mean()
    again = Agent(problem, ThompsonTheta(change_rate=0.01))
    for reward in (1, 0, 1):
        again.tell(again.ask().id, reward)
    other = Agent.from_state(again.state(), problem)
    assert [again.ask().arm for _ in range(5)] == [other.ask().arm for _ in range(5)]


@pytest.mark.parametrize("kind", [Optimist, ThompsonTheta])
def test_a_change_is_no_more_than_certain(kind: Any) -> None:
    assert kind(change_rate=1).change_rate == 1
    with pytest.raises(
        InputError, match="change_rate is 2: it is the probability of a change before"
    ):
        kind(change_rate=2)
    with pytest.raises(InputError, match="it must be 0 or more"):
        kind(change_rate=-0.1)


FOLLOWING = [Frugal(), Optimist(), ThompsonTheta(), BeliefGreedy()]


def play_in_python(policy: Policy, problem: Problem, rewards: Floats) -> tuple[list[int], Any]:
    """Play in plain Python, as a simulation does, where ``rewards[play, arm]`` are paid.

    Return the arms, and the policy's extra numbers after each plan.
    """
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace, random = policy.workspace(prepared, problem.pairs), np.random.default_rng(0)
    arms, extra = [], []
    for t, paid in enumerate(rewards):
        with np.errstate(all="ignore"):
            policy.plan(prepared, state, workspace, Ahead(None, 1, t, None), random)
        arm = int(workspace.cycle[0])
        arms.append(arm)
        extra.append(state.extra.copy())
        if problem.rewards.statistics:
            state.statistics[arm] += problem.rewards.statistics_of(arm, paid[arm])
        policy.observe(prepared, state, arm, 1, paid[arm], random)
    return arms, extra


@pytest.mark.parametrize("policy", FOLLOWING, ids=str)
@pytest.mark.parametrize("chain", [SPARSE, DENSE])
def test_beliefs_that_follow_a_chain_are_sums_over_all_paths(policy: Any, chain: Any) -> None:
    """Discrete rewards, some of which some models rule out."""
    laws = ((9, 1, 0), (2, 3, 5), (0, 5, 5), (4, 4, 2), (0, 0, 10))
    table = [[row, row[::-1]] for row in (tuple(n / 10 for n in law) for law in laws)]
    transitions = [[float(p) for p in row] for row in tenths(chain)]
    problem = Problem.discrete(table, support=[0, 0.5, 1], transitions=transitions)
    random, plays = np.random.default_rng(2), 12 if chain is SPARSE else 6
    rewards = random.choice([0, 0.5, 1], (plays, 2))
    arms, extra = play_in_python(policy, problem, rewards)
    exact_laws, told = tenths(laws), list[Any]()
    for play, arm in enumerate(arms):
        exact = beliefs(tenths([[2] * 5])[0], tenths(chain), told)
        found = np.exp(-extra[play][:5])
        np.testing.assert_allclose(found / found.sum(), [float(p) for p in exact], atol=1e-12)
        value = round(2 * rewards[play, arm])
        told.append([law[value if arm == 0 else 2 - value] for law in exact_laws])
    assert len(set(arms)) == 2


@pytest.mark.parametrize("policy", FOLLOWING, ids=str)
@pytest.mark.parametrize("family", ["beta", "normal"])
def test_beliefs_that_follow_a_chain_are_by_the_densities_of_rewards(
    policy: Policy, family: str
) -> None:
    chain, means = (
        np.array([[0.8, 0.2, 0], [0.1, 0.8, 0.1], [0.3, 0, 0.7]]),
        np.array([[0.3, 0.6], [0.5, 0.4], [0.8, 0.1]]),
    )
    random = np.random.default_rng(4)
    if family == "beta":
        problem, rewards = Problem.beta(means, 5.0, transitions=chain), random.beta(2, 2, (15, 2))
        units, density = rewards, stats.beta(5 * means, 5 * (1 - means)).pdf
    else:
        problem = Problem.gaussian(means, deviation=0.4, transitions=chain)
        rewards, density = random.normal(0.5, 0.4, (15, 2)), stats.norm(means, 0.4).pdf
        units = problem.rewards.to_unit(rewards)
    arms, extra = play_in_python(policy, problem, units)
    belief = np.full(3, 1 / 3)
    for play, arm in enumerate(arms):
        found = np.exp(-extra[play][:3])
        np.testing.assert_allclose(found / found.sum(), belief, rtol=1e-9)
        belief = (belief * density(rewards[play, arm])[:, arm]) @ chain
        belief /= belief.sum()


@pytest.mark.parametrize("kind", [Frugal, Optimist, ThompsonTheta, BeliefGreedy])
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_a_chain_that_leaks_to_the_prior_decides_as_a_change_rate_does(
    kind: Any, rate: float
) -> None:
    means = [[0.9, 0.5, 0.1], [0.2, 0.5, 0.4], [0.4, 0.3, 0.8]]
    prior = {"theta1": 0.5, "theta2": 0.3, "theta3": 0.2}
    leaking = (1 - rate) * np.eye(3) + rate * np.array([0.5, 0.3, 0.2])
    plain = Problem.bernoulli(means, prior=prior)
    moving = Problem.bernoulli(means, prior=prior, transitions=leaking)
    rewards = (np.random.default_rng(5).random((200, 3)) < 0.5).astype(float)
    ours, _ = play_in_python(kind(), moving, rewards)
    theirs, _ = play_in_python(kind(change_rate=rate), plain, rewards)
    assert ours == theirs
    # A rate counts in place of the problem's own chain.
    assert theirs == play_in_python(kind(change_rate=rate), moving, rewards)[0]
    agents = Agent(moving, kind(), seed=1), Agent(plain, kind(change_rate=rate), seed=1)
    for paid in rewards[:100]:
        first, second = (agent.ask() for agent in agents)
        assert first == second
        for agent in agents:
            agent.tell(first.id, paid[plain.arms.index(first.arm)])


def test_what_cannot_be_costs_some_hundred_nats() -> None:
    """By the law of rewards, or by their means."""
    laws = [[[0.25, 0.5, 0.25]], [[1.0, 0.0, 0.0]]]
    levels = theta(Problem.discrete(laws, [0, 0.5, 1]), by_law=True)
    finite = without_infinity(levels)
    for before, after in ((levels.base, finite.base), (levels.cost, finite.cost)):
        impossible = before >= IMPOSSIBLE
        np.testing.assert_array_equal(after[~impossible], before[~impossible])
        assert (after[impossible] == 700).all()
    assert (levels.cost >= IMPOSSIBLE).any()
    by_means = without_infinity(theta(Problem.bernoulli([[0.0], [0.5], [1.0]])))
    assert by_means.levels.tolist() == [[1e-300, 0.5, 1 - 1e-16]]
    assert by_means.levels[0, 2] < 1
    normal = theta(Problem.gaussian([[-3.0], [5.0]], 2))
    assert without_infinity(normal).levels.tolist() == normal.levels.tolist()


def test_how_many_numbers_a_policy_keeps() -> None:
    """With a rate beliefs and costs; with a chain beliefs and what was counted; and two more."""
    means = [[[0.9, 0.5, 0.2]] * 2, [[0.2, 0.5, 0.1]] * 2]
    still = Problem.beta(means, 4.0, contexts=["a", "b"])
    moving = Problem.beta(means, 4.0, contexts=["a", "b"], transitions=[[0.9, 0.1], [0.1, 0.9]])
    assert numbers_kept(moving) == 2 + 6 * (2 + 2) + 2
    for kind in (Frugal, Optimist, ThompsonTheta, BeliefGreedy):
        slow = kind(change_rate=0.1)
        kept = [each.extra_numbers(p) for each in (kind(), slow) for p in (still, moving)]
        assert kept == [0, 28, 6, 6]
        assert [each.follows(p) for each in (kind(), slow) for p in (still, moving)] == [
            *(False, True),
            *(False, False),
        ]
    other = FPLLR()
    assert [other.extra_numbers(p) for p in (still, moving)] == [0, 0]
    assert not other.follows(moving)


def test_a_policy_that_expects_no_change_keeps_what_is_impossible() -> None:
    problem = Problem.bernoulli([[0.0], [0.5]])
    for policy, least in ((FPLLR(), 0.0), (Optimist(), 0.0), (Optimist(change_rate=0.1), 1e-300)):
        assert policy.theta(problem).levels.tolist() == [[least, 0.5]]


def test_what_a_chain_takes_no_part_in_is_refused_in_a_line() -> None:
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], transitions=[[0.9, 0.1], [0.1, 0.9]])
    for policy, said in [
        (Frugal(false_alarm=0.1), "takes no likelihood=means and no false_alarm"),
        (Optimist(likelihood="means"), "takes no likelihood=means and no false_alarm"),
        (ThompsonTheta(prior={"theta1": 1}), "begins by its own prior: leave out prior="),
    ]:
        with pytest.raises(InputError, match=said):
            Agent(problem, policy)
