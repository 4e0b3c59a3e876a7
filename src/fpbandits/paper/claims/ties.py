"""With tied best arms, which the paper's assumption excludes and its 256 models have."""

from __future__ import annotations

from fpbandits.paper.claims.results import least_margin
from fpbandits.paper.claims.statement import EXACT, LIMIT, Finding, mean_text, states
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.limits import limits
from fpbandits.paper.material import Material

SECTION = "With tied best arms, outside Assumption 1"


@states(SECTION, "Assumption 1 can be removed at the expense of more notation")
def ties_lemma_1(material: Material) -> Finding:
    """Lemma 1 stands if the first of tied arms counts as best."""
    holds, count, text = least_margin(material, ["paper:grid"])
    return Finding(
        holds,
        f"{text}, of {count:,} on the 256 models",
        f"holds if β − Δ is above 0 throughout; {EXACT}",
        reason="With ties, β = Δ is possible",
    )


@states(SECTION, "The maximum is over B(θ°), and section 5 uses a set with ties")
def ties_theorem_2(material: Material) -> Finding:
    """Theorem 2 stands: every model in B(θ°) forces exploration."""
    bound = material.case("tied").theorem2
    cases = material.analyses["paper:grid"].cases
    confused = [case for case in cases if case.confusion_set]
    free = sum(not case.theorem2.confusion_set for case in confused)
    return Finding(
        free == 0,
        f"{SETTINGS['tied'].title}: {bound.printed.coefficient:.4g} as printed, "
        f"{bound.coefficient:.4g} if models under which the arm played is also best are left out; "
        f"in {free} of {len(confused)} truths with a non-empty B(θ°) nothing is left",
        f"holds if there is no truth whose B(θ°) holds such models alone; {EXACT}",
        reason="Who plays an arm that is best under both models loses nothing under either",
    )


@states(SECTION, "Achieves the order optimal performance")
def ties_remark_2(material: Material) -> Finding:
    """FP-UCB is order optimal all the same."""
    slope = material.slope("tied", "fp-ucb", 10**6, 10**15)
    coefficient = material.case("tied").theorem2.all_arms.coefficient
    return Finding(
        coefficient > 0 or limits(slope)[0] <= 0,
        f"{SETTINGS['tied'].title}: FP-UCB grows by {mean_text(slope)} per unit of ln t, and the "
        f"lower bound is {coefficient:.4g}",
        f"fails if growth from T=1e6 to 1e15 is above 0 ({LIMIT}) where the lower bound is 0",
        10**15,
        reason="With its arms in the order [.6, .4, .3, .2] it is bounded: with ties, the order of "
        "the arms decides",
    )
