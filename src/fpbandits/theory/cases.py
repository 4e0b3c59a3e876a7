"""Structure and bounds under one truth, without contexts, by name and in the user's units.

The modules beside this one compute on [0, 1] and in indices. Here the results get the names of arms
and models, and regret is multiplied by the width of the range; `verdicts` puts the verdict into a
sentence. `contexts` has the same for problems with contexts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Literal

from fpbandits.theory.bounds import default_bound, optimist_bound, theorem1, ucb1_bound
from fpbandits.theory.lower import Cheapest, theorem2
from fpbandits.theory.outlook import outlook
from fpbandits.theory.structure import Structure
from fpbandits.theory.verdicts import bound_text, case_text, least_text, pick, verdict


@dataclass(frozen=True)
class Term:
    """How long a model outside B(θ°) with another best arm can pass for the truth.

    ``alpha`` is in the user's units; k + K bounds the expected number of episodes, and ``lemma2``
    bounds k + K.
    """

    alpha: float
    k: int
    K: float
    lemma2: float
    lemma2_printed: float


@dataclass(frozen=True)
class RegretBound:
    """E[R(T)] ≤ constant + log_coefficient · ln T.

    ``constants``, by arm, are bounds on E[n_i(T)] less its log term.
    """

    constants: dict[str, float]
    constant: float | None
    log_coefficient: float

    def __str__(self) -> str:
        return bound_text(self.constant, self.log_coefficient)


@dataclass(frozen=True)
class UpperBounds:
    """Theorem 1, as printed and as corrected."""

    printed: RegretBound
    corrected: RegretBound
    terms: dict[str, Term]


@dataclass(frozen=True)
class LowerBound:
    """lim inf E[R(T)]/ln T ≥ coefficient; ``pulls`` of each arm per unit of ln T attain it."""

    coefficient: float
    pulls: dict[str, float]


@dataclass(frozen=True)
class LowerBounds(LowerBound):
    """Theorem 2 over A, over all arms, and as printed.

    ``confusion_set`` is the part of B(θ°) that forces exploration.
    """

    confusion_set: tuple[str, ...]
    all_arms: LowerBound
    printed: LowerBound


@dataclass(frozen=True)
class UCB1Bound:
    """The bound of UCB1, which knows nothing of Θ; with contexts, the sum over them."""

    log_coefficient: float
    constant: float

    def __str__(self) -> str:
        return bound_text(self.constant, self.log_coefficient)


@dataclass(frozen=True)
class LongRunBound:
    """lim sup E[R(T)]/ln T ≤ log_coefficient, and bounded regret where it is 0.

    None where no such bound is known: `optimist`'s where best arms tie, for the default see
    `default_bound`.
    """

    log_coefficient: float | None

    def __str__(self) -> str:
        if self.log_coefficient is None:
            return "regret grows at most as ln T"
        if not self.log_coefficient:
            return "regret is bounded"
        return f"regret ≤ {self.log_coefficient:.4g} · ln T in the long run"


@dataclass(frozen=True)
class Nearest:
    """The model outside B(θ°) with another best arm that is hardest to tell from the truth.

    That takes ``plays`` of the truth's best arm: 12 ln k/α² at the episode k = k_i, rounded up.
    """

    model: str
    alpha: float
    plays: int


@dataclass(frozen=True)
class Case:
    """What follows if ``truth`` is the true model.

    ``outlook`` says in words whether losses stop; ``default`` bounds the default policy's.
    ``regime`` and ``verdict`` are FP-UCB's: bounded where its bound has no ln T. ``gaps``,
    ``betas`` and all regret are in the user's units; plays and episodes have none.
    """

    truth: str
    best_arm: str
    outlook: str
    regime: Literal["bounded", "logarithmic"]
    verdict: str
    confusion_set: tuple[str, ...]
    confusing_arms: tuple[str, ...]
    gaps: dict[str, float]
    betas: dict[str, float]
    nearest: Nearest | None
    default: LongRunBound
    theorem1: UpperBounds
    theorem2: LowerBounds
    ucb1: UCB1Bound
    optimist: LongRunBound

    @property
    def facts(self) -> dict[str, str]:
        """The best arm and the bounds, in a few words each: the paper's policy comes last."""
        known = self.optimist.log_coefficient is not None
        return {
            "best arm": self.best_arm,
            "the default": str(self.default),
            "any policy": least_text(self.theorem2.all_arms.coefficient),
            **({"optimist": str(self.optimist)} if known else {}),
            "UCB1": f"regret ≤ {self.ucb1}",
            "FP-UCB": f"regret ≤ {self.theorem1.corrected}",
        }

    def __str__(self) -> str:
        return case_text(self.truth, self.outlook, self.facts)


def case_of(structure: Structure, truth: int) -> Case:
    """Return what follows if the model ``truth`` is the true one."""
    problem, width = structure.problem, structure.problem.rewards.width
    model_names = partial(pick, problem.models)
    upper, lower = theorem1(structure, truth), theorem2(structure, truth)

    def by_arm(values: dict[int, float], unit: float = 1.0) -> dict[str, float]:
        return {problem.arms[arm]: value * unit for arm, value in values.items()}

    def at_most(constants: dict[int, float], constant: float | None) -> RegretBound:
        total = None if constant is None else constant * width
        return RegretBound(by_arm(constants), total, upper.log_coefficient * width)

    def at_least(cheapest: Cheapest) -> LowerBound:
        return LowerBound(cheapest.coefficient * width, by_arm(cheapest.pulls))

    gaps = structure.gaps(truth)
    ucb1_log, ucb1_constant = ucb1_bound(gaps)
    default = default_bound(structure, truth, lower)
    optimist = optimist_bound(structure, truth)

    def long_run(coefficient: float | None) -> LongRunBound:
        return LongRunBound(None if coefficient is None else coefficient * width)

    times = upper.separation
    alphas, K = (times.alpha * width).tolist(), times.K.tolist()
    columns = alphas, times.k, K, times.lemma2.tolist(), times.lemma2_printed.tolist()
    rows = zip(*columns, strict=True)
    terms = dict(zip(model_names(upper.separable), starmap(Term, rows), strict=True))
    nearest = None
    if terms:
        index = int(times.alpha.argmin())
        # k_i is the first k ≥ 3 with k − 1 ≥ 12 ln k/α². At k = 3, which takes an α above 1, fewer
        # plays than k − 1 may be enough.
        k, alpha = times.k[index], float(times.alpha[index])
        plays = k - 1 if k > 3 else math.ceil(12 * math.log(3) / alpha**2)
        nearest = Nearest(list(terms)[index], alphas[index], plays)

    return Case(
        truth=problem.models[truth],
        best_arm=problem.arms[structure.best_arm[truth]],
        outlook=outlook(structure, truth, lower, default),
        regime="logarithmic" if upper.log_coefficient else "bounded",
        verdict=verdict(structure, truth, upper, lower, nearest),
        confusion_set=model_names(structure.confusion_set(truth)),
        confusing_arms=pick(problem.arms, structure.confusing_arms(truth)),
        gaps=by_arm(dict(enumerate(gaps.tolist())), width),
        betas=by_arm(structure.betas(truth), width),
        nearest=nearest,
        default=long_run(default),
        theorem1=UpperBounds(
            printed=at_most(upper.printed, upper.printed_constant),
            corrected=at_most(upper.corrected, upper.corrected_constant),
            terms=terms,
        ),
        theorem2=LowerBounds(
            **vars(at_least(lower.candidate_arms)),
            confusion_set=model_names(lower.confusion_set),
            all_arms=at_least(lower.all_arms),
            printed=at_least(lower.printed),
        ),
        ucb1=UCB1Bound(ucb1_log * width, ucb1_constant * width),
        optimist=long_run(optimist),
    )
