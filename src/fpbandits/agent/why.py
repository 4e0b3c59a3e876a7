"""`Why`: the reasons of an agent's next decision, in words, as a table and as a dict.

Whatever the policy, each arm has a probability of being best and an expected loss, by the weights
that the policy itself gives the models, or by the posterior where it gives none. The numbers of the
policy's own rule stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from fpbandits.agent.belief import chances_and_losses
from fpbandits.core.arrays import Floats
from fpbandits.core.checks import amount, printable
from fpbandits.core.markup import Strong, and_more, html_table
from fpbandits.engine.policy import Reasons
from fpbandits.problem.problem import Problem

BEST = "probability of being best"
"""The name of a number of every arm."""

LOSS = "expected loss"
"""The name of another, in the user's units."""

_PLANNED = "plays the next arm of a plan that it made before"
_UNSAID = "gives no numbers of its own"

MOST_ROWS = 20
"""The most rows of a notebook's table."""

MOST_MODELS = 5
"""The most models named below it."""


@dataclass(frozen=True, repr=False)
class Why:
    """What the next decision of an agent rests on.

    Attributes
    ----------
    arm
        The arm that `Agent.ask` gives next, unless that decision explores.
    context
        The context it is for, if there are any.
    policy, rule
        The policy that decides, and how its arm follows from the numbers.
    arms
        The numbers of each eligible arm, by name: its probability of being best, its expected loss
        in the user's units, and those of the rule.
    models
        The weight of each model in these numbers: the policy's own, or else the posterior. Empty
        if no model allows what was seen.
    explore
        The share of decisions that are uniform over these arms instead.
    """

    arm: str
    context: str | None
    policy: str
    rule: str
    arms: Mapping[str, Mapping[str, float]]
    models: Mapping[str, float]
    explore: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values; None stands for an infinite number."""
        return vars(self) | {
            "arms": {
                arm: {name: x if isfinite(x) else None for name, x in numbers.items()}
                for arm, numbers in self.arms.items()
            },
            "models": dict(self.models),
        }

    def __str__(self) -> str:
        """Return it in words."""
        where = "" if self.context is None else f" in {printable(self.context)}"
        words = [f"{printable(self.arm)} is next{where}: {self.policy} {self.rule}."]
        numbers = self.arms[self.arm]
        if LOSS in numbers:
            words.append(
                f"It is best with probability {amount(numbers[BEST])} and expected to lose "
                f"{amount(numbers[LOSS])} per play."
            )
            losses = {arm: numbers[LOSS] for arm, numbers in self.arms.items()}
            safest = min(losses, key=losses.__getitem__)
            if losses[safest] < losses[self.arm]:
                words.append(f"{printable(safest)} would lose least, {amount(losses[safest])}.")
        if self.explore:
            words.append(f"With probability {self.explore:g} any eligible arm is played instead.")
        return " ".join(words)

    def table(self) -> str:
        """Return it as text: the words, and below them a row per arm."""
        from fpbandits.report.text import text_table

        head, rows = self._cells()
        return text_table(str(self), [head, *rows], text_columns=1)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        head, rows = self._cells()
        rows = [[Strong(row[0]) if row[0] == self.arm else row[0], *row[1:]] for row in rows]
        return html_table(
            f"Why {self.arm}?",
            head,
            rows[:MOST_ROWS],
            above=[str(self)],
            below=[
                *and_more(len(rows), min(len(rows), MOST_ROWS), "arms", "in .arms"),
                *(heaviest(self.models, "Models by weight", "in .models") if self.models else []),
            ],
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the header of the table, and a row per arm."""
        names = list(next(iter(self.arms.values())))
        rows = [[arm, *map(_number, numbers.values())] for arm, numbers in self.arms.items()]
        return ["arm", *names], rows


def heaviest(weights: Mapping[str, float], title: str, where: str) -> list[str]:
    """Return a line with the models of largest weight, and one on those that it leaves out."""
    order = sorted(weights, key=lambda model: -weights[model])[:MOST_MODELS]
    named = "; ".join(f"{model} {weights[model]:.3g}" for model in order)
    return [f"{title}: {named}", *and_more(len(weights), len(order), "models", where)]


def _number(value: float) -> str:
    return {inf: "∞", -inf: "-∞"}.get(value) or amount(value)


def why(
    problem: Problem,
    policy: str,
    arm: int,
    context: int,
    reasons: Reasons | None,
    posterior: Floats | None,
    *,
    among: Sequence[int] | None,
    planned: bool,
    explore: float,
) -> Why:
    """Return the reasons for playing ``arm``.

    ``reasons`` are the policy's own, if it has any; ``planned`` tells whether the arm belongs to a
    plan made before, ``explore`` is the share of decisions that explore.
    """
    weights = posterior if reasons is None or reasons.weights is None else reasons.weights
    columns: dict[str, Floats] = {}
    if weights is not None:
        columns[BEST], columns[LOSS] = chances_and_losses(problem, weights, context, among)
    if reasons is not None:
        columns |= {name: np.asarray(numbers) for name, numbers in reasons.numbers.items()}
    arms = problem.arms if among is None else [problem.arms[index] for index in among]
    rule = _PLANNED if planned else _UNSAID if reasons is None else reasons.rule
    return Why(
        problem.arms[arm],
        problem.contexts[context] if problem.contexts else None,
        policy,
        rule,
        {
            name: {column: float(numbers[row]) for column, numbers in columns.items()}
            for row, name in enumerate(arms)
        },
        {} if weights is None else dict(zip(problem.models, weights.tolist(), strict=True)),
        explore,
    )
