"""What is in store under a truth, in words: the numbers against formulas of their own."""

from __future__ import annotations

import math

import pytest

import fpbandits as fpb


def words(problem: fpb.Problem, truth: str) -> str:
    return fpb.analyze(problem, truth).cases[0].outlook


def test_losses_that_go_on_have_a_price() -> None:
    two = fpb.load_problem("paper:two")
    # Theorem 2: the gap of arm1 over what one play of it tells of theta1.
    told = 0.2 * math.log(0.2 / 0.9) + 0.8 * math.log(0.8 / 0.1)
    assert words(two, "theta2") == (
        "losses never stop: playing arm2 does not tell theta2 from theta1, so other arms must be "
        "tried again and again. In the long run this costs at least "
        f"{0.3 / told * math.log(10):.4g} more each time the number of plays grows tenfold"
    )


def test_the_price_is_in_the_users_units() -> None:
    two = fpb.Problem.bernoulli([[90, 50], [20, 50]], range=(0, 100))
    assert "at least 50.69 more" in words(two, "theta2")


def test_losses_that_stop_say_how_soon() -> None:
    prices = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.5], [0.7, 0.8]], arms=["a", "b"])
    told = 0.9 * math.log(0.9 / 0.7) + 0.1 * math.log(0.1 / 0.3)
    plays = math.ceil(math.log(20) / told)
    assert words(prices, "theta1") == (
        f"losses stop: about {plays} plays of a tell theta1 from theta3, fewer from the others"
    )


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([[0.6, 0.5], [0.7, 0.5]], "losses stop: arm1 is best under every model"),
        (
            [[0.5, 0.5, 0.2], [0.5, 0.9, 0.2]],
            "losses can stop: playing arm1 does not tell theta1 from theta2, but other arms do so "
            "at no cost",
        ),
        ([[1.0, 0.5], [0.0, 0.5]], "losses stop: about 1 play of arm1 tells theta1 from theta2"),
        # arm2 is as good, and playing it tells nothing: the default may go on losing.
        (
            [[0.5, 0.5, 0.2], [0.9, 0.5, 0.2]],
            "losses can stop: arm1 is best under every model",
        ),
    ],
)
def test_other_cases(means: list[list[float]], expected: str) -> None:
    assert words(fpb.Problem.bernoulli(means), "theta1") == expected
