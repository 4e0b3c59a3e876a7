"""`export`: an experiment's log as `fit` and `evaluate` read one, a row per reward that counts.

==========  ================================================================================
unit        whose decision it was
arm         what was played
context     in which context; only where the problem has any
reward      what counts: the reward that came, or the default in its stead
propensity  how likely the policy was to choose this arm; empty where it cannot tell
time        when it was decided, in seconds since 1970
told        when its reward came, or the default took its place
decision    what the decision is called
==========  ================================================================================

Decisions that are pending or forgotten have no reward, and rewards that came too late do not count:
they are in the log alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from fpbandits.core.extras import needed_for
from fpbandits.core.storage import shown, text_to_cell, written_aside
from fpbandits.errors import InputError, quote
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import decision_name
from fpbandits.service.step import DECISION, EXPIRED, OBSERVED, REWARD, Event
from fpbandits.service.store import Store
from fpbandits.service.verify import experiments_of

_AT_ONCE = 50_000

Row = dict[str, Any]
Progress = Callable[[int], None]


def export(store: Store, experiment: str, path: Path, progress: Progress | None = None) -> int:
    """Write the rewards of an experiment to a .parquet or .csv file; return how many there are."""
    ending = path.suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise InputError(
            f"unknown file ending {quote(path.suffix)}: the log is written as .parquet or .csv"
        ).at(shown(path))
    (kept,) = experiments_of(store, experiment)
    found = Experiment.from_kept(kept)
    columns = ["unit", "arm", "context", "reward", "propensity", "time", "told", "decision"]
    if not found.problem.contexts:
        columns.remove("context")
    write = _write_parquet if ending == ".parquet" else _write_csv
    with store.history(kept.id) as history, written_aside(path) as file:
        rows = ([row[name] for name in columns] for row in rows_of(history.events()))
        return write(file, columns, rows, progress or (lambda rows: None))


def rows_of(events: Iterable[tuple[str, Event]], *, observed: bool = False) -> Iterator[Row]:
    """Yield a row per reward that counts, unit by unit, in the order in which they came.

    Also those that were observed, as history of another experiment, if so wanted.
    """
    for unit, group in groupby(events, itemgetter(0)):
        pending: dict[int, Event] = {}
        for _, event in group:
            if event.kind == DECISION:
                pending[event.number] = event
            elif event.kind in (REWARD, EXPIRED):
                decision = pending.pop(event.number)
                if event.reward is not None:
                    yield _row(unit, decision, event)
            elif event.kind == OBSERVED and observed:
                yield _row(unit, event, event)


def _row(unit: str, decision: Event, reward: Event) -> Row:
    return {
        "unit": unit,
        "arm": decision.arm,
        "context": decision.context,
        "reward": reward.reward,
        "propensity": decision.probability,
        "time": decision.time,
        "told": reward.time,
        "decision": decision_name(unit, decision.number),
    }


def _write_csv(
    file: BinaryIO, columns: list[str], rows: Iterator[list[Any]], progress: Progress
) -> int:
    count = 0
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    while some := list(islice(rows, _AT_ONCE)):
        writer.writerows(
            [text_to_cell(value) if isinstance(value, str) else value for value in row]
            for row in some
        )
        count += len(some)
        progress(count)
    text.flush()
    text.detach()
    return count


def _write_parquet(
    file: BinaryIO, columns: list[str], rows: Iterator[list[Any]], progress: Progress
) -> int:
    with needed_for("a Parquet file", "parquet", ", or name a .csv file"):
        import pyarrow
        import pyarrow.parquet
    numbers = ("reward", "propensity", "time", "told")
    kinds = {name: pyarrow.float64() if name in numbers else pyarrow.string() for name in columns}
    schema, count = pyarrow.schema(kinds.items()), 0
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while some := list(islice(rows, _AT_ONCE)):
            arrays = [
                pyarrow.array(values, kind)
                for values, kind in zip(zip(*some, strict=True), kinds.values(), strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            count += len(some)
            progress(count)
    return count
