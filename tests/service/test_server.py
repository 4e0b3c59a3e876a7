"""Starting a server: what must be right before it listens. Running it: cli/test_serve."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.service.server import run_server


def start(folder: Path, host: str = "127.0.0.1", port: int = 0) -> None:
    run_server(f"sqlite:///{folder}/a.db", host, port, None, lambda address: None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_without_tokens_nobody_else_may_reach_it(tmp_path: Path, host: str) -> None:
    with pytest.raises(InputError, match=r"can be reached by others: name a --token-file"):
        start(tmp_path, host)
    assert list(tmp_path.iterdir()) == []


def test_an_address_in_use_or_out_of_range_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"cannot serve on '127\.0\.0\.1', port {port}"):
            start(tmp_path, port=port)
    with pytest.raises(InputError, match="--port is 65536"):
        start(tmp_path, port=65536)
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InputError, match=r"needs uvicorn: pip install 'fpbandits\[serve\]'"):
        start(tmp_path)
