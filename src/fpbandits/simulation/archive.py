"""Arrays in one .npz file, with a header in JSON that describes them: `to_npz` and `from_npz`.

A result is one such file; those that make up the store have the same form, with other arrays.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.renamed import rename_old_keys
from fpbandits.core.storage import check_kind, read_whole, shown, write_aside
from fpbandits.errors import StorageError, said
from fpbandits.problem.files import problem_from_toml, problem_to_toml
from fpbandits.simulation.result import Result, count_columns
from fpbandits.simulation.spec import RunSpec

SCHEMA = 2
"""The schema of result files that are written."""
_READ = (1, 2)
"""The schemas that are read. Files of schema 1 have old names and no stages; see `load_result`."""
_KIND = "result"

Arrays = Mapping[str, np.ndarray[Any, Any]]


def to_npz(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the content of a file; the header names its kind and schema."""
    stream = io.BytesIO()
    everything: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    np.savez_compressed(stream, **everything)
    return stream.getvalue()


def from_npz(content: bytes, kind: str, schemas: Collection[int]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays, the header's own included.

    A file of another kind or schema raises a `StorageError`, and a damaged one whatever NumPy, zip
    or JSON raise.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        header = check_kind(json.loads(str(arrays["header"])), kind, schemas)
        return header, {name: arrays[name] for name in arrays.files}


def save_result(result: Result, path: Path) -> None:
    """Write a result."""
    header = {
        "schema": SCHEMA,
        "kind": f"fpbandits {_KIND}",
        "problem": problem_to_toml(result.problem),
        "truth": result.truth,
        "seed": result.seed,
        "settings": result.settings,
        "leap_error": result.leap_error,
        "policies": list(result.policies),
        "versions": result.versions,
        "starts": list(result.starts),
    }
    arrays = {"times": result.times, "truth_means": result.truth_means}
    for index, policy in enumerate(result.policies):
        arrays |= {f"pulls{index}": result.pulls[policy], f"plans{index}": result.plans[policy]}
        if result.stops is not None:
            arrays[f"stops{index}"] = result.stops[policy]
    write_aside(path, to_npz(header, arrays))


def check_fit(result: Result) -> Result:
    """Return a result read from a file, if its parts have the right types and fit together."""
    names, times, arms = result.policies, result.times, count_columns(result.problem)
    _check("policies", bool(names) and all(isinstance(name, str) for name in names))
    _check("truth", isinstance(result.truth, str))
    _check("seed", type(result.seed) is int and result.seed >= 0)
    _check("leap_error", type(result.leap_error) is float and 0 <= result.leap_error <= 1)
    versions: object = result.versions
    _check("versions", isinstance(versions, dict))
    _check("versions", all(isinstance(value, str) for value in result.versions.values()))
    _check("times", times.dtype == np.int64 and times.ndim == 1 and len(times) > 0)
    _check("times", bool(times[0] > 0 and (np.diff(times) > 0).all()))
    means = result.truth_means
    runs = result.plans[names[0]].size
    starts = result.starts  # when each stage of the truth begins
    _check("starts", all(type(start) is int for start in starts) and starts[:1] == (0,))
    _check("starts", bool((np.diff(starts) > 0).all()) and set(starts[1:]) <= set(times.tolist()))
    # By stage; else the same in all runs, or by run where the truth was drawn for each.
    shapes = [(len(starts), arms)] if len(starts) > 1 else [(arms,), (runs, arms)]
    _check("truth_means", means.dtype == np.float64 and means.shape in shapes)
    _check("truth_means", bool(np.isfinite(means).all()))
    for name in names:
        pulls, plans = result.pulls[name], result.plans[name]
        _check("plans", plans.dtype == np.int64 and plans.shape == (runs,) and runs > 0)
        _check("plans", bool(plans.min() > 0))
        _check("pulls", pulls.dtype == np.int64 and pulls.shape == (runs, len(times), arms))
        _check("pulls", bool(pulls.min() >= 0))
        if result.stops is not None:
            stops = result.stops[name]  # when each run ended, and whether its verdict was right
            _check("stops", stops.dtype == np.int64 and stops.shape == (2, runs))
            _check("stops", bool(stops.min() >= 0 and stops[1].max() <= 1))
    return result


def _check(what: str, fits: bool) -> None:
    if not fits:
        raise StorageError(f"in it, {what} is invalid or does not fit the rest")


def load_result(path: Path) -> Result:
    """Read what `save_result` wrote."""
    content = read_whole(path)
    try:
        header, arrays = from_npz(content, _KIND, _READ)
        header, arrays = rename_old_keys(header), rename_old_keys(arrays)  # true_means and the like
        names = header["policies"]
        _check("policies", isinstance(names, list))
        settings = rename_old_keys(header["settings"])
        _check("settings", RunSpec(**settings).settings == settings)
        result = Result(
            problem=problem_from_toml(header["problem"], "result"),
            truth=header["truth"],
            truth_means=arrays["truth_means"],
            seed=header["seed"],
            times=arrays["times"],
            pulls={name: arrays[f"pulls{index}"] for index, name in enumerate(names)},
            plans={name: arrays[f"plans{index}"] for index, name in enumerate(names)},
            settings=settings,
            leap_error=header["leap_error"],
            versions=header["versions"],
            starts=tuple(header.get("starts", (0,))),
            stops={name: arrays[f"stops{index}"] for index, name in enumerate(names)}
            if "stop" in settings
            else None,
        )
        return check_fit(result)
    except StorageError as error:
        raise error.at(shown(path)) from None
    except Exception as error:  # damaged archives raise whatever their decoders do, or lack a key
        reason = f"not a whole result file ({said(error)})"
        raise StorageError(reason, place=(shown(path),)) from None
