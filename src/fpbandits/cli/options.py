"""Options that several commands share, and parsers of numbers such as 1000, 1e12 or 2.5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from fpbandits.cli import completion
from fpbandits.errors import InputError, quote

if TYPE_CHECKING:
    from fpbandits.policies import Policy
    from fpbandits.problem.problem import Problem


def read_number(option: str, text: str) -> float:
    """Return a number: an int if it is written as one, so that no digits are lost."""
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise TyperException(
            f"{option} is {quote(text)}: expected a number such as 1000 or 1e12"
        ) from None


def read_whole_number(option: str, given: str | int) -> int:
    """Return a whole number; Typer passes an option's default, an int, as well."""
    number = read_number(option, str(given))
    if isinstance(number, float) and not number.is_integer():
        raise TyperException(f"{option} is {number}: it must be a whole number")
    return int(number)


def read_real(option: str, given: str | float) -> float:
    """Return a number; Typer passes an option's default, a float, as well."""
    return float(read_number(option, str(given)))


def read_numbers(option: str, text: str) -> Sequence[float]:
    """Return the numbers of a list such as 10,1e3,1e5."""
    return [read_number(option, part.strip()) for part in text.split(",")]


def whole_number(name: str, metavar: str, help: str, *, show_default: bool = True) -> Any:
    """Declare an option that takes a whole number."""
    parser = partial(read_whole_number, name)
    return typer.Option(name, metavar=metavar, help=help, show_default=show_default, parser=parser)


def real(name: str, metavar: str, help: str) -> Any:
    """Declare an option that takes a number."""
    return typer.Option(name, metavar=metavar, help=help, parser=partial(read_real, name))


def floats(name: str, metavar: str, help: str) -> Any:
    """Declare an option that takes a list of numbers."""
    return typer.Option(name, metavar=metavar, help=help, parser=partial(read_numbers, name))


def read_folder(option: str, text: str) -> Path:
    """Return a folder; an empty name is an error, since it would mean the current one."""
    if not text:
        raise TyperException(f"{option} is empty: name a folder")
    return Path(text)


def folder(name: str, help: str) -> Any:
    """Declare an option that takes a folder."""
    return typer.Option(name, metavar="DIR", help=help, parser=partial(read_folder, name))


def which_truth(default: str, more: str = "", *, all: bool = True) -> Any:
    """Declare the option that names the true model, or all of them if they may be."""
    words = f"The true model{more}.  [default: {default}]"
    offered = completion.truths_or_all if all else completion.truths
    return typer.Option(metavar="NAME", help=words, autocompletion=offered)


def column(name: str, help: str) -> Any:
    """Declare an option that names a column of a log."""
    return typer.Option(name, metavar="COLUMN", help=help)


def chosen_policies(
    words: list[str] | None, problem: Problem, horizon: float | None = None
) -> tuple[dict[str, Policy], list[str]]:
    """Return the policies that --policy names and, if one is "all", notes on those left out."""
    from fpbandits.core.checks import checked_name
    from fpbandits.engine.ready import refusal
    from fpbandits.policies import DEFAULT, POLICIES, parse_policy

    words = words or [DEFAULT.name]
    for word in words:
        if words.count(word) > 1:
            raise InputError(f"--policy {word} is given twice")
    chosen = {
        checked_name("a policy", word): parse_policy(word, horizon)
        for word in words
        if word != "all"
    }
    left_out = []
    if "all" in words:
        for name in POLICIES:
            policy = parse_policy(name)
            reason = refusal(policy, problem)
            if reason is None:
                chosen.setdefault(name, policy)
            elif name not in chosen:
                left_out.append(f"left out: {reason}")
    return chosen, left_out


PolicyWords = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME[:OPTION=VALUE]",
        help="A policy, FILE.py:CLASS, or all; may be repeated.  [default: frugal]",
        autocompletion=completion.policies_to_play,
    ),
]
Delay = Annotated[
    str,
    typer.Option(
        "--delay",
        metavar="N|geometric:N|batch:N",
        help="How many decisions late rewards are: N, N on average, or N at a time.",
        show_default=False,
    ),
]
ProblemName = Annotated[
    str,
    typer.Argument(
        help="A .toml or .csv file, or a built-in name.", autocompletion=completion.problems
    ),
]
Horizon = Annotated[
    int, whole_number("--horizon", "T", "Plays per run.  [default: 1e5]", show_default=False)
]
Runs = Annotated[int, whole_number("--runs", "N", "Runs of each policy on each problem.")]
Seed = Annotated[int, whole_number("--seed", "N", "The seed of all random numbers.")]
Workers = Annotated[int | None, whole_number("--workers", "N", "Threads.  [default: one per core]")]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler."),
]
Out = Annotated[Path | None, folder("--out", "Write results and keep finished runs here.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
LogName = Annotated[
    Path, typer.Argument(metavar="LOG", help="A .csv, .csv.gz or .parquet file, a row per reward.")
]
Unit = Annotated[str, column("--unit", "The unit, for instance a user: its type never changes.")]
Arm = Annotated[str, column("--arm", "The arm that was played.")]
Reward = Annotated[str, column("--reward", "The reward.")]
Context = Annotated[
    str | None, column("--context", "The context that was seen before the decision, if any.")
]
Key = Annotated[
    str | None, column("--key", "A key of each row, such as an order number: none may come twice.")
]
Cost = Annotated[
    Sequence[float] | None,
    floats(
        "--cost",
        "C,C,..",
        "What a sale costs, one number or one per arm: models are then of profit.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(metavar="drop|refuse", help="What to do with rows in which something is missing."),
]
