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

_GOOD = {200: "As asked.", 201: "It is new."}


@dataclass(frozen=True)
class Endpoint:
    """A method of a path: who may call it, what goes in, what comes out.

    Attributes
    ----------
    method, path
        How it is called; ``{name}`` in a path stands for a part of it.
    handler, description
        What it does, and that in a sentence.
    statuses
        What may be answered, beside 200 and what follows from ``role``, ``body`` and ``query``.
    role
        The role that a token must have; None: anyone may.
    body, query
        What goes in: the body, and parameters of the address.
    answer, media_type
        What comes out, to a single request, and how it is written.
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
        """The path as it is written in OpenAPI."""
        return self.path.replace(":path", "")

    def operation(self) -> Schema:
        """Return what OpenAPI says of it."""
        statuses, answer = {200, *self.statuses}, self.answer
        names = re.findall(r"{(\w+)}", self.address)
        parameters = [_parameter("path", name, NAME) for name in names]
        parameters += [_parameter("query", name, rule) for name, rule in self.query.items()]
        found: Schema = {"description": self.description, "parameters": parameters}
        if self.role is not None:
            statuses |= {401, 403}
        if self.query:
            statuses |= {422}
        if self.body is not None:
            statuses |= {400, 409, 413, 422}
            found["requestBody"] = {"required": True, "content": _content(self.body.schema())}
            if self.body.most_items:
                items = {"anyOf": [answer, FAILED_ITEM]}
                answer = {"anyOf": [answer, {"type": "array", "items": items}]}
        good, bad = _content(answer, self.media_type), _content(FAILURE)
        found["responses"] = {
            str(status): {"description": _GOOD[status], "content": good}
            if status in _GOOD
            else {"description": kind_of(status).__doc__, "content": bad}
            for status in sorted(statuses)
        }
        return found


def _parameter(where: str, name: str, rule: Rule) -> Schema:
    return {"name": name, "in": where, "required": where == "path", "schema": rule.schema}


def _content(schema: Schema, media_type: str = JSON) -> Schema:
    return {media_type: {"schema": schema}}


def openapi(endpoints: Iterable[Endpoint]) -> Schema:
    """Return all endpoints as OpenAPI describes them."""
    paths: dict[str, Schema] = {}
    for each in endpoints:
        paths.setdefault(each.address, {})[each.method.lower()] = each.operation()
    about = "Decisions for many units, each with a truth of its own."
    info = {"title": "fpbandits", "version": __version__, "description": about}
    return {"openapi": "3.1.0", "info": info, "paths": paths}


def html_page(endpoints: Iterable[Endpoint]) -> str:
    """Return a page of all endpoints for people; it loads nothing."""
    rows = "".join(
        f"<tr><td>{each.method}<td><code>{html.escape(each.address)}</code>"
        f"<td>{html.escape(each.description)}"
        for each in endpoints
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>fpbandits</title>'
        "<style>body{font:16px/1.5 sans-serif;margin:2em auto;max-width:60em}"
        "td{padding:.2em .8em;vertical-align:top}</style>"
        f"<h1>fpbandits {__version__}</h1><p>All of it for machines: "
        f'<a href="/openapi.json">/openapi.json</a><table>{rows}</table>'
    )
