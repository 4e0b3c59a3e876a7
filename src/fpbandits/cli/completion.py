"""Shell completion of problems, truths, policies and groups.

``fpbandits --install-completion`` sets it up. A shell asks at every press of the key, so imports
are as few as possible, and a file that cannot be read offers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer

from fpbandits.errors import Error


def _fitting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def problems(incomplete: str) -> list[str]:
    """Offer the built-in problems, and problem files and folders."""
    from fpbandits.problem.builtin import BUILT_IN

    found = _fitting([*BUILT_IN, *_files(incomplete)], incomplete)
    if len(found) == 1 and found[0].endswith("/"):  # alone, a shell would take it for the end
        found += _fitting(_files(found[0]), incomplete)
    return found


def _files(typed: str) -> Iterator[str]:
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
    """Offer the models of the problem that is named, if it can be read."""
    from fpbandits.problem.files import load_problem

    # An option without its value ends the reading of words: then they are left over.
    given = [context.params.get("problem"), *context.args]
    with suppress(Error):
        known = load_problem(next(filter(None, given), "")).models
        return _fitting(("all", *known), incomplete)
    return []


def groups(incomplete: str) -> list[str]:
    """Offer the groups of the leaderboard."""
    from fpbandits.leaderboard import GROUPS

    return _fitting(GROUPS, incomplete)


def policy_names(incomplete: str) -> list[str]:
    """Offer the policies."""
    from fpbandits.policies import POLICIES

    return _fitting(POLICIES, incomplete)


def policies_to_play(incomplete: str) -> list[str]:
    """Offer the policies, and all of them."""
    return [*_fitting(["all"], incomplete), *policy_names(incomplete)]
