"""Regret over time, drawn."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import Range, printable, range_text
from fpbandits.errors import InputError
from fpbandits.report.figures import (
    PALETTE,
    as_plain_text,
    blank,
    footnote,
    own_style,
    save_figure,
    short,
)
from fpbandits.report.times import as_written, time_text
from fpbandits.theory.analysis import analyze

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fpbandits.simulation.result import Result

BANDS = {"std": "±1 standard deviation", "ci": "95 % interval of the mean", "quantile": "5 … 95 %"}
"""What the band around a line shows, by the option's value."""

_STYLES = ("-", "--", ":", "-.")
"""When all colours have been used, lines go on in the next of these."""

_LONGEST_NAME = 64
"""Characters of a name in a title or legend, at the most."""

_FAR = 10
"""On a linear scale, a regret that is this many times smaller than another looks like none."""


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

    Regret is drawn on a logarithmic scale where bounds are far above what happens, or where one
    policy's regret is ten times another's in the end.

    Parameters
    ----------
    result
        What to draw.
    path
        Where to write it, as .png or .svg, if anywhere.
    band
        "std" for ±1 standard deviation, "ci" for a confidence interval of the mean, "quantile" for
        the range of the middle 90 % of the runs.
    log_time
        Whether time is drawn on a logarithmic scale.
    bounds
        Whether to add Theorem 1 (corrected), Theorem 2 and UCB1's bound; the truth must be in Θ.
        With contexts there is no Theorem 1, and UCB1's bound is added up over them.
    """
    names = [short(printable(policy), _LONGEST_NAME) for policy in result.policies]
    limits = _bounds(result) if bounds else []
    names += [bound.name for bound in limits]
    columns = 1 if max(map(len, names)) > 44 else 2 if max(map(len, names)) > 24 else 3
    rows = math.ceil(len(names) / columns)
    figure = blank(7.5, 4.4 + 0.19 * rows)
    axes = figure.subplots()
    styles = product(_STYLES, PALETTE)
    for policy, (style, colour) in zip(result.policies, cycle(styles), strict=False):
        draw_policy(axes, result, policy, band=band, colour=colour, style=style)
    top = max(axes.get_ylim()[1], 1e-9)
    for bound in limits:
        axes.plot(result.times, bound.values, linestyle=bound.style, color="0.35", linewidth=1.1)
    if log_time:
        axes.set_xscale("log")
    if len(result.times) > 1:
        axes.set_xlim(result.times[0], result.times[-1])
    _scale(axes, result, top, _highest(limits))
    axes.set_xlabel("time t")
    label_regret(axes, "regret", {result.problem.range})
    axes.grid(alpha=0.25)
    _draw_legend(figure, axes, names, columns)
    axes.set_title(_title(result), fontsize=11, parse_math=False)
    single = "single run" if result.runs == 1 else f"mean of {result.runs:,} runs, {BANDS[band]}"
    footnote(figure, f"{single}; T = {as_written(time_text(result.horizon))}, seed {result.seed}")
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def _draw_legend(figure: Figure, axes: Axes, names: Sequence[str], columns: int) -> None:
    """Name the lines half an inch below the axes, where the legend hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0, -0.5, figure.dpi_scale_trans)
    style: dict[str, Any] = {"ncols": columns, "fontsize": 9, "frameon": False}
    anchor = {"bbox_to_anchor": (0.5, 0), "bbox_transform": axes.transAxes + below}
    as_plain_text(axes.legend(axes.lines, names, loc="upper center", **anchor, **style))


def _title(result: Result) -> str:
    """Name problem and truth, on two lines if one is too short."""
    names = [short(printable(name), _LONGEST_NAME) for name in (result.problem.name, result.truth)]
    moves = "" if result.problem.transitions is None else " at first, then moving"
    return f"{names[0]},{' ' if sum(map(len, names)) < 66 else chr(10)}truth {names[1]}{moves}"


def _scale(axes: Axes, result: Result, top: float, highest: float) -> None:
    """Keep everything in view: on a logarithmic axis if bounds or policies are far apart."""
    curves = np.stack([result.mean_regret(policy) for policy in result.policies])
    ends = curves[:, -1][curves[:, -1] > 0]
    if highest <= 3 * top and (not len(ends) or ends.max() < _FAR * ends.min()):
        axes.set_ylim(0, max(top, 1.05 * highest))
        return
    highest = max(highest, top)
    lowest = float(curves.min(initial=highest / 1e3, where=curves > 0))
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylim(max(lowest, highest / 1e9) / 1.5, 2 * highest)


def label_regret(axes: Axes, what: str, ranges: Collection[Range]) -> None:
    """Name the vertical axis: what it shows, in which units, and whether it is logarithmic.

    Regret is in the units of rewards, so the ``ranges`` of rewards show what is much or little.
    """
    units = "; ".join(f"rewards in {range_text(limits)}" for limits in sorted(ranges)[:2])
    scale = "" if axes.get_yscale() == "linear" else "; log scale"
    axes.set_ylabel(f"{what} ({units}{', …' if len(ranges) > 2 else ''}{scale})")


def draw_policy(
    axes: Axes,
    result: Result,
    policy: str,
    *,
    band: str | None,
    colour: str,
    label: str | None = None,
    over_log: bool = False,
    style: str = "-",
) -> None:
    """Draw one policy's mean regret and its band, if any; ``over_log`` divides both by ln t."""
    shown = result.times > 1 if over_log else result.times > 0
    times = result.times[shown]
    scale = np.log(times) if over_log else 1.0
    mean = result.mean_regret(policy)[shown] / scale
    marker = "o" if len(times) == 1 else ""  # a single point makes no line
    label = label or printable(policy)
    axes.plot(times, mean, style, marker=marker, color=colour, label=label, linewidth=1.8)
    if result.runs > 1 and band is not None:
        low, high = (limit[shown] / scale for limit in _band(result, policy, band))
        axes.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)


def _band(result: Result, policy: str, band: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper edge of a band, at each time."""
    if band == "ci":
        return result.confidence_interval(policy)
    if band == "quantile":
        return result.quantile_regret(policy, 0.05), result.quantile_regret(policy, 0.95)
    mean, std = result.mean_regret(policy), result.std_regret(policy)
    return mean - std, mean + std


def _highest(bounds: Sequence[_Bound]) -> float:
    """Return the highest value at T of the bounds that are drawn."""
    return max((float(bound.values[-1]) for bound in bounds if bound.style != "none"), default=0.0)


class _Bound(NamedTuple):
    """A line of a bound: what it is called, its values over time, and how it is drawn."""

    name: str
    values: Floats
    style: str


def _bounds(result: Result) -> list[_Bound]:
    """Return the bounds on regret under the truth, which must be a model."""
    if result.truth not in result.problem.models:
        raise InputError(
            f"bounds are known for a single model that is true throughout, not for {result.truth}"
        )
    case: Any = analyze(result.problem, result.truth).cases[0]
    logs, ucb1 = np.log(result.times), case.ucb1
    at_most = ucb1.constant + ucb1.log_coefficient * logs
    if result.problem.contexts:
        coefficient = case.theorem2.coefficient
        uppers = [_Bound(f"UCB1 in each context ≤ {ucb1}", at_most, "-.")]
    else:
        upper, coefficient = case.theorem1.corrected, case.theorem2.all_arms.coefficient
        assert upper.constant is not None  # only the printed one may be undefined
        uppers = [
            _Bound(
                f"FP-UCB ≤ {upper} (Theorem 1, corrected)",
                upper.constant + upper.log_coefficient * logs,
                "--",
            ),
            _Bound(f"UCB1 ≤ {ucb1}", at_most, "-."),
        ]
    if coefficient:
        name = f"any policy ≥ {coefficient:.4g} · ln T in the long run (Theorem 2)"
        return [*uppers, _Bound(name, coefficient * logs, ":")]
    name = "any policy: regret need not grow (Theorem 2)"
    return [*uppers, _Bound(name, np.full(len(logs), np.nan), "none")]
