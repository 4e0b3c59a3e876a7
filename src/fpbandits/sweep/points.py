"""The points of a study's figure and printed table: mean regret by panel, line and value.

A line is a policy. A panel is a problem and a truth, or all of them if they are too many. A *point*
is a mean over runs. Runs of several seeds are independent. Runs on several problems or under
several truths are not, since they share their random streams: the standard error of their average
is at most the average of their standard errors, and this bound is what is reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fpbandits.core.statistics import margin, two_sided
from fpbandits.errors import counted
from fpbandits.sweep.study import Study

_MOST_PANELS = 12
"""With more panels than this, all problems and truths share one."""


@dataclass
class Part:
    """Statistics of the runs of one policy on one problem under one truth, of all seeds.

    ``squares`` is the sum of squared deviations from the mean.
    """

    runs: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, runs: int, mean: float, std: float) -> None:
        """Add runs, given their mean and standard deviation, which is not used for a single run."""
        total = self.runs + runs
        shift = mean - self.mean
        spread = 0.0 if runs == 1 else (runs - 1) * std**2
        self.squares += spread + shift**2 * self.runs * runs / total
        self.mean += shift * runs / total
        self.runs = total

    @property
    def std(self) -> float:
        """The standard deviation of a run's regret; NaN for a single run."""
        return math.nan if self.runs == 1 else math.sqrt(self.squares / (self.runs - 1))

    @property
    def standard_error(self) -> float:
        """The standard deviation of the mean; NaN for a single run."""
        return self.std / math.sqrt(self.runs)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean, by Student's t; NaN for a single run."""
        return float(margin(self.std, self.runs, two_sided(0.95)))


@dataclass
class Point:
    """The average of parts, by problem and truth, weighted by their numbers of runs."""

    parts: dict[tuple[str, str], Part] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """The number of runs of all parts."""
        return sum(part.runs for part in self.parts.values())

    @property
    def mean(self) -> float:
        """The mean regret."""
        return self._average("mean")

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; if there are several parts, an upper bound on it."""
        return self._average("standard_error")

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return self._average("half_width")

    def _average(self, attribute: str) -> float:
        """Return the mean of an attribute of the parts, weighted by their runs."""
        total: float = sum(part.runs * getattr(part, attribute) for part in self.parts.values())
        return total / self.runs


Panel = dict[str, dict[Any, Point]]
"""Points as panel[line][value]; the value is None for a policy without the option."""

Points = dict[str, Panel]
"""Panels by title."""


def points(study: Study, rows: Sequence[Mapping[str, Any]]) -> Points:
    """Average the rows of each panel, line and value; unless T is the value, at the longest."""
    against = study.against
    if against != "horizon":
        longest = max(row["horizon"] for row in rows)
        rows = [row for row in rows if row["horizon"] == longest]
    panel_columns = _panel_columns(study, rows)
    panels: Points = {}
    for row in rows:
        title = ", truth ".join(row[column] for column in panel_columns)
        line = "" if against == "policy" else row["policy"]
        if against in study.options:
            line = _without(line, against)
        panel = panels.setdefault(title, {})
        point = panel.setdefault(line, {}).setdefault(row[against], Point())
        part = point.parts.setdefault((row["problem"], row["truth"]), Part())
        part.add(row["runs"], row["mean_regret"], row["std_regret"])
    # Mark a policy that was left out of some problems: it is not compared on equal terms.
    for panel in panels.values():
        counts = {
            line: len({part for point in by_value.values() for part in point.parts})
            for line, by_value in panel.items()
        }
        most = max(counts.values())
        for line, count in counts.items():
            panel[line if count == most else f"{line} ({count} of {most})"] = panel.pop(line)
    return panels


def caption(study: Study, rows: Sequence[Mapping[str, Any]], panels: Points) -> str:
    """Return the number of runs, seeds and problems behind each point, in words."""
    lines = [by_value for panel in panels.values() for by_value in panel.values()]
    drawn = [point for by_value in lines for point in by_value.values()]
    fewest, most = min(point.runs for point in drawn), max(point.runs for point in drawn)
    parts = max(len(point.parts) for point in drawn)
    words = [f"means of {'' if fewest == most else f'{fewest:,} to '}{counted(most, 'run')}"]
    seeds = len({row["seed"] for row in rows})
    if seeds > 1:
        words.append(f"{seeds} seeds together")
    if parts > 1:
        words.append(f"up to {parts:,} problems and truths together")
    if study.against != "horizon":
        words.append(f"T = {max(row['horizon'] for row in rows):.6g}")
    return "; ".join(words)


def _panel_columns(study: Study, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the columns whose values make up panels; none if there would be too many."""
    columns: tuple[str, ...] = ()
    if study.against in ("horizon", "policy", *study.options):
        columns = ("problem", "truth")
    elif study.against == "truth":
        columns = ("problem",)
    count = len({tuple(row[column] for column in columns) for row in rows})
    return columns if 1 < count <= _MOST_PANELS else ()


def _without(policy: str, option: str) -> str:
    """Return a policy's name without one option, for the line that varies it."""
    name, *options = policy.split(":")
    return ":".join([name, *(text for text in options if not text.startswith(f"{option}="))])
