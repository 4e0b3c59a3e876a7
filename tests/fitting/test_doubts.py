"""What is said where a log cannot tell, and what is not said where it can."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from fpbandits.core.arrays import Floats
from fpbandits.fitting import doubts as module
from fpbandits.fitting.doubts import Seen, doubts, tell_apart

MEANS = np.array([[0.9, 0.1], [0.4, 0.5], [0.1, 0.8]])
SEEN = Seen(
    types=("type1", "type2"),
    arms=("a", "b", "c"),
    pairs=("a", "b", "c"),
    units=1000,
    events=5000,
    shown=np.array([1.0, 0.9, 0.7]),
    plays=np.full((3, 2), 800.0),
    shares=np.array([0.6, 0.4]),
    means=MEANS,
    errors=np.full((3, 2), 0.02),
    sureness=0.9,
    chosen=2,
    by_bic=2,
    perhaps=2,
    rivals=[],
)


def test_nothing_is_said_where_all_is_well() -> None:
    assert doubts(SEEN) == []


def test_units_that_saw_one_arm_each_do_not_link_arms() -> None:
    """As in an A/B test; it is said first."""
    said = doubts(replace(SEEN, shown=np.array([0.3, 0.4, 0.3])))
    assert said[0].startswith("units saw 1 of 3 arms on average: how one unit pays on several")
    assert "units saw" not in "".join(doubts(replace(SEEN, shown=np.array([0.9, 0.2, 0.2]))))


def test_as_many_types_as_were_tried_may_be_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TYPES", 2)
    assert doubts(SEEN) == ["2 types is the most that was tried: there may be more"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"events": 1300}, "units have 1.3 rewards on average"),
        ({"sureness": 0.55}, "likeliest type has probability 55% on average"),
        ({"shown": np.array([1.0, 0.5, 0.7])}, "arm 'b' was never shown to 50% of units"),
        ({"shown": np.array([0.2, 0.5, 0.7])}, "2 of 3 arms were never shown to 40% of units"),
        ({"plays": np.array([[9.0, 50], [50, 50], [50, 50]])}, "'type1 on a'"),
        ({"plays": np.array([[0.0, 0], [50, 50], [50, 50]])}, "'a' was never played"),
        (
            {"plays": np.array([[0.0, 0], [50, 50], [50, 50]]), "shown": np.array([0, 1.0, 1.0])},
            "'a' was never played: its means are a guess",
        ),
        ({"errors": np.full((3, 2), 0.5)}, "type1 and type2 differ by less than their errors"),
        ({"shares": np.array([0.99, 0.01])}, "'type2' stands for fewer than 20 units"),
        ({"chosen": 3, "by_bic": 3}, "3 types came out as 2: types that are the same are one"),
        ({"dropped": 7}, "7 rows left out: something is missing"),
        ({"perhaps": 3}, "there may be 3 types: they predict better, if not clearly"),
        ({"by_bic": 3}, "BIC would take 3 types"),
    ],
)
def test_each_doubt_has_its_words(change: dict[str, object], words: str) -> None:
    said = doubts(replace(SEEN, **change))  # type: ignore[arg-type]  # fields of many types
    assert len(said) == 1
    assert words in said[0]


def moved(by: float) -> tuple[Floats, float]:
    """Another set of types, the other way round: type2 pays more of c, by so many errors."""
    means = MEANS + np.array([[0, 0], [0.01, 0], [0, 0.02 * by]])
    return means[:, ::-1], 0.4


def test_another_set_of_types_that_fits_as_well() -> None:
    # On a parabola, types that are 2 nats less likely are off by 2 errors at most.
    for by in (0.0, 0.9, 2.0, -2.9):
        assert doubts(replace(SEEN, rivals=[moved(by)])) == []
    (said,) = doubts(replace(SEEN, rivals=[moved(0.5), moved(-6.0), moved(4.0)]))
    assert said == (
        "another set of 2 types fits as well, to within 0.4 nats: there type2 pays 0.12 less on "
        "'c', 6.0 times the error given; more units or more rewards per unit would settle it, "
        "fewer types perhaps"
    )
    assert "type2 pays 0.08 more on 'c'" in doubts(replace(SEEN, rivals=[moved(4.0)]))[0]


def test_types_of_another_set_are_matched_as_well_as_can_be() -> None:
    # Five types in any order, against all orders tried one by one.
    random = np.random.default_rng(3)
    types = tuple(f"type{place + 1}" for place in range(5))
    named = replace(SEEN, types=types, plays=np.full((3, 5), 800.0), shares=np.full(5, 0.2))
    for _ in range(20):
        means, other = random.random((2, 3, 5))
        errors = random.uniform(0.01, 0.05, (3, 5))
        seen = replace(named, means=means, errors=errors, rivals=[(other, 1.0)])
        order = min(
            permutations(range(5)), key=lambda order: ((other[:, order] - means) ** 2).sum()
        )
        away, kind, pair = max(
            (abs(other[pair, order[kind]] - means[pair, kind]) / errors[pair, kind], kind, pair)
            for kind in range(5)
            for pair in range(3)
        )
        more = other[pair, order[kind]] - means[pair, kind]
        (said,) = [each for each in doubts(seen) if each.startswith("another set")]
        words = f"type{kind + 1} pays {abs(more):.2g} {'more' if more > 0 else 'less'} on "
        assert f"{words}'{'abc'[pair]}', {away:.1f} times the error given" in said


def test_who_is_told_apart_for_free() -> None:
    types, arms = ("x", "y", "z", "w"), ("a", "b")
    #  x: a is best. y promises the same of a, and b is better. z: b. w: a, as good as under x.
    means = np.array([[0.9, 0.91, 0.1, 0.9], [0.5, 0.99, 0.7, 0.2]])
    errors = np.full((2, 4), 0.01)
    x, y, z, w = tell_apart(types, arms, means, errors)
    assert (x.best, x.free, x.costly, x.alike) == (("a",), ("z",), ("y",), ("w",))
    assert str(x) == (
        "x: playing 'a' tells 'z' apart for free, and looks the same under 'y', which costs to "
        "find out"
    )
    assert (y.best, y.free, y.costly) == (("b",), ("x", "w"), ())
    assert (z.free, z.alike) == (("x", "w"), ("y",))
    assert w.costly == ("y",)
    exact = tell_apart(types, arms, means, errors / 100)
    assert exact[0].costly == (), "with smaller errors they differ"


def test_in_contexts_one_difference_is_enough() -> None:
    types, arms = ("x", "y"), ("a", "b")
    # The same in the first context where a is best; in the second a differs.
    means = np.array([[0.9, 0.9], [0.1, 0.1], [0.8, 0.3], [0.2, 0.6]])
    x, y = tell_apart(types, arms, means, np.full((4, 2), 0.01))
    assert (x.best, x.free) == (("a",), ("y",))
    assert (y.best, y.free) == (("a", "b"), ("x",))
    same = tell_apart(types, arms, means[:, [0, 0]], np.full((4, 2), 0.01))
    assert str(same[0]) == "x: 'a' is best for every other type as well"
