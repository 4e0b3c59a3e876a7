"""The lab's server: on this machine alone, for whoever sits before it.

It listens on 127.0.0.1, answers only to that name, and every byte of the page comes from installed
packages. Each browser tab has a workbook of its own, which is gone when the tab is closed.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI
from nicegui import app as pages
from nicegui import ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from fpbandits.errors import InputError
from fpbandits.lab import page
from fpbandits.lab.free import answer
from fpbandits.lab.sheet import sheet_of
from fpbandits.lab.tasks import leave, stop_all
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem
from fpbandits.service.store import Store

HOST = "127.0.0.1"

_PATIENCE = 3.0
"""Seconds that work under way has, once the lab ends, to end too."""

_FORGET = 300.0
"""Seconds after which a tab that is gone will not come back, and what it plays is stopped."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="3" fill="#0072B2"/>'
    '<path d="M3 12C5 5 7 5 13 4.5" stroke="#fff" stroke-width="2" fill="none"/></svg>'
)


def serve(problem: Problem, port: int, *, store: Store | None, open_browser: bool) -> None:
    """Serve the lab until Ctrl-C, and say on standard output where it is."""
    sheet_of(problem)  # what is too large for the page is refused before there is one
    with listening(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        settings = uvicorn.Config(
            application(problem, store),
            log_level="warning",
            timeout_graceful_shutdown=1,  # a tab keeps its connection as long as it is open
        )
        try:
            _Server(settings, address, open_browser).run(sockets=[listener])
        except KeyboardInterrupt:
            leave(_PATIENCE, 130)
            raise


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Hold a port of this machine: a free one, if 0 is asked for."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise InputError(
                f"--port {port} cannot be had ({error.strerror}): name another, or 0 for any that "
                "is free"
            ) from None
        yield listener


def application(problem: Problem, store: Store | None = None) -> FastAPI:
    """Return the lab as an application that any ASGI server may run."""
    lab = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # Another site's name may be made to point here; whoever comes by it is not let in.
    lab.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])

    @ui.page("/")
    async def _() -> None:
        await page.build(problem, store)

    pages.on_shutdown(stop_all)
    # A browser that goes away in the middle of an answer is nobody's fault.
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


class _Server(uvicorn.Server):
    def __init__(self, settings: uvicorn.Config, address: str, open_browser: bool) -> None:
        super().__init__(settings)
        self._address, self._open_browser = address, open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if not self.started:
            return
        sys.stdout.write(f"lab at {self._address}\n")
        sys.stdout.flush()
        if self._open_browser:
            # In a thread, since a browser of the terminal's own does not return.
            threading.Thread(target=webbrowser.open, args=[self._address], daemon=True).start()
        # What the first answer needs is loaded while the browser is on its way.
        small = built_in("paper:two")
        threading.Thread(target=answer, args=[small, small.truth], daemon=True).start()
