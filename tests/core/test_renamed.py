"""Words of earlier versions: refused in Python, read from files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

import fpbandits as fpb
from fpbandits.core.renamed import rename_old_keys, rename_old_options

PROBLEM = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], models=["x", "y"], truth="x")
ANY: Any = fpb

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "models": (
        lambda: ANY.Problem.bernoulli([[0.5]], parameters=["x"]),
        "unknown keyword 'parameters': it is now models",
    ),
    "truth": (lambda: ANY.simulate(PROBLEM, true="x"), "simulate: true= is now truth="),
    "its analysis": (lambda: ANY.analyze(PROBLEM, true="x"), "analyze: true= is now truth="),
    "worst case": (lambda: ANY.simulate(PROBLEM, exact=True), "exact= is now worst_case="),
    "option": (lambda: ANY.Frugal(safe=7), "frugal: safe= is now false_alarm="),
    "of change": (lambda: ANY.ThompsonTheta(switch=0.1), "switch= is now change_rate="),
    "in words": (
        lambda: ANY.Agent(PROBLEM, "frugal:safe=7"),
        "unknown option of frugal 'safe': it is now false_alarm",
    ),
    "nothing": (
        lambda: ANY.Problem.bernoulli([[0.5]], parmeters=["x"]),
        "unknown keyword 'parmeters': known are 'arms', 'models',",
    ),
}


@pytest.mark.parametrize(("call", "said"), CALLS.values(), ids=CALLS)
def test_old_keywords_are_told_the_new_word(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(fpb.InputError, match=re.escape(said)):
        call()


@pytest.mark.parametrize(
    ("thing", "old", "new"),
    [
        (PROBLEM, "parameters", "models"),
        (PROBLEM, "true", "truth"),
        (fpb.Agent(PROBLEM), "survivors", "plausible"),
        (fpb.Agent(PROBLEM), "outstanding", "pending"),
        (fpb.Agent(PROBLEM), "waiting", "blocked"),
    ],
)
def test_old_attributes_are_told_the_new_word(thing: Any, old: str, new: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{old}': it is now {new}"):
        getattr(thing, old)
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        _ = thing.nonsense
    assert getattr(type(thing), old).__doc__ is None, "the reference does not list it"
    assert not hasattr(type(thing), "__getattr__"), "it would slow down every attribute"


def test_tables_of_files_come_with_the_words_of_today() -> None:
    assert rename_old_keys({"parameters": 1, "exact": 2, "seed": 3}) == {
        "models": 1,
        "worst_case": 2,
        "seed": 3,
    }
    with pytest.raises(fpb.InputError, match="true and truth mean the same: give truth alone"):
        rename_old_keys({"true": "x", "truth": "y"})


def test_policies_of_files_play_as_they_did() -> None:
    word = rename_old_options("optimist:safe=7:delta=0.5")
    assert word.startswith("optimist:false_alarm=0.00091")
    known: Any = fpb.Agent(PROBLEM, word).policy.prepare(PROBLEM)
    assert known.alarm == pytest.approx(7, abs=1e-15)
    assert rename_old_options("frugal:safe=0") == "frugal:false_alarm=0.0"
    assert rename_old_options("frugal:safe=0.5") == f"frugal:false_alarm={math.exp(-0.5)!r}"
    assert rename_old_options("mine:speed=1") == "mine:speed=1"
    for x in (1, 2, 5, 7, 9, 13):
        assert -math.log(math.exp(-x)) == x, "bit for bit"
