"""The verdict on a truth in a sentence: bounded or logarithmic, for whom, and why.

Regret is logarithmic for every policy if some model looks like the truth while its best arm is
played, has a better arm, and is costly to tell apart. It is bounded for FP-UCB if the bound of
FP-UCB has no ln T: B(θ°) is empty, or the best arms of all models in B(θ°) are as good as a*(θ°)
under the truth. In all other cases it is logarithmic for FP-UCB, and need not be for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING

from fpbandits.core.arrays import Ints
from fpbandits.core.checks import amount
from fpbandits.errors import counted
from fpbandits.theory.bounds import Theorem1
from fpbandits.theory.lower import Theorem2
from fpbandits.theory.structure import Structure

if TYPE_CHECKING:
    from fpbandits.theory.cases import Nearest

NEARLY_CONFUSED = 0.1
"""An α, on [0, 1], at which it takes some 11,000 plays to tell two models apart."""


def verdict(
    structure: Structure, truth: int, upper: Theorem1, lower: Theorem2, nearest: Nearest | None
) -> str:
    """Say what regret must be under the model ``truth``, and why."""
    arm = structure.problem.arms[structure.best_arm[truth]]
    if not upper.log_coefficient:
        return f"bounded{_why_bounded(structure, truth, arm, upper, nearest)}"
    if not len(lower.confusion_set):
        return _why_needless(structure, truth, arm)
    like = first_of(pick(structure.problem.models, lower.confusion_set))
    reason = f"because it looks like {like} while you play {arm}"
    if lower.all_arms.coefficient > 0:
        return f"logarithmic, {reason}"
    return f"logarithmic for FP-UCB, {reason}; but it costs nothing to tell them apart"


def _why_bounded(
    structure: Structure, truth: int, arm: str, upper: Theorem1, nearest: Nearest | None
) -> str:
    """Say why FP-UCB's regret is bounded, or how many plays it takes until that shows."""
    confused = pick(structure.problem.models, structure.confusion_set(truth))
    if nearest is None and not confused:
        return f", because {arm} is best under every model"
    if not upper.corrected_constant:
        return f", because FP-UCB plays no arm that is worse than {arm}"
    if nearest and nearest.alpha < NEARLY_CONFUSED * structure.problem.rewards.width:
        return (
            f", but only just: it takes {nearest.plays:,} plays of {arm} to tell it from "
            f"{nearest.model} (means {nearest.alpha:.3g} apart)"
        )
    if confused:
        others = pick(structure.problem.arms, structure.confusing_arms(truth))
        verb = "is" if len(others) == 1 else "are"
        return (
            f": it looks like {first_of(confused)} while you play {arm}, but {first_of(others)}, "
            f"which {verb} best there, {verb} as good"
        )
    assert nearest is not None
    return f"; {nearest.plays:,} plays of {arm} rule out all with another best arm"


def _why_needless(structure: Structure, truth: int, arm: str) -> str:
    """Say why FP-UCB explores where no policy needs to."""
    confused = structure.confusion_set(truth)
    best_there = structure.best_arms[confused, structure.best_arm[truth]]
    relief = "is best there too, or pays by another law"
    if best_there.all():
        relief = "is best there too"
    elif not best_there.any():
        relief = "pays by another law there"
    return (
        f"logarithmic for FP-UCB, because the mean of {arm} is the same under "
        f"{first_of(pick(structure.problem.models, confused))}; but {arm} {relief}, so no "
        "policy needs to pay"
    )


def case_text(truth: str, words: str, facts: Mapping[str, str]) -> str:
    """Return a case in plain text: the verdict in words, and a line for each fact."""
    head = fill(f"{truth}: {words}", 80, break_long_words=False, break_on_hyphens=False)
    lines = (f"  {name:<14} {text}" for name, text in facts.items())
    return "\n".join([head, *lines])


def pick(names: tuple[str, ...], indices: Ints) -> tuple[str, ...]:
    """Return the names of these indices, of arms, models or contexts."""
    return tuple(names[index] for index in indices)


def first_of(names: tuple[str, ...]) -> str:
    """Return the first name, and how many others there are.

    >>> first_of(("theta1", "theta2", "theta3"))
    'theta1 and 2 others'
    """
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {counted(len(names) - 1, 'other')}"


def bound_text(constant: float | None, log_coefficient: float) -> str:
    """Return constant + log_coefficient · ln T as people write it."""
    parts = [] if constant is None else [f"{constant:,.1f}" if constant < 1e6 else amount(constant)]
    if log_coefficient:
        parts.append(f"{log_coefficient:.4g} · ln T")
    return " + ".join(parts)


def least_text(coefficient: float) -> str:
    """Say what regret must be under any policy: at least coefficient · ln T, in the long run."""
    if not coefficient:
        return "need not let regret grow"
    return f"regret ≥ {coefficient:.4g} · ln T in the long run"
