"""Reward families, by name: one kind of reward distribution per file.

A new family is a file beside these, and an entry in `FAMILIES`: a problem file may then name it,
and theory, simulation, agents and the tests find it there. `fit` finds it in `ESTIMATORS`.
"""

from __future__ import annotations

from fpbandits.families.base import RewardFamily
from fpbandits.families.bernoulli import Bernoulli, BernoulliEstimator
from fpbandits.families.beta import Beta, BetaEstimator
from fpbandits.families.discrete import Discrete, DiscreteEstimator
from fpbandits.families.estimator import Estimator
from fpbandits.families.gaussian import Gaussian, GaussianEstimator
from fpbandits.families.revenue import Revenue, RevenueEstimator

__all__ = ["ESTIMATORS", "FAMILIES", "RewardFamily"]

FAMILIES: dict[str, type[RewardFamily]] = {
    family.name: family for family in (Bernoulli, Beta, Discrete, Gaussian, Revenue)
}

ESTIMATORS: dict[str, type[Estimator]] = {
    estimator.family: estimator
    for estimator in (
        BernoulliEstimator,
        BetaEstimator,
        DiscreteEstimator,
        GaussianEstimator,
        RevenueEstimator,
    )
}
"""What finds the distributions of a family from a log, by the name of the family."""
