"""`reproduce`: run the paper's experiments, judge its claims, write the report.

Finished runs are stored in ``results/`` of the report's folder. The report itself, ``report.html``
with ``claims.json`` and ``figures/``, is made in memory: no file of it appears before the contents
of all are on disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from time import time
from typing import Any

from fpbandits.core.checks import whole_number
from fpbandits.core.storage import make_folder, shown, write_together
from fpbandits.errors import ConflictError, InputError
from fpbandits.paper.claims import Claim, judge, verdict_counts
from fpbandits.paper.experiments import (
    LEAST_RUNS,
    RUNS,
    find_experiments,
    play_episodes,
    run_experiments,
)
from fpbandits.paper.formulas import compute_numbers
from fpbandits.paper.material import Material, analyze_problems
from fpbandits.paper.report.figures import FIGURES
from fpbandits.paper.report.page import PLURALS, report_page
from fpbandits.report.figures import own_style, rendered
from fpbandits.simulation.store import files_to_copy, holds_runs


@dataclass(frozen=True)
class Report:
    """The path of the page, the claims with their verdicts, and the number of runs."""

    path: Path
    claims: Sequence[Claim]
    runs: int

    def summary(self) -> str:
        """Return a line that counts the verdicts on the paper's statements."""
        counts = verdict_counts(self.claims)
        listed = ", ".join(f"{counts[kind]} {plural}" for kind, plural in PLURALS.items())
        words = f"of {sum(counts.values())} statements of the paper {listed}"
        if self.runs < RUNS:
            words += (
                f"; with {self.runs:,} runs limits are wide: a true statement may “fail” because "
                f"it takes {RUNS:,} to show it"
            )
        return words


def reproduce(
    out: Path,
    *,
    runs: float = RUNS,
    seed: int = 0,
    source: Path | None = None,
    **how: Any,
) -> Report:
    """Run what is not yet stored, judge every claim, draw every figure, write the report.

    Parameters
    ----------
    out
        The report's folder. Results in it of the same experiments are resumed.
    runs, seed
        Runs of most experiments (the slowest have a fifth of them), and the seed.
    source
        The folder of an earlier report, whose results are copied to ``out``. No experiment is run;
        runs and seed are those of the results.
    how
        Workers, executor and progress, as in `play_cells`.
    """
    if out == Path():  # "." or "": the report's files would be mixed with others
        raise InputError("the report needs a folder of its own: name one, such as report")
    if holds_runs(out):
        raise ConflictError("holds runs of something else: name another folder").at(shown(out))
    folder = (source or out) / "results"
    if source is None:
        count = whole_number("runs", runs, least=LEAST_RUNS)
        seed = whole_number("seed", seed)
        results = run_experiments(folder, runs=count, seed=seed, **how)
    else:
        if not folder.is_dir():
            raise InputError("there is no folder results in it, as reports have").at(shown(source))
        results = find_experiments(folder)
        seed = next(iter(results.values())).seed
    material = Material(results, analyze_problems(), compute_numbers(), play_episodes(seed))
    claims = judge(material)
    make_folder(out / "figures")
    contents = _results_to_copy(folder, out) if source is not None else {}
    pictures: dict[str, bytes] = {}
    progress = how.get("progress")
    if progress is not None:
        progress("drawing the figures", 0.0, 1.0)  # of drawing none is done, of the runs all
    for name, draw in FIGURES.items():
        with own_style():
            figure = draw(material)
        contents |= rendered(figure, out / "figures" / name)
        pictures[name] = contents[out / "figures" / f"{name}.svg"]
    contents[out / "claims.json"] = claims_json(claims)
    contents[out / "report.html"] = report_page(material, claims, pictures, _today()).encode()
    write_together(contents)
    most_runs = max(result.runs for result in results.values())  # the slowest have fewer
    return Report(out / "report.html", claims, most_runs)


def _today() -> date:
    """Return the date of SOURCE_DATE_EPOCH, for reproducible builds, or else today's."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch) if epoch.isdecimal() else time(), UTC).date()


def _results_to_copy(folder: Path, out: Path) -> dict[Path, bytes]:
    """Return the contents of another report's result files, by their paths in this report."""
    results = out / "results"
    if folder.resolve() == results.resolve():
        return {}
    return files_to_copy(folder, results)


def claims_json(claims: Sequence[Claim]) -> bytes:
    """Return the contents of claims.json."""
    text = json.dumps(list(map(asdict, claims)), indent=1, ensure_ascii=False)
    return f"{text}\n".encode()
