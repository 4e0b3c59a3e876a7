"""`run_server`: a store, an address and a file of tokens into a server that runs until stopped."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import Callable
from pathlib import Path

from fpbandits.core.extras import needed_for
from fpbandits.errors import InputError, quote
from fpbandits.service.store import open_store
from fpbandits.service.tokens import TokenFile, is_loopback

GRACE = 10
"""Seconds that requests under way have to finish when the server is stopped."""

YOUNG = 50_000
"""New objects after which Python's garbage collector runs. Requests leave no cycles behind, and at
Python's default of 700 a tenth of a server's time went into looking for some."""


def run_server(
    store: str, host: str, port: int, token_file: Path | None, ready: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM; ``ready`` is called with the address."""
    with needed_for("serving", "serve"):
        import uvicorn

        from fpbandits.service.connections import LimitedProtocol, most_connections
        from fpbandits.service.http import make_app
    from fpbandits.service.logs import log_to_stderr

    if token_file is None and not is_loopback(host):
        raise InputError(
            f"--host {host} can be reached by others: name a --token-file (fpbandits token makes "
            "one), or serve on 127.0.0.1"
        )
    tokens = None if token_file is None else TokenFile(token_file)
    LimitedProtocol.most_connections = most_connections()
    listening = _listening(host, port)
    with listening:
        app = make_app(open_store(store, make=True), tokens)
        log_to_stderr()
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            lifespan="on",
        )
        ready(address)
        gc.set_threshold(YOUNG)
        gc.freeze()  # what is there by now stays: it need not be looked through again and again
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            logging.getLogger("fpbandits.service").info("stopped", extra={"address": address})


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise InputError(f"--port is {port}: it must be between 0 and 65535; 0 takes any")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=1024)
    except OSError as error:
        raise InputError(
            f"cannot serve on {quote(host)}, port {port} ({error.strerror or error})"
        ) from None
