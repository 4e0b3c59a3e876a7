"""What a reward family is: all that the rest of the package asks of reward laws.

The setting: arm i played under the model θ pays independent rewards from a known law
P_i(·; θ) with mean μ_i(θ). A *family* holds these laws for all of Θ at once, in the user's own
units as given (``means``, ``range``). A bounded range is mapped to [0, 1], where the theory lives;
rewards without one are measured in a unit in which they are sub-Gaussian with parameter ½, as all
rewards in [0, 1] are. Everything a family computes (draws, divergences) is in that unit.

The laws under one model are a row of numbers per arm (`RewardFamily.law`), and drawing from it
is a plain function of numbers, `RewardFamily.draw_sum`: the simulator compiles that very function.

**Sufficient statistics.** Beside the sum of an arm's rewards a family may keep a few more numbers
of them, its *statistics* s_1 … s_K, sums over rewards too. With them the likelihood is linear: up
to a term that all models share, n rewards of arm i cost the model θ

    −ℓ_i(θ) = n·base_i(θ) + Σ_k s_k·cost_ik(θ),

and `RewardFamily.costs` gives these numbers. Bernoulli rewards need nothing but their sum.

A family checks what it is given when it is made by `RewardFamily.checked`, and never again.
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


def frozen(array: Floats) -> Floats:
    """Return a plain array that cannot be written to, row by row in memory."""
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
    """The word for it in problem files."""
    table: ClassVar[str] = "means"
    """The attribute that holds a row per model, as `checked` takes them: [model, arm, …]."""
    fields: ClassVar[tuple[str, ...]] = ()
    """What a problem file says of it, besides a row of numbers per model."""
    optional: ClassVar[tuple[str, ...]] = ()
    """What it may say, and need not."""
    sum_in_one_draw: ClassVar[bool]
    """Whether `draw_sum` costs one draw, however many plays it adds up."""
    all_or_nothing: ClassVar[bool] = False
    """Whether every reward is 0 or 1 on [0, 1]."""
    bounded: ClassVar[bool] = True
    """Whether rewards have a range."""
    takes_range: ClassVar[bool] = True
    """Whether that range is for the user to say."""
    statistics_stay_near: ClassVar[bool] = True
    """Whether sums of statistics stay as near to their expectation as those of rewards do: within
    √(m·spread) over m plays, see `fpbandits.engine.envelope`."""

    leaps: ClassVar[bool] = True
    """Whether sums of rewards stay as near to their expectation as those in [0, 1] do, so that
    simulations may leap."""

    means: Floats
    range: Range = (0.0, 1.0)

    def __post_init__(self) -> None:
        self.__setstate__(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Keep what a family holds from changing: also one that was copied or unpickled."""
        vars(self).update(
            {
                key: frozen(part) if isinstance(part, np.ndarray) else part
                for key, part in state.items()
            }
        )

    @classmethod
    @abstractmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Self:
        """Make a family from a row per model and its fields, or say what is wrong with them."""

    @property
    def rows(self) -> Floats:
        """The rows that `checked` makes the same family of."""
        rows: Floats = getattr(self, self.table)
        return rows

    @property
    def content(self) -> Mapping[str, Floats | float]:
        """All that tells it from others of its family: its fields, and its rows under "rows"."""
        rows, fields = {"rows": self.rows}, {name: getattr(self, name) for name in self.fields}
        # The order is part of a problem's fingerprint.
        return rows | fields if self.table == "means" else fields | rows

    def __str__(self) -> str:
        """Return what kind of rewards these are, in words."""
        return f"{self.name} rewards in {range_text(self.range)}"

    @cached_property
    def unit_means(self) -> Floats:
        """μ_i(θ) on [0, 1]."""
        return frozen(self.to_unit(self.means))

    @property
    def statistics(self) -> int:
        """How many numbers are kept of an arm's rewards beside their sum."""
        return 0

    @property
    def zero(self) -> float:
        """What 0 is in the user's units."""
        return self.range[0]

    @property
    def width(self) -> float:
        """How many of the user's units make one unit; the width of the range."""
        return self.range[1] - self.range[0]

    @property
    def possible(self) -> Floats | None:
        """All rewards that there can be, in the user's units; None for the whole range."""
        return np.array(self.range) if self.all_or_nothing else None

    def to_unit(self, values: Floats) -> Floats:
        """Map the user's units to [0, 1]."""
        same = self.zero == 0 and self.width == 1
        return values if same else (values - self.zero) / self.width

    def chances(self) -> Floats | None:
        """Return the probability of each reward, [model, arm, reward]; None if they are many."""
        return None

    @abstractmethod
    def law(self, model: int) -> Floats:
        """Return what `draw_sum` draws by under one model: a new array, a row per arm."""

    @staticmethod
    @abstractmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw the sum of ``plays`` rewards of an arm, with exactly its law; compiled.

        What was drawn is added to the arm's ``statistics`` as well.
        """

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        """Return the statistics of one reward, in units, or say that it is impossible."""
        return ()

    def costs(self) -> tuple[Floats, Floats] | None:
        """Return base[θ, arm] and cost[θ, arm, k], which make up −ℓ: see the module's docstring.

        None where the sum of rewards is enough, and its likelihood that of Bernoulli rewards.
        """
        return None

    def expected(self, model: int) -> Floats:
        """Return the expectation of each statistic of one reward, [arm, k]."""
        return np.zeros((self.means.shape[1], 0))

    def variances(self) -> Floats | None:
        """Return the variance of a reward, in units, [θ, arm]; None where it follows from means."""
        return None

    def with_rows(self, rows: Floats, **fields: Any) -> Self:
        """Return a family with another row per model, and perhaps other fields."""
        fields[self.table] = rows
        return replace(self, **fields)

    def reordered(self, models: Ints, arms: Ints) -> Self:
        """Return the same models and arms in another order, or some of them."""
        return self.with_rows(self.rows[np.ix_(models, arms)])

    def side_by_side(self) -> Self:
        """Return one model with the arms of the first, then those of the second, and so on."""
        return self.with_rows(self.rows.reshape(1, -1, *self.rows.shape[2:]))

    def stacked(self, others: Sequence[Self]) -> Self:
        """Return these models and, below them, those of others that are alike in all else."""
        return self.with_rows(np.concatenate([self.rows, *(other.rows for other in others)]))

    def of_means(self, means: Numbers, names: Names) -> Self:
        """Return one model with these means, checked as those of a problem, alike in all else."""
        fields = {field: getattr(self, field) for field in self.fields}
        return self.checked([list(means)], names, self.range, **fields)

    @abstractmethod
    def divergence(self, truth: int, others: Ints) -> Floats:
        """Return D_i(truth‖θ), the Kullback–Leibler divergence in nats, by θ and arm.

        Infinite where a reward possible under ``truth`` is impossible under θ.
        """

    def same_law(self, truth: int, arm: int) -> Bools:
        """Tell which models give ``arm`` the very law that it has under ``truth``."""
        means = self.unit_means[:, arm]
        same: Bools = np.abs(means - means[truth]) <= TOLERANCE
        return same
