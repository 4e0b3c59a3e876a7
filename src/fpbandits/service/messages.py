"""Every request that the service takes and every answer that it gives, each declared once.

A field's rule says how it is checked, and what OpenAPI says of it; see `schema`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, get_args

from fpbandits.agent.agent import Late
from fpbandits.core.checks import checked_name, number, whole_number
from fpbandits.errors import InputError, TooLargeError, quote, wrong_type, wrong_value
from fpbandits.problem.files import SIZE_LIMITS
from fpbandits.service.schema import Body, Rule, Schema, object_schema
from fpbandits.service.statuses import MissingError

LONGEST_NAME = 200
"""Most letters in the name of an experiment or a unit, and in a key."""

LONGEST_WAIT = 10 * 365 * 86_400.0
"""Largest ``reward_wait``: ten years, in seconds."""

MOST_ITEMS = 1_000
"""Most requests in a list."""

MOST_LISTED = 1_000
"""Most experiments in an answer."""

LARGEST_BODY = 2**20
"""Most bytes of a body."""

LARGEST_DEFINITION = 2**23
"""Most bytes of a definition: the text of a problem may be long."""

_LARGEST_INTEGER = 2**63 - 1
"""The largest that a database can hold."""


def short_name(owner: str, name: object) -> str:
    """Return a name of an experiment, a unit or a key, or say what is wrong with it."""
    return checked_name(owner, name, most=LONGEST_NAME)


def is_name(text: str) -> bool:
    """Tell whether an experiment or a unit may have this name: not every text may be stored."""
    try:
        return bool(short_name("it", text))
    except InputError:
        return False


def decision_name(unit: str, number: int) -> str:
    """Return the name of a unit's decision, as clients know it.

    >>> decision_name("user-17", 3)
    '3@user-17'
    """
    return f"{number}@{unit}"


def decision_of(name: str) -> tuple[str, int]:
    """Return the unit and the number of a decision: the reverse of `decision_name`.

    >>> decision_of("3@user-17")
    ('user-17', 3)
    """
    number, at, unit = name.partition("@")
    if not at or not unit or not (number.isascii() and number.isdigit()) or len(number) > 18:
        reason = f"unknown decision {quote(name)}: expected one such as '3@user-17'"
        raise MissingError(reason, about=(("decision", name),))
    return unit, int(number)


# Checks of fields: each takes a field's name and value, and returns the value to use.


def _decision(field: str, value: object) -> tuple[str, int]:
    unit, number = decision_of(_text(field, value, "a text such as '3@user-17'"))
    return short_name(field, unit), number


def _text(field: str, value: object, wanted: str = "a text") -> str:
    if not isinstance(value, str):
        raise wrong_type(field, value, wanted)
    return value


def _toml(field: str, value: object) -> str:
    text = _text(field, value, "the text of a TOML file")
    if len(text) > SIZE_LIMITS[".toml"]:
        raise TooLargeError(f"more than {SIZE_LIMITS['.toml']:,} letters", place=(field,))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"letter {error.start + 1} is half of one"  # of a surrogate pair
        raise InputError(reason, place=(field,)) from None
    return text


def _finite(field: str, value: Any) -> float:
    finite = value if type(value) is float and math.isfinite(value) else number(value, field)
    return finite + 0.0  # -0.0 becomes 0.0: databases do not distinguish them


def _arms(field: str, value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise wrong_type(field, value, "a list of the arms that are eligible, at least one")
    return [_text(field, arm, "a list of texts") for arm in value]


def _wait(field: str, value: object) -> float:
    seconds = number(value, field)
    if not 0 < seconds <= LONGEST_WAIT:
        raise wrong_value(field, seconds, f"be above 0 and at most {LONGEST_WAIT:g} seconds")
    return seconds


def _share(field: str, value: object) -> float:
    share = number(value, field)
    if not 0 <= share <= 1:
        raise wrong_value(field, share, "be a share of decisions, from 0 to 1")
    return share


def _control(field: str, value: object) -> object:
    if not isinstance(value, dict) or value.keys() != {"arm", "share"}:
        raise wrong_type(field, value, 'an object such as {"arm": "9 EUR", "share": 0.1}')
    share = number(value["share"], "share")
    if not 0 < share < 1:
        raise wrong_value("share", share, "be above 0 and below 1").at(field)
    return {"arm": _text("arm", value["arm"]), "share": share}


def _late(field: str, value: object) -> object:
    if value not in get_args(Late):
        raise wrong_value(field, value, f"be one of {', '.join(get_args(Late))}")
    return value


def _integer(field: str, value: object) -> int:
    return whole_number(field, value, most=_LARGEST_INTEGER)


def _digits(field: str, value: str) -> int:
    return _integer(field, int(value[:30]) if value.isascii() and value.isdigit() else value)


def _probability(field: str, value: str) -> float:
    try:
        probability = float(value)
    except ValueError:
        probability = math.nan
    if not 0 < probability < 1:
        raise wrong_value(field, value, "be a probability, above 0 and below 1")
    return probability


_TEXT = {"type": "string"}
_INTEGER = {"type": "integer", "minimum": 0}

NAME = Rule(short_name, {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME})
DECISION = Rule(_decision, {"type": "string", "examples": ["3@user-17"]})
NUMBER = Rule(_finite, {"type": "number"})
TEXT = Rule(_text, _TEXT)
TOML = Rule(_toml, {"type": "string", "description": "The text of a problem file, TOML."})
ARMS = Rule(_arms, {"type": "array", "items": _TEXT, "minItems": 1})
POLICY = Rule(_text, {"type": "string", "examples": ["frugal", "fp-ucb:slack=0.05"]})
SEED = Rule(_integer, _INTEGER)
LATE = Rule(_late, {"enum": list(get_args(Late))})
SHARE = Rule(_share, {"type": "number", "minimum": 0, "maximum": 1})
WAIT = Rule(_wait, {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT})
_SHARE = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
CONTROL = Rule(_control, object_schema(arm=_TEXT, share=_SHARE))

LOG_QUERY = {"after": Rule(_digits, {**_INTEGER, "default": 0})}
"""Parameters of the log's address: the event after which to begin."""

LIST_QUERY = {"after": Rule(_text, {**_TEXT, "default": ""})}
"""Parameters of the address of all experiments: the name after which to begin."""

_ERROR = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.05}
UNIT_QUERY = {"error": Rule(_probability, _ERROR), "context": Rule(_text, _TEXT)}
"""Parameters of a unit's address: how often a verdict may be wrong, and for which context."""


class Ask(NamedTuple):
    """Decide for a unit, among the arms that are eligible; the same key gets the same decision."""

    unit: Annotated[str, NAME]
    key: Annotated[str | None, NAME] = None
    context: Annotated[str | None, TEXT] = None
    among: Annotated[list[str] | None, ARMS] = None


class Tell(NamedTuple):
    """Send the reward of a decision; idempotent."""

    decision: Annotated[tuple[str, int], DECISION]
    reward: Annotated[float, NUMBER]

    @property
    def unit(self) -> str:
        """The unit of the decision."""
        return self.decision[0]


class Forget(NamedTuple):
    """Give a decision up: its reward will never come."""

    decision: Annotated[tuple[str, int], DECISION]

    @property
    def unit(self) -> str:
        """The unit of the decision."""
        return self.decision[0]


class Expire(NamedTuple):
    """Let decisions of a unit expire; only the service itself sends it."""

    unit: str


class Erase(NamedTuple):
    """Erase a unit: delete these events, and those of the unit after a position in the log."""

    unit: str
    events: Sequence[int]
    after: int


Request = Ask | Tell | Forget | Expire | Erase


class Definition(NamedTuple):
    """What an experiment is made of: problem, policy, and when rewards count."""

    problem: Annotated[str, TOML]
    policy: Annotated[str | None, POLICY] = None
    seed: Annotated[int, SEED] = 0
    late: Annotated[Late, LATE] = "in-order"
    reward_wait: Annotated[float | None, WAIT] = None
    default_reward: Annotated[float | None, NUMBER] = None
    explore: Annotated[float, SHARE] = 0.0
    control: Annotated[dict[str, Any] | None, CONTROL] = None


ASK = Body(Ask, largest=LARGEST_BODY, most_items=MOST_ITEMS)
TELL = Body(Tell, largest=LARGEST_BODY, most_items=MOST_ITEMS)
FORGET = Body(Forget, largest=LARGEST_BODY, most_items=MOST_ITEMS)
DEFINITION = Body(Definition, largest=LARGEST_DEFINITION)

_OBJECT = {"type": "object"}
_NULL = {"type": "null"}
_OBJECT_OR_NULL = {"type": ["object", "null"]}

# Answers:
DECIDED = object_schema(decision=DECISION.schema, unit=NAME.schema, arm=_TEXT)
RESOLVED = object_schema(decision=DECISION.schema, status={"enum": ["told", "forgotten", "late"]})
ERASED = object_schema(unit=NAME.schema, status={"enum": ["erased"]})
DELETED = object_schema(name=NAME.schema, status={"enum": ["deleted"]})
_STATUSES = {"enum": ["open", "closed", "migrating", "adopting", "deleting"]}
_CHANGING: dict[str, Schema] = {
    "created": NUMBER.schema,
    "status": _STATUSES,
    "revision": _INTEGER,
}
EXPERIMENT = object_schema(name=NAME.schema, **_CHANGING, **DEFINITION.fields())
_WITHOUT_PROBLEM = {
    name: schema for name, schema in DEFINITION.fields().items() if name != "problem"
}
EXPERIMENTS = {
    "type": "array",
    "maxItems": MOST_LISTED,
    "items": object_schema(name=NAME.schema, **_CHANGING, **_WITHOUT_PROBLEM),
}
UNIT = object_schema(
    unit=NAME.schema,
    plays=_OBJECT,
    plausible=_OBJECT,
    spread_fits={"type": "boolean"},
    misfits=_INTEGER,
    pending=_OBJECT,
    blocked=_OBJECT,
    events=_INTEGER,
    posterior=_OBJECT_OR_NULL,
    best_arm=_OBJECT_OR_NULL,
    verdict={"type": ["string", "null"]},
    why=_OBJECT_OR_NULL,
)
_COUNTS = "units decisions rewards pending expired forgotten late erased looked_at misfits blocked"
REPORT = object_schema(
    experiment=NAME.schema,
    status=_STATUSES,
    **dict.fromkeys(_COUNTS.split(), _INTEGER),
    mean_reward={"anyOf": [NUMBER.schema, _NULL]},
    arms=_OBJECT,
    models=_OBJECT,
    control={"anyOf": [_OBJECT, _NULL]},
    over_time={"type": "array", "items": _OBJECT},
)
_FAILED: dict[str, Schema] = {"error": _TEXT, "place": {"type": "array", "items": _TEXT}}
FAILURE = object_schema(**_FAILED)
FAILED_ITEM = object_schema(**_FAILED, status=_INTEGER)
HEALTH = object_schema(status=_TEXT)
READY = object_schema(status=_TEXT, version=_TEXT)
