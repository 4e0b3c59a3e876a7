"""Which arms are eligible for a decision, by name: `among` in calls, requests and logs."""

from __future__ import annotations

from collections.abc import Iterable

from fpbandits.core.checks import known_name
from fpbandits.errors import InputError, quote
from fpbandits.problem.problem import Problem


def eligible_arms(problem: Problem, among: Iterable[str]) -> tuple[int, ...] | None:
    """Return the indices of the arms ``among`` which to decide, in order; None if all are.

    >>> shop = Problem.bernoulli([[.9, .5, .1], [.2, .5, .1]], arms=["a", "b", "c"])
    >>> eligible_arms(shop, ["c", "a"]), eligible_arms(shop, "abc".__iter__())
    ((0, 2), None)
    """
    names = None if isinstance(among, str | bytes) else _listed(among)
    if not names:
        raise InputError(
            f"among is {quote(among)}: it must be a list of the arms that are eligible, at least "
            "one",
            about=("among",),
        )
    found = {problem.arms.index(known_name("arm", name, problem.arms)) for name in names}
    return None if len(found) == len(problem.arms) else tuple(sorted(found))


def _listed(among: Iterable[str]) -> list[str] | None:
    try:
        return list(among)
    except TypeError:
        return None
