"""Every policy on the same ground: the paper's problems, random ones, and wrong models.

A *contest* is a set of models and one or several truths. Every policy plays every contest it
applies to, with arms and parameters shuffled in every run, so that ties favour no one.

Three groups of contests:

* ``paper``: the paper's five simulations;
* ``random``: sets of 2 to 256 models and 2 to 16 arms, drawn once and for all, each with a truth
  under which regret can stay bounded and one under which it cannot;
* ``wrong``: the truth is off by ε in each mean, with random signs, and so outside Θ.

A policy's *score* says how many times the best policy's regret it pays on average: 1 is to be the
best in every contest, 2 is to pay twice as much. It is the geometric mean of

    (its mean regret + ½) / (the least mean regret of any policy + ½)

over all contests of the first two groups; a policy that cannot play all of them has no score. *Any
policy* means those that apply to every contest. The halves are there because the best policy loses
next to nothing in some contests, and these must not decide everything. (Of rewards in another range
than [0, 1] it is half the width of that range.)

One's own problems are contests too, in a group ``own`` of their own: under the truth that a problem
names, or under all its parameters, which then share the runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.arrays import Floats
from fpbandits.builtin import built_in
from fpbandits.checks import whole_number
from fpbandits.errors import InputError, quote
from fpbandits.policies import POLICIES, Policy, parse_policy
from fpbandits.policies.ready import refusal
from fpbandits.problem import Problem
from fpbandits.report.figures import rendered
from fpbandits.report.leaderboard import leaderboard_figure
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.versions import versions
from fpbandits.statistics import std_of
from fpbandits.storage import write_aside, write_together
from fpbandits.theory.contexts import PairStructure
from fpbandits.theory.lower import theorem2
from fpbandits.theory.structure import Structure

SCHEMA = 1
RUNS, HORIZON = 100, 10**5
SAFE = "optimist:safe=7"
"""The default policy with its option for wrong models, which plays beside all others."""

MOST_TRUTHS = 1_000

_SIZES = ((2, 2), (6, 3), (24, 4), (256, 16))
_ERRORS = (0.01, 0.05, 0.1, 0.2)
_DRAWS = 10


@dataclass(frozen=True)
class Contest:
    """A set of models and the truths to play under, each a name or a list of means."""

    name: str
    group: str
    problem: Problem
    truths: Sequence[str | list[float]]

    @cached_property
    def lower_bound(self) -> float:
        """Theorem 2's coefficient over all arms, in the mean of the truths; 0 outside Θ."""
        problem, found = self.problem, []
        structure = PairStructure(problem) if problem.contexts else Structure(problem)
        for truth in self.truths:
            if not isinstance(truth, str):
                return 0.0
            true = problem.index(truth)
            if isinstance(structure, PairStructure):
                found.append(structure.cheapest(true))
            else:
                found.append(theorem2(structure, true).all_arms)
        return problem.rewards.width * sum(each.coefficient for each in found) / len(found)


@dataclass(frozen=True)
class Standing:
    """How a policy did in a contest; ``ratio`` is to the lower bound, None where there is none."""

    mean: float
    standard_error: float
    q95: float
    ratio: float | None


@dataclass(frozen=True)
class Leaderboard:
    """Who did how well: standings[policy][contest]; a policy that does not apply is left out."""

    contests: Sequence[Contest]
    standings: Mapping[str, Mapping[str, Standing]]
    horizon: int
    runs: int
    seed: int

    @cached_property
    def _widths(self) -> dict[str, float]:
        return {contest.name: contest.problem.rewards.width for contest in self.contests}

    def best(self, contest: str) -> float:
        """Return the least mean regret in a contest, of those who apply to all contests."""
        everywhere = max(map(len, self.standings.values()))
        return min(own[contest].mean for own in self.standings.values() if len(own) == everywhere)

    def times_best(self, policy: str, contest: str) -> float:
        """Return a policy's mean regret as a multiple of the least one, with ½ added to both."""
        half = 0.5 * self._widths[contest]
        return (self.standings[policy][contest].mean + half) / (self.best(contest) + half)

    def score(self, policy: str) -> float | None:
        """Return the geometric mean of `times_best`; None if a contest that counts is missing."""
        chosen = [contest.name for contest in self.contests if contest.group != "wrong"]
        if not chosen or not all(name in self.standings[policy] for name in chosen):
            return None
        logs = [math.log(self.times_best(policy, name)) for name in chosen]
        return math.exp(sum(logs) / len(logs))

    @property
    def ranking(self) -> list[str]:
        """The policies, the best score first, and those without one last."""
        return sorted(self.standings, key=lambda policy: self.score(policy) or math.inf)

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
                    "parameters": len(contest.problem.parameters),
                    "arms": len(contest.problem.arms),
                    "lower_bound": contest.lower_bound,
                }
                for contest in self.contests
            ],
            "policies": {
                policy: {
                    "score": self.score(policy),
                    "contests": {name: vars(own) for name, own in self.standings[policy].items()},
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


def contests(group: str | None = None) -> list[Contest]:
    """Return all contests, or those of one group."""
    found = [*_paper(), *_random(), *_wrong()]
    return [contest for contest in found if group in (None, contest.group)]


def own_contests(problems: Sequence[Problem]) -> list[Contest]:
    """Return a contest for each problem: under its own truth, or under all its parameters."""
    found: dict[str, Contest] = {}
    for problem in problems:
        if problem.name in found:
            raise InputError(
                f"two problems are called {quote(problem.name)}: give each a name of its own"
            )
        truths = list(problem.parameters) if problem.true is None else [problem.true]
        if len(truths) > MOST_TRUTHS:
            raise InputError(
                f"{problem.name} has {len(truths):,} parameters, too many to play each (at most "
                f"{MOST_TRUTHS:,}): let its file say which is true"
            )
        found[problem.name] = Contest(problem.name, "own", problem, truths)
    return list(found.values())


def _paper() -> list[Contest]:
    two, permutations, grid = (built_in(f"paper:{n}") for n in ("two", "permutations", "grid"))
    return [
        Contest("two θ¹", "paper", two, ["theta1"]),
        Contest("two θ²", "paper", two, ["theta2"]),
        Contest("24 permutations", "paper", permutations, ["0.6,0.4,0.3,0.2"]),
        Contest("256 [.6 …]", "paper", grid, ["0.6,0.4,0.3,0.2"]),
        Contest("256 [.4 …]", "paper", grid, ["0.4,0.3,0.2,0.2"]),
    ]


def _random() -> list[Contest]:
    """Draw means on a grid of twentieths until both kinds of truths are there."""
    found = []
    for models, arms in _SIZES:
        random = np.random.default_rng([models, arms])
        truths: dict[str, Contest] = {}
        while len(truths) < 2:
            levels = random.choice(np.arange(1, 20) / 20, min(6, 2 * models), replace=False)
            means = np.unique(random.choice(levels, (models, arms)), axis=0)
            if len(means) < models:
                continue
            problem = Problem.bernoulli(means, name=f"{models} models, {arms} arms")
            structure = Structure(problem)
            for true in random.permutation(models).tolist():
                gaps = structure.gaps(true)
                if (gaps > 0).sum() == 0 or gaps[gaps > 0].min() < 0.1 - 1e-9:
                    continue
                if not len(structure.confusion_set(true)):
                    kind = "bounded"
                elif theorem2(structure, true).all_arms.coefficient > 0.2:
                    kind = "logarithmic"
                else:
                    continue
                name = f"{models} × {arms} {kind}"
                truths.setdefault(
                    kind, Contest(name, "random", problem, [problem.parameters[true]])
                )
        found += [truths["bounded"], truths["logarithmic"]]
    return found


def _wrong() -> list[Contest]:
    found = []
    for name, label, base in (
        ("permutations", "24", (0.6, 0.4, 0.3, 0.2)),
        ("grid", "256", (0.4, 0.3, 0.2, 0.2)),
    ):
        for error in _ERRORS:
            random = np.random.default_rng(round(1000 * error))
            problem, truths = built_in(f"paper:{name}"), list[str | list[float]]()
            while len(truths) < _DRAWS:
                truth = np.clip(np.array(base) + error * random.choice([-1, 1], 4), 0.01, 0.99)
                # On a grid of levels, off by a level can be another model.
                if np.abs(problem.means - truth).max(axis=1).min() > 1e-6:
                    truths.append(truth.tolist())
            found.append(Contest(f"{label} off by {error:g}", "wrong", problem, truths))
    return found


def play(
    *,
    runs: float = RUNS,
    horizon: float = HORIZON,
    seed: int = 0,
    policies: Mapping[str, Policy] | None = None,
    among: Sequence[Contest] | None = None,
    out: Path | None = None,
    **how: Any,
) -> Leaderboard:
    """Let policies, by default all of them, play contests, by default all of them.

    Where they are kept, ``how`` they are played, and who is told, is as in `play_cells`. A policy
    that needs to know more than a contest's models tell is left out of it.
    """
    count = whole_number("runs", runs, least=2)
    seed = whole_number("seed", seed)
    chosen = policies or {word: parse_policy(word) for word in (*POLICIES, SAFE)}
    board = list(contests() if among is None else among)
    entries = [
        (contest, name, policy)
        for contest in board
        for name, policy in chosen.items()
        if not refusal(policy, contest.problem)
    ]
    cells = {
        _cell_name(contest, name, number): make_cell(
            contest.problem,
            policy,
            true=truth,
            horizon=horizon,
            runs=-(-count // len(contest.truths)),
            # Other streams for every truth, the same ones for every policy.
            seed=seed * 1000 + number,
            times=[horizon],
            shuffle=True,
        )
        for contest, name, policy in entries
        for number, truth in enumerate(contest.truths)
    }
    results = play_cells(cells, out=out, **how)
    standings: dict[str, dict[str, Standing]] = {name: {} for name in chosen}
    for contest, name, _ in entries:
        parts = [
            results[_cell_name(contest, name, number)] for number in range(len(contest.truths))
        ]
        final = np.concatenate([result.final_regret(result.policy) for result in parts])
        standings[name][contest.name] = _standing(final, contest.lower_bound * math.log(horizon))
    return Leaderboard(board, standings, int(horizon), count, seed)


def _cell_name(contest: Contest, policy: str, truth: int) -> str:
    return f"{contest.name}: {policy}, truth {truth + 1}"


def _standing(final: Floats, lower: float) -> Standing:
    mean = float(final.mean())
    return Standing(
        mean=mean,
        standard_error=float(std_of(final)) / math.sqrt(len(final)),
        q95=float(np.quantile(final, 0.95)),
        ratio=mean / lower if lower > 0 else None,
    )
