"""How tests are shared out, and what becomes of those that fail."""

from __future__ import annotations

import gc
import signal
import traceback
from collections.abc import Generator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A shell that starts the tests in the background has them ignore Ctrl-C, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine draws examples slowly, and nothing is wrong with that.
settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("patient")

# Hypothesis also tries the constants of all modules imported so far: the examples of a seed would
# depend on the tests that ran before. Here the constants are none.
providers._get_local_constants = lambda: providers._local_constants

pytest.register_assert_rewrite("stores")

ORDER = (
    "policies/test_leaps",
    "tests/fitting",
    "lab/test_page",
    "tests/service",
    "policies/test_stability",
    "policies/test_own",
    "tests/paper/claims",
    "tests/test_docs",
    "tests/cli",
    "tests/engine",
    "tests/agent",
    "tests/simulation",
    "tests/policies",
    "tests/paper/",
)
"""What takes long begins first, so that no worker is left with it in the end. The very first
compiles all policies; what finds them compiled comes when that is done. pytest-xdist keeps to it
with --no-loadscope-reorder; by itself it begins with the files that have the most tests. What plays
the paper's experiments is not in one place: one worker would wait for the other's results."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files in order."""

    def place(item: pytest.Item) -> list[bool]:
        file = item.nodeid.partition("::")[0]
        return [part in file for part in ORDER]

    items.sort(key=place, reverse=True)


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
