"""Measurements that several statements share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from fpbandits.errors import counted
from fpbandits.paper.claims.statement import (
    EXACT,
    LIMIT,
    Finding,
    beyond,
    in_each,
    lines_of,
    mean_text,
    number_text,
    titled,
)
from fpbandits.paper.experiments import FAR, SETTINGS, Distance
from fpbandits.paper.limits import limits, most_of, paired
from fpbandits.paper.material import Material
from fpbandits.report.times import power_text, time_text

BOUNDED = ("two-1", "permutations", "grid-6")
LOGARITHMIC = ("two-2", "grid-4")
"""The paper's five settings, by whether B(θ°) is empty."""

DISTINCT = ("two-1", "two-2", "permutations", "grid-4")
"""Those that differ for a policy that knows nothing of Θ."""

Fits = Callable[[Material, str, float, float], tuple[bool, str]]
"""From a setting and the limits of growth in it: whether they fit, and what to say of it."""


def stays_put(material: Material, setting: str, policy: str = "fp-ucb") -> tuple[bool, str]:
    """Tell whether regret stays put from T = 1e6 to 1e15: it grows by less than 1 %."""
    early = material.regret(setting, policy, 10**6, FAR)
    added = material.regret(setting, policy, 10**15, FAR) - early
    grew = int((added > 0).sum())
    text = (
        f"{early.mean():.4g} at T=1e6, and {mean_text(added)} more at T=1e15; it grew in {grew:,} "
        f"of {counted(len(added), 'run')} (at most {most_of(grew, len(added)):.1%} of all)"
    )
    few = most_of(grew, len(added)) <= 0.05
    return few and limits(added)[1] <= 0.01 * float(early.mean()), text


def all_bounded(material: Material, settings: Iterable[str]) -> Finding:
    """Tell whether FP-UCB's regret stays put in all these settings."""
    return in_each(
        settings,
        partial(stays_put, material),
        heading="",
        evidence="holds if from T=1e6 to 1e15 regret grows in at most 5 % of all runs (binomial "
        f"limit), and on average by at most 1 % ({LIMIT})",
        horizon=10**15,
    )


def growth(
    material: Material, setting: str, policy: str, start: int, end: int, fits: Fits
) -> tuple[bool, str]:
    """Judge what a policy loses per unit of ln t between two times, by its limits."""
    slope = material.slope(setting, policy, start, end, FAR)
    fine, beside = fits(material, setting, *limits(slope))
    return fine, mean_text(slope) + beside


def within_theorem_1(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
    """Tell whether growth is within Theorem 1's coefficient."""
    coefficient = material.case(setting).theorem1.corrected.log_coefficient
    return high <= coefficient, f", Theorem 1 allows {coefficient:.4g}"


def growth_in_each(
    material: Material,
    settings: Iterable[str],
    policy: str,
    start: int,
    end: int,
    fits: Fits,
    evidence: str,
    beside: str = "",
) -> Finding:
    """Judge a policy's growth in all these settings; ``beside`` says what is beside the numbers."""
    return in_each(
        settings,
        lambda setting: growth(material, setting, policy, start, end, fits),
        heading=f"growth per unit of ln t from T={time_text(start)} to {time_text(end)}{beside}:\n",
        evidence=evidence,
        horizon=end,
    )


def order_optimal(material: Material, settings: Sequence[str]) -> Finding:
    """Tell whether FP-UCB grows only where every good policy must, and there with ln T at most."""
    problems = dict.fromkeys(SETTINGS[setting].problem.name for setting in settings)
    cases = [case for problem in problems for case in material.analyses[problem].cases]
    agree = sum(
        bool(case.confusion_set) == (case.theorem2.all_arms.coefficient > 0) for case in cases
    )

    def optimal(setting: str) -> tuple[bool, str]:
        least = material.case(setting).theorem2.all_arms.coefficient
        if not least:
            flat, text = stays_put(material, setting)
            return flat, f"the lower bound is 0; FP-UCB has {text}"
        within, text = growth(material, setting, "fp-ucb", 10**6, 10**12, within_theorem_1)
        return within, f"the lower bound is {least:.4g} per unit of ln t; FP-UCB grows by {text}"

    fine, lines = lines_of(settings, optimal)
    return Finding(
        agree == len(cases) and fine,
        f"B(θ°) is empty exactly where the lower bound is 0 in {agree} of {len(cases)} cases\n"
        + lines,
        f"holds if they agree in every case ({EXACT}), and FP-UCB stays put from T=1e6 to 1e15 (as "
        "in bounded) where the lower bound is 0, and is within Theorem 1's coefficient from T=1e6 "
        f"to 1e12 where it is not ({LIMIT})",
        10**15,
    )


def rivals_grow(material: Material, settings: Iterable[str], *, separator: str) -> tuple[bool, str]:
    """Tell whether UCB1 and Thompson sampling lose more and more from T = 1e6 to 1e12."""

    def grows(policy: str, setting: str) -> tuple[bool, str]:
        slope = material.slope(setting, policy, 10**6, 10**12)
        return limits(slope)[0] > 0, mean_text(slope)

    ucb1, ucb1_lines = lines_of(settings, partial(grows, "ucb1"))
    thompson, thompson_lines = lines_of(settings, partial(grows, "thompson"))
    return ucb1 and thompson, (
        f"UCB1, growth per unit of ln t from T=1e6 to 1e12{separator}{ucb1_lines}\n"
        f"Thompson sampling, likewise{separator}{thompson_lines}"
    )


def ahead_of_ucb(material: Material, settings: Sequence[str]) -> Finding:
    """Tell from when on FP-UCB has less regret than UCB1 in all these settings."""

    def describe(setting: str, start: int | None) -> str:
        ours = material.regret(setting, "fp-ucb", 10**6).mean()
        theirs = material.regret(setting, "ucb1", 10**6).mean()
        crossing = material.crossing(setting, "fp-ucb", "ucb1")
        meets = f", means cross near T={time_text(crossing)}" if crossing else ""
        when = "not ahead at the end" if start is None else f"ahead from T={time_text(start)} on"
        return f"{when}{meets}; {ours:.4g} against {theirs:.4g} at T=1e6"

    evidence = (
        "the first recorded time from which on, to T=1e12, the upper limit of the expected "
        f"difference FP-UCB less UCB1, run by run, stays below 0 ({LIMIT} at each time)"
    )
    return _ahead(material, settings, "ucb1", describe, evidence, 10**12)


def ahead_of_thompson(material: Material, settings: Sequence[str]) -> Finding:
    """Tell from when on FP-UCB has less regret than Thompson sampling in all these settings."""
    end = material.result(settings[0], "thompson", FAR).horizon

    def describe(setting: str, start: int | None) -> str:
        near, gap = (
            paired(
                material.regret(setting, "fp-ucb", time), material.regret(setting, "thompson", time)
            )
            for time in (10**5, end)
        )
        when = "" if start is None else f"ahead from T={time_text(start)} on; "
        text = (
            f"{when}FP-UCB's regret less Thompson sampling's is {mean_text(near)} at T=1e5 and "
            f"{mean_text(gap)} at T={time_text(end)}"
        )
        if setting in BOUNDED and gap.mean() > 0:
            text += (
                f"; growing on by {material.lai_robbins(setting):.3g} per unit of ln t, as it does "
                "in the long run, Thompson sampling would meet FP-UCB near "
                f"T={power_text(material.meeting(setting))}"
            )
        return text

    evidence = (
        "holds from where on the upper limit of the expected difference, run by run, stays below "
        f"0 to T={time_text(end)} ({LIMIT} at each time); beyond it nothing is shown"
    )
    return _ahead(material, settings, "thompson", describe, evidence, end)


def _ahead(
    material: Material,
    settings: Sequence[str],
    rival: str,
    describe: Callable[[str, int | None], str],
    evidence: str,
    horizon: int,
) -> Finding:
    starts = {setting: material.ahead(setting, "fp-ucb", rival) for setting in settings}
    latest = None if None in starts.values() else max(filter(None, starts.values()))
    lines = (titled(setting, describe(setting, start)) for setting, start in starts.items())
    return Finding(beyond(latest), "\n".join(lines), evidence, horizon)


def within(
    material: Material, setting: str, bounds: Mapping[str, float], time: int, distance: Distance
) -> list[tuple[bool, bool, str]]:
    """Compare the plays of arms up to a time with bounds on their expectation.

    For each arm: whether the limits refute the bound, whether they confirm it, and the numbers.
    """
    found = []
    for arm, bound in bounds.items():
        plays = material.plays(setting, arm, time, distance)
        low, high = limits(plays)
        numbers = f"{arm}: {mean_text(plays)} of {number_text(bound)}"
        found.append((low > bound, high <= bound, numbers))
    return found
