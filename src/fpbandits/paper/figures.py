"""The paper's own figures, in its order.

Each is drawn twice: in the paper's look, the mean of 10 runs with a band of ±1 standard deviation
over t, and with all the runs there are, a 95 % interval of the mean over log t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.errors import counted
from fpbandits.paper.claims.statement import time_text
from fpbandits.paper.drawing import (
    Chapter,
    Drawing,
    canvas,
    draw_curves,
    finish,
    what_was_run,
)
from fpbandits.paper.evidence import Evidence
from fpbandits.paper.experiments import LEAST_RUNS, NEAR, SETTINGS
from fpbandits.report.figures import BLUE, GREEN, ORANGE, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ARM_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


def papers_figures(evidence: Evidence) -> list[Chapter]:
    """Return the paper's figures, with a few words on each."""
    thompson, fp_ucb = (
        float(evidence.regret("permutations", policy, 10**5).mean())
        for policy in ("thompson", "fp-ucb")
    )
    return [
        Chapter(
            "Figure 1: episodes and time slots",
            "Algorithm 1 plays each arm of A once, and then goes on in episodes. In episode k it "
            "plays once each arm that is best under some model still consistent with what was "
            "seen, or all of A if none is (as in the first, where radii are 0). Here is a run on "
            "the 24 permutations: all four arms are played until models are ruled out.",
            [
                Drawing(
                    "fig1-episodes-slots",
                    "Episodes and their time slots: the start of the run, and the first episodes "
                    "that leave out an arm. Numbers in the slots are arms; the small number is the "
                    "first slot's time t.",
                    _slots,
                ),
                Drawing(
                    "fig1-episodes",
                    "The same run further on: the episodes in which each arm is played.",
                    _episodes,
                ),
            ],
        ),
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
            f"FP-UCB pays its whole bill early. {_behind(evidence, 'permutations')}",
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
            f"Ten times as many models, B(θ°) still empty. {_behind(evidence, 'grid-6')}",
            "grid-6",
            ["fp-ucb", "ucb1", "thompson"],
        ),
        _pair(
            "fig8-grid-ucb",
            "256 models, truth [.4, .3, .2, .2], against UCB",
            f"{len(evidence.case('grid-4').confusion_set)} models look like the truth while arm 1 "
            f"is played. {_behind(evidence, 'grid-4')} From T = 10⁴ to 10⁶ FP-UCB's regret "
            f"grows by {_growth(evidence, 'grid-4'):.3g}: see below for what comes later.",
            "grid-4",
            ["fp-ucb", "ucb1"],
        ),
    ]


def _behind(evidence: Evidence, setting: str) -> str:
    crossing = evidence.crossing(setting, "fp-ucb", "ucb1")
    if crossing is None:
        return "The means do not cross up to T = 10⁶."
    return f"Its mean is above UCB1's up to T ≈ {time_text(crossing)}, and below from there on."


def _growth(evidence: Evidence, setting: str) -> float:
    later, earlier = (evidence.regret(setting, "fp-ucb", 10**power) for power in (6, 4))
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
    chosen = SETTINGS[setting]

    def as_in_the_paper(evidence: Evidence) -> Figure:
        figure, axes = canvas(chosen.title)
        curves = {
            policy: evidence.result(setting, policy, NEAR).first(LEAST_RUNS).until(chosen.horizon)
            for policy in policies
        }
        draw_curves(axes, curves, band="std", over_log=over_log)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda time, _: f"{time:,.0f}")
        axes.locator_params(axis="x", nbins=5)
        return finish(figure, axes, what_was_run(curves[policies[0]], "std"))

    def with_all_runs(evidence: Evidence) -> Figure:
        figure, axes = canvas(chosen.title)
        curves = {policy: evidence.result(setting, policy, NEAR) for policy in policies}
        axes.set_xscale("log")
        draw_curves(axes, curves, band="ci", over_log=over_log)
        axes.set_xlim(left=2 if over_log else 1)
        return finish(figure, axes, what_was_run(curves[policies[0]], "ci"))

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
                name, "All runs, 95 % interval of the mean, time on a log scale.", with_all_runs
            ),
        ],
    )


def _slots(evidence: Evidence) -> Figure:
    arms = evidence.episodes.arms
    starts = np.cumsum([0, *(len(played) for played in arms)])
    figure, axes = canvas("Episodes k and their time slots", height=3.2)
    # The start, and the first episodes that leave an arm out.
    first_short = next((k for k, played in enumerate(arms) if len(played) < 4), 6)
    spans = (range(3), range(3, 6), range(first_short - 1, first_short + 2))
    for row, span in enumerate(spans):
        place, height = 0.0, -1.7 * row
        for k in span:
            if k >= len(arms):
                break
            for offset, arm in enumerate(arms[k]):
                _draw_slot(axes, place + offset, height, arm)
            heading = "initialisation" if k == 0 else f"episode {k}"
            middle = place + len(arms[k]) / 2
            axes.text(middle, height + 0.38, heading, ha="center", va="bottom", fontsize=10)
            axes.text(
                place + 0.04,
                height - 0.4,
                f"t = {starts[k] + 1}",
                va="top",
                fontsize=9,
                color="0.35",
            )
            place += len(arms[k]) + 0.7
    axes.set_xlim(-0.1, 13.6)
    axes.set_ylim(-1.7 * (len(spans) - 1) - 0.95, 0.95)
    axes.axis("off")
    figure.supxlabel(_one_run(evidence), fontsize=8, color="0.35")
    return figure


def _draw_slot(axes: Axes, place: float, height: float, arm: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((place + 0.04, height - 0.32), 0.92, 0.64, color=_ARM_COLOURS[arm], linewidth=0)
    )
    axes.text(
        place + 0.5, height, str(arm + 1), ha="center", va="center", fontsize=11, color="white"
    )


def _episodes(evidence: Evidence) -> Figure:
    arms = evidence.episodes.arms
    names = SETTINGS["permutations"].problem.arms
    figure, axes = canvas("Arms played in each episode", height=3.2)
    for arm, colour in enumerate(_ARM_COLOURS):
        played = np.array([0, *(arm in cycle for cycle in arms[1:]), 0])
        # Episodes in a row are one bar.
        starts, ends = (np.flatnonzero(np.diff(played) == step).tolist() for step in (1, -1))
        bars = [(start + 0.5, end - start) for start, end in zip(starts, ends, strict=True)]
        axes.broken_barh(bars, (-arm - 0.38, 0.76), color=colour, linewidth=0.6)
    axes.set_yticks([-arm for arm in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    last = max(k for k, played in enumerate(arms) if len(played) > 1)
    axes.set_xlim(0, min(len(arms), round(1.25 * last)))
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.set_xlabel("episode k")
    figure.supxlabel(_one_run(evidence), fontsize=8, color="0.35")
    return figure


def _one_run(evidence: Evidence) -> str:
    plays = sum(len(played) for played in evidence.episodes.arms)
    return (
        f"one run of FP-UCB, {SETTINGS['permutations'].title}; {counted(plays, 'play')}, "
        f"seed {evidence.episodes.seed}"
    )
