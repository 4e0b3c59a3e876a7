"""What goes in and out over HTTP, for OpenAPI: it documents, and `bodies` checks.

Bodies are checked by hand, since FastAPI's way would take as long as the decision itself.
"""

from __future__ import annotations

from typing import Any

from fpbandits.service.bodies import MOST_ITEMS
from fpbandits.service.experiment import LONGEST_NAME

Shape = dict[str, Any]

_NAME: Shape = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
_DECISION: Shape = {"type": "string", "examples": ["3@user-17"]}


def _object(required: tuple[str, ...], **fields: Shape) -> Shape:
    return {"type": "object", "required": list(required), "properties": fields}


def _body(required: tuple[str, ...], **fields: Shape) -> Shape:
    """Return the shape of what comes in: with no other fields."""
    return {**_object(required, **fields), "additionalProperties": False}


def _or_none(shape: Shape) -> Shape:
    return {"anyOf": [shape, {"type": "null"}]}


def _or_list(shape: Shape) -> Shape:
    return {"anyOf": [shape, {"type": "array", "items": shape, "maxItems": MOST_ITEMS}]}


_TEXT: Shape = {"type": "string"}
_FAILED = {"error": _TEXT, "place": {"type": "array", "items": _TEXT}}
_ERROR = _object(("error", "place"), **_FAILED)
_ITEM_ERROR = _object(("error", "place", "status"), **_FAILED, status={"type": "integer"})

_WORDS = {
    400: "It cannot be read.",
    401: "No token, or an unknown one.",
    403: "A token for other work.",
    404: "There is no such thing.",
    409: "It is at odds with what is there.",
    413: "More than is taken at once.",
    422: "A value that cannot be.",
    503: "The store does not answer, or too many wait: try again.",
}


def _answers(
    *statuses: int, shape: Shape | None = None, kind: str = "application/json"
) -> dict[int | str, Shape]:
    answers: dict[int | str, Shape] = {
        200: {"description": "As asked.", "content": {kind: {"schema": shape or {}}}}
    }
    for status in statuses:
        answers[status] = {
            "description": _WORDS[status],
            "content": {"application/json": {"schema": _ERROR}},
        }
    return answers


def _route(answers: dict[int | str, Shape], body: Shape | None = None, **extra: Any) -> Shape:
    if body is not None:
        content = {"application/json": {"schema": body}}
        extra["requestBody"] = {"required": True, "content": content}
    return {"responses": answers, "openapi_extra": extra or None, "response_model": None}


_ASK = _body(("unit",), unit=_NAME, key=_or_none(_NAME), context=_or_none(_NAME))
_DECIDED = _object(
    ("decision", "unit", "arm"), decision=_DECISION, unit=_NAME, arm={"type": "string"}
)
_TELL = _body(("decision", "reward"), decision=_DECISION, reward={"type": "number"})
_FORGET = _body(("decision",), decision=_DECISION)
_SETTLED = _object(
    ("decision", "status"),
    decision=_DECISION,
    status={"enum": ["told", "forgotten", "late"]},
)
_DEFINITION: dict[str, Shape] = {
    "problem": {"type": "string", "description": "The text of a problem file, TOML."},
    "policy": _or_none({"type": "string", "examples": ["frugal", "fp-ucb:slack=0.05"]}),
    "seed": {"type": "integer", "minimum": 0},
    "late": {"enum": ["in-order", "any"]},
    "reward_wait": _or_none({"type": "number", "exclusiveMinimum": 0}),
    "default_reward": _or_none({"type": "number"}),
}
_EXPERIMENT = _object(
    ("name",),
    name=_NAME,
    created={"type": "number"},
    open={"type": "boolean"},
    **_DEFINITION,
)
_UNIT = _object(
    ("unit", "plays", "plausible", "misfits", "pending", "blocked"),
    unit=_NAME,
    plays={"type": "object"},
    plausible=_or_none({"type": "object"}),
    misfits={"type": "integer"},
    pending={"type": "object"},
    blocked={"type": "object"},
    events={"type": "integer"},
)
_MANY = (400, 401, 403, 404, 409, 413, 422, 503)


def _served(answer: Shape) -> Shape:
    several = {"type": "array", "items": {"anyOf": [answer, _ITEM_ERROR]}}
    return {"anyOf": [answer, several]}


_MADE = _answers(400, 401, 403, 409, 413, 422, 503, shape=_EXPERIMENT)
_MADE[201] = {**_MADE[200], "description": "It is new."}

PUT_EXPERIMENT = _route(_MADE, _body(("problem",), **_DEFINITION))
GET_EXPERIMENTS = _route(_answers(401, 403, 503, shape={"type": "array", "items": _EXPERIMENT}))
GET_EXPERIMENT = _route(_answers(401, 403, 404, 503, shape=_EXPERIMENT))
POST_DECISIONS = _route(_answers(*_MANY, shape=_served(_DECIDED)), _or_list(_ASK))
POST_REWARDS = _route(_answers(*_MANY, shape=_served(_SETTLED)), _or_list(_TELL))
POST_FORGET = _route(_answers(*_MANY, shape=_served(_SETTLED)), _or_list(_FORGET))
GET_UNIT = _route(_answers(401, 403, 404, 503, shape=_UNIT))
_AFTER = {
    "name": "after",
    "in": "query",
    "required": False,
    "schema": {"type": "integer", "minimum": 0, "default": 0},
}
GET_LOG = _route(_answers(401, 403, 404, 422, 503, kind="application/x-ndjson"), models=[_AFTER])
GET_HEALTH = _route(_answers(shape=_object(("status",), status={"type": "string"})))
GET_READY = _route(_answers(503, shape=_object(("status",), status={"type": "string"})))
GET_METRICS = _route(_answers(401, 403, kind="text/plain"))
