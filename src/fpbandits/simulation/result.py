"""`Result`: what a simulation found, and what can be computed from it.

A result holds how often each arm had been played at each recorded time, in every run: whole
numbers. Regret follows from them and the true gaps, in the user's units, so its only error is that
of sampling. A saved result has its problem, seed, versions and a schema version.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import checked_path, flag, is_real, known_name, whole_number
from fpbandits.core.extras import needed_for
from fpbandits.core.statistics import half_width, regret_of, std_of, students_t, summary, two_sided
from fpbandits.core.storage import rows_to_csv, write_aside
from fpbandits.errors import InputError, quote
from fpbandits.problem.problem import Problem
from fpbandits.simulation.comparison import Comparison
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.stops import Stops
from fpbandits.simulation.truths import truths
from fpbandits.simulation.versions import versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Pulls of every arm at every recorded time, for each policy and run.

    Attributes
    ----------
    problem, truth, truth_means
        The candidate models, the truth's name, and its means in the user's units: a row of them for
        each stage if the truth changes, or for each run if it was drawn from the prior. If the
        truth moves by the problem's transitions, the means of all models, one after the other.
    starts
        After how many plays each stage of the truth begins.
    seed, times, settings
        What was asked for.
    pulls
        pulls[policy][run, time, arm]; if the truth moves, [run, time, model and arm].
    plans
        How many plans each run of a policy took: one per leap, or one per cycle if stepwise.
    leap_error
        The chance of an error per leap and arm; see `total_variation`.
    versions
        What it was computed with.
    stops
        Only if runs stop at a verdict: stops[policy][0, run] is after how many plays, 0 for no
        verdict, and stops[policy][1, run] whether it is wrong. Pulls are those up to the verdict.
    """

    problem: Problem
    truth: str
    truth_means: Floats
    seed: int
    times: Counts
    pulls: dict[str, Counts]
    plans: dict[str, Counts]
    settings: dict[str, Any]
    leap_error: float
    versions: dict[str, str] = field(default_factory=versions)
    starts: tuple[int, ...] = (0,)
    stops: dict[str, Counts] | None = None

    @classmethod
    def of_policy(
        cls,
        policy: str,
        pulls: Counts,
        plans: Counts,
        *,
        problem: Problem,
        spec: RunSpec,
        fixed_means: Floats,
        **rest: Any,
    ) -> Result:
        """Return the runs of one policy in a cell.

        ``fixed_means`` are the truth's means, unless it is drawn for each run.
        """
        truth = str(spec.truth)
        rows = None
        if problem.transitions is None:
            rows = truths(problem, truth, spec.seed, range(len(pulls)))
        return cls(
            problem=problem,
            truth=truth,
            truth_means=fixed_means if rows is None else problem.rewards.means[rows],
            seed=spec.seed,
            times=np.array(spec.times, np.int64),
            pulls={policy: pulls},
            plans={policy: plans},
            settings=spec.settings,
            leap_error=spec.leap_error(problem),
            **rest,
        )

    @classmethod
    def together(cls, results: Mapping[str, Result]) -> Result:
        """Return results of one policy each as one, every policy under the name given here."""
        return replace(
            next(iter(results.values())),
            pulls={name: result.pulls[result.policy] for name, result in results.items()},
            plans={name: result.plans[result.policy] for name, result in results.items()},
            stops={
                name: result.stops[result.policy]
                for name, result in results.items()
                if result.stops
            }
            or None,
        )

    @property
    def policy(self) -> str:
        """The name of the only policy."""
        (name,) = self.pulls
        return name

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies."""
        return tuple(self.pulls)

    @property
    def horizon(self) -> int:
        """T, the last time."""
        return int(self.times[-1])

    @property
    def runs(self) -> int:
        """How many runs each policy has."""
        return len(next(iter(self.pulls.values())))

    @cached_property
    def gaps(self) -> Floats:
        """What a play of each arm, in each context, loses under the truth, in the user's units."""
        means = self.truth_means.reshape(-1, len(self.problem.arms))
        gaps: Floats = (means.max(axis=1, keepdims=True) - means).reshape(self.truth_means.shape)
        return gaps

    def first(self, runs: int) -> Result:
        """Return the first runs only: what a simulation of this many would have found."""
        runs = whole_number("runs", runs, least=1)
        drawn = self.truth_means.ndim == 2 and len(self.starts) == 1
        means = self.truth_means[:runs] if drawn else self.truth_means
        return replace(
            self,
            truth_means=means,
            pulls={policy: pulls[:runs] for policy, pulls in self.pulls.items()},
            plans={policy: plans[:runs] for policy, plans in self.plans.items()},
            stops=self.stops and {name: stops[:, :runs] for name, stops in self.stops.items()},
        )

    def until(self, time: int) -> Result:
        """Return what was recorded up to a time."""
        shown = self.times <= whole_number("time", time, least=int(self.times[0]), most=2**63 - 1)
        times, means = self.times[shown], self.truth_means
        starts = tuple(start for start in self.starts if start < times[-1])
        if len(starts) < len(self.starts):
            means = means[: len(starts)] if len(starts) > 1 else means[0]
        return replace(
            self,
            times=times,
            starts=starts,
            truth_means=means,
            pulls={policy: pulls[:, shown] for policy, pulls in self.pulls.items()},
        )

    def regret(self, policy: str) -> Floats:
        """Return regret[run, time]."""
        pulls = self._pulls(policy)
        if len(self.starts) == 1:
            return regret_of(pulls, self.gaps)
        # The truth changes at recorded times only.
        stages = np.searchsorted(self.starts, self.times, side="left") - 1
        played = np.diff(pulls, axis=1, prepend=0)
        lost: Floats = np.einsum("rta,ta->rt", played, self.gaps[stages])
        return lost.cumsum(axis=1)

    def final_regret(self, policy: str) -> Floats:
        """Return the regret of each run at T."""
        if len(self.starts) > 1:
            return self.regret(policy)[:, -1]
        return regret_of(self._pulls(policy)[:, -1], self.gaps)

    def mean_regret(self, policy: str) -> Floats:
        """Return the mean regret at each time."""
        mean: Floats = self.regret(policy).mean(axis=0)
        return mean

    def std_regret(self, policy: str) -> Floats:
        """Return the standard deviation at each time, with divisor R − 1; NaN for a single run."""
        std: Floats = std_of(self.regret(policy))
        return std

    def quantile_regret(self, policy: str, share: float) -> Floats:
        """Return the quantile of regret at each time: this share of the runs is at most there."""
        if not is_real(share) or not 0 <= share <= 1:
            raise InputError(f"a quantile's share is between 0 and 1, not {quote(share)}")
        quantile: Floats = np.quantile(self.regret(policy), float(share), axis=0)
        return quantile

    def confidence_interval(self, policy: str, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return an interval for the expected regret at each time, by Student's t."""
        regret = self.regret(policy)
        mean, half = regret.mean(axis=0), half_width(regret, level)
        return mean - half, mean + half

    def mean_pulls(self, policy: str) -> dict[str, Any]:
        """Return how often each arm was played up to T, on average, by context if there are any."""
        return self.problem.by_name(self._over_models(self._pulls(policy)[:, -1].mean(axis=0)))

    def _over_models(self, pulls: Floats) -> list[float]:
        """Return plays by pair, summed over the models that were true."""
        plays: list[float] = pulls.reshape(-1, self.problem.pairs).sum(axis=0).tolist()
        return plays

    def verdicts(self, policy: str) -> Stops:
        """Return a summary of a policy's verdicts, in a simulation with ``stop``."""
        if self.stops is None:
            raise InputError("these runs do not stop at a verdict: simulate(…, stop=0.05)")
        return Stops.of(*self.stops[known_name("policy", policy, self.stops)])

    def total_variation(self, policy: str) -> float:
        """Bound the total variation between the law of a leaping run and that of a stepwise one.

        This is in exact arithmetic: rounding adds some 1e-14 for every sum of rewards drawn.
        """
        self._pulls(policy)  # refuses an unknown policy
        return float(self.plans[policy].max()) * self.problem.pairs * self.leap_error

    def compare(self, first: str, second: str, level: float = 0.95) -> Comparison:
        """Compare two policies by the paired differences of their final regret."""
        differences = self.final_regret(first) - self.final_regret(second)
        error = float(std_of(differences)) / math.sqrt(self.runs)
        half = students_t(self.runs, two_sided(level)) * error
        mean = float(differences.mean())
        return Comparison(first, second, mean, mean - half, mean + half, level)

    def _pulls(self, policy: str) -> Counts:
        return self.pulls[known_name("policy", policy, self.pulls)]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row for each policy and time: the table behind CSV and data frame."""
        for policy in self.policies:
            columns = summary(self.regret(policy))
            pulls = self.pulls[policy].mean(axis=0)
            for index, time in enumerate(self.times.tolist()):
                yield {
                    "policy": policy,
                    "time": time,
                    **{name: float(values[index]) for name, values in columns.items()},
                    **{
                        f"pulls {pair}": plays
                        for pair, plays in zip(
                            self.problem.pair_names, self._over_models(pulls[index]), strict=True
                        )
                    },
                }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line for each policy and time."""
        # A single run has no spread: an empty cell, not a text that looks like a number.
        write_aside(checked_path(path), rows_to_csv(list(self.rows())).encode())

    def to_frame(self) -> DataFrame:
        """Return the rows as a pandas data frame; ``fpbandits[pandas]`` installs what it needs."""
        with needed_for("to_frame", "pandas"):
            from pandas import DataFrame
        return DataFrame(list(self.rows()))

    def as_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON."""
        return {
            "problem": self.problem.name,
            "truth": self.truth,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            **self.settings,
            # A delay, and runs that end at a verdict, are played step by step.
            "leap": self.settings["leap"] and not {"delay", "stop"} & self.settings.keys(),
            "times": self.times.tolist(),
            "policies": {
                policy: {
                    "mean_regret": self.mean_regret(policy).tolist(),
                    "std_regret": [None if s != s else s for s in self.std_regret(policy).tolist()],
                    "final_regret": self.final_regret(policy).tolist(),
                    "mean_pulls": self.mean_pulls(policy),
                    "mean_plans": float(self.plans[policy].mean()),
                    "total_variation": self.total_variation(policy),
                    **({} if self.stops is None else {"verdicts": vars(self.verdicts(policy))}),
                }
                for policy in self.policies
            },
            "versions": self.versions,
        }

    def table(self) -> str:
        """Return the final regret of every policy as a table in plain text."""
        from fpbandits.simulation.tables import regret_table

        return regret_table(self)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from fpbandits.simulation.tables import regret_html

        return regret_html(self)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        band: str = "std",
        log_time: bool = True,
        bounds: bool = False,
    ) -> Figure:
        """Draw mean regret over time, with a band; see `fpbandits.simulation.figure`."""
        from fpbandits.simulation.figure import BANDS, regret_figure

        return regret_figure(
            self,
            None if path is None else checked_path(path),
            band=known_name("band", band, BANDS),
            log_time=flag("log_time", log_time),
            bounds=flag("bounds", bounds),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one .npz file."""
        from fpbandits.simulation.archive import save_result

        save_result(self, checked_path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read what `save` wrote."""
        from fpbandits.simulation.archive import load_result

        return load_result(checked_path(path))


def count_columns(problem: Problem) -> int:
    """Return how many counts of plays a run has at each time: by model too, if the truth moves."""
    return problem.pairs * (1 if problem.transitions is None else len(problem.models))
