"""The manifest of a folder of runs: what was asked for, and the versions of what computes it.

It has two digests. ``question`` is that of all cells without their numbers of runs, so that more
runs can be added to a folder; ``digest`` is that of the whole manifest, and reveals damage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fpbandits.core.renamed import rename_old_keys
from fpbandits.core.storage import DamagedError, read_json, shown
from fpbandits.errors import InputError, StorageError, quote
from fpbandits.policies.own import code_of
from fpbandits.problem.files import problem_to_toml
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.spec import SETTINGS, RunSpec
from fpbandits.simulation.versions import versions

KIND = "runs"
SCHEMA = 2
"""The schema of folders that are written."""
READ = (1, 2)
"""The schemas that are read."""

_CELL: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "problem": (int,),
    "truth": (str,),
    "truth_means": (list,),
    "policy": (str,),
    "code": (str, type(None)),
    "seed": (int,),
    "times": (int,),
    "runs": (int,),
}
"""The fields of a cell's description besides its settings, and their types."""


def make_manifest(cells: Mapping[str, Cell]) -> dict[str, Any]:
    """Describe cells: each problem and each list of times once; cells refer to them by index."""
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
                "truth": cell.truth,
                "truth_means": cell.fixed_means.reshape(-1).tolist(),
                "policy": str(cell.policy),
                "code": code_of(cell.policy),
                "seed": cell.spec.seed,
                "times": times.setdefault(cell.spec.times, len(times)),
                **cell.spec.settings,
                "runs": cell.spec.runs,
                **({"starts": list(cell.starts)} if len(cell.starts) > 1 else {}),
            }
        )
    manifest = {
        "schema": SCHEMA,
        "kind": f"fpbandits {KIND}",
        "versions": versions(),
        "problems": list(problems),
        "times": [list(moments) for moments in times],
        "cells": entries,
    }
    any_runs = [{**entry, "runs": None} for entry in entries]
    manifest["question"] = _digest([manifest["problems"], manifest["times"], any_runs])
    return {**manifest, "digest": _digest(manifest)}


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; refuse one that was altered, or that lacks something."""
    manifest = read_json(path, KIND, READ)
    if not _is_whole(manifest):
        raise DamagedError("damaged (its checksum is another)", place=(shown(path),))
    if manifest["schema"] == 1 and _are(dict, manifest.get("cells")):
        manifest["cells"] = [rename_old_keys(cell) for cell in manifest["cells"]]
    if not _is_sound(manifest):
        raise StorageError("fields are missing, or are not what they should be").at(shown(path))
    return manifest


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    """Tell whether a manifest has the digest that it says."""
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return manifest.get("digest") == _digest(rest)


def spec_of(cell: Mapping[str, Any], manifest: Mapping[str, Any]) -> RunSpec:
    """Return the spec of a cell as a manifest describes it."""
    times = manifest["times"][cell["times"]]
    rest = {key: cell[key] for key in ("runs", "seed", "truth", *SETTINGS) if key in cell}
    return RunSpec(horizon=times[-1], times=times, **rest)


def _is_sound(manifest: Mapping[str, Any]) -> bool:
    """Tell whether all fields are there and of the right types: anyone can make a digest.

    `_is_sound_cell` looks at the times, as a cell's spec has them.
    """
    return (
        _are(str, manifest.get("problems"))
        and _are(dict, manifest.get("cells"))
        and all(_is_sound_cell(cell, manifest) for cell in manifest["cells"])
        and isinstance(manifest.get("question"), str)
        and isinstance(manifest.get("versions"), dict)
    )


def _is_sound_cell(cell: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Tell the same of the description of a cell."""
    try:
        spec = spec_of(cell, manifest)
    except (LookupError, TypeError, InputError):
        return False
    return (
        cell.keys() - {"starts"} == _CELL.keys() | spec.settings.keys()
        and all(type(cell[key]) in types for key, types in _CELL.items())
        and 0 <= cell["problem"] < len(manifest["problems"])
        and 0 <= cell["times"]
        and [*spec.times] == manifest["times"][cell["times"]]
        and _are(float, cell["truth_means"])
        and _are(int, cell.get("starts", []))
    )


def _are(kind: type, values: Any) -> bool:
    """Tell whether this is a list of values of just this type."""
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Say in a few words how two manifests ask for different things."""
    names = [[cell["name"] for cell in side["cells"]] for side in (there, here)]
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
            side["times"][cell["times"]][-1] for side, cell in ((there, one), (here, other))
        ]
        if horizons[0] != horizons[1]:
            return f"T = {horizons[0]:g} there, {horizons[1]:g} here"
        for key in ("truth", "policy", "code", "seed", *SETTINGS):
            if one.get(key) != other.get(key):
                return f"{key} {quote(one.get(key))} there, {quote(other.get(key))} here"
    return "another problem, or other times"
