"""What tests of reward families share: one of each kind, and a test of counts."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from scipy import stats

from fpbandits import Problem
from fpbandits.families import RewardFamily

reproducible = settings(max_examples=100, deadline=None, derandomize=True, database=None)
MEANS = [[0.3, 0.8], [0.9, 0.05]]
SUPPORT = [0.0, 0.25, 1.0]
LAWS = [[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], [[0.6, 0.4, 0.0], [0.1, 0.1, 0.8]]]


def bernoulli() -> RewardFamily:
    return Problem.bernoulli(MEANS).rewards


def beta() -> RewardFamily:
    return Problem.beta(MEANS, concentration=3.5).rewards


def discrete() -> RewardFamily:
    return Problem.discrete(LAWS, SUPPORT).rewards


def families() -> list[RewardFamily]:
    return [bernoulli(), beta(), discrete()]


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the p-value, rare outcomes taken together."""
    rare = expected < 5
    merged = [np.append(counts[~rare], counts[rare].sum()) for counts in (observed, expected)]
    keep = merged[1] > 0
    return float(stats.chisquare(merged[0][keep], merged[1][keep]).pvalue)
