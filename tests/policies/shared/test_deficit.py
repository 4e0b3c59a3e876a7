"""How badly rewards fit a mean, in high precision; what cannot be, and what counts as equal."""

from __future__ import annotations

import math

import mpmath
import pytest

from fpbandits import Optimist, Problem
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.deficit import (
    allowance,
    bernoulli_deficit,
    mean_deficit,
    surprise,
)
from fpbandits.policies.shared.levels import theta


def divergence(n: float, total: float, q: float) -> float:
    """n·kl(total/n, q), with 60 digits."""
    with mpmath.workdps(60):
        n, total, q = map(mpmath.mpf, (n, total, q))
        parts = ((total, n * q), (n - total, n * (1 - q)))
        return float(sum(s * mpmath.log(s / expected) for s, expected in parts if s))


@pytest.mark.parametrize(
    ("n", "total", "q"),
    [
        (1, 0, 0.3),
        (1, 1, 0.3),
        (1, 0.5, 0.3),
        (7, 2.25, 0.9),
        (10**4, 5020, 0.5),
        (10**12, 3 * 10**11 + 5 * 10**5, 0.3),  # close to the mean
        (40, 0, 1e-9),
    ],
)
def test_a_deficit_is_a_divergence_in_nats(n: float, total: float, q: float) -> None:
    exact = divergence(n, total, q)
    assert bernoulli_deficit(n, total, q) == pytest.approx(exact, rel=1e-9, abs=1e-9)
    assert mean_deficit(int(n), total, q, False) == bernoulli_deficit(n, total, q)
    bounded = theta(Problem.bernoulli([[q]]))
    assert surprise(bounded, n, total, q) == bernoulli_deficit(n, total, q)


def test_a_deficit_is_not_negative() -> None:
    for n in range(1, 400):
        assert bernoulli_deficit(n, n * 0.3, 0.3) == pytest.approx(0, abs=1e-12)
        assert bernoulli_deficit(n, n * 0.3, 0.3) >= 0


def test_what_a_mean_rules_out_costs_by_its_amount() -> None:
    assert bernoulli_deficit(4, 1.5, 0) == 1.5 * IMPOSSIBLE
    assert bernoulli_deficit(4, 1.5, 1) == 2.5 * IMPOSSIBLE
    assert bernoulli_deficit(4, 0, 0) == bernoulli_deficit(4, 4, 1) == 0


def test_normal_rewards_of_deviation_a_half() -> None:
    """2n(S/n − q)², and for the surprise n/(n + 1) of it."""
    assert mean_deficit(4, 3.0, 0.5, True) == pytest.approx(2 * 4 * 0.25**2)
    normal = theta(Problem.gaussian([[0.0], [1.0]], 2))
    assert surprise(normal, 4, 3.0, 0.5) == pytest.approx(2 * 4 * 0.25**2 * 4 / 5)


def test_the_allowance_is_for_the_unknown_mean_of_each_arm() -> None:
    state = Optimist().new_state(Problem.bernoulli([[0.5, 0.4, 0.3]]))
    assert allowance(state) == 0
    state.plays[:] = [1, 0, 9]
    assert allowance(state) == pytest.approx(math.log(2) + math.log(10))
