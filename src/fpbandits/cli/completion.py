"""Shell completion of problems, truths, policies and groups.

``fpbandits --install-completion`` sets it up. A shell runs this at every press of the tab key, so
imports are as few as possible, and errors are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer

from fpbandits.errors import Error


def _starting_with(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def problems(incomplete: str) -> list[str]:
    """Complete built-in problems, problem files and folders."""
    from fpbandits.problem.builtin import BUILT_IN

    found = _starting_with([*BUILT_IN, *_files(incomplete)], incomplete)
    if len(found) == 1 and found[0].endswith("/"):  # a single match would end the completion
        found += _starting_with(_files(found[0]), incomplete)
    return found


def _files(typed: str) -> Iterator[str]:
    """Yield the problem files and folders beside what was typed; hidden ones only after a dot."""
    folder = typed[: typed.rfind("/") + 1]
    with suppress(OSError):
        for path in sorted(Path(folder or ".").iterdir()):
            if path.name.startswith(".") and not typed[len(folder) :].startswith("."):
                continue
            if path.is_dir():
                yield f"{folder}{path.name}/"
            elif path.suffix.lower() in (".toml", ".csv"):
                yield f"{folder}{path.name}"


def truths(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the models of the problem on the command line, if it can be read."""
    return _starting_with(_models(context), incomplete)


def truths_or_all(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the models of the problem, and "all"."""
    models = _models(context)
    return _starting_with(("all", *models) if models else (), incomplete)


def _models(context: typer.Context) -> tuple[str, ...]:
    """Return the models of the problem on the command line; none if it cannot be read."""
    from fpbandits.problem.files import load_problem

    # After an incomplete option, Typer leaves the arguments in ``context.args``.
    given = [context.params.get("problem"), *context.args]
    with suppress(Error):
        return load_problem(next(filter(None, given), "")).models
    return ()


def groups(incomplete: str) -> list[str]:
    """Complete the groups of the leaderboard."""
    from fpbandits.leaderboard import GROUPS

    return _starting_with(GROUPS, incomplete)


def policy_names(incomplete: str) -> list[str]:
    """Complete names of policies."""
    from fpbandits.policies import POLICIES

    return _starting_with(POLICIES, incomplete)


def policies_to_play(incomplete: str) -> list[str]:
    """Complete names of policies, and "all"."""
    return [*_starting_with(["all"], incomplete), *policy_names(incomplete)]
