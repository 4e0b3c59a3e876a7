"""The corrected statements."""

from __future__ import annotations

import math

import numpy as np

from fpbandits.paper.claims.comparisons import order_optimal, within
from fpbandits.paper.claims.statement import LIMIT, Finding, in_each, states
from fpbandits.paper.experiments import FAR, PAPER, SETTINGS
from fpbandits.paper.limits import limits
from fpbandits.paper.material import Material

SECTION = "The corrected statements"


@states(
    SECTION, "Correction: the maximum over θ, and in Proposition 2 over the θ outside B(θ°) as well"
)
def corrected_propositions(material: Material) -> Finding:
    """The corrected Propositions 1 and 2 bound the plays of every arm."""
    found: list[tuple[bool, str]] = []
    for setting in (*(setting.name for setting in PAPER), "minimum"):
        case, end = material.case(setting), 10**12
        bounds = {
            arm: constant + (12 * math.log(end) / case.betas[arm] ** 2 if arm in case.betas else 0)
            for arm, constant in case.theorem1.corrected.constants.items()
        }
        compared = within(material, setting, bounds, end, FAR)
        found += [(fine, f"{SETTINGS[setting].title}, {text}") for _, fine, text in compared]
    return Finding(
        all(fine for fine, _ in found),
        "plays by T=1e12:\n" + "\n".join(text for _, text in found),
        f"holds if every upper limit is within the bound ({LIMIT})",
        10**12,
    )


@states(SECTION, "Correction: the sum of the corrected propositions")
def corrected_theorem_1(material: Material) -> Finding:
    """The corrected Theorem 1 bounds regret at every time."""

    def bounded(setting: str) -> tuple[bool, str]:
        coefficient = material.case(setting).theorem1.corrected.log_coefficient
        result = material.result(setting, "fp-ucb", FAR)
        allowed = material.constant(setting, "corrected") + coefficient * np.log(result.times)
        regret = result.regret("fp-ucb")
        highest = np.array([limits(sample)[1] for sample in regret.T])
        share = float((regret.mean(axis=0) / np.maximum(allowed, 1e-9)).max())
        return bool((highest <= allowed).all()), f"{share:.2g}"

    return in_each(
        SETTINGS,
        bounded,
        heading="largest share of the bound that regret reaches:\n",
        evidence=f"holds if every upper limit is within the bound, at each recorded time ({LIMIT})",
        horizon=10**12,
    )


@states(
    SECTION,
    "Correction: it is enough that B(θ°) is empty, or that some model in it has the same law on "
    "the best arm, and finite divergences on all arms",
)
def corrected_remark_2(material: Material) -> Finding:
    """FP-UCB is order optimal if best arms are unique and Bernoulli means are inside (0, 1)."""
    return order_optimal(material, ("two-1", "two-2", "permutations", "constants"))
