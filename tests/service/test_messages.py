"""Fields of requests: each rule takes what its schema allows, up to the very bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fpbandits.errors import InputError
from fpbandits.problem.files import SIZE_LIMITS
from fpbandits.service import messages
from fpbandits.service.messages import (
    ARMS,
    ASK,
    CONTROL,
    DEFINITION,
    EXPERIMENTS,
    LATE,
    LIST_QUERY,
    LOG_QUERY,
    NAME,
    NUMBER,
    SEED,
    SHARE,
    TELL,
    TOML,
    UNIT_QUERY,
    WAIT,
)
from fpbandits.service.schema import Rule

TEN_YEARS = 315_360_000.0
TEXT = {"type": "string"}
NAMED = {"type": "string", "minLength": 1, "maxLength": 200}
NULL = {"type": "null"}
DEFINED: dict[str, Any] = {
    "problem": {"type": "string", "description": "The text of a problem file, TOML."},
    "policy": {"anyOf": [{"type": "string", "examples": ["frugal", "fp-ucb:slack=0.05"]}, NULL]},
    "seed": {"type": "integer", "minimum": 0},
    "late": {"enum": ["in-order", "all-in-order", "any"]},
    "reward_wait": {
        "anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": TEN_YEARS}, NULL]
    },
    "default_reward": {"anyOf": [{"type": "number"}, NULL]},
    "explore": {"type": "number", "minimum": 0, "maximum": 1},
    "control": {
        "anyOf": [
            {
                "type": "object",
                "required": ["arm", "share"],
                "properties": {
                    "arm": TEXT,
                    "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                },
            },
            NULL,
        ]
    },
}


def test_the_schema_of_a_body_says_all_of_it() -> None:
    ask = {
        "type": "object",
        "required": ["unit"],
        "properties": {
            "unit": NAMED,
            "key": {"anyOf": [NAMED, NULL]},
            "context": {"anyOf": [TEXT, NULL]},
            "among": {"anyOf": [{"type": "array", "items": TEXT, "minItems": 1}, NULL]},
        },
        "additionalProperties": False,
    }
    asks = {"type": "array", "items": ask, "maxItems": 1000}
    assert ASK.schema() == {"anyOf": [ask, asks]}
    assert TELL.fields() == {
        "decision": {"type": "string", "examples": ["3@user-17"]},
        "reward": {"type": "number"},
    }
    assert DEFINITION.schema() == {
        "type": "object",
        "required": ["problem"],
        "properties": DEFINED,
        "additionalProperties": False,
    }
    assert (ASK.largest, DEFINITION.largest) == (2**20, 2**23)


def test_the_schemas_of_addresses_and_lists_say_all_of_it() -> None:
    shares = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    whole = {"type": "integer", "minimum": 0}
    queries = [*LOG_QUERY.items(), *LIST_QUERY.items(), *UNIT_QUERY.items()]
    assert [(name, rule.schema) for name, rule in queries] == [
        ("after", {**whole, "default": 0}),
        ("after", {**TEXT, "default": ""}),
        ("error", {**shares, "default": 0.05}),
        ("context", TEXT),
    ]
    items: Any = EXPERIMENTS["items"]
    about = ["name", "created", "status", "revision"]
    assert messages.EXPERIMENT["required"] == [*about, *DEFINED]
    assert EXPERIMENTS["maxItems"] == 1000
    assert items["required"] == [*about, *list(DEFINED)[1:]]


TAKEN: list[tuple[Rule, Any, Any]] = [
    (NAME, "x" * 200, "x" * 200),
    (SEED, 0, 0),
    (SEED, 2**63 - 1, 2**63 - 1),  # the largest that databases hold
    (SHARE, 0, 0.0),
    (SHARE, 1, 1.0),
    (WAIT, 5e-324, 5e-324),
    (WAIT, TEN_YEARS, TEN_YEARS),
    (NUMBER, 3, 3.0),
    (ARMS, ["a"], ["a"]),
    (LATE, "any", "any"),
    (TOML, "x" * SIZE_LIMITS[".toml"], "x" * SIZE_LIMITS[".toml"]),
    (CONTROL, {"arm": "a", "share": 0.5}, {"arm": "a", "share": 0.5}),
    (LOG_QUERY["after"], "0", 0),
    (LOG_QUERY["after"], str(2**63 - 1), 2**63 - 1),
    (UNIT_QUERY["error"], "1e-9", 1e-9),
    (UNIT_QUERY["error"], "0.999", 0.999),
]
REFUSED: list[tuple[Rule, Any, str]] = [
    (NAME, "x" * 201, "201 of 200 letters"),
    (NAME, "", "its name is empty"),
    (SEED, 2**63, "at most"),
    (SHARE, -5e-324, "be a share of decisions, from 0 to 1"),
    (SHARE, 1.0000000000000002, "be a share of decisions, from 0 to 1"),
    (WAIT, 0, "be above 0 and at most 3.1536e+08 seconds"),
    (WAIT, TEN_YEARS + 1, "be above 0 and at most 3.1536e+08 seconds"),
    (NUMBER, True, "expected a number"),
    (NUMBER, float("inf"), "finite"),
    (ARMS, [], "at least one"),
    (LATE, "never", "be one of in-order, all-in-order, any"),
    (TOML, "x" * (SIZE_LIMITS[".toml"] + 1), "more than"),
    (TOML, "\ud800", "letter 1 is half of one"),
    (CONTROL, {"arm": "a", "share": 0}, "be above 0 and below 1"),
    (CONTROL, {"arm": "a", "share": 1}, "be above 0 and below 1"),
    (CONTROL, {"arm": "a", "share": 0.5, "more": 1}, "must be an object such as"),
    (LOG_QUERY["after"], str(2**63), "at most"),
    (LOG_QUERY["after"], "9" * 10_000, f"is {'9' * 30}: it must be at most {2**63 - 1:,}"),
    (LOG_QUERY["after"], "٣", "whole number"),
    (UNIT_QUERY["error"], "0", "be a probability, above 0 and below 1"),
    (UNIT_QUERY["error"], "1", "be a probability, above 0 and below 1"),
]


@pytest.mark.parametrize(("rule", "value", "used"), TAKEN, ids=range(len(TAKEN)))
def test_what_is_at_the_bounds_is_taken(rule: Rule, value: object, used: object) -> None:
    found = rule.check("field", value)
    assert (found, type(found)) == (used, type(used))


def test_minus_zero_is_zero() -> None:
    """Databases do not tell them apart, and a reward that is sent again must be the same."""
    assert math.copysign(1, NUMBER.check("reward", -0.0)) == 1


@pytest.mark.parametrize(("rule", "value", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_beyond_them_is_refused(rule: Rule, value: object, words: str) -> None:
    with pytest.raises(InputError) as error:
        rule.check("field", value)
    assert words in str(error.value)
    assert "field" in error.value.path
