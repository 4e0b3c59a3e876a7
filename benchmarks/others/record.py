"""Keep measurements on others' ground: numbers in a JSON file, a figure, and a table in the page.

``docs/others/NAME.json`` holds the numbers with version, date and seed; ``docs/others.md`` has the
table between ``<!-- NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fpbandits.report.figures import save_figure
from fpbandits.simulation.versions import versions

DOCS = Path(__file__).parents[2] / "docs"


def record(
    name: str,
    numbers: Mapping[str, Any],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    figure: Figure,
    *,
    seed: int,
) -> None:
    """Write numbers and figure, and put the table into the page."""
    made = {"version": versions()["fpbandits"], "date": str(datetime.date.today()), "seed": seed}
    folder = DOCS / "others"
    folder.mkdir(exist_ok=True)
    text = json.dumps({**made, **numbers}, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n")
    save_figure(figure, folder / f"{name}.png")
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = DOCS / "others.md"
    before, mark, rest = page.read_text().partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if mark and end:
        page.write_text(f"{before}{mark}\n{table}\n\n{end}{after}")
    print(table)
