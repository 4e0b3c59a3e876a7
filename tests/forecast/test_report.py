"""The words, the figure and the page of a forecast."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.core.checks import amount
from fpbandits.forecast.forecast import Forecast, Off, Sure
from fpbandits.forecast.report import answers, setting


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
    content = (page.parent / "forecast.json").read_text()
    assert content == json.dumps(found.as_dict(), indent=1) + "\n"


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


def test_what_is_not_known_is_left_out(found: Forecast) -> None:
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


CONTEXTS = {f"x{number}": "a" for number in range(8)}


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("12 EUR", "12 EUR"),
        ({"m": "9 EUR", "d": "12 EUR"}, "9 EUR (m), 12 EUR (d)"),
        (dict(list(CONTEXTS.items())[:6]), "a (x0), a (x1), a (x2), a (x3), a (x4), a (x5)"),
        (
            dict(list(CONTEXTS.items())[:7]),
            "a (x0), a (x1), a (x2), a (x3), a (x4), a (x5), and 1 context more",
        ),
        (CONTEXTS, "a (x0), a (x1), a (x2), a (x3), a (x4), a (x5), and 2 contexts more"),
    ],
)
def test_with_which_arm_to_start(found: Forecast, first: Any, words: str) -> None:
    assert answers(replace(found, first_arm=first))["Start with"] == words


def test_what_is_asked_in_a_line(found: Forecast) -> None:
    begin = "paper:two: 2 models, 2 arms, 100 plays, "
    assert setting(found) == begin + "each model equally likely"
    assert setting(replace(found, truth="theta1")) == begin + "the truth is theta1"
    known = replace(found.problem, prior=(0.25, 0.75))
    assert setting(replace(found, problem=known)) == begin + "the truth drawn from the prior"
    named = replace(found.problem, name="a\u202eb")
    assert setting(replace(found, problem=named)).startswith("a\\u202eb: ")


def test_what_it_will_cost(found: Forecast) -> None:
    """From the numbers of the JSON; the least possible is a floor from below, or a policy's."""
    regret = found.as_dict()["regret"]
    mean, q95 = amount(regret["mean"]), amount(regret["q95"])
    low, high = map(amount, regret["interval"])
    cost = (
        f"{mean} on average (95 % interval {low} … {high}) against knowing the truth from the "
        f"start; 19 runs in 20 lose at most {q95}."
    )

    def words(floor: fpb.Floor | None) -> str:
        floors = None if floor is None else {100: floor}
        return answers(replace(found, floors=floors))["It will cost"]

    assert words(None) == cost
    assert words(fpb.Floor(0.25, None, "pairs")) == (
        f"{cost} No policy can lose less than 0.25 on average."
    )
    assert words(fpb.Floor(0.0, 0.0, "belief")) == (
        f"{cost} The best possible policy loses 0 on average."
    )
    first, last = (max(1, end / 0.4) for end in regret["interval"])
    assert last > first + 0.1
    assert words(fpb.Floor(0.3, 0.4, "belief")) == (
        f"{cost} The best possible policy loses 0.4 on average: frugal loses {first:.2f} to "
        f"{last:.2f} times that."
    )
    # Below one it could be by chance only.
    assert words(fpb.Floor(90.0, 90.0, "belief")).endswith(": frugal loses 1.00 times that.")


@pytest.mark.parametrize(("runs", "few"), [(1, True), (19, True), (20, False)])
def test_from_twenty_runs_on_there_is_a_quantile(found: Forecast, runs: int, few: bool) -> None:
    result = fpb.simulate("paper:two", "frugal", truth="prior", horizon=9, runs=runs)
    cost = answers(replace(found, result=result, floors=None))["It will cost"]
    counted = "1 run" if runs == 1 else f"{runs} runs"
    assert cost.endswith(f"from the start, from {counted} only.") == few
    assert ("; 19 runs in 20 lose at most " in cost) != few
    assert ("95 % interval" in cost) == (runs > 1)
    exact = replace(found, result=result, floors={100: fpb.Floor(0.5, 0.5, "belief")})
    assert ("times that" in answers(exact)["It will cost"]) == (runs > 1)


def test_losses_by_truth_begin_with_the_largest(found: Forecast) -> None:
    def words(losses: dict[str, float], truth: str | None = None) -> str | None:
        return answers(replace(found, per_truth=losses, truth=truth)).get("By truth")

    assert words({"a": 1.0}) is None
    assert words({"a": 1.0, "b": 2.0}, "a") is None
    assert words({"a": 1.0, "b": 2.0}) == "on average 2 if it is b, 1 if it is a."
    losses = {name: float(number) for number, name in enumerate("abcdefgh")}
    most = "on average 7 if it is h, 6 if it is g, 5 if it is f, 4 if it is e, 3 if it is d, 2 if"
    assert words(losses) == f"{most} it is c, less if it is one of 2 others."
    del losses["a"]
    assert words(losses) == f"{most} it is c, less if it is one of 1 others."
    del losses["b"]
    assert words(losses) == f"{most} it is c."


@pytest.mark.parametrize(
    ("sure", "words"),
    [
        (
            Sure(0.05, None, None, 0.25),
            "25 % of runs know the best arm by play 100, with a risk of 5 % of being wrong; the "
            "others go on learning.",
        ),
        (
            Sure(0.01, 1234, None, 0.75),
            "half of the runs know the best arm after 1,234 plays, with a risk of 1 % of being "
            "wrong; 75 % by play 100.",
        ),
        (
            Sure(0.125, 12, 5678, 0.98),
            "half of the runs know the best arm after 12 plays, with a risk of 12.5 % of being "
            "wrong; 19 in 20 after 5,678.",
        ),
    ],
)
def test_until_sure(found: Forecast, sure: Sure, words: str) -> None:
    assert answers(replace(found, until_sure=sure))["Until sure"] == words


def test_what_others_lose(found: Forecast) -> None:
    others = replace(found, baselines={"always a": 1500.0, "thompson": 2.25})
    assert answers(others)["Others lose"] == (
        "1,500.0: always a; 2.25: Thompson sampling without models."
    )


def test_if_models_are_off(found: Forecast) -> None:
    """A share of the range and what that is in the user's units; of two deviations without one."""
    plain = replace(found, per_truth={"theta1": 1.0})
    assert answers(replace(plain, off=Off(0.05, 9.0, 12.0, None, None)))["Models off"] == (
        "if every true mean is off by up to 5 % of the range (0.05), at random, frugal loses 9 on "
        "average."
    )
    wide = fpb.Problem.bernoulli([[9, 5], [2, 5]], range=(0, 10))
    off = Off(0.05, 9.0, 12.0, 3.0, 0.1)
    assert answers(replace(found, problem=wide, off=off))["Models off"] == (
        "if every true mean is off by up to 5 % of the range (0.5), at random, frugal loses 9 on "
        "average (12 near the model where this costs most); Thompson sampling without models loses "
        "3. frugal loses less as long as means are off by up to 10 % of the range (1)."
    )
    normal = fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=3)
    off = Off(0.05, 9.0, 12.0, 3.0, None)
    assert answers(replace(plain, problem=normal, off=off))["Models off"] == (
        "if every true mean is off by up to 5 % of two deviations (0.3), at random, frugal loses 9 "
        "on average; Thompson sampling without models loses 3. Even if means are off by less, "
        "frugal loses more than that."
    )


def test_lines_have_a_head_of_fifteen_letters_and_are_folded_at_eighty(found: Forecast) -> None:
    expected = [setting(found), ""]
    for head, words in answers(found).items():
        first, *rest = wrap(words, 65)
        expected += [head.ljust(15) + first, *(" " * 15 + line for line in rest)]
    assert str(found).split("\n") == expected
    assert len(expected) > 10


def test_the_figure_has_the_numbers(found: Forecast, tmp_path: Path) -> None:
    path = tmp_path / "regret.png"
    (axes,) = found.plot(path).axes
    assert path.read_bytes().startswith(b"\x89PNG")
    mean, floor, thompson, always = (line.get_xydata() for line in axes.lines)
    times = found.result.times
    assert mean == pytest.approx(np.column_stack([times, found.result.mean_regret("frugal")]))
    assert found.floors is not None
    values = [(time, each.value) for time, each in found.floors.items()]
    assert floor == pytest.approx(np.array(values))
    assert found.others is not None
    played = np.column_stack([found.others.times, found.others.mean_regret("thompson")])
    assert thompson == pytest.approx(played)
    per_play = found.baselines["always arm1"] / 100
    assert always == pytest.approx(np.column_stack([times, per_play * times]))
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    regret = found.result.regret("frugal")
    for share in (0.05, 0.95):
        ends = [
            (time, np.quantile(column, share)) for time, column in zip(times, regret.T, strict=True)
        ]
        for end in ends:
            assert np.isclose(corners, end).all(axis=1).any(), (share, end)
    assert axes.get_xscale() == "log"
    without = replace(found, floors=None, others=None)
    assert len(without.plot().axes[0].lines) == 2


def test_losses_that_are_far_apart_have_a_logarithmic_axis(found: Forecast) -> None:
    """Where something else loses eight times as much as the policy; or it loses nothing at all."""
    mean = float(found.result.mean_regret("frugal")[-1])
    without = replace(found, others=None)
    for most, scale in ((7.9 * mean, "linear"), (8.1 * mean, "log")):
        (axes,) = replace(without, baselines={"always a": most}).plot().axes
        assert axes.get_yscale() == scale
    nothing = fpb.simulate("paper:two", "frugal", truth="theta1", horizon=1, runs=2)
    assert nothing.mean_regret("frugal").tolist() == [0]
    for most, scale in ((0.0, "linear"), (0.1, "log")):
        drawn = replace(without, result=nothing, floors=None, baselines={"always a": most})
        (axes,) = drawn.plot().axes
        assert axes.get_yscale() == scale


def test_long_names_are_cut_in_the_legend(found: Forecast) -> None:
    policy = "frugal:delta=0.12345678901:kappa=12.3456789"
    result = fpb.simulate("paper:two", policy, truth="prior", horizon=9, runs=2)
    name = result.policies[0]
    assert len(name) > 40
    long = "always " + "a" * 34
    drawn = replace(found, policy=name, result=result, others=None, baselines={long: 3.0})
    legend = drawn.plot().axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        name[:39] + "…",
        "floor: no policy loses less",
        long[:39] + "…",
    ]
