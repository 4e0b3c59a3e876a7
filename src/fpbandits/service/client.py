"""`Client`: decisions from a service, with retries that are safe.

Every request for a decision has a key, the caller's or a random one, and every reward names its
decision. So requests are idempotent: a request may be sent again when no answer came. A client does
so while the server cannot be reached or answers 503, a little later each time, for as long as its
``patience``.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote as escaped
from urllib.parse import urlencode

from fpbandits.core.extras import needed_for
from fpbandits.errors import Error, InputError, UnavailableError, quote, said
from fpbandits.service.statuses import MissingError, kind_of

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem

_CREATE_TIMEOUT = 120.0
"""Seconds for the answer to a new experiment: a server prepares it first, and may have to compile
its policy."""


@dataclass(frozen=True, slots=True)
class Served:
    """A decision: play ``arm`` for ``unit``; ``id`` is its name for the service.

    Without an id it is a fallback: no service decided it, and its reward counts nowhere.
    """

    id: str
    unit: str
    arm: str

    @property
    def is_fallback(self) -> bool:
        """Whether no service decided it; see `Client.ask_or`."""
        return not self.id


class Client:
    """Asks a service for decisions, and tells it rewards.

    Parameters
    ----------
    url
        Where the service is, as "http://127.0.0.1:8000".
    token
        A bearer token, if the service wants one.
    experiment
        The experiment to decide in; each call may name another.
    patience
        Seconds for which a request is sent again while no answer comes.
    timeout
        Seconds that one answer may take.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> client = fpb.Client("http://127.0.0.1:8000", experiment="pricing")     # doctest: +SKIP
    >>> decision = client.ask("user-17", key="request-1")                      # doctest: +SKIP
    >>> client.tell(decision, reward=1.0)                                      # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        experiment: str | None = None,
        patience: float = 30.0,
        timeout: float = 15.0,
    ) -> None:
        with needed_for("a client", "serve"):
            import httpx
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InputError(f"url is {quote(url)}: expected one such as http://127.0.0.1:8000")
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        try:
            self._http = httpx.Client(base_url=url, headers=headers)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise InputError(f"url or token cannot be sent ({error})") from None
        self._failures = httpx.TransportError
        self._experiment, self._patience, self._timeout = experiment, patience, timeout

    def ask(
        self,
        unit: str,
        *,
        key: str | None = None,
        context: str | None = None,
        among: Iterable[str] | None = None,
        experiment: str | None = None,
    ) -> Served:
        """Return what to play for a unit; the same unit and key get the same decision.

        ``among`` names the arms that are eligible; by default all are.
        """
        body = _ask(unit, key, context, among)
        return _served(self._call("POST", self._path(experiment, "decisions"), body))

    def ask_or(self, fallback: str, unit: str, *, within: float = 0.2, **asked: Any) -> Served:
        """Ask, as `ask` does, but play ``fallback`` if no answer comes soon.

        The service has ``within`` seconds for a connection, and as many for its answer; nothing is
        sent again. What is wrong with the request is raised.

        It may have decided all the same: that decision stays pending, and expires if the experiment
        has a ``reward_wait``. With a ``default_reward`` it then counts, though its arm was not
        played. So give a ``key``, and give the decision up once the service answers again:
        ``client.forget(client.ask(unit, key=key))``.
        """
        once = copy(self)  # with the same connections
        once._patience, once._timeout = 0.0, within
        try:
            return once.ask(unit, **asked)
        except UnavailableError:
            return Served("", unit, fallback)

    def ask_all(
        self, asked: Sequence[Mapping[str, Any]], *, experiment: str | None = None
    ) -> list[Served | Error]:
        """Decide for many: each has ``unit``, and perhaps ``key``, ``context`` and ``among``.

        A request that is refused has its error in the place of its decision.
        """
        bodies = [_ask(**request) for request in asked]
        return [
            answer if isinstance(answer, Error) else _served(answer)
            for answer in self._call_all(self._path(experiment, "decisions"), bodies)
        ]

    def tell(self, decision: str | Served, reward: float, *, experiment: str | None = None) -> str:
        """Tell the reward of a decision; return "told", or "late" if it can no longer count.

        The reward of a fallback is not sent, and "fallback" is returned.
        """
        if isinstance(decision, Served) and decision.is_fallback:
            return "fallback"
        body = {"decision": _id(decision), "reward": reward}
        return str(self._call("POST", self._path(experiment, "rewards"), body)["status"])

    def tell_all(
        self, told: Sequence[tuple[str | Served, float]], *, experiment: str | None = None
    ) -> list[str | Error]:
        """Tell many rewards; one that is refused has its error in place of its status."""
        bodies = [{"decision": _id(decision), "reward": reward} for decision, reward in told]
        return [
            answer if isinstance(answer, Error) else str(answer["status"])
            for answer in self._call_all(self._path(experiment, "rewards"), bodies)
        ]

    def forget(self, decision: str | Served, *, experiment: str | None = None) -> str:
        """Give a decision up: its reward will never come."""
        path = self._path(experiment, "forget")
        return str(self._call("POST", path, {"decision": _id(decision)})["status"])

    def create(
        self,
        problem: Problem | str | Path,
        *,
        experiment: str | None = None,
        **definition: Any,
    ) -> dict[str, Any]:
        """Make an experiment; idempotent.

        ``definition`` are policy, seed, late, reward_wait, default_reward, explore and control.
        """
        from fpbandits.problem.files import problem_to_toml, the_problem

        body = {"problem": problem_to_toml(the_problem(problem)), **definition}
        made: dict[str, Any] = self._call(
            "PUT", self._path(experiment), body, timeout=_CREATE_TIMEOUT
        )
        return made

    def unit(
        self,
        name: str,
        *,
        context: str | None = None,
        error: float | None = None,
        experiment: str | None = None,
    ) -> dict[str, Any]:
        """Return what is known of a unit: plays, plausible, pending, posterior, best_arm and more.

        ``verdict`` is the arm that is best under every model not ruled out, wrong with probability
        at most ``error``, by default .05. With contexts name one: ``best_arm``, ``verdict`` and
        ``why`` are for it.
        """
        parameters = {"error": error, "context": context}
        query = urlencode({name: value for name, value in parameters.items() if value is not None})
        path = self._path(experiment, "units", name) + (f"?{query}" if query else "")
        known: dict[str, Any] = self._call("GET", path)
        return known

    def report(self, *, experiment: str | None = None) -> dict[str, Any]:
        """Return how an experiment does, by arm and by likeliest model, and against its control."""
        report: dict[str, Any] = self._call("GET", self._path(experiment, "report"))
        return report

    def erase(self, unit: str, *, experiment: str | None = None) -> None:
        """Erase a unit, but for how many decisions it had: if it comes back, numbers go on."""
        self._call("DELETE", self._path(experiment, "units", unit))

    def delete(self, *, experiment: str | None = None) -> None:
        """Delete an experiment with its units and its log, for good."""
        self._call("DELETE", self._path(experiment), may_be_gone=True)

    def log(self, after: int = 0, *, experiment: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield every event after a position in the log, in order; without retries."""
        import json

        path = self._path(experiment, "log")
        try:
            with self._http.stream(
                "GET", path, params={"after": after}, timeout=self._timeout
            ) as response:
                if response.status_code != 200:
                    response.read()
                    raise _failure(response)
                for line in response.iter_lines():
                    yield json.loads(line)
        except self._failures as error:
            raise self._unreachable(error) from None

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _path(self, experiment: str | None, *parts: str) -> str:
        name = self._experiment if experiment is None else experiment
        if name is None:
            raise InputError('which experiment? Client(url, experiment="NAME")')
        return "/".join(["/v1/experiments", *(escaped(part, safe="") for part in (name, *parts))])

    def _call_all(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Send a list of requests; return an answer or an error for each."""
        if not bodies:
            return []
        items = self._call("POST", path, list(bodies))
        return [_error(item["status"], item) if "error" in item else item for item in items]

    def _unreachable(self, error: Exception) -> UnavailableError:
        return UnavailableError(said(error), place=(str(self._http.base_url),))

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        timeout: float | None = None,
        may_be_gone: bool = False,
    ) -> Any:
        """Send a request, several times if need be, and return its answer.

        ``may_be_gone``: if the request was sent before, there may be no such experiment any more.
        """
        until, pause, repeated = time.monotonic() + self._patience, 0.05, False
        while True:
            failure: Error
            try:
                response = self._http.request(
                    method, path, json=body, timeout=timeout or self._timeout
                )
            except self._failures as error:
                failure = self._unreachable(error)
            except (TypeError, ValueError) as error:  # NumPy's int64 and a NaN are no JSON
                raise InputError(f"this cannot be sent as JSON: {error}") from None
            else:
                if response.is_success:
                    return response.json()
                failure = _failure(response)
                # Answers of a proxy have no place.
                if repeated and may_be_gone and isinstance(failure, MissingError) and failure.place:
                    return None
            if not isinstance(failure, UnavailableError) or time.monotonic() + pause > until:
                raise failure
            # At random, so that clients that were refused together do not come back together.
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause, repeated = min(2 * pause, 2.0), True


def _ask(
    unit: str,
    key: str | None = None,
    context: str | None = None,
    among: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the body of a request for a decision; without a key it gets a random one."""
    body: dict[str, Any] = {"unit": unit, "key": uuid.uuid4().hex if key is None else key}
    if context is not None:
        body["context"] = context
    if among is not None:
        body["among"] = among if isinstance(among, str) else list(among)  # servers refuse a text
    return body


def _id(decision: str | Served) -> str:
    if isinstance(decision, Served) and decision.is_fallback:
        raise InputError(f"no service decided to play {quote(decision.arm)}: it was the fallback")
    return decision.id if isinstance(decision, Served) else decision


def _served(answer: Mapping[str, Any]) -> Served:
    return Served(answer["decision"], answer["unit"], answer["arm"])


def _failure(response: Any) -> Error:
    """Return the error that an answer stands for."""
    try:
        return _error(response.status_code, response.json())
    except (ValueError, LookupError, TypeError):  # a proxy has answered
        reason = f"{response.status_code} {response.reason_phrase}"
        return kind_of(response.status_code)(reason)


def _error(status: int, answer: Mapping[str, Any]) -> Error:
    """Return the error that a service answered with; its sentence says where, too."""
    return kind_of(status)(str(answer["error"]), about=tuple(map(str, answer.get("place", ()))))
