"""Means and confusion as small SVG pictures for the page, drawn in milliseconds.

`structure_figure` shows the same, and takes 0.7 s for 24 models. Here each cell is one pixel of an
image that the browser enlarges, which is as fast for 1,000 models; the names are text of the page.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np

from fpbandits.core.checks import number_text, printable
from fpbandits.problem.problem import Problem
from fpbandits.report.figures import ORANGE, SKY, short
from fpbandits.theory.contexts import PairStructure
from fpbandits.theory.structure import Structure

_CELL, _GAP = 26, 8
_SMALLEST = 2
_MOST_NAMES = 40
_LONGEST_NAME = 22
_LETTER = 7.2
"""How wide a letter is, at the size in which names are written."""

Kinds = np.ndarray[tuple[int, int], np.dtype[np.int8]]
NOT, MUST, NEED_NOT = range(3)
KINDS = {
    MUST: ("looks like it and has a better arm: must be told apart", ORANGE),
    NEED_NOT: ("looks like it, but need not be told apart", SKY),
}


def confusion(problem: Problem) -> Kinds:
    """Return for every truth which models look like it under optimal play: [truth, model]."""
    structure = PairStructure(problem)
    kinds = np.full((len(problem.models),) * 2, NOT, np.int8)
    by_arm = None if problem.contexts else Structure(problem)
    for truth in range(len(kinds)):
        if by_arm is not None:
            kinds[truth, by_arm.confusion_set(truth)] = NEED_NOT
        kinds[truth, structure.confusion_set(truth)] = MUST
    return kinds


def means_picture(problem: Problem) -> str:
    """Return the heat map of the means as SVG, the best arm of every model marked."""
    means = problem.rewards.means
    low, high = float(means.min()), float(means.max())
    best = PairStructure(problem).best_arms.reshape(means.shape)
    shares = (means - low) / (high - low) if high > low else np.full(means.shape, 0.5)
    bests = "; ".join(
        f"{name}: best {', '.join(problem.pair_names[pair] for pair in np.flatnonzero(own))}"
        for name, own in list(zip(problem.models, best, strict=True))[:_MOST_NAMES]
    )
    words = f"mean reward from {number_text(low)} (dark) to {number_text(high)} (light). {bests}"
    marked = np.argwhere(best).tolist() if max(means.shape) <= _MOST_NAMES else []
    marks = [
        f'<circle cx="{_CELL * (column + 0.5)}" cy="{_CELL * (row + 0.5)}" r="5" class="best"/>'
        for row, column in marked
    ]
    return _picture(shares, problem.models, problem.pair_names, words, marks)


def confusion_picture(problem: Problem, kinds: Kinds) -> str:
    """Return which model looks like which as SVG: a row per truth, a column per model."""
    colours = np.zeros((*kinds.shape, 4), np.uint8)
    colours[kinds == NOT] = (128, 128, 128, 56)
    for kind, (_, colour) in KINDS.items():
        colours[kinds == kind] = (*bytes.fromhex(colour[1:]), 255)
    names = problem.models
    some = [
        f"{names[truth]} looks like {names[model]}"
        for truth, model in np.argwhere(kinds == MUST)[:_MOST_NAMES].tolist()
    ]
    return _picture(colours, names, names, "; ".join(some) or "no two must be told apart at a cost")


def _picture(
    cells: np.ndarray,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    words: str,
    marks: Sequence[str] = (),
) -> str:
    """Return an image of one pixel per cell with names at its sides, and a title in words.

    A cell is a share of 1, drawn in cividis, or a colour of four bytes.
    """
    from matplotlib.image import imsave

    png = io.BytesIO()
    imsave(png, cells, format="png", cmap="cividis", vmin=0, vmax=1, origin="upper")
    data = base64.b64encode(png.getvalue()).decode()
    longest = max(len(rows), len(columns))
    size = _CELL if longest <= _MOST_NAMES else max(_SMALLEST, _CELL * _MOST_NAMES / longest)
    height, width = size * len(rows), size * len(columns)
    left, top = _room(rows), _room(columns)
    parts = [
        f'<svg class="heat" viewBox="{-left:.0f} {-top:.0f} {left + width:.0f} '
        f'{top + height:.0f}" width="{left + width:.0f}" role="img">',
        f"<title>{escape(printable(words))}</title>",
        f'<image href="data:image/png;base64,{data}" width="{width}" height="{height}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated"/>',
        *marks,
    ]
    parts += _labels(rows, f'x="{-_GAP}" y="%.0f" text-anchor="end"', size)
    parts += _labels(columns, f'transform="translate(%.0f {-_GAP}) rotate(-90)"', size)
    return "".join([*parts, "</svg>"])


def svg_text(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a user's name for an SVG, ``most`` letters of it at the most."""
    return escape(short(printable(name), most))


def _labels(names: tuple[str, ...], position: str, size: float) -> list[str]:
    """Return names as text, each in the middle of its row or column, if there are not too many."""
    if len(names) > _MOST_NAMES:
        return []
    return [
        f"<text {position % (size * (index + 0.5) + 4)}>{svg_text(name)}</text>"
        for index, name in enumerate(names)
    ]


def _room(names: tuple[str, ...]) -> float:
    if len(names) > _MOST_NAMES:
        return 0
    return _LETTER * min(max(map(len, names)), _LONGEST_NAME) + _GAP + 2
