"""What sales cost: turns a log of revenue into one of profit.

If something was sold, that is if the reward is not 0, the profit is the reward minus the cost of
the arm; otherwise it is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import is_list, number, number_text, plain_list
from fpbandits.errors import InputError, counted
from fpbandits.logs.log import Log


def less_cost(log: Log, cost: float | Sequence[float] | Floats | None) -> Log:
    """Return a log of profit; ``cost`` is that of a sale, one for all arms or one for each."""
    if cost is None:
        return log
    given = list(plain_list(cost)) if is_list(cost) else [cost]
    given *= len(log.arms) if len(given) == 1 else 1
    if len(given) != len(log.arms):
        counts = f"cost has {len(given)} numbers for {counted(len(log.arms), 'arm')}"
        names = ", ".join(log.arms[:8]) + (", …" if len(log.arms) > 8 else "")
        raise InputError(f"{counts}, which are, in order, {names}", about=("cost",))
    costs = np.array([number(value, "cost") for value in given])[log.pair % len(log.arms)]
    sold = log.reward != 0
    if sold.any() and (log.reward[sold] == 1).all() and (costs[sold] > 1).all():
        raise InputError(
            "every sale has the reward 1, which is less than its cost: a reward is what was paid",
            about=("cost",),
        )
    at_cost = sold & (log.reward == costs)
    if at_cost.any():
        row = int(at_cost.argmax())
        price = number_text(float(log.reward[row]))
        raise InputError(
            f"it was sold for {price}, which is its cost: a profit of 0 cannot be told from no "
            "sale. Leave the arm out, or give its cost more exactly",
            place=(("index", row), ("arm", log.arms[log.pair[row] % len(log.arms)])),
        )
    return replace(log, reward=np.where(sold, log.reward - costs, 0.0))
