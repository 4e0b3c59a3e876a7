"""What sales cost: a log of revenue as one of profit.

Where something was sold, that is where the reward is not 0, the profit is the reward less the cost
of the arm; elsewhere it is 0.
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
        found = f"cost has {len(given)} numbers for {counted(len(log.arms), 'arm')}"
        names = ", ".join(log.arms[:8]) + (", …" if len(log.arms) > 8 else "")
        raise InputError(f"{found}, which are, in order, {names}", about=("cost",))
    costs = np.array([number(each, "cost") for each in given])[log.pair % len(log.arms)]
    sold = log.reward != 0
    nothing = sold & (log.reward == costs)
    if nothing.any():
        row = int(nothing.argmax())
        price = number_text(float(log.reward[row]))
        raise InputError(
            f"it was sold for {price}, which is its cost: a profit of 0 cannot be told from no "
            "sale. Leave the arm out, or give its cost more exactly",
            place=(("index", row), ("arm", log.arms[log.pair[row] % len(log.arms)])),
        )
    return replace(log, reward=np.where(sold, log.reward - costs, 0.0))
