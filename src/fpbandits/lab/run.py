"""One run, play by play, by a policy or by the user.

An `Agent` plays a problem whose truth is known. Each pair of a context and an arm has a seeded
stream of rewards, so the n-th play of an arm pays the same whoever plays it. If the user plays
another arm than the policy suggests, the agent forgets its decision and observes the user's.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from fpbandits.agent.agent import Agent, Decision
from fpbandits.agent.why import Why
from fpbandits.core.checks import known_name
from fpbandits.errors import counted
from fpbandits.problem.problem import Problem
from fpbandits.theory.contexts import PairStructure

MOST_STEPS = 160
"""The number of plays that are stored, the last ones."""

_MOST_REWARDS = 32
"""Equal rewards in a row that are tried, to rule a model out."""

_MOST_PAIRS = 24
"""Pairs of a context and an arm that are tried, to rule a model out."""

_DRAWS = 64
"""Rewards that are drawn under a model, to find extreme ones."""

_MODELS = 16
"""Models under which rewards are drawn, to find extreme ones."""


@dataclass(frozen=True)
class Step:
    """One play: the arm, its reward in the user's units, and the arm that the policy suggested."""

    t: int
    context: str | None
    arm: str
    reward: float
    suggested: str

    @property
    def is_yours(self) -> bool:
        """Whether the user chose another arm than the policy suggested."""
        return self.arm != self.suggested


@dataclass(frozen=True)
class RulingOut:
    """``rewards`` rewards in a row of value ``reward`` from ``pair`` would rule a model out."""

    pair: str
    reward: float
    rewards: int

    def __str__(self) -> str:
        times = "a reward" if self.rewards == 1 else f"{self.rewards} rewards in a row"
        return f"{times} of {self.reward:.4g} from {self.pair} would rule it out"


class Run:
    """A run on a problem under one of its models, by a policy.

    Attributes
    ----------
    problem, truth
        The problem, and the model that draws the rewards.
    agent
        The agent that suggests arms, and learns from every play.
    t, steps
        The number of plays, and the last of them.
    plays, sums
        The number of plays and the sum of rewards of each pair of a context and an arm.
    regret
        The sum of the gaps of the arms that were played, in the user's units.
    context, suggestion, why
        Of the next play: its context if there are any, the policy's decision, and its reasons.
    """

    def __init__(self, problem: Problem, policy: str, truth: str, seed: int) -> None:
        self.problem, self.truth = problem, known_name("model", truth, problem.models)
        self.agent = Agent(problem, policy, seed=seed)
        row = problem.index(self.truth)
        self._law = problem.rewards.law(row)
        self._streams = [np.random.default_rng([seed, pair]) for pair in range(problem.pairs)]
        self._contexts = np.random.default_rng([seed, problem.pairs])
        self._gaps = PairStructure(problem).gaps(row) * problem.rewards.width
        self.plays = np.zeros(problem.pairs, np.int64)
        self.sums = np.zeros(problem.pairs)
        self.regret, self.t = 0.0, 0
        self.steps: deque[Step] = deque(maxlen=MOST_STEPS)
        self.context: str | None = None
        self.suggestion: Decision
        self.why: Why
        self._ask()

    def _ask(self) -> None:
        """Draw the next context, and ask the policy for an arm."""
        if self.problem.contexts:
            self.context = str(self._contexts.choice(self.problem.contexts, p=self.problem.shares))
        self.why = self.agent.why(self.context)
        self.suggestion = self.agent.ask(self.context)

    def play(self, arm: str | None = None) -> Step:
        """Play an arm, by default the policy's, observe its reward, and ask for the next."""
        suggested = self.suggestion.arm
        arm = suggested if arm is None else known_name("arm", arm, self.problem.arms)
        pair = self.problem.arms.index(arm)
        if self.context is not None:
            pair += len(self.problem.arms) * self.problem.contexts.index(self.context)
        reward = self._draw(self._law, pair, self._streams[pair])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about blocked rewards: none stays blocked here
            if arm == suggested:
                self.agent.tell(self.suggestion, reward)
            else:
                self.agent.forget(self.suggestion)
                self.agent.observe(arm, reward, self.context)
        self.t += 1
        self.plays[pair] += 1
        self.sums[pair] += reward
        self.regret += float(self._gaps[pair])
        step = Step(self.t, self.context, arm, reward, suggested)
        self.steps.append(step)
        self._ask()
        return step

    def _draw(self, law: object, pair: int, random: np.random.Generator) -> float:
        """Draw a reward of a pair from the distributions of a model, in the user's units."""
        rewards = self.problem.rewards
        scaled = rewards.draw_sum(law, pair, 1, random, np.zeros(rewards.statistics))
        # Twelve digits, so that 0.3 is shown as such.
        return float(f"{rewards.zero + rewards.width * scaled:.12g}")

    def next_ruled_out(self) -> tuple[str, RulingOut | None] | None:
        """Return the plausible model with the least margin, and what would rule it out.

        That is the fewest equal rewards from one arm, or None if `_MOST_REWARDS` are not enough.
        If fewer than two models are plausible, return None.
        """
        plausible = self.agent.plausible()
        if len(plausible) < 2:
            return None
        best, *_, model = plausible
        means = self.problem.rewards.means
        distances = np.abs(means[self.problem.index(model)] - means[self.problem.index(best)])
        pairs = np.argsort(-distances, kind="stable")[:_MOST_PAIRS].tolist()
        fewest: RulingOut | None = None
        for pair, end in product(pairs, (0, 1)):
            most = _MOST_REWARDS if fewest is None else fewest.rewards - 1
            reward = self._extremes[pair][end]
            rewards = self._rewards_to_rule_out(model, pair, reward, most)
            if rewards is not None:
                fewest = RulingOut(self.problem.pair_names[pair], reward, rewards)
        return model, fewest

    def _rewards_to_rule_out(self, model: str, pair: int, reward: float, most: int) -> int | None:
        """Return how many equal rewards of a pair rule a model out; None if ``most`` do not."""
        context, arm = divmod(pair, len(self.problem.arms))
        name = self.problem.contexts[context] if self.problem.contexts else None
        trial = Agent.from_state(self.agent.state(), self.problem, self.agent.policy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about rewards that look odd
            for rewards in range(1, most + 1):
                trial.observe(self.problem.arms[arm], reward, name)
                if model not in trial.plausible():
                    return rewards
        return None

    @cached_property
    def _extremes(self) -> list[tuple[float, float]]:
        """The smallest and the largest of many rewards of each pair, under several models."""
        rewards, models = self.problem.rewards, range(min(len(self.problem.models), _MODELS))
        laws, random = [rewards.law(model) for model in models], np.random.default_rng(0)
        by_pair = [
            [self._draw(law, pair, random) for law in laws for _ in range(_DRAWS)]
            for pair in range(self.problem.pairs)
        ]
        return [(min(drawn), max(drawn)) for drawn in by_pair]


def describe(run: Run) -> str:
    """Return a sentence on how many models are plausible, and what would rule out the next."""
    plausible, next_ruled_out = run.agent.plausible(), run.next_ruled_out()
    if not plausible:
        return "No model fits any more."
    if next_ruled_out is None:
        return f"Only {next(iter(plausible))} is left."
    model, ruling_out = next_ruled_out
    left = f"{counted(len(plausible), 'model')} of {len(run.problem.models):,} left."
    if ruling_out is None:
        not_soon = f"no {_MOST_REWARDS} equal rewards of a single arm would rule it out"
        return f"{left} Next to go is {model}, but {not_soon}."
    return f"{left} Next to go is {model}: {ruling_out}."
