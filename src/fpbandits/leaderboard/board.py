"""Standings of policies in each contest, and their scores over all of them.

A policy's *score* says how many times the best policy's regret it pays on average: 1 is to be the
best in every contest, 2 is to pay twice as much. It is the geometric mean of

    (its mean regret + ½) / (the least mean regret of any policy + ½)

over all contests but those of wrong models. *Any policy* means those that apply to every contest.
The halves are there because the best policy loses next to nothing in some contests, and these must
not decide everything. (Of rewards in another range than [0, 1] it is half the width of that range.)

In place of the mean it may also be of the 95 % quantile of regret, or of the mean regret under the
truth that is worst for a policy.

Where truths are drawn from a prior, or each model is the truth as often as any other, the least
that any policy can lose is known from below: the *floor* (`fpbandits.theory.floor`). How far a
policy is from it is the geometric mean of mean regret over floor, over the contests that have one.

A policy that cannot play every contest has no score. What it has is a *partial score*, over the
contests that it plays.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fpbandits.core.storage import write_aside, write_together
from fpbandits.leaderboard.contest import Contest
from fpbandits.leaderboard.report import leaderboard_figure
from fpbandits.report.figures import rendered
from fpbandits.simulation.versions import versions

SCHEMA = 1

Measure = Literal["mean", "q95", "worst"]
MEASURES: tuple[Measure, ...] = ("mean", "q95", "worst")


@dataclass(frozen=True)
class WorstTruth:
    """The truth under which a policy's mean regret is largest, of those that had runs.

    With few ``runs`` under each truth, which one it is, and how bad, is partly luck.
    """

    truth: str
    mean: float
    runs: int


@dataclass(frozen=True)
class Standing:
    """How a policy did in a contest.

    ``ratio`` is to the lower bound, None where there is none; ``worst`` is None where only one
    truth was played.
    """

    mean: float
    standard_error: float
    q95: float
    ratio: float | None
    worst: WorstTruth | None = None

    def measured(self, measure: Measure) -> float:
        """Return the mean, the 95 % quantile, or the mean under the worst truth."""
        if measure == "worst":
            return self.mean if self.worst is None else self.worst.mean
        return self.mean if measure == "mean" else self.q95


@dataclass(frozen=True)
class Leaderboard:
    """standings[policy][contest], without the contests that a policy does not apply to."""

    contests: Sequence[Contest]
    standings: Mapping[str, Mapping[str, Standing]]
    horizon: int
    runs: int
    seed: int
    floors: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def _widths(self) -> dict[str, float]:
        return {contest.name: contest.problem.rewards.width for contest in self.contests}

    @cached_property
    def _counting(self) -> list[str]:
        """The contests that scores are made of."""
        return [contest.name for contest in self.contests if contest.group != "wrong"]

    def best(self, contest: str, measure: Measure = "mean") -> float:
        """Return the least mean regret in a contest, of the policies that apply to all contests."""
        everywhere = max(map(len, self.standings.values()))
        return min(
            own[contest].measured(measure)
            for own in self.standings.values()
            if len(own) == everywhere
        )

    def times_best(self, policy: str, contest: str, measure: Measure = "mean") -> float:
        """Return a policy's mean regret as a multiple of the least one, with ½ added to both."""
        half = 0.5 * self._widths[contest]
        own = self.standings[policy][contest].measured(measure)
        return (own + half) / (self.best(contest, measure) + half)

    def score(self, policy: str, measure: Measure = "mean") -> float | None:
        """Return the geometric mean of `times_best`; None if a contest that counts is missing."""
        if not all(name in self.standings[policy] for name in self._counting):
            return None
        return self.partial_score(policy, measure)

    def partial_score(self, policy: str, measure: Measure = "mean") -> float | None:
        """Return the same over the contests that a policy plays; None if it plays none."""
        chosen = [name for name in self._counting if name in self.standings[policy]]
        if not chosen:
            return None
        logs = [math.log(self.times_best(policy, name, measure)) for name in chosen]
        return math.exp(sum(logs) / len(logs))

    def times_floor(self, policy: str) -> float | None:
        """Return a policy's mean regret over the floor, as a geometric mean; None without any."""
        played = self.standings[policy]
        logs = [
            math.log(max(played[name].mean, least) / least)
            for name, least in self.floors.items()
            if name in played
        ]
        return math.exp(sum(logs) / len(logs)) if logs else None

    @property
    def ranking(self) -> list[str]:
        """The policies, the best score first; then those with a partial one, then the others."""

        def order(policy: str) -> tuple[float, float]:
            return self.score(policy) or math.inf, self.partial_score(policy) or math.inf

        return sorted(self.standings, key=order)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "schema": SCHEMA,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "contests": [
                {
                    "name": contest.name,
                    "group": contest.group,
                    "models": len(contest.problem.models),
                    "arms": len(contest.problem.arms),
                    "lower_bound": contest.lower_bound,
                    "floor": self.floors.get(contest.name),
                }
                for contest in self.contests
            ],
            "policies": {
                policy: {
                    "score": self.score(policy),
                    "times_floor": self.times_floor(policy),
                    "scores": {
                        measure: self.partial_score(policy, measure) for measure in MEASURES
                    },
                    "contests": {name: asdict(own) for name, own in self.standings[policy].items()},
                }
                for policy in self.ranking
            },
            "versions": versions(),
        }

    def save(self, folder: Path) -> None:
        """Write leaderboard.json, .png and .svg."""
        text = json.dumps(self.as_dict(), indent=1) + "\n"
        # The numbers do not depend on whether they can be drawn.
        write_aside(folder / "leaderboard.json", text.encode())
        write_together(rendered(leaderboard_figure(self), folder / "leaderboard"))
