"""What the report's figures share."""

from __future__ import annotations

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, load_problem, simulate
from fpbandits.core.statistics import half_width
from fpbandits.paper.report import drawing


def test_legends_name_everything_once() -> None:
    figure, axes = drawing.canvas("title")
    for row in range(3):
        drawing.draw_mark(axes, 1.0, row, "o", "red", "measured")
        drawing.draw_mark(axes, 2.0, row, "X", "blue", "printed")
    drawing.finish(figure, axes, "what was run")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["measured", "printed"]
    assert figure.get_supxlabel() == "what was run"
    assert axes.get_title() == "title"


def test_a_mean_has_its_interval() -> None:
    sample = np.random.default_rng(1).random((20, 3))
    _, axes = drawing.canvas("")
    drawing.draw_mean(axes, np.array([1, 2, 3]), sample, colour="red", label="x")
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata()), sample.mean(axis=0))
    band = np.asarray(axes.collections[0].get_paths()[0].vertices, float)
    half = half_width(sample)
    assert band[:, 1].max() == pytest.approx((sample.mean(axis=0) + half).max())
    assert band[:, 1].min() == pytest.approx((sample.mean(axis=0) - half).min())


def test_rows_have_names_from_top_to_bottom() -> None:
    _, axes = drawing.canvas("")
    drawing.name_rows(axes, ["first", "second"], above=1.0)
    ticks = axes.get_yticks().tolist()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert dict(zip(names, ticks, strict=True)) == {"first": 0, "second": -1}
    assert axes.get_ylim() == (-1.6, 1.0)


def test_curves_are_the_policies_own() -> None:
    problem = load_problem("paper:two")
    curves = {
        policy.name: simulate(problem, policy, horizon=horizon, runs=3)
        for policy, horizon in ((FPUCB(), 100), (UCB1(), 1000))
    }
    _, axes = drawing.draw_over_log_time("", curves, over_log=True)
    assert [line.get_label() for line in axes.lines] == ["FP-UCB", "UCB1"]
    assert axes.get_xlim() == (2, 1000)
    assert axes.get_ylabel() == "regret / ln t"
    ucb1 = curves["ucb1"]
    later = ucb1.times > 1
    np.testing.assert_allclose(
        np.asarray(axes.lines[1].get_ydata()),
        ucb1.mean_regret("ucb1")[later] / np.log(ucb1.times[later]),
    )
    assert drawing.run_caption(ucb1) == (
        "mean of 3 runs, 95 % interval of the mean; T = 1,000, seed 0"
    )


def test_long_titles_take_two_lines() -> None:
    assert drawing.short_title("two models, truth θ¹") == "two models,\ntruth θ¹"
