"""Regret against what a study varies, drawn: a line a policy, a panel a problem and truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fpbandits.report.figures import PALETTE
from fpbandits.sweep.points import Point, caption, points
from fpbandits.sweep.study import MOST_NAMES, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "horizon": "horizon T",
    "models": "number of models",
    "arms": "number of arms",
    "gap": "least gap Δ",
    "true": "truth",
}
_MARKERS, _STYLES = "osD^v<>PX*", ("-", ":", "-.")


def sweep_figure(study: Study, rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw regret against what the study varies, with 95 % intervals."""
    from matplotlib.figure import Figure

    found = points(study, rows)
    columns = min(len(found), 3 if len(found) != 4 else 2)
    down = math.ceil(len(found) / columns)
    lines = list(dict.fromkeys(line for panel in found.values() for line in panel))
    figure = Figure(
        figsize=(
            7.5 if columns == 1 else 1.2 + 4.1 * columns,
            max(1.2 + 3.6 * down, 0.8 + 0.17 * len(lines)),
        ),
        layout="constrained",
    )
    # Problems in different units are not to be compared by height.
    same_units = len({cell.problem.range for cell in study.cells.values()}) == 1
    grid = figure.subplots(down, columns, squeeze=False, sharey=same_units)
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    means = {
        title: [point.mean for own in panel.values() for point in own.values()]
        for title, panel in found.items()
    }
    together = [mean for own in means.values() for mean in own]
    drawn: dict[str, Any] = {}
    for axes, (title, panel) in zip(grid.flat, found.items(), strict=False):
        drawn = _draw_panel(axes, panel, lines) | drawn
        _scale(axes, together if same_units else means[title])
        axes.set_title(_short(title), fontsize=9, parse_math=False)
        axes.set_xlabel(_TITLES.get(study.against, study.against))
        axes.grid(alpha=0.25)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean regret")
    if lines != [""]:
        legend = figure.legend(
            [drawn[line] for line in lines],
            [_short(line) for line in lines],
            loc="outside right upper",
            fontsize=8,
            frameon=False,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    figure.suptitle(_short(study.name, 90), fontsize=11, parse_math=False)
    words = f"{caption(study, rows, found)}; 95 % intervals"
    figure.supxlabel(words, fontsize=8, color="0.35")
    return figure


def _short(text: str, most: int = 44) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _scale(axes: Axes, means: Sequence[float]) -> None:
    """Draw regret on a logarithmic scale where it spans decades, else from 0."""
    least = min((mean for mean in means if mean > 0), default=1.0)
    if max(means) <= 30 * least:
        axes.set_ylim(bottom=0)
        return
    if min(means) > 0:
        axes.set_yscale("log")
        axes.set_ylim(least / 2, 1.5 * max(means))
    else:  # some lose nothing at all: linear next to 0, so that they show
        axes.set_yscale("symlog", linthresh=least)
        axes.set_ylim(-least / 5, 1.5 * max(means))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")


def _draw_panel(
    axes: Axes, panel: Mapping[str, Mapping[Any, Point]], lines: Sequence[str]
) -> dict[str, Any]:
    """Draw a panel, and return what stands for each line in the legend."""
    values = [value for own in panel.values() for value in own if value is not None]
    numeric = not any(isinstance(value, str) for value in values)
    places = list(dict.fromkeys(values))
    x = {value: value if numeric else place for place, value in enumerate(places)}
    drawn: dict[str, Any] = {}
    for number, line in enumerate(lines):
        colour = PALETTE[number % len(PALETTE)]
        own = panel.get(line, {})
        if None in own:  # it has no such option: the same whatever the value
            mean, half = own[None].mean, own[None].half_width
            drawn[line] = axes.axhline(mean, linestyle="--", linewidth=1.3, color=colour)
            if not math.isnan(half):
                axes.axhspan(mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        elif own:
            ordered = sorted(own.items(), key=lambda item: x[item[0]])
            half_widths = [point.half_width for _, point in ordered]
            drawn[line] = axes.errorbar(
                [x[value] for value, _ in ordered],
                [point.mean for _, point in ordered],
                yerr=None if any(map(math.isnan, half_widths)) else half_widths,
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                linestyle=_STYLES[number // len(PALETTE) % len(_STYLES)] if numeric else "",
                linewidth=1.4,
                capsize=2,
                color=colour,
            )
    if not numeric:
        slanted: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(places) > 3 else {}
        names = [_short(value, 30) for value in places] if len(places) <= MOST_NAMES else []
        axes.set_xticks(range(len(names)), names, fontsize=8, parse_math=False, **slanted)
        axes.margins(x=0.1)
    elif values and min(values) > 0 and max(values) >= 10 * min(values):
        axes.set_xscale("log")
    return drawn
