from __future__ import annotations

from typing import Any

import pytest

from fpbandits.core.markup import html_table
from fpbandits.lab.chart import chart
from fpbandits.lab.reports import (
    control_table,
    difference_picture,
    rewards_by_arm_table,
    rewards_by_model_table,
)
from fpbandits.report.figures import BLUE


def a_report(**control: Any) -> dict[str, Any]:
    """Return a report whose numbers are easy to tell apart."""
    look = {"policy": 0.5, "control": 0.3, "difference": 0.2, "interval": [0.1, 0.3]}
    return {
        "arms": {"a<": {"decisions": 1234, "rewards": 2, "mean_reward": 0.25}},
        "models": {"x": {"units": 7, "decisions": 8, "rewards": 0, "mean_reward": None}},
        "control": {
            "arm": "9 EUR",
            "policy": {"units": 90, "decisions": 1900, "rewards": 800, "mean_reward": 0.5},
            "control": {"units": 10, "decisions": 100, "rewards": 80, "mean_reward": 0.3},
            "difference": 0.2,
            "interval": [0.1, 0.3],
            "as_of": 1800,
            "error": 0.05,
            "sample_ratio": {"share": 0.1, "p_value": 1.0, "fits": True},
            **control,
        },
        "over_time": [
            {"rewards": 100, **look, "difference": None, "interval": None},
            {"rewards": 1250, **look, "interval": None},
            {"rewards": 1560, **look},
        ],
    }


GROUPS = [["policy", "90", "1,900", "0.5"], ["always 9 EUR", "10", "100", "0.3"]]
FIT = "Sample ratio: the control group has 10 of 100 units and should have 10 % of them (p = 1)"
LINE = "Per decision the policy earns {} than the control group, as of 1,800 rewards."
UNCLEAR = "It is not clear yet which of them is better."


def interval(low: str, high: str, better: str) -> str:
    return f"Interval: {low} … {high} (95 % for all looks together). {better}"


@pytest.mark.parametrize(
    ("control", "above"),
    [
        ({}, [LINE.format("0.2 more"), interval("0.1", "0.3", "The policy is better.")]),
        ({"interval": [0.0, 0.3]}, [LINE.format("0.2 more"), interval("0", "0.3", UNCLEAR)]),
        ({"interval": [-0.3, 0.0]}, [LINE.format("0.2 more"), interval("-0.3", "0", UNCLEAR)]),
        (
            {"difference": -0.2, "interval": [-0.3, -0.1]},
            [
                LINE.format("0.2 less"),
                interval("-0.3", "-0.1", "The control group's arm is better."),
            ],
        ),
        (
            {"difference": 0.0, "interval": None},
            [
                LINE.format("0 more"),
                "There is no interval, because rewards have no bounds.",
            ],
        ),
        (
            {"difference": None, "interval": None},
            ["One of the groups had no rewards, as of 1,800 rewards."],
        ),
        ({"as_of": None}, ["The groups are compared once there are 100 rewards."]),
    ],
)
def test_the_comparison_in_words(control: dict[str, Any], above: list[str]) -> None:
    head = ["group", "units", "decisions", "mean reward"]
    assert control_table(a_report(**control)) == html_table(
        "Against the control group, which always gets 9 EUR",
        head,
        GROUPS,
        above=above,
        below=[f"{FIT}, which fits."],
    )


def test_units_that_are_missing_are_an_alarm() -> None:
    ratio = {"share": 0.2, "p_value": 3.21e-9, "fits": False}
    assert (
        "<div>Alarm: the control group has 10 of 100 units and should have 20 % of them "
        "(p = 3.2e-09): units are lost or invented.</div>"
    ) in control_table(a_report(sample_ratio=ratio))


def test_every_look_with_a_difference_is_drawn() -> None:
    """From 0 to 0.3 on 140 units: 0.2 is at 46.7, 0.1 at 93.3, and two looks are 360 wide each."""
    marks = "".join(
        f'<path d="M{x} {top}V{bottom}" stroke="{BLUE}" stroke-width="2"/>'
        f'<circle cx="{x}" cy="46.7" r="4" fill="{BLUE}"/>'
        for x, top, bottom in (("180.0", "46.7", "46.7"), ("540.0", "0.0", "93.3"))
    )
    picture = chart(
        marks,
        title="difference from the control group at every look",
        top="0.3",
        ends=("1,250 rewards", "1,560 rewards"),
        line=140,
    )
    words = (
        "How much more the policy earns per decision than the control group; bars are intervals. "
        "The picture reaches from {} to {}, and its line is at 0."
    )
    assert difference_picture(a_report()) == (picture, words.format("0", "0.3"))
    assert difference_picture({**a_report(), "over_time": []}) == ("", "")
    looks = [
        {"rewards": 10, "difference": -0.25, "interval": [-0.5, 0.125]},
        {"rewards": 20, "difference": 0.0, "interval": [-0.125, 0.125]},
    ]
    picture, said = difference_picture({"over_time": looks})
    # From -0.5 to 0.125: the line is at a fifth of 140.
    assert 'y1="28.0" y2="28.0"' in picture
    assert '<path d="M180.0 0.0V140.0"' in picture
    assert '<circle cx="540.0" cy="28.0"' in picture
    assert said == words.format("-0.5", "0.125")
    picture, said = difference_picture({"over_time": [{**looks[0], "interval": [-0.5, -0.25]}]})
    assert '<path d="M360.0 70.0V140.0"' in picture
    assert 'y1="0.0" y2="0.0"' in picture
    flat = {"rewards": 1, "difference": 0.0, "interval": None}
    picture, said = difference_picture({"over_time": [flat]})
    assert '<circle cx="360.0" cy="0.0"' in picture
    assert said == words.format("0", "0")


def test_rewards_by_arm_and_by_model() -> None:
    arms = [["a<", "1,234", "0.25"]]
    assert rewards_by_arm_table(a_report()) == html_table(
        "Rewards by arm", ["arm", "decisions", "mean reward"], arms
    )
    assert rewards_by_model_table(a_report()) == html_table(
        "Rewards by likeliest model",
        ["likeliest model", "units", "decisions", "mean reward"],
        [["x", "7", "8", ""]],
        above=["The likeliest models of 7 units."],
    )
