"""The lab's web server, for this machine only.

It listens on 127.0.0.1 and answers requests for that host or for localhost only. The page loads
nothing from elsewhere. Each browser tab has its own session, which ends when the tab is closed.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import webbrowser

import uvicorn
from fastapi import FastAPI
from nicegui import app as pages
from nicegui import ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from fpbandits.errors import InputError
from fpbandits.lab import page
from fpbandits.lab.analysis import analyze_as_html
from fpbandits.lab.sheet import sheet_of
from fpbandits.lab.tasks import leave, stop_all
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem
from fpbandits.service.store import Store

HOST = "127.0.0.1"

_PATIENCE = 3.0
"""Seconds that running work has to stop when the lab shuts down."""

_FORGET = 300.0
"""Seconds after which a disconnected tab is dropped and its simulation stopped."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="3" fill="#0072B2"/>'
    '<path d="M3 12C5 5 7 5 13 4.5" stroke="#fff" stroke-width="2" fill="none"/></svg>'
)


def serve(problem: Problem, port: int, *, store: Store | None, open_browser: bool) -> None:
    """Serve the lab until Ctrl-C; print its address on standard output."""
    sheet_of(problem)  # raises an error if the problem is too large for the page
    with listening(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        config = uvicorn.Config(
            application(problem, store),
            log_level="warning",
            timeout_graceful_shutdown=1,  # open tabs keep their connections
        )
        try:
            # The port accepts connections already, and the server will answer them.
            sys.stdout.write(f"lab at {address}\n")
            sys.stdout.flush()
            if open_browser:
                # In a thread, since a terminal browser does not return.
                threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
            # Imports the modules of the first analysis while the browser loads the page.
            small = built_in("paper:two")
            threading.Thread(target=analyze_as_html, args=[small, small.truth], daemon=True).start()
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            leave(_PATIENCE, 130)
            raise


def listening(port: int) -> socket.socket:
    """Listen on a port of this machine; 0 is any free one."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(
            f"--port {port} cannot be used ({error.strerror}): give another, or 0 for any free one"
        ) from None


def application(problem: Problem, store: Store | None = None) -> FastAPI:
    """Return the lab as an ASGI application."""
    lab = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # Refuses requests for other host names that resolve to this machine (DNS rebinding).
    lab.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])

    @ui.page("/")
    async def _() -> None:
        await page.build(problem, store)

    pages.on_shutdown(stop_all)
    # A browser may disconnect at any time: do not log that.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "timeout" not in record.getMessage()
    )
    ui.run_with(
        lab,
        title="fpbandits lab",
        favicon=_ICON,
        dark=None,
        language="en-US",
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=_FORGET,
        message_history_length=300,
    )
    return lab
