"""The control group of an experiment: units that always get one arm.

Whether a unit belongs to it is a hash of its name and the experiment's seed: that never changes, is
the same for all servers, and does not depend on when or how often the unit is asked for.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple


class Control(NamedTuple):
    """Units that always get ``arm``: about this ``share`` of all, by a hash with ``seed``."""

    arm: str
    share: float
    seed: int

    @classmethod
    def of(cls, definition: str) -> Control | None:
        """Return the control group of an experiment's definition, if it has one."""
        fields = json.loads(definition)
        control = fields.get("control")
        return control and cls(control["arm"], control["share"], fields["seed"])

    def has(self, unit: str) -> bool:
        """Tell whether a unit belongs to the group.

        >>> sum(Control("9 EUR", 0.1, seed=0).has(f"user-{n}") for n in range(10_000))
        973
        """
        digest = hashlib.sha256(f"control {self.seed} {unit}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < self.share * 2**64
