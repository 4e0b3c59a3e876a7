"""The service over HTTP: every endpoint, and one form of answer for all errors.

What can be sent and what is answered is declared in `messages`, the statuses of errors in
`statuses`. An error is ``{"error": one line, "place": where in the request}``. A list of requests
is answered with a list, item by item; an item that is wrong has ``error`` and ``status`` of its
own, and the others are served.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from fpbandits import __version__
from fpbandits.errors import Error, InputError, TooLargeError, UnavailableError, quote
from fpbandits.service import messages
from fpbandits.service.backend import Backend
from fpbandits.service.batcher import logged_failure
from fpbandits.service.batches import Outcome
from fpbandits.service.beliefs import read_unit
from fpbandits.service.control import Control
from fpbandits.service.logs import log_answer, request_id
from fpbandits.service.messages import DEFINITION, EXPERIMENT, LOG_QUERY
from fpbandits.service.metrics import CONTENT_TYPE, Metrics
from fpbandits.service.openapi import JSON, Endpoint, html_page, openapi
from fpbandits.service.schema import Body, parse_json
from fpbandits.service.settings import Settings
from fpbandits.service.statuses import UnreadableError, status_of
from fpbandits.service.step import Answer
from fpbandits.service.store import Logged, Store
from fpbandits.service.tokens import Roles, authorize

_HEADERS = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}
"""Headers of answers by their status."""

PAGE = 1_000
"""Events of the log that are read at once."""

_CHECKED_AT_ONCE = 50
"""Requests of a list that are checked before other connections get their turn."""

_EXPERIMENT = "/v1/experiments/{name}"
_UNIT = f"{_EXPERIMENT}/units/{{unit:path}}"
_LINES = "application/x-ndjson"

_encode = json.JSONEncoder(allow_nan=False).encode

_Handler = TypeVar("_Handler", bound=Callable[..., Any])

_endpoints: list[Endpoint] = []


def make_app(
    store: Store,
    tokens: Roles | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> App:
    """Return the service as an ASGI application.

    Without ``tokens`` only requests to a loopback address are served (`authorize` sees to it), and
    these may do everything; endpoints that need no token are served to all. ``changes`` are
    settings by name that replace those of ``settings``, or the defaults.
    """
    settings = replace(settings or Settings(), **changes)
    return App(Backend(store, settings, Metrics()), tokens, settings.access_log)


class App(Router):
    """The service as an ASGI application.

    It is not a `Starlette`, which would wrap every request in its own handlers of errors, while a
    `_Route` handles all errors itself.
    """

    def __init__(self, backend: Backend, tokens: Roles | None, access_log: bool) -> None:
        self.backend = backend
        routes = [_Route(endpoint, backend, tokens, access_log) for endpoint in _endpoints]
        super().__init__(routes, redirect_slashes=False, lifespan=backend.running)

    async def not_found(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose path does not exist; a WebSocket is closed."""
        if scope["type"] != "http":
            await super().not_found(scope, receive, send)
            return
        await _no_route(self.backend, scope, HTTPStatus.NOT_FOUND)(scope, receive, send)


def _no_route(backend: Backend, scope: Scope, status: HTTPStatus, **headers: str) -> Response:
    """Return the answer to a request that no endpoint takes.

    All of these have the same labels in the metrics, so that callers cannot make new ones, and the
    access log is without them.
    """
    backend.metrics.answered("none", "other", status, 0.0)
    headers["x-request-id"] = request_id(_headers(scope).get("x-request-id"))
    reason = f"{scope['method']} {quote(scope['path'])}: {status.phrase}"
    return _json({"error": reason, "place": []}, status, headers)


def _headers(scope: Scope) -> dict[str, str]:
    """Return a request's headers: quicker than its own mapping, which looks through a list."""
    return {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}


class _Route(Route):
    """Calls an endpoint's handler: checks who may, turns errors into answers, measures the time.

    Every answer has the header X-Request-Id: the caller's own, or a new one.
    """

    def __init__(
        self, endpoint: Endpoint, backend: Backend, tokens: Roles | None, access_log: bool
    ) -> None:
        # Starlette never calls the handler, since `handle` is overridden.
        super().__init__(endpoint.path, endpoint.handler, methods=[endpoint.method])
        self._endpoint, self._backend, self._tokens = endpoint, backend, tokens
        self._access_log = access_log

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to this route's path."""
        began, endpoint, parameters = perf_counter(), self._endpoint, scope["path_params"]
        if scope["method"] not in (self.methods or ()):
            same_path = [route for route in scope["router"].routes if route.path == self.path]
            allow = ", ".join(sorted(method for route in same_path for method in route.methods))
            status = HTTPStatus.METHOD_NOT_ALLOWED
            await _no_route(self._backend, scope, status, allow=allow)(scope, receive, send)
            return
        headers = _headers(scope)
        identity = request_id(headers.get("x-request-id"))
        try:
            if endpoint.role is not None:
                authorize(self._tokens, headers, endpoint.role, parameters.get("name"))
            request = Request(scope, receive)
            response = await endpoint.handler(self._backend, request, **parameters)
        except Error as error:
            response = _failure(error)
        except Exception as error:
            response = _failure(logged_failure(error, identity))
        response.raw_headers.append((b"x-request-id", identity.encode()))
        try:
            # If the store fails while an answer is streamed, the last chunk is not sent, and the
            # server cuts the connection: so the client sees that the answer is not whole.
            with suppress(UnavailableError):
                await response(scope, receive, send)
        finally:
            measured = response.status_code, perf_counter() - began
            self._backend.metrics.answered(endpoint.path, endpoint.method, *measured)
            if self._access_log:
                name = parameters.get("name")
                log_answer(identity, endpoint.method, endpoint.path, name, *measured)


def _failure(error: Error) -> Response:
    """Return the answer to a request that failed."""
    status = status_of(error)
    return _json(_error_body(error), status, _HEADERS.get(status))


def _error_body(error: Error) -> Answer:
    return {"error": str(error), "place": error.path}


def _json(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(content).encode(), status, headers, JSON)


def _endpoint(
    method: str, path: str, *statuses: int, **options: Any
) -> Callable[[_Handler], _Handler]:
    """Make a handler an endpoint; the arguments are those of `Endpoint`.

    If no ``role`` is given it is for whoever may ask for decisions; with None no token is needed.
    ``statuses`` are those beside 200 and those that follow from its role, body and query.
    """

    def add(handler: _Handler) -> _Handler:
        description = handler.__doc__ or ""
        _endpoints.append(Endpoint(method, path, handler, description, statuses, **options))
        return handler

    return add


async def _serve(body: Body[Any], backend: Backend, request: Request, name: str) -> Response:
    """Answer a request, or a list of them."""
    experiment = await backend.experiment(name)
    content = await _content(request, body)
    is_list = isinstance(content, list)
    if is_list and len(content) > body.most_items:
        raise TooLargeError(
            f"a list of {len(content):,}: at most {body.most_items:,} are taken at once"
        )
    items, checked = content if is_list else [content], list[Any]()
    for start in range(0, len(items), _CHECKED_AT_ONCE):
        if start:
            await asyncio.sleep(0)  # others are answered between
        checked += [_checked(body, item) for item in items[start : start + _CHECKED_AT_ONCE]]
    requests = [item for item in checked if not isinstance(item, Error)]
    answers = iter(await backend.submit(experiment, requests) if requests else [])
    outcomes = [item if isinstance(item, Error) else next(answers) for item in checked]
    if is_list:
        return _json([_item(outcome) for outcome in outcomes])
    if isinstance(outcomes[0], Error):
        raise outcomes[0]
    return _json(outcomes[0])


def _item(outcome: Outcome) -> Answer:
    """Return an item of a list of answers."""
    if isinstance(outcome, Error):
        return {**_error_body(outcome), "status": status_of(outcome)}
    return outcome


async def _content(request: Request, body: Body[Any]) -> Any:
    """Return the JSON of a request's body; refuse it once it is too long."""
    parts, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise UnreadableError("the body broke off")
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > body.largest:
            raise TooLargeError(f"the body is larger than {body.largest:,} bytes")
        parts.append(part)
    return parse_json(b"".join(parts))


def _checked(body: Body[Any], item: object) -> Any:
    """Return a request, or what is wrong with it; what depends on the experiment comes later."""
    try:
        return body.read(item)
    except InputError as error:
        return error


for _action, _body, _answer in (
    ("decisions", messages.ASK, messages.DECIDED),
    ("rewards", messages.TELL, messages.RESOLVED),
    ("forget", messages.FORGET, messages.RESOLVED),  # decisions that will never get a reward
):
    _path, _handler = f"{_EXPERIMENT}/{_action}", partial(_serve, _body)
    _endpoints.append(
        Endpoint("POST", _path, _handler, _body.description, (404, 503), body=_body, answer=_answer)
    )


@_endpoint("PUT", _EXPERIMENT, 201, 503, role="admin", body=DEFINITION, answer=EXPERIMENT)
async def _put(backend: Backend, request: Request, name: str) -> Response:
    """Make an experiment; the same again is no change, and another one a conflict."""
    kept, new = await backend.put(name, await _content(request, DEFINITION))
    return _json(kept.shown(), 201 if new else 200)


@_endpoint("GET", "/v1/experiments", 503, query=messages.LIST_QUERY, answer=messages.EXPERIMENTS)
async def _list(backend: Backend, request: Request) -> Response:
    """List experiments by name, those after one if it is given; without the field problem."""
    after = request.query_params.get("after", "")
    page = await backend.call_store(backend.store.experiments, after, messages.MOST_LISTED)
    experiments = [kept.shown() for kept in page]
    for experiment in experiments:
        del experiment["problem"]
    return _json(experiments)


@_endpoint("GET", _EXPERIMENT, 404, 503, answer=EXPERIMENT)
async def _show(backend: Backend, request: Request, name: str) -> Response:
    """Show an experiment."""
    return _json((await backend.call_store(backend.read_kept, name)).shown())


@_endpoint("POST", f"{_EXPERIMENT}/close", 404, 409, 503, role="admin", answer=EXPERIMENT)
async def _close(backend: Backend, request: Request, name: str) -> Response:
    """Take no more decisions; rewards still count."""
    return _json((await backend.set_open(name, False)).shown())


@_endpoint("POST", f"{_EXPERIMENT}/reopen", 404, 409, 503, role="admin", answer=EXPERIMENT)
async def _reopen(backend: Backend, request: Request, name: str) -> Response:
    """Take decisions again."""
    return _json((await backend.set_open(name, True)).shown())


@_endpoint("POST", f"{_EXPERIMENT}/adopt", 404, 409, 503, role="admin", answer=EXPERIMENT)
async def _adopt(backend: Backend, request: Request, name: str) -> Response:
    """Resume after an upgrade that changed the policy's rule: from now on this server's decides."""
    return _json((await backend.adopt(name)).shown())


@_endpoint("DELETE", _EXPERIMENT, 404, 503, role="admin", answer=messages.DELETED)
async def _delete(backend: Backend, request: Request, name: str) -> Response:
    """Delete an experiment with its units and its log, for good."""
    return _json(await backend.delete(name))


@_endpoint("DELETE", _UNIT, 404, 409, 503, role="admin", answer=messages.ERASED)
async def _erase(backend: Backend, request: Request, name: str, unit: str) -> Response:
    """Erase a unit, but for how many decisions it had: later ones are numbered on from there."""
    return _json(await backend.erase(name, unit))


@_endpoint("GET", _UNIT, 404, 503, query=messages.UNIT_QUERY, answer=messages.UNIT)
async def _unit(backend: Backend, request: Request, name: str, unit: str) -> Response:
    """Show what is known of a unit, how likely each model is, and why an arm would be played."""
    query, experiment = request.query_params, await backend.current(name)
    false_alarm = messages.UNIT_QUERY["error"].check("error", query.get("error", "0.05"))
    context = query.get("context")
    if context is not None:
        experiment.check_context(context)
    return _json(
        await backend.call_store(read_unit, backend.store, experiment, unit, context, false_alarm)
    )


@_endpoint("GET", f"{_EXPERIMENT}/report", 404, 409, 503, role="admin", answer=messages.REPORT)
async def _report(backend: Backend, request: Request, name: str) -> Response:
    """Report how an experiment does, by arm and by likeliest model, and against its control."""
    return _json(await backend.report(name))


@_endpoint("GET", f"{_EXPERIMENT}/log", 404, 503, role="admin", query=LOG_QUERY, media_type=_LINES)
async def _log(backend: Backend, request: Request, name: str) -> Response:
    """Stream every event after a position in the log, in order, one JSON per line."""
    after = LOG_QUERY["after"].check("after", request.query_params.get("after", "0"))
    kept = await backend.call_store(backend.read_kept, name)
    control = Control.of(kept.definition)

    async def read(after: int) -> list[Logged]:
        return await backend.call_store(backend.store.log, kept.id, after, PAGE)

    async def lines(page: list[Logged]) -> AsyncIterator[bytes]:
        while page:
            yield "".join(_line(name, control, logged) for logged in page).encode()
            page = await read(page[-1].seq) if len(page) == PAGE else []

    # The first page is read before the answer begins: if the store fails, the status can say so.
    return StreamingResponse(lines(await read(after)), media_type=_LINES)


def _line(experiment: str, control: Control | None, logged: Logged) -> str:
    """Return an event of the log as a line of JSON."""
    seq, unit, event = logged
    line = {"seq": seq, "experiment": experiment, "unit": unit, **event._asdict()}
    line["among"] = event.eligible  # a list of names; the event has it as JSON text
    if control is not None:
        # Events of the experiment itself, such as its closing, have no unit.
        line["control"] = unit is not None and control.has(unit)
    return _encode(line) + "\n"


@_endpoint("GET", "/health", role=None, answer=messages.HEALTH)
async def _health(backend: Backend, request: Request) -> Response:
    """Tell that the server is up; it does not ask the store."""
    return _json({"status": "ok"})


@_endpoint("GET", "/ready", 503, role=None, answer=messages.READY)
async def _ready(backend: Backend, request: Request) -> Response:
    """Tell whether the store can be written to."""
    await backend.ready()
    return _json({"status": "ok", "version": __version__})


@_endpoint("GET", "/metrics", role="metrics", media_type="text/plain")
async def _metrics(backend: Backend, request: Request) -> Response:
    """Return numbers for Prometheus."""
    return Response(backend.metrics.text(), media_type=CONTENT_TYPE)


@_endpoint("GET", "/openapi.json", role=None)
async def _openapi(backend: Backend, request: Request) -> Response:
    """Describe all of this for machines, by OpenAPI."""
    return _json(openapi(_endpoints))


@_endpoint("GET", "/docs", role=None, media_type="text/html")
async def _docs(backend: Backend, request: Request) -> Response:
    """Describe all of this for people."""
    return HTMLResponse(html_page(_endpoints))
