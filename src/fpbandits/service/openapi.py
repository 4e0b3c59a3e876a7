"""`/openapi.json` and `/docs`, made from the endpoints themselves."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fpbandits import __version__
from fpbandits.service.messages import FAILED_ITEM, FAILURE, NAME
from fpbandits.service.schema import Body, Rule, Schema
from fpbandits.service.statuses import kind_of
from fpbandits.service.tokens import Role

JSON = "application/json"

_SUCCESSES = {200: "As asked.", 201: "It is new."}
"""Statuses of success, with their descriptions."""


@dataclass(frozen=True)
class Endpoint:
    """A method of a path: who may call it, what goes in, what comes out.

    Attributes
    ----------
    method, path
        How it is called; ``{name}`` stands for a part of the path.
    handler, description
        The function that answers, and what it does in a sentence.
    statuses
        Possible statuses, beside 200 and those that follow from ``role``, ``body`` and ``query``.
    role
        The role that a token must have; None if no token is needed.
    body, query
        What is sent: the body, and the rules of the address's parameters.
    answer, media_type
        The schema of the answer to a single request, and its media type.
    """

    method: str
    path: str
    handler: Callable[..., Awaitable[Any]]
    description: str
    statuses: tuple[int, ...] = ()
    role: Role | None = "decide"
    body: Body[Any] | None = None
    query: dict[str, Rule] = field(default_factory=dict)
    answer: Schema = field(default_factory=dict)
    media_type: str = JSON

    @property
    def address(self) -> str:
        """The path as OpenAPI writes it: without Starlette's converters."""
        return self.path.replace(":path", "")

    def operation(self) -> Schema:
        """Return its description in OpenAPI."""
        statuses, answer = {200, *self.statuses}, self.answer
        names = re.findall(r"{(\w+)}", self.address)
        parameters = [_parameter("path", name, NAME) for name in names]
        parameters += [_parameter("query", name, rule) for name, rule in self.query.items()]
        operation: Schema = {"description": self.description, "parameters": parameters}
        if self.role is not None:
            statuses |= {401, 403}
        if self.query:
            statuses |= {422}
        if self.body is not None:
            statuses |= {400, 409, 413, 422}
            operation["requestBody"] = {"required": True, "content": _content(self.body.schema())}
            if self.body.most_items:
                items = {"anyOf": [answer, FAILED_ITEM]}
                answer = {"anyOf": [answer, {"type": "array", "items": items}]}
        success, failure = _content(answer, self.media_type), _content(FAILURE)
        operation["responses"] = {
            str(status): {"description": _SUCCESSES[status], "content": success}
            if status in _SUCCESSES
            else {"description": kind_of(status).__doc__, "content": failure}
            for status in sorted(statuses)
        }
        return operation


def _parameter(where: str, name: str, rule: Rule) -> Schema:
    return {"name": name, "in": where, "required": where == "path", "schema": rule.schema}


def _content(schema: Schema, media_type: str = JSON) -> Schema:
    return {media_type: {"schema": schema}}


def openapi(endpoints: Iterable[Endpoint]) -> Schema:
    """Return the OpenAPI description of all endpoints."""
    paths: dict[str, Schema] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.address, {})[endpoint.method.lower()] = endpoint.operation()
    description = "Decisions for many units, each with a truth of its own."
    info = {"title": "fpbandits", "version": __version__, "description": description}
    return {"openapi": "3.1.0", "info": info, "paths": paths}


def html_page(endpoints: Iterable[Endpoint]) -> str:
    """Return a page that lists all endpoints for people, and loads nothing."""
    rows = "".join(
        f"<tr><td>{endpoint.method}<td><code>{html.escape(endpoint.address)}</code>"
        f"<td>{html.escape(endpoint.description)}"
        for endpoint in endpoints
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>fpbandits</title>'
        "<style>body{font:16px/1.5 sans-serif;margin:2em auto;max-width:60em}"
        "td{padding:.2em .8em;vertical-align:top}</style>"
        f"<h1>fpbandits {__version__}</h1><p>All of it for machines: "
        f'<a href="/openapi.json">/openapi.json</a><table>{rows}</table>'
    )
