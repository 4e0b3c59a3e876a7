"""A reward as users give it, checked and put on [0, 1]."""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.checks import range_text
from fpbandits.errors import InputError, Name, quote
from fpbandits.families import RewardFamily
from fpbandits.families.two_point import TwoPoint

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
            f"the reward {quote(reward)} is outside the range {range_text(rewards.range)}"
            f"{_wider(rewards, value)}"
        ).at(*place)
    unit = (value - rewards.zero) / rewards.width
    if abs(unit) > _LARGEST:
        raise InputError(
            f"the reward {quote(reward)} is too large to be added up: it may be at most "
            f"{_LARGEST:g} deviations from what models expect"
        ).at(*place)
    return unit


def _wider(rewards: RewardFamily, reward: float) -> str:
    """Suggest a range that contains the reward, and other families if it is all or nothing."""
    if isinstance(rewards, TwoPoint):
        return ": an arm pays 0, or its value in the problem"
    if not rewards.takes_range or not math.isfinite(reward):
        return ""
    low, high = rewards.range
    wider = range_text((min(low, reward), max(high, reward)))
    words = f": a problem whose rewards are in {wider} says range = {wider}"
    if rewards.all_or_nothing:
        words += ', and reward = "discrete" or "beta" where rewards are not all or nothing'
    return words
