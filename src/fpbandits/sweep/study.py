"""`Study`: reads a study file into cells with labels.

A study file is TOML. Every combination of its values is played::

    problems = ["paper:two", "pricing/*.toml", { problem = "paper:grid", truth = "all" }]
    policies = ["ucb1", { policy = "fp-ucb", slack = [0, 0.02, 0.05] }]
    horizons = [1e3, 1e4, 1e5]       # default 1e5
    seeds = [0, 1]                   # default 0
    runs = 100                       # of each cell; default 100
    shuffle = true                   # default false
    delay = "geometric:30"           # default 0; see `simulate`
    against = "slack"                # what regret is drawn against; default: what is varied

A problem is a built-in name, a file (``*`` matches any letters), or a table, either with the keys
``problem`` and ``truth`` or with the fields of a problem file. ``truth`` is a name, a list of
names, a list of lists of means, "all", "prior" (drawn for each run), or a table of when each truth
begins: ``{ 0 = "loyal", 50000 = "thrifty" }``. An option of a policy may be a list. Paths of
problem files and of your own policies ("mine.py:EpsilonGreedy") are relative to the study's folder.

The same runs are recorded at all horizons, since no policy knows when its run will end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from os.path import realpath
from pathlib import Path
from typing import Any

from fpbandits.core.checks import checked_name, flag, whole_number
from fpbandits.core.renamed import rename_old_keys, rename_old_options
from fpbandits.core.storage import shown
from fpbandits.engine.ready import refusal
from fpbandits.errors import InputError, quote, unknown, within
from fpbandits.policies import DEFAULT, Policy, parse_policy
from fpbandits.problem.files import load_problem, parse_toml, problem_from_table, read_text
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.spec import RunSpec
from fpbandits.sweep.report import MOST_NAMES

_FIELDS = (
    "name",
    "problems",
    "policies",
    "horizons",
    "seeds",
    "runs",
    "shuffle",
    "delay",
    "against",
)
"""The fields of a study file."""

_NUMBERS = ("horizon", "models", "arms", "gap")
"""Columns of numbers that regret can be drawn against."""

_NAMES = ("problem", "truth", "policy")
"""Columns of names that regret can be drawn against."""


@dataclass(frozen=True)
class Study:
    """The cells of a study, with their labels and the column that regret is drawn against.

    Attributes
    ----------
    name
        The name of the study.
    cells, labels
        The cells to play and the columns that describe each, both by the cells' names.
    options
        The options of policies that the study sets: columns too.
    against
        A column: "horizon", "models", "arms", "gap", "problem", "truth", "policy" or an option.
    horizons
        The times at which regret is reported.
    remarks
        Which policies are left out of which problems, and why.
    text
        The content of the file.
    """

    name: str
    cells: Mapping[str, Cell]
    labels: Mapping[str, Mapping[str, Any]]
    options: Sequence[str]
    against: str
    horizons: Sequence[int]
    remarks: Sequence[str]
    text: str


def load_study(path: Path, *, runs: float | None = None) -> Study:
    """Read a study file; ``runs``, if given, replaces the file's."""
    if path.suffix.lower() != ".toml":
        raise InputError("a study is a .toml file", place=(shown(path),))
    text = read_text(path)
    with within(shown(path)):
        return _study(text, path, runs)


def _study(text: str, file: Path, runs: float | None) -> Study:
    """Return the study of a file's text; paths in it are relative to ``file``."""
    table = parse_toml(text)
    for field in table:
        if field in ("truth", "truths"):
            raise InputError(
                "a truth goes with its problem, as in "
                'problems = [{ problem = "paper:two", truth = "all" }]',
                place=(("field", field),),
            )
        if field not in _FIELDS:
            raise unknown("field", field, _FIELDS)
    if "problems" not in table:
        missing = "the field 'problems' is missing: a list of files or built-in names"
        raise InputError(missing, about=("problems",))
    name = checked_name("the study", table.get("name", file.stem))
    policies, options = _policies(_as_list("policies", table.get("policies", DEFAULT.name)), file)
    horizons = _whole_numbers("horizon", table.get("horizons", 10**5), least=1)
    seeds = _whole_numbers("seed", table.get("seeds", 0), least=0)
    shuffle = flag("shuffle", table.get("shuffle", False))
    runs = table.get("runs", 100) if runs is None else runs
    delay = table.get("delay", 0)
    spec = RunSpec(horizon=max(horizons), times=horizons, runs=runs, shuffle=shuffle, delay=delay)

    cells: dict[str, Cell] = {}
    labels: dict[str, dict[str, Any]] = {}
    remarks: dict[str, None] = {}
    for (problem, truth), policy in product(_problems(table["problems"], file), policies):
        refused = refusal(policy, problem)
        if refused:
            remarks[f"{policy} is left out of {problem.name}: {refused}"] = None
            continue
        for seed in seeds:
            cell = make_cell(problem, policy, replace(spec, truth=truth, seed=seed))
            key = f"{problem.name}, truth {cell.truth}: {policy}, seed {seed}"
            if key in cells:
                raise InputError(
                    f"{quote(key)} is there twice: give each truth once, and problems names of "
                    "their own"
                )
            cells[key] = cell
            labels[key] = _labels(cell, options)
    if not cells:
        raise InputError(next(iter(remarks), "there is nothing to play"))
    columns = (*_NUMBERS, *_NAMES, *options)
    against = table["against"] if "against" in table else _default_axis(labels, options, horizons)
    if against not in columns:
        raise unknown("column to draw against", str(against), columns)
    return Study(name, cells, labels, options, against, sorted(horizons), list(remarks), text)


def _labels(cell: Cell, options: Sequence[str]) -> dict[str, Any]:
    """Return the columns that describe a cell; an option that its policy lacks is None."""
    means = cell.laws.means.reshape(-1, len(cell.problem.arms))
    gaps = means.max(axis=1, keepdims=True) - means
    return {
        "problem": cell.problem.name,
        "models": len(cell.problem.models),
        "arms": len(cell.problem.arms),
        "truth": cell.truth,
        # Rounded, so that equal gaps do not differ by rounding errors.
        "gap": float(f"{gaps[gaps > 0].min():.12g}") if gaps.any() else 0.0,
        "policy": str(cell.policy),
        **{option: _plain(getattr(cell.policy, option, None)) for option in options},
        "seed": cell.spec.seed,
    }


def _plain(value: Any) -> Any:
    """Return an option's value for the table: a number, which can be an axis, a bool or a text."""
    return value if value is None or isinstance(value, int | float) else str(value)


def _default_axis(
    labels: Mapping[str, Mapping[str, Any]], options: Sequence[str], horizons: Sequence[int]
) -> str:
    """Choose the column to draw against: the first that has several values, or "policy"."""
    counts = {
        column: len({label[column] for label in labels.values()} - {None})
        for column in (*options, "models", "arms", "truth", "problem")
    }
    for option in options:  # with two values only, they may be meant as two policies to compare
        if counts[option] > 2:
            return option
    if len(horizons) > 1:
        return "horizon"
    for column, count in counts.items():
        if count > 1 and (column not in _NAMES or count <= MOST_NAMES):
            return column
    return "policy"


def _whole_numbers(what: str, given: Any, *, least: int) -> list[int]:
    """Return one whole number or several different ones as a list."""
    values = [
        whole_number(f"a {what}", value, least=least) for value in _as_list(f"{what}s", given)
    ]
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"the {what} {value} is given twice", about=(f"{what}s",))
    return values


def _as_list(what: str, value: Any) -> list[Any]:
    """Return a list as it is, and any other value as a list of one."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InputError(f"{what} is an empty list: give it a value", about=(what,))
    return values


def _policies(given: Sequence[Any], file: Path) -> tuple[list[Policy], list[str]]:
    """Return all policies, and the names of the options that any of them sets."""
    by_name: dict[str, Policy] = {}
    options: dict[str, None] = {}
    for name in (name for entry in given for name in _policy_names(entry)):
        name = rename_old_options(name)
        policy = parse_policy(_from_folder_of(file, name))
        # str(policy) does not depend on how its options were written.
        if str(policy) in by_name:
            twice = f"the policy {quote(str(policy))} is given twice"
            raise InputError(twice, about=(("policy", str(policy)),))
        by_name[str(policy)] = policy
        options |= {field.name: None for field in fields(policy) if f":{field.name}=" in name}
    for option in options:
        if option in (*_NUMBERS, *_NAMES, "seed", "runs"):
            raise InputError(
                f"{quote(option)} is a column of its own: a policy's option needs another name",
                about=(option,),
            )
    return list(by_name.values()), list(options)


def _policy_names(entry: Any) -> Iterator[str]:
    """Yield the policies of an entry, as names with options for `parse_policy`."""
    if isinstance(entry, str):
        yield entry
        return
    if not isinstance(entry, dict) or not isinstance(entry.get("policy"), str):
        raise InputError(
            'a policy is a name, or a table such as { policy = "fp-ucb", slack = [0, 0.05] }, '
            f"not {quote(entry)}"
        )
    options = {key: _as_list(key, value) for key, value in entry.items() if key != "policy"}
    for key, values in options.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise InputError(
                    f"{key} is a number or a text, or a list of them, not {quote(value)}"
                ).at(("policy", entry["policy"]))
    for chosen in product(*options.values()):
        settings = [f"{key}={value}" for key, value in zip(options, chosen, strict=True)]
        yield ":".join([entry["policy"], *settings])


def _from_folder_of(file: Path, name: str) -> str:
    """Return a policy's name; if it has a path, with the study's folder before it.

    >>> _from_folder_of(Path("studies/a.toml"), "mine.py:EpsilonGreedy:epsilon=0.2")
    'studies/mine.py:EpsilonGreedy:epsilon=0.2'
    """
    match = re.fullmatch(r"(.+?\.py)(:.*)?", name)
    return f"{file.parent / match[1]}{match[2] or ''}" if match else name


def _problems(given: Any, file: Path) -> Iterator[tuple[Problem, Any]]:
    """Yield every problem with each of its truths."""
    for index, entry in enumerate(_as_list("problems", given), 1):
        table = {"problem": entry} if isinstance(entry, str) else entry
        with within(("problem", index)):
            if not isinstance(table, dict):
                wanted = "it must be a file, a built-in name or a table"
                raise InputError(f"{wanted}, not {quote(entry)}")
            table = rename_old_keys(table)
            rest = {key: value for key, value in table.items() if key != "truth"}
            for problem in _load(rest, f"problem {index}", file):
                for truth in _truths(problem, table.get("truth")):
                    yield problem, truth


def _load(table: Mapping[str, Any], name: str, file: Path) -> Iterator[Problem]:
    """Yield the problem that a table defines, or those that its field ``problem`` refers to."""
    if "problem" not in table:
        yield problem_from_table(table, name)
        return
    source = table["problem"]
    for field in table:
        if field != "problem":
            raise unknown("field", field, ("problem", "truth"))
    if not isinstance(source, str):
        raise InputError(f"expected a file or a built-in name, not {quote(source)}")
    if source.startswith("paper:"):
        yield load_problem(source)
        return
    paths = [file.parent / source]
    if "*" in source:
        try:
            paths = sorted(file.parent.glob(source))
        except (NotImplementedError, ValueError):
            raise InputError(f"{quote(source)}: expected a pattern like mine/*.toml") from None
        paths = [path for path in paths if realpath(path) != realpath(file)]
    if not paths:
        raise InputError(f"no file is called like {quote(source)}")
    for path in paths:
        yield load_problem(path)


def _truths(problem: Problem, truth: Any) -> Sequence[Any]:
    """Return the truths that the field ``truth`` asks for, each as `RunSpec` takes it."""
    if truth == "all" and "all" not in problem.models:
        return problem.models
    if isinstance(truth, list) and truth and not isinstance(truth[0], int | float):
        return truth
    return [truth]
