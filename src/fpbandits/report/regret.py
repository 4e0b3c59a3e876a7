"""Regret over time, drawn."""

from __future__ import annotations

import os
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.checks import visible
from fpbandits.errors import InputError, unknown
from fpbandits.report.figures import PALETTE, as_plain_text, footnote, own_style, save_figure
from fpbandits.theory.analysis import analyze

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fpbandits.simulation.result import Result

BANDS = {"std": "±1 standard deviation", "ci": "95 % interval of the mean", "quantile": "5 … 95 %"}


@own_style()
def regret_figure(
    result: Result,
    path: str | os.PathLike[str] | None = None,
    *,
    band: str = "std",
    log_time: bool = True,
    bounds: bool = False,
) -> Figure:
    """Draw the mean regret of every policy as a line, with a band around it.

    Parameters
    ----------
    result
        What to draw.
    path
        Where to write it, as .png or .svg, if anywhere.
    band
        "std" for ±1 standard deviation, "ci" for a confidence interval of the mean, "quantile" for
        where nine runs in ten lie.
    log_time
        Whether time is drawn on a logarithmic scale.
    bounds
        Whether to add Theorem 1 (corrected), Theorem 2 and UCB1's bound; the truth must be in Θ.
    """
    from matplotlib.figure import Figure

    if band not in BANDS:
        raise unknown("band", band, BANDS)
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for policy, colour in zip(result.policies, cycle(PALETTE), strict=False):
        draw_policy(axes, result, policy, band=band, colour=colour)
    top = axes.get_ylim()[1]
    if bounds:
        _draw_bounds(axes, result)
    if log_time:
        axes.set_xscale("log")
    if len(result.times) > 1:
        axes.set_xlim(result.times[0], result.times[-1])
    # Bounds can be far above what happens; they must not flatten it.
    axes.set_ylim(0, max(top, 1e-9) * (1.6 if bounds else 1.0))
    axes.set_xlabel("time t")
    axes.set_ylabel("regret")
    axes.grid(alpha=0.25)
    as_plain_text(axes.legend(loc="upper left", fontsize=9, framealpha=0.9, edgecolor="none"))
    title = visible(f"{result.problem.name}, truth {result.true}")
    axes.set_title(title, fontsize=11, parse_math=False)
    single = "single run" if result.runs == 1 else f"mean of {result.runs:,} runs, {BANDS[band]}"
    footnote(figure, f"{single}; T = {result.horizon:.6g}, seed {result.seed}")
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def draw_policy(
    axes: Axes,
    result: Result,
    policy: str,
    *,
    band: str,
    colour: str,
    label: str | None = None,
    over_log: bool = False,
) -> None:
    """Draw one policy's mean regret and its band; ``over_log`` divides both by ln t."""
    shown = result.times > 1 if over_log else result.times > 0
    times = result.times[shown]
    scale = np.log(times) if over_log else 1.0
    mean = result.mean_regret(policy)[shown] / scale
    axes.plot(times, mean, color=colour, label=label or visible(policy), linewidth=1.8)
    if result.runs > 1:
        low, high = (limit[shown] / scale for limit in _band(result, policy, band))
        axes.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)


def _band(result: Result, policy: str, band: str) -> tuple[np.ndarray, np.ndarray]:
    if band == "ci":
        return result.confidence_interval(policy)
    if band == "quantile":
        return result.quantile_regret(policy, 0.05), result.quantile_regret(policy, 0.95)
    mean, std = result.mean_regret(policy), result.std_regret(policy)
    return mean - std, mean + std


def _draw_bounds(axes: Axes, result: Result) -> None:
    if result.true not in result.problem.parameters:
        raise InputError(f"no bounds are known for a truth outside Θ ({result.true})")
    case = analyze(result.problem, result.true).cases[0]
    logs = np.log(result.times)
    upper, lower, ucb1 = case.theorem1.corrected, case.theorem2.all_arms, case.ucb1
    for label, constant, coefficient, style in (
        ("FP-UCB at most (Theorem 1)", upper.constant, upper.log_coefficient, "--"),
        ("UCB1 at most", ucb1.constant, ucb1.log_coefficient, "-."),
        ("any policy at least (Theorem 2), in the long run", 0.0, lower.coefficient, ":"),
    ):
        values = (constant or 0.0) + coefficient * logs
        axes.plot(result.times, values, style, color="0.35", linewidth=1.1, label=label)
