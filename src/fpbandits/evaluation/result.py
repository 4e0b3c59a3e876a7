"""`Evaluation`: what policies would have earned on a log, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fpbandits.core.checks import known_name
from fpbandits.evaluation.estimates import Estimate, Ratio

THE_LOG = "the log"


@dataclass(frozen=True)
class Earned:
    """What a policy or a baseline would have earned, or what the log did earn.

    Attributes
    ----------
    ratio
        Reward per decision, and by how much each unit moves it.
    decisions
        How many decisions were accepted; for the log, all.
    """

    ratio: Ratio
    decisions: int

    @cached_property
    def mean(self) -> Estimate:
        """Reward per decision, with its interval."""
        return self.ratio.estimate()

    @property
    def units(self) -> int:
        """How many units made decisions."""
        return self.ratio.units


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What policies would have earned per decision, beside baselines and the log.

    Attributes
    ----------
    source, problem
        Names of the log and of the models.
    log
        What the log itself earned.
    baselines
        What one arm played for good would have earned: the best single arm by the models, and the
        best of each context; or, where not all arms were eligible, the best eligible one.
    policies
        What each policy would have earned, by name.
    events, usable
        How many rows the log has, and how many of these are usable.
    least_propensity
        The least propensity of any arm: about this share of all rows is accepted by each policy.
    seed
        The seed of the thinning and of randomised policies.
    warnings
        What to know before trusting the numbers, in words.
    """

    source: str
    problem: str
    log: Earned
    baselines: Mapping[str, Earned]
    policies: Mapping[str, Earned]
    events: int
    usable: int
    least_propensity: float
    seed: int
    warnings: tuple[str, ...]

    @property
    def units(self) -> int:
        """How many units the log has."""
        return self.log.units

    @property
    def rows(self) -> dict[str, Earned]:
        """The log, the baselines and the policies, by name."""
        return {THE_LOG: self.log, **self.baselines, **self.policies}

    def difference(self, one: str, other: str) -> Estimate:
        """Return by how much one earned more than another, paired by units, with its interval.

        Each is the name of a policy or a baseline, or "the log".
        """
        rows = self.rows
        first, second = (rows[known_name("policy", name, rows)] for name in (one, other))
        return first.ratio.above(second.ratio)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as ``fpbandits evaluate --json`` prints it."""

        def content(name: str, earned: Earned) -> dict[str, Any]:
            others = {other: self.difference(name, other) for other in self.rows if other != name}
            return {
                "mean": earned.mean.value,
                "interval": list(earned.mean.interval),
                "above": {
                    other: {"mean": more.value, "interval": list(more.interval)}
                    for other, more in others.items()
                },
                "decisions": earned.decisions,
                "units": earned.units,
            }

        return {
            "source": self.source,
            "problem": self.problem,
            "units": self.units,
            "events": self.events,
            "usable": self.usable,
            "least_propensity": self.least_propensity,
            "seed": self.seed,
            "log": content(THE_LOG, self.log),
            "baselines": {name: content(name, each) for name, each in self.baselines.items()},
            "policies": {name: content(name, each) for name, each in self.policies.items()},
            "warnings": list(self.warnings),
        }

    def table(self) -> str:
        """Return it as text: the log, the baselines and the policies, a row each."""
        from fpbandits.evaluation.report import evaluation_table

        return evaluation_table(self)

    def __repr__(self) -> str:
        return self.table()
