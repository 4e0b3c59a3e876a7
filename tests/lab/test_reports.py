from __future__ import annotations

from typing import Any

import pytest

from fpbandits.lab.reports import (
    control_table,
    difference_picture,
    rewards_by_arm_table,
    rewards_by_model_table,
)


def a_report(**control: Any) -> dict[str, Any]:
    """Return a report whose numbers are easy to tell apart."""
    look = {"policy": 0.5, "control": 0.3, "difference": 0.2, "interval": [0.1, 0.3]}
    return {
        "arms": {"a<": {"decisions": 1234, "rewards": 2, "mean_reward": 0.25}},
        "models": {"x": {"units": 7, "decisions": 8, "rewards": 0, "mean_reward": None}},
        "looked_at": 7,
        "control": {
            "arm": "9 EUR",
            "policy": {"units": 90, "decisions": 900, "rewards": 800, "mean_reward": 0.5},
            "control": {"units": 10, "decisions": 100, "rewards": 80, "mean_reward": 0.3},
            "difference": 0.2,
            "interval": [0.1, 0.3],
            "as_of": 800,
            "error": 0.05,
            "sample_ratio": {"share": 0.1, "p_value": 1.0, "fits": True},
            **control,
        },
        "over_time": [
            {"rewards": 100, **look, "difference": None, "interval": None},
            {"rewards": 125, **look, "interval": None},
            {"rewards": 156, **look},
        ],
    }


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ({}, "earns 0.2 more than the control group, as of 800 rewards"),
        ({}, "Interval: 0.1 … 0.3 (95 % for all looks together). The policy is better."),
        ({"interval": [-0.1, 0.3]}, "not clear yet"),
        ({"difference": -0.2, "interval": [-0.3, -0.1]}, "earns 0.2 less than the control group"),
        ({"interval": [-0.3, -0.1]}, "The control group&#x27;s arm is better."),
        ({"interval": None}, "no interval, because rewards have no bounds"),
        ({"difference": None, "interval": None}, "One of the groups has no rewards yet."),
        ({"as_of": None}, "compared once there are 100 rewards"),
        ({}, "Sample ratio: the control group has 10 of 100 units and should have 10 % of them"),
        (
            {"sample_ratio": {"share": 0.2, "p_value": 1e-9, "fits": False}},
            "should have 20 % of them (p = 1e-09): units are lost or invented",
        ),
    ],
)
def test_the_comparison_in_words(control: dict[str, Any], words: str) -> None:
    assert words in control_table(a_report(**control))


def test_every_look_with_a_difference_is_drawn() -> None:
    picture, words = difference_picture(a_report())
    assert picture.count("<circle") == 2
    assert "125 rewards" in picture
    assert "from 0 to 0.3" in words
    # 0.2 on a scale from 0 to 0.3 of 140 units; the interval ends at the top.
    assert 'cy="46.7"' in picture
    assert "M540.0 0.0V93.3" in picture
    assert difference_picture({**a_report(), "over_time": []}) == ("", "")


def test_rewards_by_arm_and_by_model() -> None:
    by_arm, by_model = rewards_by_arm_table(a_report()), rewards_by_model_table(a_report())
    for text in ("a&lt;", "1,234", "0.25"):
        assert text in by_arm
    for text in ("Of 7 units", ">x<", ">8<"):
        assert text in by_model
