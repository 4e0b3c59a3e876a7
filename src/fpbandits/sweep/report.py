"""The figure and the table of a study: regret against what it varies, by policy and problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from fpbandits.core.checks import amount
from fpbandits.report.figures import PALETTE, as_plain_text, blank, footnote, own_style, short
from fpbandits.simulation.figure import label_regret
from fpbandits.theory.tables import brief, number_column, simple_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fpbandits.sweep.points import Panel, Point, Points
    from fpbandits.sweep.sweep import Sweep

MOST_NAMES = 24
"""More names than this do not fit on an axis."""

_TITLES = {
    "horizon": "horizon T",
    "models": "number of models",
    "arms": "number of arms",
    "gap": "least gap Δ",
}
_MARKERS = "osD^v<>PX*"
_DASHES = ("-", ":", "-.")
_LONGEST_NAME = 44
"""Characters of a panel's title, and of a name in the legend."""

_MOST_ROWS = 40
"""Rows of the printed table; study.csv has them all."""

_MOST_COLUMNS = 8
"""Columns of the printed table, besides the first."""

_MOST_LINEAR = 30
"""The scale of regret is linear up to this ratio of the largest mean to the least above 0."""


@own_style()
def sweep_figure(sweep: Sweep) -> Figure:
    """Draw regret against the column that ``study.against`` names, with 95 % intervals."""
    study, panels = sweep.study, sweep.points()
    columns = min(len(panels), 3 if len(panels) != 4 else 2)
    rows = math.ceil(len(panels) / columns)
    lines = list(dict.fromkeys(line for panel in panels.values() for line in panel))
    width = 7.5 if columns == 1 else 1.2 + 4.1 * columns
    height = max(1.2 + 3.6 * rows, 0.8 + 0.17 * len(lines))
    figure = blank(width, height)
    # Panels share the vertical axis only if their rewards have the same units.
    ranges = {cell.problem.name: cell.problem.range for cell in study.cells.values()}
    same_units = len(set(ranges.values())) == 1
    grid = figure.subplots(rows, columns, squeeze=False, sharey=same_units)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    handles: dict[str, Any] = {}
    for axes, (title, panel) in zip(grid.flat, panels.items(), strict=False):
        handles |= _draw_panel(axes, panel, lines)
        axes.set_title(short(title, _LONGEST_NAME), fontsize=9, parse_math=False)
        axes.set_xlabel(_TITLES.get(study.against, study.against))
        axes.grid(alpha=0.25)
    # `set_ylim` ends autoscaling, on shared axes too: so all panels have been drawn by now.
    for index, panel in enumerate(panels.values()):
        _set_scale(grid.flat[index], panels.values() if same_units else [panel])
        if index % columns == 0 or not same_units:
            units = {ranges[name] for name in _problems(panel)}
            label_regret(grid.flat[index], "mean regret", units)
    if lines != [""]:  # if policies are the axis, there is one line without a name
        names = [short(line, _LONGEST_NAME) for line in lines]
        style: dict[str, Any] = {"loc": "outside right upper", "fontsize": 8, "frameon": False}
        as_plain_text(figure.legend([handles[line] for line in lines], names, **style))
    figure.suptitle(short(study.name, 90), fontsize=11, parse_math=False)
    footnote(figure, f"{sweep.caption}; 95 % intervals")
    return figure


def _points(panels: Iterable[Panel]) -> list[Point]:
    return [point for panel in panels for line in panel.values() for point in line.values()]


def _problems(panel: Panel) -> set[str]:
    """Return the names of the problems that a panel's points come from."""
    return {problem for point in _points([panel]) for problem, _ in point.parts}


def _set_scale(axes: Axes, panels: Iterable[Panel]) -> None:
    """Choose the scale of regret: logarithmic if it differs much in these panels."""
    means = [point.mean for point in _points(panels)]
    least = min((mean for mean in means if mean > 0), default=1.0)
    if max(means) <= _MOST_LINEAR * least:
        axes.set_ylim(bottom=0)
        return
    if min(means) > 0:
        axes.set_yscale("log")
        axes.set_ylim(least / 2, 1.5 * max(means))
    else:  # some regret is 0, which a logarithmic scale cannot show
        axes.set_yscale("symlog", linthresh=least)
        axes.set_ylim(-least / 5, 1.5 * max(means))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")


def _draw_panel(axes: Axes, panel: Panel, lines: Sequence[str]) -> dict[str, Any]:
    """Draw a panel, and return the legend handle of each line."""
    values = [value for points in panel.values() for value in points if value is not None]
    numeric = all(map(_is_number, values))
    distinct = list(dict.fromkeys(values))
    positions = {value: value if numeric else index for index, value in enumerate(distinct)}
    handles: dict[str, Any] = {}
    for number, line in enumerate(lines):
        colour = PALETTE[number % len(PALETTE)]
        points = dict(panel.get(line, {}))
        without_option = points.pop(None, None)
        if without_option is not None:
            mean, half = without_option.mean, without_option.half_width
            handles[line] = axes.axhline(mean, linestyle="--", linewidth=1.3, color=colour)
            if not math.isnan(half):
                axes.axhspan(mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        if points:
            ordered = sorted(points.items(), key=lambda item: positions[item[0]])
            half_widths = [point.half_width for _, point in ordered]
            handles[line] = axes.errorbar(
                [positions[value] for value, _ in ordered],
                [point.mean for _, point in ordered],
                yerr=None if any(map(math.isnan, half_widths)) else half_widths,
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                linestyle=_DASHES[number // len(PALETTE) % len(_DASHES)] if numeric else "",
                linewidth=1.4,
                capsize=2,
                color=colour,
            )
    if not numeric:
        slanted: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(distinct) > 3 else {}
        names = (
            [short(_value_text(value), 30) for value in distinct]
            if len(distinct) <= MOST_NAMES
            else []
        )
        axes.set_xticks(range(len(names)), names, fontsize=8, parse_math=False, **slanted)
        axes.margins(x=0.1)
    elif values and min(values) > 0 and max(values) >= 10 * min(values):
        axes.set_xscale("log")
    return handles


def sweep_table(against: str, panels: Points, caption: str) -> Group:
    """Show the points of a study's figure: policies and values, the fewer of them as columns."""
    parts: list[RenderableType] = []
    cut = False
    for title, panel in panels.items():
        values = list(dict.fromkeys(value for line in panel.values() for value in line))
        if all(_is_number(value) for value in values if value is not None):
            values.sort(key=lambda value: -math.inf if value is None else value)
        down, across = [line or "mean regret" for line in panel], list(map(_value_text, values))
        cells = [[_with_error(line.get(value)) for value in values] for line in panel.values()]
        head = f"policy, {against} →"
        if len(values) > len(panel) or against == "policy":
            down, across, head = across, down, against
            cells = [list(row) for row in zip(*cells, strict=True)]
        names = Column(head, overflow="fold")
        table = simple_table(names, *map(number_column, across[:_MOST_COLUMNS]))
        for name, row in list(zip(down, cells, strict=True))[:_MOST_ROWS]:
            table.add_row(Text(name), *row[:_MOST_COLUMNS])
        cut = cut or len(down) > _MOST_ROWS or len(across) > _MOST_COLUMNS
        parts += [Text(title, style="bold"), table] if title else [table]
    more = " There is more in study.csv." if cut else ""
    return Group(*parts, Text(f"Mean regret ± its standard error: {caption}.{more}"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value_text(value: Any) -> str:
    """Return a value as a table shows it; a policy without the option has the value None."""
    if value is None:
        return "without"
    if not _is_number(value):
        return str(value)
    return f"{value:,}" if isinstance(value, int) and value < 10**7 else f"{value:.6g}"


def _with_error(point: Point | None) -> Text:
    """Return a mean with its standard error, if there is one."""
    if point is None:
        return Text("–")
    error = "" if math.isnan(point.standard_error) else f" ± {brief(point.standard_error, 2)}"
    return Text(f"{amount(point.mean)}{error}")
