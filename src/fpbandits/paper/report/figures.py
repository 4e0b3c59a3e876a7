"""`FIGURES`: the functions that draw the report's figures, by the names of the figures' files.

The paper's own figures are drawn twice: as in the paper, the mean of 10 runs with a band of ±1
standard deviation, linear in t; and the mean of all runs with its 95 % interval, on a log scale.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fpbandits.paper.report import bounds, drawing, episodes, far

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material

_PAPER_FIGURES: dict[str, dict[str, Any]] = {
    "fig2-two-theta1": {"setting": "two-1", "policies": ["fp-ucb"]},
    "fig3-two-theta2": {"setting": "two-2", "policies": ["fp-ucb"]},
    "fig4-two-theta2-over-log": {"setting": "two-2", "policies": ["fp-ucb"], "over_log": True},
    "fig5-permutations-ucb": {"setting": "permutations", "policies": ["fp-ucb", "ucb1"]},
    "fig6-permutations-thompson": {"setting": "permutations", "policies": ["fp-ucb", "thompson"]},
    "fig7-grid-ucb-thompson": {"setting": "grid-6", "policies": ["fp-ucb", "ucb1", "thompson"]},
    "fig8-grid-ucb": {"setting": "grid-4", "policies": ["fp-ucb", "ucb1"]},
}
FIGURES: dict[str, Callable[[Material], Figure]] = {
    "fig1-episodes-slots": episodes.slots,
    "fig1-episodes": episodes.arms_by_episode,
    **{
        f"{name}-10-runs": partial(drawing.as_in_the_paper, **content)
        for name, content in _PAPER_FIGURES.items()
    },
    **{name: partial(drawing.over_log_time, **content) for name, content in _PAPER_FIGURES.items()},
    "far-fp-ucb": partial(far.five_problems, policy="fp-ucb", band="ci", left=10, y=(1, 3e4)),
    "far-grid-4": far.late_logarithm,
    "crossing-ucb": far.crossing,
    "far-permutations": far.permutations,
    "meeting-thompson": far.meets_thompson,
    "meeting-thompson-two": partial(
        drawing.over_log_time, setting="two-1", policies=["fp-ucb", "thompson"], distance="far"
    ),
    "default-policy": partial(far.five_problems, policy="frugal", band=None, left=1, y=(0.05, 1e4)),
    "default-policy-rivals": far.rivals,
    "slopes": bounds.slopes,
    "remark-1": partial(
        drawing.over_log_time, setting="constants", policies=["fp-ucb", "ucb1"], distance="far"
    ),
    "bound-proposition-1": bounds.proposition_1,
    "bound-proposition-2": bounds.proposition_2,
    "bounds": bounds.theorem_1,
    "ties": bounds.ties,
}
