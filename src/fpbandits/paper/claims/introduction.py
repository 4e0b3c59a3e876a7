"""Abstract, introduction and conclusion."""

from __future__ import annotations

import math

from fpbandits.paper.claims.comparisons import (
    BOUNDED,
    LOGARITHMIC,
    ahead_of_thompson,
    ahead_of_ucb,
    all_bounded,
    keeps_growing,
    stays_put,
)
from fpbandits.paper.claims.statement import (
    EXACT,
    FAILS,
    HOLDS,
    LIMIT,
    Finding,
    decide,
    mean_text,
    power_text,
    states,
)
from fpbandits.paper.evidence import Evidence, limits, paired
from fpbandits.paper.experiments import PAPER, SETTINGS
from fpbandits.theory.analysis import Case

SECTION = "Abstract, introduction and conclusion"


@states(
    SECTION, "Abstract, introduction, conclusion: bounded, O(1), under a structural condition on Θ"
)
def bounded(evidence: Evidence) -> Finding:
    """Where B(θ°) is empty, the regret of FP-UCB is bounded."""
    return all_bounded(evidence, BOUNDED)


@states(SECTION, "Introduction, section 5: increasing, O(log T), for the standard algorithms")
def standard_grows(evidence: Evidence) -> Finding:
    """On the same problems the regret of UCB and of Thompson sampling keeps growing."""
    ucb = [keeps_growing(evidence, s, "ucb1", 10**6, 10**12) for s in BOUNDED]
    thompson = [keeps_growing(evidence, s, "thompson", 10**4, 10**5) for s in BOUNDED]
    return Finding(
        decide(all(growing for growing, _ in ucb + thompson)),
        "UCB1, growth a unit of ln t from T=1e6 to 1e12:\n"
        + "\n".join(text for _, text in ucb)
        + "\nThompson sampling, from T=1e4 to 1e5:\n"
        + "\n".join(text for _, text in thompson),
        f"holds if every lower limit is above 0 ({LIMIT})",
        10**12,
    )


@states(SECTION, "Abstract, introduction, conclusion: O(log T) where the condition fails")
def logarithmic(evidence: Evidence) -> Finding:
    """Where B(θ°) is not empty, the regret of FP-UCB is logarithmic at most."""
    parts, fine = [], []
    for setting in LOGARITHMIC:
        coefficient = evidence.case(setting).theorem1.corrected.log_coefficient
        slope = evidence.slope(setting, "fp-ucb", 10**6, 10**15)
        fine.append(limits(slope)[1] <= coefficient)
        parts.append(
            f"{SETTINGS[setting].title}: {mean_text(slope)}, Theorem 1 allows {coefficient:.4g}"
        )
    return Finding(
        decide(all(fine)),
        "growth a unit of ln t from T=1e6 to 1e15:\n" + "\n".join(parts),
        f"holds if every upper limit is within Theorem 1's coefficient ({LIMIT})",
        10**15,
    )


@states(
    SECTION,
    "Introduction: the algorithm need not know whether the condition holds, and is not re-tuned",
)
def oblivious(evidence: Evidence) -> Finding:
    """One and the same rule is bounded where it can be and logarithmic where it must be."""
    flat, flat_text = stays_put(evidence, "two-1")
    growing, text = keeps_growing(evidence, "two-2", "fp-ucb", 10**6, 10**15)
    return Finding(
        decide(flat and growing),
        f"FP-UCB without options, told Θ alone: {flat_text}\ngrowth a unit of ln t from T=1e6 to "
        f"1e15: {text}",
        f"holds if it grows by at most 1 % under θ¹ and its growth under θ² is above 0 ({LIMIT})",
        10**15,
    )


@states(SECTION, "Abstract, conclusion: superior performance in extensive simulations")
def superior_ucb(evidence: Evidence) -> Finding:
    """FP-UCB has less regret than UCB in simulation, on all five problems."""
    return ahead_of_ucb(evidence, [setting.name for setting in PAPER])


@states(
    SECTION,
    "Abstract, conclusion, section 5: superior performance, Thompson sampling among the rivals",
)
def superior_thompson(evidence: Evidence) -> Finding:
    """FP-UCB has less regret than Thompson sampling in simulation."""
    return ahead_of_thompson(evidence, [setting.name for setting in PAPER])


@states(SECTION, "Introduction: Thompson sampling gives superior numerical performance")
def thompson_beats_ucb(evidence: Evidence) -> Finding:
    """Thompson sampling does well in practice: better than UCB."""
    fine, parts, end = [], [], 10**5
    for setting in ("two-1", "two-2", "permutations", "grid-4"):
        difference = paired(
            evidence.regret(setting, "thompson", end), evidence.regret(setting, "ucb1", end)
        )
        fine.append(limits(difference)[1] < 0)
        parts.append(f"{SETTINGS[setting].title}: {mean_text(difference)}")
    return Finding(
        decide(all(fine)),
        "regret of Thompson sampling less UCB1's at T=1e5:\n" + "\n".join(parts),
        f"holds if every upper limit is below 0 ({LIMIT})",
        end,
    )


@states(
    SECTION,
    "Abstract, introduction: logarithmic, with a smaller preceding constant than standard UCB",
)
def smaller_constant(evidence: Evidence) -> Finding:
    """Where both grow with log T, FP-UCB grows more slowly than UCB on the paper's problems."""
    fine, parts = [], []
    for setting in LOGARITHMIC:
        ours = evidence.slope(setting, "fp-ucb", 10**6, 10**12)
        theirs = evidence.slope(setting, "ucb1", 10**6, 10**12)
        fine.append(limits(paired(ours, theirs))[1] < 0)
        parts.append(
            f"{SETTINGS[setting].title}: FP-UCB {mean_text(ours)}, UCB1 {mean_text(theirs)}"
        )
    return Finding(
        decide(all(fine)),
        "growth a unit of ln t from T=1e6 to 1e12:\n" + "\n".join(parts),
        f"holds if every upper limit of the difference, run by run, is below 0 ({LIMIT}); for "
        "other problems see remark-1",
        10**12,
    )


@states(SECTION, "Introduction: matches the fundamental lower bound; the best possible performance")
def matches_lower_bound(evidence: Evidence) -> Finding:
    """FP-UCB does as well as any algorithm can on the given problem."""
    coefficient = evidence.case("two-2").theorem2.coefficient
    slope = evidence.slope("two-2", "fp-ucb", 10**6, 10**15)
    upper = evidence.case("two-2").theorem1.corrected.log_coefficient
    return Finding(
        decide(limits(slope)[0] <= 1.1 * coefficient),
        f"{SETTINGS['two-2'].title}: it grows by {mean_text(slope)} a unit of ln t, "
        f"{slope.mean() / coefficient:.3g} times Theorem 2's {coefficient:.4g}; Theorem 1 "
        f"promises {upper:.4g}",
        f"fails if the lower limit of its growth from T=1e6 to 1e15 is above 1.1 times Theorem 2's "
        f"coefficient ({LIMIT})",
        10**15,
        reason="The order is right (see remark-2), the constant is not",
    )


@states(
    SECTION,
    "Conclusion: in both cases the theoretical guarantees are superior to those of standard UCB",
)
def guarantees_superior(evidence: Evidence) -> Finding:
    """What is proven of FP-UCB is better than what is proven of UCB, in both cases."""
    logs = {setting.name: _guarantee_crossing(evidence.case(setting.name)) for setting in PAPER}
    parts = [
        f"{SETTINGS[setting].title}: "
        + ("never" if math.isinf(log) else f"beyond T={power_text(log)}")
        for setting, log in logs.items()
    ]
    last = max(logs.values())
    return Finding(
        FAILS if math.isinf(last) else f"{HOLDS} beyond T={power_text(last)}",
        "Theorem 1 (corrected) is below UCB1's bound\n" + "\n".join(parts),
        f"where the two bounds meet: {EXACT}",
    )


def _guarantee_crossing(case: Case) -> float:
    """Return log10 of the time at which FP-UCB's bound falls below UCB1's; inf if never."""
    ours, theirs = case.theorem1.corrected, case.ucb1
    slower = theirs.log_coefficient - ours.log_coefficient
    if slower <= 0:
        return math.inf
    return max(0.0, ((ours.constant or 0.0) - theirs.constant) / slower / math.log(10))
