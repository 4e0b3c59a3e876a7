"""Posteriors of problems and agents, against Bayes' rule in fractions, reward by reward."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, lgamma, log, pi
from typing import Any

import numpy as np
import pytest

from fpbandits import Agent, ConflictError, InputError, Problem

PROBLEMS_PER_FAMILY = 100


def shares(generator: np.random.Generator, count: int, whole: int) -> list[float]:
    """Add up to 1, in parts that floats hold exactly: ``whole`` is a power of 2. Some are 0."""
    cuts = np.sort(generator.integers(0, whole + 1, count - 1))
    return [float(part) / whole for part in np.diff([0, *cuts, whole])]


class Case:
    """A random problem, with what its rewards can be and their exact probabilities."""

    def __init__(self, family: str, generator: np.random.Generator) -> None:
        models, arms = (int(n) for n in generator.integers(2, 5, 2))
        contexts = int(generator.integers(0, 4))
        self.columns = arms * max(1, contexts)
        naming: dict[str, Any] = {"models": [f"m{i}" for i in range(models)]}
        self.prior = shares(generator, models, 64) if generator.random() < 0.7 else None
        if self.prior is not None:
            naming["prior"] = dict(zip(naming["models"], self.prior, strict=True))
        names = [f"c{i}" for i in range(contexts)]
        if contexts:
            naming["contexts"] = names

        def table(width: int) -> Any:
            rows = [
                [shares(generator, width, 8) for _ in range(self.columns)] for _ in range(models)
            ]
            self.laws = [[[Fraction(p) for p in law] for law in row] for row in rows]
            return np.array(rows).reshape(models, *([contexts] if contexts else []), arms, width)

        if family == "bernoulli":
            self.problem = Problem.bernoulli(table(2)[..., 1], **naming)
            self.values = [[0.0, 1.0]] * self.columns
        elif family == "two-point":
            value = generator.integers(1, 20, arms).astype(float).tolist()
            self.problem = Problem.bernoulli(table(2)[..., 1], value=value, **naming)
            self.values = [[0.0, value[pair % arms]] for pair in range(self.columns)]
        else:
            support = [-2.0, 0.5, 7.0]
            self.problem = Problem.discrete(table(3), support, range=(-2, 7), **naming)
            self.values = [support] * self.columns
        contexts_or_none: list[str | None] = [*names] or [None]
        self.pairs = list(product(contexts_or_none, self.problem.arms))

    def likelihood(self, model: int, pair: int, reward: float) -> Fraction:
        return self.laws[model][pair][self.values[pair].index(reward)]

    def exactly(self, plays: list[tuple[int, float]]) -> list[Fraction] | None:
        weights = []
        for model in range(len(self.laws)):
            weight = Fraction(1 if self.prior is None else self.prior[model])
            for pair, reward in plays:
                weight *= self.likelihood(model, pair, reward)
            weights.append(weight)
        total = sum(weights)
        return [weight / total for weight in weights] if total else None


@pytest.mark.parametrize("family", ["bernoulli", "two-point", "discrete"])
def test_posteriors_are_bayes_rule_in_fractions(family: str) -> None:
    """By `Problem.posterior`, and by agents of three policies some of whose rewards are pending."""
    generator = np.random.default_rng(len(family))
    impossible = 0
    for _ in range(PROBLEMS_PER_FAMILY):
        case = Case(family, generator)
        problem, models = case.problem, len(case.laws)
        truth = int(generator.integers(models))
        agent = Agent(problem, str(generator.choice(["frugal", "ucb1", "thompson-theta"])))
        counted: list[tuple[int, float]] = []
        for step in range(int(generator.integers(0, 60))):
            context = None if not problem.contexts else str(generator.choice(problem.contexts))
            decision = agent.ask(context)
            pair = case.pairs.index((context, decision.arm))
            law = np.array(case.laws[truth][pair], float)
            reward = float(generator.choice(case.values[pair], p=law))
            if step % 7 == 3:
                arm = problem.arms[int(generator.integers(len(problem.arms)))]
                other = case.pairs.index((context, arm))
                unlikely = case.values[other][int(generator.integers(2))]
                agent.observe(arm, unlikely, context)
                counted.append((other, unlikely))
            if step % 5 == 4:  # never comes, and others need not wait for it
                agent.forget(decision)
            else:
                agent.tell(decision, reward)
                counted.append((pair, reward))
        if not problem.contexts:
            agent.ask()  # pending: counts for nothing
        plays = [(case.pairs[pair][1], reward, case.pairs[pair][0]) for pair, reward in counted]
        expected = case.exactly(counted)
        if expected is None:
            impossible += 1
            for refused in (agent.posterior, lambda p=problem, given=plays: p.posterior(given)):
                with pytest.raises(ConflictError, match="every model that the prior allows rules"):
                    refused()
            continue
        for found in (agent.posterior(), problem.posterior(plays)):
            assert list(found) == list(problem.models)
            assert list(found.values()) == pytest.approx([float(p) for p in expected], abs=1e-12)
    assert 0 < impossible < PROBLEMS_PER_FAMILY / 2


def density(family: str, x: float, mean: float) -> float:
    """The logarithm of one: of deviation 0.4, or of concentration 6."""
    if family == "gaussian":
        return -((x - mean) ** 2) / (2 * 0.4**2) - log(0.4 * (2 * pi) ** 0.5)
    a, b = 6 * mean, 6 * (1 - mean)
    return lgamma(6) - lgamma(a) - lgamma(b) + (a - 1) * log(x) + (b - 1) * log(1 - x)


@pytest.mark.parametrize("family", ["gaussian", "beta"])
@pytest.mark.parametrize("policy", ["frugal", "ucb1"])
def test_posteriors_of_densities(family: str, policy: str) -> None:
    generator = np.random.default_rng(5)
    for _ in range(25):
        means = generator.uniform(0.1, 0.9, (4, 3))
        prior = dict(zip("abcd", generator.uniform(0.1, 1, 4).tolist(), strict=True))
        naming: dict[str, Any] = {"models": list("abcd"), "prior": prior}
        if family == "gaussian":
            problem = Problem.gaussian(means, deviation=0.4, **naming)
        else:
            problem = Problem.beta(means, concentration=6, **naming)
        agent, logs = Agent(problem, policy), [log(weight) for weight in prior.values()]
        plays = []
        for _ in range(40):
            decision = agent.ask()
            reward = float(generator.uniform(0.05, 0.95))
            agent.tell(decision, reward)
            plays.append((decision.arm, reward))
            column = problem.arms.index(decision.arm)
            for model, mean in enumerate(means[:, column].tolist()):
                logs[model] += density(family, reward, mean)
        weights = [exp(each - max(logs)) for each in logs]
        expected = [weight / sum(weights) for weight in weights]
        for found in (agent.posterior(), problem.posterior(plays)):
            assert list(found.values()) == pytest.approx(expected, abs=1e-12)


def test_arms_on_which_models_agree_say_nothing_to_the_last_bit() -> None:
    problem = Problem.bernoulli([[0.3, 0.9], [0.3, 0.2], [0.3, 0.6]], prior={"theta1": 3})
    before = problem.posterior()
    assert problem.posterior([("arm1", 1), ("arm1", 0)] * 1000) == before


def test_rewards_are_in_the_users_units() -> None:
    shop = Problem.bernoulli([[9, 6], [3, 6]], range=(0, 12), models=["x", "y"])
    sold, unsold = ("arm1", 12), ("arm1", 0)
    assert shop.posterior([sold]) == pytest.approx({"x": 3 / 4, "y": 1 / 4}, abs=1e-15)
    assert shop.posterior([sold, unsold, unsold]) == pytest.approx({"x": 1 / 4, "y": 3 / 4})


def test_a_prior_of_the_callers_own() -> None:
    problem = Problem.bernoulli([[0.75, 0.5], [0.25, 0.5]], models=["x", "y"], prior={"x": 0})
    assert problem.posterior([("arm1", 1)]) == {"x": 0, "y": 1}
    found = problem.posterior([("arm1", 1)], prior={"x": 2})
    assert found == pytest.approx({"x": 6 / 7, "y": 1 / 7}, abs=1e-15)
    with pytest.raises(InputError, match=r"prior: unknown model 'z'"):
        problem.posterior(prior={"z": 1})


def test_fractions_of_bernoulli_rewards_count_by_their_mean() -> None:
    problem = Problem.bernoulli([[0.75], [0.25]], models=["x", "y"])
    half = problem.posterior([("arm1", 1), ("arm1", 0.5), ("arm1", 0.5)])
    assert half == pytest.approx(problem.posterior([("arm1", 1)] * 2 + [("arm1", 0)]))


@pytest.mark.parametrize(
    ("play", "message"),
    [
        (("arm1",), "a play is an arm and its reward"),
        ("ab", "a play is an arm and its reward"),
        (3, "a play is an arm and its reward"),
        (("arm1", 1, "c", 2), "a play is an arm and its reward"),
        (("arm3", 1), "unknown arm 'arm3'"),
        (("arm1", 3), "3 is neither 0 nor the value 9, so no model allows it"),
        (("arm1", -1), "outside the range"),
        (("arm1", "1"), "must be a number"),
        (("arm1", 9, "mobile"), "has no contexts"),
    ],
)
def test_what_cannot_be_a_play_is_refused_by_its_row(play: Any, message: str) -> None:
    problem = Problem.bernoulli([[0.2, 0.3], [0.4, 0.1]], value=[9, 12])
    with pytest.raises(InputError, match=message) as caught:
        problem.posterior([("arm1", 9), play])
    assert caught.value.place[0] == ("index", 1)


@pytest.mark.parametrize("plays", [None, "arm1", 5])
def test_plays_are_a_list(plays: Any) -> None:
    with pytest.raises(InputError, match="plays must be a list"):
        Problem.bernoulli([[0.2]]).posterior(plays)


def test_a_part_of_an_impossible_reward_is_impossible() -> None:
    problem = Problem.bernoulli([[0.0, 0.9], [0.0, 0.1]], prior={"theta2": 99})
    for reward in (1e-6, 0.3, 1.0):
        with pytest.raises(ConflictError, match="no posterior"):
            problem.posterior([("arm2", 1), ("arm1", reward)])


def test_the_log_of_an_agent_is_one_that_its_problem_takes() -> None:
    problem = Problem.bernoulli([[0.5, 0.4], [0.3, 0.6]], value=[0.2, -0.1])
    agent = Agent(problem, log=True)
    agent.observe("arm1", 0.2)
    assert agent.log == [("arm1", 0.2)]
    assert problem.posterior(agent.log) == agent.posterior()
