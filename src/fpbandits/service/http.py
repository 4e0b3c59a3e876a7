"""The service over HTTP: what the contract of `docs/service.md` says, no more.

Each request is read, checked and handed to the desk; the answer is JSON. Whatever goes wrong is
``{"error": one line, "place": [names]}``, with a status by the kind of error: see `statuses`.

A list of requests is answered with a list, item by item; an item that is wrong has ``error`` and
``status`` of its own, and the others are served.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from math import isfinite
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from fpbandits import __version__
from fpbandits.core.checks import whole_number
from fpbandits.errors import (
    ConflictError,
    Error,
    InputError,
    RefusedError,
    StorageError,
    TooLargeError,
    UnavailableError,
    quote,
)
from fpbandits.service import bodies, shapes
from fpbandits.service.desk import PATIENCE, Desk, Work
from fpbandits.service.experiment import Experiment, checked_experiment, short_name
from fpbandits.service.metrics import CONTENT_TYPE, Metrics
from fpbandits.service.statuses import ForbiddenError, MissingError, UnreadableError, status_of
from fpbandits.service.step import Expire, Unit, decision_name
from fpbandits.service.store import Kept, Logged, Store
from fpbandits.service.tokens import Role, Tokens, is_loopback

_READERS: dict[str, bodies.Reader] = {
    "decisions": bodies.read_ask,
    "rewards": bodies.read_tell,
    "forget": bodies.read_forget,
}
_OFTEN = re.compile(r"/v1/experiments/([^/]+)/(decisions|rewards|forget)")
_ROUTES = {what: SimpleNamespace(path=f"/v1/experiments/{{name}}/{what}") for what in _READERS}

_PAGE = 1_000
"""Events of the log that are read at once."""

_MOST_READING = 500
"""Questions that may wait for the store, beside those that wait at the desk."""

_SWEEP = 1.0
"""Seconds between two looks for decisions that have expired."""

_encode = json.JSONEncoder(allow_nan=False).encode

_logger = logging.getLogger("fpbandits.service")

_T = TypeVar("_T")


class Service:
    """A store with its desk, the experiments that were met, and who may ask."""

    def __init__(self, store: Store, tokens: Tokens | None, patience: float) -> None:
        self.store, self.metrics = store, Metrics()
        self._tokens, self._patience = tokens, patience
        self._experiments: dict[str, Experiment] = {}
        self._loading: dict[str, asyncio.Task[Experiment]] = {}
        self._reads = 0
        # Apart from the threads that ask the store: these may all be waiting for it.
        self._making_ready = ThreadPoolExecutor(2, "fpbandits rules")
        self.desk: Desk

    @asynccontextmanager
    async def working(self, app: FastAPI) -> AsyncIterator[None]:
        """Serve as long as the application runs; then finish what is under way."""
        self.desk = Desk(self.store, patience=self._patience, committed=self.metrics.committed)
        self.metrics.watch(lambda: self.desk.waiting)
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping
            await self.desk.close()
            self._making_ready.shutdown(wait=False, cancel_futures=True)
            self.store.close()

    async def _sweep(self) -> None:
        """Let decisions expire whose units nobody asks for."""
        work: list[Work] = []
        while True:
            # While there is much to do, the next page follows at once.
            await asyncio.sleep(0 if len(work) == _PAGE else _SWEEP)
            work = []
            try:
                due = await self.reading(self.store.due, _PAGE)
                work = [(await self.experiment(name), Expire(unit)) for name, unit in due]
                if work:
                    await self.desk.submit(work)
            except Error:  # whoever asks is told; the next sweep will do
                work = []
            except Exception:
                _logger.exception("a sweep failed")
                work = []

    async def reading(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """Ask the store in a thread; neither for ever, nor for more at once than it may bear."""
        if self._reads >= _MOST_READING:
            raise UnavailableError(f"{self._reads} wait for the store already: try again")
        reading = asyncio.get_running_loop().run_in_executor(None, call, *arguments)
        self._reads += 1
        reading.add_done_callback(self._has_read)
        try:
            # A thread cannot be stopped: it counts until it is done.
            return await asyncio.wait_for(asyncio.shield(reading), self._patience)
        except TimeoutError:
            raise UnavailableError("the store takes too long: try again") from None
        except (UnavailableError, StorageError) as error:
            _logger.warning("store unavailable", extra={"detail": str(error)})
            # As at the desk, the caller gets no words of the database's.
            raise UnavailableError("the store does not answer: try again") from None

    def _has_read(self, reading: asyncio.Future[Any]) -> None:
        self._reads -= 1
        if not reading.cancelled():
            reading.exception()  # whoever waited may have gone: nobody misses it

    def allow(self, request: Request, role: Role) -> None:
        """Refuse whoever may not do this."""
        if self._tokens is None:
            _refuse_pages(request)
            return
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        found = self._tokens.role(token.strip() if kind.lower() == "bearer" else "")
        if found is None:
            raise RefusedError("a token is needed: Authorization: Bearer TOKEN")
        if role == "admin" and found != "admin":
            raise ForbiddenError("this token is for deciding, and this needs one for administering")

    async def experiment(self, name: str) -> Experiment:
        """Return an experiment that takes requests."""
        found = self._experiments.get(name)
        if found is not None:
            return found
        # Whoever asks for it meanwhile waits for the same.
        loading = self._loading.get(name)
        if loading is None:
            loading = self._loading[name] = asyncio.create_task(self._load(name))
            loading.add_done_callback(lambda task: self._has_loaded(name, task))
        try:
            return await asyncio.wait_for(asyncio.shield(loading), self._patience)
        except TimeoutError:
            raise UnavailableError(f"{quote(name)} is being made ready: try again") from None

    async def _load(self, name: str) -> Experiment:
        kept = await self.reading(self.kept, name)
        if not kept.open:
            raise UnavailableError(f"{quote(name)} is still being migrated: try again")
        found = self._experiments[name] = await self._readied(_loaded, kept)
        return found

    async def _readied(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """Do what prepares an experiment: for a large problem that takes a while."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._making_ready, call, *arguments)

    def _has_loaded(self, name: str, loading: asyncio.Task[Experiment]) -> None:
        del self._loading[name]
        if not loading.cancelled():
            loading.exception()  # likewise

    def kept(self, name: str) -> Kept:
        """Return an experiment as the store keeps it."""
        kept = self.store.experiment(name) if _can_be(name) else None
        if kept is None:
            unknown = f"unknown experiment {quote(name)}: PUT /v1/experiments/… makes one"
            raise MissingError(unknown, about=(("experiment", name),))
        return kept

    async def put(self, name: str, content: object) -> tuple[Kept, bool]:
        """Keep an experiment; return it, and whether it is new."""
        wanted = await self._readied(checked_experiment, name, content)
        kept, new = await self.reading(self.store.add_experiment, wanted.name, wanted.definition)
        if not new and json.loads(kept.definition) != json.loads(wanted.definition):
            raise ConflictError(
                f"{quote(name)} is another experiment, and experiments do not change: give the new "
                "one a name of its own"
            )
        if new:
            _logger.info("new experiment", extra={"experiment": name})
        return kept, new

    async def serve(self, request: Request, name: str, read: bodies.Reader) -> Response:
        """Serve a request or a list of them."""
        try:
            return await self._serve(request, name, read)
        except Error as error:
            return _failure(error)
        except ClientDisconnect:
            return _failure(UnreadableError("the body broke off"))
        except Exception:
            return _bug()

    async def _serve(self, request: Request, name: str, read: bodies.Reader) -> Response:
        self.allow(request, "decide")
        experiment = await self.experiment(name)
        content = bodies.parsed(await _body(request, bodies.LARGEST_BODY))
        several, found = bodies.requests_of(read, experiment, content)
        work: list[Work] = [(experiment, each) for each in found if not isinstance(each, Error)]
        served = await self.desk.submit(work) if work else []
        if served and isinstance(served[0], UnavailableError):
            raise served[0]  # it concerns them all
        answers = iter(served)
        outcomes = [each if isinstance(each, Error) else next(answers) for each in found]
        if several:
            return _json([_item(each) for each in outcomes])
        (outcome,) = outcomes
        return _failure(outcome) if isinstance(outcome, Error) else _json(outcome)

    def unit(self, experiment: Experiment, name: str) -> dict[str, Any]:
        """Tell all about a unit, as of its last event."""
        row = self.store.unit((experiment.id, name)) if _can_be(name) else None
        if row is None or row.state is None:
            unknown = f"unknown unit {quote(name)}: nothing was decided for it yet"
            raise MissingError(unknown, about=(("unit", name),))
        agent = Unit(experiment, name, row.steps, row.state, {}, lambda number: ()).agent
        plausible: dict[str, float | None] | None
        try:
            # JSON has no infinity: as long as nothing could rule a model out, its margin is null.
            plausible = {
                model: margin if isfinite(margin) else None
                for model, margin in agent.plausible().items()
            }
        except InputError:  # the policy rules no model out
            plausible = None
        return {
            "unit": name,
            "plays": agent.plays,
            "plausible": plausible,
            "misfits": agent.misfits,
            "pending": {decision_name(name, number): arm for number, arm in agent.pending.items()},
            "blocked": {arm: each.rewards for arm, each in agent.blocked.items()},
            "events": row.steps,
        }

    async def log(self, experiment: Experiment, after: int) -> StreamingResponse:
        """Stream the log, a page at a time."""

        async def page(place: int) -> list[Logged]:
            return await self.reading(self.store.log, experiment.id, place, _PAGE)

        async def lines(logged: list[Logged]) -> AsyncIterator[bytes]:
            while logged:
                yield "".join(_lines(experiment, logged)).encode()
                logged = await page(logged[-1].seq) if len(logged) == _PAGE else []

        # The first one here: that the store is down is said by a status.
        return StreamingResponse(lines(await page(after)), media_type="application/x-ndjson")


def _can_be(name: str) -> bool:
    """Tell whether something could have this name: a database takes not all texts."""
    try:
        return bool(short_name("it", name))
    except InputError:
        return False


def _loaded(kept: Kept) -> Experiment:
    """Read an experiment, and decide once: what is prepared is prepared here."""
    experiment = Experiment.from_definition(kept.id, kept.name, kept.definition)
    experiment.agent("").ask(next(iter(experiment.problem.contexts), None))
    return experiment


def _lines(experiment: Experiment, logged: Iterable[Logged]) -> Iterable[str]:
    for seq, unit, event in logged:
        line = {"seq": seq, "experiment": experiment.name, "unit": unit, **event._asdict()}
        yield json.dumps(line) + "\n"


def _refuse_pages(request: Request) -> None:
    """Refuse what a page from elsewhere sends through a browser on this machine.

    Without tokens, to be on this machine is all that is asked for; a browser is, too.
    """
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    try:
        name = urlsplit(f"//{host}").hostname or ""
        elsewhere = origin is not None and urlsplit(origin).netloc != host
    except ValueError:  # half a bracket
        raise ForbiddenError("without tokens, Host and Origin must be addresses") from None
    if not is_loopback(name):
        raise ForbiddenError("without tokens, only requests to a loopback address are served")
    if elsewhere:
        raise ForbiddenError("without tokens, pages from elsewhere are not served")


async def _body(request: Request, most: int) -> bytes:
    """Return the whole body, if it is not too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(f"the body is larger than {most:,} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _json(content: object, status: int = 200) -> Response:
    return Response(_encode(content).encode(), status, media_type="application/json")


def _failed(error: Error) -> dict[str, Any]:
    return {"error": str(error), "place": error.path}


def _item(outcome: dict[str, Any] | Error) -> dict[str, Any]:
    if isinstance(outcome, Error):
        return {**_failed(outcome), "status": status_of(outcome)}
    return outcome


def _failure(error: Error) -> Response:
    response = _json(_failed(error), status_of(error))
    if response.status_code == 503:
        response.headers["retry-after"] = "1"
    if response.status_code == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def _bug() -> Response:
    """Answer what must not happen; the log says what did."""
    _logger.exception("a request failed")
    return _failure(Error("this request failed inside; the server's log says how"))


def make_app(store: Store, tokens: Tokens | None = None, *, patience: float = PATIENCE) -> Any:
    """Return the service as an ASGI application; without tokens, for this machine alone."""
    service = Service(store, tokens, patience)
    app = FastAPI(
        title="fpbandits",
        version=__version__,
        description="Decisions for many units, each with a truth of its own.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=service.working,
    )

    @app.exception_handler(Error)
    async def failed(request: Request, error: Error) -> Response:
        return _failure(error)

    @app.exception_handler(HTTPException)
    async def missed(request: Request, error: HTTPException) -> Response:
        words = f"{request.method} {quote(request.url.path)}: {error.detail}"
        return _json(_failed(Error(words)), error.status_code)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return _failure(UnreadableError("the body broke off"))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return _bug()

    @app.put("/v1/experiments/{name}", **shapes.PUT_EXPERIMENT)
    async def put_experiment(request: Request, name: str) -> Response:
        """Make an experiment; the same again is no change, and another one a conflict."""
        service.allow(request, "admin")
        content = bodies.parsed(await _body(request, bodies.LARGEST_EXPERIMENT))
        kept, new = await service.put(name, content)
        return _json(_experiment(kept), 201 if new else 200)

    @app.get("/v1/experiments", **shapes.GET_EXPERIMENTS)
    async def get_experiments(request: Request) -> Response:
        """List the experiments."""
        service.allow(request, "decide")
        return _json(list(map(_experiment, await service.reading(store.experiments))))

    @app.get("/v1/experiments/{name}", **shapes.GET_EXPERIMENT)
    async def get_experiment(request: Request, name: str) -> Response:
        """Show an experiment."""
        service.allow(request, "decide")
        return _json(_experiment(await service.reading(service.kept, name)))

    @app.post("/v1/experiments/{name}/decisions", **shapes.POST_DECISIONS)
    async def post_decisions(request: Request, name: str) -> Response:
        """Decide for a unit; the same unit and key get the same decision."""
        return await service.serve(request, name, bodies.read_ask)

    @app.post("/v1/experiments/{name}/rewards", **shapes.POST_REWARDS)
    async def post_rewards(request: Request, name: str) -> Response:
        """Tell the reward of a decision; the same again is no change."""
        return await service.serve(request, name, bodies.read_tell)

    @app.post("/v1/experiments/{name}/forget", **shapes.POST_FORGET)
    async def post_forget(request: Request, name: str) -> Response:
        """Give a decision up: its reward will never come."""
        return await service.serve(request, name, bodies.read_forget)

    @app.get("/v1/experiments/{name}/units/{unit:path}", **shapes.GET_UNIT)
    async def get_unit(request: Request, name: str, unit: str) -> Response:
        """Show what is known of a unit."""
        service.allow(request, "decide")
        experiment = await service.experiment(name)
        return _json(await service.reading(service.unit, experiment, unit))

    @app.get("/v1/experiments/{name}/log", **shapes.GET_LOG)
    async def get_log(request: Request, name: str) -> Response:
        """Stream every event after a place in the log, in order, one JSON per line."""
        service.allow(request, "admin")
        after = request.query_params.get("after", "0")
        if not after.isascii() or not after.isdigit():
            wanted = f"after is {quote(after)}: expected a whole number"
            raise InputError(wanted, about=("after",))
        place = whole_number("after", int(after[:30]), most=2**63 - 1)
        return await service.log(await service.experiment(name), place)

    @app.get("/health", **shapes.GET_HEALTH)
    async def health() -> dict[str, str]:
        """Tell that the server is up; it does not ask the store."""
        return {"status": "ok"}

    @app.get("/ready", **shapes.GET_READY)
    async def ready() -> Response:
        """Tell whether the store answers."""
        await service.reading(store.experiment, "")
        return _json({"status": "ok", "version": __version__})

    @app.get("/metrics", **shapes.GET_METRICS)
    async def metrics(request: Request) -> Response:
        """Return numbers for Prometheus."""
        service.allow(request, "decide")
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(_docs(app.openapi()))

    async def ahead_of_it(scope: Any, receive: Any, send: Any) -> None:
        """Answer what comes often before FastAPI sees it, which would take longer than deciding."""
        often = _OFTEN.fullmatch(scope["path"]) if scope.get("method") == "POST" else None
        if often is None:
            await app(scope, receive, send)
            return
        name, what = often.groups()
        scope["route"] = _ROUTES[what]
        response = await service.serve(Request(scope, receive), name, _READERS[what])
        await response(scope, receive, send)

    return service.metrics.counting(ahead_of_it)


def _experiment(kept: Kept) -> dict[str, Any]:
    return {
        "name": kept.name,
        "created": kept.created,
        "open": kept.open,
        **json.loads(kept.definition),
    }


def _docs(schema: dict[str, Any]) -> str:
    """Return a page of all that can be asked for; it loads nothing."""
    rows = "".join(
        f"<tr><td>{method.upper()}<td><code>{html.escape(path)}</code>"
        f"<td>{html.escape(what.get('description', ''))}"
        for path, methods in schema["paths"].items()
        for method, what in methods.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>fpbandits</title>'
        "<style>body{font:16px/1.5 sans-serif;margin:2em auto;max-width:60em}"
        "td{padding:.2em .8em;vertical-align:top}</style>"
        f"<h1>fpbandits {__version__}</h1><p>All of it for machines: "
        f'<a href="/openapi.json">/openapi.json</a><table>{rows}</table>'
    )
