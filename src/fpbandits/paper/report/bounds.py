"""Figures that compare measurements with the paper's bounds, printed and corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.report import drawing
from fpbandits.report.figures import BLUE, GREEN, ORANGE
from fpbandits.report.times import as_written
from fpbandits.simulation.figure import draw_policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material


def slopes(material: Material) -> Figure:
    """Mark measured growth and the bounds on it, a row per problem."""
    title = "Growth of regret per unit of ln t"
    figure, axes = drawing.canvas(title, x="growth per unit of ln t", y="")
    names = ("two-2", "grid-4", "tied")
    for row, name in enumerate(names):
        case, end = material.case(name), material.result(name, "fp-ucb", "far").horizon
        upper, lower = case.theorem1.corrected.log_coefficient, case.theorem2.all_arms.coefficient
        slope = material.slope(name, "fp-ucb", end // 1000, end)
        drawing.draw_slope(axes, slope, row, "o", BLUE, "FP-UCB")
        drawing.draw_mark(axes, upper, row, ">", "0.2", "Theorem 1 (≤)")
        if lower:
            drawing.draw_mark(axes, lower, row, "<", "0.2", "Theorem 2 (≥)")
        else:
            axes.text(0.115, -row, "Theorem 2: 0", va="center", fontsize=9)
        if name != "tied":
            slope = material.slope(name, "ucb1", 10**9, 10**12)
            # A little higher, since it would overlap Theorem 1's mark.
            drawing.draw_slope(axes, slope, row - 0.16, "s", ORANGE, "UCB1")
    axes.set(xscale="log", xlim=(0.1, 200), xlabel="growth per unit of ln t (log scale)")
    drawing.name_rows(axes, [SETTINGS[name].title for name in names], above=1.3)
    most, fewest = (material.result(name, "fp-ucb", "far").runs for name in ("two-2", "tied"))
    caption = (
        f"FP-UCB to T = 10¹⁵, {most:,} runs ({fewest:,} in the last row);\n"
        f"UCB1 to T = 10¹², {fewest:,} runs; seed {material.result('tied', 'fp-ucb', 'far').seed}"
    )
    return drawing.finish(figure, axes, caption, ncols=2, loc="upper center")


def proposition_1(material: Material) -> Figure:
    """Draw regret on the counterexample to Proposition 1, with Theorem 1's constants."""
    figure, axes = drawing.canvas(SETTINGS["minimum"].title)
    result = material.result("minimum", "fp-ucb", "far")
    draw_policy(axes, result, "fp-ucb", band="ci", colour=BLUE, label="FP-UCB")
    for value, style, label in (
        (material.constant("minimum", "printed"), "--", "Theorem 1 as printed, D₁"),
        (material.constant("minimum", "corrected"), "-.", "Theorem 1 corrected"),
    ):
        label = f"{label} = {as_written(f'{value:,.4g}')}"
        axes.axhline(value, color=drawing.GREY, linestyle=style, label=label)
    axes.set(xscale="log", yscale="log", xlim=(100, result.horizon), ylim=(0.3, 1e12))
    axes.set_ylabel("regret (log scale)")
    return drawing.finish(figure, axes, drawing.run_caption(result), ncols=1)


def proposition_2(material: Material) -> Figure:
    """Draw plays of arm 2 among the 256 models, with Proposition 2's bounds."""
    figure, axes = drawing.canvas(SETTINGS["grid-4"].title, y="plays of arm 2")
    result, case = material.result("grid-4", "fp-ucb", "near"), material.case("grid-4")
    plays = result.pulls["fp-ucb"][:, :, result.problem.arms.index("arm2")].astype(float)
    drawing.draw_mean(axes, result.times, plays, colour=BLUE, label="arm 2, measured")
    log_term = 12 * np.log(result.times) / case.betas["arm2"] ** 2
    printed = 2 + 4 * len(material.analyses["paper:grid"].candidate_arms)
    corrected = case.theorem1.corrected.constants["arm2"]
    for constant, style, label in ((printed, "--", "as printed"), (corrected, "-.", "corrected")):
        label = f"Proposition 2 {label}"
        axes.plot(result.times, constant + log_term, style, color=drawing.GREY, label=label)
    axes.set(xscale="log", yscale="log", xlim=(10, result.horizon), ylim=(3, 1e8))
    axes.set_ylabel("plays of arm 2 (log scale)")
    return drawing.finish(figure, axes, drawing.run_caption(result), ncols=1)


def theorem_1(material: Material) -> Figure:
    """Mark regret and Theorem 1's constants, a row per problem."""
    figure, axes = drawing.canvas("Regret at T = 10¹², and Theorem 1", x="regret (log scale)", y="")
    names = ("two-1", "permutations", "grid-6", "minimum")
    for row, name in enumerate(names):
        printed, corrected = (
            material.constant(name, "printed"),
            material.constant(name, "corrected"),
        )
        mean = float(material.regret(name, "fp-ucb", 10**12).mean())
        drawing.draw_mark(axes, mean, row, "o", BLUE, "measured")
        drawing.draw_mark(axes, printed, row, "X", ORANGE, "printed")
        drawing.draw_mark(axes, corrected, row, ">", "0.2", "corrected")
    axes.set(xscale="log", xlim=(3, 1e8))
    labels = [SETTINGS[name].title for name in names[:-1]]
    drawing.name_rows(axes, [*labels, "counterexample to\nProposition 1"], above=1.0)
    result = material.result("minimum", "fp-ucb", "far")
    caption = f"means of {result.runs:,} runs (last row) and more; seed {result.seed}"
    return drawing.finish(figure, axes, caption, loc="upper right", handletextpad=0.2)


def ties(material: Material) -> Figure:
    """Draw regret under a truth, and under the one with its first two arms exchanged."""
    figure, axes = drawing.canvas("FP-UCB among 256 models: the arms' order decides")
    for name, colour in (("grid-6", GREEN), ("tied", ORANGE)):
        result = material.result(name, "fp-ucb", "far")
        label = SETTINGS[name].title.split(", ", 1)[1]
        draw_policy(axes, result, "fp-ucb", band="ci", colour=colour, label=label)
    axes.set(xscale="log", xlim=(1, result.horizon))
    drawing.leave_room(axes)
    return drawing.finish(figure, axes, drawing.run_caption(result))
