"""`analyze`: structure and bounds of a problem, one case per truth.

A case is made by `cases`, or by `contexts` where decisions have contexts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from fpbandits.core.markup import and_more, html_table
from fpbandits.core.renamed import refuses_old_keywords
from fpbandits.errors import InputError, counted
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem
from fpbandits.theory.cases import Case, case_of
from fpbandits.theory.contexts import PairStructure, context_case
from fpbandits.theory.structure import Structure
from fpbandits.theory.verdicts import first_of, pick

MOST_CASES = 2_000
"""A case lists every other model, so all cases together grow with the square of |Θ|."""

_MOST_SHOWN = 10
"""Cases that are shown where an analysis is printed; the others are counted."""


@dataclass(frozen=True, repr=False)
class Analysis:
    """What a problem allows: one case per true model.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> fpb.analyze(fpb.load_problem("paper:two"), truth="theta2")
    paper:two: 2 models, 2 arms, of which 2 are best under some model
    theta2: losses never stop: playing arm2 does not tell theta2 from theta1, so
    other arms must be tried again and again. In the long run this costs at least
    0.5069 more each time the number of plays grows tenfold
      best arm       arm2
      the default    regret ≤ 0.5722 · ln T in the long run
      any policy     regret ≥ 0.2201 · ln T in the long run
      optimist       regret ≤ 0.2422 · ln T in the long run
      UCB1           regret ≤ 1.3 + 26.67 · ln T
      FP-UCB         regret ≤ 3.0 + 7.347 · ln T

    Attributes
    ----------
    problem, arms, models
        Names: of the problem, of its arms, and of its models.
    candidate_arms
        The arms that are best under some model (in some context).
    ties
        The models with tied best arms (in some context).
    cases
        What follows under each true model.
    """

    problem: str
    arms: tuple[str, ...]
    models: tuple[str, ...]
    candidate_arms: tuple[str, ...]
    ties: tuple[str, ...]
    cases: tuple[Case, ...]

    @classmethod
    def of(cls, structure: Structure | PairStructure, cases: Iterable[Any], **more: Any) -> Self:
        """Return the analysis of a structure; ``more`` are the fields of a subclass."""
        problem = structure.problem
        return cls(
            problem=problem.name,
            arms=problem.arms,
            models=problem.models,
            candidate_arms=pick(problem.arms, structure.candidate_arms),
            ties=pick(problem.models, structure.ties),
            cases=tuple(cases),
            **more,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, tuples, texts and numbers, ready for JSON."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """One line on the problem as a whole."""
        return f"{self.problem}: {self._size}"

    @property
    def _size(self) -> str:
        """How many models and arms there are, in words."""
        best = len(self.candidate_arms)
        return (
            f"{counted(len(self.models), 'model')}, {counted(len(self.arms), 'arm')}, of which "
            f"{best:,} {'is' if best == 1 else 'are'} best {self._best_where}"
        )

    @property
    def _best_where(self) -> str:
        """Where the candidate arms are best, in words."""
        return "under some model"

    @property
    def tie_notice(self) -> str | None:
        """A warning if some model has tied best arms."""
        if not self.ties:
            return None
        return (
            f"{counted(len(self.ties), 'model')} ({first_of(self.ties)}) with tied best arms: "
            "the first of them counts as best, so the order of the arms decides which "
            "models count as confused."
        )

    def __repr__(self) -> str:
        shown = map(str, self.cases[:_MOST_SHOWN])
        return "\n".join([self.summary, *self._notices, *shown, *self._left_out])

    def _repr_html_(self) -> str:
        """Show a case in full in a notebook, or several at a glance."""
        if len(self.cases) == 1:
            (case,) = self.cases
            # Two columns: the names of the facts under the truth, their texts under the outlook.
            head, rows = [case.truth, case.outlook], list(map(list, case.facts.items()))
        else:
            cases = self.cases[:_MOST_SHOWN]
            names = list(dict.fromkeys(name for case in cases for name in case.facts))
            head = ["truth", "losses", *names]
            rows = [
                [case.truth, case.outlook, *(case.facts.get(name, "–") for name in names)]
                for case in cases
            ]
        above, below, columns = [self._size, *self._notices], self._left_out, len(head)
        return html_table(self.problem, head, rows, text_columns=columns, above=above, below=below)

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

    cases: tuple[
        Any, ...
    ]  # a `ContextCase` is no `Case`, which a subclass's field would have to be
    contexts: tuple[str, ...]

    @property
    def _best_where(self) -> str:
        """Where the candidate arms are best, in words."""
        return f"in some of {counted(len(self.contexts), 'context')}"


@refuses_old_keywords
def analyze(
    problem: Problem | str | os.PathLike[str],
    truth: str | None = None,
    *,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Analysis:
    """Return what can be learned for free with these candidate models, and what must cost regret.

    Parameters
    ----------
    problem
        The candidate models, or what `load_problem` takes, such as "paper:two".
    truth
        The name of the true model; by default each model in turn.
    progress
        Wraps the loop over cases, as a progress bar does.

    Returns
    -------
    Analysis
        One case per true model, each with its confusion set, the bounds on FP-UCB's regret as the
        paper prints them and with their errors corrected (the text shows these), the lower bound
        for any policy, and the bounds of the default policy, of `optimist` and of UCB1. With
        contexts, values are by context and arm instead of by arm, UCB1's bound is the only upper
        bound, and the cases are those of `fpbandits.theory.contexts`.
    """
    problem = the_problem(problem)
    refuse_moving(problem, "analyze")
    if truth is None and len(problem.models) > MOST_CASES:
        raise InputError(
            f"{len(problem.models):,} models make too many cases to list (at most "
            f"{MOST_CASES:,}): name the true one"
        )
    chosen = range(len(problem.models)) if truth is None else [problem.index(truth)]
    if problem.contexts:
        pairs = PairStructure(problem)
        cases = [context_case(pairs, index) for index in progress(chosen)]
        return ContextAnalysis.of(pairs, cases, contexts=problem.contexts)
    structure = Structure(problem)
    return Analysis.of(structure, [case_of(structure, index) for index in progress(chosen)])
