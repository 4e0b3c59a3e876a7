"""The words, the figure and the page of a forecast."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import fpbandits as fpb
from fpbandits.forecast.forecast import Forecast, Off, Sure
from fpbandits.forecast.report import answers


@pytest.fixture(scope="module")
def found() -> Forecast:
    return fpb.forecast("paper:two", horizon=100, runs=30)


def test_a_page_that_needs_nothing_else(found: Forecast, tmp_path: Path) -> None:
    page = found.report(tmp_path / "new")
    assert {each.name for each in page.parent.iterdir()} == {
        "forecast.html",
        "forecast.json",
        "regret.png",
        "regret.svg",
    }
    text = page.read_text()
    assert "what playing will cost" in text
    assert "http" not in text.replace("http://www.w3.org", "")
    assert json.loads((page.parent / "forecast.json").read_text()) == found.as_dict()


def test_the_figure_names_its_lines(found: Forecast) -> None:
    (axes,) = found.plot().axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "frugal",
        "floor: no policy loses less",
        "Thompson sampling without models",
        "always arm1",
    ]


def test_words_for_what_may_happen(found: Forecast) -> None:
    never = replace(found, until_sure=Sure(0.05, None, None, 0.25))
    assert answers(never)["Until sure"].startswith(
        "25 % of runs know the best arm by play 100, with a risk of 5 % of being wrong; "
    )
    some = replace(found, until_sure=Sure(0.05, 12.0, None, 0.75))
    assert answers(some)["Until sure"].endswith("; 75 % by play 100.")
    wrong = replace(found, off=Off(0.05, 9.0, 12.0, 3.0, None))
    assert answers(wrong)["Models off"].endswith(
        "loses 3. Even if means are off by less, frugal loses more than that."
    )
    near = replace(found, off=Off(0.05, 9.0, 12.0, 3.0, 0.025))
    assert answers(near)["Models off"].endswith(
        "frugal loses less as long as means are off by up to 2.5 % of the range (0.025)."
    )
    unknown = replace(found, off=None, until_sure=None, floors=None)
    assert {"Models off", "Until sure"}.isdisjoint(answers(unknown))
    assert "best possible" not in answers(unknown)["It will cost"]


def test_few_runs_say_little() -> None:
    one = fpb.forecast("paper:two", horizon=1, runs=1)
    assert ", 1 play, " in str(one).splitlines()[0]
    words = answers(one)["It will cost"]
    assert "from the start, from 1 run only." in words
    assert "times that" not in words
    assert "19 runs" not in words


def test_the_distance_from_the_best_policy_is_an_interval(found: Forecast) -> None:
    floor = found.floor
    assert floor is not None
    low, high = (end / 0.5 for end in found.as_dict()["regret"]["interval"])
    known = replace(found, floors={found.horizon: replace(floor, upper=0.5)})
    words = answers(known)["It will cost"]
    assert words.endswith(f": frugal loses {max(1, low):.2f} to {high:.2f} times that.")
