"""Names of all kinds: plain texts come out, or a refusal; contexts and arms are counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import refusal

from fpbandits import InputError, Problem
from fpbandits.core.checks import plain_text
from fpbandits.core.names import Names as Layout

MEANS = [[0.9, 0.5], [0.2, 0.5]]


class Names(str, Enum):  # noqa: UP042 - unlike StrEnum, it shows as Names.LOYAL
    LOYAL = "loyal"
    THRIFTY = "thrifty"


class Short(Sequence[list[float]]):
    """Says that it has two rows, and has one."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: Any) -> Any:
        return [[0.9, 0.5]][place]


def test_a_list_that_is_shorter_than_it_says() -> None:
    with pytest.raises(InputError, match="there are 2 model names for 1 rows"):
        Problem.bernoulli(Short(), models=["x", "y"])


def test_names_are_plain_texts() -> None:
    plain = Problem.bernoulli(MEANS, arms=["a", "b"], models=["loyal", "thrifty"])
    odd = Problem.bernoulli(
        MEANS, arms=list(np.array(["a", "b"])), models=list(Names), truth=Names.LOYAL
    )
    assert {type(name) for name in (*odd.arms, *odd.models, odd.truth)} == {str}
    assert repr((odd.arms, odd.models)) == "(('a', 'b'), ('loyal', 'thrifty'))"
    assert odd.fingerprint == plain.fingerprint
    assert odd.index(Names.THRIFTY) == 1
    assert plain_text(Names.LOYAL) == "loyal"


@pytest.mark.parametrize(
    "names",
    [{"a": 1, "b": 2}, {"a": 1, "b": 2}.keys(), (name for name in "ab"), np.array(["a", "b"])],
    ids=lambda names: type(names).__name__,
)
def test_whatever_has_an_order_may_name(names: Any) -> None:
    assert Problem.bernoulli(MEANS, arms=names).arms == ("a", "b")


HEAD = 'contexts = ["m", "d"]\narms = ["a", "b"]\n'
GOOD = "[models.x]\nm = [0.9, 0.5]\nd = [0.8, 0.6]\n"

WITH_CONTEXTS = [
    (HEAD + "[models.x]\nm = [0, 1]", "model 'x': nothing is said of context 'd'"),
    (
        HEAD + GOOD + "tablet = [0, 1]",
        "model 'x': unknown context 'tablet': known are 'm', 'd'",
    ),
    (
        'contexts = ["mobile"]\n[models.x]\nmobil = [0, 1]',
        "model 'x': unknown context 'mobil': did you mean 'mobile'?",
    ),
    (
        "contexts = []\n[models]\nx = [0, 1]",
        "there are no contexts: name at least one, or leave",
    ),
    ('contexts = "m"\n[models]\nx = [0, 1]', "contexts must be a list, not 'm'"),
    ("contexts = [1]\n[models.x]\n1 = [0, 1]", "context 1: its name must be a text, not 1"),
    ('contexts = ["m", "m"]\n' + GOOD, "duplicate context name 'm': contexts 1 and 2 must differ"),
    (
        HEAD + "[models.x]\nm = [0, 1]\nd = [0.5]",
        "model 'x', context 'd': it has 1 of 2 values: no value for arm 'b'",
    ),
    (
        HEAD + "[models.x]\nm = [0, 1, 1]\nd = [0, 1]",
        "model 'x', context 'm': it has 3 values for 2 arms: nothing follows arm 'b'",
    ),
    (
        'contexts = ["m", "d"]\n[models.x]\nm = [0, 1]\nd = [0.5]',
        "model 'x', context 'd': it has 1 of 2 values: no value for arm 'arm2'",
    ),
    (HEAD + "[models.x]\nm = 0.5\nd = [0, 1]", "model 'x', context 'm': expected a list"),
    (HEAD + "[models]\nx = 0.5", "model 'x': expected a list of values for each of the 2"),
    (
        HEAD + "[models]\nx = [0.9, 0.5]",
        "model 'x', context 'm': expected a list with a value for each of the 2 arms, not 0.9",
    ),
    (
        HEAD + "[models]\nx = [[0, 1]]",
        "model 'x': there is 1 list of values for 2 contexts",
    ),
    (
        "[models.x]\nm = [0, 1]",
        "model 'x': expected a value for every arm, not {'m': [0, 1]}",
    ),
    (
        'arms = ["a", "b"]\n' + GOOD,
        "model 'x': expected a list with a value for each of the 2 arms, not {'m': [0.9, 0.5]",
    ),
    (
        HEAD + "[models.x]\nm = [0, 1]\nd = [0, 3]",
        "model 'x', context 'd', arm 'b': mean 3 is outside the range [0, 1]",
    ),
    (
        HEAD + "[models.x]\nm = [0, 1]\nd = [0, nan]",
        "model 'x', context 'd', arm 'b': nan is not a finite number",
    ),
    (
        'contexts = ["m"]\nreward = "discrete"\nsupport = [0, 1]\n[models.x]\nm = [[0.5, 0.6]]',
        "model 'x', context 'm', arm 'arm1'",
    ),
]


@pytest.mark.parametrize("shape", [(2, 1, 3), (2, 1, 3, 2)])
def test_arrays_in_contexts_are_taken_as_arrays(shape: tuple[int, ...]) -> None:
    names = Layout("problem", ("a", "b", "c"), ("x", "y"), None, ("m",))
    array = np.arange(math.prod(shape)).reshape(shape)
    flat = names.flat(array)
    assert isinstance(flat, np.ndarray)
    np.testing.assert_array_equal(flat, array[:, 0])
    with pytest.raises(InputError, match="model 'x', context 'm': it has 2 of 3 values"):
        names.flat(array[:, :, :2])


@pytest.mark.parametrize(("content", "message"), WITH_CONTEXTS)
def test_refusals_in_contexts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(content)
    for words in (("analyze", str(path)), ("simulate", str(path), "--truth", "x")):
        line = refusal(capsys, *words)
        assert line.startswith(f"error: {path}: ")
        assert message in line
