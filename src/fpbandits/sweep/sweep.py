"""`sweep`: play a study, and return one table and one figure.

The table has a row per cell and horizon: labels, then statistics of regret. The figure shows the
same numbers, with the runs of all seeds pooled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.statistics import summary
from fpbandits.core.storage import rows_to_csv, write_together
from fpbandits.report.figures import rendered
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.versions import versions
from fpbandits.sweep.points import Points, caption, points
from fpbandits.sweep.report import sweep_figure
from fpbandits.sweep.study import Study

SCHEMA = 1
"""The version of the layout of `Sweep.as_dict`."""


@dataclass(frozen=True)
class Sweep:
    """The results of a study: a row per cell and horizon, all with the same columns."""

    study: Study
    rows: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return the table and its labels, ready for JSON."""
        return {
            "schema": SCHEMA,
            "name": self.study.name,
            "against": self.study.against,
            "rows": [
                # NaN, which JSON lacks, is not equal to itself.
                {key: None if value != value else value for key, value in row.items()}
                for row in self.rows
            ],
            "versions": versions(),
        }

    def points(self) -> Points:
        """Return the points of the figure; see `fpbandits.sweep.points`."""
        return points(self.study, self.rows)

    @property
    def caption(self) -> str:
        """The number of runs, seeds and problems behind each point, in words."""
        return caption(self.study, self.rows, self.points())

    def save(self, folder: Path) -> None:
        """Write study.csv, study.png and study.svg, and the study itself as study.toml."""
        # First, so that the table is there even if drawing fails.
        table, source = rows_to_csv(self.rows).encode(), self.study.text.encode()
        write_together({folder / "study.csv": table, folder / "study.toml": source})
        write_together(rendered(sweep_figure(self), folder / "study"))


def sweep(study: Study, *, out: Path | None = None, **how: Any) -> Sweep:
    """Play a study; ``out`` and ``how`` (workers, executor, progress) are as in `play_cells`."""
    return Sweep(study, list(_rows(study, play_cells(study.cells, out=out, **how))))


def _rows(study: Study, results: Mapping[str, Result]) -> Iterator[dict[str, Any]]:
    """Yield a row per cell and horizon."""
    for name, result in results.items():
        # A cell whose truth changes has more recorded times than the study's horizons.
        at_horizons = np.searchsorted(result.times, study.horizons)
        regret = np.ascontiguousarray(result.regret(result.policy)[:, at_horizons])
        columns = {column: values.tolist() for column, values in summary(regret).items()}
        for index, horizon in enumerate(study.horizons):
            yield {
                **study.labels[name],
                "horizon": horizon,
                "runs": result.runs,
                **{column: values[index] for column, values in columns.items()},
            }
