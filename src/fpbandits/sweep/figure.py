"""Regret against what a study varies.

A *point* is all runs that share a panel, a line and a value of what is drawn against: those of all
seeds, and of all problems where these are what is varied. Lines are policies; panels are problems
and truths, or one for all of them where they are many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fpbandits.figures import PALETTE
from fpbandits.sweep.study import MOST_NAMES, NAMES, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 12
_TITLES = {
    "horizon": "horizon T",
    "models": "number of models",
    "arms": "number of arms",
    "gap": "least gap Δ",
    "true": "truth",
}
_MARKERS = "osD^v<>PX*"


@dataclass
class Point:
    """The mean regret of some runs, and its standard error."""

    runs: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, runs: int, mean: float, std: float) -> None:
        """Take in more runs: the sum of squared deviations is about the common mean."""
        total = self.runs + runs
        shift = mean - self.mean
        spread = 0.0 if runs == 1 else (runs - 1) * std**2
        self.squares += spread + shift**2 * self.runs * runs / total
        self.mean += shift * runs / total
        self.runs = total

    @property
    def standard_error(self) -> float:
        """The standard deviation of the mean; NaN for a single run."""
        if self.runs == 1:
            return math.nan
        return math.sqrt(self.squares / (self.runs - 1) / self.runs)


Points = dict[str, dict[str, dict[Any, Point]]]
"""points[panel][line][value]; the value is None for a policy that does not have the option."""


def points(study: Study, rows: Iterable[Mapping[str, Any]]) -> Points:
    """Put together what belongs to one point of the figure."""
    against = study.against
    rows = list(rows)
    longest = max(row["horizon"] for row in rows)
    if against != "horizon":
        rows = [row for row in rows if row["horizon"] == longest]
    panels = {(row["problem"], row["true"]) for row in rows}
    apart = against in ("horizon", "policy", *study.options) and len(panels) <= _MOST_PANELS
    found: Points = {}
    for row in rows:
        panel = ""
        if apart and len(panels) > 1:
            panel = f"{row['problem']}, truth {row['true']}"
        elif against == "true" and len({problem for problem, _ in panels}) > 1:
            panel = row["problem"]
        line = _without(row["policy"], against) if against in study.options else row["policy"]
        line = "" if against == "policy" else line
        values = found.setdefault(panel, {}).setdefault(line, {})
        point = values.setdefault(row[against], Point())
        point.add(row["runs"], row["mean_regret"], row["std_regret"])
    return found


def _without(policy: str, option: str) -> str:
    name, *options = policy.split(":")
    return ":".join([name, *(each for each in options if not each.startswith(f"{option}="))])


def sweep_figure(study: Study, rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw regret against what the study varies, with 95 % intervals."""
    from matplotlib.figure import Figure

    found = points(study, rows)
    columns = min(len(found), 3 if len(found) != 4 else 2)
    down = math.ceil(len(found) / columns)
    lines = list(dict.fromkeys(line for panel in found.values() for line in panel))
    figure = Figure(
        figsize=(7.5 if columns == 1 else 1.2 + 4.1 * columns, 1.2 + 3.6 * down),
        layout="constrained",
    )
    grid = figure.subplots(down, columns, squeeze=False, sharey=True)
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    means = [
        point.mean for panel in found.values() for own in panel.values() for point in own.values()
    ]
    least = min((mean for mean in means if mean > 0), default=1.0)
    drawn: dict[str, Any] = {}
    for axes, (title, panel) in zip(grid.flat, found.items(), strict=False):
        drawn = _draw_panel(axes, panel, lines, numeric=study.against not in NAMES) | drawn
        if max(means) > 30 * least:
            # Some policies lose nothing at all: linear next to 0, so that they show.
            axes.set_yscale("symlog", linthresh=least)
            axes.set_ylim(least / 2 if min(means) > 0 else -least / 5, 1.5 * max(means))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
        else:
            axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=9, parse_math=False)
        axes.set_xlabel(_TITLES.get(study.against, study.against))
        axes.grid(alpha=0.25)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean regret")
    if lines != [""]:
        legend = figure.legend(
            [drawn[line] for line in lines],
            lines,
            loc="outside right upper",
            fontsize=8,
            frameon=False,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    figure.suptitle(study.name, fontsize=11, parse_math=False)
    figure.supxlabel(_caption(study, rows, found), fontsize=8, color="0.35")
    return figure


def _draw_panel(
    axes: Axes, panel: Mapping[str, Mapping[Any, Point]], lines: Sequence[str], *, numeric: bool
) -> dict[str, Any]:
    """Draw a panel, and return what stands for each line in the legend."""
    values = [value for own in panel.values() for value in own if value is not None]
    places = list(dict.fromkeys(values))
    x = {value: value if numeric else place for place, value in enumerate(places)}
    drawn: dict[str, Any] = {}
    for number, line in enumerate(lines):
        colour = PALETTE[number % len(PALETTE)]
        own = panel.get(line, {})
        if None in own:  # it has no such option: the same whatever the value
            drawn[line] = axes.axhline(own[None].mean, linestyle="--", linewidth=1.3, color=colour)
        elif own:
            ordered = sorted(own.items(), key=lambda item: x[item[0]])
            drawn[line] = axes.errorbar(
                [x[value] for value, _ in ordered],
                [point.mean for _, point in ordered],
                yerr=[
                    0.0 if point.runs == 1 else 1.96 * point.standard_error for _, point in ordered
                ],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                linestyle="-" if numeric else "",
                linewidth=1.4,
                capsize=2,
                color=colour,
            )
    if not numeric:
        slanted: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(places) > 3 else {}
        names = [str(value) for value in places] if len(places) <= MOST_NAMES else []
        axes.set_xticks(range(len(names)), names, fontsize=8, **slanted)
        axes.margins(x=0.1)
    elif values and min(values) > 0 and max(values) >= 50 * min(values):
        axes.set_xscale("log")
    return drawn


def _caption(study: Study, rows: Sequence[Mapping[str, Any]], found: Points) -> str:
    runs = [
        point.runs for panel in found.values() for line in panel.values() for point in line.values()
    ]
    each = f"{min(runs):,}" if min(runs) == max(runs) else f"{min(runs):,} to {max(runs):,}"
    words = [f"mean of {each} runs and its 95 % interval"]
    if study.against != "horizon":
        words.append(f"T = {max(row['horizon'] for row in rows):.6g}")
    together = {(row["problem"], row["true"]) for row in rows}
    if (
        len(found) == 1
        and len(together) > 1
        and study.against in ("horizon", "policy", *study.options)
    ):
        words.append(f"{len(together):,} problems and truths together")
    return "; ".join(words)
