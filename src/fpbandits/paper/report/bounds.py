"""What is proven, and what happens: slopes in log t, printed and corrected bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fpbandits.paper.report import drawing
from fpbandits.paper.report.chapters import Chapter, Drawing
from fpbandits.report.figures import BLUE, GREEN, ORANGE
from fpbandits.report.times import as_written, time_text
from fpbandits.simulation.figure import draw_policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material


def bounds_and_slopes(material: Material) -> list[Chapter]:
    """Return how bounds compare with what was measured, with a few words on each."""
    return [
        Chapter(
            "The slope in log t, and the bounds on it",
            "In the end FP-UCB should have a quarter of the slope that Theorem 1 allows, 3Δ/β² for "
            "12Δ/β²: the proof waits until radii are below β/2, the algorithm needs them below β. "
            "Theorem 2 says what no good policy can stay below.",
            [
                Drawing(
                    "slopes",
                    "Growth of regret per unit of ln t, measured over the last three decades, and "
                    "the bounds on it; 95 % intervals are drawn where wider than the marks.",
                    _slopes,
                ),
                Drawing(
                    "remark-1",
                    "A problem with β = 1.05 Δ: is β > Δ enough for FP-UCB to grow more "
                    "slowly than UCB1?",
                    drawing.policies_over_time("constants", ("fp-ucb", "ucb1"), "far"),
                ),
            ],
        ),
        Chapter(
            "Printed and corrected bounds",
            "Proposition 1 takes a minimum over models where a maximum is due: compare them on a "
            "problem with one easy and one hard model. Proposition 2 forgets models outside B(θ°), "
            "which the paper's own 256 models show.",
            [
                Drawing(
                    "bound-proposition-1",
                    "The counterexample to Proposition 1: B(θ°) is empty, regret is bounded, and "
                    f"passes the printed D_1 near T = {_passes(material)}.",
                    _proposition1,
                ),
                Drawing(
                    "bound-proposition-2",
                    "256 models, truth [.4, .3, .2, .2]: plays of arm 2 against Proposition 2.",
                    _proposition2,
                ),
                Drawing(
                    "bounds",
                    "Regret at T = 10¹² and what Theorem 1 says of it, on a log scale.",
                    _bounds,
                ),
                Drawing(
                    "ties",
                    "The same four means among the same 256 models, the first two arms exchanged: "
                    "with tied best arms, the order of the arms decides.",
                    _ties,
                ),
            ],
        ),
    ]


def _passes(material: Material) -> str:
    """Return when the mean regret of the counterexample passes the printed bound."""
    result = material.result("minimum", "fp-ucb", "far")
    bound = material.case("minimum").theorem1.printed.constant
    assert bound is not None
    above = result.mean_regret("fp-ucb") > bound
    return time_text(result.times[above.argmax()]) if above.any() else "∞"


def _slopes(material: Material) -> Figure:
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
            # It comes to lie near Theorem 1's mark, so it is set a little higher.
            drawing.draw_slope(axes, slope, row - 0.16, "s", ORANGE, "UCB1")
    axes.set(xscale="log", xlim=(0.1, 200), xlabel="growth per unit of ln t (log scale)")
    drawing.name_rows(
        axes, [drawing.short_title(material.setting(name).title) for name in names], above=1.3
    )
    most, fewest = (material.result(name, "fp-ucb", "far").runs for name in ("two-2", "tied"))
    caption = (
        f"FP-UCB to T = 10¹⁵, {most:,} runs ({fewest:,} in the last row);\n"
        f"UCB1 to T = 10¹², {fewest:,} runs; seed {material.result('tied', 'fp-ucb', 'far').seed}"
    )
    return drawing.finish(figure, axes, caption, ncols=2, loc="upper center")


def _proposition1(material: Material) -> Figure:
    figure, axes = drawing.canvas(material.setting("minimum").title)
    result, bounds = material.result("minimum", "fp-ucb", "far"), material.case("minimum").theorem1
    draw_policy(axes, result, "fp-ucb", band="ci", colour=BLUE, label="FP-UCB")
    for bound, style, label in (
        (bounds.printed, "--", "Theorem 1 as printed, D₁"),
        (bounds.corrected, "-.", "Theorem 1 corrected"),
    ):
        value = bound.constant
        assert value is not None
        axes.axhline(
            value,
            color=drawing.GREY,
            linestyle=style,
            label=f"{label} = {as_written(f'{value:,.4g}')}",
        )
    axes.set(xscale="log", yscale="log", xlim=(100, result.horizon), ylim=(0.3, 1e12))
    axes.set_ylabel("regret (log scale)")
    return drawing.finish(figure, axes, drawing.what_was_run(result), ncols=1)


def _proposition2(material: Material) -> Figure:
    figure, axes = drawing.canvas(material.setting("grid-4").title, y="plays of arm 2")
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
    return drawing.finish(figure, axes, drawing.what_was_run(result), ncols=1)


def _bounds(material: Material) -> Figure:
    figure, axes = drawing.canvas("Regret at T = 10¹², and Theorem 1", x="regret (log scale)", y="")
    names = ("two-1", "permutations", "grid-6", "minimum")
    for row, name in enumerate(names):
        bounds, regret = material.case(name).theorem1, material.regret(name, "fp-ucb", 10**12)
        # B(θ°) is empty in all of these.
        assert bounds.printed.constant is not None
        assert bounds.corrected.constant is not None
        drawing.draw_mark(axes, float(regret.mean()), row, "o", BLUE, "measured")
        drawing.draw_mark(axes, bounds.printed.constant, row, "X", ORANGE, "printed")
        drawing.draw_mark(axes, bounds.corrected.constant, row, ">", "0.2", "corrected")
    axes.set(xscale="log", xlim=(3, 1e8))
    labels = [drawing.short_title(material.setting(name).title) for name in names[:-1]]
    drawing.name_rows(axes, [*labels, "counterexample to\nProposition 1"], above=1.0)
    result = material.result("minimum", "fp-ucb", "far")
    caption = f"means of {result.runs:,} runs (last row) and more; seed {result.seed}"
    return drawing.finish(figure, axes, caption, loc="upper right", handletextpad=0.2)


def _ties(material: Material) -> Figure:
    figure, axes = drawing.canvas("FP-UCB among 256 models: the arms' order decides")
    for name, colour in (("grid-6", GREEN), ("tied", ORANGE)):
        result = material.result(name, "fp-ucb", "far")
        label = material.setting(name).title.split(", ", 1)[1]
        draw_policy(axes, result, "fp-ucb", band="ci", colour=colour, label=label)
    axes.set(xscale="log", xlim=(1, result.horizon))
    drawing.leave_room(axes)
    return drawing.finish(figure, axes, drawing.what_was_run(result))
