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


def forged(result: Result, path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> Result:
    """Save a result, change parts of the file (None: take away), and load it."""
    result.save(path)
    with np.load(path) as content:
        kept = {name: content[name] for name in content.files}
    written = {**json.loads(str(kept.pop("header"))), **header}
    np.savez(path, header=np.array(json.dumps(written)), **{**kept, **arrays})
    return Result.load(path)


def ask(**options: Any) -> Result:
    how = {"horizon": 20, "times": [5], "runs": 3, "truth": "theta2", **options}
    return simulate("paper:two", **{"policies": [FPUCB(), UCB1()], **how})


HOW: dict[str, dict[str, Any]] = {
    "one truth": {},
    "stages": {"truth": {0: "theta1", 1: "theta2"}},
    "drawn": {"truth": "prior"},
    "stops": {"times": None, "stop": 0.3},
    "a single run and time": {"runs": 1, "times": [20], "policies": UCB1()},
    "a single play": {"runs": 2, "times": [1], "horizon": 1},
}


@pytest.mark.parametrize("how", HOW)
def test_every_kind_of_result_comes_back(how: str, tmp_path: Path) -> None:
    result = ask(**HOW[how])
    again = forged(result, tmp_path / "r.npz", {}, {})
    assert again.as_dict() == result.as_dict()
    assert (again.starts, again.stops is None) == (result.starts, how != "stops")
    np.testing.assert_array_equal(again.truth_means, result.truth_means)
    for name in result.stops or {}:
        np.testing.assert_array_equal(again.stops[name], result.stops[name])  # type: ignore[index]


PULLS = np.array([[[2, 3], [10, 10]]] * 3)
REFUSED: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("one truth", "policies", {"policies": []}, {}),
    ("one truth", "policies", {"policies": "ab"}, {}),
    ("one truth", "policies", {"policies": [1, "ucb1"]}, {}),
    ("one truth", "truth", {"truth": 3}, {}),
    ("one truth", "seed", {"seed": -1}, {}),
    ("one truth", "seed", {"seed": 1.0}, {}),
    ("one truth", "leap_error", {"leap_error": 0}, {}),
    ("one truth", "leap_error", {"leap_error": -0.1}, {}),
    ("one truth", "leap_error", {"leap_error": 1.1}, {}),
    ("one truth", "settings", {"settings": {"shuffle": False, "leap": True}}, {}),
    ("one truth", "versions", {"versions": []}, {}),
    ("one truth", "versions", {"versions": {"numpy": 2}}, {}),
    ("one truth", "times", {}, {"times": np.array([5.0, 20.0])}),
    ("one truth", "times", {}, {"times": np.array([5, 20], np.int32)}),
    ("one truth", "times", {}, {"times": np.array([[5, 20]])}),
    ("one truth", "times", {}, {"times": np.zeros(0, np.int64)}),
    ("one truth", "times", {}, {"times": np.array([0, 20])}),
    ("one truth", "times", {}, {"times": np.array([20, 20])}),
    ("one truth", "times", {}, {"times": np.array([-3, -2])}),
    ("one truth", "times", {}, {"times": np.array([5, 20, 4])}),
    ("one truth", "starts", {"starts": []}, {}),
    ("one truth", "starts", {"starts": [1]}, {}),
    ("one truth", "starts", {"starts": [0.0]}, {}),
    ("stages", "starts", {"starts": [0, 5.0]}, {}),
    ("stages", "starts", {"starts": [0, 2]}, {}),
    ("stages", "starts", {"starts": [0, 0]}, {}),
    ("stages", "starts", {"starts": [0, 20, 5]}, {}),
    ("one truth", "truth_means", {}, {"truth_means": np.array([1, 0])}),
    ("one truth", "truth_means", {}, {"truth_means": np.array([0.5])}),
    ("one truth", "truth_means", {}, {"truth_means": np.array([0.5, np.nan])}),
    ("one truth", "truth_means", {}, {"truth_means": np.full((2, 2), 0.5)}),
    ("stages", "truth_means", {}, {"truth_means": np.array([0.5, 0.5])}),
    ("stages", "truth_means", {}, {"truth_means": np.full((3, 2), 0.5)}),
    ("drawn", "truth_means", {}, {"truth_means": np.full((4, 2), 0.5)}),
    ("one truth", "plans", {}, {"plans1": np.ones(3)}),
    ("one truth", "plans", {}, {"plans1": np.ones(2, np.int64)}),
    ("one truth", "plans", {}, {"plans0": np.int64(3)}),
    ("one truth", "plans", {}, {"plans0": np.zeros(0, np.int64), "plans1": np.zeros(0, np.int64)}),
    ("one truth", "plans", {}, {"plans1": np.array([1, 0, 1])}),
    ("one truth", "pulls", {}, {"pulls1": PULLS * 1.0}),
    ("one truth", "pulls", {}, {"pulls1": PULLS[:2]}),
    ("one truth", "pulls", {}, {"pulls1": PULLS[:, :1]}),
    ("one truth", "pulls", {}, {"pulls1": PULLS[:, :, :1]}),
    ("one truth", "pulls", {}, {"pulls1": PULLS - 3}),
    ("stops", "stops", {}, {"stops1": np.zeros((2, 3))}),
    ("stops", "stops", {}, {"stops1": np.zeros((3, 3), np.int64)}),
    ("stops", "stops", {}, {"stops1": np.zeros((2, 2), np.int64)}),
    ("stops", "stops", {}, {"stops1": np.array([[1, 1, -1], [0, 0, 0]])}),
    ("stops", "stops", {}, {"stops1": np.array([[9, 9, 9], [0, 2, 0]])}),
]
"""What is forged; the part that does not fit; changes of the header, and of the arrays."""


@pytest.mark.parametrize(("how", "what", "header", "arrays"), REFUSED)
def test_a_part_that_does_not_fit_is_named(
    how: str, what: str, header: dict[str, Any], arrays: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "r.npz"
    with pytest.raises(StorageError) as caught:
        forged(ask(**HOW[how]), path, header, arrays)
    assert str(caught.value) == f"{path}: in it, {what} is invalid or does not fit the rest"


ACCEPTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("one truth", {"seed": 0, "leap_error": 0.0}, {}),
    ("one truth", {"leap_error": 1.0}, {"times": np.array([1, 2]), "pulls1": PULLS}),
    ("one truth", {}, {"plans1": np.ones(3, np.int64), "pulls1": 0 * PULLS}),
    ("one truth", {}, {"truth_means": np.full((3, 2), 0.5)}),
    ("stages", {"starts": [0, 5]}, {}),
    ("drawn", {}, {"truth_means": np.array([0.5, 0.5])}),
    ("stops", {}, {"stops1": np.array([[1, 0, 3], [1, 0, 1]])}),
]


@pytest.mark.parametrize(("how", "header", "arrays"), ACCEPTED)
def test_odd_parts_that_fit_are_taken(
    how: str, header: dict[str, Any], arrays: dict[str, Any], tmp_path: Path
) -> None:
    found = forged(ask(**HOW[how]), tmp_path / "r.npz", header, arrays)
    for name, value in header.items():
        assert getattr(found, name) == (tuple(value) if name == "starts" else value)
    parts = {"times": found.times, "truth_means": found.truth_means}
    for index, policy in enumerate(found.policies):
        parts |= {f"pulls{index}": found.pulls[policy], f"plans{index}": found.plans[policy]}
        if found.stops is not None:
            parts[f"stops{index}"] = found.stops[policy]
    for name, value in arrays.items():
        np.testing.assert_array_equal(parts[name], value)


def test_arrays_are_not_unpickled(tmp_path: Path) -> None:
    """A pickle can run any code."""
    with pytest.raises(StorageError, match=r"not a whole result file .*allow_pickle"):
        forged(ask(), tmp_path / "r.npz", {}, {"times": np.array([5, "x"], object)})


def test_files_of_schema_1_are_read(tmp_path: Path) -> None:
    """They had other names; the numbers are the same."""
    result, path = ask(), tmp_path / "r.npz"
    assert forged(result, path, {"schema": 1}, {}).as_dict() == result.as_dict()
    result.save(path)
    with np.load(path) as content:
        assert json.loads(str(content["header"]))["schema"] == 2
