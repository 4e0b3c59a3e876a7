"""A reward as users give it, checked and put on [0, 1]."""

from __future__ import annotations

import math

import numpy as np

from fpbandits.errors import InputError, Name, quote
from fpbandits.families import RewardFamily

_NOT_NUMBERS = str, bytes, bytearray, np.complexfloating, np.timedelta64, np.ma.MaskedArray
"""Types that are refused although `float` takes them, some with a warning."""

_PLAIN = int, float

_LARGEST = 1e100
"""The largest reward without a range, in deviations: sums of larger ones might overflow."""


def unit_reward(rewards: RewardFamily, reward: float, *place: Name) -> float:
    """Return a reward on [0, 1], or say why it cannot be one; ``place`` is where it came from."""
    low, high = rewards.range
    try:
        if type(reward) not in _PLAIN and (
            isinstance(reward, _NOT_NUMBERS) or getattr(reward, "ndim", 0) > 0
        ):
            raise TypeError
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        wanted = f"the reward must be a number, not {quote(reward)}"
        raise InputError(wanted, place=place) from None
    if not low <= value <= high or not math.isfinite(value):
        raise InputError(
            f"the reward {quote(reward)} is outside the range [{low:g}, {high:g}]: a problem whose "
            f"rewards are in [0, 15] says range = [0, 15]{_other_families(rewards)}"
        ).at(*place)
    unit = (value - rewards.zero) / rewards.width
    if abs(unit) > _LARGEST:
        raise InputError(
            f"the reward {quote(reward)} is too large to be added up: it may be at most "
            f"{_LARGEST:g} deviations from what models expect"
        ).at(*place)
    return unit


def _other_families(rewards: RewardFamily) -> str:
    """Suggest other families, if rewards are all or nothing."""
    if not rewards.all_or_nothing:
        return ""
    return ', and reward = "discrete" or "beta" where rewards are not all or nothing'
