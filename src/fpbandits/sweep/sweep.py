"""`sweep`: a study played, as one tidy table and one figure.

The table has a row per cell and horizon: what it is, then what was found. The figure shows the same
numbers, with runs of all seeds together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_AT_ONCE = 2**20
"""How many regrets are summarised at a time, which limits memory."""


@dataclass(frozen=True)
class Sweep:
    """The results of a study: a row per cell and horizon."""

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

    def points(self) -> Points:
        """Return what the figure shows; see `fpbandits.sweep.points`."""
        return points(self.study, self.rows)

    @property
    def caption(self) -> str:
        """Say how many runs, seeds and problems the points are means of."""
        return caption(self.study, self.rows, self.points())

    def save(self, folder: Path) -> None:
        """Write study.csv, study.png and study.svg, and the study itself as study.toml."""
        # The table does not depend on whether it can be drawn.
        table, source = rows_to_csv(self.rows).encode(), self.study.text.encode()
        write_together({folder / "study.csv": table, folder / "study.toml": source})
        write_together(rendered(sweep_figure(self), folder / "study"))


def sweep(study: Study, *, out: Path | None = None, **how: Any) -> Sweep:
    """Play a study; ``out`` and ``how`` (workers, executor, progress) are as in `play_cells`."""
    return Sweep(study, _rows(study, play_cells(study.cells, out=out, **how)))


def _rows(study: Study, results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return a row per cell and horizon; all cells have the same runs and horizons."""
    items = list(results.items())
    first = items[0][1]
    some = max(1, _AT_ONCE // (first.runs * len(first.times)))
    return [
        row
        for start in range(0, len(items), some)
        for row in _rows_of(study, items[start : start + some])
    ]


def _rows_of(study: Study, items: Sequence[tuple[str, Result]]) -> list[dict[str, Any]]:
    # Where a truth changes, times are recorded that other cells do not have.
    regret = np.stack(
        [
            result.regret(result.policy)[:, np.searchsorted(result.times, study.horizons)]
            for _, result in items
        ]
    )
    columns = {column: values.tolist() for column, values in summary(regret, axis=1).items()}
    return [
        {
            **study.labels[name],
            "horizon": horizon,
            "runs": result.runs,
            **{column: values[number][index] for column, values in columns.items()},
        }
        for number, (name, result) in enumerate(items)
        for index, horizon in enumerate(study.horizons)
    ]
