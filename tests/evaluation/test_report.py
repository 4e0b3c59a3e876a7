"""The table of an evaluation, as it stands on a terminal."""

from __future__ import annotations

from fpbandits.evaluation.estimates import Estimate
from fpbandits.evaluation.report import evaluation_table
from fpbandits.evaluation.result import Earned, Evaluation

EVALUATION = Evaluation(
    "log.csv",
    "shop",
    Estimate(1500, 1380, 1620),
    {
        "frugal": Earned(Estimate(2, 1.88, 2.12), Estimate(0.5, 0.466, 0.534), 1200, 400),
        "mine\x1b[2J": Earned(Estimate(1, 1, 1), Estimate(-0.5, -0.62, -0.38), 1100, 390),
    },
    400,
    5000,
    4000,
    0.25,
    0,
    ("all rewards of frugal's decisions are the same",),
)


def test_table() -> None:
    assert evaluation_table(EVALUATION).splitlines() == [
        "log.csv: reward per decision of 400 units, models of shop",
        "             per decision    95 % interval  above log  95 % interval  decisions",
        "───────────────────────────────────────────────────────────────────────────────",
        "the log             1,500    1,380 … 1,620                                5,000",
        "frugal               2.00      1.88 … 2.12      0.500  0.466 … 0.534      1,200",
        r"mine\x1b[2J        1.0000  1.0000 … 1.0000      -0.50  -0.62 … -0.38      1,100",
        "",
        "4,000 of 5,000 rows usable. Each unit has an agent of its own, which made about",
        "3.0 decisions: a policy that learns earns more later.",
        "Note: all rewards of frugal's decisions are the same",
    ]
