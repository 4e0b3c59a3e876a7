"""What is kept survives: whatever ends a simulation, the next one ends with the same bits."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, InputError, Problem, Result, Thompson, load_problem, simulate
from fpbandits.cli import main
from fpbandits.errors import StorageError
from fpbandits.policies.base import digest_of_sources
from fpbandits.simulation import store, workers
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.result import versions
from fpbandits.simulation.runner import load_results
from fpbandits.storage import write_aside

POLICIES = [FPUCB(), UCB1(), Thompson()]
COMMAND = [sys.executable, "-c", "from fpbandits.cli import main; main()"]


def ask(out: Path | None, **changes: Any) -> Result:
    question: dict[str, Any] = {"horizon": 2000, "runs": 60, "seed": 3, "shuffle": True}
    policies = changes.pop("policies", POLICIES)
    return simulate(load_problem("paper:two"), policies, out=out, **(question | changes))


@pytest.fixture(scope="module")
def undisturbed() -> Result:
    return ask(None)


def assert_equal(first: Result, second: Result) -> None:
    assert first.policies == second.policies
    for policy in first.policies:
        assert np.array_equal(first.pulls[policy], second.pulls[policy])
        assert np.array_equal(first.plans[policy], second.plans[policy])
    assert first.as_dict() == second.as_dict()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the runs that are really played."""
    counts: list[int] = []
    play = Cell.play

    def counting(cell: Cell, runs: range, *others: Any) -> Any:
        found = play(cell, runs, *others)
        counts.append(len(found[1]))
        return found

    monkeypatch.setattr(Cell, "play", counting)
    return counts


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small files: a few runs a chunk, and a file for each."""
    monkeypatch.setattr(workers, "SECONDS", 0.0)
    monkeypatch.setattr(store, "EVERY", 0.0)


def files(out: Path) -> list[Path]:
    return sorted((out / "chunks").iterdir())


# Resuming


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
        ({"true": "theta2"}, "true 'theta1' there, 'theta2' here"),
        ({"shuffle": False}, "shuffle True there, False here"),
        ({"leap": False}, "leap True there, False here"),
        ({"exact": True}, "exact False there, True here"),
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
    with pytest.raises(InputError) as caught:
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
        assert np.array_equal(result.true_means, undisturbed.true_means)
        assert (result.seed, result.settings) == (undisturbed.seed, undisturbed.settings)
    outside = simulate(load_problem("paper:two"), true=[0.7, 0.4], runs=2, out=tmp_path / "b")
    again = load_results(tmp_path / "b")["optimist"]
    assert (again.true, again.true_means.tolist()) == (outside.true, [0.7, 0.4])
    files(tmp_path)[0].unlink()
    with pytest.raises(InputError, match=r"runs? of 180 are not finished: the command that began"):
        load_results(tmp_path)


@pytest.mark.usefixtures("often")
def test_what_is_there_of_an_unfinished_folder(tmp_path: Path, undisturbed: Result) -> None:
    """Every third file is taken away: of each cell, the runs before the first that is missing."""
    ask(tmp_path)
    for path in files(tmp_path)[::3]:
        path.unlink()
    there: list[set[int]] = [set(), set(), set()]
    for path in files(tmp_path):
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
    """Read with NumPy and JSON alone, as the docstring of `checkpoint` tells."""
    ask(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["schema"] == 1
    names = [cell["name"] for cell in manifest["cells"]]
    found = {name: np.zeros_like(undisturbed.pulls[name]) for name in names}
    for path in files(tmp_path):
        with np.load(path) as arrays:
            header, pulls = json.loads(str(arrays["header"])), arrays["pulls"]
        assert header["schema"] == 1
        assert header["versions"] == undisturbed.versions
        for cell, start, stop in header["pieces"]:
            target = found[names[cell]][start:stop]
            target[:] = pulls[: target.size].reshape(target.shape)
            pulls = pulls[target.size :]
        assert pulls.size == 0
    for name in names:
        assert np.array_equal(found[name], undisturbed.pulls[name])


# Damage


@pytest.mark.usefixtures("often")
def test_damaged_chunks_are_found_out_and_played_again(
    tmp_path: Path, undisturbed: Result, played: list[int]
) -> None:
    ask(tmp_path)
    chunks = files(tmp_path)
    assert len(chunks) >= 5
    contents = [path.read_bytes() for path in chunks]
    chunks[0].write_bytes(contents[0][:-30])
    altered = bytearray(contents[1])
    altered[len(altered) // 2] ^= 1
    chunks[1].write_bytes(altered)
    chunks[2].write_bytes(b"")
    chunks[3].write_bytes(contents[4])
    played.clear()
    with pytest.warns(UserWarning, match="its runs are played again") as remarks:
        assert_equal(ask(tmp_path), undisturbed)
    assert len(remarks) == 4
    for path in chunks[:4]:
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
    with pytest.raises(StorageError, match=r"manifest\.json: (damaged|not a manifest)"):
        load_results(tmp_path)
    if content == '{"a": 1}':
        with pytest.raises(InputError, match="not a manifest of fpbandits"):
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
    before = files(tmp_path)
    played.clear()
    for damage in (None, "{"):
        if damage:
            (tmp_path / "manifest.json").write_text(damage)
        with pytest.raises(InputError, match=r"npz: holds other runs: name another folder"):
            simulate_quietly(tmp_path, seed=4)
    assert played == []
    assert files(tmp_path) == before
    assert simulate_quietly(tmp_path).seed == 3
    assert played == []


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
    before = files(tmp_path)
    monkeypatch.setattr(np, "load", fails)
    with pytest.raises(error):
        ask(tmp_path)
    assert files(tmp_path) == before


def test_what_is_not_ours_is_left_alone(tmp_path: Path, undisturbed: Result) -> None:
    ask(tmp_path)
    chunks = tmp_path / "chunks"
    (chunks / "mine.npz").write_text("mine")
    (chunks / ".x.aside").mkdir()
    os.mkfifo(chunks / f"{'0' * 32}.npz")
    (chunks / f"{'1' * 32}.npz").symlink_to("nowhere")
    assert_equal(ask(tmp_path), undisturbed)
    assert (chunks / "mine.npz").read_text() == "mine"
    (tmp_path / "manifest.json").unlink()
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(InputError, match=r"manifest\.json: not a regular file"):
        ask(tmp_path)


def test_a_truth_called_like_a_parameter_is_not_taken_for_it(tmp_path: Path) -> None:
    problem = Problem.bernoulli([[0.9, 0.1], [0.2, 0.5]], parameters=["0.5,0.6", "y"])
    result = simulate(problem, UCB1(), true=[0.5, 0.6], horizon=500, runs=5, out=tmp_path)
    again = load_results(tmp_path)["ucb1"]
    assert again.true_means.tolist() == [0.5, 0.6]
    assert again.as_dict() == result.as_dict()


def test_a_policy_of_ones_own_is_known_by_its_code(tmp_path: Path) -> None:
    def policy(body: str) -> Any:
        path = tmp_path / f"{body}.py"
        path.write_text(
            "from fpbandits import UCB1\n\n\nclass Mine(UCB1):\n"
            f"    name = 'mine'\n    note = '{body}'\n"
        )
        spec = importlib.util.spec_from_file_location(body, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["mine"] = module
        spec.loader.exec_module(module)
        kind = module.Mine
        kind.__module__ = "mine"
        return kind()

    out = tmp_path / "out"
    ask(out, policies=policy("one"), runs=2)
    ask(out, policies=policy("one"), runs=3)
    with pytest.raises(InputError, match=r"holds other runs \(code 'mine\.Mine"):
        ask(out, policies=policy("two"), runs=3)
    del sys.modules["mine"]


def test_all_that_decides_about_runs_has_a_version() -> None:
    """SciPy solves programs for some policies, and the theory makes what others play by."""
    assert {"fpbandits", "numpy", "scipy", "numba", "python", "sources"} == versions().keys()
    assert len({digest_of_sources(), digest_of_sources("theory/*.py")}) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "glob", lambda path, pattern: [])
        assert digest_of_sources("theory/*.py") == digest_of_sources()


def test_another_versions_runs_are_left_and_played_again(
    tmp_path: Path, undisturbed: Result, played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        for module in (store, workers):
            older.setattr(module, "versions", lambda: {"fpbandits": "0.0.1"})
        ask(tmp_path)
    assert load_results(tmp_path)["ucb1"].versions == {"fpbandits": "0.0.1"}
    kept = files(tmp_path)
    with pytest.warns(UserWarning, match="what another version played is left, and played again"):
        assert_equal(ask(tmp_path), undisturbed)
    assert sum(played) == 360
    assert set(kept) < set(files(tmp_path))
    assert_equal(ask(tmp_path), undisturbed)  # and nothing more is said
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"schema": 2}))
    with pytest.raises(InputError, match=r"written with schema 2, and this version .* schema 1"):
        ask(tmp_path)


# Crashes


@pytest.mark.usefixtures("often")
def test_killed_at_any_moment_many_times_over(tmp_path: Path, undisturbed: Result) -> None:
    """A forked process, so that each is at work within milliseconds."""
    random = np.random.default_rng(0)
    kills = 0
    for _ in range(60):
        child = os.fork()
        if child == 0:
            try:
                ask(tmp_path)
            finally:
                os._exit(0)
        time.sleep(random.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert kills > 10
    assert_equal(ask(tmp_path), undisturbed)
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".aside")]
    read = load_results(tmp_path)
    assert np.array_equal(read["thompson"].pulls["thompson"], undisturbed.pulls["thompson"])


def command(out: Path, runs: int = 400) -> list[str]:
    words = ["simulate", "paper:permutations", "--policy", "thompson", "--policy", "fp-ucb"]
    return [*words, "--step", "--horizon", "2e4", "--runs", str(runs), "--out", str(out)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes if nothing disturbs it."""
    out = tmp_path_factory.mktemp("whole")
    with pytest.raises(SystemExit) as caught:
        main(command(out))
    assert caught.value.code == 0
    return out


def assert_same_products(out: Path, whole: Path) -> None:
    assert (out / "regret.csv").read_bytes() == (whole / "regret.csv").read_bytes()
    assert_equal(Result.load(out / "result.npz"), Result.load(whole / "result.npz"))


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start commands, none of which outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def command_line(words: list[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Where the tests run in the background, a child would inherit that Ctrl-C is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield command_line
    for process in started:
        process.kill()
        process.communicate()


def wait_for_chunk(out: Path, more_than: int = 0) -> None:
    for _ in range(600):
        if (out / "chunks").is_dir() and len(list((out / "chunks").glob("*.npz"))) > more_than:
            return
        time.sleep(0.05)
    raise AssertionError("nothing was kept within 30 s")


def test_two_processes_ctrl_c_and_sigkill_on_one_folder(
    tmp_path: Path, whole: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """What is disturbed asks for so many runs that it cannot have ended by then."""
    out = tmp_path / "out"
    first = start(command(out, runs=10**5))
    wait_for_chunk(out)
    second = start(command(out))
    error = second.communicate(timeout=60)[1]
    assert second.returncode == 2
    assert error.startswith(f"error: {out}: process {first.pid} on ")
    assert error.endswith("is at work there: wait for it, or name another folder\n")
    assert error.count("\n") == 1

    first.send_signal(signal.SIGINT)
    text, error = first.communicate(timeout=60)
    assert (first.returncode, text) == (130, "")
    assert f"%: finished runs are kept in {out}, and the same command goes on from there\n" in error
    assert error.count("\n") == 1

    kept = len(files(out))
    third = start(command(out, runs=10**5))
    wait_for_chunk(out, more_than=kept)
    third.kill()
    third.communicate()
    with pytest.raises(SystemExit) as caught:
        main(command(out))
    assert caught.value.code == 0
    assert_same_products(out, whole)


def test_a_full_disk_loses_nothing(
    tmp_path: Path,
    whole: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit on the size of files stands for it; the first chunks are smaller, one is larger."""
    monkeypatch.setattr(workers, "SECONDS", 0.05)
    monkeypatch.setattr(store, "EVERY", 0.1)
    out = tmp_path / "out"
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    writes: list[int] = []

    def filling(path: Path, content: bytes) -> None:
        writes.append(len(content))
        if len(writes) == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) // 2, unlimited[1]))
        write_aside(path, content)

    monkeypatch.setattr(store, "write_aside", filling)
    try:
        with pytest.raises(SystemExit) as caught:
            main(command(out))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.startswith(f"error: {out / 'chunks'}")
    assert error.endswith("cannot be written (File too large)\n")
    assert error.count("\n") == 1
    assert len(files(out)) == 2
    assert not list(out.glob("re*"))
    monkeypatch.setattr(store, "write_aside", write_aside)
    with pytest.raises(SystemExit):
        main(command(out))
    assert_same_products(out, whole)


def test_a_folder_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, played: list[int]
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        with pytest.raises(StorageError, match="cannot be written to"):
            ask(place)
    assert played == []


def test_one_process_does_not_work_twice_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def again(*others: object) -> None:
        with pytest.raises(InputError, match=f"process {os.getpid()} .*is at work there"):
            ask(out)
        # Neither a copy, nor a child, nor another working directory opens the lock.
        shutil.copytree(out, tmp_path / "copy", dirs_exist_ok=True)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(InputError, match="is at work there"):
            ask(out)

    ask(out, progress=again)
    ask(out)


def test_a_forked_child_does_not_hold_the_lock(tmp_path: Path, undisturbed: Result) -> None:
    """Workers of a pool may outlive a process that was killed."""
    children: list[int] = []

    def fork(*others: object) -> None:
        if not children:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)

    try:
        ask(tmp_path, progress=fork)
        assert_equal(ask(tmp_path), undisturbed)
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def test_an_executor_that_is_shut_down_is_said_to_be(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as pool:
        pass
    with pytest.raises(InputError, match=r"the workers are lost \(RuntimeError: cannot schedule"):
        ask(tmp_path, executor=pool)


def test_a_process_pool_that_breaks_loses_nothing(tmp_path: Path, undisturbed: Result) -> None:
    def kill(pool: ProcessPoolExecutor) -> Iterator[None]:
        yield
        for process in list(pool._processes.values()):
            process.kill()
            yield

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        killing = kill(pool)
        with pytest.raises(
            InputError, match=r"the workers are lost \(BrokenProcessPool: .*are kept in"
        ):
            ask(tmp_path, runs=4000, executor=pool, progress=lambda *_: next(killing, None))
    assert files(tmp_path)
    assert_equal(ask(tmp_path), undisturbed)
