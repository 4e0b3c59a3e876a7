"""The figure of a problem shows what the definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem, load_problem
from fpbandits.theory.figure import MOST_MODELS, structure_figure
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


def words(texts: Any) -> list[str]:
    return [text.get_text() for text in texts]


def test_few_models_are_named_and_their_means_written() -> None:
    means = [[0.9, 0.125], [0.9, 0.95]]
    problem = Problem.bernoulli(means, arms=["a" * 30, "b"], models=["x" * 30, "y"], name="two")
    figure = structure_figure(problem)
    left, right = figure.axes[:2]
    assert words(left.texts) == ["0.9 ", "0.125 ", "0.9 ", "0.95 "]
    assert [text.get_position() for text in left.texts] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    cut = "x" * 23 + "…"
    assert words(left.get_yticklabels()) == words(right.get_yticklabels()) == [cut, "y"]
    assert words(right.get_xticklabels()) == [cut, "y"]
    assert {label.get_rotation() for label in left.get_yticklabels()} == {0}
    assert {label.get_rotation() for label in right.get_xticklabels()} == {0}, "25 letters fit"
    assert figure.get_suptitle() == "two: 2 models, 2 arms"
    assert [words(legend.get_texts()) for legend in figure.legends] == [
        ["best arm"],
        ["has a better arm: must be told apart"],
    ]
    three = Problem.bernoulli(np.eye(3) / 2 + 0.1, models=["a" * 12, "b" * 12, "c" * 12])
    _, right = structure_figure(three).axes[:2]
    assert {label.get_rotation() for label in right.get_xticklabels()} == {90}
    assert words(right.texts) == ["no two are confused"]


def test_of_many_models_every_so_many_has_a_number() -> None:
    problem = Problem.bernoulli(np.random.default_rng(0).random((41, 3)))
    figure = structure_figure(problem)
    left = figure.axes[0]
    assert words(left.texts) == []
    assert left.yaxis.get_major_formatter()(0, None) == "no. 1"
    assert words(left.get_xticklabels()) == ["arm1", "arm2", "arm3"]
    with pytest.raises(InputError, match=r"1,001 models are too many to draw \(at most 1,000\)"):
        structure_figure(Problem.bernoulli(np.full((MOST_MODELS + 1, 1), 0.5)))


def test_ties_have_marks_of_their_own() -> None:
    figure = structure_figure(Problem.bernoulli([[0.5, 0.5, 0.1], [0.5, 0.4, 0.1]]))
    left = figure.axes[0]
    tied, best = (np.asarray(each.get_offsets()) for each in left.collections[:2])
    assert sorted((round(x - 0.2), int(y)) for x, y in tied) == [(0, 0), (0, 1), (1, 0)]
    assert [(round(x - 0.2), int(y)) for x, y in best] == [(0, 0), (0, 1)]
    assert words(figure.legends[0].get_texts()) == [
        "best arm",
        "tied with it",
    ]
