"""Which arms are eligible for a decision, by name: `among` in calls, requests and logs."""

from __future__ import annotations

from collections.abc import Iterable

from fpbandits.core.checks import known_name
from fpbandits.errors import InputError, quote
from fpbandits.problem.problem import Problem


def eligible_arms(problem: Problem, among: Iterable[str]) -> tuple[int, ...] | None:
    """Return the indices of the eligible arms, in order; None if all are eligible.

    >>> shop = Problem.bernoulli([[.9, .5, .1], [.2, .5, .1]], arms=["a", "b", "c"])
    >>> eligible_arms(shop, ["c", "a"]), eligible_arms(shop, "abc".__iter__())
    ((0, 2), None)
    """
    names = None if isinstance(among, str | bytes) else _list(among)
    if not names:
        raise InputError(
            f"among is {quote(among)}: it must be a list of the arms that are eligible, at least "
            "one",
            about=("among",),
        )
    arms = {problem.arms.index(known_name("arm", name, problem.arms)) for name in names}
    return None if len(arms) == len(problem.arms) else tuple(sorted(arms))


def _list(among: Iterable[str]) -> list[str] | None:
    """Return the names as a list; None if they cannot be iterated over."""
    try:
        return list(among)
    except TypeError:
        return None
