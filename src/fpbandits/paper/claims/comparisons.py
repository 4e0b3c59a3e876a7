"""Measurements that several statements share: growth, boundedness, comparisons of policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from fpbandits.errors import counted
from fpbandits.paper.claims.statement import (
    Finding,
    beyond,
    in_each,
    mean_text,
    number_text,
    titled,
)
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.limits import limits, most_of, paired
from fpbandits.paper.material import Material
from fpbandits.report.times import power_text, time_text

BOUNDED = ("two-1", "permutations", "grid-6")
LOGARITHMIC = ("two-2", "grid-4")
"""The paper's five settings, by whether B(θ°) is empty."""

DISTINCT = ("two-1", "two-2", "permutations", "grid-4")
"""Those that differ for a policy that does not use Θ."""

Fits = Callable[[Material, str, float, float], tuple[bool, str]]
"""From a setting and the limits of growth in it: whether they fit, and a remark for the report."""


def is_flat(material: Material, setting: str, policy: str = "fp-ucb") -> tuple[bool, str]:
    """Return whether regret grows by less than 1 % from T = 1e6 to 1e15, and the numbers."""
    early = material.regret(setting, policy, 10**6, "far")
    added = material.regret(setting, policy, 10**15, "far") - early
    grew = int((added > 0).sum())
    share = most_of(grew, len(added))
    text = (
        f"{early.mean():.4g} at T=1e6, and {mean_text(added)} more at T=1e15; it grew in {grew:,} "
        f"of {counted(len(added), 'run')} (at most {share:.1%} of all)"
    )
    return share <= 0.05 and limits(added)[1] <= 0.01 * float(early.mean()), text


def all_flat(material: Material, settings: Iterable[str]) -> tuple[bool, str]:
    """Return whether FP-UCB's regret is flat in all these settings, and the numbers."""
    return in_each(settings, partial(is_flat, material))


def growth(
    material: Material, setting: str, policy: str, start: int, end: int, fits: Fits
) -> tuple[bool, str]:
    """Judge what a policy loses per unit of ln t between two times, by its limits."""
    slope = material.slope(setting, policy, start, end, "far")
    fine, remark = fits(material, setting, *limits(slope))
    return fine, mean_text(slope) + remark


def within_theorem_1(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
    """Return whether growth is within Theorem 1's coefficient."""
    coefficient = material.case(setting).theorem1.corrected.log_coefficient
    return high <= coefficient, f", Theorem 1 allows {coefficient:.4g}"


def growth_in_each(
    material: Material,
    settings: Iterable[str],
    policy: str,
    start: int,
    end: int,
    fits: Fits,
    remark: str = "",
) -> tuple[bool, str]:
    """Judge a policy's growth in all these settings; ``remark`` ends the heading."""
    heading = f"growth per unit of ln t from T={time_text(start)} to {time_text(end)}{remark}:\n"
    return in_each(settings, lambda one: growth(material, one, policy, start, end, fits), heading)


def order_optimal(material: Material, settings: Sequence[str]) -> tuple[bool, str]:
    """Judge whether FP-UCB grows only where every good policy must, and there with ln T at most."""
    problems = dict.fromkeys(SETTINGS[setting].problem.name for setting in settings)
    cases = [case for problem in problems for case in material.analyses[problem].cases]
    agree = sum(
        bool(case.confusion_set) == (case.theorem2.all_arms.coefficient > 0) for case in cases
    )

    def optimal(setting: str) -> tuple[bool, str]:
        least = material.case(setting).theorem2.all_arms.coefficient
        if not least:
            flat, text = is_flat(material, setting)
            return flat, f"the lower bound is 0; FP-UCB has {text}"
        within, text = growth(material, setting, "fp-ucb", 10**6, 10**12, within_theorem_1)
        return within, f"the lower bound is {least:.4g} per unit of ln t; FP-UCB grows by {text}"

    exactly = (
        f"B(θ°) is empty exactly where the lower bound is 0 in {agree} of {len(cases)} cases\n"
    )
    fine, text = in_each(settings, optimal, exactly)
    return agree == len(cases) and fine, text


def rivals_grow(material: Material, settings: Iterable[str], *, separator: str) -> tuple[bool, str]:
    """Judge whether UCB1 and Thompson sampling lose more and more from T = 1e6 to 1e12."""

    def grows(policy: str, setting: str) -> tuple[bool, str]:
        slope = material.slope(setting, policy, 10**6, 10**12)
        return limits(slope)[0] > 0, mean_text(slope)

    heading = f"UCB1, growth per unit of ln t from T=1e6 to 1e12{separator}"
    ucb1, ucb1_text = in_each(settings, partial(grows, "ucb1"), heading)
    heading = f"Thompson sampling, likewise{separator}"
    thompson, thompson_text = in_each(settings, partial(grows, "thompson"), heading)
    return ucb1 and thompson, f"{ucb1_text}\n{thompson_text}"


def ahead_of_ucb(material: Material, settings: Sequence[str]) -> Finding:
    """Find from when on FP-UCB has less regret than UCB1 in all these settings."""

    def describe(setting: str, start: int | None) -> str:
        ours = material.regret(setting, "fp-ucb", 10**6).mean()
        theirs = material.regret(setting, "ucb1", 10**6).mean()
        crossing = material.crossing(setting, "fp-ucb", "ucb1")
        meets = f", means cross near T={time_text(crossing)}" if crossing else ""
        when = "not ahead at the end" if start is None else f"ahead from T={time_text(start)} on"
        return f"{when}{meets}; {ours:.4g} against {theirs:.4g} at T=1e6"

    return _ahead(material, settings, "ucb1", describe)


def ahead_of_thompson(material: Material, settings: Sequence[str]) -> Finding:
    """Find from when on FP-UCB has less regret than Thompson sampling in all these settings."""
    end = material.result(settings[0], "thompson", "far").horizon

    def describe(setting: str, start: int | None) -> str:
        early, late = (
            paired(
                material.regret(setting, "fp-ucb", time), material.regret(setting, "thompson", time)
            )
            for time in (10**5, end)
        )
        when = "" if start is None else f"ahead from T={time_text(start)} on; "
        text = (
            f"{when}FP-UCB's regret less Thompson sampling's is {mean_text(early)} at T=1e5 and "
            f"{mean_text(late)} at T={time_text(end)}"
        )
        if setting in BOUNDED and late.mean() > 0:
            text += (
                f"; growing on by {material.lai_robbins(setting):.3g} per unit of ln t, as it does "
                "in the long run, Thompson sampling would meet FP-UCB near "
                f"T={power_text(material.meeting(setting))}"
            )
        return text

    return _ahead(material, settings, "thompson", describe)


def _ahead(
    material: Material,
    settings: Sequence[str],
    rival: str,
    describe: Callable[[str, int | None], str],
) -> Finding:
    starts = {setting: material.ahead(setting, "fp-ucb", rival) for setting in settings}
    latest = None if None in starts.values() else max(filter(None, starts.values()))
    lines = (titled(setting, describe(setting, start)) for setting, start in starts.items())
    return beyond(latest), "\n".join(lines)


def compare_plays(
    material: Material, setting: str, bounds: Mapping[str, float], time: int
) -> list[tuple[bool, bool, str]]:
    """Compare the plays of arms up to a time with bounds on their expectation.

    For each arm: whether the limits refute the bound, whether they confirm it, and the numbers.
    """
    found = []
    for arm, bound in bounds.items():
        plays = material.plays(setting, arm, time)
        low, high = limits(plays)
        numbers = f"{arm}: {mean_text(plays)} of {number_text(bound)}"
        found.append((low > bound, high <= bound, numbers))
    return found
