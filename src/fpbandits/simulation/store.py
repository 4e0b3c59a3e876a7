"""`Checkpoint`: a folder in which finished runs are kept, so that a crash costs seconds.

In the folder are

- ``manifest.json``: what was asked for. The cells, by name and in order, and the versions of what
  computes them.
- ``chunks/…npz``: finished runs. A header in JSON says what they answer and lists pieces
  ``[cell, start, stop]``; ``pulls`` and ``plans`` are those of all pieces, one after another. The
  file's name is the digest of its content: what was cut off or altered is found out, and played
  again.
- ``.lock``: who is at work there, or was the last to be.

Each file is written aside and renamed. The same cells resume, and may ask for other numbers of
runs; other cells are refused. Chunks of another version are left alone, and played again by this
one: a result has one version.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import re
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.arrays import Counts
from fpbandits.errors import Error, InputError, StorageError, counted, quote
from fpbandits.files import problem_from_toml, problem_to_toml
from fpbandits.policies import parse_policy
from fpbandits.policies.base import Policy
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.pieces import Piece, Played, Tables
from fpbandits.simulation.result import versions
from fpbandits.storage import locked, make_folder, read_whole, remove_asides, shown, write_aside

SCHEMA = 1
_KIND, _CHUNK_KIND = "fpbandits runs", "fpbandits chunk of runs"

_CHUNK_NAME = re.compile("[0-9a-f]{32}")

EVERY = 1.0
"""How many seconds of work a crash may cost, or a hundredth of all work if that is more."""


class _DamagedError(StorageError):
    """A file that is not as it was written."""


class Checkpoint:
    """The folder of these cells, locked for as long as it is open.

    Parameters
    ----------
    folder
        Made if it is not there.
    cells
        What is asked for, by name. If the folder holds other cells, it is refused.
    """

    def __init__(self, folder: Path, cells: Mapping[str, Cell]) -> None:
        self.folder, self._cells = folder, list(cells.values())
        self._manifest = _manifest(cells)
        self._fresh: list[Played] = []
        self.others = False  # whether another version has played here
        self._opened = self._written = time.monotonic()

    def __enter__(self) -> Checkpoint:
        for place in (self.folder, self.folder / "chunks"):
            make_folder(place)
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder))
            remove_asides(self.folder, "manifest.json")
            remove_asides(self.folder / "chunks")
            self._found = self._find()
            self._lock = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def _find(self) -> dict[str, Any] | None:
        path = self.folder / "manifest.json"
        if not path.exists():
            return None
        try:
            found = _read_manifest(path)
        except _DamagedError as error:  # chunks say themselves what they answer
            warnings.warn(f"{error}; it is written again", stacklevel=2)
            return None
        if found["question"] != self._manifest["question"]:
            raise InputError(
                f"{shown(self.folder)}: holds other runs ({_difference(found, self._manifest)})"
                ": name another folder"
            )
        return found

    def kept(self) -> Iterator[Played]:
        """Yield what is kept from before; damaged files are removed, and said so."""
        for path in _chunks(self.folder):
            try:
                played = _read_chunk(path, self._manifest, self._cells)
            except _DamagedError as error:
                path.unlink()
                warnings.warn(f"{error}; its runs are played again", stacklevel=2)
                continue
            self.others = self.others or played is None
            yield from played or ()
        if self._found != self._manifest:
            content = json.dumps(self._manifest, indent=1).encode()
            write_aside(self.folder / "manifest.json", content)

    def add(self, played: Played) -> None:
        """Take what was played, to be written soon."""
        self._fresh.append(played)

    def write_if_due(self) -> None:
        """Write what was added, unless that was done just now."""
        now = time.monotonic()
        if now - self._written > max(EVERY, 0.01 * (now - self._opened)):
            self.write()

    def write(self) -> None:
        """Write what was added as one chunk."""
        if self._fresh:
            content = _chunk(self._fresh, self._manifest)
            name = f"{hashlib.sha256(content).hexdigest()[:32]}.npz"
            write_aside(self.folder / "chunks" / name, content)
            self._fresh.clear()
        self._written = time.monotonic()


def load_cells(
    folder: Path, partial: bool
) -> Iterator[tuple[str, Cell, Counts, Counts, dict[str, str]]]:
    """Yield each cell that a folder holds, with all runs that were asked for, and its versions.

    If not all are there, ``partial`` gives those before the first that is missing.

    Nothing is computed, and whoever computed it may have had other versions.
    """
    path = folder / "manifest.json"
    manifest = _read_manifest(path)
    cells = _cells(manifest)
    tables = Tables(cells.values())
    for chunk in _chunks(folder):
        for each in _read_chunk(chunk, manifest, list(cells.values())) or ():
            tables.put(each)
    missing = sum(piece.runs for piece in tables.missing())
    if missing and not partial:
        raise InputError(
            f"{shown(folder)}: {counted(missing, 'run')} of {tables.total:,} are not finished: "
            "the command that began them goes on from there"
        )
    for (name, cell), pulls, plans in zip(cells.items(), tables.pulls, tables.plans, strict=True):
        runs = int((plans > 0).argmin()) if not plans.all() else len(plans)
        yield name, cell, pulls[:runs], plans[:runs], manifest["versions"]


def _manifest(cells: Mapping[str, Cell]) -> dict[str, Any]:
    problems: dict[str, int] = {}
    times: dict[tuple[int, ...], int] = {}
    texts: dict[int, str] = {}
    entries = []
    for name, cell in cells.items():
        key = id(cell.problem)
        if key not in texts:
            texts[key] = problem_to_toml(cell.problem)
        entries.append(
            {
                "name": name,
                "problem": problems.setdefault(texts[key], len(problems)),
                "true": cell.true,
                "true_means": cell.truth.means[0].tolist(),
                "policy": str(cell.policy),
                "code": _code(cell.policy),
                "seed": cell.seed,
                "times": times.setdefault(tuple(cell.times.tolist()), len(times)),
                "shuffle": cell.shuffle,
                "leap": cell.leap,
                "exact": cell.exact,
                "runs": cell.runs,
            }
        )
    manifest = {
        "schema": SCHEMA,
        "kind": _KIND,
        "versions": versions(),
        "problems": list(problems),
        "times": [list(moments) for moments in times],
        "cells": entries,
    }
    # What is asked for, but for the number of runs.
    asked = [{**entry, "runs": None} for entry in entries]
    manifest["question"] = _digest([manifest["problems"], manifest["times"], asked])
    return {**manifest, "digest": _digest(manifest)}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _code(policy: Policy) -> str | None:
    """Return what tells a policy of the user's own from one of the same name; None for ours."""
    kind = type(policy)
    if kind.__module__.startswith("fpbandits."):
        return None
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # typed in, and gone
        source = ""
    return f"{kind.__module__}.{kind.__qualname__} {_digest(source)[:16]}"


def _cells(manifest: Mapping[str, Any]) -> dict[str, Cell]:
    problems = [problem_from_toml(text, "problem") for text in manifest["problems"]]
    cells = {}
    for entry in manifest["cells"]:
        problem, moments = problems[entry["problem"]], manifest["times"][entry["times"]]
        # A truth outside Θ may be called by its means, and so may a parameter of other means.
        true: Any = entry["true_means"]
        if entry["true"] in problem.parameters:
            row = problem.means[problem.index(entry["true"])]
            true = entry["true"] if row.tolist() == true else true
        cells[entry["name"]] = make_cell(
            problem,
            parse_policy(entry["policy"]),
            true=true,
            horizon=moments[-1],
            times=moments,
            **{key: entry[key] for key in ("seed", "runs", "shuffle", "leap", "exact")},
        )
    return cells


def _read_manifest(path: Path) -> dict[str, Any]:
    content = read_whole(path)
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError):
        raise _DamagedError(f"{shown(path)}: damaged (it is cut off, or not JSON)") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != _KIND:
        raise InputError(f"{shown(path)}: not a manifest of fpbandits")
    if manifest.get("schema") != SCHEMA:
        raise InputError(
            f"{shown(path)}: written with schema {manifest.get('schema')}, and this version of "
            f"fpbandits reads schema {SCHEMA}"
        )
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    if manifest.get("digest") != _digest(rest):
        raise _DamagedError(f"{shown(path)}: damaged (its checksum is another)")
    return manifest


def _chunks(folder: Path) -> list[Path]:
    """Return the files that are named as chunks are; others are not ours."""
    paths = sorted((folder / "chunks").glob("*.npz"))
    return [path for path in paths if _CHUNK_NAME.fullmatch(path.stem) and path.is_file()]


def _difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Say in a few words how two manifests ask for different things."""
    names = [[each["name"] for each in side["cells"]] for side in (there, here)]
    if names[0] != names[1]:
        joined = [", ".join(side) for side in names]
        if max(map(len, joined)) > 60:
            joined = [f"{len(side):,} cells" for side in names]
            for one, other in zip(*names, strict=False):
                if one != other:
                    joined = [one, other]
                    break
        return f"{quote(joined[0])} there, {quote(joined[1])} here"
    for one, other in zip(there["cells"], here["cells"], strict=True):
        horizons = [
            side["times"][each["times"]][-1] for side, each in ((there, one), (here, other))
        ]
        if horizons[0] != horizons[1]:
            return f"T = {horizons[0]:g} there, {horizons[1]:g} here"
        for key in ("true", "policy", "code", "seed", "shuffle", "leap", "exact"):
            if one[key] != other[key]:
                return f"{key} {quote(one[key])} there, {quote(other[key])} here"
    return "another problem, or other times"


def _chunk(everything: Sequence[Played], manifest: Mapping[str, Any]) -> bytes:
    header = {
        "schema": SCHEMA,
        "kind": _CHUNK_KIND,
        "question": manifest["question"],
        "versions": manifest["versions"],
        "pieces": [played.piece for played in everything],
    }
    stream = io.BytesIO()
    np.savez_compressed(
        stream,
        header=np.array(json.dumps(header)),
        pulls=np.concatenate([played.pulls.ravel() for played in everything]),
        plans=np.concatenate([played.plans for played in everything]),
    )
    return stream.getvalue()


def _read_chunk(
    path: Path, manifest: Mapping[str, Any], cells: Sequence[Cell]
) -> list[Played] | None:
    """Return what a file holds, or None if it was played by another version."""
    content = read_whole(path)
    if hashlib.sha256(content).hexdigest()[:32] != path.stem:
        raise _DamagedError(f"{shown(path)}: damaged (its checksum is another)")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
            pulls, plans = arrays["pulls"], arrays["plans"]
        if (header["kind"], header["schema"]) != (_CHUNK_KIND, SCHEMA):
            raise InputError(
                f"{shown(path)}: written with schema {header['schema']}, and this version of "
                f"fpbandits reads schema {SCHEMA}"
            )
        if header["question"] != manifest["question"]:
            raise InputError(f"{shown(path)}: holds other runs: name another folder")
        if header["versions"] != manifest["versions"]:
            return None
        everything = []
        run = place = 0
        for cell, start, stop in header["pieces"]:
            shape = stop - start, len(cells[cell].times), len(cells[cell].problem.arms)
            counts = pulls[place : place + math.prod(shape)].reshape(shape)
            everything.append(
                Played(Piece(cell, start, stop), counts, plans[run : run + stop - start])
            )
            run, place = run + stop - start, place + counts.size
        return everything
    except Error:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        # Written so, since its checksum is right: not for us to remove.
        raise InputError(f"{shown(path)}: not a chunk of runs ({error!r})") from None
