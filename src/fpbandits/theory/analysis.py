"""`analyze`: structure and bounds of a problem, by name and in the user's units.

The modules beside this one compute on [0, 1] and in indices. Here the results get the names of arms
and parameters, regret gets the user's units (it is larger by the width of the range), and each true
parameter gets a verdict in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from fpbandits.arrays import Ints
from fpbandits.errors import InputError, counted
from fpbandits.problem import Problem
from fpbandits.theory.bounds import theorem1, ucb1_bound
from fpbandits.theory.lower import Exploration, Theorem2, theorem2
from fpbandits.theory.structure import Structure

MOST_CASES = 2_000
"""A case lists every other parameter, so all cases together grow with the square of |Θ|."""

NEARLY_CONFUSED = 0.1
"""At this α on [0, 1] it takes some 11,000 plays to tell two models apart."""


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
        return _bound_text(self.constant, self.log_coefficient)


@dataclass(frozen=True)
class UpperBounds:
    """Theorem 1, as printed and as corrected."""

    printed: RegretBound
    corrected: RegretBound
    terms: dict[str, Term]


@dataclass(frozen=True)
class LowerBound:
    """lim inf E[R(T)]/ln T ≥ coefficient, and plays of each arm a unit of ln T to attain it."""

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
        return _bound_text(self.constant, self.log_coefficient)


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

    ``gaps``, ``betas`` and all regret are in the user's units; plays and episodes have none.
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

    def __str__(self) -> str:
        least = self.theorem2.all_arms.coefficient
        lines = [
            f"{self.true}: {self.verdict}",
            f"  best arm       {self.best_arm}",
            f"  FP-UCB         regret ≤ {self.theorem1.corrected}",
            f"  UCB1           regret ≤ {self.ucb1}",
            f"  any policy     regret ≥ {least:.4g} · ln T in the long run"
            if least
            else "  any policy     need not let regret grow",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Analysis:
    """What a problem allows: one case a true parameter.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> fpb.analyze(fpb.load_problem("paper:two"), true="theta2")
    paper:two: 2 parameters, 2 arms, of which 2 are best under some parameter
    theta2: logarithmic, because it looks like theta1 while you play arm2
      best arm       arm2
      FP-UCB         regret ≤ 3.0 + 7.347 · ln T
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
            f"{counted(len(self.ties), 'parameter')} ({_listed(self.ties)}) with tied best arms: "
            "the first of them counts as best, so the order of the arms decides what is confused."
        )

    def __repr__(self) -> str:
        notice = [f"Note: {self.tie_notice}"] if self.ties else []
        return "\n".join([self.summary, *notice, *map(str, self.cases)])


def analyze(
    problem: Problem,
    true: str | None = None,
    *,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Analysis:
    """Say what the set of candidate models allows: what is free, and what must cost.

    Parameters
    ----------
    problem
        The candidate models.
    true
        The name of the true parameter; by default each parameter in turn.
    progress
        Wraps the loop over cases, as a progress bar does.

    Returns
    -------
    Analysis
        One case a true parameter, each with its confusion set, the bounds on FP-UCB's regret as
        printed and as corrected, the lower bound for any policy, and UCB1's bound.
    """
    if true is None and len(problem.parameters) > MOST_CASES:
        raise InputError(
            f"{len(problem.parameters):,} parameters make too many cases to list (at most "
            f"{MOST_CASES:,}): name the true one"
        )
    structure = Structure(problem)
    chosen = range(len(problem.parameters)) if true is None else [problem.index(true)]
    return Analysis(
        problem=problem.name,
        arms=problem.arms,
        parameters=problem.parameters,
        candidate_arms=_named(problem.arms, structure.candidate_arms),
        ties=_named(problem.parameters, structure.ties),
        cases=tuple(_case(structure, index) for index in progress(chosen)),
    )


def _case(structure: Structure, true: int) -> Case:
    problem = structure.problem
    width = problem.rewards.width
    arm_names = partial(_named, problem.arms)
    parameter_names = partial(_named, problem.parameters)

    def by_arm(values: dict[int, float], unit: float = 1.0) -> dict[str, float]:
        return {problem.arms[arm]: value * unit for arm, value in values.items()}

    def lower(exploration: Exploration) -> LowerBound:
        return LowerBound(exploration.coefficient * width, by_arm(exploration.pulls))

    confused = structure.confusion_set(true)
    upper = theorem1(structure, true)
    below = theorem2(structure, true)
    gaps = structure.gaps(true)
    ucb1_log, ucb1_constant = ucb1_bound(gaps)

    times = upper.separation
    alphas = (times.alpha * width).tolist()
    terms = {
        name: Term(*values)
        for name, *values in zip(
            parameter_names(upper.separable),
            alphas,
            times.k,
            times.K.tolist(),
            times.lemma2.tolist(),
            times.lemma2_printed.tolist(),
            strict=True,
        )
    }
    nearest = None
    if terms:
        place = int(times.alpha.argmin())
        # k_i is the first k with k − 1 ≥ 12 ln k/α².
        nearest = Nearest(list(terms)[place], alphas[place], times.k[place] - 1)

    return Case(
        true=problem.parameters[true],
        best_arm=problem.arms[structure.best_arm[true]],
        regime="logarithmic" if len(confused) else "bounded",
        verdict=_verdict(structure, true, below, nearest),
        confusion_set=parameter_names(confused),
        confusing_arms=arm_names(structure.confusing_arms(true)),
        gaps=by_arm(dict(enumerate(gaps.tolist())), width),
        betas=by_arm(structure.betas(true), width),
        nearest=nearest,
        theorem1=UpperBounds(
            printed=RegretBound(
                by_arm(upper.printed),
                None if upper.printed_constant is None else upper.printed_constant * width,
                upper.log_coefficient * width,
            ),
            corrected=RegretBound(
                by_arm(upper.corrected),
                upper.corrected_constant * width,
                upper.log_coefficient * width,
            ),
            terms=terms,
        ),
        theorem2=LowerBounds(
            coefficient=below.candidate_arms.coefficient * width,
            pulls=by_arm(below.candidate_arms.pulls),
            confusion_set=parameter_names(below.confusion_set),
            all_arms=lower(below.all_arms),
            printed=lower(below.printed),
        ),
        ucb1=UCB1Bound(ucb1_log * width, ucb1_constant * width),
    )


def _verdict(structure: Structure, true: int, below: Theorem2, nearest: Nearest | None) -> str:
    problem = structure.problem
    arm = structure.best_arm[true]
    name = problem.arms[arm]
    if len(below.confusion_set):
        like = _listed(_named(problem.parameters, below.confusion_set))
        reason = f"because it looks like {like} while you play {name}"
        if below.all_arms.coefficient > 0:
            return f"logarithmic, {reason}"
        return f"logarithmic for FP-UCB, {reason}; but it costs nothing to tell them apart"
    confused = structure.confusion_set(true)
    if len(confused):
        best_there = structure.best_arms[confused, arm]
        if best_there.all():
            relief = f"{name} is best there too"
        elif not best_there.any():
            relief = f"{name} pays by another law there"
        else:
            relief = f"{name} is best there too, or pays by another law"
        return (
            f"logarithmic for FP-UCB, because the mean of {name} is the same under "
            f"{_listed(_named(problem.parameters, confused))}; but {relief}, so no policy "
            "needs to pay"
        )
    if nearest is None:
        return f"bounded, because {name} is best under every parameter"
    if nearest.alpha < NEARLY_CONFUSED * problem.rewards.width:
        return (
            f"bounded, but only just: it takes {nearest.plays:,} plays of {name} to tell it from "
            f"{nearest.parameter} (means {nearest.alpha:.3g} apart)"
        )
    return f"bounded; {nearest.plays:,} plays of {name} rule out all with another best arm"


def _named(names: tuple[str, ...], indices: Ints) -> tuple[str, ...]:
    return tuple(names[index] for index in indices)


def _listed(names: tuple[str, ...]) -> str:
    """Name one, and say how many more there are."""
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {counted(len(names) - 1, 'other')}"


def _bound_text(constant: float | None, log_coefficient: float) -> str:
    parts = [] if constant is None else [f"{constant:,.1f}"]
    if log_coefficient:
        parts.append(f"{log_coefficient:.4g} · ln T")
    return " + ".join(parts)
