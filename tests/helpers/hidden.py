"""A hidden chain by brute force: the sum over all paths of the truth, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Table = Sequence[Sequence[Fraction]]

SPARSE = (  # each of five models moves to one other alone: 5·2^11 paths of twelve plays
    (8, 2, 0, 0, 0),
    (0, 5, 5, 0, 0),
    (0, 0, 9, 1, 0),
    (0, 0, 0, 7, 3),
    (4, 0, 0, 0, 6),
)
DENSE = ((6, 1, 1, 1, 1), (2, 3, 2, 2, 1), (0, 0, 10, 0, 0), (1, 1, 1, 6, 1), (1, 2, 3, 4, 0))


def tenths(table: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Return whole numbers as tenths."""
    return [[Fraction(number, 10) for number in row] for row in table]


def beliefs(prior: Sequence[Fraction], chain: Table, likelihoods: Table) -> list[Fraction]:
    """Return how likely each model is true after these plays, path by path.

    ``likelihoods[play][model]`` is that of the play's reward; 1 where there is none.
    """
    weights = [Fraction(0)] * len(prior)

    def follow(model: int, play: int, weight: Fraction) -> None:
        if play == len(likelihoods):
            weights[model] += weight
            return
        weight *= likelihoods[play][model]
        for to, chance in enumerate(chain[model]):
            if weight and chance:
                follow(to, play + 1, weight * chance)

    for model, weight in enumerate(prior):
        follow(model, 0, weight)
    return [weight / sum(weights) for weight in weights]
