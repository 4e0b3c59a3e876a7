"""Dask: the same bits as threads, whoever dies on the way."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from fpbandits import FPUCB, InputError, Result, Thompson, load_problem, simulate
from fpbandits.cli import main
from fpbandits.errors import LostWorkersError
from fpbandits.simulation import cluster, workers
from fpbandits.simulation.cluster import dask_executor, dask_workers
from fpbandits.simulation.store import load_results
from fpbandits.simulation.versions import versions


@pytest.fixture(scope="module")
def local() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found:
        yield found


@pytest.fixture
def client(local: LocalCluster) -> Iterator[Client]:
    with Client(local, set_as_default=False) as found:
        yield found


def ask(**options: Any) -> Result:
    """Some seconds of work."""
    return simulate(
        load_problem("paper:permutations"),
        [Thompson(), FPUCB()],
        horizon=20_000,
        runs=400,
        seed=2,
        leap=False,
        **options,
    )


@pytest.fixture(scope="module")
def undisturbed() -> Result:
    return ask()


def assert_equal(first: Result, second: Result) -> None:
    assert first.policies == second.policies
    for policy in first.policies:
        assert np.array_equal(first.pulls[policy], second.pulls[policy])
        assert np.array_equal(first.plans[policy], second.plans[policy])


def test_a_killed_worker_changes_nothing(
    client: Client, undisturbed: Result, tmp_path: Path
) -> None:
    """Both are killed, one after the other, each in the middle of a batch."""
    pids = list(client.run(os.getpid).values())
    assert len(set(pids)) == 2
    heard: list[float] = []

    def kill(name: str, share: float, share_of_all: float) -> None:
        heard.append(share_of_all)
        if len(heard) in (2, 5):
            os.kill(pids.pop(), signal.SIGKILL)

    found = ask(executor=client.get_executor(), progress=kill, out=tmp_path)
    assert pids == []
    assert_equal(found, undisturbed)
    assert heard[-1] == 1
    assert_equal(ask(out=tmp_path), undisturbed)


def test_the_command_runs_on_a_cluster(
    local: LocalCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["simulate", "paper:two", "--runs", "50", "--shuffle", "--json"]
    printed = []
    for more in ([], ["--dask", local.scheduler_address, "--out", str(tmp_path)]):
        with pytest.raises(SystemExit) as caught:
            main([*words, *more])
        assert caught.value.code == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert list(load_results(tmp_path)) == ["frugal"]
    study = tmp_path / "study.toml"
    study.write_text('problems = ["paper:two", "paper:grid"]\nruns = 5\nhorizons = [10, 20]')
    for name, more in (("threads", []), ("dask", ["--dask", local.scheduler_address])):
        with pytest.raises(SystemExit) as caught:
            main(["sweep", str(study), "--out", str(tmp_path / name), *more])
        assert caught.value.code == 0
    tables = [(tmp_path / name / "study.csv").read_bytes() for name in ("threads", "dask")]
    assert tables[0] == tables[1]
    worker = next(iter(local.workers.values())).worker_address
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main([*words, "--dask", worker])
    assert caught.value.code == 2
    assert "is no Dask scheduler's address: a worker answers there" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main([*words, "--workers", "2", "--dask", local.scheduler_address])
    assert caught.value.code == 2


def test_workers_are_counted(local: LocalCluster, client: Client) -> None:
    assert dask_workers(client.get_executor()) == 2
    with dask_executor(local.scheduler_address) as executor:
        assert dask_workers(executor) == 2
    assert dask_workers(executor) is None
    with ThreadPoolExecutor(1) as threads:
        assert dask_workers(threads) is None


def test_other_versions_on_a_worker_are_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = versions()
    monkeypatch.setattr(workers, "versions", lambda: ours | {"numpy": "1.0"})
    with pytest.raises(InputError, match=r"a worker has numpy .*, and here it is 1\.0: .* install"):
        ask(executor=client.get_executor())


def test_where_no_one_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        for address, message in (
            (f"127.0.0.1:{port}", f"no Dask scheduler answers at '127.0.0.1:{port}' within 1 s"),
            ("tcp://127.0.0.1:9", "no Dask scheduler answers at 'tcp://127.0.0.1:9' within 1 s"),
            ("localhost", "'localhost' is no Dask scheduler's address: missing port number"),
            ("smoke://a:1", "is no Dask scheduler's address: unknown address scheme 'smoke'"),
            ("", "'' is no Dask scheduler's address: missing port number"),
            ("tls://127.0.0.1:9", "'tls://127.0.0.1:9' is no Dask scheduler's address: TLS"),
        ):
            with pytest.raises(SystemExit) as caught:
                main(["simulate", "paper:two", "--dask", address])
            output = capsys.readouterr()
            assert (caught.value.code, output.out) == (2, "")
            assert output.err.startswith("error: ")
            assert message in output.err
            assert output.err.endswith("; expected one such as tcp://10.0.0.1:8786\n")
            assert output.err.count("\n") == 1


def test_a_lost_cluster_loses_nothing(undisturbed: Result, tmp_path: Path) -> None:
    heard: list[float] = []
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as own:
        client = Client(own.scheduler_address, set_as_default=False)

        def close(name: str, share: float, share_of_all: float) -> None:
            heard.append(share_of_all)
            if len(heard) == 2:
                own.close()

        with pytest.raises(
            LostWorkersError, match=r"the workers are lost .*; finished runs are kept in"
        ):
            ask(executor=client.get_executor(), progress=close, out=tmp_path)
        client.close()
    assert list((tmp_path / "chunks").glob("*.npz"))
    assert_equal(ask(out=tmp_path), undisturbed)
