"""The figure of a problem shows what the definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem, load_problem
from fpbandits.theory.figure import _CONFUSIONS, MOST_MODELS, structure_figure
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


def test_where_marks_and_lines_are() -> None:
    """Marks stand a fifth of a column to the right, where no number is; lines between contexts."""
    problem = Problem.bernoulli(
        [[[0.9, 0.5], [0.8, 0.8]], [[0.4, 0.5], [0.8, 0.6]]],
        contexts=["m" * 13, "d" * 12],
        arms=["$9", "$12"],
        models=["loyal $", "thrifty $"],
        name="shop $a$",
    )
    figure = structure_figure(problem)
    left, right = figure.axes[:2]
    tied, best = (np.asarray(each.get_offsets()) for each in left.collections[:2])
    assert tied == pytest.approx(np.array([[0.2, 0], [2.2, 0], [3.2, 0], [1.2, 1], [2.2, 1]]))
    assert best == pytest.approx(np.array([[0.2, 0], [2.2, 0], [1.2, 1], [2.2, 1]]))
    assert [line.get_xdata() for line in left.lines] == [[1.5, 1.5]]
    (above,) = left.child_axes
    assert words(above.get_xticklabels()) == ["m" * 11 + "…", "d" * 12]
    assert figure.get_suptitle() == "shop $a$: 2 models, 2 arms, 2 contexts"
    names = [*above.get_xticklabels(), *left.get_xticklabels(), *left.get_yticklabels()]
    names += [*right.get_xticklabels(), *figure.texts]
    assert not any(name.get_parse_math() for name in names), "a dollar is no formula"
    assert (left.get_title(), right.get_title()) == (
        "mean reward",
        "who looks like whom while you play well",
    )
    (plain, *_) = structure_figure(Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])).axes[1:]
    assert plain.get_title() == "who looks like whom while the best arm is played"
    # Numbers are light on dark: below the middle of all means, which is 0.65.
    assert [(text.get_text(), text.get_color()) for text in left.texts] == [
        ("0.9 ", "black"),
        ("0.5 ", "white"),
        ("0.8 ", "black"),
        ("0.8 ", "black"),
        ("0.4 ", "white"),
        ("0.5 ", "white"),
        ("0.8 ", "black"),
        ("0.6 ", "white"),
    ]


def test_one_context_is_named_and_so_are_forty_but_not_more() -> None:
    for count in (1, 40, 41):
        contexts = [f"x{number}" for number in range(count)]
        problem = Problem.bernoulli(np.full((2, count, 2), 0.5), contexts=contexts)
        left = structure_figure(problem).axes[0]
        assert [words(axes.get_xticklabels()) for axes in left.child_axes] == (
            [contexts] if count <= 40 else []
        )
        assert len(left.lines) == (count - 1 if count <= 40 else 0)


@pytest.mark.parametrize(("models", "arms", "written"), [(40, 16, 640), (2, 17, 0), (41, 1, 0)])
def test_means_are_written_where_there_is_room(models: int, arms: int, written: int) -> None:
    problem = Problem.bernoulli(np.random.default_rng(0).random((models, arms)))
    left, right = structure_figure(problem).axes[:2]
    assert len(left.texts) == written
    lines = [number - 0.5 for number in range(models)] if models <= 40 else []
    for axis in (right.xaxis, right.yaxis):
        assert axis.get_minorticklocs().tolist() == lines
    if models <= 40:
        assert right.get_xticks().tolist() == right.get_yticks().tolist() == list(range(models))
        assert words(right.get_yticklabels()) == list(problem.models)
    else:
        assert right.yaxis.get_major_formatter()(0, None) == "no. 1"


def test_names_that_need_more_room_than_thirty_letters_stand_upright() -> None:
    for letters, degrees in ((15, 0), (16, 90)):
        names = ["a" * letters, "b" * 15]
        problem = Problem.bernoulli([[0.9, 0.5], [0.9, 0.95]], arms=names, models=names)
        left, right = structure_figure(problem).axes[:2]
        for axes in (left, right):
            assert {label.get_rotation() for label in axes.get_xticklabels()} == {degrees}
            assert {label.get_rotation() for label in axes.get_yticklabels()} == {0}


def test_kinds_of_confusion_have_their_colours() -> None:
    """Under the second model the second arm ties with the first: nobody needs to tell it apart."""
    for means, labels in (
        ([[0.5, 0.5], [0.2, 0.5], [0.7, 0.5]], list(_CONFUSIONS)),
        ([[0.5, 0.5], [0.2, 0.5]], list(_CONFUSIONS)[1:]),
        ([[0.9, 0.5], [0.2, 0.5]], list(_CONFUSIONS)[:1]),
    ):
        figure = structure_figure(Problem.bernoulli(means))
        image = figure.axes[1].images[0]
        assert image.get_clim() == (0, 2)
        (legend,) = [each for each in figure.legends if words(each.get_texts())[0] in _CONFUSIONS]
        assert words(legend.get_texts()) == labels
        for label, patch in zip(labels, legend.get_patches(), strict=True):
            kind = list(_CONFUSIONS).index(label) + 1
            assert image.to_rgba(np.array(kind)) == pytest.approx(patch.get_facecolor())
