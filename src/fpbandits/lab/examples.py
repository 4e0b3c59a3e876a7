"""The example problems that the lab offers; ``examples.toml`` describes them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from fpbandits.problem.builtin import BUILT_IN, built_in
from fpbandits.problem.files import problem_from_table
from fpbandits.problem.practice import practice
from fpbandits.problem.problem import Problem


class Example(NamedTuple):
    """A problem, and a sentence about it.

    ``fields`` are those of a problem file; without any, ``name`` is that of a built-in problem or
    of a practice problem.
    """

    name: str
    sentence: str
    fields: Mapping[str, Any]

    def make(self) -> Problem:
        """Return the problem."""
        if self.name in BUILT_IN:
            return built_in(self.name)
        if not self.fields:
            return next(problem for problem in practice(0) if problem.name == self.name)
        return problem_from_table(self.fields, self.name)


_TABLES = tomllib.loads(files(__package__).joinpath("examples.toml").read_text(encoding="utf-8"))
EXAMPLES = {
    name: Example(
        name,
        table["sentence"],
        {field: value for field, value in table.items() if field != "sentence"},
    )
    for name, table in _TABLES.items()
}
"""The examples that the lab offers, by name."""
