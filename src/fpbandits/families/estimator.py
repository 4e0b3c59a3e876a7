"""Maximum likelihood for a reward family: what `fit` needs of it.

A log holds rewards of pairs (an arm, or a context and an arm) under unknown types. The *estimator*
of a family says which sums of rewards are sufficient statistics, and finds distributions from them.
A pair and a type have d natural *parameters* without limits (the log-odds of a probability, a
mean); a few more, the *common* ones, are shared by all (the logarithm of a deviation). The negative
log-likelihood of n rewards with sums s, with densities in the user's units, is

    −ℓ = n·base + Σ_k s_k·cost_k,

and `Estimator.maximise` finds the likeliest parameters from plays and sums. Scores and standard
errors follow from `laws` by finite differences.

Arrays are by [pair, type], then by statistic or coordinate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import Bools, Floats
from fpbandits.core.checks import Range, number_text, range_text
from fpbandits.errors import InputError

_SOME_ZEROS, _A_FEW = 0.02, 20
"""From which share of zeros on rewards look like revenue; how many values are a few."""

Codes = NDArray[np.int32]
"""Numbers in place of names: of units, of pairs."""


@dataclass(frozen=True)
class Rewards:
    """The rewards of a log, row by row, and the pair of each.

    Attributes
    ----------
    values
        In the user's units.
    pairs
        Which pair each belongs to.
    names
        What the pairs are called.
    range
        The lowest and the highest reward, if the user said so.
    """

    values: Floats
    pairs: Codes
    names: Sequence[str]
    range: Range | None

    def refuse(self, wrong: Bools, words: str) -> None:
        """Raise an error at the first row that is wrong; ``{}`` in the words is its reward."""
        if wrong.any():
            row = int(wrong.argmax())
            value = number_text(float(self.values[row]))
            raise InputError(f"the reward {words.format(value)}", place=(("index", row),))

    def fitting_families(self) -> str:
        """Return which families may fit, in words."""
        found = []
        if self.values.min() >= 0 and (self.values == 0).mean() > _SOME_ZEROS:
            found.append("--family revenue (0 or an amount that varies)")
        if len(np.unique(self.values)) <= _A_FEW:
            found.append("--family discrete (one of a few values)")
        return " or ".join(found or ["--family beta (a range) or gaussian (no limits)"])

    def refuse_outside(self, limits: Range) -> None:
        """Raise an error at the first reward outside a range."""
        hint = "" if self.range else "; for other units give a range, as 0,15"
        outside = (self.values < limits[0]) | (self.values > limits[1])
        self.refuse(outside, f"{{}} is outside the range {range_text(limits)}{hint}")


class Estimator(ABC):
    """Maximum likelihood from sums of rewards, for one family."""

    family: ClassVar[str]
    """The family's name."""
    given: ClassVar[tuple[str, ...]] = ()
    """What the user may say, and is found from the log otherwise."""
    integer: ClassVar[bool] = True
    """Whether statistics are whole numbers, so that many units have the same."""
    statistics: int = 1
    """How many sums are kept of rewards."""

    @classmethod
    @abstractmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> Self:
        """Make an estimator for these rewards; the first impossible one is an error at its row."""

    @abstractmethod
    def statistics_of(self, values: Floats) -> Floats:
        """Return the statistics of each reward, [row, k]."""

    @abstractmethod
    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return the likeliest parameters, [pair, type, d], and the common ones.

        They follow from plays [pair, type] and sums [pair, type, k]. Newton's method starts from
        ``common`` and, if given, from the parameters ``near``.
        """

    @abstractmethod
    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        """Return base[pair, type] and cost[pair, type, k] of the likelihood."""

    @abstractmethod
    def means(self, parameters: Floats, common: Floats) -> Floats:
        """Return the mean rewards, [pair, type], in the user's units."""

    def rows(self, parameters: Floats, common: Floats) -> Floats:
        """Return what a problem file says of each pair and type: the means, or [.., value]."""
        return self.means(parameters, common)

    @abstractmethod
    def fields(self, common: Floats) -> dict[str, Any]:
        """Return what a problem file says besides: the family's fields, and the range, if any."""

    @property
    def begin(self) -> Floats:
        """Where Newton's method for the common parameters starts."""
        return np.zeros(0)

    def pooled(self, plays: Floats, sums: Floats, within: Floats | None) -> Floats:
        """Return the mean statistics of a reward of each pair, over all units: [pair, k].

        Half a reward of all arms together is added, for arms that were played little. ``within``
        are the sum of squares within cells and its degrees of freedom, for families that use them.
        """
        everywhere = sums.sum(axis=0) / plays.sum()
        pooled: Floats = (sums + 0.5 * everywhere) / (plays[:, np.newaxis] + 0.5)
        return pooled
