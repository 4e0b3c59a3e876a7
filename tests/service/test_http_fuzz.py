"""Whatever is sent: no answer above 499 and no traceback; what is refused has changed nothing.

Requests are drawn from the server's own OpenAPI schema: as it says, spoiled in one place, cut or
scrambled as bytes, and to addresses and with headers that there are not. Names are mostly few, so
that many requests meet units, keys and decisions that exist.
"""

from __future__ import annotations

import http.client
import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import serving
from stores import CONTEXTS, PROBLEM
from waiting import LONG

from fpbandits.service.http import make_app
from fpbandits.service.messages import LARGEST_BODY, MOST_ITEMS
from fpbandits.service.store import open_store
from fpbandits.service.verify import verify

GAUSSIAN = f'reward = "gaussian"\ndeviation = 1.0\n{PROBLEM}'

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "plain": {"problem": PROBLEM, "policy": "ucb1"},
    "contexts": {"problem": CONTEXTS, "policy": "thompson-theta"},
    "gaussian": {"problem": GAUSSIAN, "policy": "ucb1"},
    "waiting": {"problem": PROBLEM, "policy": "fp-ucb", "reward_wait": 1e6, "default_reward": 0},
}
"""Nothing in them expires meanwhile: all that changes, a request has changed."""

TEXT = st.text(st.characters(codec=None), max_size=30)
NUMBERS = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, 1, 1.0])
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXT)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
UNITS = st.sampled_from([f"u{place}" for place in range(3)])


def one_of(*options: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Return a choice by weights; `st.one_of` has a mind of its own."""
    each = [option for weight, option in options for _ in range(weight)]
    return st.sampled_from(range(len(each))).flatmap(lambda place: each[place])


@st.composite
def problems(draw: st.DrawFn) -> str:
    """Texts of problems: good ones, some with strange numbers, some scrambled."""
    text = draw(st.sampled_from([PROBLEM, CONTEXTS]))
    how = draw(st.integers(0, 2))
    if how == 0:
        return text
    if how == 1:
        place = draw(st.integers(0, len(text)))
        return text[:place] + draw(TEXT) + text[place + draw(st.integers(0, 3)) :]
    number = st.one_of(st.floats(0, 1), st.floats(), st.integers(-2, 2))
    family = draw(st.sampled_from(["bernoulli", "beta", "gaussian", "discrete", "none"]))
    lines = [f'reward = "{family}"', 'arms = ["a", "b"]']
    fields = [field for field in ("concentration", "deviation") if draw(st.booleans())]
    lines += [f"{field} = {draw(number)}" for field in fields]
    if draw(st.booleans()):
        lines.append(f"range = [{draw(number)}, {draw(number)}]")
    lines.append("[models]")
    lines += [f"{name} = [{draw(number)}, {draw(number)}]" for name in ("x", "y")]
    if draw(st.booleans()):
        lines.append(f"[prior]\nx = {draw(number)}")
    return "\n".join(lines)


KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "unit": UNITS,
    "key": st.sampled_from([f"k{place}" for place in range(6)]),
    "context": st.sampled_from(["here", "there"]),
    "decision": st.builds("{}@{}".format, st.integers(0, 6), UNITS),
    "reward": st.sampled_from([0, 1, 0.5, 1.0, 1e308]),
    "problem": problems(),
    "policy": st.sampled_from(
        [
            "ucb1",
            "thompson-theta",
            "fp-ucb",
            "fp-ucb:slack=nan",
            "fp-ucb:slack=-1e308",
            "ucb1:",
            ":",
        ]
    ),
}
"""Values of fields that the schema cannot know."""


def as_said(shape: dict[str, Any], field: str = "") -> st.SearchStrategy[Any]:
    """Return what the schema allows; where it says little, what is likely to be there."""
    if "anyOf" in shape:
        first, *others = (as_said(each, field) for each in shape["anyOf"])
        return one_of((2, first), *((1, other) for other in others))
    if "enum" in shape:
        return st.sampled_from(shape["enum"])
    kind = shape.get("type")
    if kind == "object":
        fields = {name: as_said(each, name) for name, each in shape["properties"].items()}
        required = {name: fields.pop(name) for name in shape["required"]}
        return st.fixed_dictionaries(required, optional=fields)
    if kind == "array":
        return st.lists(as_said(shape["items"]), max_size=5)
    if kind == "null":
        return st.none()
    if kind == "integer":
        return st.integers(shape.get("minimum"))
    freely = (
        st.text(min_size=shape.get("minLength", 0), max_size=shape.get("maxLength", 30))
        if kind == "string"
        else NUMBERS
    )
    # Most are known: else hardly any request would get far.
    return one_of((9, KNOWN[field]), (1, freely)) if field in KNOWN else freely


@st.composite
def spoiled(draw: st.DrawFn, bodies: st.SearchStrategy[Any]) -> Any:
    """Change a body in one place: a field more, less, or of another kind."""
    body = draw(bodies)
    target = body[draw(st.integers(0, len(body) - 1))] if isinstance(body, list) and body else body
    if not isinstance(target, dict):
        return draw(JSON)
    field = draw(st.sampled_from([*target, "extra"]))
    if field in target and draw(st.booleans()):
        del target[field]
    else:
        target[field] = draw(JSON)
    return body


@st.composite
def scrambled(draw: st.DrawFn, bodies: st.SearchStrategy[Any]) -> bytes:
    """Cut a body, or put bytes into it."""
    whole = json.dumps(draw(bodies)).encode()
    place = draw(st.integers(0, len(whole)))
    more = draw(
        st.sampled_from([b"", b"NaN", b"1e999", b"\xff", b"\x00", b"[" * 3000, b"9" * 5000])
    )
    return whole[:place] + more + (whole[place:] if more else b"")


TOO_LONG = st.sampled_from(
    [b"[" + b"{}," * MOST_ITEMS + b"{}]", b" " * (LARGEST_BODY + 1), b'"' + b"x" * LARGEST_BODY]
)


HEADERS = st.dictionaries(
    st.sampled_from(["Host", "Origin", "Authorization", "Content-Type", "Accept"]),
    one_of(
        (1, st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)),
        (3, st.sampled_from(["[::1", "http://[", "null", "127.0.0.1:x", "Bearer", "localhost"])),
    ),
    min_size=1,
    max_size=2,
)


@dataclass(frozen=True)
class Sent:
    """A request, and which of the schema's routes it is for, if any."""

    route: str | None
    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]


def requests_of(schema: dict[str, Any]) -> st.SearchStrategy[Sent]:
    """Return all requests that are sent."""
    routes = [
        (6 if method == "post" else 3 if method == "put" else 1, _requests(path, method, what))
        for path, methods in schema["paths"].items()
        for method, what in methods.items()
    ]
    path = st.one_of(
        TEXT.map(lambda text: "/" + quote(text, safe="/", errors="replace")),
        st.sampled_from(
            ["/v1/experiments/", "/v1//", "/v1/experiments/%ff", "/%00", "/docs", "//"]
        ),
    )
    anywhere = st.builds(
        Sent,
        st.none(),
        st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
        st.one_of(path, st.sampled_from(["/v1/experiments/plain/decisions", "/metrics"])),
        st.one_of(st.none(), st.binary(max_size=30)),
        HEADERS,
    )
    return one_of(*routes, (4, anywhere))


def _requests(path: str, method: str, what: dict[str, Any]) -> st.SearchStrategy[Sent]:
    names = st.sampled_from([*EXPERIMENTS] * 12 + ["none", "é/x", " ", "x" * 201, "\0"])
    if method == "put":  # nobody asks those that are made here, so that nothing in them expires
        names = st.sampled_from(["plain", *(f"p{place}" for place in range(40)), "a/b", " ", "\n"])
    if method == "delete" and "unit" not in path:  # the others would soon be gone
        names = st.sampled_from([*(f"p{place}" for place in range(40)), "none", " ", "\0"])
    parts: dict[str, st.SearchStrategy[str]] = {
        "name": names.map(_escaped),
        "unit": one_of((3, UNITS), (1, TEXT)).map(_escaped),
        "after": st.one_of(st.integers(-1, 200).map(str), TEXT.map(_escaped)),
    }
    address = path + ("?after={after}" if path.endswith("/log") else "")
    filled = st.fixed_dictionaries(parts).map(lambda values: address.format(**values))
    body: st.SearchStrategy[bytes | None] = st.none()
    if "requestBody" in what:
        whole = as_said(what["requestBody"]["content"]["application/json"]["schema"])
        written = whole.map(lambda each: json.dumps(each).encode())
        wrong = spoiled(whole).map(lambda each: json.dumps(each).encode())
        body = one_of((14, written), (10, wrong), (5, scrambled(whole)), (2, TOO_LONG))
    headers = one_of((6, st.just({})), (1, HEADERS))
    return st.builds(Sent, st.just(path), st.just(method.upper()), filled, body, headers)


def _escaped(text: str) -> str:
    return quote(text, safe="", errors="replace")


class Watched:
    """A server, its file, and what its loggers say."""

    def __init__(self, address: str, file: sqlite3.Connection) -> None:
        self._server = urlsplit(address).netloc
        self._connection = http.client.HTTPConnection(self._server, timeout=LONG)
        self._file, self._version, self._seq = file, -1, 0
        self.seen: Counter[int] = Counter()
        self.decisions = 0
        self.changed()

    def close(self) -> None:
        self._connection.close()

    def send(self, sent: Sent) -> tuple[int, bytes]:
        headers = {"Connection": "keep-alive", **sent.headers}
        for attempt in (1, 2):
            try:
                self._connection.request(sent.method, sent.path, sent.body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError):
                # A server that has answered before all was sent may hang up.
                self._connection.close()
                if attempt == 2:
                    raise
        raise AssertionError

    def changed(self) -> bool:
        """Tell whether anyone has committed a change to the file since the last time."""
        before = self._version
        ((self._version,),) = self._file.execute("PRAGMA data_version")
        return before != self._version

    def new_events(self) -> list[str]:
        """Return the units of events that were not there the last time."""
        rows = self._file.execute(
            "SELECT seq, kind, units.name FROM events JOIN units ON units.id = unit WHERE seq > ?",
            (self._seq,),
        ).fetchall()
        self._seq = max((seq for seq, _, _ in rows), default=self._seq)
        self.decisions += sum(kind == "decision" for _, kind, _ in rows)
        return [unit for _, _, unit in rows]


def fits(shape: dict[str, Any], value: object) -> bool:
    """Tell whether an answer is as the schema says, with no field that it does not name."""
    if "anyOf" in shape:
        return any(fits(each, value) for each in shape["anyOf"])
    if "enum" in shape:
        return value in shape["enum"]
    if isinstance(value, dict) and "properties" in shape:
        fields = shape["properties"]
        whole = set(shape["required"]) <= set(value) <= set(fields)
        return whole and all(fits(fields[name], each) for name, each in value.items())
    if isinstance(value, list) and "items" in shape:
        return all(fits(shape["items"], each) for each in value)
    kinds: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    named = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    return any(isinstance(value, kinds[name]) for name in named)


def check(server: Watched, schema: dict[str, Any], sent: Sent) -> None:
    """Send a request, and hold its answer to what the service promises."""
    status, body = server.send(sent)
    changed, events = server.changed(), server.new_events()
    server.seen[status] += 1
    assert status < 500, (sent, body)
    assert b"Traceback" not in body
    if sent.route is not None:
        documented = schema["paths"][sent.route][sent.method.lower()]["responses"]
        # A name with a slash in it is another address.
        assert str(status) in documented or status in (404, 405), (sent, status, body)
        content = documented.get(str(status), {}).get("content", {})
        if "schema" in content.get("application/json", {}) and sent.route != "/openapi.json":
            assert fits(content["application/json"]["schema"], json.loads(body)), (sent, body)
    if status == 200 and sent.route is not None:
        for line in body.splitlines() if sent.path.startswith("/v1") else []:
            json.loads(line, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    if status >= 400 and sent.method != "HEAD":
        error = json.loads(body)
        assert set(error) == {"error", "place"}
        assert error["error"].strip()
        assert len(error["error"].splitlines()) == 1, error
    if status >= 400 or sent.method in ("GET", "HEAD", "OPTIONS"):
        assert not changed or sent.path == "/ready", (sent, status, body)
    elif (sent.route or "").endswith(("/close", "/reopen", "/adopt")):
        assert not events
        server.send(Sent(None, "POST", sent.path.replace("/close", "/reopen"), None, {}))
        server.changed()
    elif sent.method == "POST":
        answers = json.loads(body)
        several = answers if isinstance(answers, list) else [answers]
        accepted = [each for each in several if "error" not in each]
        assert all(400 <= each["status"] < 500 for each in several if "error" in each), (sent, body)
        assert Counter(events) <= Counter(
            each["decision"].partition("@")[2] for each in accepted
        ), (sent, body)
        assert accepted or not changed, (sent, body)


class Said(logging.Handler):
    """Keeps what loggers say."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def said() -> Iterator[list[logging.LogRecord]]:
    handler = Said()
    loggers = [logging.getLogger(name) for name in ("fpbandits.service", "uvicorn", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.records
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.mark.parametrize(
    "count", [600, pytest.param(10_000, marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_whatever_is_sent(tmp_path: Path, said: list[logging.LogRecord], count: int) -> None:
    path = tmp_path / "store.db"
    app = make_app(open_store(str(path), make=True))
    with (
        serving(app) as address,
        closing(sqlite3.connect(path, isolation_level=None)) as file,
        closing(Watched(address, file)) as server,
    ):
        for name, definition in EXPERIMENTS.items():
            body = json.dumps(definition).encode()
            assert server.send(Sent(None, "PUT", f"/v1/experiments/{name}", body, {}))[0] == 201
        server.changed()
        schema = json.loads(server.send(Sent(None, "GET", "/openapi.json", None, {}))[1])

        @settings(
            max_examples=count,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(requests_of(schema))
        def send(sent: Sent) -> None:
            check(server, schema, sent)

        send()
        assert file.execute("SELECT count(*) FROM units WHERE steps = 0").fetchone() == (0,)
    assert [record for record in said if record.exc_info or record.levelno >= logging.ERROR] == []
    with closing(open_store(str(path))) as store:
        found = verify(store)
    assert found.shown == []
    print(dict(sorted(server.seen.items())), server.decisions)  # noqa: T201 – for -s
    # It is not all refused at the door: each kind of answer was met, the rare ones among many.
    rare = {403, 405, 413} if count > 5000 else set()
    assert server.seen.keys() >= {200, 201, 400, 404, 409, 422} | rare
    assert server.decisions > count / 50
