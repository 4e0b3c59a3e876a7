"""What figures show, of runs that follow a formula: every curve, mark, band and label."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from fpbandits.core.arrays import Floats
from fpbandits.paper.material import Material
from fpbandits.paper.report.figures import FIGURES

SHOWN = {
    "fig1-episodes-slots": "312fc0c5",
    "fig1-episodes": "13d2531b",
    "fig2-two-theta1-10-runs": "debd892e",
    "fig3-two-theta2-10-runs": "f37063fc",
    "fig4-two-theta2-over-log-10-runs": "dd675664",
    "fig5-permutations-ucb-10-runs": "7ea1cccd",
    "fig6-permutations-thompson-10-runs": "d6b012f3",
    "fig7-grid-ucb-thompson-10-runs": "7bfc5161",
    "fig8-grid-ucb-10-runs": "b704be7a",
    "fig2-two-theta1": "229aa0fd",
    "fig3-two-theta2": "d60ee5bc",
    "fig4-two-theta2-over-log": "ec8588db",
    "fig5-permutations-ucb": "5512d282",
    "fig6-permutations-thompson": "89582b47",
    "fig7-grid-ucb-thompson": "6c81ea3c",
    "fig8-grid-ucb": "2a5be871",
    "far-fp-ucb": "3a3100b8",
    "far-grid-4": "ec674fd5",
    "crossing-ucb": "97ffecbf",
    "far-permutations": "dc161d0b",
    "meeting-thompson": "1ac91d09",
    "meeting-thompson-two": "13ead165",
    "default-policy": "2ab0c7ee",
    "default-policy-rivals": "59cd29ba",
    "slopes": "2214341c",
    "remark-1": "37a5e6b7",
    "bound-proposition-1": "0fa2fd4a",
    "bound-proposition-2": "bbce8954",
    "bounds": "810618af",
    "ties": "d7d8fa28",
}
"""A digest of each figure's content: whoever changes what a figure shows changes it too."""


def digits(values: Any) -> list[str]:
    filled: Floats = np.ma.asarray(values, float).filled(-1)
    return [f"{value:.4g}" for value in filled.flat]


def content(figure: Any) -> list[Any]:
    """All words and numbers of a figure, but for how it looks."""
    found: list[Any] = [figure.get_supxlabel()]
    for axes in figure.axes:
        found += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
        found += [axes.get_xscale(), axes.get_yscale()]
        found += [text.get_text() for text in axes.texts]
        found += [label.get_text() for label in axes.get_yticklabels()]
        found += [text.get_text() for text in axes.legend_.get_texts()] if axes.legend_ else []
        for line in axes.lines:
            found += [line.get_label(), digits(line.get_xdata()), digits(line.get_ydata())]
        for collection in axes.collections:
            found += [digits(path.vertices) for path in collection.get_paths()]
            found += [digits(collection.get_offsets())]
        for image in axes.images:
            found += [digits(image.get_array())]
        for patch in axes.patches:
            found += [digits(patch.get_path().vertices)]
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_what_a_figure_shows(name: str, made_up: Material) -> None:
    shown = content(FIGURES[name](made_up))
    found = hashlib.sha256(repr(shown).encode()).hexdigest()[:8]
    assert found == SHOWN.get(name), shown


def test_nothing_else_is_shown() -> None:
    assert set(SHOWN) == set(FIGURES)
