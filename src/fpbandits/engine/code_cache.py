"""Machine code on disk, trusted only if it is what was written.

The key of a file of machine code includes a digest of all sources that may have gone into it.
Numba's own key covers the outermost function alone: a change to a policy's file would go unnoticed,
and the old rule would be run. The file also holds its key and a digest of the code. Damaged code
would crash the process or, worse, play on; and of two processes that write at once, one may leave
its code under the other's key.

Whatever cannot be read, or is not what was asked for, is compiled again.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.serialize import dumps

Numba = Any
"""An object of Numba's, which has no type annotations."""

PACKAGE = "fpbandits."
"""How the names of the package's own modules begin."""

NOT_OF_A_RUN = (
    "cli",
    "evaluation",
    "fitting",
    "forecast",
    "lab",
    "leaderboard",
    "paper",
    "report",
    "service",
    "sweep",
)
"""Folders of the package whose code no run depends on: they ask for runs, or show them."""


def sources(package: Path = Path(__file__).parent.parent) -> list[Path]:
    """Return every source that may decide what a run will be, or be compiled into a loop."""
    return [
        path
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] not in NOT_OF_A_RUN
    ]


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the content of files."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = digest_of(sources())
"""The digest of all sources that may decide what a run will be."""


def is_foreign(kind: Numba) -> bool:
    """Tell whether a type, or part of it, is defined outside the package."""
    named_tuple = getattr(kind, "instance_class", None)
    if named_tuple is not None and not named_tuple.__module__.startswith(PACKAGE):
        return True
    return any(map(is_foreign, getattr(kind, "types", ())))


def code_cache(function: Numba) -> Numba:
    """Return where the machine code of a function is kept: on disk, or nowhere."""
    try:
        return _Cache(function)
    except (RuntimeError, OSError):  # no folder that can be written
        return _Nowhere()


class _Cache(FunctionCache):
    """Machine code on disk, of the package's own rules.

    Machine code of rules from elsewhere is not kept: a process that lacks their module could not
    read their types back, and the key does not see what these rules call.
    """

    def __init__(self, function: Numba) -> None:
        numba_cache: Numba = super()
        numba_cache.__init__(function)
        self._cache_file: Numba = _Sealed(self._cache_file)

    def _index_key(self, sig: Numba, codegen: Numba) -> Numba:
        numba_cache: Numba = super()
        return numba_cache._index_key(sig, codegen), SOURCES

    def load_overload(self, sig: Numba, target_context: Numba) -> Numba:
        """Return the machine code for a signature; None if none is kept that can be trusted."""
        numba_cache: Numba = super()
        with suppress(Exception):  # whatever a damaged file may raise
            if not any(map(is_foreign, sig)):
                return numba_cache.load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Numba, data: Numba) -> None:
        """Write the machine code for a signature, if the disk takes it."""
        numba_cache: Numba = super()
        if any(map(is_foreign, sig)):
            return
        with suppress(OSError):  # a full disk
            try:
                numba_cache.save_overload(sig, data)
            except OSError:
                raise
            except Exception:  # a damaged index
                self._cache_file.flush()
                numba_cache.save_overload(sig, data)


class _Sealed:
    """Numba's files of one function, with a key and a digest in each file of code."""

    def __init__(self, files: IndexDataCacheFile) -> None:
        self._files: Numba = files
        self.flush = self._files.flush

    def save(self, key: Numba, data: Numba) -> None:
        """Write machine code, with its key and a digest of both."""
        packed = dumps((key, data))
        self._files.save(key, (hashlib.sha256(packed).digest(), packed))

    def load(self, key: Numba) -> Numba:
        """Return the machine code under a key; None if there is none, or it is not what it was."""
        digest, packed = self._files.load(key) or (None, b"")
        if hashlib.sha256(packed).digest() != digest:
            return None
        saved_key, data = pickle.loads(packed)
        return data if saved_key == key else None


class _Nowhere(NullCache):
    """No folder for machine code: warn before the first wait for the compiler, once per process."""

    has_warned = False

    def load_overload(self, sig: Numba, target_context: Numba) -> None:
        """Return None, for nothing is kept; and warn, if that was not done yet."""
        if not _Nowhere.has_warned and not any(map(is_foreign, sig)):
            _Nowhere.has_warned = True
            warnings.warn(
                "policies are compiled again in every process, for seconds, since neither the "
                "package's folder nor the home directory can be written: set NUMBA_CACHE_DIR to a "
                "folder that can, and the machine code is kept there",
                stacklevel=2,
            )
