"""Maximum likelihood for a reward family: what `fit` needs of it.

A log holds rewards of pairs (an arm, or a context and an arm), paid to units of unknown types. The
*estimator* of a family says which sums over rewards are sufficient statistics, and finds reward
distributions from these sums. Each pair and type has d real *parameters* (the log-odds of a
probability, a mean). A few more, the *common* parameters, are the same for all pairs and types (the
logarithm of a deviation). The negative log-likelihood of n rewards with sums s, with densities in
the user's units, is

    −ℓ = n·base + Σ_k s_k·cost_k,

where base and cost depend on the parameters (`Estimator.laws`). `Estimator.maximise` finds the
likeliest parameters from plays and sums. Scores and standard errors follow from `laws` by finite
differences.

Arrays are [pair, type], [pair, type, k] by statistic, or [pair, type, d] by parameter.
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

LEAST_CHANCE = 1e-11
"""Fitted probabilities are at least this, so that their logarithms are finite."""
LARGEST_LOG_ODDS = 25.0
"""Log-odds of a fitted probability are at most this, and at least minus this: e⁻²⁵ ≈ 1e-11."""

_LARGEST_REWARD = 1e15
"""The largest reward of a log without a range: sums of squares keep their digits."""

_REVENUE_ZEROS = 0.02
"""Rewards look like revenue if more than this share of them is 0."""
_FEW_VALUES = 20
"""Rewards look discrete if they have at most this many values."""

Codes = NDArray[np.int32]
"""The index of a unit, a pair or a set of eligible arms, in each row of a log."""


@dataclass(frozen=True)
class Rewards:
    """The rewards of a log, row by row, and the pair of each.

    Attributes
    ----------
    values
        The rewards, in the user's units.
    pairs
        The index of each reward's pair.
    names
        The names of the pairs.
    range
        The lowest and the highest possible reward, if the user gave them.
    arms
        The names of the arms; pairs are contexts and arms, arms varying fastest.
    """

    values: Floats
    pairs: Codes
    names: Sequence[str]
    range: Range | None
    arms: Sequence[str]

    def refuse(self, is_wrong: Bools, reason: str) -> None:
        """Raise an error at the first wrong row, if any; ``{}`` in the reason is its reward."""
        if is_wrong.any():
            row = int(is_wrong.argmax())
            value = number_text(float(self.values[row]))
            raise InputError(f"the reward {reason.format(value)}", place=(("index", row),))

    def refuse_huge(self) -> None:
        """Raise an error at the first reward that is too large."""
        self.refuse(np.abs(self.values) > _LARGEST_REWARD, "{} is beyond 1e15: scale the rewards")

    def suggest_families(self) -> str:
        """Return the options that choose families which these rewards look like, in words."""
        options = []
        if self.values.min() >= 0 and (self.values == 0).mean() > _REVENUE_ZEROS:
            options.append("--family revenue (0 or an amount that varies)")
        if len(np.unique(self.values)) <= _FEW_VALUES:
            options.append("--family discrete (one of a few values)")
        return " or ".join(options or ["--family beta (a range) or gaussian (no limits)"])

    def refuse_outside(self, limits: Range) -> None:
        """Raise an error at the first reward outside a range."""
        hint = "" if self.range else "; for other units give a range, as 0,15"
        outside = (self.values < limits[0]) | (self.values > limits[1])
        self.refuse(outside, f"{{}} is outside the range {range_text(limits)}{hint}")


def log_odds_of(chances: Floats) -> Floats:
    """Return the log-odds of probabilities, after keeping these away from 0 and 1."""
    inside = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)
    log_odds: Floats = np.log(inside) - np.log1p(-inside)
    return log_odds


def chances_of(log_odds: Floats) -> Floats:
    """Return the probabilities with these log-odds."""
    chances: Floats = 1 / (1 + np.exp(-log_odds))
    return chances


class Estimator(ABC):
    """Maximum likelihood from sums of rewards, for one family."""

    family: ClassVar[str]
    """The family's name."""
    given: ClassVar[tuple[str, ...]] = ()
    """The fields of the family that the user may give; else they are found from the log."""
    integer: ClassVar[bool] = True
    """Whether statistics are whole numbers, so that many units have the same ones."""
    statistics: int = 1
    """The number of statistics of a reward."""

    @classmethod
    @abstractmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> Self:
        """Make an estimator for these rewards, with the fields that the user gave.

        The first impossible reward is an error at its row.
        """

    @abstractmethod
    def statistics_of(self, values: Floats) -> Floats:
        """Return the statistics of each reward, [row, k]."""

    @abstractmethod
    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return the likeliest parameters, [pair, type, d], and the common ones.

        They follow from plays [pair, type] and sums of statistics [pair, type, k]. Newton's method
        starts from ``common`` and, if given, from the parameters ``near``.
        """

    @abstractmethod
    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        """Return base[pair, type] and cost[pair, type, k] of the likelihood."""

    @abstractmethod
    def means(self, parameters: Floats, common: Floats) -> Floats:
        """Return the mean rewards, [pair, type], in the user's units."""

    def rows(self, parameters: Floats, common: Floats) -> Floats:
        """Return a problem file's entry for each pair and type: the mean, or a list of numbers."""
        return self.means(parameters, common)

    @abstractmethod
    def fields(self, common: Floats) -> dict[str, Any]:
        """Return the family's fields in a problem file, and the range, if there is one."""

    @property
    def begin(self) -> Floats:
        """The common parameters from which Newton's method starts."""
        return np.zeros(0)

    def pooled(self, plays: Floats, sums: Floats, within: Floats | None) -> Floats:
        """Return the mean statistics of a reward of each pair, over all units: [pair, k].

        Half a reward of the mean over all pairs is added, for pairs that were played little.
        ``within`` holds the sum of squares within cells and its degrees of freedom, for families
        that use them.
        """
        overall = sums.sum(axis=0) / plays.sum()
        pooled: Floats = (sums + 0.5 * overall) / (plays[:, np.newaxis] + 0.5)
        return pooled
