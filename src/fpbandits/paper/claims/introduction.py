"""Abstract, introduction and conclusion."""

from __future__ import annotations

import math
from dataclasses import replace

from fpbandits.paper.claims.comparisons import (
    BOUNDED,
    DISTINCT,
    LOGARITHMIC,
    ahead_of_thompson,
    ahead_of_ucb,
    all_bounded,
    growth,
    growth_in_each,
    rivals_grow,
    stays_put,
    within_theorem_1,
)
from fpbandits.paper.claims.statement import (
    EXACT,
    FAILS,
    HOLDS,
    LIMIT,
    Finding,
    in_each,
    mean_text,
    states,
    titled,
)
from fpbandits.paper.experiments import PAPER, SETTINGS
from fpbandits.paper.limits import limits, paired
from fpbandits.paper.material import Material
from fpbandits.report.times import power_text

SECTION = "Abstract, introduction and conclusion"


@states(SECTION, "Achieves a bounded regret under some structural condition on the model set")
def bounded(material: Material) -> Finding:
    """Where B(θ°) is empty, the regret of FP-UCB is bounded."""
    return all_bounded(material, BOUNDED)


@states(SECTION, "In sharp contrast to the increasing regret of the standard algorithms")
def standard_grows(material: Material) -> Finding:
    """On the same problems the regret of UCB and of Thompson sampling keeps growing."""
    growing, text = rivals_grow(material, BOUNDED, separator=":\n")
    return Finding(growing, text, f"holds if every lower limit is above 0 ({LIMIT})", 10**12)


@states(SECTION, "If the condition is not satisfied, the algorithm achieves a logarithmic regret")
def logarithmic(material: Material) -> Finding:
    """Where B(θ°) is not empty, the regret of FP-UCB is logarithmic at most."""
    evidence = f"holds if every upper limit is within Theorem 1's coefficient ({LIMIT})"
    return growth_in_each(
        material, LOGARITHMIC, "fp-ucb", 10**6, 10**15, within_theorem_1, evidence
    )


@states(SECTION, "Is oblivious to whether the condition is satisfied; no re-tuning")
def oblivious(material: Material) -> Finding:
    """One and the same rule is bounded where B(θ°) is empty, and logarithmic where it is not."""
    flat, flat_text = stays_put(material, "two-1")
    within, text = growth(material, "two-2", "fp-ucb", 10**6, 10**15, within_theorem_1)
    growing = limits(material.slope("two-2", "fp-ucb", 10**6, 10**15))[0] > 0
    return Finding(
        flat and growing and within,
        f"FP-UCB without options, told Θ alone, for\n{titled('two-1', flat_text)}\n"
        f"{titled('two-2', text)} (growth per unit of ln t)",
        "holds if regret stays put under θ¹ (as in bounded), and grows under θ², within Theorem "
        f"1's coefficient, from T=1e6 to 1e15 ({LIMIT})",
        10**15,
    )


@states(SECTION, "Superior performance, validated through extensive simulations")
def superior_ucb(material: Material) -> Finding:
    """FP-UCB has less regret than UCB in simulation, on all five problems."""
    return ahead_of_ucb(material, [setting.name for setting in PAPER])


@states(
    SECTION,
    "Shows superior numerical performance, after figures that compare it with UCB and with "
    "Thompson sampling; which of them is meant is not said",
)
def superior_thompson(material: Material) -> Finding:
    """If Thompson sampling is meant too: FP-UCB has less regret than it in simulation."""
    found = ahead_of_thompson(material, [setting.name for setting in PAPER])
    return replace(
        found,
        reason="All that the paper says of Thompson sampling itself is that its regret increases "
        "where FP-UCB's is bounded. That is so: see permutations-contrast",
    )


@states(SECTION, "Thompson sampling gives superior numerical performance")
def thompson_beats_ucb(material: Material) -> Finding:
    """Thompson sampling does well in practice: better than UCB."""
    end = 10**5

    def less(setting: str) -> tuple[bool, str]:
        ours = material.regret(setting, "thompson", end)
        difference = paired(ours, material.regret(setting, "ucb1", end))
        return limits(difference)[1] < 0, mean_text(difference)

    return in_each(
        DISTINCT,
        less,
        heading="regret of Thompson sampling less UCB1's at T=1e5:\n",
        evidence=f"holds if every upper limit is below 0 ({LIMIT})",
        horizon=end,
    )


@states(SECTION, "Logarithmic, but with a smaller preceding constant than the standard UCB")
def smaller_constant(material: Material) -> Finding:
    """Where both grow with log T, FP-UCB grows more slowly than UCB on the paper's problems."""

    def slower(setting: str) -> tuple[bool, str]:
        ours, theirs = (
            material.slope(setting, policy, 10**6, 10**12) for policy in ("fp-ucb", "ucb1")
        )
        text = f"FP-UCB {mean_text(ours)}, UCB1 {mean_text(theirs)}"
        return limits(paired(ours, theirs))[1] < 0, text

    return in_each(
        LOGARITHMIC,
        slower,
        heading="growth per unit of ln t from T=1e6 to 1e12 (not yet the final one among 256 "
        "models: see grid-4-increasing):\n",
        evidence=f"holds if every upper limit of the difference, run by run, is below 0 ({LIMIT}); "
        "for other problems see remark-1",
        horizon=10**12,
    )


@states(SECTION, "Matches the fundamental lower bound; achieves the best possible performance")
def matches_lower_bound(material: Material) -> Finding:
    """FP-UCB does as well as any algorithm can on the given problem."""
    coefficient = material.case("two-2").theorem2.coefficient
    slope = material.slope("two-2", "fp-ucb", 10**6, 10**15)
    upper = material.case("two-2").theorem1.corrected.log_coefficient
    return Finding(
        limits(slope)[1] <= 1.1 * coefficient,
        f"{SETTINGS['two-2'].title}: it grows by {mean_text(slope)} per unit of ln t, "
        f"{slope.mean() / coefficient:.3g} times Theorem 2's {coefficient:.4g}; Theorem 1 "
        f"promises {upper:.4g}",
        "holds if the upper limit of its growth from T=1e6 to 1e15 is within 1.1 times Theorem 2's "
        f"coefficient ({LIMIT})",
        10**15,
        reason="Here the order is right (not everywhere: see remark-2), the constant is not",
    )


@states(SECTION, "In both cases the theoretical guarantees are superior to standard UCB's")
def guarantees_superior(material: Material) -> Finding:
    """On the paper's problems, what is proven of FP-UCB is better than what is proven of UCB."""
    logs = {setting.name: _guarantee_crossing(material, setting.name) for setting in PAPER}
    parts = [
        titled(setting, "never" if math.isinf(log) else f"beyond T={power_text(log)}")
        for setting, log in logs.items()
    ]
    last = max(logs.values())
    return Finding(
        FAILS if math.isinf(last) else f"{HOLDS} beyond T={power_text(last)}",
        "Theorem 1 (corrected) is below UCB1's bound:\n" + "\n".join(parts),
        f"where the two bounds meet; {EXACT}",
        reason="Theorem 1's constant is large. On other problems its coefficient can be the larger "
        "one too, and then the answer is never: see remark-1",
    )


def _guarantee_crossing(material: Material, setting: str) -> float:
    """Return log10 of the time at which FP-UCB's bound falls below UCB1's; inf if never."""
    case = material.case(setting)
    slower = case.ucb1.log_coefficient - case.theorem1.corrected.log_coefficient
    if slower <= 0:
        return math.inf
    behind = material.constant(setting, "corrected") - case.ucb1.constant
    return max(0.0, behind / slower / math.log(10))
