"""The paper's own figures, in its order.

Each is drawn twice: in the paper's look, the mean of 10 runs with a band of ±1 standard deviation
over t, and with all the runs there are, a 95 % interval of the mean over log t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fpbandits.paper.report import drawing
from fpbandits.paper.report.chapters import Chapter, Drawing
from fpbandits.paper.report.episodes import episodes
from fpbandits.report.times import time_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material


def papers_figures(material: Material) -> list[Chapter]:
    """Return the paper's figures, with a few words on each."""
    thompson, fp_ucb = (
        float(material.regret("permutations", policy, 10**5).mean())
        for policy in ("thompson", "fp-ucb")
    )
    return [
        episodes(),
        _pair(
            "fig2-two-theta1",
            "Two models, truth θ¹: bounded",
            "Means are (.9, .5) under θ¹ and (.2, .5) under θ². Arm 1, best under θ¹, tells them "
            "apart: once θ² is ruled out, nothing is lost any more.",
            "two-1",
            ["fp-ucb"],
        ),
        _pair(
            "fig3-two-theta2",
            "Two models, truth θ²: logarithmic",
            "Arm 2, best under θ², pays the same under both models. FP-UCB must return to arm 1 "
            "now and then, for ever.",
            "two-2",
            ["fp-ucb"],
        ),
        _pair(
            "fig4-two-theta2-over-log",
            "Two models, truth θ²: regret over log t",
            "Divided by ln t, the curve settles at 3Δ/β² = 1.837 or so: arm 1 is played as often "
            "as it takes to keep its radius √(3 ln k/n) below β.",
            "two-2",
            ["fp-ucb"],
            over_log=True,
        ),
        _pair(
            "fig5-permutations-ucb",
            "24 permutations against UCB",
            f"FP-UCB pays its whole bill early. {_behind(material, 'permutations')}",
            "permutations",
            ["fp-ucb", "ucb1"],
        ),
        _pair(
            "fig6-permutations-thompson",
            "24 permutations against Thompson sampling",
            "Thompson sampling (uniform Beta priors, no knowledge of Θ) keeps growing, but from "
            f"far below: by T = 10⁵ it has lost {thompson:.3g}, and FP-UCB {fp_ucb:.3g}.",
            "permutations",
            ["fp-ucb", "thompson"],
        ),
        _pair(
            "fig7-grid-ucb-thompson",
            "256 models, truth [.6, .4, .3, .2], against UCB and Thompson sampling",
            f"Ten times as many models, B(θ°) still empty. {_behind(material, 'grid-6')}",
            "grid-6",
            ["fp-ucb", "ucb1", "thompson"],
        ),
        _pair(
            "fig8-grid-ucb",
            "256 models, truth [.4, .3, .2, .2], against UCB",
            f"{len(material.case('grid-4').confusion_set)} of the models look like the truth while "
            f"arm 1 is played. {_behind(material, 'grid-4')} From T = 10⁴ to 10⁶ FP-UCB's regret "
            f"grows by {_growth(material, 'grid-4'):.3g}: see below for what comes later.",
            "grid-4",
            ["fp-ucb", "ucb1"],
        ),
    ]


def _behind(material: Material, setting: str) -> str:
    crossing = material.crossing(setting, "fp-ucb", "ucb1")
    if crossing is None:
        return "Up to T = 10⁶ the mean regrets of FP-UCB and UCB1 do not cross."
    return (
        f"On average FP-UCB has lost more than UCB1 up to T ≈ {time_text(crossing)}, and less from "
        "there on."
    )


def _growth(material: Material, setting: str) -> float:
    later, earlier = (material.regret(setting, "fp-ucb", 10**power) for power in (6, 4))
    return float((later - earlier).mean())


def _pair(
    name: str,
    title: str,
    text: str,
    setting: str,
    policies: Sequence[str],
    *,
    over_log: bool = False,
) -> Chapter:
    def as_in_the_paper(material: Material) -> Figure:
        chosen = material.setting(setting)
        figure, axes = drawing.canvas(chosen.title)
        curves = {
            policy: result.first(chosen.runs).until(chosen.horizon)
            for policy, result in drawing.curves_of(material, setting, policies, "near").items()
        }
        drawing.draw_curves(axes, curves, band="std", over_log=over_log)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda time, _: f"{time:,.0f}")
        axes.locator_params(axis="x", nbins=5)
        return drawing.finish(figure, axes, drawing.what_was_run(curves[policies[0]], "std"))

    return Chapter(
        title,
        text,
        [
            Drawing(
                f"{name}-10-runs",
                "As in the paper: 10 runs, ±1 standard deviation.",
                as_in_the_paper,
            ),
            Drawing(
                name,
                "All runs, 95 % interval of the mean, time on a log scale.",
                drawing.policies_over_time(setting, policies, "near", over_log=over_log),
            ),
        ],
    )
