"""Structure and bounds under one truth where decisions have contexts.

A context x is seen before each decision. Everything that is by arm becomes by *pair* (x, a), of
index x · |arms| + a. Let a*(x) be the best arm in x under θ°, the smallest index where arms tie.

* B(θ°) is the set of models that give (x, a*(x)) the same distribution as θ° for every context x,
  and under which a*(x) is not a best arm in some x: playing well in every context does not tell
  them from the truth, yet a policy has to, because it would lose under them.
* The lower bound: regret grows at least as ln T · min Σ c(x, a) Δ(x, a) over plays c ≥ 0 with
  Σ c(x, a) D_{x,a}(θ°‖θ) ≥ 1 for every θ in B(θ°). How often each context comes drops out, as long
  as each comes at all: it is only a matter of waiting for it.

So one context may reveal for free what would cost regret in another. UCB1's bound is the sum over
contexts, each a separate bandit that is played at most T times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fpbandits.core.arrays import Bools, Floats, Ints
from fpbandits.problem.problem import Problem
from fpbandits.theory.bounds import ucb1_bound
from fpbandits.theory.cases import UCB1Bound
from fpbandits.theory.lower import Cheapest, cheapest
from fpbandits.theory.outlook import confused_outlook
from fpbandits.theory.structure import BestArms
from fpbandits.theory.verdicts import case_text, first_of, least_text, pick


class PairStructure(BestArms):
    """The definitions above, for one problem; θ° is the index ``truth`` of a model.

    ``best_arm`` is [θ, context], and ``best_arms`` is [θ, context, arm].
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.means = self.means.reshape(len(problem.models), -1, len(problem.arms))

    def best_pairs(self, truth: int) -> Ints:
        """Return the indices of the pairs (x, a*(x)), by context."""
        contexts = np.arange(self.means.shape[1])
        pairs: Ints = contexts * self.means.shape[2] + self.best_arm[truth]
        return pairs

    def gaps(self, truth: int) -> Floats:
        """Δ(x, a) of every pair; 0 for all arms that tie for best."""
        means = self.means[truth]
        gaps: Floats = means.max(axis=1, keepdims=True) - means
        return np.where(self.best_arms[truth], 0.0, gaps).reshape(-1)

    def told_by(self, truth: int) -> Bools:
        """Return whether playing a*(x) in a context x tells θ from θ°: [θ, context]."""
        same = [self.problem.rewards.same_law(truth, pair) for pair in self.best_pairs(truth)]
        return ~np.stack(same, axis=1)

    def would_lose(self, truth: int) -> Bools:
        """Return for each θ whether always playing a*(x) would lose: in some x it is not best."""
        contexts = np.arange(self.means.shape[1])
        still_best = self.best_arms[:, contexts, self.best_arm[truth]]
        worse: Bools = np.logical_not(still_best.all(axis=1))
        return worse

    def confusion_set(self, truth: int) -> Ints:
        """B(θ°), as defined above."""
        return np.flatnonzero(self.would_lose(truth) & ~self.told_by(truth).any(axis=1))

    def cheapest(self, truth: int) -> Cheapest:
        """Return the lower bound, for rewards scaled to [0, 1], and the plays that attain it."""
        others = np.setdiff1d(np.arange(self.problem.pairs), self.best_pairs(truth))
        return cheapest(self, truth, self.confusion_set(truth), others)


@dataclass(frozen=True)
class PairBound:
    """The lower bound (Theorem 2 of the paper): lim inf E[R(T)]/ln T ≥ coefficient.

    The coefficient is in the user's units; ``pulls`` attain it, by context and arm, per unit of
    ln T.
    """

    coefficient: float
    pulls: dict[str, dict[str, float]]


@dataclass(frozen=True)
class ContextCase:
    """What follows if ``truth`` is the true model, where there are contexts.

    Attributes
    ----------
    best_arm, gaps
        By context; gaps by arm too, in the user's units.
    outlook
        Whether losses stop, in words for users.
    regime, verdict
        How regret grows under a good policy; the same with its reason.
    told_by
        For every model under which some a*(x) is not best, the contexts x in which playing a*(x)
        tells it from the truth: none if the model is in the confusion set.
    """

    truth: str
    best_arm: dict[str, str]
    outlook: str
    regime: Literal["bounded", "logarithmic"]
    verdict: str
    confusion_set: tuple[str, ...]
    told_by: dict[str, tuple[str, ...]]
    gaps: dict[str, dict[str, float]]
    theorem2: PairBound
    ucb1: UCB1Bound

    @property
    def facts(self) -> dict[str, str]:
        """The best arms and the bounds, in a few words each."""
        return {
            "best arm": self._decisions,
            "any policy": least_text(self.theorem2.coefficient),
            "UCB1 in each": f"regret ≤ {self.ucb1}",
        }

    @property
    def _decisions(self) -> str:
        """Which arm is best in which contexts, in words."""
        by_arm: dict[str, list[str]] = {}
        for context, arm in self.best_arm.items():
            by_arm.setdefault(arm, []).append(context)
        if len(by_arm) == 1:
            return f"{next(iter(by_arm))} in every context"
        return "; ".join(f"{arm} in {', '.join(contexts)}" for arm, contexts in by_arm.items())

    def __str__(self) -> str:
        return case_text(self.truth, self.outlook, self.facts)


def context_case(structure: PairStructure, truth: int) -> ContextCase:
    """Return what follows if the model ``truth`` is the true one."""
    problem, width = structure.problem, structure.problem.rewards.width
    gaps = structure.gaps(truth)
    confused = pick(problem.models, structure.confusion_set(truth))
    lower = structure.cheapest(truth)
    pulls = np.zeros(problem.pairs)
    pulls[list(lower.pulls)] = list(lower.pulls.values())
    ucb1 = [ucb1_bound(row) for row in gaps.reshape(structure.means.shape[1:])]
    told, loses = structure.told_by(truth), structure.would_lose(truth)
    told_by = {
        problem.models[other]: pick(problem.contexts, np.flatnonzero(told[other]))
        for other in np.flatnonzero(loses)
    }
    # The bound is 0 if there is nothing to tell apart, or if doing so costs nothing.
    regime: Literal["bounded", "logarithmic"] = "logarithmic" if lower.coefficient else "bounded"
    name, why_free = problem.models[truth], _why_free(told_by, problem.contexts)
    if confused:
        outlook = confused_outlook(name, "the best arms", confused, lower.coefficient * width)
    else:
        # With tied best arms a policy may play others than a*(x), which need not tell models apart.
        outlook = f"losses {'can stop' if truth in structure.ties else 'stop'}: {why_free}"
    return ContextCase(
        truth=name,
        best_arm=dict(
            zip(problem.contexts, pick(problem.arms, structure.best_arm[truth]), strict=True)
        ),
        outlook=outlook,
        regime=regime,
        verdict=_verdict(regime, confused, why_free),
        confusion_set=confused,
        told_by=told_by,
        gaps=problem.by_name((gaps * width).tolist()),
        theorem2=PairBound(lower.coefficient * width, problem.by_name(pulls.tolist())),
        ucb1=UCB1Bound(
            width * sum(log for log, _ in ucb1), width * sum(constant for _, constant in ucb1)
        ),
    )


def _verdict(regime: str, confused: tuple[str, ...], why_free: str) -> str:
    """Say what regret must be, and why."""
    if regime == "logarithmic":
        return f"logarithmic, because it looks like {first_of(confused)} while you play well"
    if confused:
        return (
            f"bounded: it looks like {first_of(confused)} while you play well, but it costs "
            "nothing to tell them apart"
        )
    return f"bounded: {why_free}"


def _why_free(told_by: dict[str, tuple[str, ...]], contexts: tuple[str, ...]) -> str:
    """Say which contexts tell the truth from which models while one plays well."""
    if not told_by:
        return "the same decisions are best under every model"
    by_context = [
        (context, tuple(name for name, telling in told_by.items() if context in telling))
        for context in contexts
    ]
    words = [f"{context} tells it from {first_of(names)}" for context, names in by_context if names]
    return f"for free, {', '.join(words[:3])}{' …' if len(words) > 3 else ''}"
