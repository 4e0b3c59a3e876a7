"""What is said where a log cannot tell, and what is not said where it can."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from fpbandits.core.arrays import Floats
from fpbandits.fitting import doubts as module
from fpbandits.fitting.doubts import Apart, Seen, doubts, tell_apart

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
        ({"shown": np.array([0.2, 0.5, 0.7])}, "40% of units or more ('a' to 80%): what"),
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


def test_nothing_is_said_on_the_brink() -> None:
    thin, few = np.full((3, 2), 10.0), np.array([0.98, 0.02])
    brink: dict[str, Any] = {"events": 2000, "sureness": 0.6, "plays": thin, "shares": few}
    assert doubts(replace(SEEN, shown=np.array([0.6, 0.6, 0.6]), **brink)) == []
    said = doubts(replace(SEEN, shown=np.array([0.6, 0.6, 0.0])))
    assert said == [], "what nobody saw is told by its means"


def test_what_is_said_of_one_arm_and_of_one_type() -> None:
    """Of one arm not that units saw one; of one type not that units cannot be assigned to it."""
    alone = replace(SEEN, arms=("a",), pairs=("a",), shown=np.array([1.0]))
    alone = replace(alone, plays=np.full((1, 2), 800.0), means=MEANS[:1], errors=SEEN.errors[:1])
    assert doubts(alone) == []
    two = replace(SEEN, arms=("a", "b"), shown=np.array([0.6, 0.59]))
    assert doubts(two) == [
        "units saw 1.2 of 2 arms on average: how one unit pays on several arms can only be learned "
        "from units that saw several",
        "arm 'b' was never shown to 41% of units: what they would have paid is taken from others "
        "of their type",
    ]
    one: dict[str, Any] = {"types": ("type1",), "chosen": 1, "by_bic": 1, "perhaps": 1}
    one |= {"means": MEANS[:, :1], "errors": SEEN.errors[:, :1], "plays": SEEN.plays[:, :1]}
    assert doubts(replace(SEEN, shares=np.ones(1), sureness=0.1, **one)) == []


def test_arms_that_are_more_than_units() -> None:
    (said, *_) = doubts(replace(SEEN, units=2))
    assert said == "there are 3 arms for 2 units: are the columns of units and arms swapped?"
    assert "columns" not in " ".join(doubts(replace(SEEN, units=3)))


def test_means_that_rest_on_next_to_nothing() -> None:
    """Plays are weighted by posteriors: less than half a reward in all is none."""
    plays = np.array([[0.3, 0.1], [0.3, 0.3], [50, 9.9]])
    assert doubts(replace(SEEN, plays=plays)) == [
        "'a' was never played: its means are a guess from all arms",
        "3 means of 6 rest on fewer than 10 rewards and lean on the arm's own: 'type1 on b', "
        "'type2 on b', 'type2 on c'",
    ]
    assert doubts(replace(SEEN, plays=np.zeros((3, 2)))) == [
        "'a', 'b', 'c' was never played: its means are a guess from all arms"
    ]


def test_types_are_one_if_no_mean_tells_them_apart() -> None:
    """By two standard errors of the difference, each of 0.02: 0.0566."""
    for gap, words in (
        (0.056, ["type1 and type2 differ by less than their errors: they may be one"]),
        (0.057, []),
    ):
        means = np.array([[0.5, 0.5], [0.4, 0.4 + gap], [0.3, 0.3]])
        assert doubts(replace(SEEN, means=means)) == words


def test_all_that_may_be_said_of_the_number_of_types() -> None:
    assert doubts(replace(SEEN, chosen=4, by_bic=3, perhaps=5)) == [
        "4 types came out as 2: types that are the same are one type",
        "there may be 5 types: they predict better, if not clearly; rare types, and types much "
        "like others, take more units to be found",
        "BIC would take 3 types: the number of types is not certain",
    ]
    assert doubts(replace(SEEN, perhaps=1)) == []


def test_apart_in_words() -> None:
    others = tuple(f"t{number}" for number in range(2, 10))

    def words(free: int = 0, costly: int = 0, alike: int = 0, arms: str = "a") -> str:
        each = others[:free], others[:costly], others[:alike]
        return str(Apart("t1", tuple(arms), *each))

    assert words(free=2) == "t1: playing 'a' tells all others apart for free"
    assert words(free=1) == "t1: playing 'a' tells 't2' apart for free"
    assert words(free=2, alike=1) == "t1: playing 'a' tells 't2', 't3' apart for free"
    assert words(free=2, costly=1) == (
        "t1: playing 'a' tells 't2', 't3' apart for free, and looks the same under 't2', which "
        "costs to find out"
    )
    assert words(costly=1) == ("t1: playing 'a' looks the same under 't2', which costs to find out")
    assert words(alike=2) == words() == "t1: 'a' is best for every other type as well"
    six, seven = "'t2', 't3', 't4', 't5', 't6', 't7'", "'t2', 't3', 't4', 't5', 't6', 't7', …"
    for count, listed in ((6, six), (7, seven)):
        assert words(free=count, alike=1) == f"t1: playing 'a' tells {listed} apart for free"
        assert words(costly=count) == (
            f"t1: playing 'a' looks the same under {listed}, which costs to find out"
        )
    assert words(free=1, arms="abc").startswith("t1: playing 'a', 'b', 'c' tells")
    assert words(free=1, arms="abcd").startswith("t1: playing 'a', 'b', 'c', … tells")


def test_types_told_apart_in_contexts_by_brute_force() -> None:
    """Which are told apart, which have another best arm, and of which of both neither holds."""
    random = np.random.default_rng(2)
    types, arms = ("w", "x", "y", "z"), ("a", "b", "c")
    for _ in range(50):
        means = random.integers(1, 5, (6, 4)) / 5 + random.normal(scale=1e-3, size=(6, 4))
        errors = random.uniform(0.01, 0.08, (6, 4))
        for truth, found in enumerate(tell_apart(types, arms, means, errors)):
            best = {
                kind: [int(means[s : s + 3, kind].argmax()) for s in (0, 3)] for kind in range(4)
            }
            played = [best[truth][0], 3 + best[truth][1]]
            kinds: dict[str, list[str]] = {"free": [], "costly": [], "alike": []}
            for kind in range(4):
                clear = any(
                    abs(means[p, kind] - means[p, truth])
                    > 2 * (errors[p, kind] ** 2 + errors[p, truth] ** 2) ** 0.5
                    for p in played
                )
                if best[kind] != best[truth]:
                    kinds["free" if clear else "costly"].append(types[kind])
                elif kind != truth:
                    kinds["alike"].append(types[kind])
            assert (found.truth, found.free) == (types[truth], tuple(kinds["free"]))
            assert (found.costly, found.alike) == (tuple(kinds["costly"]), tuple(kinds["alike"]))
            assert found.best == tuple(dict.fromkeys(arms[arm] for arm in best[truth]))


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
