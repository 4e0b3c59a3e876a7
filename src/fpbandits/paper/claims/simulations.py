"""Section 5: simulations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from fpbandits.errors import counted
from fpbandits.paper.claims.comparisons import (
    ahead_of_ucb,
    all_bounded,
    growth,
    rivals_grow,
    stays_put,
    within_theorem_1,
)
from fpbandits.paper.claims.statement import (
    EXACT,
    HOLDS,
    LIMIT,
    Finding,
    beyond,
    mean_text,
    states,
    titled,
)
from fpbandits.paper.experiments import FAR
from fpbandits.paper.limits import limits
from fpbandits.paper.material import Material
from fpbandits.report.times import time_text

SECTION = "Section 5: simulations"


def _set_of(names: Iterable[str]) -> str:
    listed = list(names)
    if len(listed) > 4:
        return f"{counted(len(listed), 'model')}, such as [{listed[0]}]"
    return "{" + ", ".join(listed) + "}" if listed else "empty"


@states(SECTION, "Clearly a*(θ¹) = 1 and a*(θ²) = 2")
def two_best_arms(material: Material) -> Finding:
    """Of the two models, the first has arm 1 best and the second arm 2."""
    best = [case.best_arm for case in material.analyses["paper:two"].cases]
    return Finding(best == ["arm1", "arm2"], ", ".join(best), EXACT)


def _confusion(
    material: Material, setting: str, truth: str, models: tuple[str, ...], arms: tuple[str, ...]
) -> Finding:
    """Compare B and C of a setting with what the paper says they are."""
    case = material.case(setting)
    return Finding(
        case.confusion_set == models and case.confusing_arms == arms,
        f"B({truth}) is {_set_of(case.confusion_set)}, C({truth}) is "
        f"{_set_of(case.confusing_arms)}",
        EXACT,
    )


@states(SECTION, "It is easy to note that B(θ°) is empty, and hence C(θ°)")
def two_1_empty(material: Material) -> Finding:
    """Two models: under θ¹, B and C are empty."""
    return _confusion(material, "two-1", "θ¹", (), ())


@states(SECTION, "Indeed the regret does not increase after some time steps")
def two_1_flat(material: Material) -> Finding:
    """Two models: under θ¹ regret does not increase after some time."""
    finding = all_bounded(material, ["two-1"])
    result = material.result("two-1", "fp-ucb", FAR)
    moving = (np.diff(result.regret("fp-ucb"), axis=1) > 0).any(axis=0)
    last = int(result.times[1:][moving].max(initial=1))
    text = f"{finding.measured}; no run changed after T={time_text(last)}"
    return replace(finding, measured=text)


@states(SECTION, "B(θ°) is non-empty: B(θ°) = θ¹ and C(θ°) = 1")
def two_2_confused(material: Material) -> Finding:
    """Two models: under θ², B = {θ¹} and C = {1}."""
    return _confusion(material, "two-2", "θ²", ("theta1",), ("arm1",))


@states(SECTION, "The performance suggests an O(log T) regret")
def two_2_log(material: Material) -> Finding:
    """Two models: under θ² regret grows as log T."""
    early = material.slope("two-2", "fp-ucb", 10**6, 10**9)
    late = material.slope("two-2", "fp-ucb", 10**9, 10**12)
    low, high = limits(late - early)
    straight = max(-low, high) <= 0.1 * float(early.mean())
    return Finding(
        limits(late)[0] > 0 and straight,
        f"growth per unit of ln t: {mean_text(early)} from T=1e6 to 1e9, {mean_text(late)} from "
        "T=1e9 to 1e12",
        "holds if the later growth is above 0 and differs from the earlier one by at most 10 % of "
        f"it, both limits taken ({LIMIT})",
        10**12,
    )


@states(SECTION, "Scaled by log t, the curve converges to a constant value")
def two_2_over_log(material: Material) -> Finding:
    """Two models: under θ² regret over log t converges to a constant."""
    scaled = {
        power: material.regret("two-2", "fp-ucb", 10**power, FAR) / math.log(10**power)
        for power in (3, 6, 9, 12, 15)
    }
    low, high = limits(scaled[15] - scaled[9])
    still = max(-low, high) <= 0.05 * float(scaled[9].mean())
    return Finding(
        still and limits(scaled[15])[0] > 0,
        "regret over ln T: "
        + ", ".join(f"{sample.mean():.4g} at T=1e{power}" for power, sample in scaled.items())
        + f"; 3Δ/β² is {3 * 0.3 / 0.7**2:.4g}",
        "holds if it is above 0 and from T=1e9 to 1e15 changes by at most 5 %, both limits taken "
        f"({LIMIT})",
        10**15,
    )


def _count(material: Material, problem: str, expected: int) -> Finding:
    count = len(material.analyses[problem].models)
    return Finding(count == expected, f"{count} models", EXACT)


@states(SECTION, "Permutations of μ(θ°): the cardinality is 24")
def permutations_count(material: Material) -> Finding:
    """There are 24 permutations of [.6, .4, .3, .2]."""
    return _count(material, "paper:permutations", 24)


@states(SECTION, "It is straightforward to show that B(θ°) is empty")
def permutations_empty(material: Material) -> Finding:
    """Among the 24 permutations B(θ°) is empty."""
    cases = material.analyses["paper:permutations"].cases
    empty = sum(not case.confusion_set for case in cases)
    return Finding(empty == len(cases), f"under {empty} of {len(cases)} truths", EXACT)


def _contrast(material: Material, setting: str) -> Finding:
    """FP-UCB stays put, UCB1 and Thompson sampling grow."""
    flat, text = stays_put(material, setting)
    growing, rivals = rivals_grow(material, [setting], separator=", ")
    return Finding(
        flat and growing,
        f"FP-UCB, {titled(setting, text)}\n{rivals}",
        "holds if FP-UCB stays put from T=1e6 to 1e15 (as in bounded), and the lower limits of the "
        f"others' growth are above 0 ({LIMIT})",
        10**12,
    )


@states(SECTION, "The standard algorithms incur an increasing regret, FP-UCB a bounded one")
def permutations_contrast(material: Material) -> Finding:
    """On the 24 permutations FP-UCB is bounded, and UCB and Thompson sampling grow."""
    return _contrast(material, "permutations")


@states(SECTION, "The performance is superior in this case also, it says of the next set")
def permutations_ucb(material: Material) -> Finding:
    """On the 24 permutations FP-UCB does better than UCB."""
    return ahead_of_ucb(material, ["permutations"])


_OTHER = "0.4,0.6,0.3,0.2"


@states(SECTION, "For μ(θ') = [0.4, 0.6, 0.3, 0.2] we have a*(θ') = 2")
def permutations_other(material: Material) -> Finding:
    """Under θ' = [.4, .6, .3, .2] arm 2 is best, and α_1(θ') = .2."""
    cases = material.analyses["paper:permutations"].cases
    best = next(case.best_arm for case in cases if case.truth == _OTHER)
    alpha = material.case("permutations").theorem1.terms[_OTHER].alpha
    return Finding(best == "arm2" and math.isclose(alpha, 0.2), f"{best}, α = {alpha:.4g}", EXACT)


@states(SECTION, "A typical value: k_2(θ') = 2326, since α_1(θ') = 0.2")
def k_2326(material: Material) -> Finding:
    """k_2(θ') = 2326."""
    k = material.case("permutations").theorem1.terms[_OTHER].k
    return Finding(
        k == 2326,
        f"it is {k}: ⌈300 ln 2326⌉ = {math.ceil(300 * math.log(2326))}, which 2326 does not exceed",
        f"by the printed definition; {EXACT}",
    )


@states(SECTION, "When rewards are not Bernoulli, k_i(θ) is 3 for α_1(θ) > 2√(3/e)")
def k_is_3(material: Material) -> Finding:
    """k_i(θ) = 3 wherever α_1(θ) > 2√(3/e)."""
    threshold, k = material.numbers["2√(3/e)"], material.numbers["k just above 2√(3/e)"]
    return Finding(
        k == 3 and threshold < 1,
        f"2√(3/e) = {threshold:.4g} and α is at most 1, so it never applies; beyond it k would be "
        f"{k:.0f}, and 3 from α = {material.numbers['first α with k = 3']:.4g} on",
        f"holds if some α within [0, 1] is above the threshold, and k = 3 there; {EXACT}",
    )


@states(SECTION, "The cardinality of Θ is 4⁴")
def grid_count(material: Material) -> Finding:
    """There are 256 models in {.6, .4, .3, .2}⁴."""
    return _count(material, "paper:grid", 256)


@states(SECTION, "Pick the minimum arm index: a* = 2 for [0.5, 0.6, 0.6, 0.2]")
def grid_tie_rule(material: Material) -> Finding:
    """Of tied arms the first is the best arm."""
    analysis = material.analyses["paper:grid"]
    best = {case.truth: case.best_arm for case in analysis.cases}
    first = all(
        best[truth] == f"arm{np.argmax([float(mean) for mean in truth.split(',')]) + 1}"
        for truth in analysis.ties
    )
    example = best["0.4,0.6,0.6,0.2"]
    return Finding(
        first and example == "arm2",
        f"so in all {len(analysis.ties)} models with ties; {example} under [.4, .6, .6, .2]. The "
        "paper's example has a mean of .5, which is not in the set",
        EXACT,
    )


@states(SECTION, "Even in this scenario B(θ°) is empty")
def grid_6_empty(material: Material) -> Finding:
    """Among the 256 models, B([.6, .4, .3, .2]) is empty."""
    case, reordered = material.case("grid-6"), material.case("tied")
    return Finding(
        not case.confusion_set,
        f"B is {_set_of(case.confusion_set)}; with its first two arms exchanged, under "
        f"[{reordered.truth}], B is {_set_of(reordered.confusion_set)}",
        EXACT,
    )


@states(SECTION, "O(1) regret rather than O(log T), as opposed to UCB and Thompson sampling")
def grid_6_contrast(material: Material) -> Finding:
    """Among the 256 models, under [.6, .4, .3, .2], likewise."""
    return _contrast(material, "grid-6")


@states(SECTION, "B(θ°) is non-empty: for instance [0.4, 0.6, 0.3, 0.2] is in it")
def grid_4_confused(material: Material) -> Finding:
    """Among the 256 models, B([.4, .3, .2, .2]) is not empty: [.4, .6, .3, .2] is in it."""
    confused = material.case("grid-4").confusion_set
    return Finding(_OTHER in confused, f"B is {_set_of(confused)}", EXACT)


@states(SECTION, "We see FP-UCB incurring O(log T) regret here")
def grid_4_log(material: Material) -> Finding:
    """Among the 256 models, under [.4, .3, .2, .2], FP-UCB's regret is O(log T)."""
    decades = [
        growth(material, "grid-4", "fp-ucb", 10**power, 10 ** (power + 1), within_theorem_1)
        for power in range(4, 15)
    ]
    return Finding(
        all(within for within, _ in decades),
        "growth per unit of ln t from T=1e14 to 1e15, where it is fastest: "
        + titled("grid-4", decades[-1][1]),
        "holds if in each decade from T=1e4 to 1e15 the upper limit of the growth is within "
        f"Theorem 1's coefficient ({LIMIT})",
        10**15,
    )


@states(SECTION, "A case where FP-UCB incurs an increasing regret, seen in the figure")
def grid_4_increasing(material: Material) -> Finding:
    """Among the 256 models, under [.4, .3, .2, .2], one sees FP-UCB's regret increase."""
    start = material.growing_from("grid-4")
    slopes = {
        power: material.slope("grid-4", "fp-ucb", 10**power, 10 ** (power + 1), FAR).mean()
        for power in (4, 6, 8, 10, 11, 12, 13, 14)
    }
    return Finding(
        HOLDS if start == 10**4 else beyond(start),
        f"regret is {material.regret('grid-4', 'fp-ucb', 10**4).mean():.4g} at T=1e4; growth per "
        "unit of ln t in later decades: "
        + ", ".join(f"{slope:.3g} from T=1e{power}" for power, slope in slopes.items())
        + f"; Theorem 2 asks for {material.case('grid-4').theorem2.coefficient:.4g} in the end",
        "the first decade from which on growth is above 0 in every decade, from T=1e4 to 1e15 "
        f"({LIMIT} in each)",
        10**15,
        reason="What a figure to T=1e6 shows is the constant: while FP-UCB rules out the models "
        "outside B(θ°), it plays the confusing arms so often that those in B(θ°) stay ruled out "
        "until much later",
    )


@states(SECTION, "The performance of FP-UCB in this case also is superior to standard UCB")
def grid_4_ucb(material: Material) -> Finding:
    """Among the 256 models, under [.4, .3, .2, .2], FP-UCB does better than UCB."""
    return ahead_of_ucb(material, ["grid-4"])
