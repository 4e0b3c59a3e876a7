"""Problems as CSV, which spreadsheets read and write: the means of Bernoulli arms.

A header ``model,<arm>,<arm>…`` and a row per model; with contexts a header
``model,context,<arm>,<arm>…`` and a row per model and context, in any order. CSV has no shares: its
contexts come equally often, and others need TOML.

Above the header there may be a line ``# range = 0, 15``, for rewards in the user's units. A name
that begins with =, +, - or @ is written with an apostrophe before it, lest a spreadsheet compute
it; names without the apostrophe are read as well.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import checked_name, checked_range
from fpbandits.core.storage import cell_to_text, text_to_cell
from fpbandits.errors import InputError, quote
from fpbandits.problem.problem import Problem

_RANGE = re.compile(r"#\s*range\s*=\s*\[?([^,]+),([^,\]]+)\]?")

_CONTEXT = "context"
"""The name of the second column if there are contexts."""


@dataclass
class _Table:
    """What was read: names and means, and their rows in the file.

    ``names``, ``contexts`` and ``rows`` have an entry for each row below the header, ``values`` has
    one for each of its cells; ``header`` is the header's row, ``limits`` the range of rewards.
    """

    arms: list[str] = field(default_factory=list)
    with_contexts: bool = False
    header: int = 0
    limits: Sequence[float] = (0, 1)
    names: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    values: array[float] = field(default_factory=lambda: array("d"))

    @property
    def first(self) -> int:
        """The index of the first column of means."""
        return 2 if self.with_contexts else 1

    @property
    def means(self) -> Floats:
        """A row of means for each row below the header."""
        return np.frombuffer(self.values).reshape(len(self.rows), len(self.arms))


def problem_from_csv(text: str, name: str) -> Problem:
    """Read a problem from CSV; ``name`` is the problem's name."""
    table = _read(text)
    if table.arms and not table.rows:
        none = "there are no models: expected a row for each below the header"
        raise InputError(none, about=("models",))
    if not table.arms:
        raise InputError("the file is empty: expected a header model,<arm>,<arm>…")
    models, contexts, means = table.names, None, table.means
    indices = np.arange(len(table.rows))[:, np.newaxis]
    if table.with_contexts:
        models, contexts = list(dict.fromkeys(table.names)), list(dict.fromkeys(table.contexts))
        indices = _indices(table, models, contexts)
        means = means[indices]
    try:
        return Problem.bernoulli(
            means,
            arms=table.arms,
            models=models,
            contexts=contexts,
            range=table.limits,
            name=name,
        )
    except InputError as error:
        named = dict(name for name in error.place if not isinstance(name, str))
        row, model = table.header, named.get("model")
        if model is not None:
            number = model - 1 if isinstance(model, int) else models.index(model)
            context = named.get("context")
            column = contexts.index(str(context)) if contexts and context else 0
            row = table.rows[int(indices[number][column])]
        raise error.at(("row", row)) from None


def _read(text: str) -> _Table:
    """Read the table; an error names the row."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    table = _Table()
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            row = reader.line_num
            if not table.arms and cells[0].lstrip().startswith("#"):
                table.limits = _range(",".join(cells))
                continue
            if not table.arms:
                table.arms, table.with_contexts = _header(cells)
                table.header = row
                continue
            first = table.first
            table.names.append(cell_to_text(cells[0].strip()))
            if table.with_contexts:
                table.contexts.append(_context(cells))
            table.rows.append(row)
            try:
                means = list(map(float, cells[first:]))
            except ValueError:
                means = []
            # `_means` finds what is wrong. Python takes 1_000 for a number, and it does not.
            if len(means) != len(table.arms) or "_" in "".join(cells[first:]):
                means = _means(cells, table.arms, first)
            table.values.extend(means)
    except InputError as error:
        raise error.at(("row", reader.line_num)) from None
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", place=(("row", reader.line_num),)) from None
    return table


def _indices(table: _Table, models: list[str], contexts: list[str]) -> Ints:
    """Return the index in `_Table.rows` of each model in each context: [model, context]."""
    index_of: dict[tuple[str, str], int] = {}
    for index, pair in enumerate(zip(table.names, table.contexts, strict=True)):
        if pair in index_of:
            raise InputError(
                f"model {quote(pair[0])}, context {quote(pair[1])} is there for the second time: "
                f"it is in row {table.rows[index_of[pair]]} already",
                place=(("row", table.rows[index]),),
                about=(("model", pair[0]), ("context", pair[1])),
            )
        index_of[pair] = index
    for model in models:
        for context in contexts:
            if (model, context) not in index_of:
                row = table.rows[table.names.index(model)]
                none = f"there is no row for context {quote(context)}"
                raise InputError(none, place=(("row", row), ("model", model)))
    return np.array([[index_of[name, context] for context in contexts] for name in models])


def _range(text: str) -> Sequence[float]:
    """Read the line ``# range = 0, 15``; a spreadsheet may have put commas behind it."""
    match = _RANGE.fullmatch(text.strip(", \t"))
    try:
        if match is None or "_" in text:
            raise ValueError
        limits = float(match[1]), float(match[2])
    except ValueError:
        raise InputError(
            f"above the header only a line like # range = 0, 15 may stand, not {quote(text)}"
        ) from None
    return checked_range(limits)


def _header(cells: list[str]) -> tuple[list[str], bool]:
    """Return the arms, and whether there are contexts."""
    first, *arms = (cell.strip() for cell in cells)
    if first not in ("model", "parameter"):  # earlier versions wrote "parameter"
        hint = ", separated by commas" if ";" in first or "\t" in first else ""
        raise InputError(
            f"the header must be model,<arm>,<arm>…{hint}; it starts with {quote(first)}"
        )
    with_contexts = arms[:1] == [_CONTEXT]
    if with_contexts:
        del arms[0]
    if not arms:
        start = f"model,{_CONTEXT}" if with_contexts else "model"
        raise InputError(f"the header names no arms: {start},<arm>,<arm>…")
    if not all(arms):
        number = arms.index("") + 1
        raise InputError(f"arm {number} has no name in the header", about=(("arm", number),))
    return list(map(cell_to_text, arms)), with_contexts


def _context(cells: list[str]) -> str:
    """Return the context of a row, the second cell."""
    context = cell_to_text(cells[1].strip()) if len(cells) > 1 else ""
    try:  # a block of its own would cost more than the check, and there are many rows
        return checked_name("its context", context)
    except InputError as error:
        raise error.at(("model", cell_to_text(cells[0].strip()))) from None


def _means(cells: list[str], arms: list[str], first: int) -> list[float]:
    """Read the means of one row slowly, to say which cell is wrong."""
    given = [cell.strip() for cell in cells]
    place = tuple(zip(("model", "context"), given[:first], strict=False))
    given = given[first:]
    means = []
    for arm, cell in zip(arms, given, strict=False):
        try:
            if "_" in cell:
                raise ValueError
            means.append(float(cell))
        except ValueError:
            what = f"not the text {quote(cell)}" if cell else "but there is no value"
            wanted = f"expected a number, {what}"
            raise InputError(wanted, place=(*place, ("arm", arm))) from None
    if len(given) < len(arms):
        raise InputError(f"no value for arm {quote(arms[len(given)])}", place=place)
    if len(given) > len(arms):
        last = f"nothing follows arm {quote(arms[-1])}"
        raise InputError(f"{len(given)} values for {len(arms)} arms: {last}", place=place)
    return means


def problem_to_csv(problem: Problem) -> str:
    """Write a problem as CSV, so that `problem_from_csv` gives it back bit for bit."""
    more = problem.prior or problem.transitions
    if problem.rewards.name != "bernoulli" or not problem.rewards.takes_range or more:
        raise InputError(f"CSV holds Bernoulli means only, and this is {problem!r}; use .toml")
    if len(set(problem.shares)) > 1:
        raise InputError("CSV has no room for shares, and contexts differ in theirs; use .toml")
    if not problem.contexts and problem.arms[0] == _CONTEXT:
        raise InputError(
            f"CSV takes a first arm called {quote(_CONTEXT)} for a column of contexts; use .toml"
        )
    stream = io.StringIO(newline="")
    if problem.range != (0.0, 1.0):
        stream.write(f"# range = {problem.range[0]!r}, {problem.range[1]!r}\n")
    writer = csv.writer(stream, lineterminator="\n")
    arms = map(text_to_cell, problem.arms)
    writer.writerow(["model", *([_CONTEXT] if problem.contexts else []), *arms])
    for model, row in zip(problem.models, problem.means.tolist(), strict=True):
        if not problem.contexts:
            writer.writerow([text_to_cell(model), *row])
            continue
        for context, means in zip(problem.contexts, row, strict=True):
            writer.writerow([text_to_cell(model), text_to_cell(context), *means])
    return stream.getvalue()
