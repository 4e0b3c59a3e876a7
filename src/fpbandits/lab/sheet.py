"""A set of models as someone types it: cells of text, and what the library says of them.

A `Sheet` never changes: an edit returns another one, so that going back is to take the one before.
`read` makes a `Problem` of it, or marks: places, each with the message that the library gives.
Every check is the library's own; to find all bad cells and not only the first, rows and then cells
are given to it one by one.

In a sheet the columns of a model are pairs of a context and an arm, as in a `Problem`. What is on
the screen is one context of it: its first row holds the names of the arms, its first column those
of the models, and its last the weights of the prior.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from fpbandits.core.checks import checked_name
from fpbandits.core.names import Names, Naming
from fpbandits.core.shares import checked_prior
from fpbandits.errors import InputError, counted
from fpbandits.families import FAMILIES
from fpbandits.problem.problem import Problem

MOST_MODELS, MOST_CELLS = 5_000, 200_000
"""More than this is not for editing by hand."""

MOST_MARKS = 100
"""More bad cells than this are not read one by one."""

HEAD = -1
"""The row of the arms' names."""

Part = Literal["cell", "arm", "model", "context", "prior", "field", "table"]


class Mark(NamedTuple):
    """What is wrong, and where: ``column`` of a cell is a pair; ``name`` is that of a field."""

    part: Part
    message: str
    row: int = 0
    column: int = 0
    name: str = ""


@dataclass(frozen=True)
class Reading:
    """What the library makes of a sheet: a problem, or what is wrong."""

    problem: Problem | None
    marks: tuple[Mark, ...] = ()


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


def field_names(family: str) -> tuple[str, ...]:
    """Return the fields that a family takes beside its table, those that it must have first."""
    kind = FAMILIES[family]
    return *kind.fields, *kind.optional, *(["range"] if kind.takes_range else [])


def read(sheet: Sheet) -> Reading:
    """Return the problem that a sheet describes, or marks at all that is wrong with it."""
    marks = [
        *_bad_names("arm", sheet.arms),
        *_bad_names("model", sheet.models),
        *_bad_names("context", sheet.contexts),
    ]
    if marks:
        return Reading(None, tuple(marks))
    rows = [[_value(text) for text in row] for row in sheet.cells]
    try:
        return Reading(_problem(sheet, rows, _prior(sheet)))
    except InputError as error:
        marks = [*_bad_cells(sheet, rows), *_bad_weights(sheet)]
        return Reading(None, tuple(marks) or (_elsewhere(sheet, str(error)),))


def _problem(sheet: Sheet, rows: Sequence[Sequence[Any]], prior: Any = None) -> Problem:
    """Have the library make a problem of a sheet whose cells hold these values."""
    fields = {name: _field(name, text) for name, text in sheet.fields.items() if text.strip()}
    naming: Naming = {
        "name": sheet.name,
        "arms": sheet.arms,
        "models": sheet.models,
        "prior": prior,
        "truth": sheet.truth,
    }
    table: Sequence[Any] = rows
    if sheet.contexts:
        naming["contexts"] = sheet.contexts
        if "shares" in fields:
            naming["shares"] = fields["shares"]
        starts = range(0, len(rows[0]), len(sheet.arms))
        table = [[row[start : start + len(sheet.arms)] for start in starts] for row in rows]
    own = {name: fields[name] for name in field_names(sheet.family) if name in fields}
    if "range" in own:
        naming["range"] = own.pop("range")
    return Problem.of_family(sheet.family, table, own, **naming)


def _field(name: str, text: str) -> Any:
    """Return what a field says; all but these two are lists, even of one number."""
    value = _value(text)
    return value if name in ("deviation", "concentration") or isinstance(value, list) else [value]


def _value(text: str) -> Any:
    """Return a number, or a list of several, or the text itself if it holds anything else."""
    parts = [_number(part) for part in re.split(r"[,;\s]+", text.strip())]
    if any(part is None for part in parts):
        return text
    return parts[0] if len(parts) == 1 else parts


def _number(text: str) -> float | None:
    try:
        # Python takes 1_000 for a number, and nobody else does.
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _bad_names(kind: Literal["arm", "model", "context"], names: Sequence[str]) -> list[Mark]:
    marks, seen = [], set[str]()
    for place, name in enumerate(names):
        row, column = (place, 0) if kind == "model" else (0, place)
        try:
            checked_name(f"{kind} {place + 1}", name)
            if name in seen:
                _check_all(kind, names[: place + 1])
        except InputError as error:
            marks.append(Mark(kind, str(error), row, column))
        seen.add(name)
    return marks


def _check_all(kind: Literal["arm", "model", "context"], names: Sequence[str]) -> None:
    """Let the library say that names are not alone."""
    if kind == "arm":
        Names.of([[0] * len(names)], {"arms": names})
    elif kind == "model":
        Names.of([[0]] * len(names), {"models": names})
    else:
        Names.of([[[0]] * len(names)], {"contexts": names})


def _prior(sheet: Sheet) -> dict[str, Any] | None:
    weights = zip(sheet.models, sheet.prior, strict=True)
    return {name: _value(text) for name, text in weights if text.strip()} or None


def _bad_weights(sheet: Sheet) -> Iterator[Mark]:
    for row, (name, text) in enumerate(zip(sheet.models, sheet.prior, strict=True)):
        if text.strip():
            try:
                # Beside another model, since a weight of 0 is wrong for all together only.
                checked_prior({name: _value(text)}, (name, f"other than {name}"))
            except InputError as error:
                yield Mark("prior", str(error), row=row)


def _bad_cells(sheet: Sheet, rows: Sequence[Sequence[Any]]) -> list[Mark]:
    """Find the cells that the library refuses, each as a problem of its own."""
    marks: list[Mark] = []
    for row, values in enumerate(rows):
        if len(marks) >= MOST_MARKS:
            break
        alone = replace(sheet, models=(sheet.models[row],), truth=None)
        if _refusal(alone, [values]) is None:
            continue
        for column, value in enumerate(values):
            message = _refusal(_one_cell(alone, column), [[value]])
            # Where a field is wrong, every cell is refused for it, in words that name no cell.
            if message is not None and message.startswith("model "):
                marks.append(Mark("cell", message, row, column))
    return marks


def _refusal(sheet: Sheet, rows: Sequence[Sequence[Any]]) -> str | None:
    try:
        _problem(sheet, rows)
    except InputError as error:
        return str(error)
    return None


def _one_cell(sheet: Sheet, column: int) -> Sheet:
    """Return the sheet with the context and the arm of one column, and no others."""
    context, arm = divmod(column, len(sheet.arms))
    fields = _without(sheet.fields, "shares")
    value = _value(fields.get("value", ""))
    if isinstance(value, list) and arm < len(value):
        fields["value"] = repr(value[arm])
    contexts = sheet.contexts[context : context + 1]
    return replace(sheet, arms=(sheet.arms[arm],), contexts=contexts, fields=fields)


def _without(fields: Mapping[str, str], name: str) -> dict[str, str]:
    return {each: text for each, text in fields.items() if each != name}


def _elsewhere(sheet: Sheet, message: str) -> Mark:
    """Mark the field that a message speaks of, or else the table as a whole."""
    for name in (*field_names(sheet.family), "shares"):
        if re.search(rf"\b{name}\b", message):
            return Mark("field", message, name=name)
    return Mark("table", message)


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
        fields=sheet.fields if renamed else _without(sheet.fields, "shares"),
    )
