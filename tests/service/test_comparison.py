"""The interval against a control group holds at all looks together, and is not much too wide."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice, pairwise, product

import numpy as np
import pytest

from fpbandits.core.arrays import Bools, Floats
from fpbandits.service.comparison import (
    error_at,
    half_width,
    looks,
    mean,
    ratio_p_value,
)


def test_there_is_a_look_whenever_rewards_have_grown_by_a_quarter() -> None:
    first = list(islice(looks(), 60))
    assert first[:4] == [100, 125, 156, 195]
    assert all(1.2 < later / earlier <= 1.26 for earlier, later in pairwise(first))
    assert sum(error_at(look, 0.05) for look in range(1, 10**5)) == pytest.approx(0.05, rel=1e-4)


CHANCES = [(0.5, 0.5), (0.9, 0.1), (0.3, 0.05)]
"""How likely a reward of 1 is for units of either group."""


@pytest.mark.parametrize("error", [0.5, 0.2])
def test_an_interval_holds_exactly_where_all_outcomes_can_be_counted(error: float) -> None:
    """Six units of one group and four of the other, of one to three decisions each.

    A unit's decisions all have the same reward: it is one cluster.
    """
    decisions = [np.array([1.0, 2, 1, 3, 1, 1]), np.array([1.0, 1, 2, 1])]
    missed = dict.fromkeys(CHANCES, 0.0)
    for outcome in product([0.0, 1.0], repeat=10):
        parts = np.array(outcome[:6]), np.array(outcome[6:])
        groups = [(d, d * part) for d, part in zip(decisions, parts, strict=True)]
        found, width = mean(*groups[0]) - mean(*groups[1]), half_width(groups, error)
        for chances in CHANCES:
            if abs(found - (chances[0] - chances[1])) > width:
                likely = [
                    np.prod(np.where(part == 1, chance, 1 - chance))
                    for part, chance in zip(parts, chances, strict=True)
                ]
                missed[chances] += float(np.prod(likely))
    assert max(missed.values()) <= error


def simulate(random: np.random.Generator, units: int) -> tuple[Bools, Floats, Floats]:
    """Units in order of enrolment: in control or not, and three rewards each, one per round.

    Types are worth 0.2 and 0.8; the policy has 0.1 more in each later round, control 0.5 always.
    """
    control = random.random(units) < 0.3
    worth = random.choice([0.2, 0.8], units)
    chances = np.minimum(worth[:, None] + 0.1 * np.arange(3), 1)
    chances[control] = 0.5
    rewards = (random.random((units, 3)) < chances).astype(float)
    # On average over the types.
    expected = np.where(control[:, None], 0.5, np.array([0.5, 0.6, 0.7]))
    return control, rewards, expected


def test_the_differences_of_all_looks_are_covered_together() -> None:
    """The truth of a look weighs every unit by the decisions that it has had.

    At most 5 % of 200 experiments may miss any: if 2 % did, this would fail once in 300 seeds.
    """
    random, missed, ratios = np.random.default_rng(5), 0, []
    for _ in range(200):
        control, rewards, expected = simulate(random, 400)
        # Round by round: after 400 rewards, all units have had one.
        order = rewards.T.ravel()
        unit = np.tile(np.arange(400), 3)
        wrong = False
        for look, count in enumerate(looks(), 1):
            if count > order.size:
                break
            decisions = np.bincount(unit[:count], minlength=400).astype(float)
            sums = np.bincount(unit[:count], order[:count], 400).astype(float)
            should = np.bincount(unit[:count], expected.T.ravel()[:count], 400)
            sides = [~control & (decisions > 0), control & (decisions > 0)]
            truth = np.subtract(*(should[side].sum() / decisions[side].sum() for side in sides))
            groups = [(decisions[side], sums[side]) for side in sides]
            found = mean(*groups[0]) - mean(*groups[1])
            width = half_width(groups, error_at(look, 0.05))
            wrong = wrong or abs(found - truth) > width
        missed += wrong
        ratios.append(half_width(groups, 0.05))
    assert missed <= 10
    # Not much wider than a normal interval of one look, whose width is that of the cluster means.
    sigma = np.sqrt(sum(np.var(sums / decisions) / len(sums) for decisions, sums in groups))
    assert np.mean(ratios) < 2.5 * 1.96 * sigma


def test_a_wrong_share_of_units_is_noticed_and_a_right_one_is_not_at_any_time() -> None:
    """By Ville's inequality, p ever falls below 0.05 with probability 0.05 at most: the 99.9 %
    quantile of 300 such paths is 27."""
    random = np.random.default_rng(1)
    draws = (random.random((300, 400)) < 0.1).cumsum(axis=1)
    least = [
        min(ratio_p_value(int(path[n - 1]), n - int(path[n - 1]), 0.1) for n in range(1, 401))
        for path in draws
    ]
    assert sum(p < 0.05 for p in least) <= 27
    assert ratio_p_value(150, 850, 0.1) < 1e-3


Group = list[tuple[float, float]]
"""The decisions and the sum of rewards of each unit."""


def widest(groups: list[Group], error: float) -> float:
    """The width by the theorem, term by term, found by halving an interval."""
    totals = [sum(decisions for decisions, _ in group) for group in groups]
    parts, residuals = [], []
    for group, total in zip(groups, totals, strict=True):
        seen, earned = 0.0, 0.0
        for decisions, rewards in group:
            parts.append(decisions / total)
            # The prediction is the mean so far, and of half a reward of 1 beside it.
            residuals.append(rewards / decisions - (earned + 0.5) / (seen + 1.0))
            seen, earned = seen + decisions, earned + rewards
    squares, bound = math.fsum(part * part for part in parts), math.log(2 / error)
    terms = []
    for variance in (0.25, 0.0625, 0.015625, 0.00390625):
        rate = min(math.sqrt(2 * bound / (variance * squares)), 0.9 / max(parts))
        psi = [-math.log(1 - rate * part) - rate * part for part in parts]
        pairs = zip(psi, residuals, strict=True)
        terms.append((rate, math.fsum(each * residual**2 for each, residual in pairs)))
    rate = math.sqrt(8 * bound / squares)
    terms.append((rate, math.fsum((rate * part) ** 2 / 8 for part in parts)))
    low, high = 0.0, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        mean_of_terms = sum(math.exp(rate * middle - loss) for rate, loss in terms) / len(terms)
        low, high = (low, middle) if mean_of_terms > 2 / error else (middle, high)
    return high


@pytest.mark.parametrize("error", [0.05, 0.3, 1e-4])
@pytest.mark.parametrize("sizes", [(3, 2), (40, 9), (400, 150)])
def test_the_width_is_where_the_mean_of_all_terms_is_2_over_the_error(
    sizes: tuple[int, int], error: float
) -> None:
    random = np.random.default_rng(sum(sizes))
    groups: list[Group] = []
    for size in sizes:
        decisions = random.integers(1, 6, size).astype(float)
        groups.append(list(zip(decisions, random.random(size) * decisions, strict=True)))
    columns = [
        (np.array([d for d, _ in group]), np.array([r for _, r in group])) for group in groups
    ]
    assert half_width(columns, error) == pytest.approx(widest(groups, error), rel=1e-9)


@pytest.mark.parametrize(("control", "others"), [(0, 0), (1, 0), (3, 40), (30, 70), (60, 40)])
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2)])
def test_the_p_value_is_the_inverse_of_a_bayes_factor(
    control: int, others: int, share: Fraction
) -> None:
    """With a uniform share, each number of units in control is as likely as any other."""
    count = control + others
    one_order = Fraction(1, (count + 1) * math.comb(count, control))
    factor = share**control * (1 - share) ** others / one_order
    assert ratio_p_value(control, others, float(share)) == pytest.approx(
        min(1.0, float(factor)), rel=1e-9
    )
