"""Section 3: the algorithm and its theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fpbandits.errors import counted
from fpbandits.paper.claims.comparisons import BOUNDED, LOGARITHMIC, keeps_growing
from fpbandits.paper.claims.statement import EXACT, LIMIT, Finding, decide, mean_text, states
from fpbandits.paper.evidence import Evidence, limits, paired
from fpbandits.paper.experiments import FAR, SETTINGS

SECTION = "Section 3: the algorithm and its theorems"


def _lemma1(evidence: Evidence, problems: Iterable[str]) -> tuple[bool, int, str]:
    count, worst = 0, (math.inf, "")
    for problem in problems:
        for case in evidence.analyses[problem].cases:
            for arm, beta in case.betas.items():
                count += 1
                worst = min(worst, (beta - case.gaps[arm], f"{problem}, truth {case.true}, {arm}"))
    return worst[0] > 1e-12, count, f"least β − Δ is {max(worst[0], 0):.3g} ({worst[1]})"


@states(SECTION, "For each i in C(θ°), under Assumption 1")
def lemma_1(evidence: Evidence) -> Finding:
    """Lemma 1: β_i > 0 and β_i > Δ_i for every confusing arm, if best arms are unique."""
    holds, count, text = _lemma1(evidence, ["paper:two", "paper:permutations"])
    least = evidence.numbers["lemma 1: least β − Δ"]
    return Finding(
        decide(holds and least > 1e-12),
        f"{text} in {counted(count, 'case')} of the paper's sets, and {least:.3g} over 2,000 "
        "random sets of models",
        f"holds if β − Δ is above 0 throughout; {EXACT}",
    )


@states(
    SECTION,
    "Assumption 1: can be removed at the expense of more notation; section 5 has 256 models "
    "with ties",
)
def lemma_1_ties(evidence: Evidence) -> Finding:
    """Lemma 1 needs no unique best arms, given the rule that the first of tied arms counts."""
    holds, count, text = _lemma1(evidence, ["paper:grid"])
    return Finding(
        decide(holds),
        f"{text}, of {count:,} on the 256 models",
        f"holds if β − Δ is above 0 throughout; {EXACT}",
    )


@states(SECTION, "First part: E[R(T)] ≤ D_1")
def theorem_1_constant(evidence: Evidence) -> Finding:
    """Theorem 1: where B(θ°) is empty, regret stays below the printed constant D_1."""
    fine, parts = [], []
    for setting in (*BOUNDED, "minimum"):
        end = evidence.result(setting, "fp-ucb", FAR).horizon
        regret = evidence.regret(setting, "fp-ucb", end, FAR)
        constant = evidence.case(setting).theorem1.printed.constant or 0.0
        fine.append(limits(regret)[0] <= constant)
        parts.append(f"{SETTINGS[setting].title}: {mean_text(regret)}, D_1 = {constant:.4g}")
    return Finding(
        decide(all(fine)),
        "regret at the end:\n" + "\n".join(parts),
        f"fails if a lower limit is above D_1 ({LIMIT})",
        10**12,
        reason="That regret is bounded stands, the constant does not: see proposition-1",
    )


@states(SECTION, "Second part: E[R(T)] ≤ D_2 + 12 log T Σ Δ_i/β_i²")
def theorem_1_coefficient(evidence: Evidence) -> Finding:
    """Theorem 1: where B(θ°) is not empty, 12 Σ Δ_i/β_i² bounds the growth of regret with ln T."""
    fine, parts = [], []
    for setting in (*LOGARITHMIC, "tied", "constants"):
        end = evidence.result(setting, "fp-ucb", FAR).horizon
        coefficient = evidence.case(setting).theorem1.printed.log_coefficient
        slope = evidence.slope(setting, "fp-ucb", end // 1000, end)
        fine.append(limits(slope)[1] <= coefficient)
        parts.append(f"{SETTINGS[setting].title}: {mean_text(slope)} of {coefficient:.4g}")
    return Finding(
        decide(all(fine)),
        "growth a unit of ln t over the last three decades:\n" + "\n".join(parts),
        f"holds if every upper limit is within the coefficient ({LIMIT})",
        10**15,
    )


@states(SECTION, "O(Σ log T/Δ_i)")
def remark_1_ucb(evidence: Evidence) -> Finding:
    """Remark 1: UCB's regret is logarithmic, with the reciprocal gaps in its coefficient."""
    fine, parts = [], []
    for setting in ("two-1", "two-2", "permutations", "grid-4"):
        case = evidence.case(setting)
        slope = evidence.slope(setting, "ucb1", 10**6, 10**12)
        fine.append(0 < limits(slope)[0] and limits(slope)[1] <= case.ucb1.log_coefficient)
        parts.append(
            f"{SETTINGS[setting].title}: {mean_text(slope)} of {case.ucb1.log_coefficient:.4g}"
        )
    return Finding(
        decide(all(fine)),
        "growth a unit of ln t from T=1e6 to 1e12 and 8 Σ 1/Δ_i:\n" + "\n".join(parts),
        f"holds if every growth is above 0 and within 8 Σ 1/Δ_i ({LIMIT})",
        10**12,
    )


@states(SECTION, "Δ_i/β_i² is smaller than 1/Δ_i because β_i > Δ_i")
def remark_1(evidence: Evidence) -> Finding:
    """Remark 1: FP-UCB's coefficient is smaller than UCB's wherever β_i > Δ_i."""
    case = evidence.case("constants")
    (arm, beta), *_ = case.betas.items()
    ours = evidence.slope("constants", "fp-ucb", 10**6, 10**12)
    theirs = evidence.slope("constants", "ucb1", 10**6, 10**12)
    return Finding(
        decide(
            limits(paired(ours, theirs))[1] < 0
            and case.theorem1.printed.log_coefficient < case.ucb1.log_coefficient
        ),
        f"{SETTINGS['constants'].title}: Δ = {case.gaps[arm]:.3g}, β = {beta:.3g}; bounds "
        f"{case.theorem1.printed.log_coefficient:.4g} for FP-UCB and "
        f"{case.ucb1.log_coefficient:.4g} for UCB1, and measured growth a unit of ln t from T=1e6 "
        f"to 1e12 {mean_text(ours)} and {mean_text(theirs)}",
        "holds if FP-UCB has the smaller coefficient, in theory and in the upper limit of the "
        f"difference of growths, run by run ({LIMIT})",
        10**12,
        reason="Constants count: 12Δ/β² is smaller than 8/Δ only if β > 1.225 Δ",
    )


@states(SECTION, "lim inf E[R(T)]/log T is at least the minimum over exploration")
def theorem_2(evidence: Evidence) -> Finding:
    """Theorem 2: FP-UCB, a uniformly good policy, pays at least the lower bound in the long run."""
    fine, parts = [], []
    for setting in LOGARITHMIC:
        coefficient = evidence.case(setting).theorem2.coefficient
        slope = evidence.slope(setting, "fp-ucb", 10**14, 10**15)
        fine.append(limits(slope)[0] >= coefficient)
        parts.append(f"{SETTINGS[setting].title}: {mean_text(slope)}, at least {coefficient:.4g}")
    return Finding(
        decide(all(fine)),
        "growth a unit of ln t from T=1e14 to 1e15:\n" + "\n".join(parts),
        f"holds if every lower limit is above the coefficient ({LIMIT})",
        10**15,
    )


@states(SECTION, "Explores arms of A alone; section 3: an agent can restrict itself to A")
def theorem_2_arms(evidence: Evidence) -> Finding:
    """Theorem 2: no good policy can do better than the lower bound over the arms of A."""
    case = evidence.analyses["informative"].cases[0]
    over_a, over_all = case.theorem2.coefficient, case.theorem2.all_arms.coefficient
    return Finding(
        decide(over_all >= over_a * (1 - 1e-9)),
        f"truth (.5, .4, .49) and (.5, .6, .01): {over_a:.4g} over A, {over_all:.4g} when the "
        "third arm, best nowhere, may be played to inform",
        f"holds if the linear program over all arms gives no less; {EXACT}",
    )


@states(SECTION, "The maximum is over B(θ°), and section 5 uses a set with ties")
def theorem_2_ties(evidence: Evidence) -> Finding:
    """Theorem 2: every model in B(θ°) forces exploration, with ties too."""
    bound = evidence.case("tied").theorem2
    cases = evidence.analyses["paper:grid"].cases
    confused = [case for case in cases if case.confusion_set]
    free = sum(not case.theorem2.confusion_set for case in confused)
    return Finding(
        decide(free == 0),
        f"{SETTINGS['tied'].title}: {bound.printed.coefficient:.4g} as printed, "
        f"{bound.coefficient:.4g} if models under which the arm played is also best are left out; "
        f"in {free} of {len(confused)} truths with a non-empty B(θ°) nothing is left",
        f"holds if there is no truth whose B(θ°) holds such models alone; {EXACT}",
    )


@states(SECTION, "Achieves the bounds Ω(1) and Ω(log T)")
def remark_2(evidence: Evidence) -> Finding:
    """Remark 2: FP-UCB is order optimal, logarithmic only where all must be, without ties."""
    cases = [
        case
        for problem in ("paper:two", "paper:permutations", "constants", "minimum")
        for case in evidence.analyses[problem].cases
    ]
    agree = sum(bool(case.confusion_set) == (case.theorem2.coefficient > 0) for case in cases)
    growing, text = keeps_growing(evidence, "two-2", "fp-ucb", 10**6, 10**15)
    return Finding(
        decide(agree == len(cases) and growing),
        f"in {agree} of {len(cases)} cases B(θ°) is empty exactly where Theorem 2 is 0; "
        f"growth a unit of ln t under θ²: {text}",
        f"holds if they agree in every case ({EXACT}) and FP-UCB does grow where it must ({LIMIT})",
        10**15,
    )


@states(SECTION, "With the 256 models of section 5")
def remark_2_ties(evidence: Evidence) -> Finding:
    """Remark 2: FP-UCB is order optimal with tied best arms too."""
    slope = evidence.slope("tied", "fp-ucb", 10**6, 10**15)
    coefficient = evidence.case("tied").theorem2.all_arms.coefficient
    return Finding(
        decide(coefficient > 0 or limits(slope)[0] <= 0),
        f"{SETTINGS['tied'].title}: FP-UCB grows by {mean_text(slope)} a unit of ln t, and the "
        f"lower bound is {coefficient:.4g}",
        f"fails if growth from T=1e6 to 1e15 is above 0 ({LIMIT}) where the lower bound is 0",
        10**15,
        reason="With its arms in the order [.6, .4, .3, .2] it is bounded: with ties, the order of "
        "the arms decides",
    )
