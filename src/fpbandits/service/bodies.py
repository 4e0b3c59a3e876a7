"""What comes in as JSON, checked: bodies of requests into `Ask`, `Tell` and `Forget`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from fpbandits.core.checks import number
from fpbandits.errors import Error, InputError, TooLargeError, quote, said, unknown, wrong_type
from fpbandits.service.experiment import LONGEST_NAME, Experiment, short_name
from fpbandits.service.statuses import UnreadableError
from fpbandits.service.step import Ask, Forget, Request, Tell, decision_of

MOST_ITEMS = 1_000
"""Requests in a list."""

LARGEST_BODY = 2**20
LARGEST_EXPERIMENT = 2**23
"""Bytes of a body; a problem's text may be longer."""


def parsed(body: bytes) -> Any:
    """Read JSON as the standard has it: no NaN, and no number that is none."""
    try:
        return json.loads(body, parse_constant=_no_number)
    except RecursionError:
        raise UnreadableError("the body is nested too deeply") from None
    except ValueError as error:  # not UTF-8, too, and whole numbers of thousands of digits
        raise UnreadableError(f"the body is not JSON: {said(error)}") from None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number in JSON")


Reader = Callable[[Experiment, Any], Request]


def requests_of(
    read: Reader, experiment: Experiment, content: object
) -> tuple[bool, list[Request | Error]]:
    """Return whether a body is a list, and its requests; in a list, each may be wrong by itself."""
    if not isinstance(content, list):
        return False, [read(experiment, content)]
    if len(content) > MOST_ITEMS:
        raise TooLargeError(f"a list of {len(content):,}: at most {MOST_ITEMS:,} are taken at once")
    found: list[Request | Error] = []
    for item in content:
        try:
            found.append(read(experiment, item))
        except InputError as error:
            found.append(error)
    return True, found


def read_ask(experiment: Experiment, item: Any) -> Ask:
    """Return what is asked for: a unit, perhaps a key, perhaps a context."""
    fields = _fields(item, ("unit",), ("key", "context"))
    key = fields.get("key")
    return Ask(
        short_name("unit", fields["unit"]),
        None if key is None else short_name("key", key),
        experiment.context(fields.get("context")),
    )


def read_tell(experiment: Experiment, item: Any) -> Tell:
    """Return what is told: a decision and its reward."""
    fields = _fields(item, ("decision", "reward"), ())
    reward = fields["reward"]
    if type(reward) is not float or not math.isfinite(reward):
        reward = number(reward, "reward")
    return Tell(*_decision(fields["decision"]), reward)


def read_forget(experiment: Experiment, item: Any) -> Forget:
    """Return which decision is given up."""
    return Forget(*_decision(_fields(item, ("decision",), ())["decision"]))


def _decision(name: object) -> tuple[str, int]:
    if not isinstance(name, str):
        raise wrong_type("decision", name, "a text such as '3@user-17'")
    if len(name) > LONGEST_NAME + 20:
        long = f"decision has {len(name):,} letters: no decision is called so"
        raise InputError(long, about=("decision",))
    unit, count = decision_of(name)
    return short_name("decision", unit), count


def _fields(item: Any, required: tuple[str, ...], optional: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise InputError(
            f"expected an object with {', '.join(required + optional)}, or a list of them, not "
            f"{quote(item)}"
        )
    for field in required:
        if field not in item:
            raise InputError(f"the field {quote(field)} is missing", about=(field,))
    if len(item) > len(required):
        for field in item:
            if field not in required and field not in optional:
                raise unknown("field", field, required + optional)
    return item
