"""The lab's web server, for this machine only.

It listens on 127.0.0.1 and answers requests for that host or for localhost only. The page loads
nothing from elsewhere. Since the lab runs policies from files, every request must have a token: the
address that the lab prints has it, and then a cookie. Each browser tab has its own session, which
ends when the tab is closed.
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
"""The address that the lab listens on."""

_STOPPING = 3.0
"""Seconds that running work has to stop when the lab shuts down."""

_RECONNECTING = 300.0
"""Seconds after which a disconnected tab is dropped and its simulation stopped."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="3" fill="#0072B2"/>'
    '<path d="M3 12C5 5 7 5 13 4.5" stroke="#fff" stroke-width="2" fill="none"/></svg>'
)
"""The icon of the page: a curve of regret."""


def serve(problem: Problem, port: int, *, store: Store | None, open_browser: bool) -> None:
    """Serve the lab until Ctrl-C; print its address on standard output."""
    sheet_of(problem)  # raises an error if the problem is too large for the page
    token = secrets.token_urlsafe(32)
    with listen_on(port) as listener:
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
            leave(_STOPPING, 130)
            raise


def listen_on(port: int) -> socket.socket:
    """Listen on a port of this machine, or on any free one if it is 0."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(
            f"--port {port} cannot be used ({error.strerror}): give another, or 0 for any free one"
        ) from None


class Guard:
    """Passes on requests that have the token, unless the page of another site sends them."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request or a websocket, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        origin, cookie = request.headers.get("origin"), f"fpbandits-lab-{scope['server'][1]}"
        is_foreign = origin not in (None, f"http://{request.headers.get('host')}")
        if not is_foreign and self._is_token(request.cookies.get(cookie)):
            await self._app(scope, receive, send)
        elif not is_foreign and self._is_token(request.query_params.get("token")):
            # Redirect to the address without the token, which need not stay in the history.
            response = RedirectResponse("/", 303)
            response.set_cookie(cookie, self._token, httponly=True, samesite="strict")
            await response(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            words = "Open the address that `fpbandits lab` printed: it holds a token.\n"
            await PlainTextResponse(words, 403)(scope, receive, send)

    def _is_token(self, text: str | None) -> bool:
        return text is not None and secrets.compare_digest(text.encode(), self._token.encode())


def application(problem: Problem, store: Store | None = None, *, token: str) -> FastAPI:
    """Return the lab as an ASGI application, for requests that have the token."""
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
        reconnect_timeout=_RECONNECTING,
        message_history_length=300,
    )
    return lab
