"""Policies by the words that people write, as ``fp-ucb:slack=0.05`` or ``mine.py:Greedy``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from fpbandits.core.checks import checked_name, plain_text
from fpbandits.engine.policy import Policy, check_policy
from fpbandits.errors import InputError, quote, said, unknown
from fpbandits.policies.own import load_class

Policies = Policy | str | Sequence[Policy | str] | Mapping[str, Policy | str]
"""One policy or several, each as it is or by its name; or under names of one's own."""

# A file's path may hold colons: it ends with .py, and a class follows.
_FILE = re.compile(r"(?P<file>.*\.py):(?P<name>[^:=]*)(?::(?P<options>.*))?", re.DOTALL)


def parse_policy(word: str) -> Policy:
    """Make a policy from its name and options, as the command line writes them.

    >>> parse_policy("fp-ucb:slack=0.05")
    FPUCB(slack=0.05)
    """
    if not isinstance(word, str):
        raise InputError(f"a policy is named by a text, as 'fp-ucb:slack=0.05', not {quote(word)}")
    kind, options = _kind(plain_text(word))
    return check_policy(made(kind, options_of(kind, options)))


def the_policy(given: object) -> Policy:
    """Return a policy as it is, or the one that a text names."""
    return parse_policy(given) if isinstance(given, str) else check_policy(given)


def named_policies(policies: Policies | None) -> dict[str, Policy]:
    """Return policies by their names; the default one if none are given."""
    from fpbandits.policies import DEFAULT

    if policies is None:
        policies = DEFAULT()
    if isinstance(policies, Policy | str):
        policies = [policies]
    if not isinstance(policies, Mapping | Sequence):
        raise InputError(f"expected a policy such as FPUCB(), not {quote(policies)}")
    if isinstance(policies, Mapping):
        given = [(name, the_policy(policy)) for name, policy in policies.items()]
    else:
        given = [(str(policy), policy) for policy in map(the_policy, policies)]
    if not given:
        raise InputError("there are no policies to play")
    named: dict[str, Policy] = {}
    for name, policy in given:
        if not isinstance(name, str):
            raise InputError(f"a policy is named by a text, not {quote(name)}")
        if name in named:
            raise InputError(f"policy {quote(name)} is given twice")
        named[checked_name("a policy", name)] = policy
    return named


def options_of(kind: type[Policy], options: Sequence[str]) -> dict[str, Any]:
    """Return the values of options that are written as NAME=VALUE."""
    known = [option.name for option in fields(kind)]
    values: dict[str, Any] = {}
    for option in options:
        key, _, text = option.partition("=")
        if key not in known:
            if not known:
                raise InputError(
                    f"policy {quote(kind.name)} has no options, but {quote(option)} is given"
                )
            raise unknown(f"option of {kind.name}", key, known)
        if key in values:
            raise InputError(f"{key} is given twice", place=(("policy", kind.name),))
        try:
            values[key] = kind.option(key, text)
        except (ValueError, KeyError):
            wanted = f"expected {key}={kind.expected(key)}, not {quote(option)}"
            raise InputError(wanted, place=(("policy", kind.name),)) from None
    return values


def made(kind: type[Policy], options: dict[str, Any]) -> Policy:
    """Make a policy of its options, and say what is missing."""
    try:
        return kind(**options)
    except TypeError as error:
        raise InputError(said(error), place=(("policy", kind.name),)) from None


def _kind(word: str) -> tuple[type[Policy], list[str]]:
    """Return the class that a word names, and its options."""
    from fpbandits.policies import POLICIES

    found = _FILE.fullmatch(word)
    if found:
        options = found["options"]
        return load_class(Path(found["file"]), found["name"]), options.split(":") if options else []
    name, *rest = word.split(":")
    if name not in POLICIES:
        if name.endswith(".py"):
            raise InputError(f"name its class too, as {name}:MyPolicy", place=(("policy", word),))
        raise unknown("policy", name, POLICIES)
    return POLICIES[name], rest
