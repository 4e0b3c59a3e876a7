"""`Evaluation`: what policies would have earned on a log, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fpbandits.evaluation.estimates import Estimate


@dataclass(frozen=True)
class Earned:
    """What a policy would have earned.

    Attributes
    ----------
    mean
        Reward per decision.
    difference
        How much that is above the log's own reward per decision.
    decisions, units
        How many decisions were accepted, and of how many units.
    """

    mean: Estimate
    difference: Estimate
    decisions: int
    units: int


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What policies would have earned per decision, beside what the log did.

    Attributes
    ----------
    source, problem
        What the log and the models are called.
    log
        The log's own reward per decision.
    policies
        What each policy would have earned, by name.
    units, events, usable
        How many units and rows the log has, and how many of these could be used.
    least_propensity
        The share of rows that each policy accepts, on average.
    seed
        What the coins and the policies' own randomness came from.
    warnings
        What to mind, in words.
    """

    source: str
    problem: str
    log: Estimate
    policies: Mapping[str, Earned]
    units: int
    events: int
    usable: int
    least_propensity: float
    seed: int
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as ``fpbandits evaluate --json`` prints it."""
        return {
            "source": self.source,
            "problem": self.problem,
            "units": self.units,
            "events": self.events,
            "usable": self.usable,
            "least_propensity": self.least_propensity,
            "seed": self.seed,
            "log": {"mean": self.log.value, "interval": list(self.log.interval)},
            "policies": {
                name: {
                    "mean": earned.mean.value,
                    "interval": list(earned.mean.interval),
                    "difference": earned.difference.value,
                    "difference_interval": list(earned.difference.interval),
                    "decisions": earned.decisions,
                    "units": earned.units,
                }
                for name, earned in self.policies.items()
            },
            "warnings": list(self.warnings),
        }

    def table(self) -> str:
        """Return it as text: a row for the log, and one per policy."""
        from fpbandits.evaluation.report import evaluation_table

        return evaluation_table(self)

    def __repr__(self) -> str:
        return self.table()
