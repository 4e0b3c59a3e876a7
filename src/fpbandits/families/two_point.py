"""Two-point rewards: an arm pays a value of its own with some probability, else 0.

An example is a price, which is paid or not, and differs from arm to arm. In a problem file these
are Bernoulli rewards with a ``value`` for each arm, and a row holds probabilities. The mean reward
of an arm is its probability times its value. The range goes from the lowest to the highest of all
values and 0.

The statistics are how often an arm paid, and how often it did not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fpbandits.core import checks
from fpbandits.core.arrays import TOLERANCE, Bools, Floats, Ints
from fpbandits.core.checks import Numbers, Range, number_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_means
from fpbandits.errors import InputError, counted, quote, wrong_type
from fpbandits.families.base import RewardFamily, freeze
from fpbandits.families.binomial import draw_binomial
from fpbandits.families.information import information_of_chances, minus_log


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoPoint(RewardFamily):
    """Rewards of ``value[arm]`` with probability ``probabilities[θ, arm]``, else 0."""

    name = "bernoulli"
    table = "probabilities"
    fields = ("value",)
    sum_in_one_draw = True
    takes_range = False

    value: Floats
    probabilities: Floats
    means: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", np.clip(self.probabilities * self.value, *self.range))
        super().__post_init__()

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> TwoPoint:
        if range != (0.0, 1.0):
            reason = "value says what each arm can pay: leave out the range"
            raise InputError(reason, about=("range",))
        value = _checked_values(fields["value"], names)
        limits = min(0.0, float(value.min())), max(0.0, float(value.max()))
        chances = checked_means(rows, names, (-math.inf, math.inf))
        for row, column in np.argwhere(~((chances >= 0) & (chances <= 1))):
            chance = checks.number(float(chances[row, column]), *names.place(row, column))
            raise InputError(
                f"{number_text(chance)} is not a probability: with value, a row holds how likely "
                "each arm pays its value, and the mean reward is their product"
            ).at(*names.place(row, column))
        return cls(value=value, probabilities=chances, range=limits)

    def __str__(self) -> str:
        distinct = list(dict.fromkeys(self.value.tolist()))  # contexts have the same ones
        values = ", ".join(map(number_text, distinct[:4]))
        return f"{self.name} rewards of 0 or {values}{', …' if len(distinct) > 4 else ''}"

    @cached_property
    def unit_value(self) -> Floats:
        """The values on [0, 1]."""
        return freeze(self.to_unit(self.value))

    @cached_property
    def _unit_values(self) -> list[float]:
        """The values on [0, 1], in a list: agents look one up per reward."""
        return list(map(float, self.unit_value))

    @cached_property
    def _unit_nothing(self) -> float:
        """A reward of 0 in the user's units, on [0, 1]."""
        return float(self.to_unit(np.array(0.0)))

    def chances(self) -> Floats:
        return np.stack([1 - self.probabilities, self.probabilities], axis=-1)

    def law(self, model: int) -> Floats:
        """Return for each arm the probability of its value, and on [0, 1] that value and 0."""
        nothing = np.full_like(self.unit_value, self._unit_nothing)
        return np.column_stack([self.probabilities[model], self.unit_value, nothing])

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw how often the value is paid, by a binomial."""
        if plays == 1:  # quicker than a call
            paid = 1 if random.random() < law[arm, 0] else 0
        else:
            paid = draw_binomial(plays, law[arm, 0], random)
        statistics[0] += paid
        statistics[1] += plays - paid
        return float(paid * law[arm, 1] + (plays - paid) * law[arm, 2])

    @property
    def statistics(self) -> int:
        return 2

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        paid, nothing = self._unit_values[arm], self._unit_nothing
        near = TOLERANCE * abs(paid - nothing)  # a value may be tiny beside those of other arms
        if abs(reward - paid) <= near:
            return 1.0, 0.0
        if abs(reward - nothing) <= near:
            return 0.0, 1.0
        given, value = self.zero + self.width * reward, float(self.value[arm])
        raise InputError(f"{number_text(given)} is neither 0 nor the value {number_text(value)}")

    def costs(self) -> tuple[Floats, Floats]:
        p = self.probabilities
        return np.zeros_like(p), minus_log(np.stack([p, 1 - p], axis=-1))

    def expected(self, model: int) -> Floats:
        p = self.probabilities[model]
        return np.stack([p, 1 - p], axis=-1)

    def reordered(self, models: Ints, arms: Ints) -> TwoPoint:
        return self.with_rows(self.rows[np.ix_(models, arms)], value=self.value[arms])

    def side_by_side(self) -> TwoPoint:
        return self.with_rows(self.rows.reshape(1, -1), value=np.tile(self.value, len(self.rows)))

    def of_means(self, means: Numbers, names: Names) -> TwoPoint:
        """Divide each mean by its arm's value, which gives the probability."""
        given = names.check_count(0, means)
        rewards = np.array([checks.number(m, *names.place(0, arm)) for arm, m in enumerate(given)])
        # All of them may be chances, mistaken for means: 0.3 of 9 EUR, say, where the mean reward
        # is above 0.3 EUR under every model.
        below = rewards < np.minimum(np.abs(self.means).min(axis=0), 1)
        if (below & (rewards >= 0)).all():
            wanted = ",".join(f"{mean:.6g}" for mean in rewards * self.value)
            raise InputError(
                f"are these chances, or mean rewards? For chances give the mean rewards {wanted} "
                f"(chance × value). Mean rewards as low as {rewards.max():.6g}, below those of "
                "every model, are given as a model of the file"
            )
        chances = rewards / self.value
        for arm in np.flatnonzero(~((chances >= 0) & (chances <= 1))):
            mean, value = number_text(rewards[arm]), number_text(self.value[arm])
            reason = f"the mean reward {mean} is not between 0 and {value}, what the arm pays"
            raise InputError(reason, place=names.place(0, int(arm)))
        return self.checked([chances.tolist()], names, (0.0, 1.0), value=self.value)

    def divergence(self, truth: int, others: Ints) -> Floats:
        return information_of_chances(self.probabilities[truth], self.probabilities[others])

    def same_law(self, truth: int, arm: int) -> Bools:
        chances = self.probabilities[:, arm]
        same: Bools = np.abs(chances - chances[truth]) <= TOLERANCE
        return same


def profits(value: Any, cost: Any) -> Any:
    """Return value less cost, by arm; the cost is one number for all arms, or a list."""
    if value is None:
        raise InputError("cost goes with value: profit = value − cost", about=("cost",))
    if not checks.is_list(value):
        return value  # `TwoPoint.checked` refuses it
    costs = checks.plain_list(cost) if checks.is_list(cost) else [cost] * len(value)
    if len(costs) != len(value):
        reason = f"cost has {len(costs)} numbers for {len(value)} in value"
        raise InputError(reason, about=("cost",))
    both = zip(checks.plain_list(value), costs, strict=True)
    return [checks.number(price, "value") - checks.number(spent, "cost") for price, spent in both]


def _checked_values(given: Any, names: Names) -> Floats:
    """Return a value for each column of the table: given by arm, or by context and arm."""
    if not checks.is_list(given):
        raise wrong_type("value", given, "a list with what each arm can pay")
    values = checks.plain_list(given)
    if len(values) not in (len(names.arms), names.columns):
        reason = f"value has {len(values)} numbers for {counted(len(names.arms), 'arm')}"
        raise InputError(reason, about=("value",))
    arms = names.arms * (len(values) // len(names.arms))
    both = zip(values, arms, strict=True)
    numbers = np.array([checks.number(value, ("value", arm)) for value, arm in both])
    for index in np.flatnonzero(numbers == 0):
        reason = f"arm {quote(arms[index])} pays 0 at best: leave it out"
        raise InputError(reason, place=("value",))
    return np.tile(numbers, names.columns // len(numbers))
