"""The figure and the table of a sweep show every point where it belongs."""

from __future__ import annotations

import io
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from rich.console import Console
from studies import write_study

from fpbandits.sweep.points import Part, Point
from fpbandits.sweep.report import (
    _set_scale,
    _value_text,
    _with_error,
    sweep_figure,
    sweep_table,
)
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
    values = (None, 12_345, 10**7 - 1, 10**7, 0.125, 12345.25, "a")
    texts = ["without", "12,345", "9,999,999", "1e+07", "0.125", "12345.2", "a"]
    assert [_value_text(value) for value in values] == texts


def point(mean: float, runs: int = 4, problem: str = "p") -> Point:
    """A point whose standard error is 1, if there are four runs: √(12 / 3) / 2."""
    return Point({(problem, "x"): Part(runs=runs, mean=mean, squares=12.0)})


def drawn(panels: Any, against: str = "slack", name: str = "study") -> Figure:
    """Return the figure of made-up points on one problem."""
    problem = SimpleNamespace(name="p", range=(0.0, 1.0))
    study = SimpleNamespace(
        cells={"": SimpleNamespace(problem=problem)}, against=against, name=name
    )
    made: Any = SimpleNamespace(study=study, points=lambda: panels, caption="means")
    return sweep_figure(made)


def printed(*given: Any) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=120).print(sweep_table(*given))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_table_has_the_fewer_as_columns() -> None:
    panel = {
        "a": {0.2: point(1.5), 0.1: point(2.5)},
        "b": {None: point(3.5, runs=1)},
        "c": {0.1: point(4.5)},
    }
    assert printed("slack", {"P, truth x": panel}, "means of 4 runs") == [
        "P, truth x",
        "",
        " policy, slack →  without      0.1      0.2",
        " ──────────────────────────────────────────",
        " a                      –  2.5 ± 1  1.5 ± 1",
        " b                    3.5        –        –",
        " c                      –  4.5 ± 1        –",
        "",
        "Mean regret ± its standard error: means of 4 runs.",
    ]
    for names in (["x", "y"], ["x"]):
        values = {name: point(1.5) for name in names}
        assert printed("policy", {"": {"": values}}, "c") == [
            "",
            " policy  mean regret",
            " ───────────────────",
            *(f" {name}           1.5 ± 1" for name in names),
            "",
            "Mean regret ± its standard error: c.",
        ]


@pytest.mark.parametrize(
    ("lines", "values", "cut"), [(9, 8, False), (9, 9, True), (1, 40, False), (1, 41, True)]
)
def test_a_long_table_is_cut(lines: int, values: int, cut: bool) -> None:
    panel = {f"l{line}": {n: point(n + 0.5) for n in range(values)} for line in range(lines)}
    small = {"l0": {0: point(1.5)}}
    for panels in ({"": panel}, {"P": panel, "Q": small}):
        found = printed("arms", panels, "c")
        assert found[-1].endswith("There is more in study.csv.") == cut
        rows = [line.split() for line in found if " ± " in line][: min(max(lines, values), 40)]
        if values > lines:
            assert [row[0] for row in rows] == [str(n) for n in range(min(values, 40))]
        else:
            assert [row[0] for row in rows] == [f"l{line}" for line in range(lines)]
            assert all(len(row) == 1 + 3 * min(values, 8) for row in rows)


@pytest.mark.parametrize(
    ("panels", "rows", "columns"),
    [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 2), (5, 2, 3), (6, 2, 3), (7, 3, 3)],
)
def test_panels_in_rows_and_columns(panels: int, rows: int, columns: int) -> None:
    made = {f"panel {n}": {"": {1: point(1.5), 2: point(2.5)}} for n in range(panels)}
    figure = drawn(made, name="x" * 91)
    grid: Any = figure.axes[0].get_subplotspec()
    assert (grid.get_gridspec().nrows, grid.get_gridspec().ncols) == (rows, columns)
    axes = [each for each in figure.axes if each.get_visible()]
    assert len(axes) == panels
    labelled = [bool(each.get_ylabel()) for each in axes]
    assert labelled == [n % columns == 0 for n in range(panels)], "on the left alone"
    assert figure.get_suptitle() == "x" * 89 + "…"
    assert not figure.legends, "there is but one line"
    title: Any = figure.texts[0] if figure.texts else figure._suptitle  # type: ignore[attr-defined]
    assert not title.get_parse_math()


@pytest.mark.parametrize(
    ("means", "scale", "limits"),
    [
        ([1.0, 30.0], "linear", 0),
        ([0.0, 1.0, 30.0], "linear", 0),
        ([0.0, 0.0], "linear", 0),
        ([1.0, 31.0], "log", (0.5, 46.5)),
        ([0.0, 1.0, 31.0], "symlog", (-0.2, 46.5)),
        ([-5.0, 1.0, 31.0], "symlog", (-0.2, 46.5)),
        ([0.01, 0.2], "linear", 0),
    ],
)
def test_regret_over_decades_has_a_logarithmic_scale(
    means: list[float], scale: str, limits: Any
) -> None:
    axes = Figure().subplots()
    _set_scale(axes, [{"": {n: point(mean) for n, mean in enumerate(means)}}])
    assert axes.get_yscale() == scale
    if limits:
        assert axes.get_ylim() == pytest.approx(limits)
    else:
        assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize("means", [(1.0, 20.0), (20.0, 1.0)])
def test_no_point_of_any_panel_is_cut_off(means: tuple[float, float]) -> None:
    panels = {str(mean): {"": {1: point(mean), 2: point(mean)}} for mean in means}
    for each in drawn(panels).axes:
        low, high = each.get_ylim()
        assert low == 0
        assert high > 20 + point(20.0).half_width


def test_the_default_and_other_values_of_an_option_are_drawn() -> None:
    panel = {"a": {None: point(5.0), 1: point(2.0), 2: point(3.0)}}
    (axes,) = drawn({"": panel}).axes
    points: Any = axes.containers[0][0]
    assert points.get_ydata().tolist() == [2, 3]
    level = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in level] == [5]  # type: ignore[index]


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 10], "log"), ([1, 9.9], "linear"), ([0, 10], "linear"), ([0.01, 0.1], "log")],
)
def test_values_over_a_decade_have_a_logarithmic_scale(values: list[float], scale: str) -> None:
    (axes,) = drawn({"": {"a": {value: point(1.5) for value in values}}}).axes
    assert axes.get_xscale() == scale


@pytest.mark.parametrize("names", [3, 4, 24, 25])
def test_names_below_an_axis(names: int) -> None:
    values = [f"$a_{{{n}" + "x" * 40 for n in range(names)]
    (axes,) = drawn({"": {"": {value: point(1.5) for value in values}}}, "truth").axes
    labels = axes.get_xticklabels()
    shown = [value[:29] + "…" for value in values] if names <= 24 else []
    assert [label.get_text() for label in labels] == shown
    assert {label.get_rotation() for label in labels} <= {30 if names > 3 else 0}
    assert not any(label.get_parse_math() for label in labels)
    line: Any = axes.containers[0][0]
    assert line.get_xdata().tolist() == list(range(names))
    assert line.get_linestyle() == "None", "names have no order"


def test_numbers_among_names_are_names() -> None:
    (axes,) = drawn(
        {"": {"": {"x": point(1.5), 1250: point(2.5), True: point(3.5)}}}, "option"
    ).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "1,250", "True"]


def test_many_lines_are_told_apart() -> None:
    panel = {f"l{n}": {1: point(n + 1.5), 2: point(n + 2.5)} for n in range(22)}
    (axes,) = drawn({"": panel}).axes
    lines: list[Any] = [container[0] for container in axes.containers]
    looks = [(each.get_color(), each.get_linestyle(), each.get_marker()) for each in lines]
    assert [look[1] for look in looks] == [*"-" * 7, *":" * 7, *["-."] * 7, "-"]
    assert len(set(looks)) == 22


def test_intervals_are_drawn_if_there_are_any() -> None:
    panel: Any = {"a": {None: point(5.0)}, "b": {1: point(2.0), 2: point(3.0)}}
    half = point(5.0).half_width
    assert half == pytest.approx(3.182446, rel=1e-6), "Student's t of 3 degrees of freedom, times 1"
    (axes,) = drawn({"": panel}).axes
    band: Any = axes.patches[0]
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((5 - half, 5 + half))
    bars: Any = axes.containers[0][2]
    ends = bars[0].get_segments()[1][:, 1].tolist()
    assert ends == pytest.approx([3 - half, 3 + half])
    single: Any = {"a": {None: point(5.0, runs=1)}, "b": {1: point(2.0, runs=1), 2: point(3.0)}}
    (axes,) = drawn({"": single}).axes
    assert not axes.patches
    assert math.isnan(point(2.0, runs=1).half_width)
    assert not axes.containers[0].has_yerr  # type: ignore[attr-defined]
