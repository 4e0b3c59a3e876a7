"""Beliefs and verdicts, against sums over models written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fpbandits import Agent, ConflictError, InputError, Problem
from fpbandits.agent.agent import Late
from fpbandits.agent.belief import Belief, best_arm, not_ruled_out, verdict

SHOP = Problem.bernoulli(
    [[0.6, 0.5, 0.5], [0.2, 0.5, 0.5], [0.2, 0.5, 0.7]],
    value=[10, 10, 10],
    arms=["a", "b", "c"],
    models=["x", "y", "z"],
)


@pytest.mark.parametrize(
    ("posterior", "arm", "probability", "loss"),
    [
        ([0.6, 0.3, 0.1], "a", 0.6, 0.3 * 3 + 0.1 * 5),
        ([0.5, 0.3, 0.2], "c", 0.5, 0.5),  # a is best as likely, and loses more
        ([0.3, 0.4, 0.3], "c", 0.7, 0.3),
        ([0.0, 1.0, 0.0], "b", 1.0, 0.0),  # so is c: the first of them
    ],
)
def test_the_arm_most_likely_best_and_what_it_loses(
    posterior: list[float], arm: str, probability: float, loss: float
) -> None:
    belief = best_arm(SHOP, np.array(posterior), 0)
    assert belief.arm == arm
    assert (belief.probability, belief.loss) == pytest.approx((probability, loss))
    assert repr(belief) == f"Belief(arm={arm!r}, probability={probability:g}, loss={loss:g})"


def test_rounding_decides_nothing() -> None:
    # a is best with probability 0.1 + 0.2, which is above 0.3 as a float, and loses more than b.
    means = [[0.6, 0.5, 0.1], [0.6, 0.5, 0.1], [0.1, 0.5, 0.1], [0.1, 0.2, 0.6]]
    problem = Problem.bernoulli(means, arms=["a", "b", "c"])
    assert best_arm(problem, np.array([0.1, 0.2, 0.3, 0.0]), 0).arm == "b"
    # Probabilities may add up to a little more than 1.
    surely = Problem.bernoulli([[0.9, 0.1], [0.9, 0.2]])
    assert best_arm(surely, np.array([0.5, 0.5 + 2**-52]), 0).probability == 1
    # 0.1 + 0.2 and 0.3 differ by rounding, so both arms are best.
    tied = Problem.bernoulli([[0.3, 0.1 + 0.2], [0.1 + 0.2, 0.3]], arms=["a", "b"])
    assert best_arm(tied, np.array([0.5, 0.5]), 0) == Belief("a", 1.0, 0.0)
    assert verdict(tied, np.array([0.5, 0.5]), 0, 0.05) == "a"


def test_beliefs_in_contexts_are_those_of_the_context() -> None:
    generator = np.random.default_rng(1)
    means = generator.uniform(size=(5, 3, 4))
    problem = Problem.bernoulli(means, contexts=["p", "q", "r"], range=(0, 1))
    agent = Agent(problem)
    for step in range(30):
        context = "pqr"[step % 3]
        decision = agent.ask(context)
        agent.tell(decision, int(generator.random() < 0.5))
        posterior = np.array(list(agent.posterior().values()))
        for index, name in enumerate("pqr"):
            best = means[:, index].argmax(axis=1)
            chances = [posterior[best == arm].sum() for arm in range(4)]
            arm = int(np.argmax(chances))
            loss = posterior @ (means[:, index].max(axis=1) - means[:, index, arm])
            belief = agent.best_arm(name)
            assert problem.arms.index(belief.arm) == arm
            assert (belief.probability, belief.loss) == pytest.approx((chances[arm], loss))
            left = [
                best[model]
                for model in range(5)
                if posterior[model] / (1 - posterior[model]) > 0.3 * 0.2 / 0.8
            ]
            expected = problem.arms[left[0]] if len({*left}) == 1 else None
            assert agent.verdict(0.3, name) == expected
    for asked in (agent.best_arm, agent.verdict):
        with pytest.raises(InputError, match="has contexts: say which one"):
            asked()


def test_a_model_is_ruled_out_by_its_odds() -> None:
    prior = np.array([0.5, 0.5])
    # Odds of 1 to 20, and a little less.
    for low, both in ((1 / 21 - 1e-9, False), (1 / 21 + 1e-9, True)):
        assert not_ruled_out(np.array([1 - low, low]), prior, 0.05).tolist() == [True, both]
    # Whatever p ≤ error·π rules out is ruled out, for any posterior and prior.
    generator = np.random.default_rng(2)
    for _ in range(500):
        prior, posterior = generator.dirichlet(np.ones(4), 2)
        error = generator.uniform(0.01, 0.9)
        left = not_ruled_out(posterior, prior, error)
        assert not left[posterior <= error * prior].any()
        assert left[posterior > prior].all()
        assert left.any()


def test_what_the_prior_excludes_or_is_sure_of() -> None:
    one = Problem.bernoulli([[0.2, 0.9]])
    assert Agent(one).verdict(0.001) == "arm2"
    sure = Problem.bernoulli([[0.2, 0.9], [0.9, 0.2]], prior={"theta1": 0})
    agent = Agent(sure)
    agent.observe("arm1", 0)  # unlikely under theta2, of which the prior is sure
    assert agent.verdict() == "arm1"
    assert agent.best_arm() == Belief("arm1", 1, 0)


def test_verdicts_need_agreement_of_all_that_are_left() -> None:
    problem = SHOP
    prior = np.full(3, 1 / 3)
    assert verdict(problem, prior, 0, 0.05) is None
    assert verdict(problem, np.array([0, 0.5, 0.5]), 0, 0.05) == "c"
    assert verdict(problem, np.array([0, 1.0, 0]), 0, 0.05) == "b"  # the first of equals
    assert verdict(problem, np.array([0.5, 0.5, 0]), 0, 0.05) is None


def test_a_verdict_may_be_withdrawn() -> None:
    agent = Agent(Problem.bernoulli([[0.9, 0.5], [0.1, 0.5]]))
    for _ in range(2):
        agent.observe("arm1", 1)
    assert agent.verdict(0.05) == "arm1"  # odds of 81
    agent.observe("arm1", 0)
    assert agent.verdict(0.05) is None
    assert agent.verdict(0.2) == "arm1"


@pytest.mark.parametrize("policy", ["frugal:change_rate=0.1", "thompson-theta:change_rate=0.1"])
def test_no_verdict_where_the_truth_changes(policy: str) -> None:
    agent = Agent("paper:two", policy)
    with pytest.raises(ConflictError, match=r"expects the truth to change.*leave out change_rate"):
        agent.verdict()
    decision = agent.ask()
    agent.tell(decision, 1)
    assert agent.posterior() == agent.problem.posterior([(decision.arm, 1)])


@pytest.mark.parametrize("error", [0, 1, -0.1, float("nan"), "0.05", True, None])
def test_the_error_of_a_verdict_is_a_probability(error: Any) -> None:
    with pytest.raises(InputError, match="error"):
        Agent("paper:two").verdict(error)


def test_beliefs_do_not_depend_on_who_decides() -> None:
    problem = Problem.discrete(
        [[[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], [[0.25, 0.5, 0.25], [0.6, 0.2, 0.2]]],
        support=[0, 0.5, 1],
        prior={"theta1": 3},
    )
    generator = np.random.default_rng(3)
    history = [
        (problem.arms[int(generator.integers(2))], float(generator.integers(3)) / 2)
        for _ in range(30)
    ]
    words = ["frugal:likelihood=means", "fp-ucb", "ucb1", "thompson", "frugal:change_rate=0.2"]
    expected = problem.posterior(history)
    for word in words:
        agent = Agent(problem, word)
        for arm, reward in history:
            agent.observe(arm, reward)
        assert agent.posterior() == expected


def test_rewards_that_no_model_allows_leave_no_posterior() -> None:
    problem = Problem.discrete([[[0.5, 0.5], [0.2, 0.8]]], support=[0, 1], range=(0, 2))
    agent = Agent(problem, "ucb1")
    agent.observe("arm1", 1)
    assert agent.posterior() == {"theta1": 1}
    with pytest.warns(UserWarning, match="its models pay 0, 1 only"):
        agent.observe("arm1", 1.5)
    for state in (agent.state(), agent.another(seed=0, own_state=agent.own_state()).state()):
        again = Agent.from_state(state, problem)
        with pytest.raises(ConflictError, match="1 rewards counted by their means alone"):
            again.posterior()
        assert again.plays == {"arm1": 2, "arm2": 0}


def test_a_verdict_is_seldom_wrong_whenever_one_looks() -> None:
    """If 5 % of verdicts are wrong, more than 33 of 300 are with probability 1 in 30,000."""
    problem = Problem.bernoulli([[0.7, 0.5], [0.4, 0.5]], arms=["a", "b"])
    generator, wrong, decided = np.random.default_rng(8), 0, 0
    for run in range(300):
        agent = Agent(problem, "thompson-theta", seed=run)
        verdicts = set()
        for _ in range(60):
            decision = agent.ask()
            agent.tell(decision, int(generator.random() < (0.7 if decision.arm == "a" else 0.5)))
            verdicts.add(agent.verdict(0.05))
        wrong += "b" in verdicts
        decided += "a" in verdicts
    assert wrong <= 33
    assert decided > 200


def test_rewards_that_are_late_by_what_they_are_must_all_count_in_order() -> None:
    """If failures are never told, each arm in order has counted a row of successes.

    If 5 % of runs rule out the truth, more than 24 of 200 do with probability 1 in 30,000; if
    rewards count in order by arm, far more do.
    """
    problem = Problem.bernoulli([[0.5] * 10, [0.75] * 10])
    late: Late
    for late, few in (("all-in-order", True), ("in-order", False)):
        generator, lost = np.random.default_rng(9), 0
        for run in range(200):
            agent, ruled_out = Agent(problem, "ucb1", late=late, explore=1, seed=run), False
            for _ in range(60):
                decision = agent.ask()
                if generator.random() < 0.5:
                    agent.tell(decision, 1)
                weights = np.array(list(agent.posterior().values()))
                left = not_ruled_out(weights, problem.weights.prior, 0.05)
                ruled_out = ruled_out or not left[0]
            lost += ruled_out
        assert (lost <= 24) is few
