"""`/openapi.json` and `/docs`: what is said of an endpoint, and of the endpoints that there are."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest

from fpbandits import __version__
from fpbandits.service import http
from fpbandits.service.messages import DEFINITION, FAILED_ITEM, FAILURE, NAME
from fpbandits.service.openapi import Endpoint, html_page, openapi
from fpbandits.service.schema import Body, Rule
from fpbandits.service.statuses import STATUSES

NUMBER = Rule(lambda field, value: value, {"type": "number"})


class Question(NamedTuple):
    """A question."""

    value: Annotated[float, NUMBER]


async def handler() -> None:
    raise AssertionError


ANSWER = {"type": "string"}
FAILED = {"application/json": {"schema": FAILURE}}


def failures(*statuses: int) -> dict[str, Any]:
    kinds = {status: kind for kind, status in STATUSES.items()}
    return {str(n): {"description": kinds[n].__doc__, "content": FAILED} for n in statuses}


def test_an_endpoint_without_a_token_only_succeeds() -> None:
    plain = Endpoint("GET", "/plain", handler, "It is <plain>.", role=None, media_type="text/plain")
    assert plain.operation() == {
        "description": "It is <plain>.",
        "parameters": [],
        "responses": {
            "200": {"description": "As asked.", "content": {"text/plain": {"schema": {}}}}
        },
    }


@pytest.mark.parametrize("most_items", [0, 7])
def test_an_endpoint_says_what_goes_in_and_what_comes_out(most_items: int) -> None:
    body = Body(Question, largest=9, most_items=most_items)
    query = {"error": NUMBER}
    path = "/v1/{name}/units/{unit:path}"
    full = Endpoint(
        "POST", path, handler, "It is full.", (201, 503), body=body, query=query, answer=ANSWER
    )
    answer: dict[str, Any] = ANSWER
    if most_items:
        items = {"anyOf": [ANSWER, FAILED_ITEM]}
        answer = {"anyOf": [ANSWER, {"type": "array", "items": items}]}
    content = {"application/json": {"schema": answer}}
    assert full.address == "/v1/{name}/units/{unit}"
    assert full.operation() == {
        "description": "It is full.",
        "parameters": [
            {"name": "name", "in": "path", "required": True, "schema": NAME.schema},
            {"name": "unit", "in": "path", "required": True, "schema": NAME.schema},
            {"name": "error", "in": "query", "required": False, "schema": {"type": "number"}},
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": body.schema()}},
        },
        "responses": {
            "200": {"description": "As asked.", "content": content},
            "201": {"description": "It is new.", "content": content},
            **failures(400, 401, 403, 409, 413, 422, 503),
        },
    }


def test_a_query_can_be_wrong() -> None:
    asked = Endpoint("GET", "/asked", handler, "", (404,), role="admin", query={"a": NUMBER})
    assert list(asked.operation()["responses"]) == ["200", "401", "403", "404", "422"]


def test_all_endpoints_are_described_by_address_and_method() -> None:
    endpoints = [
        Endpoint("GET", "/a/{unit:path}", handler, "To <get>.", role=None),
        Endpoint("PUT", "/a/{unit:path}", handler, "To put.", body=DEFINITION),
        Endpoint("GET", "/b", handler, "To get another."),
    ]
    assert openapi(endpoints) == {
        "openapi": "3.1.0",
        "info": {
            "title": "fpbandits",
            "version": __version__,
            "description": "Decisions for many units, each with a truth of its own.",
        },
        "paths": {
            "/a/{unit}": {"get": endpoints[0].operation(), "put": endpoints[1].operation()},
            "/b": {"get": endpoints[2].operation()},
        },
    }
    page = html_page(endpoints)
    assert "<tr><td>GET<td><code>/a/{unit}</code><td>To &lt;get&gt;.<tr><td>PUT<td>" in page


READ, WRITTEN = {401, 403, 404, 503}, {400, 401, 403, 404, 409, 413, 422, 503}
EXPERIMENT = "/v1/experiments/{name}"
ENDPOINTS: dict[tuple[str, str], tuple[str | None, set[int]]] = {
    ("POST", f"{EXPERIMENT}/decisions"): ("decide", WRITTEN),
    ("POST", f"{EXPERIMENT}/rewards"): ("decide", WRITTEN),
    ("POST", f"{EXPERIMENT}/forget"): ("decide", WRITTEN),
    ("PUT", EXPERIMENT): ("admin", WRITTEN - {404} | {201}),
    ("GET", "/v1/experiments"): ("decide", {401, 403, 422, 503}),
    ("GET", EXPERIMENT): ("decide", READ),
    ("POST", f"{EXPERIMENT}/close"): ("admin", READ | {409}),
    ("POST", f"{EXPERIMENT}/reopen"): ("admin", READ | {409}),
    ("POST", f"{EXPERIMENT}/adopt"): ("admin", READ | {409}),
    ("DELETE", EXPERIMENT): ("admin", READ),
    ("DELETE", f"{EXPERIMENT}/units/{{unit}}"): ("admin", READ | {409}),
    ("GET", f"{EXPERIMENT}/units/{{unit}}"): ("decide", READ | {422}),
    ("GET", f"{EXPERIMENT}/report"): ("admin", READ | {409}),
    ("GET", f"{EXPERIMENT}/log"): ("admin", READ | {422}),
    ("GET", "/health"): (None, set()),
    ("GET", "/ready"): (None, {503}),
    ("GET", "/metrics"): ("metrics", {401, 403}),
    ("GET", "/openapi.json"): (None, set()),
    ("GET", "/docs"): (None, set()),
}
"""Of every endpoint of the service: which role it needs, and what it may answer beside 200."""


def test_the_service_has_these_endpoints() -> None:
    found = {
        (each.method, each.address): (
            each.role,
            {int(status) for status in each.operation()["responses"]} - {200},
        )
        for each in http._endpoints
    }
    assert found == ENDPOINTS
    assert all(each.description for each in http._endpoints)
