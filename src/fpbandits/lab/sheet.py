"""A set of models as someone types it: cells of text, and how they are edited.

A `Sheet` never changes: an edit returns another one, so that going back is to take the one before.
What the library makes of it is in `reading`.

In a sheet the columns of a model are pairs of a context and an arm, as in a `Problem`. What is on
the screen is one context of it: its first row holds the names of the arms, its first column those
of the models, and its last the weights of the prior.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fpbandits.errors import InputError, counted
from fpbandits.problem.problem import Problem

MOST_MODELS, MOST_CELLS = 5_000, 200_000
"""More than this is not for editing by hand."""

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
        A weight per model, as text; nothing weighs 1.
    fields
        Whatever else a problem file may say, as text: range, shares and the family's own fields.
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
    """Return a problem as text, which reads as the same problem bit for bit."""
    _check_size(len(problem.models), problem.pairs)
    rewards = problem.rewards
    fields = {name: _texts(rewards.content[name]) for name in rewards.fields}
    if rewards.takes_range:
        fields["range"] = _texts(problem.range)
    if problem.contexts:
        fields["shares"] = _texts(problem.shares)
    prior = problem.prior or ()
    return Sheet(
        name=problem.name,
        family=rewards.name,
        arms=problem.arms,
        models=problem.models,
        cells=tuple(tuple(map(_texts, row)) for row in rewards.rows.tolist()),
        contexts=problem.contexts,
        prior=tuple(map(_texts, prior)) or ("",) * len(problem.models),
        fields=fields,
        truth=problem.truth,
    )


def _texts(values: Any) -> str:
    """Return one number or several as text, to the last digit."""
    given = np.asarray(values).tolist()
    numbers = given if isinstance(given, list) else [given]
    return ", ".join(repr(each).removesuffix(".0") for each in numbers)


def _check_size(models: int, columns: int) -> None:
    if models > MOST_MODELS or models * columns > MOST_CELLS:
        raise InputError(
            f"{counted(models, 'model')} of {counted(columns, 'mean')} each are too many for a "
            f"table on a page (at most {MOST_MODELS:,} models, {MOST_CELLS:,} means): use analyze "
            "and simulate"
        )


def edited(sheet: Sheet, row: int, column: int, text: str, context: int = 0) -> Sheet:
    """Return the sheet with another text in one place of the screen.

    Row `HEAD` names the arms. Column 0 names the models, and the one behind the last arm holds the
    weights of the prior.
    """
    text = text.strip()
    if row == HEAD:
        return sheet if column == 0 else replace(sheet, arms=_put(sheet.arms, column - 1, text))
    if column == 0:
        truth = text if sheet.models[row] == sheet.truth else sheet.truth
        return replace(sheet, models=_put(sheet.models, row, text), truth=truth)
    if column > len(sheet.arms):
        return replace(sheet, prior=_put(sheet.prior, row, text))
    own = _put(sheet.cells[row], sheet.start(context) + column - 1, text)
    return replace(sheet, cells=_put(sheet.cells, row, own))


def with_field(sheet: Sheet, name: str, text: str) -> Sheet:
    """Return the sheet with another name, family, contexts (by commas) or field."""
    text = text.strip()
    if name == "name":
        return replace(sheet, name=text)
    if name == "family":
        return replace(sheet, family=text)
    if name == "contexts":
        return with_contexts(sheet, [word.strip() for word in text.split(",")] if text else [])
    return replace(sheet, fields={**sheet.fields, name: text})


def _put(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
    return *items[:place], item, *items[place + 1 :]


def pasted(sheet: Sheet, row: int, column: int, text: str, context: int = 0) -> Sheet:
    """Return the sheet with cells of a spreadsheet put in from one place on, grown to hold them.

    What is put on the corner, `HEAD` and 0, is a whole table: without contexts it replaces all.
    """
    lines = [line for line in csv.reader(io.StringIO(text, newline=""), "excel-tab") if line]
    if not lines:
        raise InputError("there is nothing to paste: copy some cells of a spreadsheet first")
    width = max(map(len, lines))
    _check_size(
        max(len(sheet.models), row + len(lines)),
        max(len(sheet.arms), column + width - 1) * max(1, len(sheet.contexts)),
    )
    if column > len(sheet.arms) and row != HEAD:
        width = 1  # weights of the prior: nothing stands behind them
    if (row, column) == (HEAD, 0) and len(lines) > 1 and width > 1 and not sheet.contexts:
        sheet = replace(
            sheet,
            arms=sheet.arms[: width - 1],
            models=sheet.models[: len(lines) - 1],
            prior=sheet.prior[: len(lines) - 1],
            cells=tuple(own[: width - 1] for own in sheet.cells[: len(lines) - 1]),
        )
    elsewhere = column > len(sheet.arms)
    while not elsewhere and column + width - 1 > len(sheet.arms):
        sheet = with_arm(sheet)
    while row + len(lines) > len(sheet.models):
        sheet = with_model(sheet)
    cells = [list(own) for own in sheet.cells]
    arms, models, prior = list(sheet.arms), list(sheet.models), list(sheet.prior)
    truth, start = sheet.truth, sheet.start(context)
    for down, line in enumerate(lines, row):
        for across, given in enumerate(line[:width], column):
            word = given.strip()
            if down == HEAD:
                if across:
                    arms[across - 1] = word
            elif across == 0:
                truth = word if models[down] == truth else truth
                models[down] = word
            elif across > len(arms):
                prior[down] = word
            else:
                cells[down][start + across - 1] = word
    return replace(
        sheet,
        arms=tuple(arms),
        models=tuple(models),
        prior=tuple(prior),
        cells=tuple(map(tuple, cells)),
        truth=truth if truth in models else None,
    )


def _new_name(stem: str, names: Iterable[str]) -> str:
    taken, number = set(names), 1
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"


def with_model(sheet: Sheet) -> Sheet:
    """Return the sheet with one more model, which is as the last one until someone edits it."""
    return replace(
        sheet,
        models=(*sheet.models, _new_name("theta", sheet.models)),
        cells=(*sheet.cells, sheet.cells[-1]),
        prior=(*sheet.prior, ""),
    )


def without_model(sheet: Sheet, row: int) -> Sheet:
    """Return the sheet without one model; the last one stays."""
    if len(sheet.models) == 1:
        raise InputError("this is the only model: a problem needs at least one")
    models = _dropped(sheet.models, row)
    return replace(
        sheet,
        models=models,
        cells=_dropped(sheet.cells, row),
        prior=_dropped(sheet.prior, row),
        truth=sheet.truth if sheet.truth in models else None,
    )


def _dropped(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return items[:place] + items[place + 1 :]


def with_arm(sheet: Sheet) -> Sheet:
    """Return the sheet with one more arm, which pays as the last one until someone edits it."""
    arms = len(sheet.arms)
    starts = range(0, len(sheet.cells[0]), arms)
    return replace(
        sheet,
        arms=(*sheet.arms, _new_name("arm", sheet.arms)),
        cells=tuple(
            tuple(
                text
                for start in starts
                for text in (*own[start : start + arms], own[start + arms - 1])
            )
            for own in sheet.cells
        ),
    )


def without_arm(sheet: Sheet, arm: int) -> Sheet:
    """Return the sheet without one arm; the last one stays."""
    if len(sheet.arms) == 1:
        raise InputError("this is the only arm: a problem needs at least one")
    arms = len(sheet.arms)
    return replace(
        sheet,
        arms=_dropped(sheet.arms, arm),
        cells=tuple(
            tuple(text for column, text in enumerate(own) if column % arms != arm)
            for own in sheet.cells
        ),
    )


def with_contexts(sheet: Sheet, names: Sequence[str]) -> Sheet:
    """Return the sheet with these contexts, in this order; no names: without contexts.

    A context keeps its table by its name, or, where as many are named as before, by its place. A
    new one is as the last.
    """
    arms, last = len(sheet.arms), max(1, len(sheet.contexts)) - 1
    renamed = len(names) == len(sheet.contexts)
    places = [
        sheet.contexts.index(name) if name in sheet.contexts else place if renamed else last
        for place, name in enumerate(names)
    ]
    return replace(
        sheet,
        contexts=tuple(names),
        cells=tuple(
            tuple(text for place in places or [0] for text in own[place * arms :][:arms])
            for own in sheet.cells
        ),
        fields={
            field: text for field, text in sheet.fields.items() if renamed or field != "shares"
        },
    )
