"""`export`: an experiment's log as `fit` and `evaluate` read one, a row per reward that counts.

==========  ================================================================================
unit        whose decision it was
arm         what was played
context     in which context; only where the problem has any
reward      what counts: the reward that came, or the default instead
propensity  how likely the policy was to choose this arm; empty where that is not known
among       the arms that were eligible, as "9 EUR|12 EUR"; empty where all were; see `logs.among`
time        when it was decided, in seconds since 1970
told        when its reward came, or the default reward took its place
decision    the decision's name, as "3@user-17"
key         the caller's key, if there was one
inherited   whether an earlier experiment decided it; see `migrate`
control     whether the unit belongs to the control group; only where there is one
==========  ================================================================================

Rows are unit by unit, in the order in which rewards count. Decisions that are pending or forgotten
have no row, nor have rewards that came too late, nor those that a pending decision still blocks:
where failures are known later than successes, these would be a biased sample. All of them are in
the log.

Inherited rows have no decision, key and ``told``: the earlier experiment has them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from fpbandits.agent.ledger import Late, Ledger
from fpbandits.core.extras import needed_for
from fpbandits.core.storage import shown, text_to_cell, written_aside
from fpbandits.errors import InputError, quote
from fpbandits.logs.among import arms_to_text
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import decision_name
from fpbandits.service.step import DECISION, EXPIRED, FORGOT, OBSERVED, REWARD, Event
from fpbandits.service.store import Store
from fpbandits.service.verify import experiments_of, whole_history

_AT_ONCE = 50_000
"""Rows that are written at once."""

_COLUMNS = {
    "unit": str,
    "arm": str,
    "context": str,
    "reward": float,
    "propensity": float,
    "among": str,
    "time": float,
    "told": float,
    "decision": str,
    "key": str,
    "inherited": bool,
    "control": bool,
}

Row = dict[str, Any]
Progress = Callable[[int], None]


@dataclass
class Rewards:
    """Finds the rewards that count in an experiment, and counts what it has seen so far.

    Attributes
    ----------
    late
        Which rewards count while others are pending; see `fpbandits.agent.ledger`.
    counted, inherited
        Rewards that count, and those of them that an earlier experiment decided.
    pending, blocked
        Decisions without a reward, and rewards that these block.
    """

    late: Late
    counted: int = 0
    inherited: int = 0
    pending: int = 0
    blocked: int = 0

    def rows(self, events: Iterable[tuple[str, Event]]) -> Iterator[Row]:
        """Yield a row per reward that counts, unit by unit, in the order of counting."""
        for unit, group in groupby(events, itemgetter(0)):
            for row in self._of_unit(unit, (event for _, event in group)):
                self.counted += 1
                yield row

    def _of_unit(self, unit: str, events: Iterator[Event]) -> Iterator[Row]:
        """Yield the rows of a unit."""
        ledger, pairs = Ledger(self.late), dict[tuple[str | None, str | None], int]()
        decided, told = dict[int, Event](), dict[int, Event]()
        for event in events:
            if event.kind == OBSERVED:
                self.inherited += 1
                yield _row(unit, event) | {"reward": event.reward, "inherited": True}
            elif event.kind == DECISION:
                ledger.next = event.number
                ledger.hand_out(pairs.setdefault((event.context, event.arm), len(pairs)))
                decided[event.number] = event
            elif event.kind in (REWARD, EXPIRED, FORGOT):
                told[event.number] = event
                for number, _, reward in ledger.resolve(event.number, event.reward):
                    decision, resolution = decided.pop(number), told.pop(number)
                    yield _row(unit, decision) | {
                        "reward": reward,
                        "told": resolution.time,
                        "decision": decision_name(unit, number),
                        "key": decision.key,
                    }
        self.pending += len(ledger.pending)
        self.blocked += sum(resolution.reward is not None for resolution in told.values())


def _row(unit: str, decision: Event) -> Row:
    """Return the row of a decision, without its reward."""
    return {
        "unit": unit,
        "arm": decision.arm,
        "context": decision.context,
        "propensity": decision.probability,
        "among": decision.eligible,
        "time": decision.time,
        "told": None,
        "decision": None,
        "key": None,
        "inherited": False,
    }


def export(store: Store, name: str, path: Path, progress: Progress | None = None) -> Rewards:
    """Write the rewards of an experiment to a .parquet or .csv file; return what was counted."""
    ending = path.suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise InputError(
            f"unknown file ending {quote(path.suffix)}: the log is written as .parquet or .csv"
        ).at(shown(path))
    (kept,) = experiments_of(store, name)
    experiment = Experiment.from_kept(kept)
    control = experiment.control
    left_out = {"context"} if not experiment.problem.contexts else set[str]()
    if control is None:
        left_out.add("control")
    columns = [column for column in _COLUMNS if column not in left_out]
    write = _write_parquet if ending == ".parquet" else _write_csv
    rewards = Rewards(experiment.late)
    with whole_history(store, kept) as history, written_aside(path) as file:
        rows = (
            row
            | {"control": control is not None and control.has(row["unit"])}
            | {"among": None if row["among"] is None else arms_to_text(row["among"])}
            for row in rewards.rows(history.events())
        )
        write(file, columns, _pages(rows, progress or (lambda rows: None)))
    return rewards


def _pages(rows: Iterator[Row], progress: Progress) -> Iterator[list[Row]]:
    """Yield the rows, many at a time, and report how many have been written."""
    count = 0
    while page := list(islice(rows, _AT_ONCE)):
        yield page
        count += len(page)
        progress(count)


def _write_csv(file: BinaryIO, columns: list[str], pages: Iterator[list[Row]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for page in pages:
        writer.writerows(
            {
                column: text_to_cell(value) if isinstance(value, str) else value
                for column, value in row.items()
            }
            for row in page
        )
    text.flush()
    text.detach()


def _write_parquet(file: BinaryIO, columns: list[str], pages: Iterator[list[Row]]) -> None:
    with needed_for("a Parquet file", "parquet", ", or name a .csv file"):
        import pyarrow
        import pyarrow.parquet
    arrow = {str: pyarrow.string(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(column, arrow[_COLUMNS[column]]) for column in columns])
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for page in pages:
            writer.write_table(pyarrow.Table.from_pylist(page, schema=schema))
