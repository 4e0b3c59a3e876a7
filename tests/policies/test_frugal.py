"""Frugality: against plain Python, and what its docstring promises of regret.

The twins are in ``reference`` and ``context_twins``: sums over all pairs of models, and over all
choices of an arm per context. What a reward counts for that a model rules out is taken from the
code, as the definition does not say it.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import context_twins
import numpy as np
import pytest
import reference
from bounded import grown, is_bounded, problems
from laws import random_example
from plans import plan_ahead
from reference import Known, divergences, frugal_arm, misfits, posterior

from fpbandits import Agent, Problem, load_problem, simulate
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import CLOCK, Envelope
from fpbandits.engine.ready import NO_STREAM, ready
from fpbandits.policies import Frugal, parse_policy


def test_margins_are_what_is_left_of_odds_of_one_in_h() -> None:
    names = load_problem("paper:permutations").models
    prior = {name: 1.0 + number for number, name in enumerate(names)}
    means = load_problem("paper:permutations").means
    problem = Problem.bernoulli(means, models=names, prior=prior)
    policy = Frugal(delta=0.3, kappa=1.5)
    state = policy.new_state(problem)
    state.plays[:], state.sums[:], state.counters[CLOCK] = [50, 20, 3, 0], [30, 9, 1, 0], 73
    costs = misfits(means.tolist(), state.plays.tolist(), state.sums.tolist())
    energy = np.array(costs) - np.log(list(prior.values()))
    expected = math.log(1.5 * 73**1.3) - (energy - energy.min())
    np.testing.assert_allclose(policy.margins(problem, state), expected)


def few_levels(generator: np.random.Generator) -> np.ndarray:
    """Models of two to four arms on few levels, 0 and 1 among them at times: many ties."""
    size = int(generator.integers(2, 9)), int(generator.integers(2, 5))
    levels = generator.choice([0.0, 0.2, 0.4, 0.5, 0.7, 0.9, 1.0], 4, replace=False)
    return np.unique(generator.choice(levels, size), axis=0)


WORDS = {
    "frugal": {},
    "frugal:delta=0.5:kappa=0.3": {"delta": 0.5, "kappa": 0.3},
    "frugal:false_alarm=0.37": {"false_alarm": 0.37},
    "frugal:false_alarm=0.0001:trust=0.2": {"false_alarm": 0.0001, "trust": 0.2},
    "frugal:settle=0": {"settle": 0.0},
    "frugal:kappa=0.001:settle=10": {"kappa": 0.001, "settle": 10.0},
    "frugal:kappa=0.001:settle=10:false_alarm=0.0001:trust=0.2": {
        "kappa": 0.001,
        "settle": 10.0,
        "false_alarm": 0.0001,
        "trust": 0.2,
    },
}


@pytest.mark.parametrize("word", WORDS)
def test_with_ties_and_priors_it_decides_as_plain_python_does(word: str) -> None:
    """Some models rule rewards out, some are ruled out by the prior. 0/1 rewards of a model."""
    generator, policy, options = np.random.default_rng(1), parse_policy(word), WORDS[word]
    arms_played = 0
    for _ in range(60):
        means = few_levels(generator)
        weights = generator.choice([0.0, 1.0, 5.0, 1e4], len(means))
        weights[-1] = 1.0
        names = [f"theta{number + 1}" for number in range(len(means))]
        problem = Problem.bernoulli(means, prior=dict(zip(names, weights.tolist(), strict=True)))
        agent, player = Agent(problem, policy), reference.frugal(Known(problem), **options)
        expected, played = next(player), set()
        for _ in range(80):
            decision = agent.ask()
            assert decision.arm == problem.arms[expected]
            played.add(expected)
            reward = float(generator.random() < means[-1, expected])
            agent.tell(decision.id, reward)
            expected = player.send(reward)
        arms_played += len(played)
    assert arms_played > 80


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "beta", "discrete", "two-point"])
def test_with_late_rewards_it_decides_as_plain_python_does(kind: str) -> None:
    """Each reward is told up to 10 decisions late; every decision that pays counts at once."""
    generator = np.random.default_rng(2)
    paid, elsewhere = 0, 0
    for _ in range(8):
        example = random_example(kind if kind != "bernoulli" else "two-point", generator)
        problem = example.problem
        truth = example.laws[int(generator.integers(len(example.laws)))]
        if kind == "bernoulli":
            points = [[law.points or {} for law in row] for row in example.laws]
            chances = [[own[max(own)] for own in row] for row in points]
            problem = Problem.bernoulli(chances)
        agent = Agent(problem, Frugal())
        means, apart = problem.rewards.unit_means.tolist(), divergences(problem)
        costs, told, count = [0.0] * len(means), 0, 0
        out: deque[tuple[int, int, int, float]] = deque()
        for number in range(80):
            while out and out[0][0] <= number:
                _, decided, arm, reward = out.popleft()
                given = reward
                if kind == "bernoulli":
                    given = float(reward > 0)
                agent.tell(decided, given)
                costs = [
                    cost - laws[arm].log(reward)
                    for cost, laws in zip(costs, example.laws, strict=True)
                ]
                told += 1
            h = 5 * max(told, 1) ** 1.1
            p, hat = posterior([c - min(costs) for c in costs], [1.0] * len(means), h)
            arm, pays = frugal_arm(means, p, hat, h, apart, count)
            count += pays
            elsewhere += arm != reference.best_arm(means[hat])
            decision = agent.ask()
            assert decision.arm == problem.arms[arm]
            wait = out[-1][0] if out else number
            late = max(wait, number + int(generator.integers(1, 11)))
            out.append((late, decision.id, arm, truth[arm].draw(generator)))
        paid += count
    assert elsewhere > 4
    assert paid > 0 or kind in ("gaussian", "beta")


def test_in_contexts_normal_rewards_are_weighed_by_their_law() -> None:
    generator = np.random.default_rng(7)
    for _ in range(6):
        means = generator.choice([-3.0, 1.0, 4.0, 6.5], (4, 3, 3))
        problem = Problem.gaussian(
            means, deviation=2.5, contexts=["a", "b", "c"], shares=[0.6, 0.3, 0.1]
        )
        agent = Agent(problem, Frugal())
        player: Any = context_twins.Frugal(problem, context_twins.of_normal(2.5))
        for _ in range(100):
            context = int(generator.integers(3))
            expected = player.decide(context, generator)
            decision = agent.ask(context="abc"[context])
            assert decision.arm == problem.arms[expected]
            reward = float(generator.normal(means[-1, context, expected], 2.5))
            agent.tell(decision.id, reward)
            player.told(context, expected, reward)


@pytest.mark.parametrize(("kappa", "settle"), [(5.0, 1e6), (0.01, 10.0)])
def test_in_contexts_with_ties_it_decides_as_plain_python_does(kappa: float, settle: float) -> None:
    """Often something else is asked for, here or in another context, before it pays."""
    generator, instead, paid, settled = np.random.default_rng(5), 0, 0, 0
    for _ in range(40):
        size = int(generator.integers(3, 7)), 2, int(generator.integers(2, 4))
        means = np.unique(generator.choice([0.4, 0.5, 0.7], size), axis=0)
        problem = Problem.bernoulli(means, contexts=["a", "b"], shares=[0.7, 0.3])
        agent = Agent(problem, Frugal(kappa=kappa, settle=settle))
        player = context_twins.Frugal(problem, kappa=kappa, settle=settle)
        truth = means[int(generator.integers(len(means)))]
        for _ in range(60):
            context = int(generator.random() < 0.3)
            expected = player.decide(context, generator)
            decision = agent.ask(context="ab"[context])
            assert decision.arm == problem.arms[expected]
            reward = float(generator.random() < truth[context, expected])
            agent.tell(decision.id, reward)
            player.told(context, expected, reward)
        instead += player.instead
        paid += player.paid
        settled += player.settled
    assert settled > 20 if settle < 1e6 else min(instead, paid) > 20


@pytest.mark.parametrize(
    "means",
    [
        # The same in both contexts: the second holds arms 1 and 2 best, and arm 1 tells it for free
        # from the third, but costs while the first may be so.
        [[[0.4, 0.5, 0.2]] * 2, [[0.5, 0.5, 0.2]] * 2, [[0.3, 0.5, 0.7]] * 2],
        # What the third promises in a is told for free in b.
        [[[0.5, 0.2], [0.4, 0.5]], [[0.5, 0.2], [0.5, 0.5]], [[0.5, 0.7], [0.3, 0.5]]],
    ],
)
def test_in_contexts_it_asks_before_it_pays(means: Any) -> None:
    """Lost from 10³ to 10⁵ plays is next to nothing: .10 and .07 of 100 runs with seed 1.

    Were none asked, it would be 3 in the mean.
    """
    problem = Problem.bernoulli(means, contexts=["a", "b"])
    result = simulate(
        problem, Frugal(), truth="theta2", horizon=10**5, times=[10**3], runs=60, seed=1
    )
    early, late = result.regret("frugal").T
    assert (late - early).mean() < 0.5
    assert late.mean() < 4


def test_in_contexts_what_is_free_is_taken() -> None:
    """Arm 2 in x and arm 3 in y cost nothing under either model, and tell them apart."""
    problem = Problem.bernoulli(
        [
            [[0.5, 0.5, 0.1], [0.1, 0.2, 0.6]],
            [[0.4, 0.65, 0.1], [0.1, 0.2, 0.7]],
        ],
        contexts=["x", "y"],
    )
    agent = Agent(problem, Frugal())
    for _ in range(10):
        for context, arm in (("x", "arm2"), ("y", "arm3")):
            decision = agent.ask(context=context)
            assert decision.arm == arm
            agent.tell(decision.id, 1)


def test_rewards_that_are_rare_and_ruled_out_speak_too() -> None:
    """Arm 2 may do great harm once in 10⁵ plays, or never: that must be found out."""
    problem = Problem.bernoulli([[1, 1e-5], [1, 0]], value=[-5, -1e6])
    assert min(min(map(min, rows)) for rows in divergences(problem)) >= 0
    policy = Frugal()
    state = policy.new_state(problem)
    # Arm 1 was played for long, and told nothing: the first model still leads.
    plays = 10**7
    state.plays[0] = state.counters[CLOCK] = plays
    state.sums[0] = plays * float(problem.rewards.to_unit(np.array(-5.0)))
    state.statistics[0] = plays * np.array(problem.rewards.statistics_of(0, state.sums[0] / plays))
    assert ready(policy, problem).plan(state, 0, None, NO_STREAM)[0] == [1]


def test_where_no_model_is_confused_with_the_truth_regret_stays() -> None:
    """40 random problems, half with several best arms, 10 shuffled runs each, 10⁸ to 10¹⁵.

    With one best arm a run that loses after 10⁸ plays needs odds of the truth below some 10⁻⁸. With
    several, one in which the truth is not heard when all is settled: of 60,000 runs on 750 problems
    one lost something. So a false alarm in these 400 has a chance below 1 in 100.
    """
    ties = 0
    for number, (problem, several) in zip(range(40), problems(3), strict=False):
        assert is_bounded(problem.means)
        more, early = grown(problem, Frugal(), 10, number)
        assert more.max() == 0, problem.means
        assert early.max() < 1000
        ties += several > 1
    assert ties == 20


@pytest.mark.parametrize("settle", [1e6, 1e18])
def test_what_is_not_settled_early_comes_late(settle: float) -> None:
    """Under the truth, the first, arm 3 tells the fourth from it for free; the third trusts arm 1.

    If nothing is settled, 20 of 600 runs lose something between 10⁸ and 10¹⁵ plays.
    """
    problem = Problem.bernoulli(
        [[0.5, 0.25, 0.5], [0.25, 0.75, 0.25], [0.5, 0.25, 0.25], [0.5, 0.75, 0.25]]
    )
    more, _ = grown(problem, Frugal(settle=settle), 600, 0)
    assert (more > 0).any() == (settle > 1e6)


def test_problems_are_told_to_be_bounded_or_not() -> None:
    assert is_bounded(np.array([[0.5, 0.5, 0.2], [0.5, 0.3, 0.7]]))
    assert not is_bounded(np.array([[0.5, 0.5, 0.2], [0.5, 0.5, 0.7]]))
    assert not is_bounded(np.array([[0.5, 0.4, 0.2], [0.5, 0.3, 0.7]]))
    assert is_bounded(np.array([[0.5, 0.4, 0.2], [0.5, 0.3, 0.4], [0.6, 0.4, 0.9]]))


TIED = Problem.bernoulli([[0.5, 0.4, 0.2], [0.5, 0.5, 0.2], [0.5, 0.3, 0.7]])
"""Under the truth, the second, arms 1 and 2 are best; the first model trusts arm 1, and the third
promises more on arm 3. Arm 1 tells nothing, and arm 2 tells all from the truth for free."""


def test_before_it_pays_it_asks_models_with_several_best_arms() -> None:
    """Lost after 10⁶ plays is next to nothing, though the first model leads at times.

    Seed 0, 400 runs: 0.08 ± 0.03, in one run of 25. Were none asked, the truth would never be heard
    while the first model leads.
    """
    result = simulate(
        TIED, Frugal(), truth="theta2", horizon=10**15, runs=400, times=[10**6, 10**15]
    )
    early, late = result.regret("frugal").T
    assert 1 < early.mean() < 3
    assert (late - early).mean() < 0.3


def test_before_it_pays_it_asks_the_leading_model_too() -> None:
    """Under the truth arm 3 tells for free what arm 1 tells, but costs while the second may be so.

    Were only other models asked, all 20 runs would lose more after 10⁸ plays, 6 in the mean.
    """
    truth, doubt, rival = [1 / 6, 1 / 3, 1 / 3], [1 / 6, 1 / 3, 1 / 6], [2 / 3, 1 / 3, 1 / 6]
    problem = Problem.bernoulli([truth, doubt, rival, [5 / 6, 5 / 6, 1 / 6]])
    more, early = grown(problem, Frugal(), 20, 109)
    assert more.mean() < 0.2
    assert early.mean() < 10


def test_it_leaps_up_to_when_all_is_settled() -> None:
    """Arm 1 tells nothing, and nothing is worth its cost by so small an h: but it will be."""
    policy = Frugal(kappa=1e-6, settle=1000.0)
    prepared, envelope = prepare(policy, TIED), Envelope(np.array(TIED.rewards.unit_means[1]), 20.0)
    state, random = policy.new_state(TIED), np.random.default_rng(0)
    for played, arm, rounds in ((500, 0, 501), (1001, 1, 1)):
        state.plays[0] = state.counters[CLOCK] = played
        state.sums[0] = played / 2
        cycle, found = plan_ahead(policy, prepared, state, envelope, 10**6, random)
        assert rounds / 2 < found <= rounds
        assert cycle == [arm]


def test_what_is_doubted_comes_before_what_is_settled() -> None:
    """Arm 4 pays most, of which no model knows; between the first two models nothing decides.

    If what they ask for came first, arm 4 would not be found: .4 a play, 400,000 in all.
    """
    problem = Problem.bernoulli(
        [[0.5, 0.499, 0.2, 0.1], [0.5, 0.5, 0.2, 0.1], [0.5, 0.499, 0.8, 0.1]]
    )
    policy = Frugal(false_alarm=0.007, settle=1e3)
    result = simulate(problem, policy, truth=[0.5, 0.4995, 0.2, 0.9], horizon=10**6, runs=4)
    assert result.final_regret(str(policy)).max() < 30_000


def test_what_would_take_too_long_is_not_settled() -> None:
    """Arm 2 tells the second model from the truth, the first, in 5,000 plays for each nat.

    Seed 0, 40 runs: 18, and 8 if nothing were settled. If all were, it would be some 400.
    """
    problem = Problem.bernoulli([[0.5, 0.49, 0.2], [0.5, 0.5, 0.2], [0.5, 0.49, 0.8]])
    policy = Frugal(settle=1e3)
    result = simulate(problem, policy, truth="theta1", horizon=10**8, runs=40)
    assert result.final_regret(str(policy)).mean() < 60
