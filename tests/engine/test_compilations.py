"""Whoever waits for the compiler hears of it: by a listener, or else by a line in the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.event import Event, EventStatus, broadcast

from fpbandits.engine import compilations as module
from fpbandits.engine.compilations import IN_BACKGROUND, compilations
from fpbandits.engine.compiling import compiled
from fpbandits.engine.ready import plan_once


class Clock:
    """Timers that ring when a test says so."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.seconds, self.ring, self.cancelled, self.daemon = seconds, ring, False, False
        made.append(self)

    def start(self) -> None:
        assert self.daemon, "nobody waits for it when the process ends"

    def cancel(self) -> None:
        self.cancelled = True


made: list[Clock] = []


@pytest.fixture(autouse=True)
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[Clock]:
    monkeypatch.setattr(module, "Timer", Clock)
    made.clear()
    return made


def tell(status: EventStatus, function: Any = plan_once) -> None:
    broadcast(Event("numba:compile", status, data={"dispatcher": function}))


def test_a_line_goes_to_the_log_once_it_has_taken_two_seconds(
    caplog: pytest.LogCaptureFixture, clocks: list[Clock]
) -> None:
    tell(EventStatus.START)
    (clock,) = clocks
    assert (clock.seconds, clock.cancelled) == (2.0, False)
    assert caplog.records == []
    clock.ring()
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "fpbandits")
    assert record.getMessage() == "fpbandits is compiling, once per machine: some seconds more"
    tell(EventStatus.END)
    assert clock.cancelled


def test_who_listens_is_told_instead(caplog: pytest.LogCaptureFixture, clocks: list[Clock]) -> None:
    told: list[int] = []
    with compilations(told.append):
        tell(EventStatus.START)
        clocks[0].ring()
        tell(EventStatus.END)
    assert told == [1, -1]
    assert caplog.records == []
    tell(EventStatus.START)
    clocks[1].ring()
    tell(EventStatus.END)
    assert told == [1, -1]
    assert len(caplog.records) == 1


def test_nothing_is_said_where_nobody_waits_nor_of_what_others_compile(
    clocks: list[Clock],
) -> None:
    def work() -> None:
        for status in (EventStatus.START, EventStatus.END):
            tell(status)

    thread = threading.Thread(target=work, name=IN_BACKGROUND)
    thread.start()
    thread.join()
    for status in (EventStatus.START, EventStatus.END):
        tell(status, function=object())
    assert clocks == []


def test_a_function_of_the_package_says_so_when_it_is_compiled(
    clocks: list[Clock], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # where no code is kept as yet
    assert compiled(_double)(3) == 6
    assert [clock.cancelled for clock in clocks] == [True]


def _double(number: int) -> int:
    return 2 * number
