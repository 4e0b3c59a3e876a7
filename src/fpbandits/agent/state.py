"""An agent's state: its numbers, in memory and in JSON, and the policy it plays by.

In memory all numbers of a policy's `State` are in one array. In JSON numbers are a list, or a text
if the list has more than `LONGEST_LIST` characters and the text is shorter. The text is made of
64-bit numbers, smallest byte first: the first byte of each, then the second of each, and so on,
compressed by zlib, in base 85. So similar bytes (signs, exponents, zeros before small counts) stand
together. An agent with ten arms of Beta rewards in five contexts, whose statistics are logarithms,
takes 2 kB; in lists it would take 3.4 kB.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b85decode, b85encode
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.core.renamed import rename_old_options
from fpbandits.engine.contract import COUNTERS, NOTHING, State
from fpbandits.engine.policy import Policy
from fpbandits.engine.ready import Ready
from fpbandits.errors import ConflictError, StorageError, UnknownError, quote
from fpbandits.policies.own import code_of, find_loaded
from fpbandits.policies.parsing import check_policy, made, options_of, package_policy

SCHEMA = 2
"""The schema that is written."""

READ = (1, 2)
"""The schemas that are read."""

LONGEST_LIST = 120
"""The most characters of a list that is written whether or not a text is shorter."""

LONGEST_NUMBER = 26
"""The most characters of a number in a list, its comma and space included."""

_FLOAT64 = np.dtype(np.float64)
"""A dtype object: `view` takes it faster than the class."""

WHOLE = "q"
"""The kind of whole numbers, as `struct` calls it."""

REAL = "d"
"""The kind of real numbers, as `struct` calls it."""


def packed(state: State) -> Counts:
    """Return a state as one array: a million agents save memory with fewer array headers."""
    numbers = np.concatenate([state.sums, state.statistics.reshape(-1), state.extra])
    return np.concatenate([state.plays, state.counters, numbers.view(np.int64)])


def unpacked(array: Counts, ready: Ready) -> State:
    """Return the state that `packed` put into an array, as a view of the array.

    ``ready`` is the agent's policy, ready for its problem.
    """
    pairs, first, last = ready.pairs, ready.upto_sums, ready.upto_statistics
    numbers = array.view(_FLOAT64)
    plays, counters = array[:pairs], array[pairs : ready.upto_counters]
    sums = numbers[ready.upto_counters : first]
    statistics, extra = ready.nothing
    if last > first:
        statistics = numbers[first:last].reshape(pairs, -1)
    if ready.upto_extra > last:
        extra = numbers[last:]
    return State(plays, sums, counters, NOTHING, statistics, extra)


def to_json(numbers: list[Any]) -> list[Any] | str:
    """Return numbers, all whole or all real, as a list, or as a text if a long list is longer.

    >>> to_json([0.5, 2.0])
    [0.5, 2.0]
    >>> type(to_json([0.1] * 100))
    <class 'str'>
    """
    count = len(numbers)
    if count * LONGEST_NUMBER <= LONGEST_LIST:
        return numbers
    length = len(str(numbers)) - count + 1  # a file has no spaces between them
    if length <= LONGEST_LIST:
        return numbers
    kind = WHOLE if isinstance(numbers[0], int) else REAL
    content = struct.pack(f"<{count}{kind}", *numbers)
    byte_by_byte = np.frombuffer(content, np.uint8).reshape(count, 8).T
    text = b85encode(zlib.compress(byte_by_byte.tobytes())).decode()
    return text if len(text) < length else numbers


def from_json(written: Any, count: int, kind: str) -> Sequence[Any]:
    """Return the ``count`` numbers that `to_json` wrote, of a kind: `WHOLE` or `REAL`."""
    if not isinstance(written, str):
        if len(written) != count:
            raise ValueError("a list of numbers has another length")
        numbers: Sequence[Any] = written
        return numbers
    unpacker = zlib.decompressobj()
    # At most one byte too many is unpacked: a short text can hold gigabytes of zeros.
    try:
        content = unpacker.decompress(b85decode(written), 8 * count + 1)
    except zlib.error as error:
        raise ValueError(error) from None
    if len(content) != 8 * count or not unpacker.eof or unpacker.unused_data:
        raise ValueError(f"a text does not hold {count} numbers")
    byte_by_byte = np.frombuffer(content, np.uint8).reshape(8, count)
    return struct.unpack(f"<{count}{kind}", byte_by_byte.T.tobytes())


def numbers_to_json(array: Counts, ready: Ready) -> dict[str, Any]:
    """Return a packed state as values that JSON holds."""
    numbers = list(ready.layout.unpack(array.data))
    sums = numbers[ready.upto_counters : ready.upto_sums]
    return {
        "plays": to_json(numbers[: ready.pairs]),
        "sums": to_json(sums),
        "statistics": _beyond_sums(numbers[ready.upto_sums : ready.upto_statistics], sums),
        "beliefs": to_json(numbers[ready.upto_statistics :]),
        "counters": to_json(numbers[ready.pairs : ready.upto_counters]),
    }


def _beyond_sums(statistics: list[Any], sums: list[Any]) -> list[Any] | str | None:
    """Return the statistics as JSON holds them: None if they repeat the sums, [] if all are 0."""
    if statistics == sums:
        return None
    return to_json(statistics) if any(statistics) else []


def packed_from_json(state: Mapping[str, Any], ready: Ready) -> Counts:
    """Return the packed state that `numbers_to_json` wrote; ValueError if it did not."""
    counters, rewards = state["counters"], ready.problem.rewards
    if not isinstance(counters, str) and 3 <= len(counters) < COUNTERS:
        # Earlier versions had fewer counters.
        counters = [*counters, *([0] * (COUNTERS - len(counters)))]
    if rewards.statistics and "statistics" not in state:
        raise StorageError(
            "this agent was written by an earlier version, which kept too little of "
            f"{rewards.name} rewards: begin a new one, and let it observe the history"
        )
    plays = from_json(state["plays"], ready.pairs, WHOLE)
    sums = from_json(state["sums"], ready.pairs, REAL)
    counters = from_json(counters, ready.upto_counters - ready.pairs, WHOLE)
    statistics = _statistics_of(state, ready.upto_statistics - ready.upto_sums)
    extra = _extra_of(state, ready)
    # Python checks a few numbers faster than NumPy does.
    within = all(0 <= total <= count for total, count in zip(sums, plays, strict=True))
    if min(plays) < 0 or min(counters) < 0 or (rewards.bounded and not within):
        raise ValueError("the counts do not add up")
    if not all(map(isfinite, sums)) or not all(map(isfinite, statistics)):
        raise ValueError("the sums are not finite")
    array = np.empty(ready.upto_extra, np.int64)
    try:
        ready.layout.pack_into(array.data, 0, *plays, *counters, *sums, *statistics, *extra)
    except struct.error as error:
        raise ValueError(error) from None
    return array


def _extra_of(state: Mapping[str, Any], ready: Ready) -> Sequence[Any]:
    """Return a policy's extra numbers; before 0.9.0 `frugal` wrote one more, the last."""
    written, count = state.get("beliefs", []), ready.upto_extra - ready.upto_statistics
    try:
        return from_json(written, count, REAL)
    except ValueError:
        if ready.policy.name != "frugal":
            raise
        return from_json(written, count + 1, REAL)[:count]


def _statistics_of(state: Mapping[str, Any], count: int) -> Sequence[Any]:
    """Return the statistics that `_beyond_sums` wrote."""
    written = state.get("statistics", [])
    if written == []:
        return [0.0] * count
    return from_json(state["sums"] if written is None else written, count, REAL)


def rewards_without_statistics(state: Mapping[str, Any], seen: State, ready: Ready) -> int:
    """Return of how many rewards a state has no statistics: of all or of none.

    Earlier versions kept none for policies that do not use them.
    """
    if ready.looks_at_laws or not ready.problem.rewards.statistics or state.get("statistics"):
        return 0
    return 0 if seen.statistics.any() else int(seen.plays.sum())


def policy_of(state: Mapping[str, Any], given: Policy | None) -> Policy:
    """Return the policy that a state names: ``given``, if that is the one, or the one found."""
    word, code = str(state["policy"]), state.get("code")
    if code is None:  # one of the package's own
        word = rename_old_options(word)
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
        return package_policy(word)
    name, *options = word.split(":")
    kind = find_loaded(name, str(code))
    if kind is None:
        raise UnknownError(
            f"this agent plays by {quote(word)}, a policy of your own that is not known here, or "
            "has changed since: import it first, or give it as policy="
        )
    return made(kind, options_of(kind, options))
