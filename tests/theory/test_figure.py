"""The figure of a problem shows what the definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits import Problem, load_problem
from fpbandits.theory.figure import structure_figure
from fpbandits.theory.structure import Structure


def test_figure_shows_who_is_confused_with_whom() -> None:
    problem = load_problem("paper:grid")
    structure = Structure(problem)
    means_axes, confusion_axes = structure_figure(problem).axes[:2]
    kinds: Any = confusion_axes.images[0].get_array()
    for truth in range(256):
        must, may = set(structure.must_explore(truth)), set(structure.confusion_set(truth))
        assert set(np.flatnonzero(kinds[truth] == 1)) == must
        assert set(np.flatnonzero(kinds[truth] == 2)) == may - must
    marks: Any = means_axes.collections[1].get_offsets()
    assert np.rint(marks[:, 0] - 0.2).astype(int).tolist() == structure.best_arm.tolist()
    assert marks[:, 1].tolist() == list(range(256))


def test_contexts_are_drawn_side_by_side_each_with_its_best_arm() -> None:
    problem = Problem.bernoulli(
        [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.6, 0.6]]],
        contexts=["mobile", "desktop"],
        arms=["9 EUR", "12 EUR"],
    )
    means_axes, confusion_axes = structure_figure(problem).axes[:2]
    assert [tick.get_text() for tick in means_axes.get_xticklabels()] == ["9 EUR", "12 EUR"] * 2
    (above,) = means_axes.child_axes
    assert [tick.get_text() for tick in above.get_xticklabels()] == ["mobile", "desktop"]
    assert above.get_xticks().tolist() == [0.5, 2.5]
    drawn: Any = means_axes.images[0].get_array()
    assert np.array_equal(drawn, problem.means.reshape(3, 4))
    tied, marks = (np.asarray(each.get_offsets()) for each in means_axes.collections[:2])
    assert [(round(x - 0.2), y) for x, y in marks] == [
        (0, 0),
        (2, 0),
        (1, 1),
        (2, 1),
        (1, 2),
        (2, 2),
    ]
    assert (round(tied[-1][0] - 0.2), tied[-1][1]) == (3, 2)
    kinds: Any = confusion_axes.images[0].get_array()
    # Who plays 12 EUR on mobiles and 9 EUR elsewhere never learns whether 9 EUR sells there.
    assert kinds.astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
