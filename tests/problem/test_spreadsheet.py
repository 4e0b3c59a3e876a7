"""Problems with contexts as CSV; those without are tested beside TOML, in test_files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import refusal

from fpbandits import InputError, Problem, load_problem, save_problem


def shop(**more: object) -> Problem:
    return Problem.bernoulli(
        [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]]],
        models=["loyal", "thrifty"],
        contexts=["mobile", "desktop"],
        arms=["9 EUR", "12 EUR"],
        name="shop",
        **more,  # type: ignore[arg-type]  # whatever a problem takes
    )


TEXT = """\
model,context,9 EUR,12 EUR
loyal,mobile,0.9,0.5
loyal,desktop,0.8,0.6
thrifty,mobile,0.4,0.5
thrifty,desktop,0.8,0.6
"""


def test_contexts_are_a_column(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    save_problem(shop(), path)
    assert path.read_text() == TEXT
    found = load_problem(path)
    assert found == shop()
    assert (found.contexts, found.shares, found.name) == (("mobile", "desktop"), (0.5, 0.5), "shop")


def test_rows_may_come_in_any_order(tmp_path: Path) -> None:
    """By context, as people sort them too; names come in the order in which they first stand."""
    header, *rows = TEXT.splitlines()
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["# range = 0, 1", "", header, *(rows[i] for i in (0, 2, 3, 1))]))
    assert load_problem(path) == shop()
    path.write_text("\n".join([header, *(rows[i] for i in (3, 0, 1, 2))]))
    found = load_problem(path)
    assert found.contexts == ("desktop", "mobile")
    assert found.models == ("thrifty", "loyal")
    assert found.means.tolist() == [[[0.8, 0.6], [0.4, 0.5]], [[0.8, 0.6], [0.9, 0.5]]]


def test_every_bit_comes_back(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    for number in range(30):
        shape = generator.integers(1, 5, 3)
        low, high = sorted(generator.normal(size=2) * 10)
        means = low + (high - low) * generator.random(shape)
        problem = Problem.bernoulli(
            np.clip(means, low, high),
            contexts=[f"={place}" if number % 2 else f"c {place}" for place in range(shape[1])],
            range=(low, high),
        )
        save_problem(problem, tmp_path / "p.csv")
        again = load_problem(tmp_path / "p.csv")
        assert again == problem
        assert again.means.tobytes() == problem.means.tobytes()


H = "model,context,a,b\n"

REFUSALS = [
    ("model,context\nx,y", "row 1: the header names no arms: model,context,<arm>,<arm>…"),
    (H, "there are no models: expected a row for each below the header"),
    (H + "x,m,0,1\nx,d,0,1\ny,m,1,0", "row 4: model 'y': there is no row for context 'd'"),
    (
        H + "x,m,0,1\ny,m,1,0\n\nx,m,1,1",
        "row 5: model 'x', context 'm' is there for the second time: it is in row 2 already",
    ),
    (H + "x,,0,1", "row 2: model 'x': its context: its name is empty"),
    (H + "x", "row 2: model 'x': its context: its name is empty"),
    (H + ",m,0,1", "row 2: model 1: its name is empty"),
    (
        H + "x,m,0,1\nx,d,0,7",
        "row 3: model 'x', context 'd', arm 'b': mean 7 is outside the range [0, 1]",
    ),
    (H + "y,d,0,1\nx,d,0,1\ny,m,nan,1\nx,m,0,1", "row 4: model 'y', context 'm', arm 'a': nan"),
    (H + "x,m", "row 2: model 'x', context 'm': no value for arm 'a'"),
    (H + "x,m,0", "row 2: model 'x', context 'm': no value for arm 'b'"),
    (H + "x,m,0,1,1", "row 2: model 'x', context 'm': 3 values for 2 arms"),
    (H + "x,m,0,b", "row 2: model 'x', context 'm', arm 'b': expected a number, not the text"),
    ("model,context,a,a\nx,m,0,1", "row 1: duplicate arm name 'a'"),
]


@pytest.mark.parametrize(("content", "message"), REFUSALS)
def test_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_problem(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert message in refusal(capsys, "analyze", str(path))


def test_what_csv_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"CSV has no room for shares.*use \.toml"):
        save_problem(shop(shares=[0.6, 0.4]), tmp_path / "p.csv")
    with pytest.raises(InputError, match=r"a first arm called 'context'.*use \.toml"):
        save_problem(Problem.bernoulli([[0.5, 0.6]], arms=["context", "b"]), tmp_path / "p.csv")
    with pytest.raises(InputError, match=r"CSV holds Bernoulli means only"):
        save_problem(shop(prior={"loyal": 3}), tmp_path / "p.csv")
    with pytest.raises(InputError, match=r"CSV holds Bernoulli means only"):
        save_problem(Problem.bernoulli([[0.5, 0.6]], value=[9, 12]), tmp_path / "p.csv")
    assert list(tmp_path.iterdir()) == []
