"""Helpers of the report's figures: size, colours, curves, marks, captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.statistics import half_width
from fpbandits.errors import counted
from fpbandits.paper.experiments import LEAST_RUNS, SETTINGS
from fpbandits.report.figures import BLUE, GREEN, ORANGE, PURPLE, SKY, blank, footnote
from fpbandits.report.times import as_written, time_text
from fpbandits.simulation.figure import BANDS, draw_policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fpbandits.paper.experiments import Distance
    from fpbandits.paper.material import Material
    from fpbandits.simulation.result import Result

POLICY_NAMES = {
    "fp-ucb": "FP-UCB",
    "ucb1": "UCB1",
    "thompson": "Thompson sampling",
    "frugal": "frugal",
}
"""Policies' names in legends."""
POLICY_COLOURS = {"fp-ucb": BLUE, "ucb1": ORANGE, "thompson": GREEN, "frugal": PURPLE}
"""Policies' colours."""
SETTING_COLOURS = {
    "two-1": BLUE,
    "two-2": ORANGE,
    "permutations": SKY,
    "grid-6": GREEN,
    "grid-4": PURPLE,
}
"""Colours of the paper's five settings, in its order."""

GREY = "0.3"
"""The colour of bounds."""


def canvas(
    title: str, *, x: str = "time t", y: str = "regret", height: float = 3.5
) -> tuple[Figure, Axes]:
    """Return an empty figure, narrow enough for its text to be readable on a phone."""
    figure = blank(4.9, height)
    axes = figure.subplots()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
    return figure, axes


def curves_of(
    material: Material, setting: str, policies: Iterable[str], distance: Distance
) -> dict[str, Result]:
    """Return the results of these policies in a setting, by policy."""
    return {policy: material.result(setting, policy, distance) for policy in policies}


def draw_curves(
    axes: Axes, curves: Mapping[str, Result], *, band: str, over_log: bool = False
) -> None:
    """Draw the regret of policies, one result per policy; ``over_log`` divides it by ln t."""
    for policy, result in curves.items():
        colour, label = POLICY_COLOURS[policy], POLICY_NAMES[policy]
        draw_policy(axes, result, policy, band=band, colour=colour, label=label, over_log=over_log)
    axes.set_xlim(right=max(result.horizon for result in curves.values()))
    leave_room(axes)
    if over_log:
        axes.set_ylabel("regret / ln t")


def draw_over_log_time(
    title: str, curves: Mapping[str, Result], *, over_log: bool = False
) -> tuple[Figure, Axes]:
    """Draw the mean regret of policies on a log scale of t, with its 95 % interval."""
    figure, axes = canvas(title)
    axes.set_xscale("log")
    draw_curves(axes, curves, band="ci", over_log=over_log)
    axes.set_xlim(left=2 if over_log else 1)
    return figure, axes


def over_log_time(
    material: Material,
    *,
    setting: str,
    policies: Sequence[str],
    distance: Distance = "near",
    over_log: bool = False,
) -> Figure:
    """Return a figure of the regret of policies in a setting, on a log scale of t."""
    curves = curves_of(material, setting, policies, distance)
    figure, axes = draw_over_log_time(SETTINGS[setting].title, curves, over_log=over_log)
    return finish(figure, axes, run_caption(curves[policies[0]]))


def as_in_the_paper(
    material: Material, *, setting: str, policies: Sequence[str], over_log: bool = False
) -> Figure:
    """Return a figure as the paper has it: 10 runs, ±1 standard deviation, linear in t."""
    chosen = SETTINGS[setting]
    figure, axes = canvas(chosen.title)
    curves = {
        policy: result.first(LEAST_RUNS).until(chosen.horizon)
        for policy, result in curves_of(material, setting, policies, "near").items()
    }
    draw_curves(axes, curves, band="std", over_log=over_log)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda time, _: f"{time:,.0f}")
    axes.locator_params(axis="x", nbins=5)
    return finish(figure, axes, run_caption(curves[policies[0]], "std"))


def draw_mean(axes: Axes, times: Counts, sample: Floats, *, colour: str, label: str) -> None:
    """Draw the mean of sample[run, time], with its 95 % interval."""
    mean, half = sample.mean(axis=0), half_width(sample)
    axes.plot(times, mean, color=colour, label=label, linewidth=1.8)
    axes.fill_between(times, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)


def draw_mark(axes: Axes, value: float, row: float, marker: str, colour: str, label: str) -> None:
    """Mark a number in a row of a figure that lists settings from top to bottom."""
    axes.plot([value], [-row], marker, color=colour, markersize=8, label=label)


def draw_slope(axes: Axes, slope: Floats, row: float, marker: str, colour: str, label: str) -> None:
    """Mark a mean in a row, with its 95 % interval."""
    mean = float(slope.mean())
    axes.errorbar([mean], [-row], xerr=[float(half_width(slope))], color=colour, capsize=4)
    draw_mark(axes, mean, row, marker, colour, label)


def name_rows(axes: Axes, names: Sequence[str], *, above: float) -> None:
    """Label the rows, and leave room for a legend above them."""
    axes.set_ylim(-len(names) + 0.4, above)
    axes.set_yticks([-row for row in range(len(names))], list(map(short_title, names)))


def leave_room(axes: Axes) -> None:
    """Start the vertical axis at 0, and leave room for a legend at the top."""
    axes.set_ylim(0, 1.22 * max(axes.dataLim.y1, 1e-9))


def finish(figure: Figure, axes: Axes, caption: str, **legend: Any) -> Figure:
    """Add a legend, by default in one line at the top, and a caption below the axes."""
    handles, labels = axes.get_legend_handles_labels()
    # One entry for a label that is drawn several times.
    entries = {label: handle for handle, label in zip(handles, labels, strict=True)}
    style: dict[str, Any] = {"loc": "upper left", "ncols": len(entries), "columnspacing": 1.2}
    style |= {"fontsize": 9, "framealpha": 0.9, "edgecolor": "none", "borderaxespad": 0.3}
    axes.legend(list(entries.values()), list(entries), **style | legend)
    return footnote(figure, caption)


def run_caption(result: Result, band: str | None = "ci") -> str:
    """Return a caption with runs, band, horizon and seed of a result."""
    means = f"mean of {counted(result.runs, 'run')}" + (f", {BANDS[band]}" if band else "")
    return f"{means}; T = {as_written(time_text(result.horizon))}, seed {result.seed}"


def short_title(title: str) -> str:
    """Return a setting's title on two lines, for an axis."""
    return title.replace(", truth", ",\ntruth").replace(" of [", "\nof [")
