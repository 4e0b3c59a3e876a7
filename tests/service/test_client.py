"""The client: what it sends, what it makes of answers, and when it sends again."""

from __future__ import annotations

import random
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from serving import serving
from waiting import LONG

import fpbandits as fpb
from fpbandits.service import client as client_module
from fpbandits.service.client import Served
from fpbandits.service.http import make_app
from fpbandits.service.statuses import MissingError
from fpbandits.service.store import open_store


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(str(tmp_path_factory.mktemp("client") / "a.db"), make=True)
    with serving(make_app(store, patience=LONG)) as address:
        yield address


@pytest.fixture
def client(address: str) -> Iterator[fpb.Client]:
    with fpb.Client(address, experiment="e", timeout=LONG, patience=0) as client:
        client.create("paper:two", policy="ucb1")
        yield client


def test_ask_tell_forget_and_look(client: fpb.Client) -> None:
    decision = client.ask("ask", key="k")
    assert decision == Served("0@ask", "ask", "arm1") == client.ask("ask", key="k")
    assert client.ask("ask").id == "1@ask"
    assert client.tell(decision, 1.0) == client.tell(decision.id, 1) == "told"
    assert client.forget("1@ask") == "forgotten"
    assert client.unit("ask")["plays"] == {"arm1": 1, "arm2": 0}
    with pytest.raises(fpb.ConflictError, match="has the reward"):
        client.tell(decision, 0.0)
    with pytest.raises(fpb.UnknownError, match=r"^unknown decision '9@ask'") as unknown:
        client.tell("9@ask", 0.0)
    assert unknown.value.place == ("decision", "9@ask")
    with pytest.raises(fpb.InputError, match="outside the range"):
        client.tell(client.ask("ask"), 7)
    with pytest.raises(fpb.InputError, match="JSON"):
        client.tell(client.ask("ask"), float("nan"))
    with pytest.raises(fpb.UnknownError, match="unknown experiment 'none'"):
        client.ask("u", experiment="none")
    assert [line["kind"] for line in client.log() if line["unit"] == "ask"][:4] == [
        "decision",
        "decision",
        "reward",
        "forgot",
    ]


def test_eligible_arms_and_what_is_believed(client: fpb.Client) -> None:
    assert client.ask("some", among=["arm2"]).arm == "arm2"
    first, wrong = client.ask_all(
        [{"unit": "s2", "among": {"arm2"}}, {"unit": "s3", "among": ["arm9"]}]
    )
    assert isinstance(first, Served)
    assert first.arm == "arm2"
    assert isinstance(wrong, fpb.InputError)
    assert str(wrong).startswith("unknown arm 'arm9'")
    with pytest.raises(fpb.InputError, match="at least one, not 'arm2'"):
        client.ask("some", among="arm2")
    shown = client.unit("some", error=0.3)
    assert shown["posterior"] == {"theta1": 0.5, "theta2": 0.5}
    assert shown["best_arm"]["arm"] in ("arm1", "arm2")
    assert shown["verdict"] is None
    assert shown["why"]["policy"] == "ucb1"
    with pytest.raises(fpb.InputError, match=r"error is '2.0'"):
        client.unit("some", error=2.0)


def test_a_fallback_is_played_when_no_answer_comes_and_its_reward_goes_nowhere(
    client: fpb.Client,
) -> None:
    decision = client.ask_or("arm2", "hasty", within=LONG, key="k")
    assert (decision.id, decision.arm, decision.is_fallback) == ("0@hasty", "arm1", False)
    # A server that takes connections, and never answers.
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        fpb.Client(f"http://127.0.0.1:{silent.getsockname()[1]}", experiment="e") as waiting,
    ):
        fallback = waiting.ask_or("arm2", "hasty", within=0.05)
    assert (fallback.arm, fallback.is_fallback) == ("arm2", True)
    assert client.tell(fallback, 1.0) == "fallback"
    for call in (client.forget, lambda each: client.tell_all([(each, 1.0)])):
        with pytest.raises(fpb.InputError, match="it was the fallback"):
            call(fallback)
    assert [line["kind"] for line in client.log() if line["unit"] == "hasty"] == ["decision"]
    with pytest.raises(fpb.InputError):
        client.ask_or("arm2", "")


def test_many_at_once(client: fpb.Client) -> None:
    first, wrong, second = client.ask_all([{"unit": "m1"}, {"unit": ""}, {"unit": "m/2"}])
    assert isinstance(first, Served)
    assert isinstance(second, Served)
    assert isinstance(wrong, fpb.InputError)
    assert (str(wrong), wrong.place) == ("unit: its name is empty", ("unit",))
    assert second.unit == "m/2"
    told = client.tell_all([(first, 1.0), ("7@m1", 1.0), (second, 0.0)])
    assert (told[0], told[2]) == ("told", "told")
    assert isinstance(told[1], fpb.UnknownError)
    assert client.unit("m/2")["pending"] == {}
    assert client.ask_all([]) == client.tell_all([]) == []


def test_an_experiment_is_made_of_a_problem(client: fpb.Client) -> None:
    problem = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], contexts=None)
    made = client.create(problem, experiment="an other one?", policy="fp-ucb", seed=7)
    assert (made["name"], made["policy"], made["seed"]) == ("an other one?", "fp-ucb", 7)
    assert client.ask("u", experiment="an other one?").arm in problem.arms
    with pytest.raises(fpb.ConflictError):
        client.create(problem, experiment="an other one?")


class Flaky(BaseHTTPRequestHandler):
    """Answers badly as often as it is told to; keeps what it was sent."""

    answers: ClassVar[list[int]] = []
    bodies: ClassVar[list[bytes]] = []
    tokens: ClassVar[list[str | None]] = []
    missing = b'{"error": "unknown experiment", "place": ["experiment", "e"]}'

    def do_POST(self) -> None:
        self.tokens.append(self.headers["authorization"])
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        status = self.answers.pop(0)
        content = b'{"decision": "0@u", "unit": "u", "arm": "a"}' if status == 200 else b"proxy"
        self.answer(status, content)

    def answer(self, status: int, content: bytes) -> None:
        if status == 0:  # it did its work, and dies before the answer
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_DELETE(self) -> None:
        self.answer(self.answers.pop(0), self.missing)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def flaky() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Flaky)
    Flaky.answers, Flaky.bodies, Flaky.tokens = [], [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_was_not_answered_is_sent_again_under_the_same_key(flaky: str) -> None:
    Flaky.answers = [503, 0, 502, 200]
    with fpb.Client(flaky, "token", experiment="e", timeout=LONG, patience=10) as client:
        assert client.ask("u").arm == "a"
    assert len(Flaky.bodies) == 4
    assert len(set(Flaky.bodies)) == 1
    assert b'"key"' in Flaky.bodies[0]


def test_patience_ends_and_other_errors_are_not_repeated(flaky: str) -> None:
    Flaky.answers = [503] * 100
    with fpb.Client(flaky, experiment="e", timeout=LONG, patience=0.2) as client:
        with pytest.raises(fpb.UnavailableError, match="503"):
            client.ask("u")
        assert 1 < len(Flaky.bodies) < 10
        for status, kind in ((401, fpb.RefusedError), (413, fpb.TooLargeError), (500, fpb.Error)):
            Flaky.answers, before = [status], len(Flaky.bodies)
            with pytest.raises(kind, match=str(status)):
                client.ask("u")
            assert len(Flaky.bodies) == before + 1


@pytest.mark.parametrize("lost", [503, 0])
def test_what_a_repeated_deletion_does_not_find_was_deleted(
    flaky: str, lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fpb.Client(flaky, experiment="e", timeout=LONG, patience=LONG) as client:
        Flaky.answers = [lost, 404]
        client.delete()
        Flaky.answers = [404]
        with pytest.raises(MissingError, match="unknown experiment"):
            client.delete()
        Flaky.answers = [lost, 404]
        with pytest.raises(MissingError, match="unknown experiment"):
            client.erase("u")
        monkeypatch.setattr(Flaky, "missing", b"a proxy knows of no server")
        Flaky.answers = [lost, 404]
        with pytest.raises(MissingError, match="404"):
            client.delete()


def test_nobody_there_is_unavailable() -> None:
    with (
        fpb.Client("http://127.0.0.1:1", experiment="e", timeout=LONG, patience=0.1) as client,
        pytest.raises(fpb.UnavailableError, match=r"http://127\.0\.0\.1:1"),
    ):
        client.ask("u")


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(fpb.InputError, match="url is 'localhost:8000'"):
        fpb.Client("localhost:8000")
    with (
        fpb.Client("http://127.0.0.1:1") as client,
        pytest.raises(fpb.InputError, match="which experiment"),
    ):
        client.ask("u")


def test_without_httpx_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(fpb.InputError, match=r"pip install 'fpbandits\[serve\]'"):
        fpb.Client("http://127.0.0.1:1")


def test_names_are_kept_out_of_paths(tmp_path: Path) -> None:
    client = fpb.Client("http://127.0.0.1:1", experiment="../x y/é")
    assert client._path(None, "units", "a/b?c") == (
        "/v1/experiments/..%2Fx%20y%2F%C3%A9/units/a%2Fb%3Fc"
    )
    client.close()


class Sleepless:
    """In place of `time`: a clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Sleepless:
    """A clock of the client's, and pauses of four fifths of the longest."""
    found = Sleepless()

    def draw(least: float, most: float) -> float:
        assert (least, most) == (0.5, 1.0)
        return 0.8

    monkeypatch.setattr(client_module, "time", found)
    monkeypatch.setattr(random, "uniform", draw)
    return found


def silent(client: fpb.Client) -> list[float]:
    """Let nobody answer a client; return the limits of the requests to come."""
    limits: list[float] = []

    def request(method: str, path: str, *, json: object, timeout: float) -> Any:
        limits.append(timeout)
        raise httpx.ConnectError("nobody is there")

    client._http.request = request  # type: ignore[method-assign, assignment]
    return limits


def test_pauses_grow_up_to_two_seconds_for_as_long_as_its_patience(clock: Sleepless) -> None:
    with fpb.Client("http://127.0.0.1:1", experiment="e") as client:
        limits = silent(client)
        with pytest.raises(fpb.UnavailableError, match="nobody is there"):
            client.ask("u")
    # At 0.8 × (0.05 + … + 1.6 + 16 × 2) = 28.12 s, another 2 s might be more than 30.
    pauses = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, *[2.0] * 16]
    assert clock.slept == pytest.approx([0.8 * pause for pause in pauses])
    assert limits == [15.0] * 23


def test_a_pause_that_ends_with_the_patience_is_made(clock: Sleepless) -> None:
    for patience, pauses in ((0.05, 1), (0.04, 0), (0.3, 2), (0.36, 3)):
        clock.slept.clear()
        client = fpb.Client("http://127.0.0.1:1", experiment="e", patience=patience)
        clock.now = 0.0
        silent(client)
        with client, pytest.raises(fpb.UnavailableError):
            client.ask("u")
        assert len(clock.slept) == pauses


def test_how_long_an_answer_may_take(clock: Sleepless) -> None:
    client = fpb.Client("http://127.0.0.1:1", experiment="e", patience=0, timeout=3.0)
    with client:
        limits = silent(client)
        for call in (
            lambda: client.ask("u"),
            lambda: client.create("paper:two"),  # it may have to be compiled
            lambda: client.unit("u"),
        ):
            with pytest.raises(fpb.UnavailableError):
                call()
        assert client.ask_or("a", "u").is_fallback
        assert client.ask_or("a", "u", within=0.7).is_fallback
    assert limits == [3.0, 120.0, 3.0, 0.2, 0.7]
    assert clock.slept == []


def test_a_fallback_is_played_at_once_whatever_the_patience(clock: Sleepless) -> None:
    with fpb.Client("http://127.0.0.1:1", experiment="e", patience=30) as client:
        limits = silent(client)
        assert client.ask_or("a", "u") == Served("", "u", "a")
        assert len(limits) == 1


def test_a_token_is_sent(flaky: str) -> None:
    Flaky.answers = [200, 200]
    for token in ("secret", None):
        with fpb.Client(flaky, token, experiment="e", timeout=LONG) as client:
            client.ask("u")
    assert Flaky.tokens == ["Bearer secret", None]


@pytest.mark.parametrize("url", [7, None, "localhost:8000", "ftp://x"])
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(fpb.InputError, match="url is"):
        fpb.Client(url)
