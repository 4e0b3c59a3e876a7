"""A set of models as the user types it: cells of text, and functions that edit them.

A `Sheet` is immutable: an edit returns a new one, and undo goes back to the one before. `reading`
turns it into a problem.

As in a `Problem`, the columns of a model are pairs of a context and an arm. The screen shows one
context: its first row holds the names of the arms, its first column those of the models, and its
last the weights of the prior.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from fpbandits.errors import InputError, counted
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.problem import Problem

MOST_MODELS = 5_000
"""Models of the largest table that can be edited on the page."""

MOST_CELLS = 200_000
"""Means of the largest table that can be edited on the page."""

HEAD = -1
"""The row of the arms' names."""


@dataclass(frozen=True)
class Sheet:
    """A set of models as text.

    Attributes
    ----------
    name, family, truth
        As in a problem file; ``truth`` may be None.
    arms, models, contexts
        Names, in order.
    cells
        A row per model, a text per pair of a context and an arm.
    prior
        A weight per model, as text; an empty one is 1.
    fields
        The other fields of a problem file, as text: range, shares and the family's own.
    """

    name: str
    family: str
    arms: tuple[str, ...]
    models: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    contexts: tuple[str, ...] = ()
    prior: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    truth: str | None = None

    def start(self, context: int) -> int:
        """Return the column of the first arm in a context."""
        return context * len(self.arms)


def sheet_of(problem: Problem) -> Sheet:
    """Return the sheet of a problem; reading it gives the same problem, bit for bit."""
    _check_size(len(problem.models), problem.pairs)
    refuse_moving(problem, "the lab")
    rewards = problem.rewards
    fields = {name: _to_text(rewards.content[name]) for name in rewards.fields}
    if rewards.takes_range:
        fields["range"] = _to_text(problem.range)
    if problem.contexts:
        fields["shares"] = _to_text(problem.shares)
    return Sheet(
        name=problem.name,
        family=rewards.name,
        arms=problem.arms,
        models=problem.models,
        cells=tuple(tuple(map(_to_text, row)) for row in rewards.rows.tolist()),
        contexts=problem.contexts,
        prior=tuple(map(_to_text, problem.prior or ())) or ("",) * len(problem.models),
        fields=fields,
        truth=problem.truth,
    )


def _to_text(values: Any) -> str:
    """Return one number or several as text, with all their digits."""
    numbers = np.atleast_1d(np.asarray(values)).tolist()
    return ", ".join(repr(number).removesuffix(".0") for number in numbers)


def _check_size(models: int, columns: int) -> None:
    """Refuse a table that is too large for the page."""
    if models > MOST_MODELS or models * columns > MOST_CELLS:
        raise InputError(
            f"{counted(models, 'model')} of {counted(columns, 'mean')} each are too many for a "
            f"table on a page (at most {MOST_MODELS:,} models, {MOST_CELLS:,} means): use analyze "
            "and simulate"
        )


def with_text(sheet: Sheet, row: int, column: int, text: str, context: int = 0) -> Sheet:
    """Return the sheet with another text in one cell of the screen.

    Row `HEAD` names the arms. Column 0 names the models, and the one after the last arm holds the
    weights of the prior.
    """
    return _with_texts(sheet, row, column, [[text]], context)


def with_field(sheet: Sheet, name: str, text: str) -> Sheet:
    """Return the sheet with a changed field: name, family, contexts (by commas), or any other."""
    text = text.strip()
    if name == "name":
        return replace(sheet, name=text)
    if name == "family":
        return replace(sheet, family=text)
    if name == "contexts":
        return with_contexts(sheet, [word.strip() for word in text.split(",")] if text else [])
    return replace(sheet, fields={**sheet.fields, name: text})


def with_pasted(sheet: Sheet, row: int, column: int, text: str, context: int = 0) -> Sheet:
    """Return the sheet with cells of a spreadsheet pasted at one cell, enlarged if needed.

    Pasting at the top left corner (row `HEAD`, column 0) replaces the whole table, if there are no
    contexts.
    """
    lines = [line for line in csv.reader(io.StringIO(text, newline=""), "excel-tab") if line]
    if not lines:
        raise InputError("there is nothing to paste: copy some cells of a spreadsheet first")
    width = max(map(len, lines))
    _check_size(
        max(len(sheet.models), row + len(lines)),
        max(len(sheet.arms), column + width - 1) * max(1, len(sheet.contexts)),
    )
    if (row, column) == (HEAD, 0) and len(lines) > 1 and width > 1 and not sheet.contexts:
        sheet = replace(
            sheet,
            arms=sheet.arms[: width - 1],
            models=sheet.models[: len(lines) - 1],
            prior=sheet.prior[: len(lines) - 1],
            cells=tuple(cells[: width - 1] for cells in sheet.cells[: len(lines) - 1]),
        )
    if column > len(sheet.arms):
        lines = [line[:1] for line in lines]  # weights of the prior are the last column
    else:
        for _ in range(column + width - 1 - len(sheet.arms)):
            sheet = with_arm(sheet)
    for _ in range(row + len(lines) - len(sheet.models)):
        sheet = with_model(sheet)
    return _with_texts(sheet, row, column, lines, context)


def _with_texts(
    sheet: Sheet, row: int, column: int, lines: Sequence[Sequence[str]], context: int
) -> Sheet:
    """Return the sheet with texts filled in, from one cell of the screen on; they must fit."""
    cells = list(map(list, sheet.cells))
    arms, models, prior = list(sheet.arms), list(sheet.models), list(sheet.prior)
    truth, start = sheet.truth, sheet.start(context)
    for y, line in enumerate(lines, row):
        for x, text in enumerate(line, column):
            text = text.strip()
            if y == HEAD:
                if 0 < x <= len(arms):
                    arms[x - 1] = text
            elif x == 0:
                truth = text if models[y] == truth else truth
                models[y] = text
            elif x > len(arms):
                prior[y] = text
            else:
                cells[y][start + x - 1] = text
    return replace(
        sheet,
        arms=tuple(arms),
        models=tuple(models),
        prior=tuple(prior),
        cells=tuple(map(tuple, cells)),
        truth=truth if truth in models else None,
    )


def _new_name(stem: str, names: Iterable[str]) -> str:
    """Return the stem with the first number that makes a new name."""
    taken = set(names)
    return next(name for number in count(1) if (name := f"{stem}{number}") not in taken)


def with_model(sheet: Sheet) -> Sheet:
    """Return the sheet with a copy of the last model added."""
    return replace(
        sheet,
        models=(*sheet.models, _new_name("theta", sheet.models)),
        cells=(*sheet.cells, sheet.cells[-1]),
        prior=(*sheet.prior, ""),
    )


def without_model(sheet: Sheet, row: int) -> Sheet:
    """Return the sheet without one model; a single model cannot be removed."""
    if len(sheet.models) == 1:
        raise InputError("this is the only model: a problem needs at least one")
    models = _without(sheet.models, row)
    return replace(
        sheet,
        models=models,
        cells=_without(sheet.cells, row),
        prior=_without(sheet.prior, row),
        truth=sheet.truth if sheet.truth in models else None,
    )


def _without(items: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    """Return the items without that at an index."""
    return items[:index] + items[index + 1 :]


def with_arm(sheet: Sheet) -> Sheet:
    """Return the sheet with a copy of the last arm added."""
    arms = len(sheet.arms)
    starts = range(0, len(sheet.cells[0]), arms)
    columns = [
        column for start in starts for column in (*range(start, start + arms), start + arms - 1)
    ]
    return replace(
        sheet,
        arms=(*sheet.arms, _new_name("arm", sheet.arms)),
        cells=_cells_of(sheet, columns),
    )


def _cells_of(sheet: Sheet, columns: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """Return the cells of these columns, in this order."""
    return tuple(tuple(row[column] for column in columns) for row in sheet.cells)


def without_arm(sheet: Sheet, arm: int) -> Sheet:
    """Return the sheet without one arm; a single arm cannot be removed."""
    if len(sheet.arms) == 1:
        raise InputError("this is the only arm: a problem needs at least one")
    arms = len(sheet.arms)
    columns = [column for column in range(len(sheet.cells[0])) if column % arms != arm]
    return replace(sheet, arms=_without(sheet.arms, arm), cells=_cells_of(sheet, columns))


def with_contexts(sheet: Sheet, names: Sequence[str]) -> Sheet:
    """Return the sheet with these contexts, in this order, or without contexts.

    A context keeps its table if its name stays. If the number of contexts stays, a new name renames
    the context at its index; otherwise it is that of a new context, a copy of the last one.
    """
    arms, last = len(sheet.arms), max(1, len(sheet.contexts)) - 1
    are_renamed = len(names) == len(sheet.contexts)
    sources = [
        sheet.contexts.index(name) if name in sheet.contexts else index if are_renamed else last
        for index, name in enumerate(names)
    ]
    columns = [source * arms + arm for source in sources or [0] for arm in range(arms)]
    fields = {name: text for name, text in sheet.fields.items() if are_renamed or name != "shares"}
    cells = _cells_of(sheet, columns)
    return replace(sheet, contexts=tuple(names), cells=cells, fields=fields)
