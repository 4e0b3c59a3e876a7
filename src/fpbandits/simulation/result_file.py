"""A result in one .npz file: pulls and plans of each policy, and all else in the header."""

from __future__ import annotations

from pathlib import Path

from fpbandits.errors import StorageError
from fpbandits.files import problem_from_toml, problem_to_toml
from fpbandits.simulation.archive import pack, unpack
from fpbandits.simulation.result import Result
from fpbandits.storage import read_whole, shown, write_aside

SCHEMA = 1
_KIND = "result"


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
    write_aside(path, pack(header, arrays))


def load_result(path: Path) -> Result:
    """Read what `save_result` wrote."""
    content = read_whole(path)
    try:
        header, arrays = unpack(content, _KIND, (SCHEMA,))
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
