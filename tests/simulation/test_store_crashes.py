"""Whatever ends a simulation, the next one ends with the same bits."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from kept import ask, assert_equal, chunks
from waiting import LONG, wait_until

from fpbandits import Result
from fpbandits.cli import main
from fpbandits.core.storage import write_aside
from fpbandits.errors import ConflictError, LostWorkersError, StorageError
from fpbandits.simulation import store, workers
from fpbandits.simulation.store import load_results

COMMAND = [sys.executable, "-c", "from fpbandits.cli import main; main()"]


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
    return [*words, "--no-leap", "--horizon", "1e4", "--runs", str(runs), "--out", str(out)]


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
    wait_until(lambda: len(list((out / "chunks").glob("*.npz"))) > more_than)


def test_two_processes_ctrl_c_and_sigkill_on_one_folder(
    tmp_path: Path, whole: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """What is disturbed asks for so many runs that it cannot have ended by then."""
    out = tmp_path / "out"
    first = start(command(out, runs=10**5))
    wait_for_chunk(out)
    second = start(command(out))
    error = second.communicate(timeout=LONG)[1]
    assert second.returncode == 2
    assert error.startswith(f"error: {out}: process {first.pid} on ")
    assert error.endswith("is at work there: wait for it, or name another folder\n")
    assert error.count("\n") == 1

    first.send_signal(signal.SIGINT)
    text, error = first.communicate(timeout=LONG)
    assert (first.returncode, text) == (130, "")
    assert f"%: finished runs are kept in {out}, and the same command goes on from there\n" in error
    assert error.count("\n") == 1

    kept = len(chunks(out))
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
    monkeypatch.setattr(workers, "SECONDS", 0.025)
    monkeypatch.setattr(store, "EVERY", 0.05)
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
    assert len(chunks(out)) == 2
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
        with pytest.raises(ConflictError, match=f"process {os.getpid()} .*is at work there"):
            ask(out)
        # Neither a copy, nor a child, nor another working directory opens the lock.
        shutil.copytree(out, tmp_path / "copy", dirs_exist_ok=True)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(ConflictError, match="is at work there"):
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
    with pytest.raises(
        LostWorkersError, match=r"the workers are lost \(RuntimeError: cannot schedule"
    ):
        ask(tmp_path, executor=pool)


def test_a_process_pool_that_breaks_loses_nothing(tmp_path: Path, undisturbed: Result) -> None:
    """A worker ends as a task begins. Ended while it sends, Python's pool would wait for ever."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:

        def end_a_worker(*_: object) -> None:
            if (tmp_path / "chunks").exists() and chunks(tmp_path):
                with suppress(BrokenProcessPool):
                    pool.submit(os._exit, 1)

        with pytest.raises(
            LostWorkersError, match=r"the workers are lost \(BrokenProcessPool: .*are kept in"
        ):
            ask(tmp_path, runs=4000, executor=pool, progress=end_a_worker)
    assert chunks(tmp_path)
    assert_equal(ask(tmp_path), undisturbed)
