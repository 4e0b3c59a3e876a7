"""Beyond the paper's horizons: bounded or logarithmic, and where FP-UCB meets its rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpbandits.core.statistics import half_width
from fpbandits.errors import counted
from fpbandits.paper.report import drawing
from fpbandits.paper.report.chapters import Chapter, Drawing
from fpbandits.paper.report.default import default_policy
from fpbandits.report.figures import BLUE, GREEN
from fpbandits.report.times import as_written, power_text, time_text
from fpbandits.simulation.figure import BANDS, draw_policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material


def far_horizons(material: Material) -> list[Chapter]:
    """Return what far horizons show, with a few words on each."""
    late = material.growing_from("grid-4")
    sets_in = "" if late is None else f", before it grows again beyond T = {time_text(late)}"
    return [
        Chapter(
            "To T = 10¹⁵",
            "Leaps make horizons cheap that no step-by-step run could reach. Under two models, "
            "bounded and logarithmic regret part for good. Among the 256, under [.4, .3, .2, .2], "
            f"regret all but stands still for decades{sets_in}: while ruling out the models "
            "outside B(θ°), FP-UCB plays the confusing arms so often that those in B(θ°) stay "
            "ruled out until then.",
            [
                Drawing(
                    "far-fp-ucb",
                    "FP-UCB on the paper's five problems to T = 10¹⁵; 95 % interval of the mean.",
                    _five_problems,
                ),
                Drawing(
                    "far-grid-4",
                    "The last of the five: the growth of its regret, decade by decade, and what it "
                    "must come to in the end.",
                    _late_logarithm,
                ),
            ],
        ),
        Chapter(
            "The crossing with UCB1",
            "How much more than FP-UCB has UCB1 lost? Below 0, FP-UCB is behind: it pays early, "
            "and UCB1 goes on paying.",
            [
                Drawing(
                    "crossing-ucb",
                    "UCB1's regret less FP-UCB's, run by run, with the 95 % interval of its mean; "
                    "dots mark where the means cross.",
                    _crossing,
                ),
                Drawing(
                    "far-permutations",
                    "The 24 permutations to T = 10¹²: UCB1 and Thompson sampling grow on, FP-UCB "
                    "has stopped.",
                    _far_permutations,
                ),
            ],
        ),
        Chapter(
            "Where FP-UCB meets Thompson sampling",
            "Bounded regret must in the end be less than regret that grows: but when? Thompson "
            "sampling knows nothing of Θ, and grows by Σ Δ_i/kl(μ_i, μ*) per unit of ln t in the "
            f"long run, here {material.lai_robbins('permutations'):.3g}. Carried on from T = 10¹⁵ "
            f"at that rate, it meets FP-UCB {_when(material)}.",
            [
                Drawing(
                    "meeting-thompson",
                    "The 24 permutations: measured to T = 10¹⁵, and carried on (dashed) until the "
                    "two meet.",
                    _meets_thompson,
                ),
                Drawing(
                    "meeting-thompson-two",
                    "Two models, truth θ¹: here FP-UCB and Thompson sampling meet early.",
                    drawing.policies_over_time("two-1", ("fp-ucb", "thompson"), "far"),
                ),
            ],
        ),
        default_policy(material),
    ]


def _when(material: Material) -> str:
    """Say when Thompson sampling would meet FP-UCB; far off, no more than that."""
    log = material.meeting("permutations")
    return "only beyond T = 10¹⁰⁰" if log > 100 else f"near T = {as_written(power_text(log))}"


def _five_problems(material: Material) -> Figure:
    figure, axes = drawing.canvas("FP-UCB: bounded and logarithmic", y="regret (log scale)")
    for name, colour in drawing.SETTING_COLOURS.items():
        result, label = material.result(name, "fp-ucb", "far"), material.setting(name).title
        draw_policy(axes, result, "fp-ucb", band="ci", colour=colour, label=label)
    axes.set(xscale="log", yscale="log", xlim=(10, result.horizon), ylim=(1, 3e4))
    return drawing.finish(figure, axes, drawing.what_was_run(result), ncols=1)


def _late_logarithm(material: Material) -> Figure:
    title = material.setting("grid-4").title
    figure, axes = drawing.canvas(title, y="growth per unit of ln t (log scale)")
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
    upper, lower = case.theorem1.corrected.log_coefficient, case.theorem2.all_arms.coefficient
    axes.axhline(upper, color=drawing.GREY, linestyle="--", label="Theorem 1: at most, in the end")
    axes.axhline(lower, color=drawing.GREY, linestyle=":", label="Theorem 2: at least, in the end")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set(xlim=(100, result.horizon), ylim=(-0.02, 3000))
    return drawing.finish(
        figure, axes, f"{drawing.what_was_run(result)}; by decade", ncols=1, loc="upper right"
    )


def _crossing(material: Material) -> Figure:
    figure, axes = drawing.canvas("UCB1's regret less FP-UCB's", y="difference in regret")
    lowest = 0.0
    for name in ("permutations", "grid-6", "grid-4"):
        times, difference = material.difference(name, "ucb1", "fp-ucb", "near")
        colour, label = drawing.SETTING_COLOURS[name], material.setting(name).title
        crossing = material.crossing(name, "fp-ucb", "ucb1")
        if crossing is not None:
            axes.plot([crossing], [0], "o", color=colour, markersize=7)
            label += f": T ≈ {as_written(time_text(crossing))}"
        drawing.draw_mean(axes, times, difference, colour=colour, label=label)
        lowest = min(lowest, float(difference.mean(axis=0).min()))
    result = material.result(name, "fp-ucb", "near")
    axes.axhline(0, color=drawing.GREY, linewidth=1)
    axes.set(xscale="log", xlim=(10, result.horizon))
    axes.set_ylim(bottom=1.75 * lowest)
    return drawing.finish(figure, axes, drawing.what_was_run(result), loc="lower left", ncols=1)


def _far_permutations(material: Material) -> Figure:
    curves = drawing.curves_of(material, "permutations", ("fp-ucb", "ucb1", "thompson"), "far")
    ours, ucb1 = curves["fp-ucb"], curves["ucb1"]
    curves = {policy: result.until(ucb1.horizon) for policy, result in curves.items()}
    figure, axes = drawing.over_log_time(material.setting("permutations").title, curves)
    caption = (
        f"mean of {counted(ours.runs, 'run')} (UCB1: {ucb1.runs:,}), {BANDS['ci']}; "
        f"T = {as_written(time_text(ucb1.horizon))}, seed {ours.seed}"
    )
    return drawing.finish(figure, axes, caption)


def _meets_thompson(material: Material) -> Figure:
    curves = drawing.curves_of(material, "permutations", ("fp-ucb", "thompson"), "far")
    figure, axes = drawing.over_log_time(material.setting("permutations").title, curves)
    level, reached = (float(curves[policy].mean_regret(policy)[-1]) for policy in curves)
    log = material.meeting("permutations")
    stretch = [curves["thompson"].horizon, 10**log]
    axes.plot(stretch, [reached, level], "--", color=GREEN, linewidth=1.5)
    axes.plot(stretch, [level, level], "--", color=BLUE, linewidth=1.5)
    axes.plot([10**log], [level], "o", color="0.2", markersize=6, label=_when(material))
    axes.set_xlim(1, 10 ** (log + 1))
    axes.set_ylim(top=1.4 * level)
    return drawing.finish(figure, axes, drawing.what_was_run(curves["fp-ucb"]), ncols=2)
