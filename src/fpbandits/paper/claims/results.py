"""Section 3: the algorithm and its theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from fpbandits.errors import counted
from fpbandits.paper.claims.comparisons import (
    BOUNDED,
    DISTINCT,
    LOGARITHMIC,
    all_bounded,
    growth_in_each,
    order_optimal,
    stays_put,
    within_theorem_1,
)
from fpbandits.paper.claims.statement import (
    EXACT,
    LIMIT,
    Finding,
    in_each,
    mean_text,
    states,
    titled,
)
from fpbandits.paper.experiments import FAR, SETTINGS
from fpbandits.paper.limits import limits, paired
from fpbandits.paper.material import Material

SECTION = "Section 3: the algorithm and its theorems"


def least_margin(material: Material, problems: Iterable[str]) -> tuple[bool, int, str]:
    """Tell whether β_i > Δ_i in all cases of some problems, of how many, and where it is least."""
    count, worst = 0, (math.inf, "")
    for problem in problems:
        for case in material.analyses[problem].cases:
            for arm, beta in case.betas.items():
                count += 1
                worst = min(worst, (beta - case.gaps[arm], f"{problem}, truth {case.truth}, {arm}"))
    return worst[0] > 1e-12, count, f"least β − Δ is {round(worst[0], 12):.3g} ({worst[1]})"


@states(SECTION, "For each i in C(θ°), β_i > 0 and β_i > Δ_i")
def lemma_1(material: Material) -> Finding:
    """Lemma 1: β_i > 0 and β_i > Δ_i for every confusing arm, if best arms are unique."""
    holds, count, text = least_margin(material, ["paper:two", "paper:permutations"])
    least = material.numbers["lemma 1: least β − Δ"]
    return Finding(
        holds and least > 1e-12,
        f"{text} in {counted(count, 'case')} of the paper's sets, and {least:.3g} over 2,000 "
        "random sets of models",
        f"holds if β − Δ is above 0 throughout; {EXACT}",
    )


@states(SECTION, "E[R(T)] ≤ D_1 if B(θ°) is empty, D_1 a constant that does not depend on T")
def theorem_1(material: Material) -> Finding:
    """Theorem 1: where B(θ°) is empty, a constant bounds regret at all times."""
    return all_bounded(material, BOUNDED)


@states(SECTION, "D_1 = |A| max Δ_i C_i, with C_i from Proposition 1's proof")
def theorem_1_constant(material: Material) -> Finding:
    """Theorem 1: its constant D_1 is right as printed."""

    def not_refuted(setting: str) -> tuple[bool, str]:
        regret = material.regret(setting, "fp-ucb", 10**12, FAR)
        constant = material.constant(setting, "printed")
        return limits(regret)[0] <= constant, f"{mean_text(regret)}, D_1 = {constant:.4g}"

    return in_each(
        (*BOUNDED, "minimum"),
        not_refuted,
        heading="regret at T=1e12:\n",
        evidence=f"fails if a lower limit is above D_1 ({LIMIT})",
        horizon=10**12,
        reason="C_i takes a minimum over models where a maximum is due: see proposition-1-constant",
    )


@states(SECTION, "E[R(T)] ≤ D_2 + 12 log T Σ Δ_i/β_i² if B(θ°) is not empty")
def theorem_1_coefficient(material: Material) -> Finding:
    """Theorem 1: where B(θ°) is not empty, 12 Σ Δ_i/β_i² bounds the growth with ln T."""
    settings = (*LOGARITHMIC, "tied", "constants")
    evidence = f"holds if every upper limit is within the coefficient ({LIMIT})"
    return growth_in_each(material, settings, "fp-ucb", 10**9, 10**12, within_theorem_1, evidence)


@states(SECTION, "D_2 = |A| max over i in A of Δ_i (2 + C_i + 4|A|)")
def theorem_1_d2(material: Material) -> Finding:
    """Theorem 1: D_2 is defined."""
    case = material.case("two-2")
    missing = [arm for arm in case.confusing_arms if arm not in case.theorem1.printed.constants]
    return Finding(
        not missing,
        f"{SETTINGS['two-2'].title}: C_i is missing for {', '.join(missing) or 'no arm'} in C(θ°)",
        EXACT,
        reason="Proposition 1 defines C_i for arms outside C(θ°) alone; the sum of the corrected "
        "propositions replaces D_2",
    )


@states(SECTION, "The regret of UCB is O(Σ log T/Δ_i)")
def remark_1_ucb(material: Material) -> Finding:
    """Remark 1: UCB's regret is logarithmic, with the reciprocal gaps in its coefficient."""

    def logarithmic(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
        allowed = material.case(setting).ucb1.log_coefficient
        return 0 < low and high <= allowed, f" of {allowed:.4g}"

    evidence = f"holds if every growth is above 0 and within 8 Σ 1/Δ_i ({LIMIT})"
    beside = " and 8 Σ 1/Δ_i"
    return growth_in_each(material, DISTINCT, "ucb1", 10**6, 10**12, logarithmic, evidence, beside)


@states(SECTION, "Thompson sampling type algorithms give a problem dependent O(log T) bound")
def remark_1_thompson(material: Material) -> Finding:
    """Remark 1: Thompson sampling's regret is logarithmic."""

    def logarithmic(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
        final = material.lai_robbins(setting)
        return high <= 1.2 * final, f", in the long run {final:.4g}"

    evidence = f"holds if every upper limit is within 1.2 times Σ Δ_i/kl(μ_i, μ*) ({LIMIT})"
    return growth_in_each(material, DISTINCT, "thompson", 10**6, 10**15, logarithmic, evidence)


@states(SECTION, "The preceding constant Δ_i/β_i² is smaller than 1/Δ_i because β_i > Δ_i")
def remark_1_ratio(material: Material) -> Finding:
    """Remark 1: Δ_i/β_i² < 1/Δ_i for every confusing arm."""
    ratios = [
        (case.gaps[arm] / max(beta, 1e-300)) ** 2
        for problem in ("paper:two", "constants")
        for case in material.analyses[problem].cases
        for arm, beta in case.betas.items()
    ]
    return Finding(
        max(ratios) < 1,
        f"(Δ/β)² is at most {max(ratios):.3g} in {counted(len(ratios), 'case')}; it is below 1 "
        "wherever Lemma 1 holds",
        EXACT,
    )


@states(SECTION, "So the preceding constant is smaller than that of the standard UCB algorithm")
def remark_1(material: Material) -> Finding:
    """Remark 1: so FP-UCB's regret grows more slowly than UCB's."""
    case = material.case("constants")
    (arm, beta), *_ = case.betas.items()
    ours = material.slope("constants", "fp-ucb", 10**6, 10**12)
    theirs = material.slope("constants", "ucb1", 10**6, 10**12)
    return Finding(
        limits(paired(ours, theirs))[1] < 0
        and case.theorem1.printed.log_coefficient < case.ucb1.log_coefficient,
        f"{SETTINGS['constants'].title}: Δ = {case.gaps[arm]:.3g}, β = {beta:.3g}; bounds "
        f"{case.theorem1.printed.log_coefficient:.4g} for FP-UCB and "
        f"{case.ucb1.log_coefficient:.4g} for UCB1, and measured growth per unit of ln t from "
        f"T=1e6 to 1e12 {mean_text(ours)} and {mean_text(theirs)}",
        "holds if FP-UCB has the smaller coefficient, in theory and in the upper limit of the "
        f"difference of growths, run by run ({LIMIT})",
        10**12,
        reason="The inequality drops the factors 12 and 8: 12Δ/β² is smaller than 8/Δ only if "
        "β > 1.225 Δ",
    )


@states(SECTION, "lim inf E[R(T)]/log T is at least a minimum over ways to explore")
def theorem_2(material: Material) -> Finding:
    """Theorem 2: FP-UCB, a uniformly good policy, pays at least the lower bound in the long run."""

    def pays(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
        least = material.case(setting).theorem2.coefficient
        return low >= least, f", at least {least:.4g}"

    evidence = f"holds if every lower limit is above the coefficient ({LIMIT})"
    return growth_in_each(material, LOGARITHMIC, "fp-ucb", 10**14, 10**15, pays, evidence)


@states(SECTION, "The minimum is over A; intuitively, an agent can restrict itself to A")
def theorem_2_arms(material: Material) -> Finding:
    """Theorem 2: to let policies explore with the arms of A alone leaves the minimum as it is."""
    case = material.analyses["informative"].cases[0]
    over_a, over_all = case.theorem2.coefficient, case.theorem2.all_arms.coefficient
    return Finding(
        over_all >= over_a * (1 - 1e-9),
        f"truth (.5, .4, .49) and (.5, .6, .01): {over_a:.4g} over A, {over_all:.4g} when the "
        "third arm, best nowhere, may be played to inform",
        f"holds if the linear program over all arms gives no less; {EXACT}",
        reason="An arm that is best nowhere can inform at little cost. For policies that may play "
        "it, only the smaller minimum is proven to be a lower bound; no policy is shown here that "
        "comes so low",
    )


@states(SECTION, "B(θ°), equal means on a*(θ°), decides what must be explored")
def theorem_2_laws(material: Material) -> Finding:
    """Theorem 2: a model of the same mean on the best arm forces exploration, whatever its law."""
    case = material.analyses["laws"].cases[0]
    return Finding(
        case.theorem2.confusion_set == case.confusion_set,
        "rewards 0, .5 and 1, the best arm paying .5 for sure under the truth, and 0 or 1 under "
        f"the other model: B(θ°) has {len(case.confusion_set)} model, of which "
        f"{len(case.theorem2.confusion_set)} must be explored",
        EXACT,
        reason="Playing the best arm tells laws apart, though their means agree; for Bernoulli "
        "rewards there is no difference",
    )


@states(SECTION, "Regret is Ω(1) or Ω(log T) for any algorithm, and FP-UCB achieves these")
def remark_2(material: Material) -> Finding:
    """Remark 2: FP-UCB is order optimal, if best arms are unique."""
    found = order_optimal(
        material, ("two-1", "two-2", "permutations", "constants", "certain", "laws")
    )
    _, optimist = stays_put(material, "certain", "optimist")
    return replace(
        found,
        measured=f"{found.measured}\n{titled('certain', f'optimist has {optimist}')}",
        reason="A model in B(θ°) can cost nothing to rule out: under (.5, 1) the second arm never "
        "pays 0, so one reward of 0 is enough; and one play of the best arm can tell its laws "
        "apart. FP-UCB compares means with radii, and goes on paying. Where neither is possible, "
        "the remark is right: see corrected-remark-2",
    )
