"""Sketches of sets of units, of constant size: they tell whether two logs share units.

The sketch of a set of names is its `MOST` smallest hashes (a bottom-k sketch). Names of another set
whose hashes are at most the largest of these are a random sample of that set, and the sketch tells
of each of them whether it is in the first set. Sets of fewer names are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

MOST = 256
"""Hashes in a sketch."""

DIGITS = 12
"""Hexadecimal digits of a hash: among 10⁶ names hardly two have the same."""


def _hash(name: str) -> str:
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGITS]


def sketch(names: Iterable[str]) -> tuple[str, ...]:
    """Return the `MOST` smallest hashes of distinct names, sorted."""
    return tuple(sorted(map(_hash, names))[:MOST])


def share_within(names: Sequence[str], other: Sequence[str]) -> float | None:
    """Estimate the share of the names that are in the set of which ``other`` is the sketch.

    None: the sketch tells of none of the names whether it is in the set.
    """
    known = set(other)
    hashes = list(map(_hash, names))
    if len(other) >= MOST:
        hashes = [value for value in hashes if value <= other[-1]]
    return sum(value in known for value in hashes) / len(hashes) if hashes else None
