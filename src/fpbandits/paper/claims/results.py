"""Section 3: the algorithm and its theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fpbandits.errors import counted
from fpbandits.paper.claims import comparisons
from fpbandits.paper.claims.comparisons import BOUNDED, DISTINCT, LOGARITHMIC
from fpbandits.paper.claims.statement import Finding, check_each, mean_text, titled
from fpbandits.paper.limits import limits, paired_difference
from fpbandits.paper.material import Material


def least_beta_less_gap(material: Material, problems: Iterable[str]) -> tuple[bool, int, str]:
    """Find the least β_i − Δ_i of some problems under all truths.

    Returns whether it is above 0, of how many pairs of a truth and a confusing arm it is the least,
    and the number and its pair as text.
    """
    count, least = 0, (math.inf, "")
    for problem in problems:
        for case in material.analyses[problem].cases:
            for arm, beta in case.betas.items():
                count += 1
                least = min(least, (beta - case.gaps[arm], f"{problem}, truth {case.truth}, {arm}"))
    return least[0] > 1e-12, count, f"least β − Δ is {round(least[0], 12):.3g} ({least[1]})"


def lemma_1(material: Material) -> Finding:
    """Lemma 1: β_i > 0 and β_i > Δ_i for every confusing arm, if best arms are unique."""
    holds, count, text = least_beta_less_gap(material, ["paper:two", "paper:permutations"])
    least = material.numbers["lemma 1: least β − Δ"]
    return holds and least > 1e-12, (
        f"{text} in {counted(count, 'case')} of the paper's sets, and {least:.3g} over 2,000 "
        "random sets of models"
    )


def theorem_1(material: Material) -> Finding:
    """Theorem 1: where B(θ°) is empty, a constant bounds regret at all times."""
    return comparisons.check_all_flat(material, BOUNDED)


def theorem_1_constant(material: Material) -> Finding:
    """Theorem 1: its constant D_1 is right as printed."""

    def not_refuted(setting: str) -> tuple[bool, str]:
        regret = material.regret(setting, "fp-ucb", 10**12, "far")
        constant = material.constant(setting, "printed")
        return limits(regret)[0] <= constant, f"{mean_text(regret)}, D_1 = {constant:.4g}"

    return check_each((*BOUNDED, "minimum"), not_refuted, "regret at T=1e12:\n")


def theorem_1_coefficient(material: Material) -> Finding:
    """Theorem 1: where B(θ°) is not empty, 12 Σ Δ_i/β_i² bounds the growth with ln T."""
    settings, fits = (*LOGARITHMIC, "tied", "constants"), comparisons.within_theorem_1
    return comparisons.check_growth_in_each(material, settings, "fp-ucb", 10**9, 10**12, fits)


def theorem_1_d2(material: Material) -> Finding:
    """Theorem 1: D_2 is defined."""
    case = material.case("two-2")
    missing = [arm for arm in case.confusing_arms if arm not in case.theorem1.printed.constants]
    text = f"C_i is missing for {', '.join(missing) or 'no arm'} in C(θ°)"
    return not missing, titled("two-2", text)


def remark_1_ucb(material: Material) -> Finding:
    """Remark 1: UCB's regret is logarithmic, with the reciprocal gaps in its coefficient."""

    def fits(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
        allowed = material.case(setting).ucb1.log_coefficient
        return 0 < low and high <= allowed, f" of {allowed:.4g}"

    remark = " and 8 Σ 1/Δ_i"
    return comparisons.check_growth_in_each(material, DISTINCT, "ucb1", 10**6, 10**12, fits, remark)


def remark_1_thompson(material: Material) -> Finding:
    """Remark 1: Thompson sampling's regret is logarithmic."""

    def fits(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
        final = material.lai_robbins(setting)
        return high <= 1.2 * final, f", in the long run {final:.4g}"

    return comparisons.check_growth_in_each(material, DISTINCT, "thompson", 10**6, 10**15, fits)


def remark_1_ratio(material: Material) -> Finding:
    """Remark 1: Δ_i/β_i² < 1/Δ_i for every confusing arm."""
    ratios = [
        (case.gaps[arm] / max(beta, 1e-300)) ** 2
        for problem in ("paper:two", "constants")
        for case in material.analyses[problem].cases
        for arm, beta in case.betas.items()
    ]
    return max(ratios) < 1, (
        f"(Δ/β)² is at most {max(ratios):.3g} in {counted(len(ratios), 'case')}; it is below 1 "
        "wherever Lemma 1 holds"
    )


def remark_1(material: Material) -> Finding:
    """Remark 1: so FP-UCB's regret grows more slowly than UCB's."""
    case = material.case("constants")
    (arm, beta), *_ = case.betas.items()
    bound, ucb1_bound = case.theorem1.printed.log_coefficient, case.ucb1.log_coefficient
    ours = material.slope("constants", "fp-ucb", 10**6, 10**12)
    theirs = material.slope("constants", "ucb1", 10**6, 10**12)
    text = (
        f"Δ = {case.gaps[arm]:.3g}, β = {beta:.3g}; bounds {bound:.4g} for FP-UCB and "
        f"{ucb1_bound:.4g} for UCB1, and measured growth per unit of ln t from T=1e6 to 1e12 "
        f"{mean_text(ours)} and {mean_text(theirs)}"
    )
    return limits(paired_difference(ours, theirs))[1] < 0 and bound < ucb1_bound, titled(
        "constants", text
    )


def theorem_2(material: Material) -> Finding:
    """Theorem 2: FP-UCB, a uniformly good policy, pays at least the lower bound in the long run."""

    def fits(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
        least = material.case(setting).theorem2.coefficient
        return low >= least, f", at least {least:.4g}"

    return comparisons.check_growth_in_each(material, LOGARITHMIC, "fp-ucb", 10**14, 10**15, fits)


def theorem_2_arms(material: Material) -> Finding:
    """Theorem 2: to let policies explore with the arms of A alone leaves the minimum as it is."""
    case = material.analyses["informative"].cases[0]
    over_a, over_all = case.theorem2.coefficient, case.theorem2.all_arms.coefficient
    return over_all >= over_a * (1 - 1e-9), (
        f"truth (.5, .4, .49) and (.5, .6, .01): {over_a:.4g} over A, {over_all:.4g} when the "
        "third arm, best nowhere, may be played to inform"
    )


def theorem_2_laws(material: Material) -> Finding:
    """Theorem 2: a model of the same mean on the best arm forces exploration, whatever its law."""
    case = material.analyses["laws"].cases[0]
    return case.theorem2.confusion_set == case.confusion_set, (
        "rewards 0, .5 and 1, the best arm paying .5 for sure under the truth, and 0 or 1 under "
        f"the other model: B(θ°) has {len(case.confusion_set)} model, of which "
        f"{len(case.theorem2.confusion_set)} must be explored"
    )


def remark_2(material: Material) -> Finding:
    """Remark 2: FP-UCB is order optimal, if best arms are unique."""
    settings = ("two-1", "two-2", "permutations", "constants", "certain", "laws")
    optimal, text = comparisons.check_order_optimal(material, settings)
    _, optimist = comparisons.check_flat(material, "certain", "optimist")
    return optimal, f"{text}\n{titled('certain', f'optimist has {optimist}')}"
