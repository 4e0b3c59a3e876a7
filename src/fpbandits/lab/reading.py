"""Reads a sheet: the result is a problem, or a mark for each mistake.

`Problem` checks everything, and the place of an error says where its mark goes. Since it reports
only the first mistake, rows and then cells are checked one by one to find all bad cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from fpbandits.core.names import Naming, wrong_names
from fpbandits.core.shares import checked_prior
from fpbandits.errors import InputError
from fpbandits.families import FAMILIES
from fpbandits.lab.sheet import Sheet
from fpbandits.problem.problem import Problem

MOST_MARKS = 100
"""The search for bad cells ends after this many."""

_NUMBERS = ("deviation", "concentration", "shape")
"""Fields of families that are one number; all others are lists."""

Part = Literal["cell", "arm", "model", "context", "prior", "field", "table"]
"""Parts of a sheet that can have a mistake; "table" is the whole."""


class Mark(NamedTuple):
    """A mistake and its location.

    Attributes
    ----------
    part, message
        What has the mistake, and what is wrong.
    row
        The index of the model whose cell, name or weight is wrong.
    column
        The index of the pair of a context and an arm whose cell is wrong; or that of the arm or the
        context whose name is wrong.
    name
        The name of the field that is wrong.
    """

    part: Part
    message: str
    row: int = 0
    column: int = 0
    name: str = ""


class Reading(NamedTuple):
    """The problem that a sheet describes, or its mistakes."""

    problem: Problem | None
    marks: tuple[Mark, ...] = ()


def field_names(family: str) -> tuple[str, ...]:
    """Return the fields of a family besides its table, the required ones first."""
    rewards = FAMILIES[family]
    return *rewards.fields, *rewards.optional, *(["range"] if rewards.takes_range else [])


def read(sheet: Sheet) -> Reading:
    """Return the problem that a sheet describes, or a mark for each mistake."""
    all_names = {"arm": sheet.arms, "model": sheet.models, "context": sheet.contexts}
    errors = [error for kind, names in all_names.items() for error in wrong_names(kind, names, {})]
    if not errors:
        rows = [[_parse(text) for text in row] for row in sheet.cells]
        try:
            return Reading(_make_problem(sheet, rows, _read_prior(sheet)))
        except InputError as error:
            errors = [*_find_bad_cells(sheet, rows), *_find_bad_weights(sheet)] or [error]
    return Reading(None, tuple(_make_mark(sheet, error) for error in errors))


def _make_mark(sheet: Sheet, error: InputError) -> Mark:
    """Return the mark of an error: at a cell, a name, a weight, a field, or the whole table."""
    message = str(error)
    match error.place:
        case (("model", str(model)), ("arm", str(arm))):
            return Mark("cell", message, sheet.models.index(model), sheet.arms.index(arm))
        case (("model", str(model)), ("context", str(context)), ("arm", str(arm))):
            column = sheet.start(sheet.contexts.index(context)) + sheet.arms.index(arm)
            return Mark("cell", message, sheet.models.index(model), column)
        case (("prior", str(model)),):
            return Mark("prior", message, sheet.models.index(model))
        case (("model", int(number)),):
            return Mark("model", message, row=number - 1)
        case (("arm" | "context" as part, int(number)),):
            return Mark(part, message, column=number - 1)
        case (str(name) | (str(name), _),) if name in (*field_names(sheet.family), "shares"):
            return Mark("field", message, name=name)
    return Mark("table", message)


def _make_problem(sheet: Sheet, rows: Sequence[Sequence[Any]], prior: Any = None) -> Problem:
    """Return the problem of a sheet whose cells hold these values."""
    fields = {name: _parse_field(name, text) for name, text in sheet.fields.items() if text.strip()}
    naming: Naming = {
        "name": sheet.name,
        "arms": sheet.arms,
        "models": sheet.models,
        "prior": prior,
        "truth": sheet.truth,
        "fitted_units": sheet.fitted_units,
    }
    table: Sequence[Any] = rows
    if sheet.contexts:
        naming["contexts"] = sheet.contexts
        if "shares" in fields:
            naming["shares"] = fields["shares"]
        starts = range(0, len(rows[0]), len(sheet.arms))
        table = [[row[start : start + len(sheet.arms)] for start in starts] for row in rows]
    of_family = {name: fields[name] for name in field_names(sheet.family) if name in fields}
    if "range" in of_family:
        naming["range"] = of_family.pop("range")
    return Problem.of_family(sheet.family, table, of_family, **naming)


def _parse_field(name: str, text: str) -> Any:
    """Return the value of a field: a number for some of them, for all others a list."""
    value = _parse(text)
    return value if name in _NUMBERS or isinstance(value, list) else [value]


def _parse(text: str) -> Any:
    """Return the number in a text, or a list of several; or the text, if it is no number."""
    parts = [parse_number(part) for part in re.split(r"[,;\s]+", text.strip())]
    if any(part is None for part in parts):
        return text
    return parts[0] if len(parts) == 1 else parts


def parse_number(text: str) -> float | None:
    """Return the number that a text stands for, if it does."""
    try:
        # float() would accept 1_000, which is not a number for users.
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _read_prior(sheet: Sheet) -> dict[str, Any] | None:
    """Return the weights of a sheet that are not empty, by model; None if all are."""
    weights = zip(sheet.models, sheet.prior, strict=True)
    return {name: _parse(text) for name, text in weights if text.strip()} or None


def _find_bad_weights(sheet: Sheet) -> Iterator[InputError]:
    """Yield the errors of single weights of the prior."""
    for name, weight in (_read_prior(sheet) or {}).items():
        try:
            # With a second model, since a weight of 0 is wrong only if all weights are 0.
            checked_prior({name: weight}, (name, f"other than {name}"))
        except InputError as error:
            yield error


def _find_bad_cells(sheet: Sheet, rows: Sequence[Sequence[Any]]) -> list[InputError]:
    """Return the errors of single cells, each checked as a problem of its own."""
    errors: list[InputError] = []
    for row, values in enumerate(rows):
        if len(errors) >= MOST_MARKS:
            break
        one_model = replace(sheet, models=(sheet.models[row],), truth=None)
        if _find_error(one_model, [values]) is None:
            continue
        for column, value in enumerate(values):
            error = _find_error(_only_cell(one_model, column), [[value]])
            # If a field is wrong, every cell fails because of it.
            if error is not None and _make_mark(sheet, error).part == "cell":
                errors.append(error)
    return errors


def _find_error(sheet: Sheet, rows: Sequence[Sequence[Any]]) -> InputError | None:
    """Return the error with which a problem of these values is refused, if it is."""
    try:
        _make_problem(sheet, rows)
    except InputError as error:
        return error
    return None


def _only_cell(sheet: Sheet, column: int) -> Sheet:
    """Return the sheet with the context and the arm of one column, and no others."""
    context, arm = divmod(column, len(sheet.arms))
    fields = {name: text for name, text in sheet.fields.items() if name != "shares"}
    value = _parse(fields.get("value", ""))
    if isinstance(value, list) and arm < len(value):
        fields["value"] = repr(value[arm])
    contexts = sheet.contexts[context : context + 1]
    return replace(sheet, arms=(sheet.arms[arm],), contexts=contexts, fields=fields)
