"""Standings of policies in each contest, and their scores over all of them.

A policy's *score* is its regret as a multiple of the best policy's: 1 means the best in every
contest, 2 means twice the regret of the best. It is the geometric mean of

    (its mean regret + ½) / (the least mean regret of any policy + ½)

over all contests but those of wrong models. *Any policy* means those that apply to every contest.
The best policy loses next to nothing in some contests; the added ½ keeps these from deciding
everything. (If rewards have another range than [0, 1], half the width of that range is added.)

The score has three measures of regret: the mean, the 95 % quantile, and the mean under the truth
that is worst for a policy.

Where truths are drawn from a prior, or each model is the truth as often as any other, a lower bound
on the mean regret of any policy is known: the *floor* (`fpbandits.theory.floor`). A policy's
distance from it is the geometric mean of mean regret over floor, over the contests that have one.

A policy that cannot play every contest has no score, but a *partial score* over the contests that
it plays.
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
from fpbandits.simulation.delays import Delay
from fpbandits.simulation.versions import versions

SCHEMA = 1
"""The version of the layout of leaderboard.json."""

Measure = Literal["mean", "q95", "worst"]
MEASURES: tuple[Measure, ...] = ("mean", "q95", "worst")


@dataclass(frozen=True)
class WorstTruth:
    """The truth, of those that had runs, under which a policy's mean regret is largest.

    With few ``runs`` under each truth, it is partly by chance which one this is, and how bad.
    """

    truth: str
    mean: float
    runs: int


@dataclass(frozen=True)
class Standing:
    """A policy's regret at the horizon in one contest, in the units of its rewards.

    ``ratio`` is the mean over the lower bound, None where that is 0; ``worst`` is None where only
    one truth was played.
    """

    mean: float
    standard_error: float
    q95: float
    ratio: float | None
    worst: WorstTruth | None = None

    def regret(self, measure: Measure) -> float:
        """Return the mean, the 95 % quantile, or the mean under the worst truth."""
        if measure == "worst":
            return self.mean if self.worst is None else self.worst.mean
        return self.mean if measure == "mean" else self.q95


@dataclass(frozen=True)
class Leaderboard:
    """How policies did in contests.

    ``standings[policy][contest]`` leaves out the contests that a policy does not apply to.
    ``floors``, by contest, is known for some contests only. ``delay`` is as in `simulate`.
    """

    contests: Sequence[Contest]
    standings: Mapping[str, Mapping[str, Standing]]
    horizon: int
    runs: int
    seed: int
    floors: Mapping[str, float] = field(default_factory=dict)
    delay: Delay = 0

    @cached_property
    def _widths(self) -> dict[str, float]:
        """The width of the range of rewards, by contest."""
        return {contest.name: contest.problem.rewards.width for contest in self.contests}

    @cached_property
    def _scored_contests(self) -> list[str]:
        """The names of the contests that scores are made of."""
        return [contest.name for contest in self.contests if contest.group != "wrong"]

    def best(self, contest: str, measure: Measure = "mean") -> float:
        """Return the least regret in a contest, of the policies that apply to all contests.

        If no policy does, of those in the contest that apply to the most.
        """
        players = [played for played in self.standings.values() if contest in played]
        most = max(map(len, players))
        return min(played[contest].regret(measure) for played in players if len(played) == most)

    def times_best(self, policy: str, contest: str, measure: Measure = "mean") -> float:
        """Return a policy's regret as a multiple of the least one, with ½ added to both."""
        half = 0.5 * self._widths[contest]
        regret = self.standings[policy][contest].regret(measure)
        return (regret + half) / (self.best(contest, measure) + half)

    def score(self, policy: str, measure: Measure = "mean") -> float | None:
        """Return the geometric mean of `times_best`; None if a scored contest was not played."""
        if not all(name in self.standings[policy] for name in self._scored_contests):
            return None
        return self.partial_score(policy, measure)

    def partial_score(self, policy: str, measure: Measure = "mean") -> float | None:
        """Return the score over the scored contests that a policy plays; None if there are none."""
        played = [name for name in self._scored_contests if name in self.standings[policy]]
        if not played:
            return None
        logs = [math.log(self.times_best(policy, name, measure)) for name in played]
        return math.exp(sum(logs) / len(logs))

    def times_floor(self, policy: str) -> float | None:
        """Return the geometric mean of mean regret over floor; None if no contest has a floor.

        A mean below the floor, which only chance can bring about, counts as the floor.
        """
        played = self.standings[policy]
        logs = [
            math.log(max(played[name].mean, floor) / floor)
            for name, floor in self.floors.items()
            if name in played
        ]
        return math.exp(sum(logs) / len(logs)) if logs else None

    @property
    def ranking(self) -> list[str]:
        """The policies by score, the best first; then those with a partial score, then the rest."""

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
            "delay": self.delay,
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
                    "contests": {
                        name: asdict(standing) for name, standing in self.standings[policy].items()
                    },
                }
                for policy in self.ranking
            },
            "versions": versions(),
        }

    def save(self, folder: Path) -> None:
        """Write leaderboard.json, .png and .svg."""
        text = json.dumps(self.as_dict(), indent=1) + "\n"
        # First, so that the numbers are there even if drawing fails.
        write_aside(folder / "leaderboard.json", text.encode())
        write_together(rendered(leaderboard_figure(self), folder / "leaderboard"))
