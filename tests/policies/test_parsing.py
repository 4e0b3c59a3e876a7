"""Policies by the words that people write."""

from __future__ import annotations

from typing import Any

import pytest

from fpbandits import FPUCB, InputError
from fpbandits.policies import parse_policy


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
