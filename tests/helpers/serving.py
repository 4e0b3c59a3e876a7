"""A server in a thread of the test's own process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from waiting import wait_until


@contextmanager
def serving(app: Any, http: Any = "auto") -> Iterator[str]:
    """Serve an application on some port, and give its address."""
    config = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, lifespan="auto", http=http
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
