"""What a fit found: the types as a heat map, the choice of their number, a table, a page.

A *pair* is a context and an arm, arms varying fastest; without contexts, an arm.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from fpbandits import __version__
from fpbandits.core.storage import make_folder, write_together
from fpbandits.errors import counted
from fpbandits.report.figures import BLUE, ORANGE, blank, footnote, own_style, rendered, short
from fpbandits.report.html import fill
from fpbandits.report.text import LOOK_ALIKE, aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fpbandits.fitting.result import Fit

_MOST_WRITTEN = 24
"""Columns in which numbers can still be read."""
_LONGEST = 26
"""Characters of a name below a figure's column."""
_PER_INCH = 6
"""Characters of names in an inch below a figure; where there are more, names are vertical."""
_MOST_SHOWN = 12
"""The most columns on a terminal; columns that are best for some type are always shown."""
_WIDTH = 80
"""Characters in a line of the table."""


def _setting(fit: Fit) -> str:
    """Return how many rewards and units the log has, in words."""
    return f"{counted(fit.events, 'reward')} of {counted(fit.units, 'unit')}"


@own_style()
def types_figure(fit: Fit) -> Figure:
    """Draw the mean of every pair under every type with its standard error, and the shares."""
    from matplotlib.patches import Rectangle

    problem = fit.problem
    means, errors = problem.rewards.means, fit.error_table
    rows, columns = means.shape
    written = columns <= _MOST_WRITTEN
    width = float(np.clip((0.6 if written else 0.34) * columns, 3.0, 15.0))
    figure = blank(width + 3.6, 2.2 + 0.42 * rows + (0.3 if problem.contexts else 0))
    shares_axes, axes = figure.subplots(1, 2, width_ratios=[1.5, width], sharey=True)
    image = axes.imshow(means, cmap="cividis", aspect="auto", interpolation="nearest")
    middle = (means.min() + means.max()) / 2
    for (row, column), mean in np.ndenumerate(means):
        colour = "white" if mean < middle else "black"
        error = float(errors[row, column])
        if written:
            text = "\n±".join(with_error(mean, error))
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
        else:
            # Height of the bar, in cells: width of the interval / range of all means, at most 0.9.
            half = min(0.45, 1.96 * error / max(np.ptp(means), 1e-300))
            axes.plot([column, column], [row - half, row + half], color=colour, linewidth=1.5)
    best = means.reshape(rows, -1, len(problem.arms)).argmax(axis=2)
    starts = len(problem.arms) * np.arange(best.shape[1])
    for row, best_columns in enumerate(best + starts):
        for column in best_columns:
            corner = column - 0.46, row - 0.46
            axes.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=ORANGE, linewidth=2))
    axes.set_xticks(
        range(columns),
        [short(name, _LONGEST) for name in problem.pair_names],
        rotation=90 if sum(map(len, problem.pair_names)) > _PER_INCH * width else 0,
        fontsize=8,
        parse_math=False,
    )
    axes.set_xlabel("context: arm" if problem.contexts else "arm")
    note = (
        "± standard error"
        if written
        else "bars: 95 % intervals, as high as a cell if they span all means"
    )
    axes.set_title(f"mean reward, {note}; best arm framed", fontsize=10)
    figure.colorbar(image, ax=axes, pad=0.02)
    _draw_shares(shares_axes, fit)
    figure.suptitle(f"{problem.name}: {counted(fit.types, 'type')}", parse_math=False)
    return footnote(figure, _setting(fit))


def _draw_shares(axes: Axes, fit: Fit) -> None:
    """Draw the share of each type with its 95 % interval."""
    shares, errors = list(fit.shares.values()), [fit.share_errors[name] for name in fit.shares]
    rows = range(fit.types)
    axes.barh(rows, shares, color=BLUE, height=0.6)
    axes.errorbar(shares, rows, xerr=1.96 * np.array(errors), fmt="none", ecolor="0.25")
    axes.set_yticks(rows, fit.problem.models, fontsize=9, parse_math=False)
    axes.set_xlim(0, 1.25 * max(s + 1.96 * e for s, e in zip(shares, errors, strict=True)))
    axes.set_title("share of units", fontsize=10)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.locator_params(axis="x", nbins=3)
    axes.spines[["top", "right"]].set_visible(False)


@own_style()
def choice_figure(fit: Fit) -> Figure:
    """Draw the held-out likelihood and BIC against the number of types."""
    figure = blank(6.4, 4.0)
    axes = figure.subplots()
    numbers = list(fit.held_out)
    held = np.array(list(fit.held_out.values()))
    axes.plot(numbers, held, "o-", color=BLUE)
    axes.set_ylabel("log-likelihood per held-out reward", color=BLUE)
    axes.set_xlabel("number of types")
    axes.set_xticks(numbers)
    axes.axvline(fit.types, color="0.6", linewidth=6, alpha=0.35, zorder=0)
    other = axes.twinx()
    bic = np.array(list(fit.bic.values())) / fit.events
    other.plot(numbers, bic, "s--", color=ORANGE, markersize=4)
    other.set_ylabel("BIC per reward (lower is better)", color=ORANGE)
    other.invert_yaxis()
    axes.set_title(f"{fit.problem.name}: {counted(fit.types, 'type')} chosen", parse_math=False)
    return footnote(figure, f"{_setting(fit)}; up is better for both")


def fit_table(fit: Fit) -> RenderableType:
    """Show the types, and what to think of them, on a terminal."""
    problem = fit.problem
    family = str(problem.rewards)  # such as "bernoulli rewards in [0, 1]"
    head = f"{counted(fit.types, 'type')} from {_setting(fit)}, {family}"
    parts: list[RenderableType] = [Text(head, style="bold")]
    parts += [Text(line, no_wrap=True) for line in _lines(fit)]
    parts.append(Text(""))
    parts.append(Text(f"A unit's likeliest type has probability {fit.sureness:.0%} on average."))
    if fit.types > 1:
        parts += [Text(LOOK_ALIKE), *(Text(str(each)) for each in fit.told_apart)]
    if fit.warnings:
        parts.append(Text(""))
        parts += [Text(f"Note: {warning}", style="italic") for warning in fit.warnings]
    return Group(*parts)


def _cells(fit: Fit) -> list[list[str]]:
    """Return the means with their errors as text: a row per type, a column per pair."""
    means, errors = fit.problem.rewards.means, fit.error_table
    return [
        [" ±".join(with_error(mean, error)) for mean, error in zip(*row, strict=True)]
        for row in zip(means, errors, strict=True)
    ]


def with_error(mean: float, error: float) -> tuple[str, str]:
    """Return a mean and its standard error, both to two significant digits of the error.

    No digit before the decimal point is rounded away. With an error below 1e-8 the mean has six
    significant digits; so it has without an error (0 or NaN), which is shown as 0.

    >>> with_error(4.5531, 0.0812), with_error(54.2, 12.3), with_error(1234.5, 0.0)
    (('4.553', '0.081'), ('54', '12'), ('1234.5', '0'))
    """
    if not error > 0:
        return f"{mean:.6g}", "0"
    # Rounded first: 0.0996 is shown as 0.10, not as 0.100.
    digits = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    if digits > 8:
        return f"{mean:.6g}", f"{error:.1e}"
    return f"{mean:.{max(0, digits)}f}", f"{error:.{max(0, digits)}f}"


def _lines(fit: Fit) -> list[str]:
    """Return the table in blocks of at most `_WIDTH` characters.

    Of many pairs it has those that are best for some type, then others up to `_MOST_SHOWN`, in
    their usual order.
    """
    problem, cells = fit.problem, _cells(fit)
    best = problem.rewards.means.reshape(fit.types, -1, len(problem.arms)).argmax(axis=2)
    shown = {*(best + len(problem.arms) * np.arange(best.shape[1])).flat}
    for pair in range(problem.pairs):
        if len(shown) < _MOST_SHOWN:
            shown.add(pair)
    shares = [f"{share:.1%} ±{fit.share_errors[name]:.1%}" for name, share in fit.shares.items()]
    left = [["type", *problem.models], ["share", *shares]]
    columns = [
        [short(problem.pair_names[pair], 20), *(row[pair] for row in cells)]
        for pair in sorted(shown)
    ]
    lines = []
    while columns:
        block = [*left]
        while columns and (len(block) == 2 or _width([*block, columns[0]]) <= _WIDTH):
            block.append(columns.pop(0))
        widths = [max(map(cell_len, column)) for column in block]
        signed_widths = [widths[0], *(-width for width in widths[1:])]  # negative: to the right
        lines += [aligned(line, signed_widths) for line in zip(*block, strict=True)]
    if len(shown) < problem.pairs:
        more = f"… and {problem.pairs - len(shown)} more columns, best for no type"
        lines.append(f"{more}: see --save, --report or --json")
    return lines


def _width(columns: list[list[str]]) -> int:
    """Return how many characters wide these columns are, side by side."""
    return sum(max(map(cell_len, column)) + 2 for column in columns) - 2


def write_report(fit: Fit, folder: Path) -> Path:
    """Write report.html with its figures, fit.json and models.toml; return the page's path.

    Where the number of types was given, there is no choice to draw.
    """
    from fpbandits.problem.files import problem_to_toml

    make_folder(folder)
    figures = {"types": types_figure(fit)}
    if len(fit.held_out) > 1:
        figures["choice"] = choice_figure(fit)
    files: dict[Path, bytes] = {}
    for name, figure in figures.items():
        files |= rendered(figure, folder / name)
    page = fill(
        "fit.html.j2",
        fit=fit,
        problem=fit.problem,
        cells=_cells(fit),
        alike=LOOK_ALIKE,
        pictures={name: files[folder / f"{name}.svg"] for name in figures},
        setting=_setting(fit),
        version=__version__,
    )
    files[folder / "report.html"] = page.encode()
    files[folder / "fit.json"] = (json.dumps(fit.as_dict(), indent=1) + "\n").encode()
    files[folder / "models.toml"] = problem_to_toml(fit.problem).encode()
    write_together(files)
    return folder / "report.html"
