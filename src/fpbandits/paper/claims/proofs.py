"""Section 4 and appendix: propositions and lemmas."""

from __future__ import annotations

import math

from fpbandits.paper.claims.comparisons import within
from fpbandits.paper.claims.statement import EXACT, LIMIT, Finding, decide, states
from fpbandits.paper.evidence import Evidence
from fpbandits.paper.experiments import FAR, NEAR, SETTINGS

SECTION = "Section 4 and appendix: propositions and lemmas"


@states(
    SECTION, "C_i = 1 + 4|A| + the minimum over θ with a*(θ) = i of k_i(θ) + K_i(θ), in expectation"
)
def proposition_1(evidence: Evidence) -> Finding:
    """Proposition 1: an arm outside C(θ°) is played at most C_i times on average."""
    bounds = evidence.case("minimum").theorem1.printed.constants
    found = within(evidence, "minimum", bounds, 10**12, FAR)
    return Finding(
        decide(all(fine for fine, _ in found)),
        f"{SETTINGS['minimum'].title}, B(θ°) empty: plays by T=1e12, "
        + ", ".join(text for _, text in found),
        f"fails if a lower limit is above C_i ({LIMIT})",
        10**12,
        reason="The arm is played while any model with that best arm fits: the hardest to rule out "
        "counts, not the easiest",
    )


@states(SECTION, "For any i in C(θ°), in expectation")
def proposition_2(evidence: Evidence) -> Finding:
    """Proposition 2: an arm in C(θ°) is played at most 2 + 4|A| + 12 ln T/β_i² times."""
    time = 10**5
    candidates = len(evidence.analyses["paper:grid"].candidate_arms)
    bounds = {
        arm: 2 + 4 * candidates + 12 * math.log(time) / beta**2
        for arm, beta in evidence.case("grid-4").betas.items()
    }
    found = within(evidence, "grid-4", bounds, time, NEAR)
    return Finding(
        decide(all(fine for fine, _ in found)),
        f"{SETTINGS['grid-4'].title}, the paper's own problem: plays by T=1e5, "
        + ", ".join(text for _, text in found),
        f"fails if a lower limit is above the bound ({LIMIT})",
        time,
        reason="The models outside B(θ°) with the same best arm are forgotten",
    )


@states(SECTION, "A bound on C_i in terms of α_1(θ), with E = max{3, ⌈144/α⁴⌉}")
def lemma_2(evidence: Evidence) -> Finding:
    """Lemma 2: k_i + K_i is at most 2E(E + 1)|A| + 4|A|α¹⁰."""
    worst = evidence.numbers["lemma 2: largest share of the bound"]
    least = evidence.numbers["lemma 2: least share of the bound"]
    return Finding(
        decide(worst <= 1),
        f"the left side is between {least:.2g} and {worst:.2g} of the right one for α = .01 … 1 "
        "and |A| = 2, 4, 16 (the proof is another matter: see the steps below)",
        f"holds if the share is at most 1 at every one of 991 α; {EXACT}",
    )


@states(SECTION, "Appendix, step (a)")
def lemma_2_step_a(evidence: Evidence) -> Finding:
    """Lemma 2's proof: α²√k − 12 exceeds 1 from k = E + 1 on."""
    value = evidence.numbers["lemma 2: step (a)"]
    return Finding(decide(value > 1), f"{value:.2g} at α = .2, k = E + 1 = 90,001", EXACT)


@states(SECTION, "Appendix, step (b)")
def lemma_2_step_b(evidence: Evidence) -> Finding:
    """Lemma 2's proof: the series Σ k^(7/2)/(k − 1)⁵ over k ≥ 4 is at most 2."""
    value = evidence.numbers["lemma 2: step (b)"]
    return Finding(decide(value <= 2), f"it is {value:.4f}", f"added up to k = 1e6; {EXACT}")
