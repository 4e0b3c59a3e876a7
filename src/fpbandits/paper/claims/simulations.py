"""Section 5: simulations."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from fpbandits.errors import counted
from fpbandits.paper.claims import comparisons
from fpbandits.paper.claims.statement import HOLDS, Finding, beyond, mean_text, titled
from fpbandits.paper.limits import limits
from fpbandits.paper.material import Material
from fpbandits.report.times import time_text

_SWAPPED = "0.4,0.6,0.3,0.2"
"""The model θ' with the means of [.6, .4, .3, .2], the first two exchanged."""


def _set_text(names: Iterable[str]) -> str:
    """Return a set of names in braces; of more than four, their number and an example."""
    listed = list(names)
    if len(listed) > 4:
        return f"{counted(len(listed), 'model')}, such as [{listed[0]}]"
    return "{" + ", ".join(listed) + "}" if listed else "empty"


def two_best_arms(material: Material) -> Finding:
    """Of the two models, the first has arm 1 best and the second arm 2."""
    best = [case.best_arm for case in material.analyses["paper:two"].cases]
    return best == ["arm1", "arm2"], ", ".join(best)


def _check_confusion(
    material: Material, setting: str, truth: str, models: tuple[str, ...], arms: tuple[str, ...]
) -> Finding:
    """Check that B and C of a setting are those that the paper gives."""
    case = material.case(setting)
    b_text, c_text = _set_text(case.confusion_set), _set_text(case.confusing_arms)
    same = case.confusion_set == models and case.confusing_arms == arms
    return same, f"B({truth}) is {b_text}, C({truth}) is {c_text}"


def two_1_empty(material: Material) -> Finding:
    """Two models: under θ¹, B and C are empty."""
    return _check_confusion(material, "two-1", "θ¹", (), ())


def two_1_flat(material: Material) -> Finding:
    """Two models: under θ¹ regret does not increase after some time."""
    flat, text = comparisons.check_all_flat(material, ["two-1"])
    result = material.result("two-1", "fp-ucb", "far")
    moving = (np.diff(result.regret("fp-ucb"), axis=1) > 0).any(axis=0)
    last = int(result.times[1:][moving].max(initial=1))
    return flat, f"{text}; no run changed after T={time_text(last)}"


def two_2_confused(material: Material) -> Finding:
    """Two models: under θ², B = {θ¹} and C = {1}."""
    return _check_confusion(material, "two-2", "θ²", ("theta1",), ("arm1",))


def two_2_log(material: Material) -> Finding:
    """Two models: under θ² regret grows as log T."""
    early = material.slope("two-2", "fp-ucb", 10**6, 10**9)
    late = material.slope("two-2", "fp-ucb", 10**9, 10**12)
    low, high = limits(late - early)
    straight = max(-low, high) <= 0.1 * float(early.mean())
    return limits(late)[0] > 0 and straight, (
        f"growth per unit of ln t: {mean_text(early)} from T=1e6 to 1e9, {mean_text(late)} from "
        "T=1e9 to 1e12"
    )


def two_2_over_log(material: Material) -> Finding:
    """Two models: under θ² regret over log t converges to a constant."""
    scaled = {
        power: material.regret("two-2", "fp-ucb", 10**power, "far") / math.log(10**power)
        for power in (3, 6, 9, 12, 15)
    }
    low, high = limits(scaled[15] - scaled[9])
    still = max(-low, high) <= 0.05 * float(scaled[9].mean())
    means = ", ".join(f"{sample.mean():.4g} at T=1e{power}" for power, sample in scaled.items())
    text = f"regret over ln T: {means}; 3Δ/β² is {3 * 0.3 / 0.7**2:.4g}"
    return still and limits(scaled[15])[0] > 0, text


def _check_count(material: Material, problem: str, expected: int) -> Finding:
    count = len(material.analyses[problem].models)
    return count == expected, f"{count} models"


def permutations_count(material: Material) -> Finding:
    """There are 24 permutations of [.6, .4, .3, .2]."""
    return _check_count(material, "paper:permutations", 24)


def permutations_empty(material: Material) -> Finding:
    """Among the 24 permutations B(θ°) is empty."""
    cases = material.analyses["paper:permutations"].cases
    empty = sum(not case.confusion_set for case in cases)
    return empty == len(cases), f"under {empty} of {len(cases)} truths"


def _check_contrast(material: Material, setting: str) -> Finding:
    """Check that FP-UCB's regret is flat, and that of UCB1 and Thompson sampling grows."""
    flat, text = comparisons.check_flat(material, setting)
    growing, rivals = comparisons.check_rivals_grow(material, [setting], separator=", ")
    return flat and growing, f"FP-UCB, {titled(setting, text)}\n{rivals}"


def permutations_contrast(material: Material) -> Finding:
    """On the 24 permutations FP-UCB is bounded, and UCB and Thompson sampling grow."""
    return _check_contrast(material, "permutations")


def permutations_ucb(material: Material) -> Finding:
    """On the 24 permutations FP-UCB does better than UCB."""
    return comparisons.check_ahead_of_ucb(material, ["permutations"])


def permutations_other(material: Material) -> Finding:
    """Under θ' = [.4, .6, .3, .2] arm 2 is best, and α_1(θ') = .2."""
    cases = material.analyses["paper:permutations"].cases
    best = next(case.best_arm for case in cases if case.truth == _SWAPPED)
    alpha = material.case("permutations").theorem1.terms[_SWAPPED].alpha
    return best == "arm2" and math.isclose(alpha, 0.2), f"{best}, α = {alpha:.4g}"


def k_2326(material: Material) -> Finding:
    """k_2(θ') = 2326."""
    k = material.case("permutations").theorem1.terms[_SWAPPED].k
    return k == 2326, f"it is {k}: ⌈300 ln 2326⌉ = 2326, which 2326 does not exceed"


def k_is_3(material: Material) -> Finding:
    """k_i(θ) = 3 wherever α_1(θ) > 2√(3/e)."""
    threshold, k = material.numbers["2√(3/e)"], material.numbers["k just above 2√(3/e)"]
    return k == 3 and threshold < 1, (
        f"2√(3/e) = {threshold:.4g} and α is at most 1, so it never applies; beyond it k would be "
        f"{k:.0f}, and 3 from α = {material.numbers['first α with k = 3']:.4g} on"
    )


def grid_count(material: Material) -> Finding:
    """There are 256 models in {.6, .4, .3, .2}⁴."""
    return _check_count(material, "paper:grid", 256)


def grid_tie_rule(material: Material) -> Finding:
    """Of tied arms the first is the best arm."""
    analysis = material.analyses["paper:grid"]
    best = {case.truth: case.best_arm for case in analysis.cases}
    first = all(
        best[truth] == f"arm{np.argmax([float(mean) for mean in truth.split(',')]) + 1}"
        for truth in analysis.ties
    )
    example = best["0.4,0.6,0.6,0.2"]
    return first and example == "arm2", (
        f"so in all {len(analysis.ties)} models with ties; {example} under [.4, .6, .6, .2]. The "
        "paper's example has a mean of .5, which is not in the set"
    )


def grid_6_empty(material: Material) -> Finding:
    """Among the 256 models, B([.6, .4, .3, .2]) is empty."""
    case, swapped = material.case("grid-6"), material.case("tied")
    return not case.confusion_set, (
        f"B is {_set_text(case.confusion_set)}; with its first two arms exchanged, under "
        f"[{swapped.truth}], B is {_set_text(swapped.confusion_set)}"
    )


def grid_6_contrast(material: Material) -> Finding:
    """Among the 256 models, under [.6, .4, .3, .2], likewise."""
    return _check_contrast(material, "grid-6")


def grid_4_confused(material: Material) -> Finding:
    """Among the 256 models, B([.4, .3, .2, .2]) is not empty: [.4, .6, .3, .2] is in it."""
    confused = material.case("grid-4").confusion_set
    return _SWAPPED in confused, f"B is {_set_text(confused)}"


def grid_4_log(material: Material) -> Finding:
    """Among the 256 models, under [.4, .3, .2, .2], FP-UCB's regret is O(log T)."""
    fits = comparisons.within_theorem_1
    decades = [
        comparisons.check_growth(material, "grid-4", "fp-ucb", 10**power, 10 ** (power + 1), fits)
        for power in range(4, 15)
    ]
    heading = "growth per unit of ln t from T=1e14 to 1e15, where it is fastest: "
    return all(within for within, _ in decades), heading + titled("grid-4", decades[-1][1])


def grid_4_increasing(material: Material) -> Finding:
    """Among the 256 models, under [.4, .3, .2, .2], one sees FP-UCB's regret increase."""
    start = material.growing_from("grid-4")
    slopes = {
        power: material.slope("grid-4", "fp-ucb", 10**power, 10 ** (power + 1), "far").mean()
        for power in (4, 6, 8, 10, 11, 12, 13, 14)
    }
    by_decade = ", ".join(f"{slope:.3g} from T=1e{power}" for power, slope in slopes.items())
    return HOLDS if start == 10**4 else beyond(start), (
        f"regret is {material.regret('grid-4', 'fp-ucb', 10**4).mean():.4g} at T=1e4; growth per "
        f"unit of ln t in later decades: {by_decade}; Theorem 2 asks for "
        f"{material.case('grid-4').theorem2.coefficient:.4g} in the end"
    )


def grid_4_ucb(material: Material) -> Finding:
    """Among the 256 models, under [.4, .3, .2, .2], FP-UCB does better than UCB."""
    return comparisons.check_ahead_of_ucb(material, ["grid-4"])
