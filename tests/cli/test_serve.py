"""The server as a process: up, asked, stopped; and up again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from command import COMMAND, refusal, run
from waiting import LONG, wait_until

import fpbandits as fpb
from fpbandits.service.statuses import ForbiddenError
from fpbandits.service.tokens import TokenFile, authorize


@contextmanager
def served(folder: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server, and give its address and process."""
    command = [*COMMAND, "serve", "--port", "0", *words]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.fullmatch(r"serving at (http://127\.0\.0\.1:\d+) from \S+\n", line)
        assert found, line + process.stderr.read()
        yield found[1], process
    finally:
        process.kill()
        process.communicate()


def test_it_serves_until_ctrl_c_and_goes_on_from_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = tmp_path / "tokens"
    code, token, said = run(capsys, "token", str(tokens), "--role", "admin")
    assert (code, len(token.split())) == (0, 1)
    assert "shown only now" in said
    words = ("--token-file", str(tokens))
    for ending in (signal.SIGINT, signal.SIGKILL):
        with (
            served(tmp_path, *words) as (address, process),
            fpb.Client(address, token.strip(), experiment="e", timeout=LONG) as client,
        ):
            client.create("paper:two", policy="ucb1")
            assert client.ask("u", key=str(ending)).id == f"{int(ending == signal.SIGKILL)}@u"
            os.kill(process.pid, ending)
            _, errors = process.communicate(timeout=LONG)
            if ending == signal.SIGINT:
                assert process.returncode == 130
                lines = [json.loads(line) for line in errors.splitlines()]
                assert lines[-1]["message"] == "stopped"
                assert token.strip() not in errors
    assert run(capsys, "verify", str(tmp_path / "fpbandits.db"))[:2] == (
        0,
        "2 decisions, all as logged\n",
    )


def test_what_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    assert "name a --token-file" in refusal(capsys, "serve", "--store", store, "--host", "0.0.0.0")
    assert "mysql" in refusal(capsys, "serve", "--port", "0", "--store", "mysql://x")
    assert "no such file" in refusal(
        capsys, "serve", "--store", store, "--token-file", str(tmp_path / "none")
    )
    nobody = ("token", str(tmp_path / "t"), "--experiment", "")
    assert "--experiment is empty" in refusal(capsys, *nobody)
    assert not (tmp_path / "t").exists()
    assert "unknown role" in refusal(capsys, "token", str(tmp_path / "t"), "--role", "root")
    assert list(tmp_path.iterdir()) == []


def test_tokens_are_for_the_experiments_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = tmp_path / "tokens"
    _, of_two, _ = run(capsys, "token", str(tokens), "--experiment", "a", "--experiment", "b")
    _, of_all, _ = run(capsys, "token", str(tokens))
    roles = TokenFile(tokens)
    for token, names in ((of_two, "ab"), (of_all, "abc")):
        for name in "abc":
            refused: AbstractContextManager[Any] = nullcontext()
            if name not in names:
                refused = pytest.raises(ForbiddenError)
            with refused:
                authorize(roles, {"authorization": f"Bearer {token.strip()}"}, "decide", name)


def test_sigterm_says_not_ready_first_and_then_stops(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("drain_seconds = 600\n")
    with (
        served(tmp_path, "--settings", str(settings)) as (address, process),
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        assert client.get("/ready").status_code == 200
        os.kill(process.pid, signal.SIGTERM)
        wait_until(lambda: client.get("/ready").status_code == 503)
        assert client.get("/health").status_code == 200  # it goes on
        os.kill(process.pid, signal.SIGTERM)  # the second one is meant
        assert process.wait(LONG) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
