"""Heat maps of means and of confusion, as SVG for the page, drawn in milliseconds.

Each cell is one pixel of an image that the browser enlarges, so 1,000 models are as fast as 10.
(`structure_figure` shows the same as a figure for print, and takes 0.7 s for 24 models.)
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape

import numpy as np

from fpbandits.core.checks import number_text, printable
from fpbandits.problem.problem import Problem
from fpbandits.report.figures import ORANGE, SKY, short
from fpbandits.report.html import data_url
from fpbandits.theory.contexts import PairStructure
from fpbandits.theory.figure import MUST, NEED_NOT, NOT_ALIKE, Kinds

_CELL = 26
"""The size of a cell, in pixels."""

_SMALLEST_CELL = 2
"""The size of a cell, in pixels, if there are very many."""

_GAP = 8
"""Pixels between a name and the cells."""

_MOST_NAMES = 40
"""With more rows or columns than this, they are not named, and cells are smaller."""

_LONGEST_NAME = 22
"""Letters of a name that are shown."""

LETTER = 7.2
"""The width of a letter in the names, in pixels, about."""

KINDS = {
    MUST: ("looks like it and has a better arm: must be told apart", ORANGE),
    NEED_NOT: ("looks like it, but need not be told apart", SKY),
}
"""What the two kinds of confusion mean, in words, and their colours."""


def means_picture(problem: Problem) -> str:
    """Return a heat map of the means as SVG, with the best arms marked."""
    means = problem.rewards.means
    low, high = float(means.min()), float(means.max())
    best = PairStructure(problem).best_arms.reshape(means.shape)
    shares = (means - low) / (high - low) if high > low else np.full(means.shape, 0.5)
    best_arms = "; ".join(
        f"{model}: best {', '.join(problem.pair_names[pair] for pair in np.flatnonzero(is_best))}"
        for model, is_best in list(zip(problem.models, best, strict=True))[:_MOST_NAMES]
    )
    limits = f"from {number_text(low)} (dark) to {number_text(high)} (light)"
    marked = np.argwhere(best).tolist() if max(means.shape) <= _MOST_NAMES else []
    marks = [
        f'<circle cx="{_CELL * (column + 0.5)}" cy="{_CELL * (row + 0.5)}" r="5" class="best"/>'
        for row, column in marked
    ]
    title = f"mean reward {limits}. {best_arms}"
    return _heat_map(shares, problem.models, problem.pair_names, title, marks)


def confusion_picture(problem: Problem, kinds: Kinds) -> str:
    """Return a heat map of `confusion` as SVG: a row per truth, a column per model."""
    colours = np.zeros((*kinds.shape, 4), np.uint8)
    colours[kinds == NOT_ALIKE] = (128, 128, 128, 56)
    for kind, (_, colour) in KINDS.items():
        colours[kinds == kind] = (*bytes.fromhex(colour[1:]), 255)
    names = problem.models
    confused = [
        f"{names[truth]} looks like {names[model]}"
        for truth, model in np.argwhere(kinds == MUST)[:_MOST_NAMES].tolist()
    ]
    title = "; ".join(confused) or "no two must be told apart at a cost"
    return _heat_map(colours, names, names, title)


def _heat_map(
    cells: np.ndarray,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    title: str,
    marks: Sequence[str] = (),
) -> str:
    """Return an SVG with an image of one pixel per cell, names at its sides, marks and a title.

    ``cells[row, column]`` is a number in [0, 1], drawn in the colours of cividis, or a colour of
    four bytes, [row, column, 4].
    """
    from matplotlib.image import imsave

    png = io.BytesIO()
    imsave(png, cells, format="png", cmap="cividis", vmin=0, vmax=1, origin="upper")
    longest = max(len(rows), len(columns))
    size = _CELL if longest <= _MOST_NAMES else max(_SMALLEST_CELL, _CELL * _MOST_NAMES / longest)
    height, width = size * len(rows), size * len(columns)
    left, top = _space_for(rows), _space_for(columns)
    parts = [
        f'<svg class="heat" viewBox="{-left:.0f} {-top:.0f} {left + width:.0f} '
        f'{top + height:.0f}" width="{left + width:.0f}" role="img">',
        f"<title>{escape(printable(title))}</title>",
        f'<image href="{data_url(png.getvalue(), "png")}" width="{width}" height="{height}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated"/>',
        *marks,
    ]
    parts += _labels(rows, f'x="{-_GAP}" y="%.0f" text-anchor="end"', size)
    parts += _labels(columns, f'transform="translate(%.0f {-_GAP}) rotate(-90)"', size)
    return "".join([*parts, "</svg>"])


def svg_text(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a name from the user as text of an SVG, shortened to ``most`` letters."""
    return escape(short(printable(name), most))


def _labels(names: tuple[str, ...], position: str, size: float) -> list[str]:
    """Return names as SVG text, each in the middle of its row or column; none if too many.

    ``position`` is a template for the attributes of a text, with the middle in place of ``%``.
    """
    if len(names) > _MOST_NAMES:
        return []
    return [
        f"<text {position % (size * (index + 0.5) + 4)}>{svg_text(name)}</text>"
        for index, name in enumerate(names)
    ]


def _space_for(names: tuple[str, ...]) -> float:
    """Return how many pixels the names take."""
    if len(names) > _MOST_NAMES:
        return 0
    return LETTER * min(max(map(len, names)), _LONGEST_NAME) + _GAP + 2
