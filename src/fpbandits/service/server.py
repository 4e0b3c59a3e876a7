"""`run_server`: serve a store at an address until the server is stopped."""

from __future__ import annotations

import gc
import logging
import math
import signal
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from types import FrameType

from fpbandits.core.extras import needed_for
from fpbandits.errors import InputError, quote
from fpbandits.service.settings import Settings
from fpbandits.service.store import open_store
from fpbandits.service.tokens import TokenFile, is_loopback

_BACKLOG = 1024
"""Connections that may wait to be accepted while the server starts."""

_GARBAGE_THRESHOLD = 50_000
"""New objects after which Python's garbage collector runs. Requests leave no reference cycles, and
with Python's default of 700 a tenth of a server's time was spent in search of some."""


def run_server(
    store: str,
    host: str,
    port: int,
    token_file: Path | None,
    ready: Callable[[str], None],
    settings: Settings | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; ``ready`` is called with the address.

    After SIGTERM the server goes on for a while, and says that it is not ready, so that a load
    balancer sends requests elsewhere before it stops.
    """
    with needed_for("serving", "serve"):
        import uvicorn

        from fpbandits.service.connections import limited_protocol
        from fpbandits.service.http import make_app
    from fpbandits.service.logs import log_to_stderr

    if token_file is None and not is_loopback(host):
        raise InputError(
            f"--host {host} can be reached by others: name a --token-file (fpbandits token makes "
            "one), or serve on 127.0.0.1"
        )
    tokens = None if token_file is None else TokenFile(token_file)
    limits = settings or Settings()
    host = host.strip("[]")  # of an address of IPv6
    with _listen(host, port) as listener:
        opened = open_store(store, make=True, patience=limits.store_patience)
        app = make_app(opened, tokens, limits)
        log_to_stderr()
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            app,
            http=limited_protocol(limits),
            ws="none",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(limits.stop_seconds),
            lifespan="on",
        )

        class Server(uvicorn.Server):
            """A server that is not ready for a while before it stops."""

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                """Stop: a while after SIGTERM, at once after Ctrl-C or a second signal."""
                backend = app.backend
                if sig != signal.SIGTERM or backend.draining or not limits.drain_seconds:
                    backend.draining = True
                    super().handle_exit(sig, frame)
                    return
                backend.draining = True
                # A daemon thread, so that the process need not wait for it after a second signal.
                stop = Timer(limits.drain_seconds, super().handle_exit, (sig, frame))
                stop.daemon = True
                stop.start()

        # Agents warn people who call them from Python. (Filters for a while, as in `report`, are
        # not safe among threads: under this one that does not matter.)
        warnings.simplefilter("ignore")
        ready(address)
        gc.set_threshold(_GARBAGE_THRESHOLD)
        gc.freeze()  # objects made so far stay, and need not be searched again
        try:
            Server(config).run(sockets=[listener])
        finally:
            logging.getLogger("fpbandits.service").info("stopped", extra={"address": address})


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address."""
    if not 0 <= port < 2**16:
        raise InputError(f"--port is {port}: it must be between 0 and 65535; 0 takes any")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot serve on {quote(host)}, port {port} ({error.strerror or error})"
        ) from None
