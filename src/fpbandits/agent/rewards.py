"""Rewards as an agent is told them: put on [0, 1], or refused; odd ones bring a warning.

What counts is a reward's mean, so any reward within the range is taken in: a Bernoulli problem on
[0, 1] may be told 0.5. The exception is a problem that was fitted to a log of zeros and ones: there
0.5 would be a mistake, and `fit` would refuse the next log. A policy that weighs models by their
reward distributions refuses a reward that no model allows. Where a problem is in units of its own,
a reward that no model can pay is taken in with a warning: who sells at 9 or 12 but models all or
nothing in [0, 15] has forgotten something.
"""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

from fpbandits.core.arrays import TOLERANCE
from fpbandits.core.checks import number_text
from fpbandits.engine.ready import Ready
from fpbandits.errors import InputError, Name, quote
from fpbandits.problem.rewards import unit_reward as problem_reward

_warned: WeakSet[Ready] = WeakSet()
"""Those whose users were warned of an odd reward."""


def unit_reward(ready: Ready, arm: int, reward: float, *place: Name) -> float:
    """Return a reward on [0, 1], or say why it cannot be one; ``place`` is where it came from."""
    rewards = ready.problem.rewards
    unit = problem_reward(rewards, reward, *place)
    if (
        ready.problem.fitted_units
        and rewards.all_or_nothing
        and abs(unit - round(unit)) > TOLERANCE
    ):
        low, high = map(number_text, ready.problem.range)
        raise InputError(
            f"the reward {quote(reward)} is neither {low} nor {high}, as were all rewards that the "
            "models were fitted to"
        ).at(*place)
    if ready.looks_at_laws:
        try:
            rewards.statistics_of(arm, unit)
        except InputError as error:
            raise InputError(
                f"the reward {error.reason}, so no model allows it; if it is right, "
                f"{ready.policy.name} with likelihood=means counts it by its mean"
            ).at(*place) from None
    return unit


def odd_reward_warning(ready: Ready, value: float, reward: float) -> str | None:
    """Warn, once per policy and problem, that no model can pay such a reward.

    ``value`` is the reward on [0, 1].
    """
    if value in (0.0, 1.0) or ready in _warned:  # nearly always, so this comes first
        return None
    problem = ready.problem
    possible = problem.rewards.possible
    if possible is None or (problem.rewards.all_or_nothing and problem.range == (0.0, 1.0)):
        return None
    if np.abs(problem.rewards.to_unit(possible) - value).min() <= TOLERANCE:
        return None
    _warned.add(ready)
    values = ", ".join(map(number_text, possible[:8].tolist()))
    return (
        f"{problem.name} was told a reward of {quote(reward)}, and its models pay "
        f"{values}{', …' if len(possible) > 8 else ''} only: it counts by its mean all the "
        "same, but models should say what can come: another range, or reward = "
        '"discrete" or "beta"'
    )
