"""Frugality: against plain Python, and what its docstring promises of regret.

The twins are in ``reference`` and ``context_twins``: sums over all pairs of models, and over all
choices of an arm per context. What a reward counts for that a model rules out is taken from the
code, as the definition does not say it.
"""

from __future__ import annotations

import math
from typing import Any

import context_twins
import numpy as np
import pytest
import reference
from bounded import grown, is_bounded, problems
from laws import random_example
from reference import Known, divergences, frugal_arms, posterior

from fpbandits import Agent, InputError, Problem, analyze, simulate
from fpbandits.agent.agent import Late
from fpbandits.engine.contract import CLOCK
from fpbandits.engine.ready import NO_STREAM, ready
from fpbandits.policies import Frugal, parse_policy


def few_levels(generator: np.random.Generator) -> np.ndarray:
    """Models of two to four arms on few levels, 0 and 1 among them at times: many ties."""
    size = int(generator.integers(2, 9)), int(generator.integers(2, 5))
    levels = generator.choice([0.0, 0.2, 0.4, 0.5, 0.7, 0.9, 1.0], 4, replace=False)
    return np.unique(generator.choice(levels, size), axis=0)


WORDS: dict[str, dict[str, float]] = {
    "frugal": {},
    "frugal:delta=0.5:kappa=0.3": {"delta": 0.5, "kappa": 0.3},
    "frugal:horizon=60": {"horizon": 60.0},
    "frugal:lifetime=25": {"lifetime": 25.0},
    "frugal:false_alarm=0.37": {"false_alarm": 0.37},
    "frugal:false_alarm=0.0001:trust=0.2": {"false_alarm": 0.0001, "trust": 0.2},
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
@pytest.mark.parametrize("late", ["any", "in-order"])
def test_with_late_rewards_it_decides_as_plain_python_does(kind: str, late: Late) -> None:
    """Each reward is told up to 20 decisions late. In order, those told too soon are pending too.

    h(t) counts decisions, whether or not their rewards are known.
    """
    generator = np.random.default_rng(2)
    elsewhere, pending_matters = 0, 0
    for _ in range(8):
        example = random_example(kind if kind != "bernoulli" else "two-point", generator)
        problem = example.problem
        truth = example.laws[int(generator.integers(len(example.laws)))]
        if kind == "bernoulli":
            points = [[law.points or {} for law in row] for row in example.laws]
            chances = [[own[max(own)] for own in row] for row in points]
            problem = Problem.bernoulli(chances)
        agent = Agent(problem, Frugal(), late=late)
        means = problem.rewards.unit_means[:, np.newaxis]
        apart = divergences(problem)[:, :, np.newaxis]
        costs, out = np.zeros(len(means)), list[tuple[int, int, int, float]]()
        counted = 0
        known: dict[int, tuple[int, float]] = {}
        arms_of: list[int] = []
        for number in range(80):
            for due, decided, arm, reward in [each for each in out if each[0] <= number]:
                out.remove((due, decided, arm, reward))
                agent.tell(decided, float(reward > 0) if kind == "bernoulli" else reward)
                known[decided] = arm, reward
            waiting = {arm for _, _, arm, _ in out}
            for decided in sorted(known):
                arm, reward = known[decided]
                first = min((d for _, d, a, _ in out if a == arm), default=math.inf)
                if late == "any" or arm not in waiting or decided < first:
                    costs += [-laws[arm].log(reward) for laws in example.laws]
                    counted += 1
                    arms_of[decided] = -1
                    del known[decided]
            pending = np.bincount([a for a in arms_of if a >= 0], minlength=means.shape[2])
            h = 10 * (number + 1) ** 1.1
            p, hat = posterior(costs - costs.min(), [1.0] * len(means), h)
            (arm,), (leader,) = frugal_arms(means, [1.0], p, hat, h, apart, pending[np.newaxis])
            (blind,), _ = frugal_arms(means, [1.0], p, hat, h, apart)
            elsewhere += arm != leader
            pending_matters += arm != blind
            decision = agent.ask()
            assert decision.arm == problem.arms[arm]
            arms_of.append(arm)
            reward = truth[arm].draw(generator)
            out.append((number + int(generator.integers(1, 21)), decision.id, arm, reward))
    assert elsewhere > 4
    assert pending_matters > 4


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


@pytest.mark.parametrize("kappa", [10.0, 0.5])
def test_in_contexts_with_ties_it_decides_as_plain_python_does(kappa: float) -> None:
    generator, elsewhere = np.random.default_rng(5), 0
    for _ in range(40):
        size = int(generator.integers(3, 7)), 2, int(generator.integers(2, 4))
        means = np.unique(generator.choice([0.4, 0.5, 0.7], size), axis=0)
        problem = Problem.bernoulli(means, contexts=["a", "b"], shares=[0.7, 0.3])
        agent = Agent(problem, Frugal(kappa=kappa))
        player = context_twins.Frugal(problem, kappa=kappa)
        truth = means[int(generator.integers(len(means)))]
        for _ in range(60):
            context = int(generator.random() < 0.3)
            expected = player.decide(context, generator)
            decision = agent.ask(context="ab"[context])
            assert decision.arm == problem.arms[expected]
            reward = float(generator.random() < truth[context, expected])
            agent.tell(decision.id, reward)
            player.told(context, expected, reward)
        elsewhere += player.elsewhere
    assert elsewhere > 20


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
    assert divergences(problem).min() >= 0
    policy = Frugal()
    state = policy.new_state(problem)
    # Arm 1 was played for long, and told nothing: the first model still leads.
    plays = 10**7
    state.plays[0] = state.counters[CLOCK] = plays
    state.sums[0] = plays * float(problem.rewards.to_unit(np.array(-5.0)))
    state.statistics[0] = plays * np.array(problem.rewards.statistics_of(0, state.sums[0] / plays))
    assert ready(policy, problem).plan(state, plays, None, NO_STREAM)[0] == [1]


def test_where_the_truth_is_free_and_has_one_best_arm_regret_stays() -> None:
    """40 random problems, 10 shuffled runs each, from 10⁸ to 10¹⁵ plays.

    A run that loses anything after 10⁸ plays needs odds of the truth below some 10⁻⁸: a false alarm
    in these 400 runs has a chance below 1 in 1,000.
    """
    found = 0
    for number, (problem, several) in enumerate(problems(3)):
        if several > 1:
            continue
        assert is_bounded(problem.means)
        more, early = grown(problem, Frugal(), 10, number)
        assert more.max() == 0, problem.means
        assert early.max() < 1000
        found += 1
        if found == 40:
            break


def test_problems_are_told_to_be_bounded_or_not() -> None:
    assert is_bounded(np.array([[0.5, 0.5, 0.2], [0.5, 0.3, 0.7]]))
    assert not is_bounded(np.array([[0.5, 0.5, 0.2], [0.5, 0.5, 0.7]]))
    assert not is_bounded(np.array([[0.5, 0.4, 0.2], [0.5, 0.3, 0.7]]))
    assert is_bounded(np.array([[0.5, 0.4, 0.2], [0.5, 0.3, 0.4], [0.6, 0.4, 0.9]]))


def test_a_far_model_costs_nothing() -> None:
    """The third model is far from all that comes; the lower bound has a slope of .0554 per ln T.

    Arm 2 tells the rival from the truth at 1.805 nats for .1. Were divergences scaled down to those
    of the far model, the slope would be a hundred times as large.
    """
    problem = Problem.gaussian(
        [[0.0, -0.1, -0.1], [0.0, -2.0, 0.1], [1.0, -60.0, -0.1]], deviation=1.0
    )
    bound = analyze(problem, truth="theta1").cases[0].theorem2.coefficient
    result = simulate(
        problem, Frugal(), truth="theta1", horizon=10**12, times=[10**6], runs=200, seed=2
    )
    early, late = result.regret("frugal").mean(axis=0)
    assert (late - early) / math.log(10**6) < 1.2 * bound


@pytest.mark.filterwarnings("ignore:rewards do not spread")
def test_models_are_ruled_out_by_their_own_means() -> None:
    """The rewards' law is that of neither model; the second wins by likelihood, and is far off.

    Were it trusted as long as the first one fits, arm 1 would be played for good: .1 a play.
    """
    values = [0.0, 0.5, 1.0]
    problem = Problem.discrete(
        [
            [[0.495, 0.01, 0.495], [0.2, 0.4, 0.4]],
            [[0.1, 0.5, 0.4], [0.2, 0.4, 0.4]],
            [[0.25, 0.5, 0.25], [0.2, 0.4, 0.4]],
        ],
        support=values,
    )
    known = problem.reordered(np.array([0, 1]), np.arange(2))
    policy = Frugal(false_alarm=1e-3)
    agent, generator = Agent(known, policy), np.random.default_rng(0)
    lost, truth = 0, [[0.25, 0.5, 0.25], [0.2, 0.4, 0.4]]
    for _ in range(3000):
        decision = agent.ask()
        arm = known.arms.index(decision.arm)
        lost += arm == 0
        agent.tell(decision.id, values[generator.choice(3, p=truth[arm])])
    assert lost < 1000


@pytest.mark.parametrize(("horizon", "lifetime"), [(1, 20), (20, 1)])
def test_horizon_and_lifetime_say_the_same_thing_twice(horizon: float, lifetime: float) -> None:
    with pytest.raises(InputError, match="give one"):
        Frugal(horizon=horizon, lifetime=lifetime)


def test_why_gives_no_information_values_once_the_models_are_given_up() -> None:
    agent = Agent(Problem.bernoulli([[0.9, 0.6], [0.8, 0.7]]), Frugal(false_alarm=0.5))
    said = []
    for _ in range(30):
        given_up = agent.misfits > 0
        numbers = next(iter(agent.why().arms.values()))
        agent.tell(agent.ask(), 0)
        if given_up == (agent.misfits > 0):  # else the alarm was raised in between
            said.append((given_up, "information value" in numbers))
    assert set(said) == {(False, True), (True, False)}
