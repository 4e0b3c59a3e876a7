"""A result comes back from disk as it was, or is refused."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, InputError, Result, load_problem, simulate
from fpbandits.errors import StorageError


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(
        load_problem("paper:two"), [FPUCB(), UCB1()], truth="theta2", horizon=1000, runs=25, seed=3
    )


def test_there_and_back(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    result.save(path)
    again = Result.load(path)
    assert again.problem == result.problem
    assert again.problem.name == "paper:two"
    assert (again.truth, again.seed, again.settings) == (result.truth, result.seed, result.settings)
    assert again.policies == result.policies
    for name in result.policies:
        assert np.array_equal(again.pulls[name], result.pulls[name])
        assert np.array_equal(again.plans[name], result.plans[name])
    assert again.as_dict() == result.as_dict()
    assert again.total_variation("ucb1") == result.total_variation("ucb1") > 0


def test_a_loaded_result_names_the_versions_it_was_made_with(
    result: Result, tmp_path: Path
) -> None:
    path = tmp_path / "result.npz"
    replace(result, versions={"fpbandits": "0.0.1"}).save(path)
    assert Result.load(path).as_dict()["versions"] == {"fpbandits": "0.0.1"}


def test_bad_files(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    result.save(path)
    whole = path.read_bytes()

    def refusal(content: bytes) -> str:
        path.write_bytes(content)
        with pytest.raises(StorageError) as caught:
            Result.load(path)
        return str(caught.value)

    assert "not a whole result file" in refusal(whole[: len(whole) // 2])
    assert "not a whole result file" in refusal(b"")
    assert "not a whole result file" in refusal(b"not a zip")
    np.savez(path, header=np.array(json.dumps({"kind": "fpbandits result", "schema": 99})))
    assert "written with schema 99" in refusal(path.read_bytes())
    np.savez(path, header=np.array("[]"))
    assert "this holds no result of fpbandits" in refusal(path.read_bytes())
    generator = np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(whole)
        for place in generator.integers(0, len(whole), 3):
            damaged[place] ^= int(generator.integers(1, 256))
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(StorageError):  # and no other error
            Result.load(path)
    np.savez(path, header=np.array(json.dumps({"kind": "other"})))
    assert "this holds no result of fpbandits" in refusal(path.read_bytes())
    with pytest.raises(InputError, match="there is no such file"):
        Result.load(tmp_path / "none.npz")


ODD: list[Any] = [None, -1, 2**70, math.inf, math.nan, "", "x", [], {}, [None], [1, 2], True]
ODD_ARRAYS = [
    np.zeros(0),
    np.array("x"),
    np.array(5),
    np.array([50, 10]),
    np.array([1.5, np.nan]),
    np.zeros(3, "datetime64[s]"),
    np.zeros((0, 2, 2), np.int64),
    np.zeros((24, 100, 2), np.int64),
    np.zeros((25, 100, 3), np.int64),
    np.zeros((25, 100, 2), np.int32),
    np.full((25, 100, 2), -1),
]


def test_files_whose_parts_do_not_fit_are_refused(result: Result, tmp_path: Path) -> None:
    """Each field of the header and each array, missing or odd: a result that works, or an error."""
    path = tmp_path / "result.npz"
    result.save(path)
    with np.load(path) as content:
        arrays = {name: content[name] for name in content.files}
    header = json.loads(str(arrays.pop("header")))
    forgeries = [({**header, key: value}, arrays) for key in header for value in ODD]
    forgeries += [({k: v for k, v in header.items() if k != key}, arrays) for key in header]
    forgeries += [(header, {**arrays, key: value}) for key in arrays for value in ODD_ARRAYS]
    forgeries += [(header, {k: v for k, v in arrays.items() if k != key}) for key in arrays]
    refused = []
    for forged, odd in forgeries:
        np.savez(path, header=np.array(json.dumps(forged)), **odd)
        try:
            found = Result.load(path)
        except StorageError as error:
            refused.append(str(error))
        else:
            json.dumps(found.as_dict(), allow_nan=False)
            found.table()
            list(found.rows())
    assert len(refused) > 0.9 * len(forgeries)
    assert all(message.startswith(str(path)) for message in refused)
    assert not any("\n" in message for message in refused)
