"""The figures that the paper could not show: far horizons, crossings, slopes and true bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.arrays import Floats
from fpbandits.errors import counted
from fpbandits.paper.claims.comparisons import lai_robbins
from fpbandits.paper.claims.statement import power_text, time_text
from fpbandits.paper.drawing import (
    SETTING_COLOURS,
    Chapter,
    Drawing,
    canvas,
    draw_curves,
    finish,
    leave_room,
    short_title,
    what_was_run,
)
from fpbandits.paper.evidence import Evidence, paired
from fpbandits.paper.experiments import FAR, NEAR, PAPER, SETTINGS
from fpbandits.report.figures import BLUE, GREEN, ORANGE
from fpbandits.report.regret import BANDS, draw_policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures_beyond(evidence: Evidence) -> list[Chapter]:
    """Return what lies beyond the paper, with a few words on each."""
    late = evidence.growing_from("grid-4")
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
            "sampling knows nothing of Θ, and grows by Σ Δ_i/kl(μ_i, μ*) a unit of ln t in the "
            f"long run, here {lai_robbins('permutations'):.3g}. Carried on "
            f"from T = 10¹⁵ at that rate, it meets FP-UCB near T = {_meeting(evidence)[1]}.",
            [
                Drawing(
                    "meeting-thompson",
                    "The 24 permutations: measured to T = 10¹⁵, and carried on (dashed) until the "
                    "two meet.",
                    _meets_thompson,
                ),
                Drawing(
                    "meeting-thompson-two",
                    "Two models, truth θ¹, where the two meet early.",
                    _two_and_thompson,
                ),
            ],
        ),
        Chapter(
            "The slope in log t, and the bounds on it",
            "In the end FP-UCB should have a quarter of the slope that Theorem 1 allows, 3Δ/β² for "
            "12Δ/β²: the proof waits until radii are below β/2, the algorithm needs them below β. "
            "Theorem 2 is what no good policy can go below.",
            [
                Drawing(
                    "slopes",
                    "Growth of regret a unit of ln t, measured over the last three decades, and "
                    "the bounds on it; 95 % intervals are no wider than the marks, or drawn.",
                    _slopes,
                ),
                Drawing(
                    "remark-1",
                    "A problem with β = 1.05 Δ: is β > Δ enough for FP-UCB to grow more slowly?",
                    _remark1,
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
                    f"passes the printed D_1 near T = {_passes(evidence)}.",
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


def _passes(evidence: Evidence) -> str:
    """Return when the mean regret of the counterexample passes the printed bound."""
    result = evidence.result("minimum", "fp-ucb", FAR)
    bound = evidence.case("minimum").theorem1.printed.constant
    assert bound is not None
    above = result.mean_regret("fp-ucb") > bound
    return time_text(result.times[above.argmax()]) if above.any() else "∞"


def _interval(sample: Floats) -> Floats:
    """Return half the width of a 95 % interval of the mean, for each column."""
    half: Floats = 1.96 * sample.std(axis=0, ddof=1) / math.sqrt(len(sample))
    return half


def _five_problems(evidence: Evidence) -> Figure:
    figure, axes = canvas("FP-UCB: bounded and logarithmic")
    for setting in PAPER:
        result = evidence.result(setting.name, "fp-ucb", FAR)
        draw_policy(
            axes,
            result,
            "fp-ucb",
            band="ci",
            colour=SETTING_COLOURS[setting.name],
            label=setting.title,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(10, result.horizon)
    axes.set_ylim(1, 3e4)
    axes.set_xlabel("time t")
    axes.set_ylabel("regret")
    return finish(figure, axes, what_was_run(result, "ci"), ncols=1)


def _late_logarithm(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["grid-4"].title)
    result, case = evidence.result("grid-4", "fp-ucb", FAR), evidence.case("grid-4")
    powers = range(2, 15)
    slopes = [evidence.slope("grid-4", "fp-ucb", 10**p, 10 ** (p + 1), FAR) for p in powers]
    axes.errorbar(
        [10 ** (power + 0.5) for power in powers],
        [slope.mean() for slope in slopes],
        yerr=[_interval(slope) for slope in slopes],
        fmt="o-",
        color=BLUE,
        linewidth=1.6,
        label="FP-UCB",
    )
    for value, style, label in (
        (case.theorem1.corrected.log_coefficient, "--", "Theorem 1: at most, in the end"),
        (case.theorem2.all_arms.coefficient, ":", "Theorem 2: at least, in the end"),
    ):
        axes.axhline(value, color="0.3", linestyle=style, label=label)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_xlim(100, result.horizon)
    axes.set_ylim(-0.02, 3000)
    axes.set_xlabel("time t")
    axes.set_ylabel("growth of regret a unit of ln t")
    return finish(
        figure, axes, f"{what_was_run(result, 'ci')}; by decade", ncols=1, loc="upper right"
    )


def _crossing(evidence: Evidence) -> Figure:
    figure, axes = canvas("UCB1's regret less FP-UCB's")
    lowest = 0.0
    for name in ("permutations", "grid-6", "grid-4"):
        ours, theirs = (evidence.result(name, policy, NEAR) for policy in ("fp-ucb", "ucb1"))
        times = np.intersect1d(ours.times, theirs.times)
        difference = paired(
            theirs.regret("ucb1")[:, np.isin(theirs.times, times)],
            ours.regret("fp-ucb")[:, np.isin(ours.times, times)],
        )
        mean, half = difference.mean(axis=0), _interval(difference)
        colour, label = SETTING_COLOURS[name], SETTINGS[name].title
        crossing = evidence.crossing(name, "fp-ucb", "ucb1")
        if crossing is not None:
            axes.plot([crossing], [0], "o", color=colour, markersize=7)
            label += f": T ≈ {time_text(crossing)}"
        axes.plot(times, mean, color=colour, label=label, linewidth=1.8)
        axes.fill_between(times, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
        lowest = min(lowest, float(mean.min()))
    axes.axhline(0, color="0.3", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(10, ours.horizon)
    axes.set_ylim(bottom=1.75 * lowest)
    axes.set_xlabel("time t")
    axes.set_ylabel("difference in regret")
    return finish(figure, axes, what_was_run(ours, "ci"), loc="lower left", ncols=1)


def _far_permutations(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["permutations"].title)
    ours, ucb1, thompson = (
        evidence.result("permutations", policy, FAR) for policy in ("fp-ucb", "ucb1", "thompson")
    )
    end = ucb1.horizon
    curves = {"fp-ucb": ours.until(end), "ucb1": ucb1, "thompson": thompson.until(end)}
    axes.set_xscale("log")
    draw_curves(axes, curves, band="ci")
    axes.set_xlim(left=1)
    caption = (
        f"mean of {counted(ours.runs, 'run')} (UCB1: {ucb1.runs:,}), {BANDS['ci']}; "
        f"T = {time_text(ucb1.horizon)}, seed {ours.seed}"
    )
    return finish(figure, axes, caption)


def _meeting(evidence: Evidence) -> tuple[float, str]:
    """Return log10 of the time at which Thompson sampling's line meets FP-UCB's, and the time."""
    thompson = evidence.result("permutations", "thompson", FAR)
    ours = evidence.regret("permutations", "fp-ucb", thompson.horizon, FAR).mean()
    gap = float(ours - thompson.mean_regret("thompson")[-1])
    log = math.log10(thompson.horizon) + gap / lai_robbins("permutations") / math.log(10)
    return log, power_text(log)


def _meets_thompson(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["permutations"].title)
    curves = {
        policy: evidence.result("permutations", policy, FAR) for policy in ("fp-ucb", "thompson")
    }
    axes.set_xscale("log")
    draw_curves(axes, curves, band="ci")
    end, level = curves["thompson"].horizon, float(curves["fp-ucb"].mean_regret("fp-ucb")[-1])
    reached = float(curves["thompson"].mean_regret("thompson")[-1])
    log, text = _meeting(evidence)
    axes.plot([end, 10**log], [reached, level], "--", color=GREEN, linewidth=1.5)
    axes.plot([end, 10**log], [level, level], "--", color=BLUE, linewidth=1.5)
    axes.plot([10**log], [level], "o", color="0.2", markersize=6, label=f"T ≈ {text}")
    axes.set_xlim(1, 10 ** (log + 1))
    return finish(figure, axes, what_was_run(curves["fp-ucb"], "ci"))


def _two_and_thompson(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["two-1"].title)
    curves = {policy: evidence.result("two-1", policy, FAR) for policy in ("fp-ucb", "thompson")}
    axes.set_xscale("log")
    draw_curves(axes, curves, band="ci")
    axes.set_xlim(left=1)
    return finish(figure, axes, what_was_run(curves["fp-ucb"], "ci"))


def _slopes(evidence: Evidence) -> Figure:
    figure, axes = canvas("Growth of regret a unit of ln t")
    names = ("two-2", "grid-4", "tied")
    for row, name in enumerate(names):
        case = evidence.case(name)
        result = evidence.result(name, "fp-ucb", FAR)
        slope = evidence.slope(name, "fp-ucb", result.horizon // 1000, result.horizon)
        upper, lower = case.theorem1.corrected.log_coefficient, case.theorem2.all_arms.coefficient
        half = float(_interval(slope))
        axes.errorbar([slope.mean()], [-row], xerr=[half], color=BLUE, capsize=4)
        marks = [
            (float(slope.mean()), "o", BLUE, "FP-UCB"),
            (upper, ">", "0.2", "Theorem 1 (≤)"),
        ]
        if lower:
            marks.append((lower, "<", "0.2", "Theorem 2 (≥)"))
        else:
            axes.text(0.115, -row, "Theorem 2: 0", va="center", fontsize=9)
        if name != "tied":
            theirs = evidence.slope(name, "ucb1", 10**9, 10**12)
            axes.errorbar(
                [theirs.mean()],
                [-row + 0.16],
                xerr=[float(_interval(theirs))],
                color=ORANGE,
                capsize=4,
            )
            marks.append((float(theirs.mean()), "s", ORANGE, "UCB1"))
        for place, (value, mark, colour, label) in enumerate(marks):
            # UCB1 comes to lie near Theorem 1's mark.
            height = -row + (0.16 if place == 3 else 0)
            axes.plot(
                [value],
                [height],
                mark,
                color=colour,
                markersize=8,
                label=label if row == 0 else None,
            )
    axes.set_xscale("log")
    axes.set_xlim(0.1, 200)
    axes.set_ylim(-len(names) + 0.4, 1.3)
    axes.set_yticks([-row for row in range(len(names))], [short_title(name) for name in names])
    axes.set_xlabel("growth a unit of ln t")
    runs = evidence.result("two-2", "fp-ucb", FAR)
    caption = f"to T = 1e15, UCB1 to 1e12; {runs.runs:,} runs or a fifth of them, seed {runs.seed}"
    return finish(figure, axes, caption, ncols=2, loc="upper center")


def _remark1(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["constants"].title)
    curves = {policy: evidence.result("constants", policy, FAR) for policy in ("fp-ucb", "ucb1")}
    axes.set_xscale("log")
    draw_curves(axes, curves, band="ci")
    axes.set_xlim(left=1)
    return finish(figure, axes, what_was_run(curves["ucb1"], "ci"))


def _proposition1(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["minimum"].title)
    result, bounds = evidence.result("minimum", "fp-ucb", FAR), evidence.case("minimum").theorem1
    draw_policy(axes, result, "fp-ucb", band="ci", colour=BLUE, label="FP-UCB")
    for bound, style, label in (
        (bounds.printed, "--", "Theorem 1 as printed, D_1"),
        (bounds.corrected, "-.", "Theorem 1 corrected"),
    ):
        value = bound.constant
        assert value is not None
        axes.axhline(value, color="0.3", linestyle=style, label=f"{label} = {value:,.4g}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(100, result.horizon)
    axes.set_ylim(0.3, 1e12)
    axes.set_xlabel("time t")
    axes.set_ylabel("regret")
    return finish(figure, axes, what_was_run(result, "ci"), ncols=1)


def _proposition2(evidence: Evidence) -> Figure:
    figure, axes = canvas(SETTINGS["grid-4"].title)
    result, case = evidence.result("grid-4", "fp-ucb", NEAR), evidence.case("grid-4")
    plays = result.pulls["fp-ucb"][:, :, result.problem.arms.index("arm2")].astype(float)
    mean, half = plays.mean(axis=0), _interval(plays)
    axes.plot(result.times, mean, color=BLUE, linewidth=1.8, label="arm 2, measured")
    axes.fill_between(result.times, mean - half, mean + half, color=BLUE, alpha=0.2, linewidth=0)
    log_term = 12 * np.log(result.times) / case.betas["arm2"] ** 2
    candidates = len(evidence.analyses["paper:grid"].candidate_arms)
    for constant, style, label in (
        (2 + 4 * candidates, "--", "Proposition 2 as printed"),
        (case.theorem1.corrected.constants["arm2"], "-.", "Proposition 2 corrected"),
    ):
        axes.plot(result.times, constant + log_term, style, color="0.3", label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(10, result.horizon)
    axes.set_ylim(3, 1e8)
    axes.set_xlabel("time t")
    axes.set_ylabel("plays of arm 2")
    return finish(figure, axes, what_was_run(result, "ci"), ncols=1)


def _bounds(evidence: Evidence) -> Figure:
    figure, axes = canvas("Regret at T = 1e12, and Theorem 1")
    names = ("two-1", "permutations", "grid-6", "minimum")
    for row, name in enumerate(names):
        bounds = evidence.case(name).theorem1
        for value, mark, colour, label in (
            (evidence.regret(name, "fp-ucb", 10**12, FAR).mean(), "o", BLUE, "measured"),
            (bounds.printed.constant, "X", ORANGE, "printed"),
            (bounds.corrected.constant, ">", "0.2", "corrected"),
        ):
            assert value is not None  # B(θ°) is empty in all of these
            axes.plot(
                [value], [-row], mark, color=colour, markersize=8, label=label if row == 0 else None
            )
    axes.set_xscale("log")
    axes.set_xlim(3, 1e8)
    axes.set_ylim(-len(names) + 0.4, 1.0)
    labels = [short_title(name) for name in names[:-1]] + ["counterexample to\nProposition 1"]
    axes.set_yticks([-row for row in range(len(names))], labels)
    axes.set_xlabel("regret")
    result = evidence.result("minimum", "fp-ucb", FAR)
    caption = f"mean of {counted(result.runs, 'run')} or more; seed {result.seed}"
    return finish(figure, axes, caption, loc="upper right", handletextpad=0.2)


def _ties(evidence: Evidence) -> Figure:
    figure, axes = canvas("FP-UCB among 256 models: the arms' order decides")
    for name, colour in (("grid-6", GREEN), ("tied", ORANGE)):
        result = evidence.result(name, "fp-ucb", FAR)
        label = SETTINGS[name].title.split(", ", 1)[1]
        draw_policy(axes, result, "fp-ucb", band="ci", colour=colour, label=label)
    axes.set_xscale("log")
    axes.set_xlim(1, result.horizon)
    leave_room(axes)
    axes.set_xlabel("time t")
    axes.set_ylabel("regret")
    return finish(figure, axes, what_was_run(result, "ci"))
