"""The server's own log: lines of JSON, and the ids of requests."""

from __future__ import annotations

import json
import logging
import random
import sys
from collections.abc import Iterator

import pytest

from fpbandits.service.logs import JsonFormatter, log_answer, log_to_stderr, request_id


def test_a_record_is_one_line_of_json() -> None:
    record = logging.LogRecord("x", logging.WARNING, "f.py", 1, "%s is %s", ("it", "so"), None)
    record.created = 86_400.5
    record.detail, record.status, record.other = "why", None, "left out"
    assert json.loads(JsonFormatter().format(record)) == {
        "time": "1970-01-02T00:00:00Z",
        "level": "warning",
        "message": "it is so",
        "detail": "why",
    }
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        record.exc_info = sys.exc_info()
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["traceback"].endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("given", ["!", "~", "mine/1", "a" * 128])
def test_a_caller_may_give_an_id(given: str) -> None:
    assert request_id(given) == given


@pytest.mark.parametrize("given", [None, "", " ", "a b", "é", "\x7f", "a\n", "a" * 129])
def test_any_other_id_is_replaced_by_64_random_bits(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "getrandbits", lambda bits: 2**bits - 1)
    assert request_id(given) == "f" * 16
    monkeypatch.setattr(random, "getrandbits", lambda bits: 10)
    assert request_id(given) == "000000000000000a"


@pytest.fixture
def loggers() -> Iterator[list[logging.Logger]]:
    """The loggers that are set up, which are as they were afterwards."""
    names = ("fpbandits", "uvicorn", "asyncio")
    found = [logging.getLogger(name) for name in names]
    before = [(each.handlers, each.propagate, each.level) for each in found]
    yield found
    for logger, (handlers, propagate, level) in zip(found, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_answers_and_warnings_go_to_standard_error(
    loggers: list[logging.Logger],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    package, uvicorn, asyncio = loggers
    log_to_stderr()
    log_to_stderr()  # lines are not doubled
    log_answer("mine/1", "GET", "/v1/experiments/{name}", "e", 404, 0.12345)
    log_answer("mine/2", "GET", "/health", None, 200, 0.0)
    package.debug("left out")
    package.info("said of all")
    uvicorn.info("left out")
    uvicorn.warning("said")
    asyncio.info("left out")
    asyncio.warning("said, too")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    for line in lines:
        del line["time"]
    assert lines == [
        {
            "level": "info",
            "message": "answered",
            "request": "mine/1",
            "method": "GET",
            "route": "/v1/experiments/{name}",
            "experiment": "e",
            "status": 404,
            "milliseconds": 123.5,
        },
        {
            "level": "info",
            "message": "answered",
            "request": "mine/2",
            "method": "GET",
            "route": "/health",
            "status": 200,
            "milliseconds": 0.0,
        },
        {"level": "info", "message": "said of all"},
        {"level": "warning", "message": "said"},
        {"level": "warning", "message": "said, too"},
    ]
    assert caplog.records == []  # nor does the root logger say it again
