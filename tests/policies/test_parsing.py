"""Policies by the words that people write."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from fpbandits import FPUCB, MOSS, UCB1, Frugal, InputError, Optimal, PlainPolicy, UnknownError
from fpbandits.policies import parse_policy
from fpbandits.policies.parsing import (
    check_policy,
    made,
    named_policies,
    package_policy,
    the_policy,
)


def test_names_and_options() -> None:
    assert parse_policy("fp-ucb") == FPUCB()
    assert parse_policy("fp-ucb:slack=5e-2") == FPUCB(slack=0.05)
    assert str(FPUCB(slack=0.05)) == "fp-ucb:slack=0.05"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("fpucb", "unknown policy 'fpucb': did you mean 'fp-ucb'?"),
        ("", "unknown policy ''"),
        (3, "a policy is named by a text, as 'fp-ucb:slack=0.05', not 3"),
        (b"fp-ucb", "a policy is named by a text, as 'fp-ucb:slack=0.05', not b'fp-ucb'"),
        ("fp-ucb:slak=1", "unknown option of fp-ucb 'slak': did you mean 'slack'?"),
        ("fp-ucb:slack", "expected slack=NUMBER, not 'slack'"),
        ("fp-ucb:slack=much", "expected slack=NUMBER, not 'slack=much'"),
        ("fp-ucb:slack=-1", "fp-ucb: slack is -1.0: it must be 0 or more"),
        ("fp-ucb:slack=nan", "fp-ucb: slack is nan: it must be 0 or more"),
        ("fp-ucb:slack=1:slack=2", "slack is given twice"),
        ("C:/mine.py", "name its class too, as C:/mine.py:MyPolicy"),
        ("C:/mine.py:epsilon=1", "name its class too, as C:/mine.py:MyPolicy"),
        ("mine.py:epsilon=1", "name its class too, as mine.py:MyPolicy"),
        ("optimist:likelihood=x.py", "likelihood"),
        ("optimal", "policy 'optimal': it needs the option horizon: add :horizon=NUMBER"),
        ("ucb1:c=2", "policy 'ucb1' has no options, but 'c=2' is given"),
    ],
)
def test_bad_words_for_policies(word: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_policy(word)
    assert message in str(caught.value)


def test_a_horizon_of_t_stands_for_the_plays_of_a_run() -> None:
    assert parse_policy("moss:horizon=T", 1e12) == MOSS(horizon=1e12)
    assert parse_policy("frugal:kappa=2:horizon=T", 60) == Frugal(kappa=2, horizon=60)
    with pytest.raises(InputError, match="expected horizon=NUMBER, not 'horizon=T'"):
        parse_policy("moss:horizon=T")


def test_a_word_from_elsewhere_names_no_file() -> None:
    assert package_policy("fp-ucb:slack=0.05") == FPUCB(slack=0.05)
    assert package_policy("optimal:horizon=3") == Optimal(horizon=3)
    for word in ("mine.py:Greedy", "nothing"):
        with pytest.raises(UnknownError, match="unknown policy"):
            package_policy(word)


def test_policies_under_names() -> None:
    assert named_policies(None) == {"frugal": Frugal()}
    assert named_policies("ucb1") == {"ucb1": UCB1()}
    assert named_policies(MOSS(horizon=2)) == {"moss:horizon=2.0": MOSS(horizon=2)}
    both = named_policies(["moss:horizon=T", UCB1()], 50)
    assert both == {"moss:horizon=50.0": MOSS(horizon=50), "ucb1": UCB1()}
    assert list(both) == ["moss:horizon=50.0", "ucb1"]
    assert named_policies({"mine": "moss:horizon=T", "its": UCB1()}, 50) == {
        "mine": MOSS(horizon=50),
        "its": UCB1(),
    }


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (3, "expected a policy such as FPUCB(), not 3"),
        ([3], "expected a policy such as FPUCB(), not 3"),
        ({"a": UCB1}, "expected a policy such as FPUCB(), not "),
        ([], "there are no policies to play"),
        ({}, "there are no policies to play"),
        ({1: "ucb1"}, "a policy is named by a text, not 1"),
        (["ucb1", UCB1()], "policy 'ucb1' is given twice"),
    ],
)
def test_what_names_no_policies(policies: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        named_policies(policies)
    assert message in str(caught.value)


class Nameless(PlainPolicy):
    """A policy that forgot its name."""

    def choose(self, seen: Any, random: Any) -> int:
        return 0


class Colon(Nameless):
    """A policy with a colon in its name."""

    name = "a:b"


class Forgetful(Nameless):
    """Its option is no field."""

    name = "forgetful"

    def __init__(self) -> None:
        vars(self)["rate"] = 1


@dataclass(frozen=True)
class Listed(Nameless):
    """Its option may be a list."""

    weights: Any = ()
    name = "listed"

    @cached_property
    def total(self) -> float:
        """A number that is computed once, and is no option."""
        return float(sum(self.weights))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Nameless(), "Nameless: a policy has a name, a text without colons"),
        (Colon(), "Colon: a policy has a name, a text without colons"),
        (Forgetful(), "Forgetful: a policy's options are the fields of a frozen dataclass"),
        (Listed([1]), "listed: an option must not be a list or the like (unhashable type: 'list')"),
        (UCB1, "expected a policy such as FPUCB(), not "),
    ],
)
def test_what_is_no_policy(policy: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_policy(policy)
    assert message in str(caught.value)


def test_a_cached_property_is_no_forgotten_option() -> None:
    policy = Listed((1, 2))
    assert policy.total == 3
    assert check_policy(policy) is the_policy(policy) is policy


@dataclass(frozen=True)
class Demanding(Nameless):
    """One option must be given, and three need not be."""

    rate: float
    names: tuple[str, ...] = field(default_factory=tuple)
    seen: int = field(init=False, default=0)
    label: str = "a"
    name = "demanding"

    def __post_init__(self) -> None:
        if self.rate > 1:
            raise TypeError("too fast")


def test_only_options_without_a_default_must_be_given() -> None:
    assert made(Demanding, {"rate": 1.0}) == Demanding(1.0)
    with pytest.raises(
        InputError, match=r"'demanding': it needs the option rate: add :rate=NUMBER"
    ):
        made(Demanding, {})
    with pytest.raises(InputError, match="'demanding': too fast"):
        made(Demanding, {"rate": 2.0})
