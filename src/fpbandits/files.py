"""Problem files: TOML and CSV, read and written.

TOML holds everything::

    name = "pricing"
    reward = "bernoulli"         # or "beta" with `concentration`, "discrete" with `support`
    arms = ["9 EUR", "12 EUR"]
    range = [0, 1]               # optional: the user's units
    true = "loyal"               # optional
    [parameters]
    loyal   = [0.9, 0.5]         # discrete: a list of probabilities for each arm
    thrifty = [0.2, 0.5]

CSV holds the means of Bernoulli arms in [0, 1] and nothing else: a header
``parameter,<arm>,<arm>…`` and a row a parameter.

A file is read whole, as UTF-8, up to a size that is read in a minute at most. Whatever bytes it
holds, the outcome is a `Problem` or one `InputError`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import tempfile
import tomllib
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.builtin import BUILT_IN, built_in
from fpbandits.errors import InputError, quote, unknown
from fpbandits.problem import Problem
from fpbandits.rewards import Beta, Discrete

SIZE_LIMITS = {".toml": 4 * 2**20, ".csv": 128 * 2**20}
"""The largest file of each kind, in bytes. TOML is the slower to read by far."""

_COMMON_FIELDS = ("name", "reward", "arms", "range", "true", "parameters")
_FAMILY_FIELDS = {"bernoulli": (), "beta": ("concentration",), "discrete": ("support",)}

_ASIDE = ".aside"

# The TOML reader's time is quadratic in the parts of a dotted key. Nobody means so many.
_ENDLESS_KEY = re.compile(
    r"""(?:\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+){32}""", re.ASCII
)


def load_problem(source: str | os.PathLike[str]) -> Problem:
    """Load a problem from a .toml or .csv file, or a built-in one by its name.

    >>> load_problem("paper:two").parameters
    ('theta1', 'theta2')
    """
    if isinstance(source, str) and source.startswith("paper:"):
        return built_in(source)
    if not os.fspath(source):
        raise InputError(f"no problem is named: give a file, or one of {', '.join(BUILT_IN)}")
    path = Path(source)
    try:
        match _kind(path):
            case ".toml":
                return problem_from_toml(read_text(path), path.stem)
            case _:
                return _from_csv(read_text(path), path)
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from None


def save_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write a problem to a .toml or .csv file, so that `load_problem` gives it back bit for bit.

    CSV keeps names and means; `Problem.true` is lost, and the problem's name becomes the file's.
    A problem that is not Bernoulli on [0, 1] does not fit into CSV and is refused.
    """
    path = Path(path)
    try:
        text = problem_to_toml(problem) if _kind(path) == ".toml" else _to_csv(problem)
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from None
    write_aside(path, text.encode())


def write_aside(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files so that none of them appears before all of them are safely on disk."""
    asides: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            handle, aside = tempfile.mkstemp(
                dir=path.parent, prefix=f".{path.name[:64]}.", suffix=_ASIDE
            )
            asides[path] = Path(aside)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            asides[path].chmod(0o666 & ~_umask())
        for path in contents:
            if path.is_dir():
                raise IsADirectoryError(21, "Is a directory")
        for path in contents:
            asides[path].replace(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(path)}: cannot be written ({_reason(error)})") from None
    finally:
        for aside_path in asides.values():
            aside_path.unlink(missing_ok=True)


def remove_asides(folder: Path, name: str = "*") -> None:
    """Remove what a process that was killed had written aside; no one else may be writing it."""
    for path in folder.glob(f".{name}.*{_ASIDE}"):
        if path.is_file():
            path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make sure that files can be written to a folder, before any work is done for them."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(path)}: cannot be written to ({_reason(error)})") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def shown(path: Path) -> str:
    """Return a path as it stands in an error, on one line."""
    text = str(path)
    return text if text.isprintable() and len(text) <= 200 else quote(text)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _kind(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in SIZE_LIMITS:
        raise InputError(
            f"unknown file ending {quote(ending)}: a problem is a .toml or .csv file, "
            f"or one of {', '.join(BUILT_IN)}"
        )
    return ending


def read_whole(path: Path) -> bytes:
    """Return the content of a file that this package wrote, or say why it cannot be had."""
    try:
        # A pipe would keep us waiting for ever.
        if path.exists() and not path.is_file():
            raise InputError(f"{shown(path)}: not a regular file")
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{shown(path)}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot be read ({error.strerror})") from None


def rows_to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of the same columns as CSV; a cell is empty where there is no number."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "" if value != value else value for key, value in row.items()})
    return stream.getvalue()


def read_text(path: Path) -> str:
    """Read a .toml or .csv file, if it is one, is UTF-8 and not too large."""
    limit = SIZE_LIMITS[_kind(path)]
    try:
        # A pipe or a device could keep us waiting for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError("not a regular file")
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        raise InputError("there is no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({_reason(error)})") from None
    if len(content) > limit:
        raise InputError(
            f"larger than {limit // 2**20} MiB, the most that is read of a {_kind(path)} file"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(
            f"row {line}: byte 0x{content[error.start]:02x} is not UTF-8 text"
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
        raise InputError(f"not valid TOML: {error}") from None


def problem_from_table(table: Mapping[str, Any], name: str) -> Problem:
    """Make a problem of the fields of a TOML table."""
    family = table.get("reward", "bernoulli")
    if not isinstance(family, str):
        raise InputError(f"reward must be a family's name, not {quote(family)}")
    if family not in _FAMILY_FIELDS:
        raise InputError(unknown("reward family", family, _FAMILY_FIELDS))
    fields = _COMMON_FIELDS + _FAMILY_FIELDS[family]
    for field in table:
        if field in fields:
            continue
        for other, own in _FAMILY_FIELDS.items():
            if field in own:
                raise InputError(f"field {quote(field)} goes with reward = {quote(other)} only")
        raise InputError(unknown("field", field, fields))
    for field in ("parameters", *_FAMILY_FIELDS[family]):
        if field not in table:
            raise InputError(f"the field {quote(field)} is missing")
    rows = table["parameters"]
    if not isinstance(rows, dict):
        raise InputError(f"parameters must be a table of name = [values], not {quote(rows)}")
    for field in ("arms", "range"):
        if not isinstance(table.get(field, []), list):
            raise InputError(f"{field} must be a list, not {quote(table[field])}")

    names: dict[str, Any] = {
        "arms": table.get("arms"),
        "parameters": list(rows),
        "range": table.get("range", [0, 1]),
        "true": table.get("true"),
        "name": table.get("name", name),
    }
    values = list(rows.values())
    match family:
        case "beta":
            return Problem.beta(values, table["concentration"], **names)
        case "discrete":
            return Problem.discrete(values, table["support"], **names)
        case _:
            return Problem.bernoulli(values, **names)


def _from_csv(text: str, path: Path) -> Problem:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    arms: list[str] = []
    header = 0
    parameters: list[str] = []
    rows: list[int] = []
    values = array("d")
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            row = reader.line_num
            if not arms:
                arms, header = _csv_header(cells, row), row
                continue
            parameters.append(cells[0].strip())
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
            name=path.stem,
        )
    except InputError as error:
        raise InputError(
            f"row {header if error.row is None else rows[error.row]}: {error}"
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
    return arms


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
        f"range = {list(problem.range)}",
    ]
    if problem.true is not None:
        lines.append(f"true = {_toml_text(problem.true)}")
    values = problem.means
    if isinstance(rewards, Beta):
        lines.append(f"concentration = {rewards.concentration!r}")
    elif isinstance(rewards, Discrete):
        lines.append(f"support = {rewards.support.tolist()}")
        values = rewards.probabilities
    lines += ["", "[parameters]"]
    lines += [
        f"{_toml_text(parameter)} = {row}"
        for parameter, row in zip(problem.parameters, values.tolist(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def _toml_text(text: str) -> str:
    """Quote a text for TOML, whose escapes are JSON's."""
    return json.dumps(text, ensure_ascii=False)


def _to_csv(problem: Problem) -> str:
    if problem.rewards.name != "bernoulli" or problem.range != (0.0, 1.0):
        raise InputError(
            f"CSV holds Bernoulli means in [0, 1] only, and this is {problem!r}; use .toml"
        )
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["parameter", *problem.arms])
    for parameter, row in zip(problem.parameters, problem.means.tolist(), strict=True):
        writer.writerow([parameter, *row])
    return stream.getvalue()
