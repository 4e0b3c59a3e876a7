"""Regret over time: no policy is left out of the figure, and nothing out of view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from fpbandits import FPUCB, UCB1, Problem, Result, analyze, load_problem, simulate
from fpbandits.simulation.figure import BANDS, _scale, draw_policy, label_regret


def test_policies_may_be_more_than_colours() -> None:
    policies = [FPUCB(slack=number / 100) for number in range(75)]
    result = simulate(load_problem("paper:two"), policies, horizon=5, runs=1)
    lines = result.plot().axes[0].lines
    assert [line.get_label() for line in lines] == list(map(str, policies))


def test_control_characters_of_a_forged_result_leave_the_figure_well_formed(tmp_path: Path) -> None:
    result = simulate(load_problem("paper:two"), FPUCB(), horizon=5, runs=2)
    forged = replace(result, pulls={"a\x1b\0": result.pulls["fp-ucb"]}, truth="\x07")
    forged.plot(tmp_path / "forged.svg")
    ElementTree.parse(tmp_path / "forged.svg")


def _of(name: str, truth: str) -> Result:
    return simulate(name, [FPUCB(), UCB1()], truth=truth, horizon=10**5, runs=5)


def _in_dollars() -> Result:
    problem = Problem.bernoulli([[12, 5], [3, 5]], range=(0, 15), name="n" * 60)
    return simulate(problem, [FPUCB(), UCB1()], truth="theta2", horizon=10**4, runs=1)


@pytest.mark.parametrize(
    "play",
    [
        partial(_of, "paper:two", "theta1"),
        partial(_of, "paper:two", "theta2"),
        partial(_of, "paper:permutations", "0.6,0.4,0.3,0.2"),
        _in_dollars,
    ],
)
def test_bounds_and_legend_are_in_view(play: Callable[[], Result]) -> None:
    result = play()
    figure = result.plot(bounds=True)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    bottom, top = axes.get_ylim()
    ends = np.array([np.asarray(line.get_ydata(), float)[-1] for line in axes.lines])
    assert len(ends) == 5
    drawn = ends[~np.isnan(ends)]
    assert len(drawn) >= 4, "only what no policy must lose is no line"
    assert ((bottom < drawn) & (drawn < top)).all()
    low, high = result.problem.range
    scale = "; log scale" if axes.get_yscale() == "log" else ""
    assert axes.get_ylabel() == f"regret (rewards in [{low:g}, {high:g}]{scale})"
    legend = axes.get_legend()
    assert legend is not None
    below, page = legend.get_window_extent(), figure.bbox
    assert below.y1 < axes.get_window_extent().y0
    assert page.x0 <= below.x0 < below.x1 <= page.x1
    assert page.y0 <= below.y0


def test_regret_is_not_flattened_by_bounds_far_above() -> None:
    """On the 24 permutations Theorem 1 is a hundred times what happens."""
    (axes,) = _of("paper:permutations", "0.6,0.4,0.3,0.2").plot(bounds=True).axes
    to_page = axes.transData.transform
    y = [to_page((1e5, float(np.asarray(line.get_ydata(), float)[-1])))[1] for line in axes.lines]
    bottom, top = axes.get_window_extent().y0, axes.get_window_extent().y1
    assert all(height > bottom + (top - bottom) / 5 for height in y[:2])


@pytest.mark.parametrize(("times", "scale"), [(9, "linear"), (11, "log")])
def test_regret_is_not_flattened_by_a_policy_that_loses_ten_times_as_much(
    times: int, scale: str
) -> None:
    result = simulate("paper:two", FPUCB(), truth="theta2", horizon=1000, runs=3)
    pulls = result.pulls["fp-ucb"]
    figure = replace(result, pulls={"one": pulls, "other": times * pulls}).plot()
    (axes,) = figure.axes
    assert axes.get_title() == "paper:two, truth theta2"
    assert axes.get_yscale() == scale
    ends = [float(np.asarray(line.get_ydata(), float)[-1]) for line in axes.lines]
    bottom, top = axes.get_ylim()
    assert bottom < min(ends) < max(ends) < top


def test_lines_can_be_told_apart_when_colours_run_out() -> None:
    policies = [FPUCB(slack=number / 100) for number in range(14)]
    lines = simulate("paper:two", policies, horizon=5, runs=1).plot().axes[0].lines
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 14


@pytest.mark.parametrize("band", [*BANDS, None])
@pytest.mark.parametrize("runs", [1, 2])
def test_a_band_is_drawn_around_several_runs(runs: int, band: str | None) -> None:
    """A single run has no spread, and some figures are drawn without a band."""
    result = simulate("paper:two", FPUCB(), horizon=50, runs=runs)
    axes = Figure().add_subplot()
    draw_policy(axes, result, "fp-ucb", band=band, colour="black")
    assert len(axes.lines) == 1
    assert len(axes.collections) == (runs == 2 and band is not None)


@pytest.mark.parametrize("band", BANDS)
def test_a_band_has_the_edges_that_it_is_named_for(band: str) -> None:
    result = simulate("paper:two", FPUCB(), horizon=50, runs=30)
    axes = Figure().add_subplot()
    draw_policy(axes, result, "fp-ucb", band=band, colour="black")
    (drawn,) = axes.collections
    mean, std = (edge[-1] for edge in (result.mean_regret("fp-ucb"), result.std_regret("fp-ucb")))
    regret = result.final_regret("fp-ucb")
    wanted = {
        "ci": result.confidence_interval("fp-ucb")[1][-1],
        "quantile": np.quantile(regret, 0.95),
        "std": mean + std,
    }
    corners = np.asarray(drawn.get_paths()[0].vertices, float)
    assert corners[corners[:, 0] == 50, 1].max() == pytest.approx(wanted[band])


def test_a_single_time_is_a_point() -> None:
    line = simulate("paper:two", FPUCB(), horizon=9, times=[9], runs=2).plot().axes[0].lines[0]
    assert line.get_marker() == "o"


def test_long_names_stay_on_the_page() -> None:
    long = "x" * 600
    result = simulate("paper:two", {long: FPUCB()}, horizon=9, runs=2)
    figure = replace(result, truth=long).plot()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend is not None
    for words in (legend, axes.title):
        extent = words.get_window_extent()
        assert figure.bbox.x0 <= extent.x0 < extent.x1 <= figure.bbox.x1


def test_bounds_in_contexts_are_ucb1_in_each_and_the_lower_bound() -> None:
    means = [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]]]
    problem = Problem.bernoulli(means, contexts=["mobile", "desktop"])
    result = simulate(problem, UCB1(), truth="theta2", horizon=1000, runs=3)
    axes = result.plot(bounds=True).axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "ucb1",
        "UCB1 in each context ≤ 1.3 + 120 · ln T",
        "any policy ≥ 0.1332 · ln T in the long run (Theorem 2)",
    ]
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in axes.lines[1:]]
    assert ends == pytest.approx([1.28696 + 120 * np.log(1000), 0.133212 * np.log(1000)])
    bounded = simulate(problem, UCB1(), truth="theta1", horizon=1000, runs=3).plot(bounds=True)
    assert "regret need not grow" in str(bounded.axes[0].get_legend().get_texts()[-1])  # type: ignore[union-attr]  # there is one


@pytest.mark.parametrize(
    ("longest", "columns"), [(1, 3), (24, 3), (25, 2), (44, 2), (45, 1), (64, 1), (65, 1)]
)
def test_a_legend_has_as_many_columns_as_its_names_allow(longest: int, columns: int) -> None:
    """And the figure is higher for each line of them."""
    result = simulate("paper:two", FPUCB(), horizon=9, times=[3], runs=2)
    pulls = result.pulls["fp-ucb"]
    names = ["a" * longest, "b", "c", "d", "e"]
    figure = replace(result, pulls=dict.fromkeys(names, pulls)).plot()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert legend._ncols == columns  # type: ignore[attr-defined]  # it has no other name
    assert figure.get_figheight() == pytest.approx(4.4 + 0.19 * -(-5 // columns))
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["a" * 63 + "…" if longest > 64 else names[0], *names[1:]]


@pytest.mark.parametrize(("length", "lines"), [(59, 1), (60, 2)])
def test_a_long_title_takes_two_lines(length: int, lines: int) -> None:
    """66 characters of a problem's and a truth's name are too many for one."""
    means = [[0.9, 0.5], [0.2, 0.5]]
    problem = Problem.bernoulli(means, name="n" * length, models=["truth1", "y"])
    title = simulate(problem, UCB1(), truth="truth1", horizon=3, runs=1).plot().axes[0].get_title()
    assert title == f"{'n' * length},{' ' if lines == 1 else chr(10)}truth truth1"


def test_a_truth_that_moves_is_said_to() -> None:
    moving = Problem.bernoulli(
        [[0.9, 0.5], [0.2, 0.5]], transitions=[[0.5, 0.5], [0.5, 0.5]], name="moods"
    )
    figure = simulate(moving, UCB1(), truth="theta2", horizon=3, runs=1).plot()
    assert figure.axes[0].get_title() == "moods, truth theta2 at first, then moving"
    assert figure.get_supxlabel() == "single run; T = 3, seed 0"


def drawn(losses: list[list[int]], highest: float = 0.0, log_time: bool = True) -> Axes:
    """Draw policies that play the second arm so often up to t = 1, 10 and 100; it loses 1."""
    problem = Problem.bernoulli([[1.0, 0.0], [0.0, 1.0]], name="made up")
    base = simulate(problem, UCB1(), truth="theta1", horizon=100, times=[1, 10], runs=2)
    pulls = [np.array([[[0, lost] for lost in policy]] * 2) for policy in losses]
    result = replace(base, pulls={f"policy {index}": each for index, each in enumerate(pulls)})
    if highest:
        axes = Figure().add_subplot()
        _scale(axes, result, float(max(policy[-1] for policy in losses)), highest)
        return axes
    (axes,) = result.plot(log_time=log_time).axes
    return axes


def test_little_regret_fills_the_axis() -> None:
    problem = Problem.bernoulli([[0.51, 0.5], [0.5, 0.51]])
    result = simulate(problem, UCB1(), truth="theta1", horizon=20, runs=2)
    (axes,) = result.plot().axes
    assert 0.05 < axes.get_ylim()[1] < 0.2


def test_axes_begin_at_zero_or_are_logarithmic() -> None:
    """Where the last regrets are ten times apart, or bounds are three times above them."""
    assert drawn([[0, 5, 20], [0, 5, 199]]).get_yscale() == "linear"
    assert drawn([[0, 5, 20], [0, 5, 200]]).get_yscale() == "log"
    assert drawn([[0, 5, 0], [0, 5, 200]]).get_yscale() == "linear", "nothing lost is not drawn"
    assert drawn([[0, 0, 0]]).get_ylim()[0] == 0
    assert drawn([[5, 0, 1], [9, 0, 90]]).get_yscale() == "log"
    axes = drawn([[0, 1, 10]], highest=30)
    assert (axes.get_yscale(), axes.get_ylim()) == ("linear", (0, 31.5))
    axes = drawn([[0, 1, 10]], highest=5)
    assert (axes.get_yscale(), axes.get_ylim()) == ("linear", (0, 10))
    axes = drawn([[0, 1, 10]], highest=31)
    assert axes.get_yscale() == "log"
    assert axes.get_ylim() == pytest.approx((31 / 1e3 / 1.5, 62))
    axes = drawn([[0, 1, 1000]], highest=10_000)
    assert axes.get_ylim() == pytest.approx((1 / 1.5, 20_000))
    assert drawn([[0, 5, 20], [0, 5, 19]]).get_xlim() == (1, 100)
    assert drawn([[0, 5, 20]], log_time=False).get_xscale() == "linear"


@pytest.mark.parametrize(
    ("ranges", "scale", "label"),
    [
        ([(0, 1)], "linear", "lost (rewards in [0, 1])"),
        ([(0, 5), (0, 1)], "linear", "lost (rewards in [0, 1]; rewards in [0, 5])"),
        (
            [(0, 5), (0, 1), (0, 9)],
            "log",
            "lost (rewards in [0, 1]; rewards in [0, 5], …; log scale)",
        ),
    ],
)
def test_regret_is_drawn_with_its_units(
    ranges: list[tuple[float, float]], scale: str, label: str
) -> None:
    axes = Figure().add_subplot()
    axes.set_yscale(scale)
    label_regret(axes, "lost", ranges)
    assert axes.get_ylabel() == label


@pytest.mark.parametrize("over_log", [False, True])
@pytest.mark.parametrize("band", BANDS)
def test_a_line_and_its_band_at_every_time(band: str, over_log: bool) -> None:
    """Divided by ln t they begin after t = 1, where it is 0."""
    result = simulate("paper:two", UCB1(), horizon=50, times=[1, 2, 7], runs=30)
    axes = Figure().add_subplot()
    draw_policy(axes, result, "ucb1", band=band, colour="black", over_log=over_log, label="mine")
    times = [2, 7, 50] if over_log else [1, 2, 7, 50]
    by = np.log(times) if over_log else np.ones(len(times))
    regret = result.regret("ucb1")[:, -len(times) :]
    mean, std = regret.mean(axis=0), regret.std(axis=0, ddof=1)
    half = stats.t.ppf(0.975, 29) * std / np.sqrt(30)
    edges: dict[str, Any] = {
        "std": (mean - std, mean + std),
        "ci": (mean - half, mean + half),
        "quantile": np.quantile(regret, (0.05, 0.95), axis=0),
    }
    low, high = edges[band]
    (line,), (drawn_band,) = axes.lines, axes.collections
    assert (line.get_label(), line.get_marker()) == ("mine", "")
    np.testing.assert_allclose(np.asarray(line.get_xdata(), float), times)
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), mean / by)
    corners = np.asarray(drawn_band.get_paths()[0].vertices, float)
    for time, bottom, top in zip(times, low / by, high / by, strict=True):
        ends = corners[corners[:, 0] == time, 1]
        assert (ends.min(), ends.max()) == pytest.approx((bottom, top))


def test_bounds_are_lines_over_ln_t() -> None:
    """Theorem 1 and UCB1's bound with their constants, the lower bound without one."""
    result = simulate("paper:two", UCB1(), truth="theta2", horizon=1000, times=[10], runs=2)
    case = analyze(result.problem, "theta2").cases[0]
    upper, ucb1, lower = case.theorem1.corrected, case.ucb1, case.theorem2.all_arms.coefficient
    logs = np.log([10, 1000])
    lines = result.plot(bounds=True).axes[0].lines[1:]
    assert upper.constant is not None
    for line, values in zip(
        lines,
        (
            upper.constant + upper.log_coefficient * logs,
            ucb1.constant + ucb1.log_coefficient * logs,
            lower * logs,
        ),
        strict=True,
    ):
        np.testing.assert_allclose(np.asarray(line.get_ydata(), float), values)
