"""Figures that the paper does not have: long runs, and where FP-UCB meets UCB1 and Thompson."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpbandits.core.statistics import half_width
from fpbandits.errors import counted
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.report import drawing
from fpbandits.report.figures import BLUE, GREEN
from fpbandits.report.times import as_written, power_text, time_text
from fpbandits.simulation.figure import BANDS, draw_policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material


def meeting_text(material: Material) -> str:
    """Say when Thompson sampling's regret, lower at first, would be as large as FP-UCB's.

    The setting is that of 24 permutations, in which it is still lower at the end of the runs.
    """
    log = material.meeting("permutations")
    return "only beyond T = 10¹⁰⁰" if log > 100 else f"near T = {as_written(power_text(log))}"


def five_problems(
    material: Material, *, policy: str, band: str | None, left: float, y: tuple[float, float]
) -> Figure:
    """Draw a policy's regret in the paper's five settings; ``left`` and ``y`` limit the axes.

    All settings have the same horizon and runs.
    """
    title = f"{drawing.POLICY_NAMES[policy]}: bounded in some settings, logarithmic in others"
    figure, axes = drawing.canvas(title, y="regret (log scale)")
    for name, colour in drawing.SETTING_COLOURS.items():
        result, label = material.result(name, policy, "far"), SETTINGS[name].title
        draw_policy(axes, result, policy, band=band, colour=colour, label=label)
    axes.set(xscale="log", yscale="log", xlim=(left, result.horizon), ylim=y)
    return drawing.finish(figure, axes, drawing.run_caption(result, band), ncols=1)


def rivals(material: Material) -> Figure:
    """Mark the mean regret of four policies at T = 10¹², which the runs of all four reach.

    A policy has the same number of runs in every setting; Thompson sampling has as many as FP-UCB,
    and UCB1 as frugal.
    """
    title = "Mean regret at T = 10¹²"
    figure, axes = drawing.canvas(title, x="regret (log scale)", y="", height=3.9)
    markers = {"frugal": "D", "fp-ucb": "o", "thompson": "^", "ucb1": "s"}
    for row, setting in enumerate(drawing.SETTING_COLOURS):
        for policy, marker in markers.items():
            mean = float(material.regret(setting, policy, 10**12).mean())
            colour, label = drawing.POLICY_COLOURS[policy], drawing.POLICY_NAMES[policy]
            drawing.draw_mark(axes, mean, row, marker, colour, label)
    axes.set_xscale("log")
    titles = [SETTINGS[name].title for name in drawing.SETTING_COLOURS]
    drawing.name_rows(axes, titles, above=1.3)  # room for the legend
    most, fewest = (material.result("two-1", name, "far").runs for name in ("fp-ucb", "frugal"))
    caption = f"means of {most:,} runs (frugal and UCB1: {fewest:,})"
    return drawing.finish(figure, axes, caption, ncols=2, loc="upper center")


def late_logarithm(material: Material) -> Figure:
    """Draw the growth of FP-UCB's regret, decade by decade, in the last of the five settings.

    It stands still for decades before it becomes logarithmic.
    """
    title = SETTINGS["grid-4"].title
    figure, axes = drawing.canvas(title, y="growth per unit of ln t (log from .1)")
    result, case = material.result("grid-4", "fp-ucb", "far"), material.case("grid-4")
    powers = range(2, 15)
    slopes = [material.slope("grid-4", "fp-ucb", 10**p, 10 ** (p + 1), "far") for p in powers]
    axes.errorbar(
        [10 ** (power + 0.5) for power in powers],
        [slope.mean() for slope in slopes],
        yerr=[half_width(slope) for slope in slopes],
        fmt="o-",
        color=BLUE,
        linewidth=1.6,
        label="FP-UCB",
    )
    # The theorems without their slips. In this setting the printed ones have the same coefficients.
    upper, lower = case.theorem1.corrected.log_coefficient, case.theorem2.all_arms.coefficient
    axes.axhline(upper, color=drawing.GREY, linestyle="--", label="Theorem 1: at most, in the end")
    axes.axhline(lower, color=drawing.GREY, linestyle=":", label="Theorem 2: at least, in the end")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set(xlim=(100, result.horizon), ylim=(-0.02, 3000))
    return drawing.finish(
        figure, axes, f"{drawing.run_caption(result)}; by decade", ncols=1, loc="upper right"
    )


def crossing(material: Material) -> Figure:
    """Draw UCB1's regret minus FP-UCB's, and mark where their means cross.

    They cross before T = 10⁶, so the ``near`` runs are used, which are recorded at more times than
    the ``far`` ones. With two models FP-UCB is ahead from the start, so these settings
    are left out. The others have the same horizon and runs.
    """
    figure, axes = drawing.canvas("UCB1's regret minus FP-UCB's", y="difference in regret")
    lowest = 0.0
    for name in ("permutations", "grid-6", "grid-4"):
        times, difference = material.difference(name, "ucb1", "fp-ucb", "near")
        colour, label = drawing.SETTING_COLOURS[name], SETTINGS[name].title
        time = material.crossing(name, overtaking="fp-ucb", overtaken="ucb1")
        if time is not None:
            axes.plot([time], [0], "o", color=colour, markersize=7)
            label += f": T ≈ {as_written(time_text(time))}"
        drawing.draw_mean(axes, times, difference, colour=colour, label=label)
        lowest = min(lowest, float(difference.mean(axis=0).min()))
    result = material.result(name, "fp-ucb", "near")
    axes.axhline(0, color=drawing.GREY, linewidth=1)
    axes.set(xscale="log", xlim=(10, result.horizon))
    axes.set_ylim(bottom=1.75 * lowest)  # room for the legend
    return drawing.finish(figure, axes, drawing.run_caption(result), loc="lower left", ncols=1)


def permutations(material: Material) -> Figure:
    """Draw three policies on the 24 permutations, up to UCB1's horizon."""
    curves = drawing.curves_of(material, "permutations", ("fp-ucb", "ucb1", "thompson"), "far")
    ours, ucb1 = curves["fp-ucb"], curves["ucb1"]
    curves = {policy: result.until(ucb1.horizon) for policy, result in curves.items()}
    figure, axes = drawing.draw_over_log_time(SETTINGS["permutations"].title, curves)
    caption = (
        f"mean of {counted(ours.runs, 'run')} (UCB1: {ucb1.runs:,}), {BANDS['ci']}; "
        f"T = {as_written(time_text(ucb1.horizon))}, seed {ours.seed}"
    )
    return drawing.finish(figure, axes, caption)


def meets_thompson(material: Material) -> Figure:
    """Draw FP-UCB and Thompson sampling on the 24 permutations, extrapolated until they meet.

    As in `Material.meeting`, FP-UCB's regret, which is bounded there, stays as it is, and Thompson
    sampling's grows at its long-run rate, a straight line over ln t.
    """
    curves = drawing.curves_of(material, "permutations", ("fp-ucb", "thompson"), "far")
    figure, axes = drawing.draw_over_log_time(SETTINGS["permutations"].title, curves)
    ours, theirs = (float(curves[policy].mean_regret(policy)[-1]) for policy in curves)
    log = material.meeting("permutations")
    times = [curves["thompson"].horizon, 10**log]  # extrapolated between these
    axes.plot(times, [theirs, ours], "--", color=GREEN, linewidth=1.5)
    axes.plot(times, [ours, ours], "--", color=BLUE, linewidth=1.5)
    axes.plot([10**log], [ours], "o", color="0.2", markersize=6, label=meeting_text(material))
    axes.set_xlim(1, 10 ** (log + 1))
    axes.set_ylim(top=1.4 * ours)  # room for a legend of two rows
    return drawing.finish(figure, axes, drawing.run_caption(curves["fp-ucb"]), ncols=2)
