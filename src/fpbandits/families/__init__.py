"""Reward families, by name: one law per file.

A new family is a file beside these and a place in `FAMILIES`: a problem file may name it, and
theory, simulation, agents and the tests find it there.
"""

from __future__ import annotations

from fpbandits.families.base import RewardFamily
from fpbandits.families.bernoulli import Bernoulli
from fpbandits.families.beta import Beta
from fpbandits.families.discrete import Discrete
from fpbandits.families.gaussian import Gaussian

__all__ = ["FAMILIES", "RewardFamily"]

FAMILIES: dict[str, type[RewardFamily]] = {
    family.name: family for family in (Bernoulli, Beta, Discrete, Gaussian)
}
