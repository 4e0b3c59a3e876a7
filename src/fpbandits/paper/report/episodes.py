"""Figure 1 of the paper, episodes and time slots, from a simulated run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fpbandits.errors import counted
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.report import drawing
from fpbandits.report.figures import BLUE, GREEN, ORANGE, PURPLE, footnote

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material

_ARM_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


def slots(material: Material) -> Figure:
    """Draw the first episodes of the run, and the first that leave out an arm, slot by slot."""
    arms = material.episodes.arms
    starts = np.cumsum([0, *(len(played) for played in arms)])
    figure, axes = drawing.canvas("Episodes k and their time slots", height=3.2)
    # The first episode that leaves out an arm; 6 if there is none.
    short = next((k for k, played in enumerate(arms) if len(played) < 4), 6)
    rows = (range(3), range(3, 6), range(short - 1, short + 2))
    for row, episodes in enumerate(rows):
        left, height = 0.0, -1.7 * row
        for k in episodes:
            if k >= len(arms):
                break
            for offset, arm in enumerate(arms[k]):
                bar = axes.barh(
                    height, 0.92, 0.64, left + offset + 0.04, color=_ARM_COLOURS[arm], linewidth=0
                )
                axes.bar_label(bar, [str(arm + 1)], label_type="center", fontsize=11, color="white")
            heading = "initialisation" if k == 0 else f"episode {k}"
            middle = left + len(arms[k]) / 2
            axes.text(middle, height + 0.38, heading, ha="center", va="bottom", fontsize=10)
            time = f"t = {starts[k] + 1}"
            axes.text(left + 0.04, height - 0.4, time, va="top", fontsize=9, color="0.35")
            left += len(arms[k]) + 0.7
    axes.set_xlim(-0.1, 13.6)
    axes.set_ylim(-1.7 * (len(rows) - 1) - 0.95, 0.95)
    axes.axis("off")
    return footnote(figure, _caption(material))


def arms_by_episode(material: Material) -> Figure:
    """Draw, for each arm, the episodes in which it is played."""
    arms = material.episodes.arms
    names = SETTINGS["permutations"].problem.arms
    figure, axes = drawing.canvas("Arms played in each episode", x="episode k", y="", height=3.2)
    for arm, colour in enumerate(_ARM_COLOURS):
        played = np.array([0, *(arm in episode for episode in arms[1:]), 0])
        # Consecutive episodes are one bar.
        starts, ends = (np.flatnonzero(np.diff(played) == step).tolist() for step in (1, -1))
        bars = [(start + 0.5, end - start) for start, end in zip(starts, ends, strict=True)]
        axes.broken_barh(bars, (-arm - 0.38, 0.76), color=colour, linewidth=0.6)
    axes.set_yticks([-arm for arm in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    last = max(k for k, played in enumerate(arms) if len(played) > 1)
    axes.set_xlim(0, min(len(arms), round(1.25 * last)))
    axes.set_ylim(-len(names) + 0.4, 0.6)
    return footnote(figure, _caption(material))


def _caption(material: Material) -> str:
    plays = sum(len(played) for played in material.episodes.arms)
    return (
        f"one run of FP-UCB, {SETTINGS['permutations'].title}; {counted(plays, 'play')}, "
        f"seed {material.episodes.seed}"
    )
