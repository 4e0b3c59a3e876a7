"""Means and confusion as a small picture for the page: the same as `structure_figure`, and at once.

Drawing that figure takes some 0.7 s for 24 models; this takes milliseconds. The colours are one
pixel per cell in an image, which the browser enlarges, so that 1,000 models make no difference; the
names are text of the page, in its colours.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import number_text, visible
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
    """Tell for every truth which models look like it while you play well: [truth, model]."""
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
    words = [f"mean reward from {number_text(low)} (dark) to {number_text(high)} (light)"]
    words.append(
        "; ".join(
            f"{name}: best {', '.join(problem.pair_names[pair] for pair in np.flatnonzero(own))}"
            for name, own in list(zip(problem.models, best, strict=True))[:_MOST_NAMES]
        )
    )
    marks = []
    size = _size(means.shape)
    if max(means.shape) <= _MOST_NAMES:
        for row, column in np.argwhere(best).tolist():
            x, y = size * (column + 0.5), size * (row + 0.5)
            marks.append(f'<circle cx="{x}" cy="{y}" r="5" class="best"/>')
    return _picture(_cividis(shares), problem.models, problem.pair_names, ". ".join(words), marks)


def confusion_picture(problem: Problem, kinds: Kinds) -> str:
    """Return who looks like whom as SVG: a row per truth, a column per model."""
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


def _size(shape: tuple[int, ...]) -> float:
    longest = max(shape)
    return _CELL if longest <= _MOST_NAMES else max(_SMALLEST, _CELL * _MOST_NAMES / longest)


def _picture(
    colours: np.ndarray,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    words: str,
    marks: Sequence[str] = (),
) -> str:
    """Return an image of one pixel per cell with names at its sides, and all of it in words."""
    size = _size(colours.shape[:2])
    height, width = size * len(rows), size * len(columns)
    left = _room(rows)
    top = _room(columns)
    data = base64.b64encode(_png(colours)).decode()
    parts = [
        f'<svg class="heat" viewBox="{-left:.0f} {-top:.0f} {left + width:.0f} '
        f'{top + height:.0f}" width="{left + width:.0f}" role="img">',
        f"<title>{escape(visible(words))}</title>",
        f'<image href="data:image/png;base64,{data}" width="{width}" height="{height}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated"/>',
        *marks,
    ]
    if len(rows) <= _MOST_NAMES:
        parts += [
            f'<text x="{-_GAP}" y="{size * (place + 0.5) + 4:.0f}" text-anchor="end">'
            f"{_name(name)}</text>"
            for place, name in enumerate(rows)
        ]
    if len(columns) <= _MOST_NAMES:
        parts += [
            f'<text transform="translate({size * (place + 0.5) + 4:.0f} {-_GAP}) rotate(-90)">'
            f"{_name(name)}</text>"
            for place, name in enumerate(columns)
        ]
    return "".join([*parts, "</svg>"])


def _room(names: tuple[str, ...]) -> float:
    if len(names) > _MOST_NAMES:
        return 0
    return _LETTER * min(max(map(len, names)), _LONGEST_NAME) + _GAP + 2


def _name(name: str) -> str:
    return escape(short(visible(name), _LONGEST_NAME))


def _cividis(shares: Floats) -> np.ndarray:
    """Return the colours of the library's heat maps, which colour-blind readers see alike."""
    from matplotlib import colormaps

    colours: np.ndarray = colormaps["cividis"](shares, bytes=True)
    return colours


def _png(colours: np.ndarray) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(colours, "RGBA").save(stream, "PNG")
    return stream.getvalue()
