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
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
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
    fitted_units
        As in a problem. An edit keeps them, since models that are rounded or renamed still come
        from these units; another table, pasted over the whole, does not.
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
    fitted_units: tuple[str, ...] = ()

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
        fitted_units=problem.fitted_units,
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
    """Return the sheet with a changed field: name, family, contexts, or any other.

    Contexts are separated by commas, as `contexts_text` writes them.
    """
    text = text.strip()
    if name == "name":
        return replace(sheet, name=text)
    if name == "family":
        return replace(sheet, family=text)
    if name == "contexts":
        lines = _split(text, "excel", skipinitialspace=True)
        return with_contexts(sheet, [word.strip() for line in lines for word in line])
    return replace(sheet, fields={**sheet.fields, name: text})


def contexts_text(sheet: Sheet) -> str:
    """Return the names of the contexts, separated by commas; those with commas are quoted."""
    return ", ".join(map(_quote, sheet.contexts))


def _quote(name: str) -> str:
    """Return a name as CSV writes it."""
    needs_quotes = "," in name or name.startswith('"')
    return '"' + name.replace('"', '""') + '"' if needs_quotes else name


def _split(text: str, dialect: str, *, skipinitialspace: bool = False) -> list[list[str]]:
    """Return the cells of each line of a text that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), dialect, skipinitialspace=skipinitialspace)
    try:
        return [line for line in reader if line]
    except csv.Error:
        raise InputError(
            f"a cell of this text has more than {csv.field_size_limit():,} characters"
        ) from None


def with_pasted(sheet: Sheet, row: int, column: int, text: str, context: int = 0) -> Sheet:
    """Return the sheet with cells of a spreadsheet pasted at one cell, enlarged if needed.

    Pasting at the top left corner (row `HEAD`, column 0) replaces the whole table, if there are no
    contexts.
    """
    lines = _split(text, "excel-tab")
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
            fitted_units=(),
        )
    if column > len(sheet.arms):
        lines = [line[:1] for line in lines]  # weights of the prior are the last column
    else:
        sheet = with_arm(sheet, max(0, column + width - 1 - len(sheet.arms)))
    sheet = with_model(sheet, max(0, row + len(lines) - len(sheet.models)))
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


def _with_new_names(stem: str, names: Sequence[str], copies: int) -> tuple[str, ...]:
    """Return the names and new ones: the stem with the first numbers that make new names."""
    taken = set(names)
    new = (name for number in count(1) if (name := f"{stem}{number}") not in taken)
    return (*names, *islice(new, copies))


def with_model(sheet: Sheet, copies: int = 1) -> Sheet:
    """Return the sheet with a copy of the last model added, or several."""
    return replace(
        sheet,
        models=_with_new_names("theta", sheet.models, copies),
        cells=sheet.cells + sheet.cells[-1:] * copies,
        prior=sheet.prior + ("",) * copies,
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


def with_arm(sheet: Sheet, copies: int = 1) -> Sheet:
    """Return the sheet with a copy of the last arm added, or several."""
    arms = len(sheet.arms)
    starts = range(0, len(sheet.cells[0]), arms)
    columns = [start + min(arm, arms - 1) for start in starts for arm in range(arms + copies)]
    return replace(
        sheet,
        arms=_with_new_names("arm", sheet.arms, copies),
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
    a context whose name is gone, and shares stay with their contexts. Otherwise a new name is that
    of a new context, a copy of the last one.
    """
    arms, fields = len(sheet.arms), dict(sheet.fields)
    if len(names) == len(sheet.contexts):
        sources = _renamed(sheet.contexts, names)
        shares = re.split(r"[,;\s]+", fields.get("shares", "").strip())
        if len(shares) == len(names) and sources != sorted(sources):
            fields["shares"] = ", ".join(shares[source] for source in sources)
    else:
        last = max(1, len(sheet.contexts)) - 1
        sources = [sheet.contexts.index(name) if name in sheet.contexts else last for name in names]
        fields.pop("shares", None)
    columns = [source * arms + arm for source in sources or [0] for arm in range(arms)]
    cells = _cells_of(sheet, columns)
    return replace(sheet, contexts=tuple(names), cells=cells, fields=fields)


def _renamed(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the old index of each new name; new ones take those left over, in order."""
    left = list(range(len(old)))
    found: dict[int, int] = {}
    for index, name in enumerate(new):
        same = next((other for other in left if old[other] == name), None)
        if same is not None:
            left.remove(same)
            found[index] = same
    return [found[index] if index in found else left.pop(0) for index in range(len(new))]
