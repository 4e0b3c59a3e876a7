"""Problems to begin with, a sentence each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fpbandits.problem.builtin import built_in
from fpbandits.problem.practice import practice
from fpbandits.problem.problem import Problem


class Example(NamedTuple):
    """A problem, and a sentence about it."""

    sentence: str
    make: Callable[[], Problem]


def _pricing() -> Problem:
    return Problem.bernoulli(
        [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]],
        value=[9, 12, 15],
        arms=["9 EUR", "12 EUR", "15 EUR"],
        models=["loyal", "regular", "thrifty"],
        truth="regular",
        name="pricing",
    )


def _cold_start() -> Problem:
    return Problem.bernoulli(
        [
            [[0.30, 0.12, 0.05, 0.08], [0.22, 0.20, 0.06, 0.08]],
            [[0.06, 0.28, 0.10, 0.08], [0.08, 0.30, 0.12, 0.08]],
            [[0.05, 0.10, 0.26, 0.08], [0.08, 0.10, 0.18, 0.24]],
            [[0.10, 0.12, 0.10, 0.20], [0.08, 0.12, 0.10, 0.30]],
        ],
        arms=["news", "films", "sports", "music"],
        models=["reader", "viewer", "fan", "listener"],
        contexts=["morning", "evening"],
        shares=[0.4, 0.6],
        prior={"reader": 2, "viewer": 3},
        truth="viewer",
        name="cold start",
    )


def _rate_adaptation() -> Problem:
    return Problem.bernoulli(
        [
            [0.95, 0.60, 0.10, 0.02],
            [0.98, 0.90, 0.40, 0.08],
            [0.99, 0.97, 0.85, 0.40],
            [0.99, 0.99, 0.96, 0.88],
        ],
        value=[6, 12, 24, 48],
        arms=["6 Mbit/s", "12 Mbit/s", "24 Mbit/s", "48 Mbit/s"],
        models=["far", "fair", "near", "beside"],
        truth="near",
        name="rate adaptation",
    )


def _trial() -> Problem:
    return Problem.bernoulli(
        [[0.4, 0.4], [0.4, 0.55], [0.4, 0.3]],
        arms=["control", "treatment"],
        models=["no effect", "better", "worse"],
        truth="better",
        name="trial",
    )


def _doses() -> Problem:
    (doses,) = (problem for problem in practice(0) if problem.name == "doses")
    return doses


EXAMPLES: dict[str, Example] = {
    "paper:two": Example(
        "The smallest set that has it all: under one truth learning is free, under the other it "
        "must be paid for.",
        lambda: built_in("paper:two"),
    ),
    "pricing": Example(
        "A shop may ask three prices and knows three kinds of visitors; rewards are in EUR.",
        _pricing,
    ),
    "cold start": Example(
        "A new user is one of four types; which shelf to show first depends on the time of day.",
        _cold_start,
    ),
    "rate adaptation": Example(
        "A radio link is in one of four states; a faster rate carries more, if the packet arrives.",
        _rate_adaptation,
    ),
    "trial": Example(
        "A treatment is as good as the control, better or worse: if it is worse, that shows only "
        "while someone gets it.",
        _trial,
    ),
    "doses": Example(
        "Doses with a normal outcome, under curves that saturate or turn.",
        _doses,
    ),
    "paper:permutations": Example(
        "The paper's four arms under all 24 orders of four means: no two are confused.",
        lambda: built_in("paper:permutations"),
    ),
    "paper:grid": Example(
        "The paper's 256 models, among them some whose best arms tie.",
        lambda: built_in("paper:grid"),
    ),
}
"""The examples that the lab offers, by name."""
