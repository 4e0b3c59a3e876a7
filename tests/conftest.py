"""How tests are shared out, and what becomes of those that fail."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Generator
from contextlib import suppress

import pytest

pytest.register_assert_rewrite("stores")

ORDER = ("simulation/test_cell", "lab/test_page", "fitting", "service", "cli", "engine", "policies")
"""What takes long begins first, so that no worker is left with it in the end. The very first
compiles all policies; what finds them compiled comes when that is done."""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep each file on one worker (``--dist loadgroup``), and put files in order.

    All tests of the paper are on one, which plays its experiments once.
    """
    places: dict[str, int] = {}
    for item in items:
        file = item.location[0]
        group = "paper" if "tests/paper/" in file else file
        item.add_marker(pytest.mark.xdist_group(group))
        places[item.nodeid] = next(
            (place for place, part in enumerate(ORDER) if part in group), len(ORDER)
        )
    items.sort(key=lambda item: places[item.nodeid])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let go of what a failing test holds: a socket that is found open later fails another test."""
    report = yield
    error = call.excinfo.value if report.failed and call.excinfo is not None else None
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            with suppress(RuntimeError):  # it is running
                frame.clear()
            _ = frame.f_locals  # of which pytest has made a copy: now that is empty, too
        error = error.__cause__ or error.__context__
    if report.failed:
        gc.collect()
    return report
