"""The posterior of an agent's models over time, drawn from its log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.core.checks import printable
from fpbandits.errors import InputError, counted
from fpbandits.problem.posterior import Evidence
from fpbandits.report import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.agent.agent import Agent

_MOST_POINTS = 500
"""The most points of a line."""

_LONGEST_NAME = 40
"""The most characters of a model's name in the legend."""


@figures.own_style()
def posterior_figure(agent: Agent, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw the probability of each model after every reward that counts.

    The models that were ever most likely have a line each, and the rest one together.
    """
    problem, log = agent.problem, agent.log
    if not log:
        raise InputError("there is nothing to draw: no reward counts yet")
    agent.posterior()  # an error if there is none
    drawn_at = set(np.linspace(0, len(log), min(len(log), _MOST_POINTS) + 1).astype(int).tolist())
    evidence, times, rows = Evidence(problem), [], []
    for time, play in enumerate([None, *log]):
        if play is not None:
            evidence.add(*play)
        if time in drawn_at:
            times.append(time)
            rows.append(list(evidence.posterior().values()))
    shares = np.array(rows)
    order = np.lexsort((-shares[-1], -shares.max(axis=0)))[: len(figures.PALETTE) - 1]
    figure = figures.blank(7.5, 4.2)
    axes = figure.subplots()
    for model, colour in zip(sorted(order.tolist()), figures.PALETTE, strict=False):
        name = figures.short(printable(problem.models[model]), _LONGEST_NAME)
        axes.plot(times, shares[:, model], color=colour, label=name)
    if len(order) < len(problem.models):
        rest = 1 - shares[:, order].sum(axis=1)
        others = f"{len(problem.models) - len(order):,} others together"
        axes.plot(times, rest, color="0.5", label=others, linestyle=":")
    axes.set(xlabel="rewards that count", ylabel="probability of the model", ylim=(-0.02, 1.02))
    axes.set_xlim(0, len(log))
    axes.grid(alpha=0.3)
    figures.as_plain_text(axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5)))
    names = printable(problem.name), printable(str(agent.policy))
    figures.footnote(figure, f"{names[0]}, played by {names[1]}: {counted(len(log), 'reward')}")
    if path is not None:
        figures.save_figure(figure, Path(path))
    return figure
