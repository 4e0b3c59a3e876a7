"""Few arms and a short horizon: the least Bayes regret of any number of models, exactly.

A state s is how often each arm paid each reward in the plays so far: counts of P *kinds* of reward
(an arm, or a pair of a context and an arm, with one of its rewards). Let w_θ(s) be the prior of θ
times the probability that θ gives to these rewards, in one order, if just these arms are played in
just these contexts. Let Δ_i(θ) be what a play of arm i loses under θ. Then F_n(s), which is Σ_θ
w_θ(s) times the least expected regret of n more plays, solves

    F_0 = 0,      F_n(s) = min_i [Σ_θ w_θ(s)·Δ_i(θ) + Σ_r F_{n−1}(s + one reward r of arm i)],

in each context; the minima are averaged over contexts by their probabilities.

**Numbering.** States of n rewards are in lexicographic order, those with most of the first kind
first. With R_k the rewards of kinds after the k-th, the number of a state is
Σ_{k<P} C(R_k + P − k − 1, P − k), and one more reward of kind p adds one to R_k for k < p.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import comb

from fpbandits.core.arrays import Counts, Floats
from fpbandits.problem.problem import Problem
from fpbandits.theory.structure import gaps_by_pair

MOST_STATES = 3_000_000
"""States that a program may have: they take some hundred megabytes."""

MOST_WEIGHTS = 2_000_000_000
"""Weights w_θ(s) that a program may have: they take about ten seconds."""

_WEIGHTS_AT_ONCE = 2**22
"""Weights that are computed at a time, to save memory."""

_LOG_OF_ZERO = -1e5
"""Stands for ln 0, which times a count of 0 would be NaN; e to this power is 0."""


@dataclass(frozen=True)
class CountProgram:
    """The dynamic program of a problem and a horizon.

    A pair is a context and an arm, or an arm where there are no contexts; pairs are numbered
    context by context.

    Attributes
    ----------
    kinds
        [pair, reward]: the index of each kind of reward, −1 for one that no model allows.
    chances
        [model, kind]: the probability of the reward when its pair is played.
    gaps
        [model, pair]: what a play loses against the best arm in its context, in the units of the
        problem's rewards.
    prior, shares
        The probabilities of models and of contexts.
    """

    horizon: int
    kinds: Counts
    chances: Floats
    gaps: Floats
    prior: Floats
    shares: Floats

    @classmethod
    def of(cls, problem: Problem, horizon: int) -> CountProgram | None:
        """Return the program, or None if it would be too large or rewards are continuous."""
        chances = problem.rewards.chances()
        if chances is None:
            return None
        possible = (chances > 0).any(axis=0)
        kinds = np.where(possible, np.cumsum(possible).reshape(possible.shape) - 1, -1)
        if horizon > cls.longest(problem):
            return None
        gaps = gaps_by_pair(problem)
        prior = np.array(problem.prior or [1 / len(chances)] * len(chances))
        shares = np.array(problem.shares or (1.0,))
        return cls(horizon, kinds, chances[:, possible], gaps, prior, shares)

    @staticmethod
    def longest(problem: Problem, most_states: int = MOST_STATES) -> int:
        """Return the longest horizon for so many states and `MOST_WEIGHTS`; 0 if continuous."""
        chances = problem.rewards.chances()
        if chances is None:
            return 0
        kinds = int((chances > 0).any(axis=0).sum())
        most = min(most_states, MOST_WEIGHTS // len(chances))
        # C(T + P, P) states have at most T rewards.
        return bisect_right(range(most), most, key=lambda time: math.comb(time + kinds, kinds)) - 1

    @cached_property
    def binomials(self) -> Counts:
        """C(r + P − k − 1, P − k) by k and r, for 1 ≤ k < P and r up to the horizon."""
        later_kinds = np.arange(self.chances.shape[1] - 1, 0, -1)[:, np.newaxis]
        rewards = np.arange(self.horizon + 1)
        return np.rint(comb(rewards + later_kinds - 1, later_kinds)).astype(np.int64)

    def _levels(self, tell: Callable[[float], None]) -> tuple[list[Counts], list[Floats]]:
        """For n = 0, 1, … rewards: the next state, [state, kind], and the loss, [state, pair]."""
        kinds = self.chances.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(self.chances), _LOG_OF_ZERO)
            prior = np.log(self.prior)
        states, next_states, losses = np.zeros((1, kinds), np.int64), [], []
        rows = np.arange(kinds - 1)
        block = max(1, _WEIGHTS_AT_ONCE // len(logs))
        for plays in range(self.horizon):
            tell((plays / self.horizon) ** kinds)  # about the share of states
            later = plays - np.cumsum(states, axis=1)[:, :-1]  # R_k of the module's docstring
            terms = self.binomials[rows, later]
            added = np.cumsum(self.binomials[rows, later + 1] - terms, axis=1)
            to = terms.sum(axis=1)[:, np.newaxis] + np.insert(added, 0, 0, axis=1)
            blocks = [
                np.exp(states[first : first + block] @ logs.T + prior) @ self.gaps
                for first in range(0, len(states), block)
            ]
            next_states.append(to)
            losses.append(np.concatenate(blocks))
            longer = np.zeros((math.comb(plays + kinds, kinds - 1), kinds), np.int64)
            for kind in range(kinds):
                longer[to[:, kind]] = states
                longer[to[:, kind], kind] += 1
            states = longer
        return next_states, losses

    def number(self, counts: Counts) -> int:
        """Return the index of a state among those of as many rewards."""
        later = counts.sum() - np.cumsum(counts)[:-1]
        return int(self.binomials[np.arange(len(later)), later].sum())

    def values(
        self,
        horizons: Sequence[int],
        choices: list[Counts] | None = None,
        tell: Callable[[float], None] = lambda share: None,
    ) -> list[float]:
        """Return the least Bayes regret of each of these horizons, none longer than the program's.

        If ``choices`` is a list, the best arms, [context, state], are appended to it for 1, 2, …
        plays left, horizon by horizon. ``tell`` is called with the share of the work that is done;
        an error that it raises ends the work.
        """
        next_states, losses = self._levels(lambda share: tell(0.8 * share))
        contexts, found = len(self.shares), list[float]()
        for horizon in horizons:
            ahead = np.zeros(math.comb(horizon + self.chances.shape[1] - 1, horizon))
            for plays in range(horizon - 1, -1, -1):
                tell(0.8 + 0.2 * len(found) / len(horizons))
                after = ahead[next_states[plays]]
                by_arm = np.stack(
                    [
                        losses[plays][:, pair] + after[:, kinds[kinds >= 0]].sum(axis=1)
                        for pair, kinds in enumerate(self.kinds)
                    ]
                ).reshape(contexts, -1, len(after))
                ahead = self.shares @ by_arm.min(axis=1)
                if choices is not None:
                    choices.append(by_arm.argmin(axis=1))
            found.append(float(ahead[0]))
        return found
