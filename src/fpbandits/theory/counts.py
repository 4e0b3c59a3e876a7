"""Few arms and a short horizon: the least Bayes regret of any number of models, exactly.

All that can be seen in n plays is how often each arm paid each reward: n counted rewards, among P
kinds (an arm, or a pair of a context and an arm, with one of its rewards). Let w_θ(s) be the prior
of θ times the probability it gives to the rewards of s, in one order. Then F_n(s), the least regret
of n more plays times the probability of s, solves

    F_0 = 0,      F_n(s) = min_i Σ_θ w_θ(s)·Δ_i(θ) + Σ_r F_{n−1}(s + one reward r of arm i),

in each context, whose minima are added up by their shares.

**Numbering.** States of n rewards are in lexicographic order, those with most of the first kind
first. With R_k the rewards of kinds after the k-th, the number of a state is
Σ_{k<P} C(R_k + P − k − 1, P − k), and one more reward of kind p adds one to R_k for k < p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import comb

from fpbandits.core.arrays import Counts, Floats
from fpbandits.problem.problem import Problem
from fpbandits.theory.structure import gaps_by_pair

MOST_STATES, MOST_WEIGHTS = 3_000_000, 2_000_000_000
"""States, and weights of models in them, that a program may have: some hundred megabytes, and about
ten seconds."""

_AT_ONCE = 2**22
"""Weights that are computed at a time."""


@dataclass(frozen=True)
class CountProgram:
    """The program of a problem and a horizon.

    Attributes
    ----------
    kinds
        [pair, reward]: the number of each kind of reward, −1 for one that no model allows.
    chances
        [model, kind].
    gaps
        [model, pair], in the user's units.
    prior, shares
        Of models and of contexts.
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
        count = int(possible.sum())
        states = math.comb(horizon + count, count)
        if states > MOST_STATES or states * len(chances) > MOST_WEIGHTS:
            return None
        gaps = gaps_by_pair(problem)
        prior = np.array(problem.prior or [1 / len(chances)] * len(chances))
        shares = np.array(problem.shares or (1.0,))
        return cls(horizon, kinds, chances[:, possible], gaps, prior, shares)

    @cached_property
    def binomials(self) -> Floats:
        """C(r + P − k − 1, P − k) by k and r, for 1 ≤ k < P and r ≤ T + 1."""
        parts = np.arange(self.chances.shape[1] - 1, 0, -1)[:, np.newaxis]
        return np.rint(comb(np.arange(self.horizon + 2) + parts - 1, parts)).astype(np.int64)

    @cached_property
    def _levels(self) -> tuple[list[Counts], list[Floats]]:
        """Where each kind of reward leads from the states of n rewards, and what a play loses."""
        kinds = self.chances.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(self.chances), -1e5)  # e^−100,000 is 0, and 0 rewards cost 0
            prior = np.log(self.prior)
        states, following, lost = np.zeros((1, kinds), np.int64), [], []
        rows = np.arange(kinds - 1)
        some = max(1, _AT_ONCE // len(logs))
        for plays in range(self.horizon):
            left = plays - np.cumsum(states, axis=1)[:, :-1]
            number = self.binomials[rows, left]
            more = np.cumsum(self.binomials[rows, left + 1] - number, axis=1)
            to = number.sum(axis=1)[:, np.newaxis] + np.insert(more, 0, 0, axis=1)
            losses = [
                np.exp(states[first : first + some] @ logs.T + prior) @ self.gaps
                for first in range(0, len(states), some)
            ]
            following.append(to)
            lost.append(np.concatenate(losses))
            grown = np.zeros((math.comb(plays + kinds, kinds - 1), kinds), np.int64)
            for kind in range(kinds):
                grown[to[:, kind]] = states
                grown[to[:, kind], kind] += 1
            states = grown
        return following, lost

    def number(self, counts: Counts) -> int:
        """Return the number of a state among those of as many rewards."""
        left = counts.sum() - np.cumsum(counts)[:-1]
        return int(self.binomials[np.arange(len(left)), left].sum())

    def value(self, horizon: int, choices: list[Counts] | None = None) -> float:
        """Return the least regret of so many plays.

        ``choices``, if it is given, gets the best arms by context and state, for 1, 2, … plays
        left.
        """
        following, lost = self._levels
        contexts = len(self.shares)
        ahead = np.zeros(math.comb(horizon + self.chances.shape[1] - 1, horizon))
        for plays in range(horizon - 1, -1, -1):
            moved = ahead[following[plays]]
            each = np.stack(
                [
                    lost[plays][:, pair] + moved[:, kinds[kinds >= 0]].sum(axis=1)
                    for pair, kinds in enumerate(self.kinds)
                ]
            ).reshape(contexts, -1, len(moved))
            ahead = self.shares @ each.min(axis=1)
            if choices is not None:
                choices.append(each.argmin(axis=1))
        return float(ahead[0])
