"""`Fit`: the models that a log gave, and how sure they are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.errors import counted
from fpbandits.fitting.doubts import Apart
from fpbandits.problem.files import save_problem
from fpbandits.problem.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """What a log says about the types of its units.

    Attributes
    ----------
    problem
        The types as the models of a problem, by falling share, which is their prior.
    shares, share_errors
        The fraction of units of each type, by name, and its standard error.
    errors
        The standard errors of the means, by name: one per arm, or a row per context.
    units, events
        How many units and rewards the log has.
    held_out, bic
        By the number of types: the log-likelihood per reward by cross-validation over units, the
        higher the better, which chooses the number; and the Bayesian information criterion of all
        units, the lower the better, for comparison. One entry each if the number was given.
    pseudo_count
        How many rewards are added to those that a type had from an arm, in a context, distributed
        as those of all units there: means that rest on few rewards shrink towards the mean of all.
    sureness
        The posterior probability of a unit's likeliest type, averaged over units.
    warnings
        What the log cannot tell, in words.
    told_apart
        For each type, if it is the true one: its best arms, which other types playing them tells
        apart from it, and which only other arms do.
    """

    problem: Problem
    shares: Mapping[str, float]
    share_errors: Mapping[str, float]
    errors: Mapping[str, Floats]
    units: int
    events: int
    held_out: Mapping[int, float]
    bic: Mapping[int, float]
    pseudo_count: float
    sureness: float
    warnings: tuple[str, ...]
    told_apart: tuple[Apart, ...]

    @property
    def types(self) -> int:
        """How many types there are."""
        return len(self.problem.models)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name} {share:.1%}" for name, share in self.shares.items())
        return (
            f"Fit({counted(self.types, 'type')} from {counted(self.events, 'reward')} of "
            f"{counted(self.units, 'unit')}: {kinds})"
        )

    @cached_property
    def error_table(self) -> Floats:
        """The standard errors of the means: a row per type; of each context, a column per arm."""
        return np.stack([self.errors[name].reshape(-1) for name in self.problem.models])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers, as ``fpbandits fit --json`` prints it."""
        problem, names = self.problem, self.problem.models

        def by_context(values: Floats) -> Any:
            if not problem.contexts:
                return values.tolist()
            return dict(zip(problem.contexts, values.tolist(), strict=True))

        content: dict[str, Any] = {
            "types": self.types,
            "shares": dict(self.shares),
            "share_errors": dict(self.share_errors),
            "models": {
                name: by_context(row) for name, row in zip(names, problem.means, strict=True)
            },
            "errors": {name: by_context(self.errors[name]) for name in names},
            "arms": list(problem.arms),
            "family": problem.rewards.name,
            "units": self.units,
            "events": self.events,
            "bic": {str(number): value for number, value in self.bic.items()},
            "held_out": {str(number): value for number, value in self.held_out.items()},
            "pseudo_count": self.pseudo_count,
            "sureness": self.sureness,
            "warnings": list(self.warnings),
            "told_apart": {
                each.truth: {key: list(getattr(each, key)) for key in ("best", "free", "costly")}
                for each in self.told_apart
            },
        }
        if problem.contexts:
            content["contexts"] = list(problem.contexts)
        return content

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the types as a problem file, with their shares as its prior."""
        save_problem(self.problem, path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the types: means with their errors, and shares; into a file, if one is named."""
        from fpbandits.fitting.report import types_figure
        from fpbandits.report.figures import save_figure

        figure = types_figure(self)
        if path is not None:
            save_figure(figure, Path(path))
        return figure

    def report(self, folder: str | os.PathLike[str]) -> Path:
        """Write a page with figures, fit.json and models.toml into a folder; return the page."""
        from fpbandits.fitting.report import write_report

        return write_report(self, Path(folder))
