"""Problem files: TOML and CSV, read and written.

TOML holds everything::

    name = "pricing"
    reward = "bernoulli"         # or "beta" with `concentration`, "discrete" with `support`,
                                 # "gaussian" with `deviation`
    arms = ["9 EUR", "12 EUR"]
    range = [0, 1]               # optional: the user's units
    true = "loyal"               # optional
    [parameters]
    loyal   = [0.9, 0.5]         # discrete: a list of probabilities for each arm
    thrifty = [0.2, 0.5]
    [prior]                      # optional: weights, 1 where none is given
    loyal = 3

With `value = [9, 12]` Bernoulli arms pay that value or nothing, and the rows are probabilities.
With `contexts = ["mobile", "desktop"]` a parameter is a table of one such list per context, and
`shares = [0.6, 0.4]` says how often each comes.

CSV holds the means of Bernoulli arms: a header ``parameter,<arm>,<arm>…`` and a row per parameter.
Above the header may stand ``# range = 0, 15``, for rewards in the user's units. A name that begins
with =, +, - or @ stands there with an apostrophe before it, lest a spreadsheet compute it; without
one it is read as well.

A file is read whole, as UTF-8, up to a size that is read in a minute at most. Whatever bytes it
holds, the outcome is a `Problem` or one `InputError`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tomllib
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.builtin import BUILT_IN, built_in
from fpbandits.checks import checked_path, checked_range
from fpbandits.errors import InputError, quote, unknown
from fpbandits.families import FAMILIES
from fpbandits.problem import Naming, Problem
from fpbandits.storage import cell_to_text, read_whole, shown, text_to_cell, write_aside

SIZE_LIMITS = {".toml": 4 * 2**20, ".csv": 128 * 2**20}
"""The largest file of each kind, in bytes. TOML is the slower to read by far."""

_NAMING = ("name", "arms", "range", "true", "prior", "contexts", "shares")
_COMMON_FIELDS = (*_NAMING, "reward", "parameters")

_BARE = re.compile(r"[=\[,]\s*[-+]?\.\d")
"""A number without a digit before the point, which TOML does not have."""

# The TOML reader's time is quadratic in the parts of a dotted key. Nobody means so many.
_ENDLESS_KEY = re.compile(
    r"""(?:\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+){32}""", re.ASCII
)

_CSV_RANGE = re.compile(r"#\s*range\s*=\s*\[?([^,]+),([^,\]]+)\]?")


def load_problem(source: str | os.PathLike[str]) -> Problem:
    """Load a problem from a .toml or .csv file, or a built-in one by its name.

    >>> load_problem("paper:two").parameters
    ('theta1', 'theta2')
    """
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"expected a Problem, the path of its file or one of {', '.join(BUILT_IN)}, not "
            f"{quote(source)}"
        )
    if isinstance(source, str) and source.startswith("paper:"):
        return built_in(source)
    if not os.fspath(source):
        raise InputError(f"no problem is named: give a file, or one of {', '.join(BUILT_IN)}")
    path = checked_path(source)
    text = read_text(path)
    try:
        if path.suffix.lower() == ".toml":
            return problem_from_toml(text, path.stem)
        return _from_csv(text, path)
    except InputError as error:
        raise error.at(shown(path)) from None


def the_problem(given: Problem | str | os.PathLike[str]) -> Problem:
    """Return a problem as it is, or load the one that is named."""
    return given if isinstance(given, Problem) else load_problem(given)


def save_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write a problem to a .toml or .csv file, so that `load_problem` gives it back bit for bit.

    CSV keeps names, means and range; `Problem.true` is lost, and the problem's name becomes the
    file's. A problem that is not Bernoulli does not fit into CSV and is refused.
    """
    path, problem = checked_path(path), the_problem(problem)
    try:
        text = problem_to_toml(problem) if _kind(path) == ".toml" else _to_csv(problem)
    except InputError as error:
        raise error.at(shown(path)) from None
    write_aside(path, text.encode())


def _kind(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in SIZE_LIMITS:
        raise InputError(
            f"unknown file ending {quote(ending)}: a problem is a .toml or .csv file, "
            f"or one of {', '.join(BUILT_IN)}"
        )
    return ending


def read_text(path: Path) -> str:
    """Read a .toml or .csv file, if it is one, is UTF-8 and not too large."""
    try:
        limit = SIZE_LIMITS[_kind(path)]
    except InputError as error:
        raise error.at(shown(path)) from None
    content = read_whole(path, limit)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(
            f"{shown(path)}: row {line}: byte 0x{content[error.start]:02x} is not UTF-8 text"
        ) from None


def problem_from_toml(text: str, name: str) -> Problem:
    """Read a problem from TOML; ``name`` is for one that has none of its own."""
    return problem_from_table(parse_toml(text), name)


def parse_toml(text: str) -> dict[str, Any]:
    """Read TOML, and say on one line what is wrong with it."""
    if _ENDLESS_KEY.search(text):
        raise InputError("a name has more than 32 parts between dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError("lists are nested too deeply") from None
    except ValueError as error:
        if "overwrite" in str(error):
            line = re.search(r"at line (\d+)", str(error))
            row = line[1] if line else len(text.splitlines())
            raise InputError(f"row {row}: a name is given for the second time") from None
        hint = "; a number begins with a digit there: 0.5, not .5" if _BARE.search(text) else ""
        raise InputError(f"not valid TOML: {error}{hint}") from None


def problem_from_table(table: Mapping[str, Any], name: str) -> Problem:
    """Make a problem of the fields of a TOML table."""
    name_of_family = table.get("reward", "bernoulli")
    if not isinstance(name_of_family, str):
        raise InputError(f"reward must be a family's name, not {quote(name_of_family)}")
    if name_of_family not in FAMILIES:
        raise unknown("reward family", name_of_family, FAMILIES)
    family = FAMILIES[name_of_family]
    fields = _COMMON_FIELDS + family.fields + family.optional
    for field in table:
        if field in fields:
            continue
        for other in FAMILIES.values():
            if field in other.fields + other.optional:
                raise InputError(
                    f"field {quote(field)} goes with reward = {quote(other.name)} only"
                )
        raise unknown("field", field, fields)
    for field in ("parameters", *family.fields):
        if field not in table:
            raise InputError(f"the field {quote(field)} is missing")
    rows = table["parameters"]
    if not isinstance(rows, dict):
        raise InputError(f"parameters must be a table of name = [values], not {quote(rows)}")
    for field in ("arms", "range", "contexts", "shares"):
        if not isinstance(table.get(field, []), list):
            raise InputError(f"{field} must be a list, not {quote(table[field])}")
    naming: Naming = {"parameters": list(rows), "name": name}
    for key in _NAMING:
        if key in table:
            naming[key] = table[key]  # type: ignore[literal-required]  # they are its keys
    return Problem.of_family(
        name_of_family,
        list(rows.values()),
        {field: table[field] for field in family.fields + family.optional if field in table},
        **naming,
    )


def _from_csv(text: str, path: Path) -> Problem:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    arms: list[str] = []
    header = 0
    parameters: list[str] = []
    rows: list[int] = []
    values = array("d")
    limits: Sequence[float] = (0, 1)
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            row = reader.line_num
            if not arms and cells[0].lstrip().startswith("#"):
                limits = _csv_range(",".join(cells), row)
                continue
            if not arms:
                arms, header = _csv_header(cells, row), row
                continue
            parameters.append(cell_to_text(cells[0].strip()))
            rows.append(row)
            try:
                means = list(map(float, cells[1:]))
            except ValueError:
                means = []
            # Python reads 1_000 as a number and "nan" as none: both are left to the slow path.
            if len(means) != len(arms) or "_" in "".join(cells[1:]):
                means = _csv_means(cells, arms, row)
            values.extend(means)
    except csv.Error as error:
        raise InputError(f"row {reader.line_num}: not valid CSV: {error}") from None
    if arms and not parameters:
        raise InputError("there are no parameters: expected a row for each below the header")
    if not arms:
        raise InputError("the file is empty: expected a header parameter,<arm>,<arm>…")
    try:
        return Problem.bernoulli(
            np.frombuffer(values).reshape(len(parameters), len(arms)),
            arms=arms,
            parameters=parameters,
            range=limits,
            name=path.stem,
        )
    except InputError as error:
        raise error.at(f"row {header if error.row is None else rows[error.row]}") from None


def _csv_range(text: str, row: int) -> Sequence[float]:
    """Read the line ``# range = 0, 15``; a spreadsheet may have put commas behind it."""
    found = _CSV_RANGE.fullmatch(text.strip(", \t"))
    try:
        if found is None or "_" in text:
            raise ValueError
        return checked_range([float(found[1]), float(found[2])])
    except InputError as error:
        raise error.at(f"row {row}") from None
    except ValueError:
        raise InputError(
            f"row {row}: above the header only a line like # range = 0, 15 may stand, not "
            f"{quote(text)}"
        ) from None


def _csv_header(cells: list[str], row: int) -> list[str]:
    first, *arms = (cell.strip() for cell in cells)
    if first != "parameter":
        hint = ", separated by commas" if ";" in first or "\t" in first else ""
        raise InputError(
            f"row {row}: the header must be parameter,<arm>,<arm>…{hint}; "
            f"it starts with {quote(first)}"
        )
    if not arms:
        raise InputError(f"row {row}: the header names no arms: parameter,<arm>,<arm>…")
    if not all(arms):
        raise InputError(f"row {row}: arm {arms.index('') + 1} has no name in the header")
    return list(map(cell_to_text, arms))


def _csv_means(cells: list[str], arms: list[str], row: int) -> list[float]:
    """Read one row with care, to say what is wrong with it and where."""
    parameter, *given = (cell.strip() for cell in cells)
    place = f"row {row}: parameter {quote(parameter)}"
    means = []
    for arm, cell in zip(arms, given, strict=False):
        try:
            if "_" in cell:
                raise ValueError
            means.append(float(cell))
        except ValueError:
            what = f"not the text {quote(cell)}" if cell else "but there is no value"
            raise InputError(f"{place}, arm {quote(arm)}: expected a number, {what}") from None
    if len(given) < len(arms):
        raise InputError(f"{place}: no value for arm {quote(arms[len(given)])}")
    if len(given) > len(arms):
        raise InputError(
            f"{place}: {len(given)} values for {len(arms)} arms: nothing follows arm "
            f"{quote(arms[-1])}"
        )
    return means


def problem_to_toml(problem: Problem) -> str:
    """Write a problem as TOML, so that `problem_from_toml` gives it back bit for bit."""
    rewards = problem.rewards
    lines = [
        f"name = {_toml_text(problem.name)}",
        f'reward = "{rewards.name}"',
        f"arms = [{', '.join(map(_toml_text, problem.arms))}]",
    ]
    if rewards.takes_range:
        lines.append(f"range = {list(problem.range)}")
    if problem.true is not None:
        lines.append(f"true = {_toml_text(problem.true)}")
    lines += [
        f"{field} = {np.asarray(rewards.content[field]).tolist()!r}" for field in rewards.fields
    ]
    if problem.contexts:
        lines.append(f"contexts = [{', '.join(map(_toml_text, problem.contexts))}]")
        lines.append(f"shares = {list(problem.shares)}")
    else:
        lines += ["", "[parameters]"]
    for parameter, row in zip(problem.parameters, rewards.rows.tolist(), strict=True):
        if not problem.contexts:
            lines.append(f"{_toml_text(parameter)} = {row}")
            continue
        lines += ["", f"[parameters.{_toml_text(parameter)}]"]
        arms = len(problem.arms)
        for place, context in enumerate(problem.contexts):
            lines.append(f"{_toml_text(context)} = {row[arms * place : arms * (place + 1)]}")
    if problem.prior is not None:
        shares = zip(problem.parameters, problem.prior, strict=True)
        lines += ["", "[prior]", *(f"{_toml_text(name)} = {share}" for name, share in shares)]
    return "\n".join(lines) + "\n"


def _toml_text(text: str) -> str:
    """Quote a text for TOML, whose escapes are JSON's."""
    return json.dumps(text, ensure_ascii=False)


def _to_csv(problem: Problem) -> str:
    if problem.rewards.name != "bernoulli" or not problem.rewards.takes_range or problem.prior:
        raise InputError(f"CSV holds Bernoulli means only, and this is {problem!r}; use .toml")
    stream = io.StringIO(newline="")
    if problem.range != (0.0, 1.0):
        stream.write(f"# range = {problem.range[0]!r}, {problem.range[1]!r}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["parameter", *map(text_to_cell, problem.arms)])
    for parameter, row in zip(problem.parameters, problem.means.tolist(), strict=True):
        writer.writerow([text_to_cell(parameter), *row])
    return stream.getvalue()
