"""The problems of the paper's simulations, by name.

``paper:two``
    Two models, two arms: means [0.9, 0.5] under theta1 and [0.2, 0.5] under theta2.
``paper:permutations``
    Four arms, the 24 permutations of the means [0.6, 0.4, 0.3, 0.2].
``paper:grid``
    Four arms, all 256 elements of {0.6, 0.4, 0.3, 0.2}⁴, so that best arms can tie.

In the last two a model is named by its means, as ``0.6,0.4,0.3,0.2``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations, product

from fpbandits.errors import unknown
from fpbandits.problem.problem import Problem

_LEVELS = (0.6, 0.4, 0.3, 0.2)
"""The means that the paper's four arms may have."""

BUILT_IN = ("paper:two", "paper:permutations", "paper:grid")
"""The names of the built-in problems."""


def built_in(name: str) -> Problem:
    """Return a built-in problem.

    >>> built_in("paper:grid")
    Problem('paper:grid': 256 models, 4 arms, bernoulli rewards in [0, 1])
    """
    match name:
        case "paper:two":
            return Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], truth="theta1", name=name)
        case "paper:permutations":
            return _named_by_means(permutations(_LEVELS), name)
        case "paper:grid":
            return _named_by_means(product(_LEVELS, repeat=4), name)
    raise unknown("built-in problem", name, BUILT_IN)


def _named_by_means(rows: Iterable[tuple[float, ...]], name: str) -> Problem:
    """Return the problem with these rows of means, each of which names its model."""
    means = {",".join(map(str, row)): row for row in rows}
    return Problem.bernoulli(
        list(means.values()), models=list(means), truth="0.6,0.4,0.3,0.2", name=name
    )
