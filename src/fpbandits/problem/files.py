"""Problem files: TOML and CSV, read and written.

TOML holds everything::

    name = "pricing"
    reward = "bernoulli"         # or "beta" with `concentration`, "discrete" with `support`,
                                 # "gaussian" with `deviation`, "revenue" with `shape`
    arms = ["9 EUR", "12 EUR"]
    range = [0, 1]               # optional: the user's units
    truth = "loyal"              # optional
    [models]
    loyal   = [0.9, 0.5]         # discrete: a list of probabilities for each arm;
                                 # revenue: [chance, mean amount] for each arm
    thrifty = [0.2, 0.5]
    [prior]                      # optional: weights; 1 for models that are not named
    loyal = 3
    [transitions]                # optional: how the truth moves from play to play
    loyal   = { loyal = 0.95, thrifty = 0.05 }
    thrifty = { thrifty = 1 }
    [fitted]                     # by fit: hashes of some of the units it saw
    units = ["0004ba9e2273"]

With `value = [9, 12]` Bernoulli arms pay that value or nothing, and the rows are probabilities;
with `cost = 4` or `cost = [4, 5]` beside it they pay the profit, value − cost.
With `contexts = ["mobile", "desktop"]` a model is a table of one such list per context, and
`shares = [0.6, 0.4]` says how often each comes.

CSV holds the means of Bernoulli arms: see `fpbandits.problem.spreadsheet`.

A file is read whole, as UTF-8; larger files than can be read in a minute are refused. Whatever
bytes it holds, the outcome is a `Problem` or one `InputError`.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.checks import checked_path
from fpbandits.core.names import Naming
from fpbandits.core.renamed import rename_old_keys
from fpbandits.core.storage import check_size, read_whole, shown, write_aside
from fpbandits.errors import InputError, quote, unknown, within, wrong_type
from fpbandits.families import FAMILIES
from fpbandits.families.two_point import profits
from fpbandits.problem.builtin import BUILT_IN, built_in
from fpbandits.problem.problem import Problem
from fpbandits.problem.spreadsheet import problem_from_csv, problem_to_csv

SIZE_LIMITS = {".toml": 4 * 2**20, ".csv": 128 * 2**20}
"""The largest file of each kind, in bytes. TOML is the slower to read by far."""

_NAMING = ("name", "arms", "range", "truth", "prior", "contexts", "shares", "transitions")
"""Fields that become the keywords of `Naming`."""

_COMMON_FIELDS = (*_NAMING, "reward", "models", "fitted")
"""Fields that problems of all families may have."""

_BARE = re.compile(r"[=\[,]\s*[-+]?\.\d")
"""A number without a digit before the point, which TOML does not have."""

# The TOML reader's time is quadratic in the parts of a dotted key, and nobody needs 32 of them.
_ENDLESS_KEY = re.compile(
    r"""(?:\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+){32}""", re.ASCII
)


def load_problem(source: str | os.PathLike[str]) -> Problem:
    """Load a problem from a .toml or .csv file, or a built-in one by its name.

    >>> load_problem("paper:two").models
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
    return problem_from_bytes(_read(path), path)


def problem_from_bytes(content: bytes, path: Path) -> Problem:
    """Read a problem from the content of a file; the path gives its name and its format."""
    with within(shown(path)):
        check_size(content, SIZE_LIMITS[_kind(path)], path.suffix)
        text = _decoded(content)
        if path.suffix.lower() == ".toml":
            return problem_from_toml(text, path.stem)
        return problem_from_csv(text, path.stem)


def the_problem(given: Problem | str | os.PathLike[str]) -> Problem:
    """Return a problem as it is, or load the one that is named."""
    return given if isinstance(given, Problem) else load_problem(given)


def save_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write a problem to a .toml or .csv file, so that `load_problem` gives it back bit for bit.

    CSV keeps names, means and range; `Problem.truth` and `fitted_units` are lost, and the problem's
    name becomes the file's. A problem that is not Bernoulli, or has a prior, transitions or unequal
    shares of contexts, does not fit into CSV and is refused.
    """
    path, problem = checked_path(path), the_problem(problem)
    with within(shown(path)):
        kind = _kind(path)
        content = (problem_to_toml if kind == ".toml" else problem_to_csv)(problem).encode()
        if len(content) > SIZE_LIMITS[kind]:
            most = SIZE_LIMITS[kind] // 2**20
            raise InputError(f"it would be larger than {most} MiB, the most that is read")
    write_aside(path, content)


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
    content = _read(path)
    with within(shown(path)):
        return _decoded(content)


def _read(path: Path) -> bytes:
    with within(shown(path)):
        limit = SIZE_LIMITS[_kind(path)]
    return read_whole(path, limit)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        reason = f"byte 0x{content[error.start]:02x} is not UTF-8 text"
        raise InputError(reason, place=(("row", line),)) from None


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
            row = int(line[1]) if line else len(text.splitlines())
            twice = "a name is given for the second time"
            raise InputError(twice, place=(("row", row),)) from None
        hint = "; a number begins with a digit there: 0.5, not .5" if _BARE.search(text) else ""
        raise InputError(f"not valid TOML: {error}{hint}") from None


def problem_from_table(table: Mapping[str, Any], name: str) -> Problem:
    """Make a problem of the fields of a TOML table."""
    table = rename_old_keys(table)
    name_of_family = table.get("reward", "bernoulli")
    if not isinstance(name_of_family, str):
        raise wrong_type("reward", name_of_family, "a family's name")
    if name_of_family not in FAMILIES:
        raise unknown("reward family", name_of_family, FAMILIES)
    family = FAMILIES[name_of_family]
    fields = _COMMON_FIELDS + family.fields + family.optional
    if "cost" in table and "value" in fields:
        table = {**table, "value": profits(table.get("value"), table["cost"])}
        del table["cost"]
    for field in table:
        if field in fields:
            continue
        for other in FAMILIES.values():
            if field in other.fields + other.optional:
                elsewhere = f"field {quote(field)} goes with reward = {quote(other.name)} only"
                raise InputError(elsewhere, about=(field,))
        raise unknown("field", field, fields)
    for field in ("models", *family.fields):
        if field not in table:
            raise InputError(f"the field {quote(field)} is missing", about=(field,))
    rows = table["models"]
    if not isinstance(rows, dict):
        raise wrong_type("models", rows, "a table of name = [values]")
    for field in ("arms", "range", "contexts", "shares"):
        if not isinstance(table.get(field, []), list):
            raise wrong_type(field, table[field], "a list")
    naming: Naming = {"models": list(rows), "name": name}
    for key in _NAMING:
        if key in table:
            naming[key] = table[key]  # type: ignore[literal-required]  # they are its keys
    fitted = table.get("fitted", {})
    if not isinstance(fitted, dict) or fitted.keys() - {"units"}:
        raise wrong_type("fitted", fitted, "a table with units, as fit writes it")
    naming["fitted_units"] = fitted.get("units", ())
    return Problem.of_family(
        name_of_family,
        list(rows.values()),
        {field: table[field] for field in family.fields + family.optional if field in table},
        **naming,
    )


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
    if problem.truth is not None:
        lines.append(f"truth = {_toml_text(problem.truth)}")
    lines += [
        f"{field} = {np.asarray(rewards.content[field]).tolist()!r}" for field in rewards.fields
    ]
    if problem.contexts:
        lines.append(f"contexts = [{', '.join(map(_toml_text, problem.contexts))}]")
        lines.append(f"shares = {list(problem.shares)}")
    else:
        lines += ["", "[models]"]
    for model, row in zip(problem.models, rewards.rows.tolist(), strict=True):
        if not problem.contexts:
            lines.append(f"{_toml_text(model)} = {row}")
            continue
        lines += ["", f"[models.{_toml_text(model)}]"]
        arms = len(problem.arms)
        for place, context in enumerate(problem.contexts):
            lines.append(f"{_toml_text(context)} = {row[arms * place : arms * (place + 1)]}")
    if problem.prior is not None:
        shares = zip(problem.models, problem.prior, strict=True)
        lines += ["", "[prior]", *(f"{_toml_text(name)} = {share}" for name, share in shares)]
    if problem.transitions is not None:
        lines += ["", "[transitions]"]
        for name, row in zip(problem.models, problem.transitions, strict=True):
            moves = zip(problem.models, row, strict=True)
            cells = ", ".join(f"{_toml_text(to)} = {chance}" for to, chance in moves if chance)
            lines.append(f"{_toml_text(name)} = {{ {cells} }}")
    if problem.fitted_units:
        units = ", ".join(map(_toml_text, problem.fitted_units))
        lines += ["", "[fitted]", f"units = [{units}]"]
    return "\n".join(lines) + "\n"


def _toml_text(text: str) -> str:
    """Quote a text for TOML, whose escapes are JSON's."""
    return json.dumps(text, ensure_ascii=False)
