"""An agent's state: its numbers, in memory and as JSON holds them, and the policy it plays by.

In memory all numbers of a tally stand in one array. In JSON a few numbers stand in a list. Where a
text is shorter than a list of more than `LONGEST_LIST` characters, there is a text instead. It is
made of 64-bit numbers, smallest byte first: the first byte of each, then the second of each, and so
on, compressed by zlib, in base 85. Bytes that are alike (signs, exponents, zeros before small
counts) so stand together. Ten arms in five contexts fit into 2 kB: of Beta rewards, whose
statistics are logarithms, they would take 3.4 kB in lists.
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from fpbandits.arrays import Counts, Floats
from fpbandits.errors import ConflictError, StorageError, UnknownError, quote
from fpbandits.families import RewardFamily
from fpbandits.policies import parse_policy
from fpbandits.policies.base import COUNTERS, Policy, Tally, check_policy
from fpbandits.policies.own import code_of, find_loaded
from fpbandits.policies.parsing import made, options_of
from fpbandits.policies.ready import Ready

SCHEMA = 2
READ = (1, 2)
"""The schema that is written, and those that are read."""

LONGEST_LIST = 120
LONGEST_NUMBER = 26
"""Characters of a number in a list, at the most, its comma and space included."""

_NOTHING_PENDING = np.zeros(0)
"""Live, nothing leaps."""


def packed(tally: Tally) -> Counts:
    """Put a tally into one array: for a million agents, two headers less are worth having."""
    numbers = np.concatenate([tally.sums, tally.statistics.reshape(-1), tally.beliefs])
    return np.concatenate([tally.plays, tally.counters, numbers.view(np.int64)])


def unpacked(array: Counts, own: Ready) -> Tally:
    """Return the tally that `packed` put into an array, as a view: who writes to it writes there.

    ``own`` is the policy and the problem that it is the tally of.
    """
    pairs, last, size = own.pairs, own.upto_statistics, own.upto_beliefs
    plays, counters = array[:pairs], array[pairs:-size]
    numbers = array[-size:].view(np.float64)
    if size == pairs:
        return Tally(plays, numbers, counters, _NOTHING_PENDING, *own.nothing)
    statistics = numbers[pairs:last].reshape(pairs, -1) if last > pairs else own.nothing[0]
    return Tally(plays, numbers[:pairs], counters, _NOTHING_PENDING, statistics, numbers[last:])


def to_json(numbers: Floats | Counts) -> list[Any] | str:
    """Return numbers as a list, or as a text where that is shorter than a long list.

    >>> to_json(np.array([0.5, 2.0]))
    [0.5, 2.0]
    >>> type(to_json(np.full(100, 0.1)))
    <class 'str'>
    """
    listed: list[Any] = numbers.tolist()
    if len(listed) * LONGEST_NUMBER <= LONGEST_LIST:
        return listed
    length = len(str(listed)) - len(listed) + 1  # a file has no spaces between them
    if length <= LONGEST_LIST:
        return listed
    little_endian = numbers.astype(numbers.dtype.newbyteorder("<"))
    by_place = little_endian.view(np.uint8).reshape(-1, 8).T
    text = b85encode(zlib.compress(by_place.tobytes())).decode()
    return text if len(text) < length else listed


def from_json(kept: Any, count: int, kind: type[np.float64] | type[np.int64]) -> Any:
    """Return what `to_json` was given; ``count`` numbers if they stand in a text."""
    if not isinstance(kept, str):
        return np.array(kept, kind)
    unpacker = zlib.decompressobj()
    # One byte more than there should be, and no more: a short text can hold gigabytes of zeros.
    try:
        content = unpacker.decompress(b85decode(kept), 8 * count + 1)
    except zlib.error as error:
        raise ValueError(error) from None
    if len(content) != 8 * count or not unpacker.eof or unpacker.unused_data:
        raise ValueError(f"a text does not hold {count} numbers")
    by_place = np.frombuffer(content, np.uint8).reshape(8, count)
    little_endian = np.ascontiguousarray(by_place.T).view(np.dtype(kind).newbyteorder("<"))
    return little_endian.reshape(-1).astype(kind)


def tally_state(tally: Tally) -> dict[str, Any]:
    """Return a tally as values that JSON holds."""
    return {
        "plays": to_json(tally.plays),
        "sums": to_json(tally.sums),
        "statistics": _beyond_sums(tally),
        "beliefs": to_json(tally.beliefs),
        "counters": to_json(tally.counters),
    }


def _beyond_sums(tally: Tally) -> list[Any] | str | None:
    """Return the statistics as a state holds them: none where they only repeat the sums."""
    statistics = tally.statistics.reshape(-1)
    if statistics.size == 0:
        return []
    if statistics.tolist() == tally.sums.tolist():
        return None
    return to_json(statistics) if statistics.any() else []


def tally_of(state: Mapping[str, Any], empty: Tally, rewards: RewardFamily) -> Tally:
    """Return what `tally_state` made part of a state; ValueError if there can be no such tally.

    ``empty`` is the tally of an agent that has seen nothing, ``rewards`` what it may see.
    """
    counters = state["counters"]
    if not isinstance(counters, str) and 3 <= len(counters) < COUNTERS:
        # Written before the last ones were there.
        counters = [*counters, *([0] * (COUNTERS - len(counters)))]
    pairs = len(empty.plays)
    tally = Tally(
        from_json(state["plays"], pairs, np.int64),
        from_json(state["sums"], pairs, np.float64),
        from_json(counters, len(empty.counters), np.int64),
        _NOTHING_PENDING,
        _statistics_of(state, empty),
        from_json(state.get("beliefs", []), len(empty.beliefs), np.float64),
    )
    if rewards.statistics and "statistics" not in state:
        raise StorageError(
            "this agent was written by an earlier version, which kept too little of "
            f"{rewards.name} rewards: begin a new one, and let it observe the history"
        )
    if [part.shape for part in tally] != [part.shape for part in empty]:
        raise ValueError("the tally has another shape")
    within = (tally.sums >= 0) & (tally.sums <= tally.plays)
    negative = min(tally.plays.min(), tally.counters.min()) < 0
    if negative or (rewards.bounded and not within.all()):
        raise ValueError("the tally does not add up")
    if not (np.isfinite(tally.sums).all() and np.isfinite(tally.statistics).all()):
        raise ValueError("the tally is not finite")
    return tally


def _statistics_of(state: Mapping[str, Any], empty: Tally) -> Floats:
    """Return what `_beyond_sums` made part of a state."""
    kept = state.get("statistics", [])
    if kept is None:
        kept = state["sums"]
    numbers: Floats = from_json(kept, empty.statistics.size, np.float64)
    return numbers.reshape(empty.statistics.shape) if numbers.size else empty.statistics


def policy_of(state: Mapping[str, Any], given: Policy | None) -> Policy:
    """Return the policy that a state was made by."""
    word, code = str(state["policy"]), state.get("code")
    if given is not None:
        check_policy(given)
        if str(given) != word:
            raise ConflictError(f"this agent plays by {quote(word)}, not by {quote(str(given))}")
        if code_of(given) != code:
            raise ConflictError(
                f"this agent plays by {quote(word)}, and its rule has changed since"
            )
        return given
    if code is None:
        return parse_policy(word)
    name, *options = word.split(":")
    kind = find_loaded(name, str(code))
    if kind is None:
        raise UnknownError(
            f"this agent plays by {quote(word)}, a policy of your own that is not known here, or "
            "has changed since: import it first, or give it as policy="
        )
    return made(kind, options_of(kind, options))
