"""Which rows are usable, and what logs cannot answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fpbandits.errors import InputError
from fpbandits.evaluation.thinning import (
    check_balance,
    check_propensities,
    eligible,
    least_propensity,
    uniform_propensities,
    usable_rows,
)
from fpbandits.logs.log import Log, read_log


def log_of(arms: Any, contexts: Any = None, names: Any = ("a", "b", "c")) -> Log:
    columns = {
        "unit": np.arange(len(arms)) % 50,
        "arm": np.array(names)[arms],
        "paid": 1.0 + 0 * arms,
    }
    how: Any = {}
    if contexts is not None:
        columns["on"] = np.array(["x", "y"])[contexts]
        how["context"] = "on"
    return read_log(columns, unit="unit", arm="arm", reward="paid", arms=list(names), **how)


def test_any_arm_is_accepted_with_the_same_probability() -> None:
    random = np.random.default_rng(0)
    rows = 200_000
    chances = np.array([0.1, 0.3, 0.6])
    arms = random.choice(3, rows, p=chances)
    propensity = chances[arms]
    least = least_propensity(log_of(arms), propensity)
    assert least == pytest.approx(0.1)
    usable = usable_rows(propensity, least, random)
    for arm in range(3):
        # Of a binomial number, five deviations: a false alarm once in 10^6.
        count = int(((arms == arm) & usable).sum())
        assert abs(count - 0.1 * rows) < 5 * np.sqrt(rows * 0.1 * 0.9)


def test_all_rows_of_a_uniform_log_are_usable() -> None:
    log = log_of(np.array([0, 1, 2, 1]))
    propensity = uniform_propensities(log)
    least = least_propensity(log, propensity)
    assert least == pytest.approx(1 / 3)
    # Rounding must not cost a row.
    assert usable_rows(propensity, least, np.random.default_rng(1)).all()


def test_the_least_propensity_may_be_of_an_arm_that_was_not_played_then() -> None:
    # Epsilon-greedy: 0.9 for the leader, each arm in turn, and 0.05 for the others.
    assert least_propensity(log_of(np.arange(3)), np.full(3, 0.9)) == pytest.approx(0.05)
    assert least_propensity(log_of(np.zeros(3, int)), np.full(3, 0.9)) == pytest.approx(0.9)
    assert least_propensity(log_of(np.array([0, 2])), np.full(2, 0.9)) == pytest.approx(0.1)
    # In context x two arms were drawn and in y three: 0.3 is for one other arm, or for two.
    log = log_of(np.array([0, 1, 0, 1, 2]), np.array([0, 0, 1, 1, 1]))
    assert least_propensity(log, np.array([0.7, 0.7, 0.5, 0.5, 0.5])) == pytest.approx(0.25)
    assert least_propensity(log, np.array([0.7, 0.8, 0.5, 0.5, 0.5])) == pytest.approx(0.2)


def test_without_a_column_of_eligible_arms_all_are() -> None:
    log = log_of(np.array([0, 1]))
    assert eligible(log).tolist() == [[True] * 3]
    assert uniform_propensities(log).tolist() == [1 / 3] * 2


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.5])
def test_a_propensity_that_is_no_probability_is_named_by_its_row(wrong: float) -> None:
    with pytest.raises(InputError, match="is not a probability, above 0 and at most 1") as caught:
        check_propensities(log_of(np.array([0, 1])), np.array([0.5, wrong]))
    assert caught.value.place == (("index", 1),)


def test_decisions_that_were_not_random_are_refused() -> None:
    for names in ("ab", "abc"):
        log = log_of(np.array([0, 1]), names=tuple(names))
        with pytest.raises(InputError, match="every propensity is 1: the log always knew"):
            check_propensities(log, np.ones(2))
    alone = replace(log, sets=np.eye(3, dtype=bool), among=np.array([0, 1], np.int32))
    with pytest.raises(InputError, match="no row has more than one eligible arm"):
        check_propensities(alone, np.full(2, 0.5))
    with pytest.raises(InputError, match="this decision was not random") as caught:
        check_propensities(log, np.array([0.5, 1.0]))
    assert caught.value.place == (("index", 1),)


@pytest.mark.parametrize(("arms", "rounded"), [(6, 0.17), (7, 0.1429), (3, 0.33333334)])
def test_rounded_propensities_of_a_uniform_log_are_taken(arms: int, rounded: float) -> None:
    names = tuple("abcdefg"[:arms])
    log = log_of(np.random.default_rng(3).integers(arms, size=20_000), names=names)
    check_balance(log, np.full(20_000, rounded), False)


def test_a_log_that_is_not_uniform_is_refused() -> None:
    random = np.random.default_rng(2)
    log = log_of(random.choice(3, 3000, p=[0.6, 0.2, 0.2]))
    with pytest.raises(InputError, match="not chosen uniformly: 'a' was played in 1,775 of 3,000"):
        check_balance(log, uniform_propensities(log), True)
    never = log_of(random.choice(2, 500))
    with pytest.raises(InputError, match="'c' was played in 0 of 500 rows, where about 167 rows"):
        check_balance(never, uniform_propensities(never), True)


@pytest.mark.parametrize(("names", "most"), [("abc", 72), ("abcd", 108)])
def test_six_deviations_of_an_arm_that_was_never_played(names: str, most: int) -> None:
    """The sum of n rows has the variance n(K − 1): n is off by six deviations if n = 36(K − 1)."""
    played = len(names) - 1
    few, many = (log_of(np.arange(n) % played, names=tuple(names)) for n in (most, most + 1))
    check_balance(few, uniform_propensities(few), True)
    with pytest.raises(InputError, match=rf"'{names[-1]}' was played in 0 of {most + 1} rows"):
        check_balance(many, uniform_propensities(many), True)


def test_an_arm_that_was_never_played_is_as_likely_as_the_log_says() -> None:
    """With 12 arms in 3,000 rows 250 plays were due; a row with 100 arms changes nothing."""
    names = tuple(f"arm {number}" for number in range(100))
    log = log_of(np.append(np.arange(3000) % 11, 50), names=names)
    sets = np.array([np.arange(100) < 12, np.ones(100, bool)])
    log = replace(log, sets=sets, among=np.repeat([0, 1], [3000, 1]).astype(np.int32))
    with pytest.raises(
        InputError, match="'arm 11' was played in 0 of 3,001 rows, where about 250 rows"
    ):
        check_balance(log, uniform_propensities(log), True)


def test_six_deviations_of_an_arm_that_was_played_too_often() -> None:
    """150 plays of three arms add up to 450, with a variance of 150 · (9 − 3) = 30²."""
    few, many = (log_of(np.repeat([0, 1, 2], [150, 60, n])) for n in (60, 59))
    check_balance(few, uniform_propensities(few), True)
    words = "'a' was played in 150 of 269 rows, where about 90 rows would"
    with pytest.raises(InputError, match=words):
        check_balance(many, uniform_propensities(many), True)


def test_the_arm_that_is_off_by_the_largest_share_is_named() -> None:
    """In x a is 80 % off, by more rows; in y b is 100 % off."""
    arms = np.repeat([0, 1, 2, 0, 1, 2], [600, 200, 200, 50, 200, 50])
    log = log_of(arms, np.array([0] * 1000 + [1] * 300))
    with pytest.raises(InputError, match="'y: b' was played in 200 of 300 rows, where about 100"):
        check_balance(log, uniform_propensities(log), True)


def test_an_arm_that_was_played_once_is_as_likely_as_it_was_then() -> None:
    """Of 100 rows with 0.5 for c one played it: 2 of 100 is 9.8 deviations of √100.

    Were c as unlikely as the least likely arm was in any row, 0.05, it would be 2.2 deviations.
    """
    log = log_of(np.array([0, 1] * 50 + [2]))
    propensity = np.array([0.5, 0.5] * 49 + [0.05, 0.5, 0.5])
    log = replace(log, sets=np.ones((1, 3), bool), among=np.zeros(101, np.int32))
    with pytest.raises(InputError, match="'c' was played in 1 of 101 rows, where about 50 rows"):
        check_balance(log, propensity, True)


def test_in_a_context_too() -> None:
    random = np.random.default_rng(3)
    contexts = random.integers(2, size=2000)
    arms = np.where(contexts == 1, random.choice(2, 2000), random.choice(3, 2000))
    log = log_of(arms, contexts)
    with pytest.raises(InputError, match="'y: c' was played in 0 of"):
        check_balance(log, uniform_propensities(log), True)


def test_propensities_that_do_not_fit_are_refused() -> None:
    random = np.random.default_rng(4)
    chances = np.array([0.1, 0.3, 0.6])
    arms = random.choice(3, 3000, p=chances)
    log = log_of(arms)
    check_balance(log, chances[arms], False)
    with pytest.raises(InputError, match="the propensities do not fit the log: "):
        check_balance(log, chances[::-1][arms], False)


def test_arms_that_were_not_possible_are_no_contradiction() -> None:
    """Rows draw from two of three arms, c never; or each row from two others."""
    random = np.random.default_rng(6)
    never = log_of(random.choice(2, 3000, p=[0.7, 0.3]))
    chances = np.array([0.7, 0.3])[never.pair]
    check_balance(never, chances, False)
    assert least_propensity(never, chances) == pytest.approx(0.3), "b and c do not share 0.3"
    turns = log_of((random.choice(2, 3000) + random.integers(3, size=3000)) % 3)
    check_balance(turns, np.full(3000, 0.5), False)


def test_propensities_above_what_was_possible_are_refused() -> None:
    """Each of three arms in a third of the rows, and always with 0.9: it would be 0.9 of rows."""
    log = log_of(np.random.default_rng(7).integers(3, size=3000))
    with pytest.raises(
        InputError,
        match=r"3,000 of 3,000 rows have a propensity of 0.9 or more, where at most 2,700",
    ):
        check_balance(log, np.full(3000, 0.9), False)
    few = log_of(np.array([0, 1, 2, 0, 1]))
    check_balance(few, np.full(5, 0.9), False)  # 0.9⁵ = 0.59


def test_at_most_two_propensities_of_a_row_are_above_a_third() -> None:
    """With 0.45 in each of n rows the sum is n/0.45, and may be 2n.

    That is n/4.5 more, and six deviations of √(n(1/0.45² − 1/0.45)) if n = 1980.
    """
    few, many = (log_of(np.arange(n) % 4, names=tuple("abcd")) for n in (1979, 1981))
    check_balance(few, np.full(1979, 0.45), False)
    words = (
        r"1,981 of 1,981 rows have a propensity of 0.45 or more, where at most 1,783 would be exp"
    )
    with pytest.raises(InputError, match=words):
        check_balance(many, np.full(1981, 0.45), False)
    # Rows with less are not among them: a third of all with 0.3 leaves room for the others.
    mixed = np.where(np.arange(1980) % 3 == 0, 0.3, 0.45)
    check_balance(log_of(np.arange(1980) % 4, names=tuple("abcd")), mixed, False)


def test_what_is_off_by_little_passes_however_sure_it_is() -> None:
    """Arm a was played 8 % more often than it should: 40 deviations, and worth no refusal."""
    counts = {0: 108_000, 1: 96_000, 2: 96_000}
    log = log_of(np.repeat([*counts], [*counts.values()]))
    check_balance(log, uniform_propensities(log), True)
    counts = {0: 112_000, 1: 94_000, 2: 94_000}
    log = log_of(np.repeat([*counts], [*counts.values()]))
    with pytest.raises(InputError, match="'a' was played in 112,000 of 300,000 rows"):
        check_balance(log, uniform_propensities(log), True)


def test_what_may_be_chance_passes_however_far_it_is_off() -> None:
    """12 rows of 45 where 15 are expected are 20 % off, and one deviation."""
    log = log_of(np.repeat([0, 1, 2], [12, 16, 17]))
    check_balance(log, uniform_propensities(log), True)


def test_uniform_logs_pass() -> None:
    """Of 400 logs none is refused: six deviations are passed once in 10^9 logs."""
    random = np.random.default_rng(5)
    for rows in (5, 50, 500, 5000):
        for _ in range(100):
            log = log_of(random.integers(3, size=rows), random.integers(2, size=rows))
            check_balance(log, uniform_propensities(log), True)


def test_how_often_an_arm_could_have_been_played() -> None:
    """By the propensities of its own rows; an arm that is drawn too seldom is no contradiction."""
    arms = np.array([0] * 380 + [1] * 20)
    log = log_of(arms, names=("a", "b"))
    with pytest.raises(InputError, match=r"'a' was played in 380 of 400 rows, .* at most 300 rows"):
        check_balance(log, np.where(arms == 0, 0.75, 0.25), False)


def test_where_only_some_arms_are_eligible() -> None:
    """Uniform over what is eligible: every eligible arm is accepted with the same probability."""
    random, rows = np.random.default_rng(1), 60_000
    sets = [("a", "b", "c"), ("a", "b"), ("c",)]
    chosen = random.integers(3, size=rows)
    columns: dict[str, Any] = {
        "unit": np.arange(rows) % 50,
        "arm": np.array([random.choice(sets[number]) for number in chosen]),
        "paid": np.ones(rows),
        "among": np.array(["", "b|a", "c"])[chosen],
    }
    how: Any = {"unit": "unit", "arm": "arm", "reward": "paid", "arms": ["a", "b", "c"]}
    log = read_log(columns, among="among", **how)
    propensity = uniform_propensities(log)
    assert np.array_equal(propensity, np.array([1 / 3, 1 / 2, 1])[chosen])
    check_propensities(log, propensity)
    check_balance(log, propensity, uniform=True)
    least = least_propensity(log, propensity)
    assert least == pytest.approx(1 / 3)
    usable = usable_rows(propensity, least, random)
    for number, names in enumerate(sets):
        here = chosen == number
        for name in names:
            taken = int((usable & here & (columns["arm"] == name)).sum())
            # Five deviations of a binomial number: a false alarm once in 10^6.
            assert abs(taken - here.sum() / 3) < 5 * np.sqrt(here.sum() * 2 / 9)
    without = read_log(columns, **how)
    with pytest.raises(InputError, match="arms were not chosen uniformly"):
        check_balance(without, uniform_propensities(without), uniform=True)
    for among, message in (
        (["a|z"], "among: unknown arm 'z'"),
        (["b|c"], "'a' was played, and eligible were 'b|c'"),
    ):
        one = {"unit": [1], "arm": ["a"], "paid": [1.0], "among": among}
        with pytest.raises(InputError) as caught:
            read_log(one, among="among", **how)
        assert message in str(caught.value)
        assert "row 0" in str(caught.value)


def test_a_row_without_a_choice_has_propensity_1() -> None:
    arms = np.arange(1_000) % 2
    sets = np.array([[True, True], [True, False], [False, True]])
    among = np.where(np.arange(1_000) < 20, 1 + arms, 0)
    log = replace(log_of(arms, names=("a", "b")), sets=sets, among=among.astype(np.int32))
    propensity = np.full(1_000, 0.5)
    propensity[:20] = 1
    check_propensities(log, propensity)
    assert least_propensity(log, propensity) == 0.5
    propensity[7] = 0.3
    with pytest.raises(InputError, match=r"the propensity is 0.3, but only one arm was eligible"):
        check_propensities(log, propensity)
