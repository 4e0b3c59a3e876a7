"""What policies share that are blind to Θ: they know the arms, and no model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from fpbandits.engine.contract import Prepared, State, Workspace
from fpbandits.engine.policy import Contexts, Eligible, Policy, Reasons
from fpbandits.problem.problem import Problem


class Arms(NamedTuple):
    """The number of arms, and whether rewards are normal with deviation ½, or else in [0, 1]."""

    arms: int
    normal: bool


class BlindPolicy(Policy):
    """A policy that is blind to Θ; it plays each context as a bandit of its own."""

    contexts = Contexts.APART
    eligible = Eligible.LEFT_OUT

    knows = "the number of arms"
    prepared_type: ClassVar[Callable[..., Prepared]]
    """The policy's own type of named tuple: the fields of `Arms`, then the policy's options."""

    def prepare(self, problem: Problem) -> Prepared:
        """Return the number of arms, whether rewards are normal, and the options."""
        kind = type(self).prepared_type
        return kind(len(problem.arms), not problem.rewards.bounded, *vars(self).values())

    def restrict(
        self, problem: Problem, prepared: Prepared, context: int, among: Sequence[int]
    ) -> Prepared:
        return prepared._replace(arms=len(among))

    def index(self, prepared: Prepared, state: State, arm: int) -> float:
        """Return the index, on [0, 1], of an arm with rewards; a rule of another kind has none."""
        raise NotImplementedError

    def reasons(
        self, problem: Problem, prepared: Prepared, state: State, workspace: Workspace
    ) -> Reasons | None:
        """Return the index of each arm; that of an arm without rewards is infinite."""
        if type(self).index is BlindPolicy.index:
            return None
        indices = [
            self.index(prepared, state, arm) if n else math.inf for arm, n in enumerate(state.plays)
        ]
        rewards = problem.rewards
        return Reasons(
            "plays the arm of the largest index",
            {"index": rewards.zero + rewards.width * np.array(indices)},
        )
