"""`analyze`: structure and bounds of a problem, by name and in the user's units.

The modules beside this one compute on [0, 1] and in indices. Here the results get the names of arms
and parameters, and regret gets the user's units (it is larger by the width of the range);
`verdicts` puts the verdict on each truth into a sentence.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import starmap
from typing import Any, Literal

from fpbandits.errors import InputError, counted
from fpbandits.files import the_problem
from fpbandits.markup import and_more, html_table
from fpbandits.problem import Problem
from fpbandits.theory.bounds import DEFAULT, default_bound, theorem1, ucb1_bound
from fpbandits.theory.contexts import PairStructure, context_case
from fpbandits.theory.lower import Cheapest, theorem2
from fpbandits.theory.structure import Structure
from fpbandits.theory.verdicts import bound_text, first_of, named, told, verdict

MOST_CASES = 2_000
"""A case lists every other parameter, so all cases together grow with the square of |Θ|."""

_MOST_SHOWN = 10
"""Cases that are shown where an analysis is printed; the rest is counted."""


@dataclass(frozen=True)
class Term:
    """How long a parameter outside B(θ°) with another best arm can pass for the truth.

    ``alpha`` is in the user's units; k + K bounds the expected episodes, and Lemma 2 bounds k + K.
    """

    alpha: float
    k: int
    K: float
    lemma2: float
    lemma2_printed: float


@dataclass(frozen=True)
class RegretBound:
    """E[R(T)] ≤ constant + log_coefficient · ln T, from bounds on E[n_i] less its log term."""

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
    """Theorem 2 over A, over all arms, and as printed; ``confusion_set``: what it really needs."""

    confusion_set: tuple[str, ...]
    all_arms: LowerBound
    printed: LowerBound


@dataclass(frozen=True)
class UCB1Bound:
    """UCB1's own guarantee, which knows nothing of Θ."""

    log_coefficient: float
    constant: float

    def __str__(self) -> str:
        return bound_text(self.constant, self.log_coefficient)


@dataclass(frozen=True)
class DefaultBound:
    """The default policy: lim sup E[R(T)]/ln T ≤ log_coefficient, and bounded regret where it is 0.

    None where best arms tie: there is no such bound.
    """

    policy: str
    log_coefficient: float | None


@dataclass(frozen=True)
class Nearest:
    """The parameter with another best arm that is hardest to tell from the truth, outside B(θ°).

    It takes ``plays`` of the truth's best arm: 12 ln k/α² at the episode k = k_i, rounded up.
    """

    parameter: str
    alpha: float
    plays: int


@dataclass(frozen=True)
class Case:
    """What follows if ``true`` is the true parameter.

    ``regime`` is FP-UCB's: bounded where its bound has no ln T. ``gaps``, ``betas`` and all regret
    are in the user's units; plays and episodes have none.
    """

    true: str
    best_arm: str
    regime: Literal["bounded", "logarithmic"]
    verdict: str
    confusion_set: tuple[str, ...]
    confusing_arms: tuple[str, ...]
    gaps: dict[str, float]
    betas: dict[str, float]
    nearest: Nearest | None
    theorem1: UpperBounds
    theorem2: LowerBounds
    ucb1: UCB1Bound
    default: DefaultBound

    @property
    def facts(self) -> dict[str, str]:
        """What there is to say beside the verdict, in a few words each."""
        least = self.theorem2.all_arms.coefficient
        return {
            "best arm": self.best_arm,
            "FP-UCB": f"regret ≤ {self.theorem1.corrected}",
            **self._of_default(),
            "UCB1": f"regret ≤ {self.ucb1}",
            "any policy": f"regret ≥ {least:.4g} · ln T in the long run"
            if least
            else "need not let regret grow",
        }

    def __str__(self) -> str:
        return told(self.true, self.verdict, self.facts)

    def _of_default(self) -> dict[str, str]:
        most = self.default.log_coefficient
        if most is None:
            return {}
        return {
            self.default.policy: f"regret ≤ {most:.4g} · ln T in the long run"
            if most
            else "regret is bounded"
        }


@dataclass(frozen=True, repr=False)
class Analysis:
    """What a problem allows: one case per true parameter.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> fpb.analyze(fpb.load_problem("paper:two"), true="theta2")
    paper:two: 2 parameters, 2 arms, of which 2 are best under some parameter
    theta2: logarithmic, because it looks like theta1 while you play arm2
      best arm       arm2
      FP-UCB         regret ≤ 3.0 + 7.347 · ln T
      optimist       regret ≤ 0.2422 · ln T in the long run
      UCB1           regret ≤ 1.3 + 26.67 · ln T
      any policy     regret ≥ 0.2201 · ln T in the long run
    """

    problem: str
    arms: tuple[str, ...]
    parameters: tuple[str, ...]
    candidate_arms: tuple[str, ...]
    ties: tuple[str, ...]
    cases: tuple[Case, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, ready for JSON."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """One line on the problem as a whole."""
        best = len(self.candidate_arms)
        return (
            f"{self.problem}: {counted(len(self.parameters), 'parameter')}, "
            f"{counted(len(self.arms), 'arm')}, of which {best:,} {'is' if best == 1 else 'are'} "
            "best under some parameter"
        )

    @property
    def tie_notice(self) -> str | None:
        """A word of warning where some parameter has tied best arms."""
        if not self.ties:
            return None
        return (
            f"{counted(len(self.ties), 'parameter')} ({first_of(self.ties)}) with tied best arms: "
            "the first of them counts as best, so the order of the arms decides what is confused."
        )

    def __repr__(self) -> str:
        shown = map(str, self.cases[:_MOST_SHOWN])
        return "\n".join([self.summary, *self._notices, *shown, *self._left_out])

    def _repr_html_(self) -> str:
        """Show a case in full in a notebook, or several at a glance."""
        if len(self.cases) == 1:
            (case,) = self.cases
            head, rows = [case.true, case.verdict], list(map(list, case.facts.items()))
        else:
            cases = self.cases[:_MOST_SHOWN]
            names = list(dict.fromkeys(name for case in cases for name in case.facts))
            head = ["truth", "regret is", *names]
            rows = [
                [case.true, case.verdict, *(case.facts.get(name, "–") for name in names)]
                for case in cases
            ]
        name, _, rest = self.summary.partition(": ")
        above, below = [rest, *self._notices], self._left_out
        return html_table(name, head, rows, words=len(head), above=above, below=below)

    @property
    def _notices(self) -> list[str]:
        return [f"Note: {self.tie_notice}"] if self.ties else []

    @property
    def _left_out(self) -> list[str]:
        total = len(self.cases)
        return and_more(total, min(total, _MOST_SHOWN), "truths", "in .cases")


@dataclass(frozen=True, repr=False)
class ContextAnalysis(Analysis):
    """What a problem with contexts allows; its cases are `ContextCase`."""

    cases: tuple[Any, ...]
    contexts: tuple[str, ...]

    @property
    def summary(self) -> str:
        """One line on the problem as a whole."""
        return super().summary.replace(
            " under some parameter", f" in some of {counted(len(self.contexts), 'context')}"
        )


def analyze(
    problem: Problem | str | os.PathLike[str],
    true: str | None = None,
    *,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Analysis:
    """Say what the set of candidate models allows: what is free, and what must cost.

    Parameters
    ----------
    problem
        The candidate models, or what `load_problem` finds them by, such as "paper:two".
    true
        The name of the true parameter; by default each parameter in turn.
    progress
        Wraps the loop over cases, as a progress bar does.

    Returns
    -------
    Analysis
        One case per true parameter, each with its confusion set, the bounds on FP-UCB's regret as
        printed and as corrected, the lower bound for any policy, and the bounds of the default
        policy and of UCB1. With contexts, what is by arm is by context and arm, FP-UCB has no part
        in it, and the cases are those of `fpbandits.theory.contexts`.
    """
    problem = the_problem(problem)
    if true is None and len(problem.parameters) > MOST_CASES:
        raise InputError(
            f"{len(problem.parameters):,} parameters make too many cases to list (at most "
            f"{MOST_CASES:,}): name the true one"
        )
    chosen = range(len(problem.parameters)) if true is None else [problem.index(true)]
    if problem.contexts:
        pairs = PairStructure(problem)
        return ContextAnalysis(
            problem=problem.name,
            arms=problem.arms,
            parameters=problem.parameters,
            candidate_arms=named(problem.arms, pairs.candidate_arms),
            ties=named(problem.parameters, pairs.ties),
            cases=tuple(context_case(pairs, index) for index in progress(chosen)),
            contexts=problem.contexts,
        )
    structure = Structure(problem)
    return Analysis(
        problem=problem.name,
        arms=problem.arms,
        parameters=problem.parameters,
        candidate_arms=named(problem.arms, structure.candidate_arms),
        ties=named(problem.parameters, structure.ties),
        cases=tuple(_case(structure, index) for index in progress(chosen)),
    )


def _case(structure: Structure, true: int) -> Case:
    problem, width = structure.problem, structure.problem.rewards.width
    parameter_names = partial(named, problem.parameters)

    def by_arm(values: dict[int, float], unit: float = 1.0) -> dict[str, float]:
        return {problem.arms[arm]: value * unit for arm, value in values.items()}

    def at_most(constants: dict[int, float], constant: float | None) -> RegretBound:
        total = None if constant is None else constant * width
        return RegretBound(by_arm(constants), total, upper.log_coefficient * width)

    def at_least(cheapest: Cheapest) -> LowerBound:
        return LowerBound(cheapest.coefficient * width, by_arm(cheapest.pulls))

    confused = structure.confusion_set(true)
    upper, lower = theorem1(structure, true), theorem2(structure, true)
    gaps = structure.gaps(true)
    ucb1_log, ucb1_constant = ucb1_bound(gaps)
    default = default_bound(structure, true)

    times = upper.separation
    alphas, K = (times.alpha * width).tolist(), times.K.tolist()
    columns = alphas, times.k, K, times.lemma2.tolist(), times.lemma2_printed.tolist()
    rows = zip(*columns, strict=True)
    terms = dict(zip(parameter_names(upper.separable), starmap(Term, rows), strict=True))
    nearest = None
    if terms:
        place = int(times.alpha.argmin())
        # k_i is the first k ≥ 3 with k − 1 ≥ 12 ln k/α²; only without a range may 3 be too many.
        k, alpha = times.k[place], float(times.alpha[place])
        plays = k - 1 if k > 3 else math.ceil(12 * math.log(3) / alpha**2)
        nearest = Nearest(list(terms)[place], alphas[place], plays)

    return Case(
        true=problem.parameters[true],
        best_arm=problem.arms[structure.best_arm[true]],
        regime="logarithmic" if upper.log_coefficient else "bounded",
        verdict=verdict(structure, true, upper, lower, nearest),
        confusion_set=parameter_names(confused),
        confusing_arms=named(problem.arms, structure.confusing_arms(true)),
        gaps=by_arm(dict(enumerate(gaps.tolist())), width),
        betas=by_arm(structure.betas(true), width),
        nearest=nearest,
        theorem1=UpperBounds(
            printed=at_most(upper.printed, upper.printed_constant),
            corrected=at_most(upper.corrected, upper.corrected_constant),
            terms=terms,
        ),
        theorem2=LowerBounds(
            **vars(at_least(lower.candidate_arms)),
            confusion_set=parameter_names(lower.confusion_set),
            all_arms=at_least(lower.all_arms),
            printed=at_least(lower.printed),
        ),
        ucb1=UCB1Bound(ucb1_log * width, ucb1_constant * width),
        default=DefaultBound(DEFAULT, None if default is None else default * width),
    )
