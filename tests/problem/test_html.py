"""Problems in notebooks."""

from __future__ import annotations

import numpy as np
from cells import Cells

from fpbandits import Problem


def test_a_notebook_shows_the_means_the_best_in_bold() -> None:
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], arms=["<a>", "b"], truth="theta2")
    found = Cells(problem._repr_html_())
    assert found.rows == [
        ["mean reward", "<a>", "b"],
        ["theta1", "0.9", "0.5"],
        ["theta2 (the truth)", "0.2", "0.5"],
    ]
    assert found.strong == ["0.9", "0.5"]


def test_a_notebook_shows_a_column_per_context_and_arm() -> None:
    means = [[[0.9, 0.5, 0.1], [0.2, 0.5, 0.7]]]
    problem = Problem.bernoulli(means, contexts=["x", "y"], arms=["a", "b", "c"])
    found = Cells(problem._repr_html_())
    assert found.rows[0] == ["mean reward", "x: a", "x: b", "x: c", "y: a", "y: b", "y: c"]
    assert found.strong == ["0.9", "0.7"]
    many = Problem.bernoulli(np.tile(means, (1, 2, 1)), contexts=list("wxyz"))
    assert "… and 2 columns more, in .pair_names" in " ".join(many._repr_html_().split())


def test_a_notebook_shows_part_of_a_large_problem_and_counts_the_rest() -> None:
    means = np.full((500, 30), 0.5)
    means[:, 20] = 0.6  # the best arm is not among those shown
    text = Problem.bernoulli(means)._repr_html_()
    found = Cells(text)
    assert [len(row) for row in found.rows] == [11] * 13
    assert found.strong == []
    assert "… and 488 models more" in text
    assert "… and 20 arms more" in text
