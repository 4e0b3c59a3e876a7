"""What policies share that are blind to Θ."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from fpbandits.engine.contract import Prepared
from fpbandits.engine.policy import Contexts, Policy
from fpbandits.problem.problem import Problem


class Arms(NamedTuple):
    """How many arms there are, and whether rewards are normal with deviation ½, not in [0, 1]."""

    arms: int
    normal: bool


class BlindPolicy(Policy):
    """A policy that is blind to Θ: it plays each context as a bandit of its own."""

    contexts = Contexts.APART

    knows = "the number of arms"
    prepared_type: ClassVar[Callable[..., Prepared]]
    """A named tuple, of a type of its own: the fields of `Arms`, and the policy's options."""

    def prepare(self, problem: Problem) -> Prepared:
        """Note how many arms there are, whether rewards are normal, and the options."""
        kind = type(self).prepared_type
        return kind(len(problem.arms), not problem.rewards.bounded, *vars(self).values())
