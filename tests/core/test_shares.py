"""Shares of contexts and priors: they add up to 1, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import refusal
from hypothesis import given
from hypothesis import strategies as st

from fpbandits import InputError
from fpbandits.core.shares import checked_prior, checked_shares, checked_transitions

HEAD = 'contexts = ["m", "d"]\narms = ["a", "b"]\n'
GOOD = "[models.x]\nm = [0.9, 0.5]\nd = [0.8, 0.6]\n"

SHARES = [
    (HEAD + "shares = [0.6, 0.3]\n" + GOOD, "the shares of contexts add up to 0.9, not 1"),
    (HEAD + "shares = [1, 0]\n" + GOOD, "the share of context 'd' is 0: it must be above 0"),
    (HEAD + "shares = [1.5, -0.5]\n" + GOOD, "the share of context 'd' is -0.5: it must be above"),
    (HEAD + "shares = [0.5, nan]\n" + GOOD, "share of 'd': nan is not a finite number"),
    (HEAD + 'shares = [0.5, "x"]\n' + GOOD, "share of 'd': expected a number, not the text 'x'"),
    (HEAD + "shares = [0.5, true]\n" + GOOD, "share of 'd': expected a number, not the boolean"),
    (HEAD + "shares = [1]\n" + GOOD, "there is 1 share for 2 contexts"),
    (HEAD + "shares = 1\n" + GOOD, "shares must be a list, not 1"),
    (HEAD + "shares = []\n" + GOOD, "there are 0 shares for 2 contexts"),
    (
        "shares = [1]\n[models]\nx = [0, 1]",
        "shares say how often each context comes, and there",
    ),
]


@pytest.mark.parametrize(("content", "message"), SHARES)
def test_shares_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(content)
    for words in (("analyze", str(path)), ("simulate", str(path), "--truth", "x")):
        line = refusal(capsys, *words)
        assert line.startswith(f"error: {path}: ")
        assert message in line


def test_shares_are_alike_unless_said_otherwise() -> None:
    assert checked_shares(None, ("a", "b", "c", "d")) == (0.25,) * 4
    assert checked_shares(None, ()) == ()
    assert checked_shares(np.array([0.25, 0.75]), ("a", "b")) == (0.25, 0.75)


@given(st.lists(st.floats(0, 1e300), min_size=3, max_size=3).filter(any))
def test_a_prior_is_in_proportion_to_its_weights(weights: list[float]) -> None:
    prior = checked_prior(dict(zip("abc", weights, strict=True)), ("a", "b", "c"))
    assert prior is not None
    assert sum(prior) == pytest.approx(1, rel=1e-12)
    largest = max(weights)
    for share, weight in zip(prior, weights, strict=True):
        assert share / max(prior) == pytest.approx(weight / largest, rel=1e-12, abs=1e-300)
    again = checked_prior(dict(zip("abc", prior, strict=True)), ("a", "b", "c"))
    assert again == prior  # so that a saved problem comes back bit for bit


def test_models_of_which_a_prior_says_nothing_weigh_1() -> None:
    assert checked_prior(None, ("a", "b")) is None
    assert checked_prior({"a": 3}, ("a", "b")) == (0.75, 0.25)
    assert checked_prior({}, ("a", "b")) == (0.5, 0.5)


PRIORS: list[tuple[Any, str]] = [
    ([1, 2], "prior gives weights by name, as {'theta1': 3}, not [1, 2]"),
    ({"c": 1}, "prior: unknown model 'c': known are 'a', 'b'"),
    ({"a": -1}, "prior of 'a' is -1: it must be 0 or more"),
    ({"a": "x"}, "prior of 'a': expected a number, not the text 'x'"),
    ({"a": float("nan")}, "prior of 'a': nan is not a finite number"),
    ({"a": 0, "b": 0}, "the prior leaves no model possible"),
]


@pytest.mark.parametrize(("weights", "message"), PRIORS)
def test_priors_that_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        checked_prior(weights, ("a", "b"))
    assert str(caught.value) == message


CHAINS = [
    ("x = { x = 0.9, y = 0.2 }\ny = { y = 1 }", "transitions from 'x': they add up to 1.1, not 1"),
    ("x = { x = 0.9 }\ny = { y = 1 }", "transitions from 'x': they add up to 0.9, not 1"),
    ("x = { x = 0.9, z = 0.1 }\ny = { y = 1 }", "transitions from 'x': unknown model 'z'"),
    ("z = { x = 1 }", "transitions: unknown model 'z'"),
    ("x = { x = 1 }", "no transitions from model 'y': one that stays for good has {'y' = 1}"),
    ("x = { x = 2, y = -1 }\ny = { y = 1 }", "the probability of moving to it is 2: it must be"),
    ('x = { x = "1" }\ny = { y = 1 }', "model 'x': expected a number, not the text '1'"),
    ("x = 3\ny = { y = 1 }", "transitions from 'x': expected a probability for every model, not 3"),
    ("x = [1]\ny = [0, 1]", "expected a probability for every model, not 1 values"),
]


@pytest.mark.parametrize(("rows", "message"), CHAINS)
def test_transitions_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, message: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(f"[models]\nx = [0.1, 0.9]\ny = [0.9, 0.1]\n[transitions]\n{rows}\n")
    line = refusal(capsys, "simulate", str(path))
    assert line.startswith(f"error: {path}: ")
    assert message in line


def test_transitions_are_rows_by_name_or_in_order() -> None:
    by_name = {"b": {"a": 1}, "a": {"b": 0.25, "a": 0.75}}
    assert checked_transitions(by_name, ("a", "b")) == ((0.75, 0.25), (1.0, 0.0))
    assert checked_transitions(np.eye(2), ("a", "b")) == ((1.0, 0.0), (0.0, 1.0))
    assert checked_transitions(None, ("a", "b")) is None
    for rows, said in [(3, "not 3"), ([[1]], "not 1 values")]:
        with pytest.raises(InputError, match=f"transitions have a row for every model, {said}"):
            checked_transitions(rows, ("a", "b"))
    with pytest.raises(InputError, match="at most 1,000 models, and there are 1,001"):
        checked_transitions({}, tuple(map(str, range(1001))))
