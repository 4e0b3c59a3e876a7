"""With tied best arms, which the paper's assumption excludes and its 256 models have."""

from __future__ import annotations

from fpbandits.paper.claims.results import least_beta_less_gap
from fpbandits.paper.claims.statement import Finding, mean_text, titled
from fpbandits.paper.limits import limits
from fpbandits.paper.material import Material


def ties_lemma_1(material: Material) -> Finding:
    """Lemma 1 stands if the first of tied arms counts as best."""
    holds, count, text = least_beta_less_gap(material, ["paper:grid"])
    return holds, f"{text}, of {count:,} on the 256 models"


def ties_theorem_2(material: Material) -> Finding:
    """Theorem 2 stands: every model in B(θ°) forces exploration."""
    bound = material.case("tied").theorem2
    cases = material.analyses["paper:grid"].cases
    confused = [case for case in cases if case.confusion_set]
    free = sum(not case.theorem2.confusion_set for case in confused)
    text = (
        f"{bound.printed.coefficient:.4g} as printed, {bound.coefficient:.4g} if models under "
        f"which the arm played is also best are left out; in {free} of {len(confused)} truths "
        "with a non-empty B(θ°) nothing is left"
    )
    return free == 0, titled("tied", text)


def ties_remark_2(material: Material) -> Finding:
    """FP-UCB is order optimal all the same."""
    slope = material.slope("tied", "fp-ucb", 10**6, 10**15)
    coefficient = material.case("tied").theorem2.all_arms.coefficient
    text = (
        f"FP-UCB grows by {mean_text(slope)} per unit of ln t, and the lower bound is "
        f"{coefficient:.4g}"
    )
    return coefficient > 0 or limits(slope)[0] <= 0, titled("tied", text)
