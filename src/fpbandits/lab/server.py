"""The lab's web server, for this machine only.

It listens on 127.0.0.1 and answers requests for that host or for localhost only. The page loads
nothing from elsewhere. Since it runs policies from files, it is served only to who has the token:
that stands in the address that the lab prints, and then in a cookie. Each browser tab has its own
session, which ends when the tab is closed.
"""

from __future__ import annotations

import logging
import secrets
import socket
import sys
import threading
import webbrowser

import uvicorn
from fastapi import FastAPI
from nicegui import app as pages
from nicegui import ui
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

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
    token = secrets.token_urlsafe(32)
    with listening(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"
        config = uvicorn.Config(
            application(problem, store, token=token),
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


class Guard:
    """Lets in who has the token, and nothing that another site's page sends."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a websocket, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        origin, cookie = asked.headers.get("origin"), f"fpbandits-lab-{scope['server'][1]}"
        foreign = origin not in (None, f"http://{asked.headers.get('host')}")
        if not foreign and self._knows(asked.cookies.get(cookie)):
            await self._app(scope, receive, send)
        elif not foreign and self._knows(asked.query_params.get("token")):
            # On to the address without the token: it need not stay in the browser's history.
            response = RedirectResponse("/", 303)
            response.set_cookie(cookie, self._token, httponly=True, samesite="strict")
            await response(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            words = "Open the address that `fpbandits lab` printed: it holds a token.\n"
            await PlainTextResponse(words, 403)(scope, receive, send)

    def _knows(self, given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), self._token.encode())


def application(problem: Problem, store: Store | None = None, *, token: str) -> FastAPI:
    """Return the lab as an ASGI application, for who has the token."""
    lab = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    lab.add_middleware(Guard, token=token)
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
