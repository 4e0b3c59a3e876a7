"""Two policies compared: both play run r with the same random stream, so differences are paired."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Comparison:
    """The mean difference in final regret of two policies, first minus second, paired by run.

    ``low`` and ``high`` are the ends of its interval at ``level``.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        better, low, high = self.second, self.low, self.high
        if high < 0:
            better, low, high = self.first, -high, -low
        interval = f"({self.level:.0%} interval {low:.4g} … {high:.4g})"
        if low > 0:
            return f"{better} has the lower regret, by {abs(self.difference):.4g} {interval}"
        return f"no clear difference: {self.difference:.4g} {interval}"

    __repr__ = __str__
