"""Two-point laws: an arm's own value or nothing, against SciPy's binomials, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import chi_square, reproducible
from oracle import kl_bernoulli
from scipy import stats

from fpbandits import FPUCB, Agent, InputError, Optimist, Problem, load_problem, simulate

PRICES = Problem.bernoulli(
    [[0.5, 0.4, 0.1], [0.5, 0.2, 0.3]], value=[9, 12, 15], models=["loyal", "thrifty"]
)

PROBABILITY = st.floats(0, 1, allow_subnormal=False)


@pytest.mark.parametrize("value", [[9.0, 12.0], [9.0, -4.0], [-1.0, -2.0]])
def test_a_sum_is_a_binomial_number_of_values(value: list[float]) -> None:
    """Seed 6; a χ² test for each arm at level 1e-5."""
    rewards = Problem.bernoulli([[0.3, 0.8]], value=value).rewards
    generator = np.random.default_rng(6)
    for arm, chance in enumerate((0.3, 0.8)):
        drawn = [
            rewards.draw_sum(rewards.law(0), arm, 12, generator, np.zeros(2)) for _ in range(10_000)
        ]
        paid = (12 * rewards.zero + rewards.width * np.array(drawn)) / value[arm]
        assert np.abs(paid - np.rint(paid)).max() < 1e-9
        observed = np.bincount(np.rint(paid).astype(int), minlength=13)
        assert chi_square(observed, 10_000 * stats.binom.pmf(np.arange(13), 12, chance)) > 1e-5


@reproducible
@given(PROBABILITY, PROBABILITY, st.sampled_from([0.01, 3.0, -7.0]))
def test_divergence_is_that_of_the_chances(p: float, q: float, value: float) -> None:
    rewards = Problem.bernoulli([[p, 0.5], [q, 0.5]], value=[value, 100]).rewards
    found = rewards.divergence(0, np.array([1]))[0]
    assert found[0] == pytest.approx(kl_bernoulli(p, q), rel=1e-9, abs=1e-13)
    assert found[1] == 0


def test_means_are_in_money() -> None:
    np.testing.assert_allclose(PRICES.means, [[4.5, 4.8, 1.5], [4.5, 2.4, 4.5]])
    assert PRICES.range == (0, 15)


def test_small_values_beside_large_ones_are_told_apart() -> None:
    """On the scale of the largest value the first arm's means are equal to twelve digits."""
    rewards = Problem.bernoulli([[0.2, 0.5], [0.7, 0.5]], value=[1e-6, 1e9]).rewards
    assert rewards.same_law(0, 0).tolist() == [True, False]
    assert rewards.same_law(0, 1).tolist() == [True, True]
    assert rewards.statistics_of(0, 0.0) == (0, 1)
    assert rewards.statistics_of(0, 1e-6 / 1e9) == (1, 0)
    below = Problem.bernoulli([[0.2, 0.5]], value=[1e-6, -1e6]).rewards
    nothing, paid = below.to_unit(np.array([0.0, 1e-6])).tolist()
    assert below.statistics_of(0, nothing) == (0, 1)
    assert below.statistics_of(0, paid) == (1, 0)


@pytest.mark.parametrize("value", [[9.0, 12.0], [0.1, 0.3], [1e-5, 1e6], [-3.0, 7.0]])
def test_rewards_told_are_the_value_or_nothing(value: list[float]) -> None:
    problem = Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]], value=value)
    agent = Agent(problem, Optimist())
    decision = agent.ask()
    own = value[problem.arms.index(decision.arm)]
    before = agent.plays
    for wrong in (0.5 * own, next(v for v in value if v != own)):
        with pytest.raises(InputError, match=r"neither 0 nor the value") as caught:
            agent.tell(decision.id, wrong)
        assert "\n" not in str(caught.value)
    assert agent.plays == before
    agent.tell(decision.id, own)  # it was not used up
    agent.tell(agent.ask().id, 0)
    assert sum(agent.plays.values()) == 2


def test_policies_that_look_at_means_take_any_reward_in_the_range() -> None:
    agent = Agent(PRICES, FPUCB())
    agent.tell(agent.ask().id, 3.5)
    assert sum(agent.plays.values()) == 1


def test_a_truth_of_other_means_is_played_by_its_chances() -> None:
    result = simulate(PRICES, Optimist(), truth=[4.5, 6.0, 3.0], horizon=1000, runs=4)
    assert result.gaps.tolist() == pytest.approx([1.5, 0, 3])
    with pytest.raises(InputError, match="'arm1'"):
        simulate(PRICES, Optimist(), truth=[9.5, 6.0, 3.0])


@pytest.mark.parametrize(
    ("value", "naming", "message"),
    [
        ([9], {}, "value has 1 numbers for 2 arms"),
        ([9, 12, 15], {}, "value has 3 numbers for 2 arms"),
        ([9, 0], {}, "value: arm 'arm2' pays 0 at best: leave it out"),
        ([9, math.nan], {}, "value of 'arm2': nan is not a finite number"),
        ([9, "x"], {}, "value of 'arm2': expected a number, not the text 'x'"),
        (9, {}, "value must be a list with what each arm can pay, not 9"),
        ([9, 12], {"range": (0, 12)}, "value says what each arm can pay: leave out the range"),
    ],
)
def test_two_point_refusals(value: Any, naming: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.bernoulli([[0.5, 0.4]], value=value, **naming)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_advice_does_not_lead_in_a_circle() -> None:
    """Rewards in place of chances: neither a range nor leaving the range out is of help."""
    words = r"arm1': 30 is not a probability: with value, .* and the mean reward is their product"
    with pytest.raises(InputError, match=words) as caught:
        Problem.bernoulli([[30, 18]], value=[30, 18])
    assert "range" not in str(caught.value)
    for wrong in (math.inf, math.nan):
        with pytest.raises(InputError, match=r"arm2': .* is not a finite number"):
            Problem.bernoulli([[0.5, wrong]], value=[30, 18])


def test_profit_is_value_less_cost(tmp_path: Path) -> None:
    chances = [[0.5, 0.4], [0.1, 0.3]]
    net = Problem.bernoulli(chances, value=[18.0, 8.0])
    assert Problem.bernoulli(chances, value=[30, 20], cost=12) == net
    assert Problem.bernoulli(chances, value=[30, 20], cost=[12, 12]) == net
    path = tmp_path / "prices.toml"
    rows = "[models]\ntheta1 = [0.5, 0.4]\ntheta2 = [0.1, 0.3]\n"
    path.write_text(f"arms = ['arm1', 'arm2']\nvalue = [30, 20]\ncost = [12, 12]\n{rows}")
    assert load_problem(path) == net
    for line, words in (
        ("cost = 12", "cost goes with value: profit = value − cost"),
        ("value = [30, 20]\ncost = [12]", "cost has 1 numbers for 2 in value"),
        ("value = [30, 20]\ncost = 'x'", "cost: expected a number, not the text 'x'"),
        ("value = [30, 20]\ncost = 30", "arm 'arm1' pays 0 at best"),
        ("reward = 'beta'\nconcentration = 3\ncost = 3", "unknown field 'cost'"),
    ):
        path.write_text(f"arms = ['arm1', 'arm2']\n{line}\n{rows}")
        with pytest.raises(InputError, match=words):
            load_problem(path)


def test_chances_in_place_of_mean_rewards_are_asked_about() -> None:
    with pytest.raises(InputError, match=r"chances, or mean rewards\? .* rewards 2.88,3.36,1.5 "):
        simulate(PRICES, Optimist(), truth=[0.32, 0.28, 0.1], horizon=10)
    low = Problem.bernoulli([[0.05, 0.02], [0.1, 0.06]], value=[9, 12])
    # Mean rewards as those of the models are what they are: 0.5 EUR of 9.
    assert simulate(low, Optimist(), truth=[0.5, 0.3], horizon=10, runs=2).gaps.tolist() == (
        pytest.approx([0, 0.2])
    )


def test_mean_rewards_of_1_are_no_chances() -> None:
    """A chance is at most 1, whatever the means of the models."""
    found = simulate(PRICES, Optimist(), truth=[1.4, 1, 1.4], horizon=9, runs=1)
    assert found.gaps.tolist() == pytest.approx([0, 0.4, 0])
    with pytest.raises(InputError, match=r"arm 'arm3': the mean reward -0.1 is not between 0 and"):
        simulate(PRICES, Optimist(), truth=[0.9, 0.9, -0.1], horizon=9)
    with pytest.raises(InputError, match=r"for each of the 3 arms|2 of 3 values"):
        simulate(PRICES, Optimist(), truth=[4.5, 4.5], horizon=9)


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        ([9, 12], (0, 12), "9, 12"),
        ([-9, -12], (-12, 0), "-9, -12"),
        ([0.5, -0.25], (-0.25, 0.5), "0.5, -0.25"),
        ([1, 2, 3, 4], (0, 4), "1, 2, 3, 4"),
        ([1, 2, 3, 4, 5], (0, 5), "1, 2, 3, 4, …"),
    ],
)
def test_the_range_goes_from_the_lowest_to_the_highest_and_0(
    value: list[float], limits: tuple[float, float], words: str
) -> None:
    rewards: Any = Problem.bernoulli([[0.5] * len(value)], value=value).rewards
    assert rewards.range == limits
    assert str(rewards) == f"bernoulli rewards of 0 or {words}"
    width = limits[1] - limits[0]
    for arm, own in enumerate(value):
        assert rewards.statistics_of(arm, (own - limits[0]) / width) == (1, 0)
        assert rewards.statistics_of(arm, -limits[0] / width) == (0, 1)
        with pytest.raises(InputError) as caught:
            rewards.statistics_of(arm, (own / 4 - limits[0]) / width)
        assert str(caught.value) == f"{own / 4:g} is neither 0 nor the value {own:g}"


def test_profits_of_no_list_are_refused() -> None:
    with pytest.raises(InputError, match="value must be a list with what each arm can pay, not 9"):
        Problem.bernoulli([[0.5, 0.4]], value=9, cost=3)  # type: ignore[arg-type]


def test_chances_are_refused_beyond_0_and_1() -> None:
    for wrong in (4.8, 1.5, -0.1):
        with pytest.raises(InputError, match=rf"arm 'arm2': {wrong} is not a probability"):
            Problem.bernoulli([[0.5, wrong]], value=[9, 12])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("value = [9]", "value has 1 numbers for 2 arms"),
        ("value = [9, 0]", "value: arm 'b' pays 0 at best"),
        ("value = [9, 12]\nrange = [0, 12]", "leave out the range"),
        ("value = 9", "value must be a list"),
    ],
)
def test_what_a_file_must_say(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f'reward = "bernoulli"\narms = ["a", "b"]\n{lines}\n[models]\nx = [0.5, 0.4]\n')
    with pytest.raises(InputError) as caught:
        load_problem(path)
    assert message in str(caught.value)
    assert "prices.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
