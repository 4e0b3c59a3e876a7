"""What a log cannot tell, in words; and which types playing well will tell apart for free.

A policy that plays the best arm of the truth θ sees that arm alone. Another type θ′ is told apart
for free if it promises another mean there. Fitted means are never equal to the last digit, so they
count as equal where they differ by less than twice the standard error of the difference. Such a θ′
with another best arm must be told apart by playing something else, at a cost; one with the same
best arm need not be told apart at all.

That is what errors are for. A policy takes the means as they are: where a log is large enough for
all types to be found, errors are small beside the gaps between types, and a set widened by copies
that are moved by their errors keeps wrong models plausible for longer (``docs/logs.md`` has the
figures, ``benchmarks/fit.py`` measures them).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.errors import counted, listed, quote
from fpbandits.fitting.choose import MOST_TYPES

_FEW_REWARDS = 2.0
"""With fewer rewards per unit than this, types cannot be told apart."""
_FEW_ARMS = 1.2
"""If units saw fewer different arms on average, hardly any saw two, as in an A/B test."""
_RARELY = 0.4
"""An arm that more than this fraction of units never saw is named."""
_THIN = 10
"""A mean that rests on fewer rewards than this is named."""
_UNSURE = 0.6
"""If a unit's likeliest type is less probable on average, units cannot be assigned to types."""
_FEW_UNITS = 20
"""A type of fewer units than this may be noise."""
_CLEARLY = 2.0
"""Means that differ by more standard errors than this count as different."""
_ELSEWHERE = 3.0
"""If another set of types is about as likely, a mean more standard errors away is reported.

Standard errors assume that the log-likelihood is a parabola around its top. If it were one, all
means would be within √(2d) errors where it is d nats lower: within 2, as rivals are at most 2 nats
lower. The third allows for errors being estimates themselves. A mean further away belongs to
another top, or to a ridge that is no parabola, and standard errors show neither.
"""


@dataclass(frozen=True)
class Seen:
    """What a fit found, as far as doubts depend on it.

    Attributes
    ----------
    shown
        The share of units that each arm was shown to.
    plays
        How many rewards each pair and type has, [pair, type].
    means, errors
        [pair, type].
    sureness
        The posterior probability of a unit's likeliest type, averaged over units.
    pairs
        The names of the pairs.
    chosen, by_bic, perhaps
        Numbers of types: the one chosen, before types that are the same were merged; the best by
        BIC; and the one that a threshold of one standard error would choose.
    dropped
        How many rows were left out because something was missing.
    rivals
        The means of other sets of types that are about as likely, [pair, type] with types in any
        order, each with how many nats it is below the best.
    """

    types: tuple[str, ...]
    arms: tuple[str, ...]
    pairs: tuple[str, ...]
    units: int
    events: int
    shown: Floats
    plays: Floats
    shares: Floats
    means: Floats
    errors: Floats
    sureness: float
    chosen: int
    by_bic: int
    perhaps: int
    rivals: list[tuple[Floats, float]]
    dropped: int = 0


def doubts(seen: Seen) -> list[str]:
    """Return a sentence for each thing that the log cannot tell."""
    return [
        *_about_units(seen),
        *_about_arms(seen),
        *_about_types(seen),
        *_about_rivals(seen),
    ]


def _about_units(seen: Seen) -> list[str]:
    """Say whether units have too few rewards, or cannot be assigned to types."""
    said = []
    if seen.dropped:
        said.append(f"{counted(seen.dropped, 'row')} left out: something is missing")
    if len(seen.arms) > seen.units:
        said.append(
            f"there are {counted(len(seen.arms), 'arm')} for {counted(seen.units, 'unit')}: are "
            "the columns of units and arms swapped?"
        )
    different = float(seen.shown.sum())
    if len(seen.arms) > 1 and different < _FEW_ARMS:
        said.append(
            f"units saw {different:.2g} of {counted(len(seen.arms), 'arm')} on average: how one "
            "unit pays on several arms can only be learned from units that saw several"
        )
    per_unit = seen.events / seen.units
    if per_unit < _FEW_REWARDS:
        said.append(
            f"units have {per_unit:.2g} rewards on average: types cannot be told apart from so few"
        )
    if len(seen.types) > 1 and seen.sureness < _UNSURE:
        said.append(
            f"a unit's likeliest type has probability {seen.sureness:.0%} on average: single units "
            "cannot be assigned to types, only shares and means are meant"
        )
    return said


def _about_arms(seen: Seen) -> list[str]:
    """Name the arms that were rarely or never played, and means that rest on few rewards."""
    said = []
    rare = np.flatnonzero((seen.shown > 0) & (seen.shown < 1 - _RARELY))
    if len(rare) == 1:
        arm = seen.arms[rare[0]]
        said.append(
            f"arm {quote(arm)} was never shown to {1 - seen.shown[rare[0]]:.0%} of units: what "
            "they would have paid is taken from others of their type"
        )
    elif len(rare):
        worst = rare[seen.shown[rare].argmin()]
        said.append(
            f"{len(rare):,} of {counted(len(seen.arms), 'arm')} were never shown to "
            f"{_RARELY:.0%} of units or more ({quote(seen.arms[worst])} to "
            f"{1 - seen.shown[worst]:.0%}): what they would have paid is taken from others of "
            "their type"
        )
    never = [pair for pair, plays in zip(seen.pairs, seen.plays, strict=True) if plays.sum() < 0.5]
    if never:
        said.append(f"{listed(never, 4)} was never played: its means are a guess from all arms")
    thin = [
        f"{kind} on {pair}"
        for pair, by_type in zip(seen.pairs, seen.plays, strict=True)
        for kind, plays in zip(seen.types, by_type, strict=True)
        if plays < _THIN and pair not in never
    ]
    if thin:
        said.append(
            f"{counted(len(thin), 'mean')} of {seen.plays.size:,} rest on fewer than {_THIN} "
            f"rewards and lean on the arm's own: {listed(thin, 4)}"
        )
    return said


def _about_types(seen: Seen) -> list[str]:
    """Say which types may be one or noise, and whether their number is certain."""
    said = []
    if seen.chosen > len(seen.types):
        said.append(
            f"{counted(seen.chosen, 'type')} came out as {len(seen.types)}: types that are the "
            "same are one type"
        )
    for one, two in combinations(range(len(seen.types)), 2):
        gap = np.abs(seen.means[:, one] - seen.means[:, two])
        if (gap < _CLEARLY * np.hypot(seen.errors[:, one], seen.errors[:, two])).all():
            said.append(
                f"{seen.types[one]} and {seen.types[two]} differ by less than their errors: they "
                "may be one"
            )
    few = [
        kind
        for kind, share in zip(seen.types, seen.shares, strict=True)
        if share * seen.units < _FEW_UNITS
    ]
    if few:
        said.append(f"{listed(few, 4)} stands for fewer than {_FEW_UNITS} units: it may be noise")
    chosen = len(seen.types)
    if chosen == MOST_TYPES:
        said.append(f"{counted(chosen, 'type')} is the most that was tried: there may be more")
    if seen.perhaps > seen.chosen:
        said.append(
            f"there may be {counted(seen.perhaps, 'type')}: they predict better, if not clearly; "
            "rare types, and types much like others, take more units to be found"
        )
    if seen.by_bic != seen.chosen:
        said.append(
            f"BIC would take {counted(seen.by_bic, 'type')}: the number of types is not certain"
        )
    return said


def _about_rivals(seen: Seen) -> list[str]:
    """Say what differs most, where another set of types is about as likely."""
    from scipy.optimize import linear_sum_assignment

    said, furthest = [], _ELSEWHERE
    for means, nats in seen.rivals:
        # By squares: where two types pay more than two others, plain differences do not say which.
        gaps = ((seen.means[:, :, np.newaxis] - means[:, np.newaxis]) ** 2).mean(axis=0)
        more = means[:, linear_sum_assignment(gaps)[1]] - seen.means
        away = np.abs(more) / np.maximum(seen.errors, np.finfo(float).tiny)
        pair, kind = np.unravel_index(away.argmax(), away.shape)
        if away[pair, kind] > furthest:
            furthest = away[pair, kind]
            said = [
                f"another set of {counted(len(seen.types), 'type')} fits as well, to within "
                f"{abs(nats):.1f} nats: there {seen.types[kind]} pays {abs(more[pair, kind]):.2g} "
                f"{'more' if more[pair, kind] > 0 else 'less'} on {quote(seen.pairs[pair])}, "
                f"{furthest:.1f} times the error given; more units or more rewards per unit would "
                "settle it, fewer types perhaps"
            ]
    return said


@dataclass(frozen=True)
class Apart:
    """What playing the best arm of one type tells about the others.

    Attributes
    ----------
    free
        Types with another best arm that it tells apart.
    costly
        Types with another best arm that look the same while it is played.
    alike
        Types with the same best arm.
    """

    truth: str
    best: tuple[str, ...]
    free: tuple[str, ...]
    costly: tuple[str, ...]
    alike: tuple[str, ...]

    def __str__(self) -> str:
        arms = listed(self.best, 3)
        if not self.free and not self.costly:
            return f"{self.truth}: {arms} is best for every other type as well"
        words = []
        if self.free:
            everyone = len(self.free) > 1 and not self.costly and not self.alike
            whom = "all others" if everyone else listed(self.free, 6)
            words.append(f"tells {whom} apart for free")
        if self.costly:
            words.append(f"looks the same under {listed(self.costly, 6)}, which costs to find out")
        return f"{self.truth}: playing {arms} {', and '.join(words)}"


def tell_apart(
    types: tuple[str, ...], arms: tuple[str, ...], means: Floats, errors: Floats
) -> list[Apart]:
    """Return, for each type, which others its best arms tell apart for free.

    Means and errors are [pair, type]; in every context a type has a best arm.
    """
    by_context = means.reshape(-1, len(arms), len(types))
    best = by_context.argmax(axis=1)  # [context, type]
    starts = len(arms) * np.arange(len(by_context))
    found = []
    for truth, name in enumerate(types):
        played = starts + best[:, truth]
        gap = np.abs(means[played] - means[played, truth][:, np.newaxis])
        noise = np.hypot(errors[played], errors[played, truth][:, np.newaxis])
        clear = (gap > _CLEARLY * noise).any(axis=0)
        other = (best != best[:, truth][:, np.newaxis]).any(axis=0)
        names = np.array(types)
        found.append(
            Apart(
                name,
                tuple(dict.fromkeys(arms[arm] for arm in best[:, truth])),
                tuple(names[other & clear].tolist()),
                tuple(names[other & ~clear].tolist()),
                tuple(same for same in names[~other].tolist() if same != name),
            )
        )
    return found
