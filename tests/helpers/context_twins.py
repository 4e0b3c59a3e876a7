"""Policies in contexts, in plain Python: each a few lines, sharing no code with the package.

A player decides in a context, by its number, and is told the reward of a pair. Those that look at
all of Θ keep every reward, and weigh a model by the log-likelihood of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from reference import Known, divergences, frugal_arms, ids, kl, posterior, twin

from fpbandits import Problem

EQUAL = 1e-9

LogLikelihood = Callable[[float, float], float]
"""(reward, mean) → ln of the reward's probability, or density, up to what all models share."""


def of_bernoulli(reward: float, mean: float) -> float:
    return reward * math.log(mean) + (1 - reward) * math.log(1 - mean)


def of_normal(deviation: float) -> LogLikelihood:
    return lambda reward, mean: -((reward - mean) ** 2) / (2 * deviation**2)


class Player(Protocol):
    """Decides in contexts; whatever is random comes from the stream it is given."""

    def decide(self, context: int, stream: np.random.Generator) -> int: ...

    def told(self, context: int, arm: int, reward: float) -> None: ...


class Apart:
    """A twin of its own in each context."""

    def __init__(self, name: str, problem: Problem) -> None:
        self.players = [twin(name)(Known(problem)) for _ in problem.contexts]
        self.next = [next(player) for player in self.players]

    def decide(self, context: int, stream: np.random.Generator) -> int:
        return int(self.next[context])

    def told(self, context: int, arm: int, reward: float) -> None:
        self.next[context] = self.players[context].send(reward)


class ThompsonApart:
    """Thompson sampling with Beta(1, 1) priors, in each context for itself; 0/1 rewards."""

    def __init__(self, problem: Problem) -> None:
        self.counts = [[[1, 1] for _ in problem.arms] for _ in problem.contexts]

    def decide(self, context: int, stream: np.random.Generator) -> int:
        return int(np.argmax([stream.beta(wins, losses) for wins, losses in self.counts[context]]))

    def told(self, context: int, arm: int, reward: float) -> None:
        self.counts[context][arm][0 if reward else 1] += 1


class Together:
    """What those share that weigh the models by all rewards."""

    def __init__(self, problem: Problem, log_likelihood: LogLikelihood = of_bernoulli) -> None:
        self.means: list[Any] = problem.means.tolist()
        self.log_likelihood = log_likelihood
        self.seen: list[tuple[int, int, float]] = []

    def told(self, context: int, arm: int, reward: float) -> None:
        self.seen.append((context, arm, reward))

    def costs(self) -> list[float]:
        """−ln of each model's likelihood, less the least."""
        total = [
            -sum(self.log_likelihood(reward, model[x][a]) for x, a, reward in self.seen)
            for model in self.means
        ]
        return [cost - min(total) for cost in total]

    def rewards(self, context: int, arm: int) -> list[float]:
        return [reward for x, a, reward in self.seen if (x, a) == (context, arm)]


class ThompsonTheta(Together):
    def decide(self, context: int, stream: np.random.Generator) -> int:
        weights = [math.exp(-cost) for cost in self.costs()]
        left = stream.random() * sum(weights)
        model = 0
        while model < len(weights) - 1 and left >= weights[model]:
            left -= weights[model]
            model += 1
        return int(np.argmax(self.means[model][context]))


class IDSTheta(Together):
    def decide(self, context: int, stream: np.random.Generator) -> int:
        rows = [model[context] for model in self.means]
        arm, other, chance = ids(rows, self.costs(), [1.0] * len(rows))
        return other if 0 < chance < 1 and stream.random() < chance else arm


class Frugal(Together):
    def __init__(
        self,
        problem: Problem,
        log_likelihood: LogLikelihood = of_bernoulli,
        kappa: float = 10.0,
    ) -> None:
        super().__init__(problem, log_likelihood)
        self.kappa = kappa
        self.units = problem.rewards.unit_means.reshape(np.shape(self.means))
        models = len(self.units)
        self.apart = np.reshape(divergences(problem), (models, *self.units.shape))
        self.shares = problem.shares
        self.elsewhere = 0

    def decide(self, context: int, stream: np.random.Generator) -> int:
        h = self.kappa * (len(self.seen) + 1) ** 1.1
        p, hat = posterior(self.costs(), [1.0] * len(self.means), h)
        arms, leaders = frugal_arms(self.units, self.shares, p, hat, h, self.apart)
        self.elsewhere += arms[context] != leaders[context]
        return arms[context]


class FPLLR(Together):
    def decide(self, context: int, stream: np.random.Generator) -> int:
        limit = 2 * math.log(len(self.seen) + 1) + math.log(len(self.means)) + EQUAL
        consistent = [
            model for model, cost in zip(self.means, self.costs(), strict=True) if cost <= limit
        ]
        arms = {int(np.argmax(model[context])) for model in consistent}
        return min(arms, key=lambda arm: (len(self.rewards(context, arm)), arm))


class Optimist(Together):
    alarm = math.inf

    def decide(self, context: int, stream: np.random.Generator) -> int:
        if self.nothing_fits():
            self.alarm = -math.inf  # for good
            return self.imed(context)
        costs, arms = self.costs(), range(len(self.means[0][0]))
        limit = 1.1 * math.log(max(len(self.seen), 1)) + 0.7 + EQUAL
        plausible = [(m[context], c) for m, c in zip(self.means, costs, strict=True) if c <= limit]
        top = max(max(row) for row, _ in plausible)
        mass = [0.0 for _ in arms]
        for row, cost in plausible:
            if max(row) >= top - 1e-12:
                for arm in arms:
                    if row[arm] >= max(row) - 1e-12:
                        mass[arm] += math.exp(-cost)
        return next(arm for arm in arms if mass[arm] >= max(mass) * (1 - EQUAL))

    def nothing_fits(self) -> bool:
        """Whether, on 0/1 rewards, all models' means are further off than chance allows."""
        if math.isinf(self.alarm):
            return self.alarm < 0
        pairs = [(x, a) for x, row in enumerate(self.means[0]) for a in range(len(row))]
        told = {pair: rewards for pair in pairs if (rewards := self.rewards(*pair))}
        limit = self.alarm + sum(math.log(len(rewards) + 1) for rewards in told.values())
        return all(
            sum(len(r) * kl(sum(r) / len(r), model[x][a]) for (x, a), r in told.items()) > limit
            for model in self.means
        )

    def imed(self, context: int) -> int:
        told = [self.rewards(context, arm) for arm in range(len(self.means[0][context]))]
        if [] in told:
            return told.index([])
        means = [sum(rewards) / len(rewards) for rewards in told]
        index = [
            len(rewards) * kl(mean, max(means)) + math.log(len(rewards))
            for rewards, mean in zip(told, means, strict=True)
        ]
        return next(arm for arm, value in enumerate(index) if value <= min(index) + EQUAL)


class AlarmedOptimist(Optimist):
    alarm = -math.log(0.37)


def player(word: str, problem: Problem) -> Player:
    """The twin of a policy, by the word for it."""
    together: dict[str, Any] = {
        "frugal": Frugal,
        "optimist": Optimist,
        "optimist:false_alarm=0.37": AlarmedOptimist,
        "thompson-theta": ThompsonTheta,
        "ids-theta": IDSTheta,
        "fp-llr": FPLLR,
        "thompson": ThompsonApart,
    }
    if word in together:
        made: Player = together[word](problem)
        return made
    return Apart(word, problem)


WORDS = [
    "frugal",
    "optimist",
    "optimist:false_alarm=0.37",
    "thompson-theta",
    "ids-theta",
    "fp-llr",
    "ucb1",
    "moss",
    "kl-ucb",
    "imed",
    "thompson",
]


def random_problem(generator: np.random.Generator) -> Problem:
    """2–4 contexts, arms and 2–6 models, often with equal means; unequal shares."""
    models, contexts, arms = (int(generator.integers(2, most)) for most in (7, 5, 5))
    means = generator.choice([0.15, 0.4, 0.5, 0.65, 0.9], (models, contexts, arms))
    shares = generator.dirichlet(np.full(contexts, 5.0))
    return Problem.bernoulli(
        means, contexts=[f"x{number}" for number in range(contexts)], shares=shares.tolist()
    )
