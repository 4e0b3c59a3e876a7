"""`sweep`: a study played, as one tidy table and one figure.

The table has a row for each cell and horizon: what it is, then what was found. Figures show the
same numbers, with runs of all seeds together.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.figures import render
from fpbandits.files import write_together
from fpbandits.simulation.result import Result, versions
from fpbandits.simulation.study import play_cells
from fpbandits.sweep.figure import Points, points, sweep_figure
from fpbandits.sweep.study import Study

SCHEMA = 1
_FOUND = ("mean_regret", "std_regret", "q05_regret", "median_regret", "q95_regret")


@dataclass(frozen=True)
class Sweep:
    """What came of a study: a row for each cell and horizon."""

    study: Study
    rows: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "schema": SCHEMA,
            "name": self.study.name,
            "against": self.study.against,
            "rows": [
                {key: None if value != value else value for key, value in row.items()}
                for row in self.rows
            ],
            "versions": versions(),
        }

    def to_csv(self) -> str:
        """Return the table as CSV; a cell is empty where there is no number."""
        stream = io.StringIO(newline="")
        writer = csv.DictWriter(stream, self.rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {key: "" if value is None or value != value else value for key, value in row.items()}
            for row in self.rows
        )
        return stream.getvalue()

    def points(self) -> Points:
        """Return the points of the figure; see `fpbandits.sweep.figure`."""
        return points(self.study, self.rows)

    def save(self, folder: Path) -> None:
        """Write study.csv, study.png and study.svg."""
        drawn = sweep_figure(self.study, self.rows)
        write_together(
            {
                folder / "study.csv": self.to_csv().encode(),
                **{folder / f"study.{kind}": render(drawn, kind) for kind in ("png", "svg")},
            }
        )


def sweep(study: Study, **how: Any) -> Sweep:
    """Play a study; ``how``, where it is kept and who is told is as in `play_cells`."""
    results = play_cells(study.cells, **how)
    rows = [row for name, result in results.items() for row in _rows(study.labels[name], result)]
    return Sweep(study, rows)


def _rows(labels: Mapping[str, Any], result: Result) -> Iterable[dict[str, Any]]:
    (policy,) = result.policies
    regret = result.regret(policy)
    quantiles = np.quantile(regret, (0.05, 0.5, 0.95), axis=0)
    std = regret.std(axis=0, ddof=1) if result.runs > 1 else np.full(len(result.times), np.nan)
    columns = (regret.mean(axis=0), std, *quantiles)
    for place, horizon in enumerate(result.times.tolist()):
        found = {name: float(column[place]) for name, column in zip(_FOUND, columns, strict=True)}
        yield {**labels, "horizon": horizon, "runs": result.runs, **found}
