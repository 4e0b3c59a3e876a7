"""Checks that several statements share: growth, boundedness, comparisons of policies.

Each returns whether the statement holds, or a verdict in words, and the numbers behind it as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from fpbandits.errors import counted
from fpbandits.paper.claims.statement import (
    Finding,
    beyond,
    check_each,
    mean_text,
    number_text,
    titled,
)
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.limits import largest_chance, limits, paired_difference
from fpbandits.paper.material import Material
from fpbandits.report.times import power_text, time_text

BOUNDED = ("two-1", "permutations", "grid-6")
"""The paper's settings in which B(θ°) is empty."""
LOGARITHMIC = ("two-2", "grid-4")
"""The paper's settings in which B(θ°) is not empty."""

DISTINCT = ("two-1", "two-2", "permutations", "grid-4")
"""The paper's settings but grid-6, which is permutations to a policy that does not use Θ."""

Fits = Callable[[Material, str, float, float], tuple[bool, str]]
"""Takes a setting, and the lower and upper limit of growth per unit of ln t in it. Returns whether
they fit the statement, and a remark for the report."""


def check_flat(material: Material, setting: str, policy: str = "fp-ucb") -> tuple[bool, str]:
    """Check that regret stands still from T = 1e6 to 1e15.

    It may grow in at most 5 % of all runs, and on average by at most 1 %.
    """
    early = material.regret(setting, policy, 10**6, "far")
    added = material.regret(setting, policy, 10**15, "far") - early
    grew = int((added > 0).sum())
    share = largest_chance(grew, len(added))
    text = (
        f"{early.mean():.4g} at T=1e6, and {mean_text(added)} more at T=1e15; it grew in {grew:,} "
        f"of {counted(len(added), 'run')} (at most {share:.1%} of all)"
    )
    return share <= 0.05 and limits(added)[1] <= 0.01 * float(early.mean()), text


def check_all_flat(material: Material, settings: Iterable[str]) -> tuple[bool, str]:
    """Check that FP-UCB's regret is flat in all these settings."""
    return check_each(settings, partial(check_flat, material))


def check_growth(
    material: Material, setting: str, policy: str, start: int, end: int, fits: Fits
) -> tuple[bool, str]:
    """Check how a policy's regret grows per unit of ln t between two times."""
    slope = material.slope(setting, policy, start, end, "far")
    does_fit, remark = fits(material, setting, *limits(slope))
    return does_fit, mean_text(slope) + remark


def within_theorem_1(material: Material, setting: str, low: float, high: float) -> tuple[bool, str]:
    """Return whether growth is within Theorem 1's coefficient, and a remark: a `Fits`."""
    coefficient = material.case(setting).theorem1.corrected.log_coefficient
    return high <= coefficient, f", Theorem 1 allows {coefficient:.4g}"


def check_growth_in_each(
    material: Material,
    settings: Iterable[str],
    policy: str,
    start: int,
    end: int,
    fits: Fits,
    remark: str = "",
) -> tuple[bool, str]:
    """Check a policy's growth in all these settings; ``remark`` ends the heading."""
    heading = f"growth per unit of ln t from T={time_text(start)} to {time_text(end)}{remark}:\n"

    def check(setting: str) -> tuple[bool, str]:
        return check_growth(material, setting, policy, start, end, fits)

    return check_each(settings, check, heading)


def check_order_optimal(material: Material, settings: Sequence[str]) -> tuple[bool, str]:
    """Check that FP-UCB's regret grows only where it must, and there at most with ln T.

    It must grow where the lower bound is above 0, which should be where B(θ°) is not empty.
    """
    problems = dict.fromkeys(SETTINGS[setting].problem.name for setting in settings)
    cases = [case for problem in problems for case in material.analyses[problem].cases]
    agree = sum(
        bool(case.confusion_set) == (case.theorem2.all_arms.coefficient > 0) for case in cases
    )

    def check_optimal(setting: str) -> tuple[bool, str]:
        least = material.case(setting).theorem2.all_arms.coefficient
        if not least:
            flat, text = check_flat(material, setting)
            return flat, f"the lower bound is 0; FP-UCB has {text}"
        within, text = check_growth(material, setting, "fp-ucb", 10**6, 10**12, within_theorem_1)
        return within, f"the lower bound is {least:.4g} per unit of ln t; FP-UCB grows by {text}"

    heading = (
        f"B(θ°) is empty exactly where the lower bound is 0 in {agree} of {len(cases)} cases\n"
    )
    optimal, text = check_each(settings, check_optimal, heading)
    return agree == len(cases) and optimal, text


def check_rivals_grow(
    material: Material, settings: Iterable[str], *, separator: str
) -> tuple[bool, str]:
    """Check that the regret of UCB1 and of Thompson sampling grows from T = 1e6 to 1e12."""

    def grows(policy: str, setting: str) -> tuple[bool, str]:
        slope = material.slope(setting, policy, 10**6, 10**12)
        return limits(slope)[0] > 0, mean_text(slope)

    heading = f"UCB1, growth per unit of ln t from T=1e6 to 1e12{separator}"
    ucb1, ucb1_text = check_each(settings, partial(grows, "ucb1"), heading)
    heading = f"Thompson sampling, likewise{separator}"
    thompson, thompson_text = check_each(settings, partial(grows, "thompson"), heading)
    return ucb1 and thompson, f"{ucb1_text}\n{thompson_text}"


def check_ahead_of_ucb(material: Material, settings: Sequence[str]) -> Finding:
    """Find the time from which on FP-UCB has less regret than UCB1 in all these settings."""

    def describe(setting: str, start: int | None) -> str:
        ours = material.regret(setting, "fp-ucb", 10**6).mean()
        theirs = material.regret(setting, "ucb1", 10**6).mean()
        crossing = material.crossing(setting, overtaking="fp-ucb", overtaken="ucb1")
        meets = f", means cross near T={time_text(crossing)}" if crossing else ""
        when = "not ahead at the end" if start is None else f"ahead from T={time_text(start)} on"
        return f"{when}{meets}; {ours:.4g} against {theirs:.4g} at T=1e6"

    return _check_ahead(material, settings, "ucb1", describe)


def check_ahead_of_thompson(material: Material, settings: Sequence[str]) -> Finding:
    """Find the time from which on FP-UCB has less regret than Thompson sampling in each."""
    end = material.result(settings[0], "thompson", "far").horizon

    def describe(setting: str, start: int | None) -> str:
        early, late = (
            paired_difference(
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

    return _check_ahead(material, settings, "thompson", describe)


def _check_ahead(
    material: Material,
    settings: Sequence[str],
    rival: str,
    describe: Callable[[str, int | None], str],
) -> Finding:
    """Find when FP-UCB gets ahead of a rival for good; ``describe`` writes a setting's line."""
    starts = {setting: material.ahead_from(setting, "fp-ucb", rival) for setting in settings}
    latest = None if None in starts.values() else max(filter(None, starts.values()))
    lines = (titled(setting, describe(setting, start)) for setting, start in starts.items())
    return beyond(latest), "\n".join(lines)


def compare_plays(
    material: Material, setting: str, bounds: Mapping[str, float], time: int
) -> list[tuple[bool, bool, str]]:
    """Compare the plays of arms up to a time with bounds on their expectation.

    Returns for each arm whether the limits refute its bound, whether they confirm it, and the
    numbers as text.
    """
    compared = []
    for arm, bound in bounds.items():
        plays = material.plays(setting, arm, time)
        low, high = limits(plays)
        numbers = f"{arm}: {mean_text(plays)} of {number_text(bound)}"
        compared.append((low > bound, high <= bound, numbers))
    return compared
