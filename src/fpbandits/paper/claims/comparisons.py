"""Measurements that several statements share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from scipy.special import rel_entr

from fpbandits.errors import counted
from fpbandits.paper.claims.statement import (
    LIMIT,
    Finding,
    beyond,
    decide,
    mean_text,
    power_text,
    time_text,
)
from fpbandits.paper.evidence import Evidence, limits, most_of, paired
from fpbandits.paper.experiments import FAR, SETTINGS

BOUNDED = ("two-1", "permutations", "grid-6")
LOGARITHMIC = ("two-2", "grid-4")
"""The paper's five settings, by whether B(θ°) is empty."""


def stays_put(evidence: Evidence, setting: str) -> tuple[bool, str]:
    """Tell whether regret stays put from T = 1e6 to 1e15: it grows by less than 1 %."""
    early = evidence.regret(setting, "fp-ucb", 10**6, FAR)
    growth = evidence.regret(setting, "fp-ucb", 10**15, FAR) - early
    grew = int((growth > 0).sum())
    text = (
        f"{SETTINGS[setting].title}: {early.mean():.4g} at T=1e6, growth to T=1e15 "
        f"{mean_text(growth)}; it grew in {grew} of {counted(len(growth), 'run')} (at most "
        f"{most_of(grew, len(growth)):.1%} of all)"
    )
    few = most_of(grew, len(growth)) <= 0.05
    return few and limits(growth)[1] <= 0.01 * float(early.mean()), text


def all_bounded(evidence: Evidence, settings: Iterable[str]) -> Finding:
    """Tell whether FP-UCB's regret stays put in all these settings."""
    found = [stays_put(evidence, setting) for setting in settings]
    return Finding(
        decide(all(flat for flat, _ in found)),
        "\n".join(text for _, text in found),
        "holds if from T=1e6 to 1e15 regret grows in at most 5 % of all runs (binomial limit), and "
        f"on average by at most 1 % ({LIMIT})",
        10**15,
    )


def keeps_growing(
    evidence: Evidence, setting: str, policy: str, start: int, end: int
) -> tuple[bool, str]:
    """Tell whether a policy's regret grows between two times."""
    slope = evidence.slope(setting, policy, start, end)
    return limits(slope)[0] > 0, f"{SETTINGS[setting].title}: {mean_text(slope)}"


def ahead_of_ucb(evidence: Evidence, settings: Iterable[str]) -> Finding:
    """Tell from when on FP-UCB has less regret than UCB1 in all these settings."""
    starts, parts = [], []
    for setting in settings:
        start = evidence.ahead(setting, "fp-ucb", "ucb1")
        starts.append(start)
        ours = evidence.regret(setting, "fp-ucb", 10**6).mean()
        theirs = evidence.regret(setting, "ucb1", 10**6).mean()
        crossing = evidence.crossing(setting, "fp-ucb", "ucb1")
        meets = f", means cross near T={time_text(crossing)}" if crossing else ""
        when = "not ahead at the end" if start is None else f"ahead from T={time_text(start)} on"
        parts.append(
            f"{SETTINGS[setting].title}: {when}{meets}; {ours:.4g} against {theirs:.4g} at T=1e6"
        )
    return Finding(
        beyond(_latest(starts)),
        "\n".join(parts),
        "the first recorded time from which on, to T=1e12, the upper limit of the expected "
        f"difference FP-UCB less UCB1, run by run, stays below 0 ({LIMIT} at each time)",
        10**12,
    )


def ahead_of_thompson(evidence: Evidence, settings: Iterable[str]) -> Finding:
    """Tell from when on FP-UCB has less regret than Thompson sampling in all these settings."""
    starts, parts, end = [], [], 0
    for setting in settings:
        end = evidence.result(setting, "thompson", FAR).horizon
        starts.append(evidence.ahead(setting, "fp-ucb", "thompson"))
        gap = paired(
            evidence.regret(setting, "fp-ucb", end), evidence.regret(setting, "thompson", end)
        )
        near = paired(
            evidence.regret(setting, "fp-ucb", 10**5), evidence.regret(setting, "thompson", 10**5)
        )
        when = "" if starts[-1] is None else f"ahead from T={time_text(starts[-1])} on; "
        text = (
            f"{SETTINGS[setting].title}: {when}FP-UCB's regret less Thompson sampling's is "
            f"{mean_text(near)} at T=1e5 and {mean_text(gap)} at T={time_text(end)}"
        )
        if setting in BOUNDED and gap.mean() > 0:
            slope = lai_robbins(setting)
            meeting = math.log10(end) + float(gap.mean()) / slope / math.log(10)
            text += (
                f"; growing on by {slope:.3g} a unit of ln t, as it does in the long run, Thompson "
                f"sampling would meet FP-UCB near T={power_text(meeting)}"
            )
        parts.append(text)
    return Finding(
        beyond(_latest(starts)),
        "\n".join(parts),
        "holds from where on the upper limit of the expected difference, run by run, stays below "
        f"0 to T={time_text(end)} ({LIMIT} at each time); beyond it nothing is shown",
        end,
    )


def _latest(starts: list[int | None]) -> int | None:
    known = [start for start in starts if start is not None]
    return max(known) if len(known) == len(starts) else None


def lai_robbins(setting: str) -> float:
    """Return Σ Δ_i/kl(μ_i, μ*): how Thompson sampling, knowing nothing of Θ, grows with ln t."""
    chosen = SETTINGS[setting]
    means = chosen.problem.means[chosen.problem.index(chosen.true)]
    best = means.max()
    others = means[means < best]
    divergence = rel_entr(others, best) + rel_entr(1 - others, 1 - best)
    return float(((best - others) / divergence).sum())


def within(
    evidence: Evidence, setting: str, bounds: Mapping[str, float], time: int, reach: str
) -> list[tuple[bool, bool, str]]:
    """Compare the plays of arms up to a time with bounds on their expectation.

    For each arm: whether the limits refute the bound, whether they confirm it, and figures.
    """
    found = []
    for arm, bound in bounds.items():
        plays = evidence.plays(setting, arm, time, reach)
        low, high = limits(plays)
        found.append((low > bound, high <= bound, f"{arm}: {mean_text(plays)} of {bound:,.6g}"))
    return found


def logarithmic_growth(
    evidence: Evidence, setting: str, start: int, end: int
) -> tuple[bool, bool, str]:
    """Tell whether FP-UCB's regret grows, whether within Theorem 1's coefficient, and figures."""
    coefficient = evidence.case(setting).theorem1.corrected.log_coefficient
    slope = evidence.slope(setting, "fp-ucb", start, end, FAR)
    low, high = limits(slope)
    text = f"{SETTINGS[setting].title}: {mean_text(slope)}, Theorem 1 allows {coefficient:.4g}"
    return low > 0, high <= coefficient, text
