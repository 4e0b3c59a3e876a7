"""What a reward family is: the reward distributions of a problem, as the package uses them.

Arm i played under the model θ pays independent rewards from a known distribution P_i(·; θ), its
*law*, with mean μ_i(θ). A *family* holds these laws for all of Θ at once. Its ``means`` and
``range`` are in the user's units. Everything that it computes (draws, divergences) is on a scale of
its own: a bounded range is mapped to [0, 1], and rewards without a range are measured in a unit in
which their standard deviation is at most ½, as it is for rewards in [0, 1]. "On [0, 1]" and "in
units" both mean that scale.

The laws under one model are a row of numbers per arm (`RewardFamily.law`), and drawing from them is
a plain function of numbers (`RewardFamily.draw_sum`), which the simulator compiles as it stands.

**Sufficient statistics.** Beside the sum of an arm's rewards a family may keep a few more sums over
them, its *statistics* s_1 … s_K. With these the negative log-likelihood is linear: up to a term
that all models share, n rewards of arm i cost the model θ

    −ℓ_i(θ) = n·base_i(θ) + Σ_k s_k·cost_ik(θ)

nats; `RewardFamily.costs` returns base and cost. Bernoulli rewards need nothing but their sum.

`RewardFamily.checked` validates what the user gives. Nothing is validated after that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Bools, Floats, Ints
from fpbandits.core.checks import Numbers, Range, range_text
from fpbandits.core.names import Names


def freeze(array: Floats) -> Floats:
    """Return the array read-only and row by row in memory: itself, or else a copy."""
    plain = np.ascontiguousarray(array, np.float64)
    plain.setflags(write=False)
    return plain


@dataclass(frozen=True, eq=False, kw_only=True)
class RewardFamily(ABC):
    """The laws of all arms under all models.

    Attributes
    ----------
    means
        μ_i(θ) in the user's units: a row per model, a column per arm.
    range
        The lowest and the highest reward in the user's units; mapped to 0 and 1.
    """

    name: ClassVar[str]
    """The family's name in problem files."""
    table: ClassVar[str] = "means"
    """The attribute that holds a row per model, as `checked` takes it: [model, arm, …]."""
    fields: ClassVar[tuple[str, ...]] = ()
    """What a problem file must say beside the rows of models, as attributes of the family."""
    optional: ClassVar[tuple[str, ...]] = ()
    """What a problem file may say besides."""
    sum_in_one_draw: ClassVar[bool]
    """Whether `draw_sum` costs one draw, however many plays it adds up."""
    all_or_nothing: ClassVar[bool] = False
    """Whether every reward is one end of the range."""
    bounded: ClassVar[bool] = True
    """Whether rewards have a range."""
    takes_range: ClassVar[bool] = True
    """Whether the user may give that range."""
    statistics_stay_near: ClassVar[bool] = True
    """Whether sums of statistics stay as near to their expectation as sums of rewards do: within
    √(m·spread) over m plays, see `fpbandits.engine.envelope`."""
    leaps: ClassVar[bool] = True
    """Whether sums of rewards stay as near to their expectation as sums of rewards in [0, 1] do, so
    that simulations may leap."""

    means: Floats
    range: Range = (0.0, 1.0)

    def __post_init__(self) -> None:
        self.__setstate__(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make all arrays read-only, also in a family that was copied or unpickled."""
        vars(self).update(
            {
                name: freeze(value) if isinstance(value, np.ndarray) else value
                for name, value in state.items()
            }
        )

    @classmethod
    @abstractmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Self:
        """Validate a row per model and the fields, and make a family of them.

        ``names`` holds the models and arms, for errors.
        """

    @property
    def rows(self) -> Floats:
        """A row per model, from which `checked` makes the same family."""
        rows: Floats = getattr(self, self.table)
        return rows

    @property
    def content(self) -> Mapping[str, Floats | float]:
        """Its fields by name, and its rows as "rows": what defines it besides name and range."""
        rows, fields = {"rows": self.rows}, {name: getattr(self, name) for name in self.fields}
        # The order is part of a problem's fingerprint.
        return rows | fields if self.table == "means" else fields | rows

    def __str__(self) -> str:
        """Return what kind of rewards these are, in words."""
        return f"{self.name} rewards in {range_text(self.range)}"

    @cached_property
    def unit_means(self) -> Floats:
        """μ_i(θ) on [0, 1]."""
        return freeze(self.to_unit(self.means))

    @property
    def statistics(self) -> int:
        """The number of statistics, K, beside the sum of rewards."""
        return 0

    @cached_property
    def zero(self) -> float:
        """The reward in the user's units that is mapped to 0."""
        return self.range[0]

    @cached_property
    def width(self) -> float:
        """How many of the user's units make one unit: the width of the range."""
        return self.range[1] - self.range[0]

    @property
    def possible(self) -> Floats | None:
        """All possible rewards, in the user's units; None if they are not a list of values."""
        return np.array(self.range) if self.all_or_nothing else None

    def to_unit(self, values: Floats) -> Floats:
        """Map the user's units to [0, 1]."""
        is_unit = self.zero == 0 and self.width == 1
        return values if is_unit else (values - self.zero) / self.width

    def chances(self) -> Floats | None:
        """Return the probability of each value, [model, arm, value]; None if there are too many."""
        return None

    @abstractmethod
    def law(self, model: int) -> Floats:
        """Return the numbers that `draw_sum` needs under one model: a new array, a row per arm."""

    @staticmethod
    @abstractmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw the sum of ``plays`` rewards of an arm, from its exact distribution; compiled.

        The arm's ``statistics``, an array of K sums, grow by those of the rewards drawn.
        """

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        """Return the statistics of one reward on [0, 1]; an impossible one is an error."""
        return ()

    def costs(self) -> tuple[Floats, Floats] | None:
        """Return base[θ, arm] and cost[θ, arm, k] of −ℓ, as the module's docstring defines them.

        None if there are no statistics: then −ℓ is that of Bernoulli rewards with the same sum.
        """
        return None

    def expected(self, model: int) -> Floats:
        """Return the expectation of each statistic of one reward under a model, [arm, k]."""
        return np.zeros((self.means.shape[1], 0))

    def variances(self) -> Floats | None:
        """Return the variance of a reward on [0, 1], [θ, arm]; None if its spread is not tested."""
        return None

    def with_rows(self, rows: Floats, **fields: Any) -> Self:
        """Return a family with another row per model, and perhaps other fields."""
        fields[self.table] = rows
        return replace(self, **fields)

    def reordered(self, models: Ints, arms: Ints) -> Self:
        """Return a family of these models and these arms, given by index, in this order."""
        return self.with_rows(self.rows[np.ix_(models, arms)])

    def side_by_side(self) -> Self:
        """Return one model whose arms are those of the first model, then the second, and so on."""
        return self.with_rows(self.rows.reshape(1, -1, *self.rows.shape[2:]))

    def stacked(self, others: Sequence[Self]) -> Self:
        """Return these models and, below them, those of families that are alike in all else."""
        return self.with_rows(np.concatenate([self.rows, *(other.rows for other in others)]))

    def of_means(self, means: Numbers, names: Names) -> Self:
        """Return a family of one model with these means, validated, alike in all else."""
        fields = {field: getattr(self, field) for field in self.fields}
        return self.checked([list(means)], names, self.range, **fields)

    @abstractmethod
    def divergence(self, truth: int, others: Ints) -> Floats:
        """Return D_i(truth‖θ) for θ in ``others``, the Kullback–Leibler divergence: [θ, arm], nats.

        Infinite where a reward possible under ``truth`` is impossible under θ.
        """

    def same_law(self, truth: int, arm: int) -> Bools:
        """Return, for each model, whether ``arm`` has the same law under it as under ``truth``."""
        means = self.unit_means[:, arm]
        same: Bools = np.abs(means - means[truth]) <= TOLERANCE
        return same
