"""The table of an evaluation, as it stands on a terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fpbandits.evaluation.estimates import Ratio
from fpbandits.evaluation.report import evaluation_table
from fpbandits.evaluation.result import Earned, Evaluation


def earned(value: float, off: float, decisions: int) -> Earned:
    """Make a row in which the first of a hundred units is off one way, the second the other."""
    residuals = np.zeros(100)
    residuals[:2] = off, -off
    return Earned(Ratio(value, residuals, 100), decisions)


EVALUATION = Evaluation(
    "log.csv",
    "shop",
    earned(1500, 40, 5000),
    {"always 9": earned(1, 0.01, 1150)},
    {"frugal": earned(2, 0.04, 1200), "mine\x1b[2J": earned(1, 0, 1100)},
    5000,
    4000,
    0.25,
    0,
    ("all rewards of frugal's decisions are the same",),
)


def test_table() -> None:
    assert evaluation_table(EVALUATION).splitlines() == [
        "log.csv: reward per decision of 100 units, models of shop",
        "               mean    95 % interval  above best arm   95 % interval  decisions",
        "───────────────────────────────────────────────────────────────────────────────",
        "the log       1,500    1,387 … 1,613           1,499   1,386 … 1,612      5,000",
        "always 9      1.000    0.972 … 1.028                                      1,150",
        "frugal         2.00      1.89 … 2.11           1.000   0.915 … 1.085      1,200",
        r"mine\x1b[2J  1.0000  1.0000 … 1.0000           0.000  -0.028 … 0.028      1,100",
        "",
        r"Paired by units, frugal is above mine\x1b[2J by 1.00 (0.89 … 1.11).",
        "4,000 of 5,000 rows usable. Each unit has an agent of its own, which made about",
        "12.0 decisions: a policy that learns earns more later.",
        "Note: all rewards of frugal's decisions are the same",
    ]


def test_without_a_baseline_the_log_is_compared_with() -> None:
    table = evaluation_table(replace(EVALUATION, baselines={}))
    assert "above log" in table.splitlines()[1]
