"""`Store`: the folder that keeps finished runs, so that a crash costs seconds.

In the folder are

- ``manifest.json``: what was asked for. The cells, by name and in order, and the versions of what
  computes them.
- ``chunks/…npz``: finished runs. A header in JSON says which manifest they belong to and lists
  ranges of runs, its ``pieces``, as ``[cell, start, stop]``; ``pulls`` and ``plans`` are those of
  all ranges, one after another. The file's name is the digest of its content: a file that was cut
  off or altered is recognized, and its runs are played again.
- ``.lock`` and ``.owner``: which process is at work there, or was the last to be.

Each file is written aside and renamed. The same cells resume, and may ask for other numbers of
runs; other cells are refused. Files of another version are left alone, and this version plays their
runs again: a result has one version.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import checked_path
from fpbandits.core.storage import (
    DamagedError,
    locked,
    make_folder,
    read_whole,
    refuse_link,
    remove_asides,
    shown,
    write_aside,
)
from fpbandits.errors import ConflictError, Error, InputError, StorageError, counted, quote, within
from fpbandits.problem.files import problem_from_toml
from fpbandits.simulation.archive import check_fit, from_npz, to_npz
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.manifest import (
    READ,
    SCHEMA,
    difference,
    make_manifest,
    read_manifest,
    spec_of,
)
from fpbandits.simulation.result import Result, count_columns
from fpbandits.simulation.workers import Played, RunRange, Tables

_KIND = "chunk of runs"
_MANIFEST = "manifest.json"
_FILES = "chunks"
_FILE_NAME = re.compile("[0-9a-f]{32}")

EVERY = 1.0
"""Seconds between two writes, or a hundredth of the time so far if that is more."""

MOST_FRESH = 2**27
"""About how many bytes of runs may wait to be written."""


class Store:
    """The folder of these cells, locked for as long as it is open.

    Parameters
    ----------
    folder
        It is made if it does not exist.
    cells
        What is asked for, by name. If the folder holds other cells, it is refused.
    """

    def __init__(self, folder: Path, cells: Mapping[str, Cell]) -> None:
        self.folder = folder
        self._manifest = make_manifest(cells)
        self._fresh: list[Played] = []
        self.has_other_versions = False  # whether another version has played here
        self._opened = self._written = time.monotonic()

    def __enter__(self) -> Store:
        refuse_link(self.folder / _FILES)
        for folder in (self.folder, self.folder / _FILES):
            make_folder(folder)
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder))
            remove_asides(self.folder, _MANIFEST)
            remove_asides(self.folder / _FILES)
            self._found = self._find()
            self._lock = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def _find(self) -> dict[str, Any] | None:
        """Return the manifest that is there, None if there is none; refuse that of other runs."""
        if not holds_runs(self.folder):
            return None
        try:
            manifest = read_manifest(self.folder / _MANIFEST)
        except DamagedError as error:  # each file of runs says which manifest it belongs to
            warnings.warn(f"{error}; it is written again", stacklevel=2)
            return None
        if manifest["schema"] != SCHEMA:
            raise ConflictError(
                "holds runs of an earlier version, which load_results reads "
                "and nothing adds to: name another folder"
            ).at(shown(self.folder))
        if manifest["question"] != self._manifest["question"]:
            raise ConflictError(
                f"holds other runs ({difference(manifest, self._manifest)}): name another folder"
            ).at(shown(self.folder))
        return manifest

    def fill(self, tables: Tables) -> None:
        """Put runs from before into tables; remove damaged files, with a warning.

        The manifest is written last, since files of other cells are refused first.
        """
        for path in _run_files(self.folder):
            try:
                self.has_other_versions |= not _put_runs(path, self._manifest, tables)
            except DamagedError as error:
                path.unlink()
                warnings.warn(f"{error}; its runs are played again", stacklevel=2)
        if self._found != self._manifest:
            content = json.dumps(self._manifest, indent=1).encode()
            write_aside(self.folder / _MANIFEST, content)

    def add(self, played: Played) -> None:
        """Take finished runs, to be written soon."""
        self._fresh.append(played)

    def write_if_due(self) -> None:
        """Write what was added, if there is much of it or some time has passed."""
        now = time.monotonic()
        is_due = now - self._written > max(EVERY, 0.01 * (now - self._opened))
        if is_due or sum(played.pulls.nbytes for played in self._fresh) > MOST_FRESH:
            self.write()

    def write(self) -> None:
        """Write what was added as one file."""
        if self._fresh:
            content = _pack(self._fresh, self._manifest)
            write_aside(self.folder / _FILES / f"{_checksum(content)}.npz", content)
            self._fresh.clear()
        self._written = time.monotonic()


def holds_runs(folder: Path) -> bool:
    """Tell whether a folder is one that keeps runs."""
    return (folder / _MANIFEST).exists()


def files_to_copy(folder: Path, to: Path) -> dict[Path, bytes]:
    """Return what to write so that another folder keeps the same runs; others are not replaced."""
    sources = [folder / _MANIFEST, *_run_files(folder)]
    if holds_runs(to) and read_whole(to / _MANIFEST) != read_whole(sources[0]):
        raise ConflictError("holds other results: name another folder").at(shown(to))
    make_folder(to / _FILES)
    return {to / path.relative_to(folder): read_whole(path) for path in sources}


def load_results(folder: str | os.PathLike[str], *, partial: bool = False) -> dict[str, Result]:
    """Return the runs in a folder as one result per cell, by name; nothing is played.

    In a folder of `simulate` each cell is one policy, whose result has it under its own name. With
    ``partial=True``, an unfinished folder gives the runs that each cell has up to the first that is
    missing; otherwise it is refused. The runs may be of other versions, and of policies that are
    not known here.
    """
    folder = checked_path(folder)
    if not holds_runs(folder) and _run_files(folder):
        raise StorageError(
            "is gone: the command that began these runs, given once "
            "more, takes them up and writes it again"
        ).at(shown(folder / _MANIFEST))
    manifest = read_manifest(folder / _MANIFEST)
    cells = [(entry, spec_of(entry, manifest)) for entry in manifest["cells"]]
    try:
        problems = [problem_from_toml(text, "problem") for text in manifest["problems"]]
        tables = Tables(
            (spec.runs, len(spec.times), count_columns(problems[entry["problem"]]))
            for entry, spec in cells
        )
    except InputError as error:
        place = (shown(folder / _MANIFEST), *error.place)
        raise StorageError(error.reason, place=place) from None
    except (MemoryError, ValueError, OverflowError):
        raise StorageError("so many runs do not fit into memory", place=(shown(folder),)) from None
    for path in _run_files(folder):
        _put_runs(path, manifest, tables)
    missing = sum(runs.size for runs in tables.missing())
    if missing and not partial:
        raise InputError(
            f"{counted(missing, 'run')} of {tables.total:,} are not finished: "
            "the command that began them goes on from there"
        ).at(shown(folder))
    results = {}
    for number, (entry, spec) in enumerate(cells):
        pulls, plans = tables.pulls[number], tables.plans[number]
        played = tables.are_played(number)
        runs = len(plans) if played.all() else int(played.argmin())
        if runs:
            starts = tuple(entry.get("starts", (0,)))
            result = Result.of_policy(
                entry["policy"],
                pulls[:runs],
                plans[:runs],
                problem=problems[entry["problem"]],
                spec=spec,
                fixed_means=_true_means(entry, len(starts)),
                starts=starts,
                versions=manifest["versions"],
            )
            with within(shown(folder / _MANIFEST)):
                results[entry["name"]] = check_fit(result)
    return results


def _true_means(entry: Mapping[str, Any], stages: int) -> Floats:
    """Return the true means of a cell: a row of them for each stage, if there are several."""
    means = np.array(entry["truth_means"], np.float64)
    try:
        return means if stages == 1 else means.reshape(stages, -1)
    except ValueError:
        raise StorageError("in it, truth_means is invalid or does not fit the rest") from None


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _run_files(folder: Path) -> list[Path]:
    """Return the files whose names are those of files of runs; others are left alone."""
    paths = sorted((folder / _FILES).glob("*.npz"))
    return [path for path in paths if _FILE_NAME.fullmatch(path.stem) and path.is_file()]


def _pack(everything: Sequence[Played], manifest: Mapping[str, Any]) -> bytes:
    """Return the content of a file of runs."""
    header = {
        "schema": SCHEMA,
        "kind": f"fpbandits {_KIND}",
        "question": manifest["question"],
        "versions": manifest["versions"],
        "pieces": [played.runs for played in everything],
    }
    arrays = {
        "pulls": np.concatenate([played.pulls.ravel() for played in everything]),
        "plans": np.concatenate([played.plans for played in everything]),
    }
    return to_npz(header, arrays)


def _put_runs(path: Path, manifest: Mapping[str, Any], tables: Tables) -> bool:
    """Put the runs of a file into tables; return False if another version played them."""
    content = read_whole(path)
    if _checksum(content) != path.stem:
        raise DamagedError("damaged (its checksum is another)", place=(shown(path),))
    try:
        header, arrays = from_npz(content, _KIND, READ)
        if header["question"] != manifest["question"]:
            raise ConflictError("holds other runs: name another folder")
        if header["versions"] != manifest["versions"]:
            return False
        for played in _unpack(header["pieces"], arrays["pulls"], arrays["plans"], tables):
            tables.put(played)
        return True
    except Error as error:
        raise error.at(shown(path)) from None
    except Exception as error:  # NumPy and JSON raise many kinds
        # It was written so, since its checksum is right: it is not removed.
        raise StorageError(f"not a chunk of runs ({quote(error)})", place=(shown(path),)) from None


def _unpack(ranges: Any, pulls: Counts, plans: Counts, tables: Tables) -> list[Played]:
    """Return the runs of a file, range by range, if its arrays hold just these."""
    all_played = []
    run = first = 0
    for numbers in ranges:
        if [type(number) for number in numbers] != [int, int, int] or min(numbers) < 0:
            raise StorageError("its pieces are not three whole numbers each")
        runs = RunRange(*numbers)
        shape = (runs.size, *tables.pulls[runs.cell].shape[1:])
        counts = pulls[first : first + math.prod(shape)].reshape(shape)
        all_played.append(Played(runs, counts, plans[run : run + runs.size]))
        run, first = run + runs.size, first + counts.size
    whole = (run,) == plans.shape and (first,) == pulls.shape
    if not whole or {pulls.dtype, plans.dtype} != {np.dtype(np.int64)}:
        raise StorageError("its pieces and its arrays do not fit together")
    if run and (plans.min() < 1 or pulls.min() < 0):
        raise StorageError("a run has at least one plan, and no count of plays is negative")
    return all_played
