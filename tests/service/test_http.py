"""The service over HTTP: what goes in, what comes out, and who may."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Event as Signal
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from serving import serving
from stores import CONTEXTS, PROBLEM, THREE_ARMS, one, put
from waiting import LONG, wait_until

import fpbandits as fpb
from fpbandits import __version__
from fpbandits.errors import ConflictError, Error, StorageError, UnavailableError, UnknownError
from fpbandits.service import backend, http, messages
from fpbandits.service import store as store_module
from fpbandits.service.experiment import Experiment, Kept, checked_experiment
from fpbandits.service.http import make_app
from fpbandits.service.logs import JsonFormatter
from fpbandits.service.messages import LARGEST_BODY, MOST_ITEMS, Ask
from fpbandits.service.settings import Settings
from fpbandits.service.store import Logged, Store, open_store
from fpbandits.service.tokens import TokenFile, add_token, read_tokens
from fpbandits.service.verify import verify

EXPERIMENT = {"problem": PROBLEM, "policy": "ucb1"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http") / "store.db"


@pytest.fixture(scope="module")
def server(path: Path) -> Iterator[httpx.Client]:
    # A busy machine may take long; a store that is locked says so soon.
    app = make_app(open_store(str(path), make=True, patience=0.5), patience=LONG)
    with serving(app) as address, httpx.Client(base_url=address, timeout=LONG) as client:
        for name, problem in (("e", PROBLEM), ("c", CONTEXTS)):
            body = {**EXPERIMENT, "problem": problem}
            assert client.put(f"/v1/experiments/{name}", json=body).status_code == 201
        yield client


def post(server: httpx.Client, what: str, body: Any, experiment: str = "e") -> tuple[int, Any]:
    answer = server.post(f"/v1/experiments/{experiment}/{what}", json=body)
    return answer.status_code, answer.json()


def test_an_experiment_is_made_once(server: httpx.Client) -> None:
    made = server.put("/v1/experiments/once", json=EXPERIMENT)
    assert made.status_code == 201
    again = server.put("/v1/experiments/once", json={**EXPERIMENT, "seed": 0, "late": "in-order"})
    assert (again.status_code, again.json()) == (200, made.json())
    other = server.put("/v1/experiments/once", json={**EXPERIMENT, "seed": 1})
    assert other.status_code == 409
    assert "'once' is another experiment" in other.json()["error"]
    shown = server.get("/v1/experiments/once")
    assert (shown.status_code, shown.json()) == (200, made.json())
    assert {"problem", "policy", "seed", "late", "reward_wait", "default_reward"} < set(made.json())
    assert "once" in [each["name"] for each in server.get("/v1/experiments").json()]


def test_ask_tell_and_look(server: httpx.Client) -> None:
    ask = {"unit": "a user/17", "key": "r1"}
    status, decision = post(server, "decisions", ask)
    assert (status, decision) == (200, {"decision": "0@a user/17", "unit": "a user/17", "arm": "a"})
    assert post(server, "decisions", ask) == (200, decision)
    shown = server.get("/v1/experiments/e/units/a%20user%2F17").json()
    assert shown["pending"] == {"0@a user/17": "a"}
    told = {"decision": decision["decision"], "reward": 1}
    for _ in range(2):
        assert post(server, "rewards", told) == (200, {"decision": "0@a user/17", "status": "told"})
    assert post(server, "rewards", {**told, "reward": 0})[0] == 409
    shown = server.get("/v1/experiments/e/units/a%20user%2F17").json()
    assert shown == {
        "unit": "a user/17",
        "plays": {"a": 1, "b": 0},
        "plausible": shown["plausible"],
        "spread_fits": True,
        "misfits": 0,
        "pending": {},
        "blocked": {},
        "events": 2,
        "posterior": pytest.approx({"x": 0.9 / 1.1, "y": 0.2 / 1.1}),
        "best_arm": {
            "arm": "a",
            "probability": pytest.approx(0.9 / 1.1),
            "loss": pytest.approx(0.3 * 0.2 / 1.1),
        },
        "verdict": None,
        "why": shown["why"],
    }
    assert (shown["why"]["arm"], list(shown["why"]["arms"])) == ("b", ["a", "b"])
    assert post(server, "forget", {"decision": "0@a user/17"})[0] == 409


def test_what_a_unit_believes_in_a_context_and_to_which_error(server: httpx.Client) -> None:
    body = {"problem": CONTEXTS, "policy": "frugal"}
    server.put("/v1/experiments/beliefs", json=body)
    unit = "/v1/experiments/beliefs/units/u"
    post(server, "decisions", {"unit": "u", "context": "here"}, "beliefs")
    for number in range(1, 5):
        ask = {"unit": "u", "context": "here", "among": ["a"]}
        decision = post(server, "decisions", ask, "beliefs")[1]
        post(server, "rewards", {"decision": f"{number}@u", "reward": 1}, "beliefs")
        assert decision["arm"] == "a"
    post(server, "forget", {"decision": "0@u"}, "beliefs")
    shown = server.get(unit).json()
    likely = 0.9**4 / (0.9**4 + 0.2**4)
    assert shown["posterior"] == pytest.approx({"x": likely, "y": 1 - likely})
    assert [shown[name] for name in ("best_arm", "verdict", "why")] == [None] * 3
    shown = server.get(unit, params={"context": "there"}).json()
    assert (shown["best_arm"]["arm"], shown["verdict"], shown["why"]["arm"]) == ("b", "b", "b")
    assert shown["why"]["context"] == "there"
    strict = server.get(unit, params={"context": "there", "error": "1e-9"}).json()
    assert strict["verdict"] is None
    for params, said in (
        ({"error": "1"}, "error is '1': it must be a probability, above 0 and below 1"),
        ({"error": "x"}, "error is 'x': it must be a probability"),
        ({"context": "elsewhere"}, "unknown context 'elsewhere'"),
    ):
        answer = server.get(unit, params=params)
        assert answer.status_code == 422
        assert said in answer.json()["error"]


def test_nothing_is_believed_where_nothing_can_be(server: httpx.Client) -> None:
    """Under a change rate there is no verdict; where no model allows the rewards, no posterior."""
    server.put("/v1/experiments/m", json={"problem": PROBLEM, "policy": "frugal:change_rate=0.1"})
    post(server, "decisions", {"unit": "u"}, "m")
    shown = server.get("/v1/experiments/m/units/u").json()
    assert (shown["verdict"], shown["best_arm"]["arm"]) == (None, "a")
    sure = {
        "problem": 'arms = ["a", "b"]\n[models]\nx = [1, 0.5]\ny = [0, 0.5]\n',
        "policy": "ucb1",
    }
    server.put("/v1/experiments/sure", json=sure)
    for number in range(2):
        post(server, "decisions", {"unit": "u", "among": ["a"]}, "sure")
        post(server, "rewards", {"decision": f"{number}@u", "reward": number}, "sure")
    shown = server.get("/v1/experiments/sure/units/u").json()
    assert (shown["posterior"], shown["best_arm"], shown["verdict"]) == (None, None, None)
    assert shown["why"]["models"] == {}


def test_a_decision_among_eligible_arms(server: httpx.Client) -> None:
    ask = {"unit": "among", "key": "k", "among": ["b"]}
    assert post(server, "decisions", ask)[1]["arm"] == "b"
    status, answer = post(server, "decisions", {**ask, "among": ["a"]})
    assert (status, answer["arm"]) == (200, "b")
    assert post(server, "decisions", {"unit": "among", "among": ["b", "a"]})[1]["arm"] == "a"
    lines = server.get("/v1/experiments/e/log").text.splitlines()
    events = [json.loads(line) for line in lines]
    logged = [each["among"] for each in events if each["unit"] == "among"]
    assert logged == [["b"], None]
    for among, said in (
        ([], "among must be a list of the arms that are eligible, at least one, not []"),
        ("a", "among must be a list of the arms that are eligible, at least one, not 'a'"),
        ([1], "among must be a list of texts, not 1"),
        (["a", "z"], "unknown arm 'z': known are 'a', 'b'"),
    ):
        status, answer = post(server, "decisions", {"unit": "among", "among": among})
        assert (status, answer["error"]) == (422, said)
    server.put("/v1/experiments/refusing", json={"problem": PROBLEM, "policy": "ossb"})
    status, answer = post(server, "decisions", {"unit": "u", "among": ["b"]}, "refusing")
    assert status == 422
    assert answer["error"].startswith("ossb cannot decide among some of the arms")


def test_names_may_be_in_any_script(server: httpx.Client) -> None:
    for unit in ("Ünïcode", "👩\u200d🚀", "a" * 200, "%2F", "{name}"):
        assert post(server, "decisions", {"unit": unit})[1]["unit"] == unit
        answer = server.get(f"/v1/experiments/e/units/{quote(unit, safe='')}")
        assert answer.json()["pending"] == {f"0@{unit}": "a"}


def test_plausible_models_are_shown(server: httpx.Client) -> None:
    server.put("/v1/experiments/s", json={"problem": PROBLEM, "policy": "fp-ucb"})
    post(server, "decisions", {"unit": "new"}, "s")
    new = server.get("/v1/experiments/s/units/new")
    assert new.json()["plausible"] == pytest.approx({"x": math.log(1000), "y": math.log(1000)})
    for number in range(60):
        arm = post(server, "decisions", {"unit": "u"}, "s")[1]["arm"]
        reward = 1 if arm == "a" else number // 2 % 2
        post(server, "rewards", {"decision": f"{number}@u", "reward": reward}, "s")
    assert list(server.get("/v1/experiments/s/units/u").json()["plausible"]) == ["x"]


def test_a_list_is_answered_item_by_item(server: httpx.Client) -> None:
    asked = [
        {"unit": "l1", "context": "here"},
        {"unit": "l2", "context": "nowhere"},
        {"unit": 7, "context": "here"},
        {"unit": "l1", "context": "there", "key": "k"},
    ]
    status, answers = post(server, "decisions", asked, "c")
    assert status == 200
    assert [each.get("decision", each.get("status")) for each in answers] == [
        "0@l1",
        422,
        422,
        "1@l1",
    ]
    status, answers = post(
        server,
        "rewards",
        [{"decision": "0@l1", "reward": 1}, {"decision": "9@l1", "reward": 1}, {}],
        "c",
    )
    assert [each["status"] for each in answers] == ["told", 404, 422]
    assert post(server, "forget", [{"decision": "1@l1"}], "c") == (
        200,
        [{"decision": "1@l1", "status": "forgotten"}],
    )
    assert post(server, "decisions", [], "c") == (200, [])


def test_others_are_answered_while_a_long_list_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, seen, read = 0, list[int](), http._checked

    def counting(*values: Any) -> Any:
        seen.append(turns)
        return read(*values)

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def all_of_it() -> None:
        app = make_app(open_store(str(tmp_path / "a.db"), make=True))
        transport = httpx.ASGITransport(app)
        async with (
            app.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            await client.put("/v1/experiments/e", json=EXPERIMENT)
            ticking = asyncio.create_task(others())
            body = [{"unit": "u", "kye": "k"}] * 1000
            answer = await client.post("/v1/experiments/e/decisions", json=body)
            ticking.cancel()
            assert [each["status"] for each in answer.json()] == [422] * 1000

    monkeypatch.setattr(http, "_checked", counting)
    asyncio.run(all_of_it())
    assert list(Counter(seen).values()) == [50] * 20
    # It goes on as soon as others have had their turn.
    assert all(later - earlier < 5 for earlier, later in pairwise(sorted(set(seen))))


WRONG: list[tuple[str, bytes | str, int, str]] = [
    ("decisions", b"{", 400, "not JSON"),
    ("decisions", b"\xff", 400, "not JSON"),
    ("decisions", b'{"unit": NaN}', 400, "NaN is not a number"),
    ("decisions", b"[" * 100_000, 400, "nested too deeply"),
    ("decisions", "7", 422, "expected an object with unit, key, context"),
    ("decisions", "{}", 422, "'unit' is missing"),
    ("decisions", '{"unit": ""}', 422, "name is empty"),
    ("decisions", '{"unit": "\\u0000"}', 422, "control character"),
    ("decisions", '{"unit": "\\ud800"}', 422, "control character"),
    ("decisions", json.dumps({"unit": "u" * 201}), 422, "201 of 200 letters"),
    ("decisions", '{"unit": "u", "kye": "k"}', 422, "did you mean 'key'"),
    ("decisions", '{"unit": "u", "context": "x"}', 422, "has no contexts"),
    ("rewards", '{"decision": "0@nobody", "reward": 1}', 404, "unknown decision '0@nobody'"),
    ("rewards", '{"decision": "nobody", "reward": 1}', 404, "unknown decision 'nobody'"),
    ("rewards", '{"decision": "0@u", "reward": "1"}', 422, "expected a number"),
    ("rewards", '{"decision": "0@u", "reward": true}', 422, "expected a number"),
    ("rewards", '{"decision": "0@u", "reward": 1e999}', 422, "finite"),
    (
        "rewards",
        '{"decision": 0, "reward": 1}',
        422,
        "decision must be a text",
    ),
    ("forget", '{"decision": "0@nobody"}', 404, "unknown decision"),
    ("decisions", json.dumps([{}] * (MOST_ITEMS + 1)), 413, "at most 1,000"),
    ("decisions", " " * (LARGEST_BODY + 1), 413, "larger than"),
]


@pytest.mark.parametrize(("what", "body", "status", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_in_one_line(
    server: httpx.Client, what: str, body: bytes | str, status: int, words: str
) -> None:
    answer = server.post(f"/v1/experiments/e/{what}", content=body)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]
    assert len(answer.json()["error"].splitlines()) == 1


BAD = [
    ({}, "'problem' is missing"),
    ([], "expected an object with problem, policy, seed, late, reward_wait, default_reward, exp"),
    ({"problem": 7}, "problem must be the text of a TOML file"),
    ({**EXPERIMENT, "policy": 7}, "policy must be a text"),
    ({"problem": "arms = 7"}, "problem: "),
    ({"problem": f"# \ud800\n{PROBLEM}"}, "letter 3 is half of one"),
    ({**EXPERIMENT, "policy": "ucb2"}, "unknown policy 'ucb2'"),
    ({**EXPERIMENT, "policy": "mine.py:Mine"}, "unknown policy 'mine.py'"),
    ({**EXPERIMENT, "policy": "ucb1:x.py:Mine"}, "ucb1"),
    ({**EXPERIMENT, "seed": -1}, "seed is -1"),
    ({**EXPERIMENT, "late": []}, "late is []"),
    ({**EXPERIMENT, "reward_wait": 0}, "reward_wait is 0"),
    ({**EXPERIMENT, "default_reward": 1}, "needs reward_wait"),
    ({**EXPERIMENT, "reward_wait": 1, "default_reward": 2}, "outside the range"),
    ({**EXPERIMENT, "sed": 1}, "did you mean 'seed'"),
]


@pytest.mark.parametrize(("body", "words"), BAD, ids=range(len(BAD)))
def test_an_experiment_that_cannot_be_is_refused(
    server: httpx.Client, body: Any, words: str
) -> None:
    answer = server.put("/v1/experiments/bad", content=json.dumps(body))
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["error"]
    assert server.get("/v1/experiments/bad").status_code == 404


PLACES: list[tuple[str, object, list[str]]] = [
    ("decisions", {"unit": ""}, ["unit"]),
    ("decisions", {"unit": "u", "kye": "k"}, ["field", "kye"]),
    ("decisions", {"unit": "u", "context": "x"}, ["context"]),
    ("rewards", {"decision": "9@u", "reward": 1}, ["decision", "9@u"]),
    ("rewards", {"decision": "0@placed", "reward": 7}, ["decision", "0@placed"]),
    ("", {**EXPERIMENT, "policy": "ucb2"}, ["policy", "ucb2"]),
    ("", {**EXPERIMENT, "seed": -1}, ["seed"]),
    ("", {"problem": "[models]\nx = [0.5, 2]"}, ["problem", "model", "x", "arm", "arm2"]),
    ("", {"problem": "range = 7\n[models]\nx = [0.5]"}, ["problem", "range"]),
]


@pytest.mark.parametrize(("what", "body", "place"), PLACES, ids=range(len(PLACES)))
def test_an_error_says_where_as_data(
    server: httpx.Client, what: str, body: object, place: list[str]
) -> None:
    if what:
        server.post("/v1/experiments/e/decisions", json={"unit": "placed", "key": "k"})
        path = f"/v1/experiments/e/{what}"
        (several,) = server.post(path, json=[body]).json()
        one = server.post(path, json=body)
        assert several == {**one.json(), "status": one.status_code}
    else:
        one = server.put("/v1/experiments/bad", json=body)
    assert one.json()["place"] == place


def test_what_is_not_there_is_said(server: httpx.Client) -> None:
    for path in ("/nothing", "/v1/experiments/none", "/v1/experiments/e/units/none", "/v1/%00"):
        answer = server.get(path)
        assert answer.status_code == 404
        assert set(answer.json()) == {"error", "place"}
    assert post(server, "decisions", {"unit": "u"}, "none")[0] == 404
    assert server.patch("/v1/experiments/e").status_code == 405


def test_an_experiment_that_is_being_migrated_is_503_until_it_is_open(
    server: httpx.Client, path: Path
) -> None:
    definition = checked_experiment("closed", EXPERIMENT).definition
    with closing(open_store(str(path))) as store:
        kept, _ = store.add_experiment("closed", definition, 1, status="migrating")
        assert post(server, "decisions", {"unit": "u"}, "closed")[0] == 503
        assert server.get("/v1/experiments/closed").json()["status"] == "migrating"
        store.change_experiment(kept, "open")
    assert post(server, "decisions", {"unit": "u"}, "closed")[0] == 200


def test_the_log_is_streamed_from_any_place(server: httpx.Client) -> None:
    server.put("/v1/experiments/long", json=EXPERIMENT)
    asked = [{"unit": f"u{place}"} for place in range(1000)]
    assert len(post(server, "decisions", asked, "long")[1]) == 1000
    assert len(post(server, "decisions", asked[:500], "long")[1]) == 500
    answer = server.get("/v1/experiments/long/log")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["unit"] for line in lines] == [each["unit"] for each in asked + asked[:500]]
    assert lines[0] == {
        "experiment": "long",
        "unit": "u0",
        "step": 1,
        "kind": "decision",
        "number": 0,
        "key": None,
        "arm": "a",
        "context": None,
        "probability": 1.0,
        "reward": None,
        "version": __version__,
        "revision": 1,
        "seq": lines[0]["seq"],
        "time": lines[0]["time"],
        "among": None,
    }
    assert abs(lines[0]["time"] - time.time()) < LONG
    after = server.get("/v1/experiments/long/log", params={"after": lines[1497]["seq"]})
    assert [json.loads(line) for line in after.text.splitlines()] == lines[1498:]
    for wrong in ("-1", "x", "9" * 40):
        assert server.get(f"/v1/experiments/long/log?after={wrong}").status_code == 422


def test_machines_are_told_all_of_it_and_pages_load_nothing(server: httpx.Client) -> None:
    schema = server.get("/openapi.json").json()
    paths = {
        f"{method.upper()} {path}"
        for path, methods in schema["paths"].items()
        for method in methods
    }
    assert {
        "PUT /v1/experiments/{name}",
        "POST /v1/experiments/{name}/decisions",
        "POST /v1/experiments/{name}/rewards",
        "POST /v1/experiments/{name}/forget",
        "GET /v1/experiments/{name}/log",
        "GET /metrics",
        "GET /health",
    } < paths
    body = schema["paths"]["/v1/experiments/{name}/decisions"]["post"]["requestBody"]
    assert body["content"]["application/json"]["schema"]["anyOf"][0]["required"] == ["unit"]
    page = server.get("/docs").text
    assert "/v1/experiments/{name}/rewards" in page
    assert "http" not in page.replace("https://", "http://").split("<h1>")[0]
    assert "<script" not in page
    assert server.get("/health").json() == {"status": "ok"}
    assert server.get("/ready").status_code == 200


def test_every_endpoint_is_reached_and_none_is_hidden_by_another(server: httpx.Client) -> None:
    server.put("/v1/experiments/reached", json=EXPERIMENT)
    post(server, "decisions", {"unit": "u"}, "reached")
    paths = server.get("/openapi.json").json()["paths"]
    all_methods = [(path, method) for path, methods in paths.items() for method in methods]
    # What deletes comes last, the experiment after the unit.
    last = {
        ("/v1/experiments/{name}/units/{unit}", "delete"): 1,
        ("/v1/experiments/{name}", "delete"): 2,
    }
    for path, method in sorted(all_methods, key=lambda each: last.get(each, 0)):
        answer = server.request(method, path.format(name="reached", unit="u"), content="{")
        assert answer.status_code == (400 if "requestBody" in paths[path][method] else 200)
    text = server.get("/metrics").text
    for path, methods in paths.items():
        for method in methods:
            route = path.replace("{unit}", "{unit:path}")
            assert f'fpbandits_answers_total{{method="{method.upper()}",route="{route}"' in text


def test_an_experiment_that_was_put_is_not_read_and_prepared_again(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        assert client.put("/v1/experiments/e", json=EXPERIMENT).status_code == 201
        store.experiment = pytest.fail  # type: ignore[method-assign, assignment]
        for n in range(2):
            answer = client.post("/v1/experiments/e/decisions", json={"unit": "u"})
            assert answer.json()["decision"] == f"{n}@u"


async def called(app: Any, method: str, path: str, *messages: dict[str, Any]) -> tuple[int, Any]:
    """Call an application with the messages of a request; return status and body."""
    waiting, sent = list(messages), list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b""}
    await app({**scope, "headers": [(b"host", b"127.0.0.1")]}, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_a_body_comes_in_parts_breaks_off_or_is_as_large_as_it_may_be(tmp_path: Path) -> None:
    app = make_app(open_store(str(tmp_path / "a.db"), make=True))
    path = "/v1/experiments/e/decisions"

    def part(body: bytes, **more: bool) -> dict[str, Any]:
        return {"type": "http.request", "body": body, **more}

    async def all_of_it() -> None:
        async with app.lifespan_context(app):
            await called(app, "PUT", "/v1/experiments/e", part(json.dumps(EXPERIMENT).encode()))
            body, size = b'{"unit": "u"}', LARGEST_BODY
            whole = await called(app, "POST", path, part(body))
            assert whole == (200, {"decision": "0@u", "unit": "u", "arm": "a"})
            halves = part(body[:5], more_body=True), part(body[5:], more_body=False)
            assert (await called(app, "POST", path, *halves))[1]["decision"] == "1@u"
            assert await called(app, "POST", path, halves[0]) == (
                400,
                {"error": "the body broke off", "place": []},
            )
            padded = body + b" " * (size - len(body))
            assert (await called(app, "POST", path, part(padded)))[1]["decision"] == "2@u"
            larger = part(padded, more_body=True), part(b" ")
            status, answer = await called(app, "POST", path, *larger)
            assert (status, answer["error"]) == (413, "the body is larger than 1,048,576 bytes")

    asyncio.run(all_of_it())


def test_an_answer_takes_the_time_since_its_request_and_others_take_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "fpbandits.service")
    clock = iter([10.0, 10.25, 20.0, 30.0])
    monkeypatch.setattr(http, "perf_counter", lambda: next(clock))
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        app = make_app(store, access_log=True)
        for method, path, status in (
            ("GET", "/health", 200),
            ("POST", "/health", 405),
            ("GET", "/nothing", 404),
        ):
            assert asyncio.run(called(app, method, path))[0] == status
        (line,) = [each for each in caplog.records if each.message == "answered"]
        assert (line.route, line.milliseconds) == ("/health", 250.0)  # type: ignore[attr-defined]
        text = app.backend.metrics.text().decode()
    assert 'fpbandits_answer_seconds_sum{route="/health"} 0.25' in text
    assert 'fpbandits_answer_seconds_sum{route="none"} 0.0' in text
    assert 'fpbandits_answers_total{method="other",route="none",status="405"} 1.0' in text


def test_an_answer_that_would_be_no_json_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        app = make_app(store)
        monkeypatch.setattr(store, "experiments", lambda *given: [Shown()])
        assert asyncio.run(called(app, "GET", "/v1/experiments"))[0] == 500


class Shown:
    """An experiment with a number that is none."""

    def shown(self) -> dict[str, Any]:
        return {"problem": "", "created": math.nan}


def test_what_fails_inside_is_500_in_one_line_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    store.experiments = lambda *values: 1 / 0  # type: ignore
    with serving(make_app(store)) as address:
        answer = httpx.get(f"{address}/v1/experiments", timeout=LONG)
        assert (answer.status_code, answer.json()["place"]) == (500, [])
        assert "server's log" in answer.json()["error"]
        assert httpx.get(f"{address}/health", timeout=LONG).status_code == 200
    (record,) = [each for each in caplog.records if each.exc_info]
    assert "ZeroDivisionError" in str(record.exc_info)


def test_a_log_that_cannot_be_read_on_breaks_off_without_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the database is killed after the first page of the answer."""
    monkeypatch.setattr(http, "PAGE", 2)
    store = open_store(str(tmp_path / "a.db"), make=True)
    log = store.log

    def page(experiment: int, after: int, most: int) -> list[Logged]:
        if after:
            raise UnavailableError("the database system is starting up")
        return log(experiment, after, most)

    store.log = page  # type: ignore[method-assign]
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        client.put("/v1/experiments/e", json=EXPERIMENT)
        client.post("/v1/experiments/e/decisions", json=[{"unit": "u"}] * 3)
        with pytest.raises(httpx.RemoteProtocolError):
            client.get("/v1/experiments/e/log")
        store.log = log  # type: ignore[method-assign]
        assert len(client.get("/v1/experiments/e/log").text.splitlines()) == 3
    assert not [each for each in caplog.records if each.exc_info]
    assert [each.detail for each in caplog.records if hasattr(each, "detail")] == [
        "the database system is starting up"
    ]


def test_a_request_has_an_id_and_is_logged_if_so_wanted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "fpbandits.service")
    store = open_store(str(tmp_path / "a.db"), make=True)
    store.experiments = lambda *values: 1 / 0  # type: ignore
    with (
        serving(make_app(store, access_log=True)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        client.put("/v1/experiments/e", json=EXPERIMENT, headers={"x-request-id": "mine/1"})
        caplog.clear()
        own = client.get("/v1/experiments/e/units/who", headers={"x-request-id": "mine/2"})
        made = [client.get("/health").headers["x-request-id"] for _ in range(2)]
        wrong = client.get("/health", headers={"x-request-id": "a b" + 200 * "c"})
        client.get("/v1/experiments", headers={"x-request-id": "mine/3"})
    assert own.headers["x-request-id"] == "mine/2"
    assert len(set(made)) == 2
    assert len(wrong.headers["x-request-id"]) == len(made[0]) == 16
    lines = [json.loads(JsonFormatter().format(each)) for each in caplog.records]
    line = next(each for each in lines if each.get("request") == "mine/2")
    assert (line["message"], line["status"]) == ("answered", 404)
    assert (line["route"], line["experiment"]) == ("/v1/experiments/{name}/units/{unit:path}", "e")
    assert "who" not in str(line)
    (failed,) = [record for record in caplog.records if record.exc_info]
    assert json.loads(JsonFormatter().format(failed))["request"] == "mine/3"


def test_events_are_counted_by_experiment(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        for name in "ef":
            client.put(f"/v1/experiments/{name}", json=EXPERIMENT)
        post(client, "decisions", [{"unit": "u"}, {"unit": "v", "key": "k"}])
        post(client, "decisions", {"unit": "v", "key": "k"})
        post(client, "rewards", {"decision": "0@u", "reward": 1})
        post(client, "decisions", {"unit": "u"}, "f")
        text = client.get("/metrics").text
    for name, kind, count in (("e", "decision", 2), ("e", "reward", 1), ("f", "decision", 1)):
        assert f'fpbandits_events_total{{experiment="{name}",kind="{kind}"}} {count}.0' in text


def test_a_token_for_one_experiment_opens_no_other(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    admin, metrics = add_token(file, "admin"), add_token(file, "metrics")
    some = add_token(file, "admin", experiments=["e"])
    store = open_store(str(tmp_path / "a.db"), make=True)

    def statuses(client: httpx.Client, token: str) -> list[int]:
        header = {"authorization": f"Bearer {token}"}
        return [
            client.put("/v1/experiments/e", json=EXPERIMENT, headers=header).status_code,
            client.put("/v1/experiments/f", json=EXPERIMENT, headers=header).status_code,
            client.get("/v1/experiments/e/log", headers=header).status_code,
            client.get("/v1/experiments", headers=header).status_code,
            client.get("/metrics", headers=header).status_code,
        ]

    with (
        serving(make_app(store, TokenFile(file))) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        assert statuses(client, some) == [201, 403, 200, 403, 403]
        assert statuses(client, metrics) == [403, 403, 403, 403, 200]
        assert statuses(client, admin) == [200, 201, 200, 200, 200]
        assert statuses(client, "none") == [401] * 5


def test_a_method_that_there_is_not_is_405_and_says_which_there_are(server: httpx.Client) -> None:
    answer = server.delete("/v1/experiments/e/decisions")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "DELETE '/v1/experiments/e/decisions': Method Not Allowed" in answer.json()["error"]
    assert server.get("/v1/experiments/e/").status_code == 404  # no redirection
    answer = server.patch("/v1/experiments/e", headers={"X-Request-Id": "mine"})
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PUT"
    assert answer.headers["x-request-id"] == "mine"
    assert server.get("/v2").headers["x-request-id"]


def test_prometheus_counts_by_route(server: httpx.Client) -> None:
    post(server, "decisions", {"unit": "counted"})
    text = server.get("/metrics").text
    route = "/v1/experiments/{name}/decisions"
    assert f'fpbandits_answers_total{{method="POST",route="{route}",status="200"}}' in text
    assert "fpbandits_transaction_requests_bucket" in text
    assert "fpbandits_waiting_requests 0.0" in text
    assert "counted" not in text


def test_a_store_that_does_not_answer_is_503_in_time_and_nothing_is_lost(
    server: httpx.Client, path: Path
) -> None:
    ask = {"unit": "blocked", "key": "k"}
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = server.post("/v1/experiments/e/decisions", json=ask)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert set(answer.json()) == {"error", "place"}
        answer = server.post("/v1/experiments/e/decisions", json=[{"unit": ""}, ask])
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        other.execute("ROLLBACK")
    assert post(server, "decisions", ask)[1]["decision"] == "0@blocked"


def test_a_store_that_hangs_is_503_in_time_whatever_is_asked(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    may = Signal()
    with serving(make_app(store, patience=0.3)) as address:
        client = httpx.Client(base_url=address, timeout=LONG)
        assert client.put("/v1/experiments/e", json=EXPERIMENT).status_code == 201
        whole = {
            name: getattr(store, name)
            for name in ("transaction", "check_writing", "unit", "log", "experiment")
        }
        for name, call in whole.items():
            setattr(store, name, lambda *each, call=call: may.wait(LONG) and call(*each))
        ask = {"unit": "u", "key": "k"}
        statuses = [
            client.get("/ready").status_code,
            client.get("/v1/experiments/e").status_code,
            client.post("/v1/experiments/e/decisions", json=ask).status_code,
        ]
        assert statuses == [503] * 3
        assert client.get("/health").status_code == 200
        may.set()
        for _ in range(2):
            answer = client.post("/v1/experiments/e/decisions", json=ask)
            assert answer.json()["decision"] == "0@u"
        client.close()


def test_a_server_that_begins_before_its_store_answers_all_in_the_same_time(tmp_path: Path) -> None:
    """Nobody knows the experiment yet: all wait for the same question, not one after the other."""
    path = tmp_path / "a.db"
    with closing(open_store(str(path), make=True)) as store:
        store.add_experiment("e", checked_experiment("e", EXPERIMENT).definition, 1)
    store = open_store(str(path))
    may, asked, experiment = Signal(), [], store.experiment

    def slow(name: str) -> Any:
        asked.append(name)
        assert may.wait(LONG)
        return experiment(name)

    store.experiment = slow  # type: ignore[method-assign]

    async def ask_all(address: str) -> list[int]:
        async with httpx.AsyncClient(base_url=address, timeout=LONG) as client:
            url = "/v1/experiments/e/decisions"
            asks = [client.post(url, json={"unit": f"u{n}", "key": "k"}) for n in range(20)]
            return [answer.status_code for answer in await asyncio.gather(*asks)]

    with serving(make_app(store, patience=0.3)) as address:
        assert asyncio.run(ask_all(address)) == [503] * 20
        assert asked == ["e"]
        may.set()
        wait_until(lambda: set(asyncio.run(ask_all(address))) == {200})


def test_questions_that_a_store_does_not_answer_do_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_MOST_CALLS", 3)
    store = open_store(str(tmp_path / "a.db"), make=True)
    may, asked, experiments = Signal(), [], store.experiments

    def slow(*values: Any) -> Any:
        asked.append("")
        assert may.wait(LONG)
        return experiments(*values)

    store.experiments = slow  # type: ignore[method-assign, assignment]
    with (
        serving(make_app(store, patience=0.2)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        for _ in range(8):
            answer = client.get("/v1/experiments")
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
        assert len(asked) == 3
        may.set()
        wait_until(lambda: client.get("/v1/experiments").status_code == 200)


def test_who_makes_an_experiment_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes too long to prepare is a 503, and counts until its thread is done."""
    may = Signal()

    def slow(*values: Any, **options: Any) -> Experiment:
        assert may.wait(LONG)
        return checked_experiment(*values, **options)

    monkeypatch.setattr(backend, "checked_experiment", slow)
    monkeypatch.setattr(backend, "_CREATING_SECONDS", 0.1)
    monkeypatch.setattr(backend, "_MOST_CREATING", 2)
    with (
        serving(make_app(open_store(str(tmp_path / "a.db"), make=True))) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        answers = [client.put("/v1/experiments/e", json=EXPERIMENT) for _ in range(3)]
        may.set()
        assert [answer.status_code for answer in answers] == [503] * 3
        late, _, full = (answer.json()["error"] for answer in answers)
        assert (late, full) == (
            "preparing takes too long: try again",
            "2 experiments are being made: try again",
        )
        monkeypatch.setattr(backend, "_CREATING_SECONDS", LONG)
        wait_until(lambda: client.put("/v1/experiments/e", json=EXPERIMENT).is_success)


@pytest.mark.parametrize("kind", [UnavailableError, StorageError])
def test_a_store_that_fails_is_503_and_its_words_are_not_told(
    tmp_path: Path, kind: type[Error]
) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)

    def failing(*values: Any) -> Any:
        raise kind("postgresql://me:secret@host")

    for name in ("experiments", "experiment", "add_experiment", "check_writing"):
        setattr(store, name, failing)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        for answer in (
            client.get("/v1/experiments"),
            client.get("/v1/experiments/e"),
            client.get("/v1/experiments/e/units/u"),
            client.get("/v1/experiments/e/log"),
            client.get("/ready"),
            client.put("/v1/experiments/e", json=EXPERIMENT),
            client.post("/v1/experiments/e/decisions", json={"unit": "u"}),
        ):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "secret" not in answer.text


@pytest.mark.parametrize("kind", [UnavailableError, StorageError])
def test_a_store_that_fails_in_long_work_is_503_and_its_words_are_not_told(
    tmp_path: Path, kind: type[Error]
) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)

    def failing(*values: Any) -> Any:
        raise kind("postgresql://me:secret@host")

    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        experiment = "/v1/experiments/e"
        client.put(experiment, json=EXPERIMENT)
        client.post(f"{experiment}/decisions", json={"unit": "u"})
        for name in ("experiments", "history", "find_events", "delete_some"):
            setattr(store, name, failing)
        for answer in (
            client.get(f"{experiment}/report"),
            client.post(f"{experiment}/adopt"),
            client.delete(f"{experiment}/units/u"),
            client.delete(experiment),
        ):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "secret" not in answer.text


def test_many_at_once_are_all_as_logged(server: httpx.Client, path: Path) -> None:
    address = str(server.base_url)

    async def user(client: httpx.AsyncClient, unit: str) -> None:
        for number in range(10):
            url = f"{address}/v1/experiments/e"
            asked = {"unit": unit, "key": str(number)}
            answer = (await client.post(f"{url}/decisions", json=asked)).json()
            assert answer["decision"] == f"{number}@{unit}"
            told = {"decision": answer["decision"], "reward": number % 2}
            assert (await client.post(f"{url}/rewards", json=told)).status_code == 200

    async def all_of_them() -> None:
        async with httpx.AsyncClient(timeout=LONG) as client:
            await asyncio.gather(*(user(client, f"m{place}") for place in range(20)))

    asyncio.run(all_of_them())
    with closing(open_store(str(path))) as store:
        found = verify(store)
    assert found.shown == []
    assert found.decisions >= 200


def test_who_may(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    decide, admin = add_token(file, "decide"), add_token(file, "admin", "for tests")
    app = make_app(open_store(str(tmp_path / "a.db"), make=True), read_tokens(file))

    def header(token: str) -> dict[str, str]:
        return {"authorization": f"Bearer {token}"}

    with serving(app) as address, httpx.Client(base_url=address, timeout=LONG) as client:
        experiment = "/v1/experiments/e"
        for headers in ({}, header("wrong"), {"authorization": f"Basic {admin}"}):
            answer = client.put(experiment, json=EXPERIMENT, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert (
                client.post(f"{experiment}/decisions", json={}, headers=headers).status_code == 401
            )
            assert client.get("/metrics", headers=headers).status_code == 401
        refused = client.put(experiment, json=EXPERIMENT, headers=header(decide))
        assert refused.status_code == 403
        assert decide not in refused.text
        assert client.get(experiment, headers=header(decide)).status_code == 404
        assert client.put(experiment, json=EXPERIMENT, headers=header(admin)).status_code == 201
        for token in (decide, admin):
            body, headers = {"unit": "u", "key": "k"}, header(token)
            answer = client.post(f"{experiment}/decisions", json=body, headers=headers)
            assert answer.json()["decision"] == "0@u"
        assert client.get(f"{experiment}/log", headers=header(decide)).status_code == 403
        assert client.get(f"{experiment}/log", headers=header(admin)).status_code == 200
        assert client.get("/health").status_code == 200


def test_whoever_asks_is_compared_with_every_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the time of a refusal does not tell how near it was."""
    file = tmp_path / "tokens"
    decide, admin, *_ = [add_token(file, role) for role in ("decide", "admin", "decide", "admin")]
    app = make_app(open_store(str(tmp_path / "a.db"), make=True), read_tokens(file))
    compared: list[str] = []
    compare = hmac.compare_digest

    def counting(first: str, second: str) -> bool:
        compared.append(second)
        return compare(first, second)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    given: list[tuple[str | None, int]] = [
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer \xff", 401),
        (f"Bearer {admin} {admin}", 401),
        (f"Bearer {admin[:-1]}", 401),
        (f"Bearer {admin[:-1]}{'A' if admin[-1] != 'A' else 'B'}", 401),
        (f"Basic {admin}", 401),
        (admin, 401),
        ("Bearer " + "x" * 20_000, 401),
        (f"Bearer {decide}", 403),
        (f"bearer  {admin}", 404),
    ]
    with serving(app) as address, httpx.Client(base_url=address, timeout=LONG) as client:
        for authorization, status in given:
            compared.clear()
            headers = {} if authorization is None else {"authorization": authorization}
            raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
            answer = client.get("/v1/experiments/none/log", headers=raw)
            assert answer.status_code == status, authorization
            assert len(compared) == len(set(compared)) == 4
            assert admin not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "[::1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "http://["},
        {"origin": "null"},
    ],
)
def test_without_tokens_pages_from_elsewhere_are_refused(
    server: httpx.Client, headers: dict[str, str]
) -> None:
    answer = server.post("/v1/experiments/e/decisions", json={"unit": "u"}, headers=headers)
    assert answer.status_code == 403


def test_what_nobody_asks_for_expires_by_itself(server: httpx.Client) -> None:
    body = {**EXPERIMENT, "reward_wait": 0.1, "default_reward": 0}
    assert server.put("/v1/experiments/short", json=body).status_code == 201
    post(server, "decisions", {"unit": "u"}, "short")
    unit = "/v1/experiments/short/units/u"
    wait_until(lambda: not server.get(unit).json()["pending"])
    assert post(server, "rewards", {"decision": "0@u", "reward": 1}, "short")[1]["status"] == "late"


def test_an_experiment_and_a_unit_are_deleted_over_http(server: httpx.Client, path: Path) -> None:
    definition = {**EXPERIMENT, "seed": 7}
    assert server.put("/v1/experiments/gone", json=definition).status_code == 201
    client = fpb.Client(str(server.base_url), experiment="gone", timeout=LONG)
    first = client.ask("a/b", key="k")
    client.tell(first, 1)
    client.erase("a/b")
    client.erase("a/b")
    assert client.unit("a/b")["plays"] == {"a": 0, "b": 0}
    assert [(each["kind"], each["unit"], each["number"]) for each in client.log()] == [
        ("erased", "a/b", 1)
    ]
    assert client.ask("a/b", key="k").id == "1@a/b"
    with pytest.raises(ConflictError, match="was erased"):
        client.tell(first, 1)
    with pytest.raises(UnknownError, match="unknown unit"):
        client.erase("nobody")
    client.delete()
    for call in (client.delete, lambda: client.ask("u"), lambda: client.erase("a/b")):
        with pytest.raises(UnknownError, match="unknown experiment"):
            call()
    # The name is free.
    assert server.put("/v1/experiments/gone", json=EXPERIMENT).status_code == 201
    assert client.ask("a/b", key="k").id == "0@a/b"
    client.close()


def test_ready_says_whether_the_store_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_TEST_SECONDS", 0.0)
    path = tmp_path / "a.db"
    store = open_store(str(path), make=True, patience=0.1)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        assert client.get("/ready").status_code == 200
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # readers are served all the while
            assert client.get("/v1/experiments").status_code == 200
            assert client.get("/ready").status_code == 503
            other.execute("ROLLBACK")
        assert client.get("/ready").status_code == 200


def test_a_change_that_another_server_anticipates_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    change = store.change_experiment

    def anticipated(kept: Kept, *values: Any, **options: Any) -> Kept:
        change(kept, "closed")
        return change(kept, *values, **options)

    monkeypatch.setattr(store, "change_experiment", anticipated)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        client.put("/v1/experiments/e", json=EXPERIMENT)
        answer = client.post("/v1/experiments/e/close")
        assert answer.status_code == 503
        told = "'e' was changed by another request meanwhile: try again"
        assert answer.json()["error"] == told
        assert client.post("/v1/experiments/e/close").json()["status"] == "closed"


def test_a_report_is_not_that_of_an_earlier_experiment_or_status(server: httpx.Client) -> None:
    experiment = "/v1/experiments/reported"
    server.put(experiment, json=EXPERIMENT)
    post(server, "decisions", {"unit": "u"}, "reported")

    def reported() -> tuple[int, str]:
        report = server.get(f"{experiment}/report").json()
        return report["decisions"], report["status"]

    assert reported() == (1, "open")
    post(server, "decisions", {"unit": "u"}, "reported")
    assert reported() == (1, "open")  # the same report again
    server.post(f"{experiment}/close")
    assert reported() == (2, "closed")
    server.delete(experiment)
    server.put(experiment, json=EXPERIMENT)
    assert reported() == (0, "open")


def test_an_experiment_is_closed_and_reopened(server: httpx.Client, path: Path) -> None:
    experiment = "/v1/experiments/life"
    server.put(experiment, json=EXPERIMENT)
    _, first = post(server, "decisions", {"unit": "u", "key": "k"}, "life")
    for _ in range(2):
        assert server.post(f"{experiment}/close").json()["status"] == "closed"
    assert post(server, "decisions", {"unit": "u", "key": "k"}, "life") == (200, first)
    status, answer = post(server, "decisions", {"unit": "u"}, "life")
    assert (status, "'life' is closed" in answer["error"]) == (409, True)
    assert post(server, "rewards", {"decision": "0@u", "reward": 1}, "life")[0] == 200
    assert server.get(f"{experiment}/units/u").json()["plays"] == {"a": 1, "b": 0}
    assert server.put(experiment, json=EXPERIMENT).json()["status"] == "closed"
    assert server.post(f"{experiment}/reopen").json()["status"] == "open"
    assert post(server, "decisions", {"unit": "u"}, "life")[0] == 200
    lines = [json.loads(line) for line in server.get(f"{experiment}/log").text.splitlines()]
    kinds = ["decision", "closed", "reward", "reopened", "decision"]
    assert [line["kind"] for line in lines] == kinds
    assert [line["unit"] for line in lines] == ["u", None, "u", None, "u"]
    assert server.post("/v1/experiments/none/close").status_code == 404


def test_what_cannot_be_adopted_is_told(server: httpx.Client, path: Path) -> None:
    experiment = "/v1/experiments/damaged"
    server.put(experiment, json=EXPERIMENT)
    post(server, "decisions", {"unit": "u"}, "damaged")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        ((number,),) = other.execute("SELECT id FROM experiments WHERE name = 'damaged'")
        other.execute("UPDATE experiments SET revision = 0 WHERE id = ?", (number,))
        other.execute("UPDATE events SET kind = 'forgot' WHERE experiment = ?", (number,))
    refused = server.post(f"{experiment}/adopt")
    assert refused.status_code == 409
    assert refused.json()["error"].startswith("the log is damaged: damaged: 0@u: forgot cannot be")
    assert server.delete(experiment).status_code == 200


def test_another_revision_is_503_until_it_is_adopted(server: httpx.Client, path: Path) -> None:
    experiment = "/v1/experiments/revised"
    assert server.put(experiment, json=EXPERIMENT).json()["revision"] == 1
    post(server, "decisions", {"unit": "u"}, "revised")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(
            "UPDATE experiments SET revision = 7, edition = edition + 1 WHERE name = 'revised'"
        )
    for what, body in (
        ("decisions", {"unit": "u"}),
        ("rewards", {"decision": "0@u", "reward": 1}),
    ):
        status, answer = post(server, what, body, "revised")
        assert (status, "ucb1@7" in answer["error"]) == (503, True)
    assert server.post(f"{experiment}/adopt").json()["revision"] == 1
    assert post(server, "decisions", {"unit": "u"}, "revised")[1]["decision"] == "1@u"


def test_experiments_are_listed_in_pages_and_without_their_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "MOST_LISTED", 2)
    app = make_app(open_store(str(tmp_path / "a.db"), make=True), most_experiments=3)
    with serving(app) as address, httpx.Client(base_url=address, timeout=LONG) as client:
        for name in "cab":
            client.put(f"/v1/experiments/{name}", json=EXPERIMENT)
        first = client.get("/v1/experiments").json()
        assert [each["name"] for each in first] == ["a", "b"]
        assert "problem" not in first[0]
        assert first[0]["policy"] == "ucb1"
        rest = client.get("/v1/experiments", params={"after": "b"}).json()
        assert [each["name"] for each in rest] == ["c"]
        full = client.put("/v1/experiments/d", json=EXPERIMENT)
        assert (full.status_code, "3 experiments" in full.json()["error"]) == (409, True)
        assert client.put("/v1/experiments/c", json=EXPERIMENT).status_code == 200


def test_experiments_that_take_long_to_make_do_not_keep_others_from_being_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_MOST_CREATING", 2)
    path, may, made = tmp_path / "a.db", Signal(), list[str]()
    with closing(open_store(str(path), make=True)) as store:
        store.add_experiment("old", checked_experiment("old", EXPERIMENT).definition, 1)

    def slow(name: str, content: object, **limits: int) -> Experiment:
        made.append(name)
        assert may.wait(LONG)
        return checked_experiment(name, content)

    monkeypatch.setattr(backend, "checked_experiment", slow)

    async def all_of_it(address: str) -> list[int]:
        async with httpx.AsyncClient(base_url=address, timeout=LONG) as client:
            puts = [
                asyncio.create_task(client.put(f"/v1/experiments/{n}", json=EXPERIMENT))
                for n in range(3)
            ]
            done, _ = await asyncio.wait(puts, return_when=asyncio.FIRST_COMPLETED)
            answer = await client.post("/v1/experiments/old/decisions", json={"unit": "u"})
            may.set()
            statuses = [(await each).status_code for each in puts]
            assert [each.result().status_code for each in done] == [503]
            return [answer.status_code, *sorted(statuses)]

    with serving(make_app(open_store(str(path)))) as address:
        assert asyncio.run(all_of_it(address)) == [200, 201, 201, 503]
    assert len(made) == 2


def test_a_problem_has_a_largest_size_and_a_unit_so_many_pending_decisions(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    with (
        serving(make_app(store, None, Settings(most_pending=2), most_means=4)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        for n in range(2):
            assert (
                client.put("/v1/experiments/e", json=EXPERIMENT).status_code == (200, 201)[n == 0]
            )
        statuses = [post(client, "decisions", {"unit": "u"})[0] for _ in range(3)]
        assert statuses == [200, 200, 409]
    store = open_store(str(tmp_path / "a.db"))
    with serving(make_app(store, most_means=3, most_pending=3)) as address:
        client = httpx.Client(base_url=address, timeout=LONG)
        answer = client.put("/v1/experiments/large", json=EXPERIMENT)
        statuses = [post(client, "decisions", {"unit": "u"})[0] for _ in range(2)]
        client.close()
    assert statuses == [200, 409]
    assert (answer.status_code, answer.json()["place"]) == (413, ["problem"])
    assert "2 models of 2 means each: at most 3" in answer.json()["error"]


def test_a_server_knows_that_its_store_was_restored(tmp_path: Path) -> None:
    """B's decisions must not land in C, which has B's number by now."""
    path = tmp_path / "a.db"
    store = open_store(str(path), make=True)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=address, timeout=LONG) as client,
    ):
        for name in "ab":
            client.put(f"/v1/experiments/{name}", json=EXPERIMENT)
            post(client, "decisions", {"unit": "u"}, name)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE experiments SET name = 'c', created = 1 WHERE name = 'b'")
        assert post(client, "decisions", {"unit": "u"}, "b")[0] == 404
        assert client.get("/v1/experiments/b/units/u").status_code == 404
        assert post(client, "decisions", {"unit": "u"}, "c")[1]["decision"] == "1@u"
        assert client.get("/v1/experiments/b/log").status_code == 404


def test_an_experiment_that_another_server_replaced_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [open_store(str(tmp_path / "a.db"), make=True) for _ in range(2)]
    url = "/v1/experiments/e"
    with (
        serving(make_app(stores[0])) as here,
        serving(make_app(stores[1])) as there,
        httpx.Client(base_url=here, timeout=LONG) as first,
        httpx.Client(base_url=there, timeout=LONG) as second,
    ):

        def replace_by(problem: str, maker: httpx.Client) -> None:
            assert post(second, "decisions", ask)[0] == 200  # so the second server knows it
            assert first.delete(url).status_code == 200
            body = {**EXPERIMENT, "problem": problem}
            assert maker.put(url, json=body).status_code == 201

        ask: dict[str, Any] = {"unit": "u"}
        first.put(url, json=EXPERIMENT)
        replace_by(THREE_ARMS, first)
        # These were all arms of the former experiment; of the new one "c" is the third.
        for n in range(6):
            answer = post(second, "decisions", {**ask, "among": ["a", "b"]})[1]
            assert answer["arm"] in ("a", "b")
            post(second, "rewards", {"decision": f"{n}@u", "reward": 0})
        assert first.get(f"{url}/units/u").json()["plays"]["c"] == 0
        replace_by(CONTEXTS, first)
        ask["context"] = "here"
        listed = [ask, {**ask, "context": "nowhere"}]
        assert [len(each) for each in post(second, "decisions", listed)[1]] == [3, 3]
        assert post(second, "decisions", {"unit": "u"})[0] == 422
        replace_by(PROBLEM, second)
        del ask["context"]
        monkeypatch.setattr(backend, "_prepare", pytest.fail)  # it was prepared when it was put
        assert post(second, "decisions", ask)[0] == 200
        first.delete(url)
        assert post(second, "decisions", {**ask, "context": "here"})[0] == 404


def test_long_deletions_do_not_delay_new_experiments_or_erasures(tmp_path: Path) -> None:
    store, may, begun = open_store(str(tmp_path / "a.db"), make=True), Signal(), Signal()
    delete_some = store.delete_some

    def slow(experiment: int) -> bool:
        begun.set()
        assert may.wait(LONG)
        return delete_some(experiment)

    store.delete_some = slow  # type: ignore[method-assign]

    async def all_of_it(address: str) -> list[int]:
        async with httpx.AsyncClient(base_url=address, timeout=LONG) as client:
            for name in ("large", "small"):
                await client.put(f"/v1/experiments/{name}", json=EXPERIMENT)
            await client.post("/v1/experiments/small/decisions", json={"unit": "u"})
            deleting = asyncio.create_task(client.delete("/v1/experiments/large"))
            await asyncio.to_thread(begun.wait, LONG)
            made = await client.put("/v1/experiments/new", json=EXPERIMENT)
            erased = await client.delete("/v1/experiments/small/units/u")
            reported = await client.get("/v1/experiments/large/report")
            paths = (await client.get("/openapi.json")).json()["paths"]
            assert "409" in paths["/v1/experiments/{name}/report"]["get"]["responses"]
            may.set()
            answers = made, erased, reported, await deleting
            return [answer.status_code for answer in answers]

    with serving(make_app(store, patience=LONG)) as address:
        try:
            assert asyncio.run(all_of_it(address)) == [201, 200, 409, 200]
        finally:
            may.set()


def test_long_adoptions_do_not_delay_new_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may, begun = Signal(), Signal()

    def slow(store: Store, name: str, progress: object) -> Kept | None:
        begun.set()
        assert may.wait(LONG)
        return store.experiment(name)

    async def both(address: str) -> list[int]:
        async with httpx.AsyncClient(base_url=address, timeout=LONG) as client:
            await client.put("/v1/experiments/large", json=EXPERIMENT)
            adopting = asyncio.create_task(client.post("/v1/experiments/large/adopt"))
            await asyncio.to_thread(begun.wait, LONG)
            made = await client.put("/v1/experiments/new", json=EXPERIMENT)
            may.set()
            return [made.status_code, (await adopting).status_code]

    monkeypatch.setattr(backend, "adopt", slow)
    with serving(make_app(open_store(str(tmp_path / "a.db"), make=True), patience=LONG)) as address:
        try:
            assert asyncio.run(both(address)) == [201, 200]
        finally:
            may.set()


def test_a_deletion_lets_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pauses = str(tmp_path / "a.db"), list[float]()
    monkeypatch.setattr(store_module, "_AT_ONCE", 2)
    with closing(open_store(path, make=True, patience=0.01)) as store:
        other = put(store, "other")

        def pause(seconds: float) -> None:
            one(store, other, Ask("u"))
            pauses.append(seconds)

        monkeypatch.setattr(backend, "sleep", pause)
        with (
            serving(make_app(open_store(path))) as address,
            httpx.Client(base_url=address, timeout=LONG) as client,
        ):
            client.put("/v1/experiments/e", json=EXPERIMENT)
            post(client, "decisions", [{"unit": f"u{n}"} for n in range(6)])
            assert client.delete("/v1/experiments/e").status_code == 200
    assert len(pauses) == 6  # 6 events and 6 units
    assert min(pauses) > 0


def test_a_websocket_is_closed(tmp_path: Path) -> None:
    """As by a server that, unlike ours, hands them to the application."""
    sent = list[Any]()

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        for path in ("/", "/v1/experiments/e"):
            scope: Any = {"type": "websocket", "path": path, "headers": [], "query_string": b""}
            asyncio.run(make_app(store)(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"] * 2


def test_minus_zero_is_zero(server: httpx.Client, path: Path) -> None:
    server.put("/v1/experiments/zero", json=EXPERIMENT)
    for number in range(3):
        post(server, "decisions", {"unit": "u"}, "zero")
        content = f'{{"decision": "{number}@u", "reward": -0.0}}'
        answer = server.post("/v1/experiments/zero/rewards", content=content)
        assert answer.status_code == 200
    with closing(open_store(str(path))) as store:
        assert verify(store, "zero").shown == []
    assert math.copysign(1, messages.TELL.read({"decision": "0@u", "reward": -0.0}).reward) == 1
