"""Machine code on disk: kept where there is room, trusted only if it is what was written.

A file of machine code is known by the text of all that may have gone into it: Numba's own key is
the text of the outermost function, so that a change to a policy's file would go unnoticed and the
old rule be run. It also holds its key and a digest. Damaged code would crash the process or, worse,
play on; and of two processes that write at once, one may leave its code under the other's key.

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
"""What is Numba's own, which has no types."""

PACKAGE = "fpbandits."
"""How the names of the package's own modules begin."""


NOT_OF_A_RUN = frozenset(
    [
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
    ]
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


def is_foreign(kind: Numba) -> bool:
    """Tell whether a type, or part of it, is defined outside the package."""
    made_by = getattr(kind, "instance_class", None)
    if made_by is not None and not made_by.__module__.startswith(PACKAGE):
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

    Of rules from elsewhere nothing is kept: their types cannot be read back by whoever lacks their
    module, and what they call cannot be told by the compiler's own keys.
    """

    def __init__(self, function: Numba) -> None:
        numba_cache: Numba = super()
        numba_cache.__init__(function)
        self._cache_file: Numba = _Sealed(self._cache_file)

    def _index_key(self, sig: Numba, codegen: Numba) -> Numba:
        numba_cache: Numba = super()
        return numba_cache._index_key(sig, codegen), SOURCES

    def load_overload(self, sig: Numba, target_context: Numba) -> Numba:
        numba_cache: Numba = super()
        with suppress(Exception):  # whatever a damaged file may raise
            if not any(map(is_foreign, sig)):
                return numba_cache.load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Numba, data: Numba) -> None:
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
        text = dumps((key, data))
        self._files.save(key, (hashlib.sha256(text).digest(), text))

    def load(self, key: Numba) -> Numba:
        digest, text = self._files.load(key) or (None, b"")
        if hashlib.sha256(text).digest() != digest:
            return None
        found, data = pickle.loads(text)
        return data if found == key else None


class _Nowhere(NullCache):
    """No room for machine code: say so before the first wait for the compiler, once per process."""

    told = False

    def load_overload(self, sig: Numba, target_context: Numba) -> None:
        if not _Nowhere.told and not any(map(is_foreign, sig)):
            _Nowhere.told = True
            warnings.warn(
                "policies are compiled again in every process, for seconds, since neither the "
                "package's folder nor the home directory can be written: set NUMBA_CACHE_DIR to a "
                "folder that can, and the machine code is kept there",
                stacklevel=2,
            )
