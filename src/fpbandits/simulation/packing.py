"""Batches as bytes, for workers in other processes.

A problem may be large, and there are many batches: it is packed once here and unpacked once by each
worker. A large one is sent only after a worker has answered that it lacks it. A user's own policy
is sent with its code, since workers may not have the file.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from typing import Any

from fpbandits.core.extras import needed_for
from fpbandits.errors import InputError
from fpbandits.policies.own import sent_by_value
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import Cell

with needed_for("an executor of other processes", "dask"):
    import cloudpickle

_LARGE = 2**17
"""Bytes of a packed problem from which on it is sent only if a worker lacks it."""

_MOST_KNOWN = 64
"""How many problems a process remembers."""


class AbsentError(Exception):
    """A problem was neither sent nor known from before."""


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Packs cells, and in place of each problem a key."""

    problems: dict[str, Problem]

    def persistent_id(self, value: object) -> str | None:
        if not isinstance(value, Problem):
            return None
        # The shares of contexts are no part of a fingerprint, but runs depend on them.
        key = f"{value.fingerprint} {value.shares}"
        self.problems[key] = value
        return key


class _Unpickler(pickle.Unpickler):
    """Unpacks cells; their problems are those that were sent, or known from before."""

    problems: Mapping[str, bytes]

    def persistent_load(self, key: str) -> Problem:
        with _one_at_a_time:
            if key not in _problems_here:
                if key not in self.problems:
                    raise AbsentError
                while len(_problems_here) >= _MOST_KNOWN:
                    del _problems_here[next(iter(_problems_here))]
                _problems_here[key] = pickle.loads(self.problems[key])
            return _problems_here[key]


_problems_here: dict[str, Problem] = {}
"""The problems that this process has unpacked, by key."""
_one_at_a_time = Lock()


@lru_cache(maxsize=_MOST_KNOWN)
def _pack_problem(problem: Problem, key: str) -> bytes:
    """Return a problem as bytes; ``key`` tells apart problems that are equal."""
    return pickle.dumps(problem)


def pack_batch(
    cells: Mapping[int, Cell], ranges: object, with_large_problems: bool
) -> tuple[bytes, Mapping[str, bytes]]:
    """Return a batch as bytes, and its problems by key: large ones only if asked."""
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.problems = {}
    with sent_by_value(cell.policy for cell in cells.values()):
        pickler.dump((cells, ranges))
    problems = {key: _pack_problem(problem, key) for key, problem in pickler.problems.items()}
    sent = {
        key: packed
        for key, packed in problems.items()
        if with_large_problems or len(packed) <= _LARGE
    }
    return stream.getvalue(), sent


def unpack_batch(packed: bytes, problems: Mapping[str, bytes]) -> Any:
    """Return the cells and the ranges of runs that were packed."""
    unpickler = _Unpickler(io.BytesIO(packed))
    unpickler.problems = problems
    try:
        return unpickler.load()
    except (AttributeError, ImportError) as error:
        raise InputError(
            f"a worker cannot load the policy ({error}): all that it uses must be importable there"
        ) from None
