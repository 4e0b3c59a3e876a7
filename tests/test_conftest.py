"""What a failing test leaves behind fails no other one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LEFT = """
import socket

def test_that_fails_and_leaves_a_socket():
    left = socket.socket()
    try:
        left.connect(("127.0.0.1", 1))
    except OSError as error:
        raise ValueError from error

def test_that_holds():
    import gc
    gc.collect()
"""


def test_an_open_socket_is_the_fault_of_who_opened_it(tmp_path: Path) -> None:
    conftest = Path(__file__).with_name("conftest.py")
    (tmp_path / "conftest.py").write_text(conftest.read_text())
    (tmp_path / "test_left.py").write_text(LEFT)
    words = ["-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "-rA", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "PASSED test_left.py::test_that_holds" in done.stdout
    assert "FAILED test_left.py::test_that_fails_and_leaves_a_socket" in done.stdout
    assert "ERROR test_left.py::test_that_fails_and_leaves_a_socket" in done.stdout
