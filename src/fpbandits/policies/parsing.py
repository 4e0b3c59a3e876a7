"""Policies by name and options, such as ``fp-ucb:slack=0.05`` or ``mine.py:Greedy``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path

from fpbandits.core.checks import checked_name, known_name, plain_text
from fpbandits.engine.options import expected, options
from fpbandits.engine.policy import Policy
from fpbandits.errors import InputError, quote, said, unknown
from fpbandits.policies.own import load_class

Policies = Policy | str | Sequence[Policy | str] | Mapping[str, Policy | str]
"""One policy or several, each an object or its name; or a mapping from names of one's own."""

# A file's path may contain colons; it ends with .py, and the name of a class follows. "=" would
# mean that an option follows instead. For an empty name `load_class` raises an error.
_FILE = re.compile(r"(?P<file>.*\.py):(?P<name>[^:=]*)(?::(?P<options>.*))?", re.DOTALL)


def parse_policy(word: str, horizon: float | None = None) -> Policy:
    """Make a policy from its name and options, as the command line writes them.

    In the option horizon=T, T stands for ``horizon``, the number of plays in a run, if given;
    a float such as 1e12 will do.

    >>> parse_policy("fp-ucb:slack=0.05")
    FPUCB(slack=0.05)
    """
    if not isinstance(word, str):
        raise InputError(f"a policy is named by a text, as 'fp-ucb:slack=0.05', not {quote(word)}")
    kind, words = _kind(plain_text(word))
    if horizon is not None:
        words = [f"horizon={horizon}" if option == "horizon=T" else option for option in words]
    return check_policy(made(kind, options_of(kind, words)))


def package_policy(word: str) -> Policy:
    """Make one of the package's policies from its name and options; no file is ever run.

    For words that come from a file or over a network.
    """
    name, *words = word.split(":")
    kind = _package_kind(name)
    return made(kind, options_of(kind, words))


def the_policy(given: object, horizon: float | None = None) -> Policy:
    """Return the policy that is given, or the one that a text names; an error if it is none."""
    return parse_policy(given, horizon) if isinstance(given, str) else check_policy(given)


def check_policy(given: object) -> Policy:
    """Return ``given`` if it is a policy, or raise an error that says what is wrong with it."""
    if not isinstance(given, Policy):
        raise InputError(f"expected a policy such as FPUCB(), not {quote(given)}")
    kind = type(given)
    # Attributes that the class has too, such as a cached property, are no forgotten options.
    if any(key not in options(given) and not hasattr(kind, key) for key in vars(given)):
        raise InputError(
            "a policy's options are the fields of a frozen dataclass: put "
            "@dataclass(frozen=True) above its class, and a line NAME: TYPE for each",
            place=(kind.__name__,),
        )
    if not isinstance(getattr(kind, "name", None), str) or ":" in kind.name:
        raise InputError("a policy has a name, a text without colons", place=(kind.__name__,))
    try:
        hash(given)
    except Exception as error:  # lists are not hashable, nor is some of NumPy
        unhashable = f"an option must not be a list or the like ({error})"
        raise InputError(unhashable, place=(given.name,)) from None
    return given


def named_policies(policies: Policies | None, horizon: float | None = None) -> dict[str, Policy]:
    """Return policies by name; None stands for the default one, and an empty list is an error."""
    from fpbandits.policies import DEFAULT

    if policies is None:
        policies = DEFAULT()
    if isinstance(policies, Policy | str):
        policies = [policies]
    if not isinstance(policies, Mapping | Sequence):
        raise InputError(f"expected a policy such as FPUCB(), not {quote(policies)}")
    if isinstance(policies, Mapping):
        given = [(name, the_policy(policy, horizon)) for name, policy in policies.items()]
    else:
        given = [(str(policy), policy) for policy in (the_policy(p, horizon) for p in policies)]
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


def options_of(kind: type[Policy], words: Sequence[str]) -> dict[str, object]:
    """Return the values of options that are written as NAME=VALUE."""
    known, values = options(kind), dict[str, object]()
    for word in words:
        name, _, text = word.partition("=")
        if name not in known:
            if not known:
                raise InputError(
                    f"policy {quote(kind.name)} has no options, but {quote(word)} is given"
                )
            raise unknown(f"option of {kind.name}", name, known)
        if name in values:
            raise InputError(f"{name} is given twice", place=(("policy", kind.name),))
        try:
            values[name] = kind.option(name, text)
        except (ValueError, KeyError):
            wanted = f"expected {name}={expected(kind, name)}, not {quote(word)}"
            raise InputError(wanted, place=(("policy", kind.name),)) from None
    return values


def made(kind: type[Policy], values: dict[str, object]) -> Policy:
    """Make a policy with these options, or raise an error that says why not."""
    for name, option in options(kind).items():
        required = option.init and option.default is option.default_factory is MISSING
        if required and name not in values:
            wanted = f"it needs the option {name}: add :{name}={expected(kind, name)}"
            raise InputError(wanted, place=(("policy", kind.name),))
    try:
        return kind(**values)
    except TypeError as error:
        raise InputError(said(error), place=(("policy", kind.name),)) from None


def _kind(word: str) -> tuple[type[Policy], list[str]]:
    """Return the class that a word names, and its options."""
    match = _FILE.fullmatch(word)
    if match:
        words = match["options"].split(":") if match["options"] else []
        return load_class(Path(match["file"]), match["name"]), words
    file = re.match(r"[^=]*\.py(?=:|$)", word)
    if file:
        raise InputError(f"name its class too, as {file[0]}:MyPolicy", place=(("policy", word),))
    name, *words = word.split(":")
    return _package_kind(name), words


def _package_kind(name: str) -> type[Policy]:
    """Return the package's policy of this name."""
    from fpbandits.policies import POLICIES, SMALL

    known = POLICIES | SMALL
    return known[known_name("policy", name, known)]
