"""Section 4 and appendix: propositions and lemmas."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fpbandits.errors import counted
from fpbandits.paper.claims.comparisons import BOUNDED, compare_plays
from fpbandits.paper.claims.statement import Finding, check_each
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.limits import largest_chance
from fpbandits.paper.material import Material


def proposition_1(material: Material) -> Finding:
    """Proposition 1: a constant bounds the plays of an arm outside C(θ°) at all times."""

    def plays_no_more(setting: str) -> tuple[bool, str]:
        early, late = (material.regret(setting, "fp-ucb", 10**power, "far") for power in (9, 12))
        grew = int((late > early).sum())
        share = largest_chance(grew, len(late))
        return grew == 0, f"{grew:,} of {counted(len(late), 'run')} (at most {share:.1%} of all)"

    heading = "runs that played a worse arm between T=1e9 and 1e12:\n"
    return check_each((*BOUNDED, "minimum"), plays_no_more, heading)


def _not_refuted(
    material: Material, setting: str, bounds: Mapping[str, float], time: int
) -> tuple[bool, str]:
    """Return whether the limits refute none of the bounds on plays, and the numbers."""
    arms = compare_plays(material, setting, bounds, time)
    return not any(refuted for refuted, _, _ in arms), ", ".join(text for *_, text in arms)


def proposition_1_constant(material: Material) -> Finding:
    """Proposition 1: its constant C_i is right as printed."""
    bounds = material.case("minimum").theorem1.printed.constants
    heading = "plays by T=1e12, where B(θ°) is empty:\n"
    return check_each(
        ["minimum"], lambda setting: _not_refuted(material, setting, bounds, 10**12), heading
    )


def inconsistent_episodes(material: Material) -> Finding:
    """The truth is inconsistent in at most 4|A| episodes on average."""
    value = material.numbers["Σ 2 k⁻⁵"]
    return value <= 4, f"Σ 2k⁻⁵ = {value:.4f}, of 4"


def one_in_a_k(material: Material) -> Finding:
    """The best arm is in A_k only if the truth is consistent."""
    truth, other = (material.numbers[f"margin of {name}"] for name in ("θ°", "a stand-in"))
    return not (truth < 0 <= other), (
        "means .5 under the truth and .9 under a model with the same best arm, 60 rewards of 1 in "
        f"60 plays of it: radius less distance is {truth:.2f} and {other:.2f}"
    )


def k_is_free_of_t(material: Material) -> Finding:
    """K_i(θ) has a bound that is free of T."""
    total, part = material.numbers["K at α = .2"], material.numbers["K at α = .2, to 1e5"]
    text = f"at α = .2 and |A| = 4 the sum to k = 1e5 is {part:.6g}, and to infinity {total:.6g}"
    return part <= total * (1 + 1e-9) < math.inf, text


def proposition_2(material: Material) -> Finding:
    """Proposition 2: an arm in C(θ°) is played at most 2 + 4|A| + 12 ln T/β_i² times."""

    def not_refuted(setting: str) -> tuple[bool, str]:
        candidates = len(material.analyses[SETTINGS[setting].problem.name].candidate_arms)
        bounds = {
            arm: 2 + 4 * candidates + 12 * math.log(10**5) / beta**2
            for arm, beta in material.case(setting).betas.items()
        }
        return _not_refuted(material, setting, bounds, 10**5)

    heading = "plays by T=1e5, where best arms are unique, and on the paper's own problem:\n"
    return check_each(("forgotten", "grid-4"), not_refuted, heading)


def lemma_2(material: Material) -> Finding:
    """Lemma 2: k_i + K_i is at most 2E(E + 1)|A| + 4|A|α¹⁰."""
    largest = material.numbers["lemma 2: largest share of the bound"]
    least = material.numbers["lemma 2: least share of the bound"]
    return largest <= 1, (
        f"the left side is between {least:.2g} and {largest:.2g} of the right one for α = .01 … 1 "
        "and |A| = 2, 4, 16"
    )


def lemma_2_step_a(material: Material) -> Finding:
    """Lemma 2's proof: α²√k − 12 exceeds 1 from k = E + 1 on."""
    value = material.numbers["lemma 2: step (a)"]
    return value > 1, f"{value:.2g} at α = .2, k = E + 1 = 90,001"


def lemma_2_step_b(material: Material) -> Finding:
    """Lemma 2's proof: the series Σ k^(7/2)/(k − 1)⁵ over k ≥ 4 is at most 2."""
    value = material.numbers["lemma 2: step (b)"]
    return value <= 2, f"it is {value:.4f}"
