"""Arrays in one .npz file, with a header in JSON that says what they are: `to_npz` and `from_npz`.

A result is one such file, with pulls and plans of each policy; so is a chunk of the store.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.errors import StorageError
from fpbandits.files import problem_from_toml, problem_to_toml
from fpbandits.simulation.result import Result
from fpbandits.storage import check_kind, read_whole, shown, write_aside

SCHEMA, _KIND = 1, "result"

Arrays = Mapping[str, np.ndarray[Any, Any]]


def to_npz(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the content of a file; the header tells its kind and schema."""
    stream = io.BytesIO()
    everything: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    np.savez_compressed(stream, **everything)
    return stream.getvalue()


def from_npz(content: bytes, kind: str, schemas: Collection[int]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays; what is damaged raises whatever its decoders do."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        header = check_kind(json.loads(str(arrays["header"])), kind, schemas)
        return header, {name: arrays[name] for name in arrays.files}


def save_result(result: Result, path: Path) -> None:
    """Write a result."""
    header = {
        "schema": SCHEMA,
        "kind": f"fpbandits {_KIND}",
        "problem": problem_to_toml(result.problem),
        "true": result.true,
        "seed": result.seed,
        "settings": result.settings,
        "leap_error": result.leap_error,
        "policies": list(result.policies),
        "versions": result.versions,
    }
    arrays = {"times": result.times, "true_means": result.true_means}
    for place, policy in enumerate(result.policies):
        arrays |= {f"pulls{place}": result.pulls[policy], f"plans{place}": result.plans[policy]}
    write_aside(path, to_npz(header, arrays))


def load_result(path: Path) -> Result:
    """Read what `save_result` wrote."""
    content = read_whole(path)
    try:
        header, arrays = from_npz(content, _KIND, (SCHEMA,))
        names = header["policies"]
        return Result(
            problem=problem_from_toml(header["problem"], "result"),
            true=header["true"],
            true_means=arrays["true_means"],
            seed=header["seed"],
            times=arrays["times"],
            pulls={name: arrays[f"pulls{place}"] for place, name in enumerate(names)},
            plans={name: arrays[f"plans{place}"] for place, name in enumerate(names)},
            settings=header["settings"],
            leap_error=header["leap_error"],
            versions=header["versions"],
        )
    except StorageError as error:
        raise error.at(shown(path)) from None
    except Exception as error:  # damaged archives raise whatever their decoders do
        reason = " ".join(str(error).split())
        raise StorageError(f"{shown(path)}: not a whole result file ({reason})") from None
