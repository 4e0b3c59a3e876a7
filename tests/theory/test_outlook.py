"""What is in store under a truth, in words: the numbers against formulas of their own."""

from __future__ import annotations

import math

import pytest

import fpbandits as fpb
from fpbandits.theory.outlook import outlook


def words(problem: fpb.Problem, truth: str) -> str:
    return outlook(problem, fpb.analyze(problem, truth).cases[0])


def test_losses_that_go_on_have_a_price() -> None:
    two = fpb.load_problem("paper:two")
    # Theorem 2: the gap of arm1 over what one play of it tells of theta1.
    told = 0.2 * math.log(0.2 / 0.9) + 0.8 * math.log(0.8 / 0.1)
    assert words(two, "theta2") == (
        f"losses go on, by about {0.3 / told * math.log(10):.4g} for every tenfold of plays, "
        "whoever plays: it looks like theta1 while you play arm2"
    )


def test_losses_that_stop_say_how_soon() -> None:
    prices = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.5], [0.7, 0.8]], arms=["a", "b"])
    told = 0.9 * math.log(0.9 / 0.7) + 0.1 * math.log(0.1 / 0.3)
    plays = math.ceil(math.log(20) / told)
    assert words(prices, "theta1") == (
        f"losses stop: about {plays} plays of a tell it from theta3, and fewer from others"
    )


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([[0.6, 0.5], [0.7, 0.5]], "losses stop: arm1 is best under every model"),
        (
            [[0.5, 0.5, 0.2], [0.5, 0.9, 0.2]],
            "losses need not go on: an arm that is as good tells it from theta2",
        ),
        ([[1.0, 0.5], [0.0, 0.5]], "losses stop: about 1 play of arm1 tells it from theta2"),
    ],
)
def test_other_cases(means: list[list[float]], expected: str) -> None:
    assert words(fpb.Problem.bernoulli(means), "theta1") == expected
