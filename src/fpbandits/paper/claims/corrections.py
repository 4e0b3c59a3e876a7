"""The corrected statements, checked like the paper's own; docs/paper.md proves them."""

from __future__ import annotations

import math

import numpy as np

from fpbandits.paper.claims.comparisons import check_order_optimal, compare_plays
from fpbandits.paper.claims.statement import Finding, check_each
from fpbandits.paper.experiments import PAPER, SETTINGS
from fpbandits.paper.limits import limits
from fpbandits.paper.material import Material


def corrected_propositions(material: Material) -> Finding:
    """The corrected Propositions 1 and 2 bound the plays of every arm."""
    confirmed, lines = [], ["plays by T=1e12:"]
    for setting in (*(setting.name for setting in PAPER), "minimum"):
        case = material.case(setting)
        bounds = dict(case.theorem1.corrected.constants)
        for arm in bounds.keys() & case.betas.keys():
            bounds[arm] += 12 * math.log(10**12) / case.betas[arm] ** 2
        for _, within, text in compare_plays(material, setting, bounds, 10**12):
            confirmed.append(within)
            lines.append(f"{SETTINGS[setting].title}, {text}")
    return all(confirmed), "\n".join(lines)


def corrected_theorem_1(material: Material) -> Finding:
    """The corrected Theorem 1 bounds regret at every time."""

    def bounded(setting: str) -> tuple[bool, str]:
        coefficient = material.case(setting).theorem1.corrected.log_coefficient
        result = material.result(setting, "fp-ucb", "far")
        allowed = material.constant(setting, "corrected") + coefficient * np.log(result.times)
        regret = result.regret("fp-ucb")
        highest = np.array([limits(sample)[1] for sample in regret.T])
        share = float((regret.mean(axis=0) / np.maximum(allowed, 1e-9)).max())
        return bool((highest <= allowed).all()), f"{share:.2g}"

    return check_each(SETTINGS, bounded, "largest share of the bound that regret reaches:\n")


def corrected_remark_2(material: Material) -> Finding:
    """FP-UCB is order optimal if best arms are unique and Bernoulli means are inside (0, 1)."""
    return check_order_optimal(material, ("two-1", "two-2", "permutations", "constants"))
