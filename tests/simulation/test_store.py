"""What is kept is taken up again, by whom it belongs to; damage is found out."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept import POLICIES, ask, assert_equal, chunks

from fpbandits import FPUCB, UCB1, InputError, Problem, Result, Thompson, load_problem, simulate
from fpbandits.errors import ConflictError, Error, StorageError
from fpbandits.simulation import manifest, workers
from fpbandits.simulation import store as store_module
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.store import Store, files_to_copy, holds_runs, load_results


def test_the_same_question_is_played_once(
    tmp_path: Path, undisturbed: Result, played: list[int]
) -> None:
    assert_equal(ask(tmp_path), undisturbed)
    assert sum(played) == 180
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.[jn]*")}
    shares: dict[str, float] = {}
    again = ask(tmp_path, workers=1, progress=lambda name, share, _: shares.update({name: share}))
    assert_equal(again, undisturbed)
    assert sum(played) == 180
    assert set(shares.values()) == {1.0}
    assert len(shares) == 3
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.[jn]*")} == kept


def test_more_runs_may_be_asked_for_and_fewer(
    tmp_path: Path, undisturbed: Result, played: list[int]
) -> None:
    ask(tmp_path, runs=25)
    assert sum(played) == 75
    assert_equal(ask(tmp_path), undisturbed)
    assert sum(played) == 180
    assert_equal(ask(tmp_path, runs=10), undisturbed.first(10))
    assert_equal(ask(tmp_path), undisturbed)
    assert sum(played) == 180


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 4}, "seed 3 there, 4 here"),
        ({"horizon": 1000}, "T = 2000 there, 1000 here"),
        ({"times": [5]}, "another problem, or other times"),
        ({"truth": "theta2"}, "truth 'theta1' there, 'theta2' here"),
        ({"shuffle": False}, "shuffle True there, False here"),
        ({"leap": False}, "leap True there, False here"),
        ({"worst_case": True}, "worst_case False there, True here"),
        ({"policies": POLICIES[:2]}, "'fp-ucb, ucb1, thompson' there, 'fp-ucb, ucb1' here"),
        ({"policies": POLICIES[::-1]}, "'fp-ucb, ucb1, thompson' there, 'thompson, ucb1"),
        (
            {"policies": {"fp-ucb": FPUCB(slack=0.1), "ucb1": UCB1(), "thompson": Thompson()}},
            "policy 'fp-ucb' there, 'fp-ucb:slack=0.1' here",
        ),
    ],
)
def test_another_question_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    ask(tmp_path, runs=5)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.[jn]*")}
    with pytest.raises(ConflictError) as caught:
        ask(tmp_path, runs=5, **change)
    assert f"holds other runs ({message}" in str(caught.value)
    assert str(caught.value).endswith("): name another folder")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.[jn]*")} == before


def test_results_are_read_again_without_playing(tmp_path: Path, undisturbed: Result) -> None:
    ask(tmp_path)
    found = load_results(tmp_path)
    assert list(found) == ["fp-ucb", "ucb1", "thompson"]
    for name, result in found.items():
        assert np.array_equal(result.pulls[name], undisturbed.pulls[name])
        assert np.array_equal(result.plans[name], undisturbed.plans[name])
        assert np.array_equal(result.truth_means, undisturbed.truth_means)
        assert (result.seed, result.settings) == (undisturbed.seed, undisturbed.settings)
    outside = simulate(load_problem("paper:two"), truth=[0.7, 0.4], runs=2, out=tmp_path / "b")
    again = load_results(tmp_path / "b")["frugal"]
    assert (again.truth, again.truth_means.tolist()) == (outside.truth, [0.7, 0.4])
    chunks(tmp_path)[0].unlink()
    with pytest.raises(InputError, match=r"runs? of 180 are not finished: the command that began"):
        load_results(tmp_path)


@pytest.mark.usefixtures("often")
def test_what_is_there_of_an_unfinished_folder(tmp_path: Path, undisturbed: Result) -> None:
    """Every third file is taken away: of each cell, the runs before the first that is missing."""
    ask(tmp_path)
    for path in chunks(tmp_path)[::3]:
        path.unlink()
    there: list[set[int]] = [set(), set(), set()]
    for path in chunks(tmp_path):
        with np.load(path) as arrays:
            for cell, start, stop in json.loads(str(arrays["header"]))["pieces"]:
                there[cell].update(range(start, stop))
    expected = {
        name: next(run for run in range(61) if run not in runs)
        for name, runs in zip(undisturbed.policies, there, strict=True)
    }
    found = load_results(tmp_path, partial=True)
    assert {name: result.runs for name, result in found.items()} == {
        name: runs for name, runs in expected.items() if runs
    }
    assert sum(expected.values()) < 180
    for name, result in found.items():
        assert np.array_equal(result.pulls[name], undisturbed.pulls[name][: result.runs])


def test_the_format_is_open(tmp_path: Path, undisturbed: Result) -> None:
    """Read with NumPy and JSON alone, as the docstring of `store` tells."""
    ask(tmp_path)
    text = (tmp_path / "manifest.json").read_text()
    assert text.startswith('{\n "schema": 2,\n "kind": "fpbandits runs",\n')
    written = json.loads(text)
    names = [cell["name"] for cell in written["cells"]]
    found = {name: np.zeros_like(undisturbed.pulls[name]) for name in names}
    for path in chunks(tmp_path):
        with np.load(path) as arrays:
            header, pulls = json.loads(str(arrays["header"])), arrays["pulls"]
        assert header["schema"] == 2
        assert header["versions"] == undisturbed.versions
        for cell, start, stop in header["pieces"]:
            target = found[names[cell]][start:stop]
            target[:] = pulls[: target.size].reshape(target.shape)
            pulls = pulls[target.size :]
        assert pulls.size == 0
    for name in names:
        assert np.array_equal(found[name], undisturbed.pulls[name])


@pytest.mark.usefixtures("often")
def test_damaged_chunks_are_found_out_and_played_again(
    tmp_path: Path, undisturbed: Result, played: list[int]
) -> None:
    ask(tmp_path)
    paths = chunks(tmp_path)
    assert len(paths) >= 5
    contents = [path.read_bytes() for path in paths]
    paths[0].write_bytes(contents[0][:-30])
    altered = bytearray(contents[1])
    altered[len(altered) // 2] ^= 1
    paths[1].write_bytes(altered)
    paths[2].write_bytes(b"")
    paths[3].write_bytes(contents[4])
    played.clear()
    with pytest.warns(UserWarning, match="its runs are played again") as remarks:
        assert_equal(ask(tmp_path), undisturbed)
    assert len(remarks) == 4
    for path in paths[:4]:
        assert sum(path.name in str(remark.message) for remark in remarks) == 1
    assert 0 < sum(played) < 180
    played.clear()
    assert_equal(ask(tmp_path), undisturbed)
    assert played == []


@pytest.mark.parametrize(
    "content", ['{"kind": "fpb', "", "[]\xff", '{"a": 1}', "seed", "runs", "[" * 100_000]
)
def test_a_damaged_manifest_is_written_again(
    tmp_path: Path, undisturbed: Result, played: list[int], content: str
) -> None:
    ask(tmp_path)
    path = tmp_path / "manifest.json"
    whole = path.read_bytes()
    if content in ("seed", "runs"):  # altered, and still JSON
        value = {"seed": b'"seed": 3', "runs": b'"runs": 60'}[content]
        path.write_bytes(whole.replace(value, value[:-1] + b"1"))
    else:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(StorageError, match=r"manifest\.json: (damaged|this holds no runs)"):
        load_results(tmp_path)
    if content == '{"a": 1}':
        with pytest.raises(StorageError, match="this holds no runs of fpbandits"):
            ask(tmp_path)
        return
    with pytest.warns(UserWarning, match=r"manifest\.json: damaged .* it is written again"):
        assert_equal(ask(tmp_path), undisturbed)
    assert sum(played) == 180
    assert path.read_bytes() == whole


def test_chunks_of_another_question_are_refused(tmp_path: Path, played: list[int]) -> None:
    """Copied there by hand, or left when the manifest was lost: nothing is written over."""
    ask(tmp_path)
    (tmp_path / "manifest.json").unlink()
    before = chunks(tmp_path)
    played.clear()
    for damage in (None, "{"):
        if damage:
            (tmp_path / "manifest.json").write_text(damage)
        with pytest.raises(ConflictError, match=r"npz: holds other runs: name another folder"):
            simulate_quietly(tmp_path, seed=4)
    assert played == []
    assert chunks(tmp_path) == before
    assert simulate_quietly(tmp_path).seed == 3
    assert played == []


def test_a_lost_manifest_is_written_again(tmp_path: Path, undisturbed: Result) -> None:
    ask(tmp_path)
    path = tmp_path / "manifest.json"
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(StorageError, match=r"manifest\.json: is gone: the command that began"):
        load_results(tmp_path)
    assert_equal(ask(tmp_path), undisturbed)
    assert path.read_bytes() == whole
    assert load_results(tmp_path)


@pytest.mark.parametrize("truth", ["theta1", "prior", {0: "theta1", 1: "theta2"}])
def test_the_shortest_runs_are_kept(tmp_path: Path, truth: Any) -> None:
    """Of two plays, the first of which is one plan; a truth may change in between."""
    result = ask(tmp_path, policies=UCB1(), runs=3, horizon=2, truth=truth, shuffle=False)
    once = ask(tmp_path / "one", policies=UCB1(), runs=3, horizon=1, shuffle=False)
    assert once.plans["ucb1"].tolist() == [1, 1, 1]
    for folder, kept in ((tmp_path, result), (tmp_path / "one", once)):
        loaded = load_results(folder)["ucb1"]
        assert_equal(loaded, kept)
        assert loaded.starts == kept.starts
        assert loaded.truth_means.tolist() == kept.truth_means.tolist()


def simulate_quietly(out: Path, **changes: Any) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(out, **changes)


@pytest.mark.parametrize("error", [MemoryError, OSError])
def test_what_cannot_be_read_now_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fails(*others: object, **more: object) -> None:
        raise error

    ask(tmp_path)
    before = chunks(tmp_path)
    monkeypatch.setattr(np, "load", fails)
    with pytest.raises(StorageError, match="not a chunk of runs"):
        ask(tmp_path)
    assert chunks(tmp_path) == before


def test_what_is_not_ours_is_left_alone(tmp_path: Path, undisturbed: Result) -> None:
    ask(tmp_path)
    place = tmp_path / "chunks"
    (place / "mine.npz").write_text("mine")
    (place / ".x.aside").mkdir()
    os.mkfifo(place / f"{'0' * 32}.npz")
    (place / f"{'1' * 32}.npz").symlink_to("nowhere")
    assert_equal(ask(tmp_path), undisturbed)
    assert (place / "mine.npz").read_text() == "mine"
    (tmp_path / "manifest.json").unlink()
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(InputError, match=r"manifest\.json: not a regular file"):
        ask(tmp_path)


def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    """What is written replaces a link; where files would go through one, it is refused."""
    mine, folder = tmp_path / "mine.txt", tmp_path / "d"
    folder.mkdir()
    mine.write_text("precious")
    for name in ("manifest.json", ".owner"):
        (folder / name).symlink_to(mine)
    simulate_quietly(folder, runs=3)
    assert mine.read_text() == "precious"
    assert not (folder / "manifest.json").is_symlink()
    other, elsewhere = tmp_path / "other", tmp_path / "elsewhere"
    for place in (other, elsewhere):
        place.mkdir()
    (elsewhere / f"{'0' * 32}.npz").write_text("precious")
    (other / "chunks").symlink_to(elsewhere)
    with pytest.raises(StorageError, match="chunks: is a link"):
        ask(other, runs=3)
    assert [path.read_text() for path in elsewhere.iterdir()] == ["precious"]


ODD: list[Any] = [None, -1, 2**70, math.inf, "", "x", [], {}, [None], [[]], [1, 2], True]


def manifests(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield manifests with a field, or one of the first cell, that is missing or odd."""
    first, *others = whole["cells"]
    for key in whole:
        yield from ({**whole, key: value} for value in ODD)
        yield {name: value for name, value in whole.items() if name != key}
    for key in first:
        yield from ({**whole, "cells": [{**first, key: value}, *others]} for value in ODD)
        yield {**whole, "cells": [{k: v for k, v in first.items() if k != key}, *others]}


def test_forged_manifests_are_refused_in_a_line(tmp_path: Path) -> None:
    """Their digests are right: whoever can write a manifest can make one."""
    ask(tmp_path, runs=2)
    path = tmp_path / "manifest.json"
    whole = json.loads(path.read_text())
    del whole["digest"]
    refused = []
    for forged in manifests(whole):
        path.write_text(json.dumps({**forged, "digest": manifest._digest(forged)}))
        for use in (load_results, lambda folder: ask(folder, runs=2, seed=4)):
            try:
                use(tmp_path)
            except Error as error:
                refused.append(str(error))
    assert len(refused) > 400
    assert not any("\n" in message for message in refused)


PIECES: list[Any] = [
    [[0, 0, 10**9]],
    [[0, -1, 1]],
    [[0, 2, 0]],
    [[5, 0, 2]],
    [[-1, 0, 2]],
    [[0, 0, 2.0]],
    [[0, 0]],
    [[True, 0, 2]],
    [[0, 0, 2**70]],
    [["0", 0, 2]],
    [[0, 0, 2]] * 2,
    [],
    None,
    5,
]


def test_forged_chunks_are_refused_in_a_line(tmp_path: Path) -> None:
    """Their checksums are right, so they are not ours to remove."""
    ask(tmp_path, runs=2, policies=UCB1())
    for path in chunks(tmp_path)[1:]:
        path.unlink()
    (path,) = chunks(tmp_path)
    with np.load(path) as content:
        arrays = {name: content[name] for name in content.files}
    path.unlink()
    header = json.loads(str(arrays.pop("header")))
    pulls, plans = arrays["pulls"], arrays["plans"]
    forgeries: list[tuple[Any, dict[str, Any]]] = [
        *(({**header, "pieces": pieces}, arrays) for pieces in PIECES),
        *(({k: v for k, v in header.items() if k != key}, arrays) for key in header),
        *((header, {"pulls": odd, "plans": plans}) for odd in (pulls[:-1], -pulls, pulls * 1.0)),
        *((header, {"pulls": pulls, "plans": odd}) for odd in (plans[:-1], 0 * plans, plans[0])),
        (header, {"pulls": np.append(pulls, 1), "plans": plans}),
        (header, {"pulls": pulls}),
    ]
    for forged, odd in forgeries:
        stream = io.BytesIO()
        np.savez(stream, header=np.array(json.dumps(forged)), **odd)
        place = path.with_name(hashlib.sha256(stream.getvalue()).hexdigest()[:32] + ".npz")
        place.write_bytes(stream.getvalue())
        for use in (load_results, lambda folder: ask(folder, runs=2, policies=UCB1())):
            with pytest.raises(StorageError) as caught:
                use(tmp_path)
            assert place.name in str(caught.value)
            assert len(str(caught.value).splitlines()) == 1
        place.unlink()


def test_a_truth_called_like_a_model_is_not_taken_for_it(tmp_path: Path) -> None:
    problem = Problem.bernoulli([[0.9, 0.1], [0.2, 0.5]], models=["0.5,0.6", "y"])
    result = simulate(problem, UCB1(), truth=[0.5, 0.6], horizon=500, runs=5, out=tmp_path)
    again = load_results(tmp_path)["ucb1"]
    assert again.truth_means.tolist() == [0.5, 0.6]
    assert again.as_dict() == result.as_dict()


def test_another_versions_runs_are_left_and_played_again(
    tmp_path: Path, undisturbed: Result, played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        for module in (manifest, workers):
            older.setattr(module, "versions", lambda: {"fpbandits": "0.0.1"})
        ask(tmp_path)
    assert load_results(tmp_path)["ucb1"].versions == {"fpbandits": "0.0.1"}
    kept = chunks(tmp_path)
    with pytest.warns(
        UserWarning, match="runs of another version are left alone, and played again"
    ):
        assert_equal(ask(tmp_path), undisturbed)
    assert sum(played) == 360
    assert set(kept) < set(chunks(tmp_path))
    assert_equal(ask(tmp_path), undisturbed)  # and nothing more is said
    written = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(written | {"schema": 3}))
    with pytest.raises(StorageError, match=r"written with schema 3, and this version .* schema"):
        ask(tmp_path)


def test_what_is_kept_can_be_copied(tmp_path: Path, undisturbed: Result) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    ask(here)
    assert holds_runs(here)
    assert not holds_runs(there)
    for path, content in files_to_copy(here, there).items():
        path.write_bytes(content)
    assert_equal(ask(there), undisturbed)
    assert files_to_copy(here, there)
    ask(tmp_path / "other", seed=4)
    with pytest.raises(ConflictError, match="holds other results: name another folder"):
        files_to_copy(here, tmp_path / "other")


OWN = """
from fpbandits import UCB1

class Mine(UCB1):
    name = "mine"
"""


def test_results_load_where_their_policy_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_policy.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    their_policy = importlib.import_module("their_policy")
    result = ask(tmp_path / "out", policies=their_policy.Mine(), runs=4)
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, "their_policy")
    loaded = load_results(tmp_path / "out")["mine"]
    assert_equal(loaded, result)
    assert loaded.total_variation("mine") == result.total_variation("mine") > 0
    kept = ask(tmp_path / "worst_case", policies=UCB1(), runs=2, worst_case=True)
    assert load_results(tmp_path / "worst_case")["ucb1"].leap_error == kept.leap_error == 0


def test_runs_are_written_every_second_and_later_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash may cost a second of work, or a hundredth of it; large runs are written at once."""
    now = [1000.0]
    monkeypatch.setattr(store_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    problem = load_problem("paper:two")
    cells = {"ucb1": make_cell(problem, UCB1(), RunSpec(horizon=10, times=[10], runs=50))}
    done = iter(range(50))

    def written(after: float, bytes_at_most: int = 2**27) -> bool:
        monkeypatch.setattr(store_module, "MOST_FRESH", bytes_at_most)
        run, before = next(done), len(list(tmp_path.glob("**/*.npz")))
        pulls, plans = np.full((1, 1, 2), 5), np.ones(1, np.int64)
        store.add(workers.Played(workers.RunRange(0, run, run + 1), pulls, plans))
        now[0] += after
        store.write_if_due()
        return len(list(tmp_path.glob("**/*.npz"))) > before

    with Store(tmp_path, cells) as store:
        assert not written(0.9)
        assert written(0.2)
        assert not written(0.9)
        assert written(0.0, bytes_at_most=31)
        now[0] += 1000.0
        assert written(0.0)
        assert not written(9.9)
        assert written(0.3)
