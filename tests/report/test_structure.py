"""The figure of a problem shows what the definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits import load_problem
from fpbandits.report.structure import structure_figure
from fpbandits.theory.structure import Structure


def test_figure_shows_who_is_confused_with_whom() -> None:
    problem = load_problem("paper:grid")
    structure = Structure(problem)
    means_axes, confusion_axes = structure_figure(problem).axes[:2]
    kinds: Any = confusion_axes.images[0].get_array()
    for true in range(256):
        must, may = set(structure.must_explore(true)), set(structure.confusion_set(true))
        assert set(np.flatnonzero(kinds[true] == 1)) == must
        assert set(np.flatnonzero(kinds[true] == 2)) == may - must
    marks: Any = means_axes.collections[1].get_offsets()
    assert np.rint(marks[:, 0] - 0.2).astype(int).tolist() == structure.best_arm.tolist()
    assert marks[:, 1].tolist() == list(range(256))
