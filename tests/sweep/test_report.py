"""The figure and the table of a sweep show every point where it belongs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from studies import write_study

from fpbandits.sweep.points import Part, Point
from fpbandits.sweep.report import _value_text, _with_error, sweep_figure
from fpbandits.sweep.study import load_study
from fpbandits.sweep.sweep import Sweep, sweep


@pytest.fixture
def found(tmp_path: Path) -> Sweep:
    return sweep(load_study(write_study(tmp_path), runs=3))


def test_every_point_is_in_its_place(found: Sweep) -> None:
    figure = sweep_figure(found)
    axes = [each for each in figure.axes if each.get_visible()]
    panels = found.points()
    assert [each.get_title() for each in axes] == list(panels)
    for each, panel in zip(axes, panels.values(), strict=True):
        assert each.get_xlabel() == "slack"
        (container,) = each.containers
        line: Any = container[0]
        own = panel["fp-ucb"]
        assert line.get_xdata().tolist() == sorted(own) == [0, 0.05, 0.1]
        assert line.get_ydata().tolist() == pytest.approx([own[x].mean for x in sorted(own)])
        # Policies without the option are level lines.
        level = [other for other in each.lines if other.get_linestyle() == "--"]
        heights = [float(other.get_ydata()[0]) for other in level]  # type: ignore[index, arg-type]
        expected = [panel[name][None].mean for name in ("ucb1", "optimist:delta=0.2")]
        assert heights == pytest.approx(expected)
    assert figure.get_suptitle() == "slack, and more"


def test_the_height_of_one_panel_is_that_of_all(found: Sweep) -> None:
    axes = [each for each in sweep_figure(found).axes if each.get_visible()]
    assert len({each.get_ylim() for each in axes}) == 1
    assert len({each.get_yscale() for each in axes}) == 1


def test_panels_in_other_units_say_so(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        "problems = ['paper:two', {name = 'prices', range = [0, 15], models = "
        "{a = [9, 5], b = [2, 5]}, truth = 'a'}]\n"
        "policies = ['ucb1']\nhorizons = [9, 5000]\nruns = 3"
    )
    labels = [each.get_ylabel() for each in sweep_figure(sweep(load_study(path))).axes]
    assert labels == [
        "mean regret (rewards in [0, 1]; log scale)",
        "mean regret (rewards in [0, 15]; log scale)",
    ]
    path.write_text("problems = ['paper:two']\npolicies = ['ucb1']\nhorizons = [9, 50]\nruns = 3")
    (only,) = sweep_figure(sweep(load_study(path))).axes
    assert only.get_ylabel() == "mean regret (rewards in [0, 1])"


def test_a_mean_stands_beside_its_error_if_it_has_one() -> None:
    case = ("paper:two", "theta1")
    # The standard error of 4 runs is √(squares / 3) / 2.
    four_runs = Point({case: Part(runs=4, mean=12.345, squares=3 * (2 * 0.4567) ** 2)})
    assert _with_error(four_runs).plain == "12.35 ± 0.46"
    assert _with_error(Point({case: Part(runs=1, mean=12.345)})).plain == "12.35"
    assert _with_error(None).plain == "–"
    assert [_value_text(value) for value in (None, 12_345, 10**8, 0.125, "a")] == [
        "any",
        "12,345",
        "1e+08",
        "0.125",
        "a",
    ]
