"""Abstract, introduction and conclusion."""

from __future__ import annotations

import math

from fpbandits.paper.claims import comparisons
from fpbandits.paper.claims.comparisons import BOUNDED, DISTINCT, LOGARITHMIC, within_theorem_1
from fpbandits.paper.claims.statement import FAILS, HOLDS, Finding, check_each, mean_text, titled
from fpbandits.paper.experiments import PAPER
from fpbandits.paper.limits import limits, paired_difference
from fpbandits.paper.material import Material
from fpbandits.report.times import power_text

_ALL_FIVE = [setting.name for setting in PAPER]


def bounded(material: Material) -> Finding:
    """Where B(θ°) is empty, the regret of FP-UCB is bounded."""
    return comparisons.check_all_flat(material, BOUNDED)


def standard_grows(material: Material) -> Finding:
    """On the same problems the regret of UCB and of Thompson sampling keeps growing."""
    return comparisons.check_rivals_grow(material, BOUNDED, separator=":\n")


def logarithmic(material: Material) -> Finding:
    """Where B(θ°) is not empty, the regret of FP-UCB is logarithmic at most."""
    return comparisons.check_growth_in_each(
        material, LOGARITHMIC, "fp-ucb", 10**6, 10**15, within_theorem_1
    )


def oblivious(material: Material) -> Finding:
    """One and the same rule is bounded where B(θ°) is empty, and logarithmic where it is not."""
    flat, flat_text = comparisons.check_flat(material, "two-1")
    within, text = comparisons.check_growth(
        material, "two-2", "fp-ucb", 10**6, 10**15, within_theorem_1
    )
    growing = limits(material.slope("two-2", "fp-ucb", 10**6, 10**15))[0] > 0
    return flat and growing and within, (
        f"FP-UCB without options, told Θ alone, for\n{titled('two-1', flat_text)}\n"
        f"{titled('two-2', text)} (growth per unit of ln t)"
    )


def superior_ucb(material: Material) -> Finding:
    """FP-UCB has less regret than UCB in simulation, on all five problems."""
    return comparisons.check_ahead_of_ucb(material, _ALL_FIVE)


def superior_thompson(material: Material) -> Finding:
    """If Thompson sampling is meant too: FP-UCB has less regret than it in simulation."""
    return comparisons.check_ahead_of_thompson(material, _ALL_FIVE)


def thompson_beats_ucb(material: Material) -> Finding:
    """Thompson sampling does well in practice: better than UCB."""

    def has_less_regret(setting: str) -> tuple[bool, str]:
        ours = material.regret(setting, "thompson", 10**5)
        difference = paired_difference(ours, material.regret(setting, "ucb1", 10**5))
        return limits(difference)[1] < 0, mean_text(difference)

    heading = "regret of Thompson sampling less UCB1's at T=1e5:\n"
    return check_each(DISTINCT, has_less_regret, heading)


def smaller_constant(material: Material) -> Finding:
    """Where both grow with log T, FP-UCB grows more slowly than UCB on the paper's problems."""

    def grows_more_slowly(setting: str) -> tuple[bool, str]:
        ours, theirs = (
            material.slope(setting, policy, 10**6, 10**12) for policy in ("fp-ucb", "ucb1")
        )
        text = f"FP-UCB {mean_text(ours)}, UCB1 {mean_text(theirs)}"
        return limits(paired_difference(ours, theirs))[1] < 0, text

    heading = (
        "growth per unit of ln t from T=1e6 to 1e12 (not yet the final one among 256 models: see "
        "grid-4-increasing):\n"
    )
    return check_each(LOGARITHMIC, grows_more_slowly, heading)


def matches_lower_bound(material: Material) -> Finding:
    """FP-UCB does as well as any algorithm can on the given problem."""
    coefficient = material.case("two-2").theorem2.coefficient
    slope = material.slope("two-2", "fp-ucb", 10**6, 10**15)
    upper = material.case("two-2").theorem1.corrected.log_coefficient
    text = (
        f"it grows by {mean_text(slope)} per unit of ln t, {slope.mean() / coefficient:.3g} times "
        f"Theorem 2's {coefficient:.4g}; Theorem 1 promises {upper:.4g}"
    )
    return limits(slope)[1] <= 1.1 * coefficient, titled("two-2", text)


def guarantees_superior(material: Material) -> Finding:
    """On the paper's problems, what is proven of FP-UCB is better than what is proven of UCB."""
    logs = {setting: _guarantee_crossing(material, setting) for setting in _ALL_FIVE}
    lines = [
        titled(setting, "never" if math.isinf(log) else f"beyond T={power_text(log)}")
        for setting, log in logs.items()
    ]
    last = max(logs.values())
    verdict = FAILS if math.isinf(last) else f"{HOLDS} beyond T={power_text(last)}"
    return verdict, "\n".join(["Theorem 1 (corrected) is below UCB1's bound:", *lines])


def _guarantee_crossing(material: Material, setting: str) -> float:
    """Return log10 of the time at which FP-UCB's bound falls below UCB1's; inf if never."""
    case = material.case(setting)
    coefficients = case.ucb1.log_coefficient - case.theorem1.corrected.log_coefficient
    if coefficients <= 0:
        return math.inf
    constants = material.constant(setting, "corrected") - case.ucb1.constant
    return max(0.0, constants / coefficients / math.log(10))  # where the two bounds are equal
