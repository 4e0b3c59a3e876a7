"""One run, play by play: the plausible models, the policy's next arm, what would rule a model out.

An `Agent` plays a problem whose truth is known. Each pair of a context and an arm has a seeded
stream of rewards, so the n-th play of an arm pays the same whether the user or the policy plays it.
If the user plays another arm than the policy would, the agent forgets its own decision and observes
the user's.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from fpbandits.agent.agent import Agent, Decision
from fpbandits.core.checks import known_name
from fpbandits.errors import counted
from fpbandits.problem.problem import Problem
from fpbandits.theory.contexts import PairStructure

MOST_STEPS = 160
"""How many of the last plays are kept one by one."""

_MOST_REWARDS = 32
_MOST_PAIRS = 24
"""The most equal rewards, and the most pairs, that are tried to rule a model out."""

_DRAWS, _MODELS = 64, 16


@dataclass(frozen=True)
class Step:
    """One play: the arm, its reward in the user's units, and what the policy would have played."""

    t: int
    context: str | None
    arm: str
    reward: float
    policys: str

    @property
    def is_yours(self) -> bool:
        """Whether it was not what the policy would have played."""
        return self.arm != self.policys


@dataclass(frozen=True)
class RulingOut:
    """``rewards`` times ``reward`` from ``pair`` would rule a model out."""

    pair: str
    reward: float
    rewards: int

    def __str__(self) -> str:
        times = "a reward" if self.rewards == 1 else f"{self.rewards} rewards in a row"
        return f"{times} of {self.reward:.4g} from {self.pair} would rule it out"


class Run:
    """A run on a problem under one of its models, by a policy; see the module's docstring."""

    def __init__(self, problem: Problem, policy: str, truth: str, seed: int = 0) -> None:
        self.problem, self.truth = problem, known_name("model", truth, problem.models)
        self.agent = Agent(problem, policy, seed=seed)
        row = problem.index(self.truth)
        self._law, self._seed = problem.rewards.law(row), seed
        self._streams = [np.random.default_rng([seed, pair]) for pair in range(problem.pairs)]
        self._coming = np.random.default_rng([seed, problem.pairs])
        self._gaps = PairStructure(problem).gaps(row) * problem.rewards.width
        self.plays = np.zeros(problem.pairs, np.int64)
        self.sums = np.zeros(problem.pairs)
        self.regret, self.t = 0.0, 0
        self.steps: deque[Step] = deque(maxlen=MOST_STEPS)
        self.context: str | None = None
        self.suggestion: Decision
        self._ask()

    def _ask(self) -> None:
        if self.problem.contexts:
            self.context = str(self._coming.choice(self.problem.contexts, p=self.problem.shares))
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
            warnings.simplefilter("ignore")  # of rewards that pile up: none does
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
        rewards = self.problem.rewards
        unit = rewards.draw_sum(law, pair, 1, random, np.zeros(rewards.statistics))
        return float(f"{rewards.zero + rewards.width * unit:.12g}")

    def alive(self) -> dict[str, float]:
        """Return the plausible models, the best first, with their margins."""
        return self.agent.plausible()

    def next_out(self) -> tuple[str, RulingOut | None] | None:
        """Return the model with the least margin, and the fewest equal rewards to rule it out.

        None if only one is left; no rewards if a few dozen from any single arm are not enough.
        """
        alive = self.alive()
        if len(alive) < 2:
            return None
        best, *_, model = alive
        means = self.problem.rewards.means
        apart = np.abs(means[self.problem.index(model)] - means[self.problem.index(best)])
        pairs = np.argsort(-apart, kind="stable")[:_MOST_PAIRS].tolist()
        found: RulingOut | None = None
        for pair, end in product(pairs, (0, 1)):
            most = _MOST_REWARDS if found is None else found.rewards - 1
            reward = self._extremes[pair][end]
            rewards = self._rewards_to_rule_out(model, pair, reward, most)
            if rewards is not None:
                found = RulingOut(self.problem.pair_names[pair], reward, rewards)
        return model, found

    def _rewards_to_rule_out(self, model: str, pair: int, reward: float, most: int) -> int | None:
        context, arm = divmod(pair, len(self.problem.arms))
        name = self.problem.contexts[context] if self.problem.contexts else None
        trial = Agent.from_state(self.agent.state(), self.problem, self.agent.policy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for rewards in range(1, most + 1):
                trial.observe(self.problem.arms[arm], reward, name)
                if model not in trial.plausible():
                    return rewards
        return None

    @cached_property
    def _extremes(self) -> list[tuple[float, float]]:
        """The least and the largest of many rewards of each pair, drawn from several models."""
        rewards, models = self.problem.rewards, range(min(len(self.problem.models), _MODELS))
        laws, random = [rewards.law(model) for model in models], np.random.default_rng(0)
        drawn = [
            [self._draw(law, pair, random) for law in laws for _ in range(_DRAWS)]
            for pair in range(self.problem.pairs)
        ]
        return [(min(each), max(each)) for each in drawn]


def described(run: Run) -> str:
    """Say how many models are left, and what would rule the next one out."""
    alive, following = run.alive(), run.next_out()
    if not alive:
        return "No model fits any more."
    if following is None:
        return f"Only {next(iter(alive))} is left."
    model, ruling_out = following
    left = f"{counted(len(alive), 'model')} of {len(run.problem.models):,} left."
    if ruling_out is None:
        few = f"no {_MOST_REWARDS} equal rewards of a single arm would rule it out"
        return f"{left} Next to go is {model}, but {few}."
    return f"{left} Next to go is {model}: {ruling_out}."
