"""Deficits in several contexts: rules that keep them decide as plain twins that keep nothing."""

from __future__ import annotations

from typing import Any

import context_twins
import numpy as np
import pytest
from context_twins import WORDS, player, random_problem
from scipy.special import rel_entr

from fpbandits import Agent, Optimist, Problem
from fpbandits.core.streams import PLANS, random_stream
from fpbandits.policies import parse_policy
from fpbandits.policies.shared.fit import new_fit
from fpbandits.policies.shared.likelihood import nothing_fits, weigh


@pytest.mark.parametrize("word", WORDS)
def test_agents_in_contexts_decide_as_plain_python_does(word: str) -> None:
    """Random problems, contexts and 0/1 rewards, decision for decision."""
    generator = np.random.default_rng(6)
    for _ in range(6):
        problem = random_problem(generator)
        agent, twin_player = Agent(problem, parse_policy(word), seed=4), player(word, problem)
        for number in range(150):
            context = int(generator.integers(len(problem.contexts)))
            expected = twin_player.decide(context, random_stream(4, number, PLANS))
            decision = agent.ask(context=problem.contexts[context])
            assert decision.arm == problem.arms[expected]
            assert decision.context == problem.contexts[context]
            reward = float(generator.random() < problem.means[-1][context][expected])
            agent.tell(decision.id, reward)
            twin_player.told(context, expected, reward)


@pytest.mark.parametrize(
    "kind", [context_twins.Optimist, context_twins.ThompsonTheta, context_twins.IDSTheta]
)
def test_contexts_are_weighed_by_the_law_of_their_rewards(kind: Any) -> None:
    """Normal rewards, in the user's units."""
    words = {"Optimist": "optimist", "ThompsonTheta": "thompson-theta", "IDSTheta": "ids-theta"}
    word = words[kind.__name__]
    generator = np.random.default_rng(7)
    for _ in range(6):
        means = generator.choice([-3.0, 1.0, 4.0, 6.5], (4, 3, 3))
        problem = Problem.gaussian(means, deviation=2.5, contexts=["a", "b", "c"])
        agent = Agent(problem, parse_policy(word), seed=4)
        twin_player = kind(problem, context_twins.of_normal(2.5))
        for number in range(120):
            context = int(generator.integers(3))
            expected = twin_player.decide(context, random_stream(4, number, PLANS))
            decision = agent.ask(context="abc"[context])
            assert decision.arm == problem.arms[expected]
            reward = float(generator.normal(means[-1, context, expected], 2.5))
            agent.tell(decision.id, reward)
            twin_player.told(context, expected, reward)


FAMILIES = {
    "bernoulli": lambda rows: Problem.bernoulli(rows, contexts=["a", "b", "c"]),
    "gaussian": lambda rows: Problem.gaussian(rows, 0.5, contexts=["a", "b", "c"]),
    "discrete": lambda rows: Problem.discrete(
        np.stack([0.8 * (1 - rows), np.full(rows.shape, 0.2), 0.8 * rows], axis=-1),
        [0, 0.5, 1],
        contexts=["a", "b", "c"],
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_kept_is_what_would_be_computed(family: str) -> None:
    """Reward by reward, with and without what was kept; the alarm with either, beside SciPy's."""
    generator = np.random.default_rng(9)
    for _ in range(8):
        problem = FAMILIES[family](generator.choice([0.2, 0.4, 0.5, 0.7], (4, 3, 2)))
        rewards, policy = problem.rewards, Optimist()
        theta, state = policy.theta(problem), policy.new_state(problem)
        kept = new_fit(theta)
        means = np.array(rewards.unit_means)
        for number in range(60):
            truth, pair = int(generator.integers(4)), int(generator.integers(problem.pairs))
            law = rewards.law(truth)
            state.sums[pair] += rewards.draw_sum(law, pair, 1, generator, state.statistics[pair])
            state.plays[pair] += 1
            fresh = new_fit(theta)
            best = weigh(theta, state, fresh)
            assert weigh(theta, state, kept) == best
            np.testing.assert_allclose(kept.deficit, fresh.deficit, atol=1e-9)
            n, q = state.plays, means
            if family == "gaussian":
                surprises = (2 * (state.sums - n * q) ** 2 / (n + 1)).sum(axis=1)
            else:
                rest = rel_entr(n - state.sums, n * (1 - q))
                surprises = (rel_entr(state.sums, n * q) + rest).sum(axis=1)
            costs, by_law = surprises, rewards.costs()
            if by_law is not None:
                costs = by_law[0] @ n + np.einsum("mak,ak->m", by_law[1], state.statistics)
            np.testing.assert_allclose(kept.deficit, costs - costs.min(), rtol=1e-9, atol=1e-9)
            # Half of the time just below what raises it, half of the time just above.
            limit = surprises.min() - np.log(n + 1.0).sum() + (1e-6 if number % 2 else -1e-6)
            assert nothing_fits(theta, state, kept, limit) == (number % 2 == 0)


@pytest.mark.parametrize("policy", ["optimist", "fp-llr", "frugal"])
def test_a_first_model_that_is_ruled_out_hides_no_other(policy: str) -> None:
    """Under the third model arm 1 is best in a, and arm 2 in b; the first allows no 0 of arm 1."""
    means = [[[1, 0.2], [0.5, 0.4]], [[0.3, 0.9], [0.9, 0.1]], [[0.5, 0.2], [0.1, 0.8]]]
    problem = Problem.bernoulli(means, contexts=["a", "b"])
    agent, random = Agent(problem, policy), np.random.default_rng(0)
    right = 0
    for number in range(600):
        context = "ab"[number % 2]
        decision = agent.ask(context=context)
        arm = problem.arms.index(decision.arm)
        agent.tell(decision, float(random.random() < means[2][number % 2][arm]))
        right += number >= 300 and arm == number % 2
    assert right > 250


def test_rewards_that_differ_in_the_last_statistic_alone_are_weighed_anew() -> None:
    """.1, .6, .6 and .2, .2, .9 have the same sum and product; those of 1 − x have others."""
    problem = Problem.beta([[[0.5], [0.4]], [[0.7], [0.4]]], 5, contexts=["a", "b"])
    theta, state = Optimist().theta(problem), Optimist().new_state(problem)
    kept, found = new_fit(theta), []
    for product_of_rests in (0.9 * 0.4 * 0.4, 0.8 * 0.8 * 0.1):
        state.plays[0], state.sums[0] = 3, 1.3
        state.statistics[0] = np.log([0.1 * 0.6 * 0.6, product_of_rests])
        fresh = new_fit(theta)
        assert weigh(theta, state, kept) == weigh(theta, state, fresh)
        assert kept.deficit.tolist() == pytest.approx(fresh.deficit.tolist())
        found.append(kept.deficit.tolist())
    assert found[0] != pytest.approx(found[1])
