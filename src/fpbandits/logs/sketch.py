"""Sketches of sets of units: enough to tell whether two logs share units, of constant size.

The sketch of a set of names is its `MOST` smallest hashes (a bottom-k sketch). Names of another set
with hashes up to the largest of these are a random sample of that set, and of each of them it is
known whether it is in the first set. Sets of fewer names are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

MOST = 256
DIGITS = 12
"""Hexadecimal digits of a hash: of 10⁶ names hardly two have the same."""


def _hash(name: str) -> str:
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGITS]


def sketch(names: Iterable[str]) -> tuple[str, ...]:
    """Return the smallest hashes of different names, sorted."""
    return tuple(sorted(map(_hash, names))[:MOST])


def share_within(names: Sequence[str], other: Sequence[str]) -> float:
    """Return about which share of the names is in the set that ``other`` is the sketch of."""
    known = set(other)
    hashes = list(map(_hash, names))
    if len(other) >= MOST:
        hashes = [each for each in hashes if each <= other[-1]]
    return sum(each in known for each in hashes) / max(1, len(hashes))
