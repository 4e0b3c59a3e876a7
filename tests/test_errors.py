"""Errors by kind, place and reason, and the words that messages share."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fpbandits
from fpbandits.errors import (
    ConflictError,
    Error,
    InputError,
    LostWorkersError,
    Place,
    RefusedError,
    StorageError,
    TooLargeError,
    UnavailableError,
    UnknownError,
    counted,
    listed,
    nearest,
    quote,
    said,
    unknown,
)

KINDS = [
    Error,
    InputError,
    UnknownError,
    ConflictError,
    RefusedError,
    TooLargeError,
    StorageError,
    LostWorkersError,
    UnavailableError,
]


def test_kinds_and_how_they_are_related() -> None:
    for kind in KINDS:
        assert issubclass(kind, Error)
        assert getattr(fpbandits, kind.__name__) is kind
    for kind in KINDS[1:6]:
        assert issubclass(kind, InputError)
        assert issubclass(kind, ValueError)
    for kind in KINDS[6:]:
        assert not issubclass(kind, InputError)
        assert not issubclass(kind, ValueError)
    for kind in KINDS[2:]:
        assert [other for other in KINDS[2:] if issubclass(kind, other)] == [kind]


@pytest.mark.parametrize("kind", KINDS)
def test_names_in_front_change_neither_kind_nor_reason(kind: type[Error]) -> None:
    error = kind("it is wrong", place=(("row", 7),), about=("range",))
    placed = error.at("mine.toml").at("study.toml", ("problem", 2))
    assert type(placed) is kind
    assert placed.reason == error.reason == "it is wrong"
    assert placed.place == ("study.toml", ("problem", 2), "mine.toml", ("row", 7), "range")
    assert str(placed) == "study.toml: problem 2: mine.toml: row 7: it is wrong"
    assert (str(error), error.place) == ("row 7: it is wrong", (("row", 7), "range"))
    assert placed.path == [
        "study.toml", "problem", "2", "mine.toml", "row", "7", "range",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ((), ""),
        (("policy",), "policy: "),
        ((("model", "loyal"), ("arm", "12 EUR")), "model 'loyal', arm '12 EUR': "),
        (
            ("a.csv", ("row", 3), ("model", "x"), ("context", "m"), ("arm", "y")),
            "a.csv: row 3: model 'x', context 'm', arm 'y': ",
        ),
        ((("model", 3),), "model 3: "),
        ((("prior", "loyal"),), "prior of 'loyal': "),
        ((("shares", "mobile"),), "share of 'mobile': "),
        ((("value", "a\nb"),), r"value of 'a\nb': "),
        (("the log", ("index", 1200)), "the log: row 1,200, counted from 0: "),
        ((("decision", "3@u"),), "decision '3@u': "),
    ],
)
def test_the_sentence_is_the_place_and_the_reason(place: Place, words: str) -> None:
    assert str(InputError("it is wrong", place=place)) == f"{words}it is wrong"
    assert str(InputError("it is wrong", about=place)) == "it is wrong"


def test_the_first_names_may_be_put_otherwise() -> None:
    error = InputError("it is wrong", place=(("index", 3), ("arm", "a")), about=("reward",))
    moved = error.at("log.csv", ("row", 9), dropping=1)
    assert moved.place == ("log.csv", ("row", 9), ("arm", "a"), "reward")
    assert str(moved) == "log.csv: row 9: arm 'a': it is wrong"
    lone = InputError("it is wrong", about=("reward",))
    assert lone.at("log.csv", dropping=1).place == ("log.csv", "reward"), "it is not what it names"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_the_same_after_a_journey(kind: type[Error]) -> None:
    error = kind("it is wrong", place=("mine.toml", ("row", 7)), about=("range",))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.reason, again.place) == (kind, error.reason, error.place)
    assert str(again) == str(error)


def test_a_path_for_json_holds_no_name_in_full_that_is_endless() -> None:
    assert len(UnknownError("?", about=(("model", "x" * 10**6),)).path[1]) == 1000


def test_what_is_unknown_is_the_place() -> None:
    assert unknown("arm", "z", "ab").at("prior").place == ("prior", ("arm", "z"))


def test_what_others_say_is_short_and_on_one_line() -> None:
    assert said(OSError("no space\n  left")) == "no space left"
    assert said(OSError("x" * 300)) == "x" * 200
    assert said(OSError("x" * 300), 10) == "x" * 10
    assert said(KeyError()) == "KeyError"
    assert said(KeyError(), otherwise="gone") == "gone"


def test_the_nearest_name_is_suggested_else_some_are_listed() -> None:
    known = ["bernoulli", "beta", "discrete"]
    near, far = unknown("family", "bernouli", known), unknown("family", "zzz", iter(known))
    assert type(near) is type(far) is UnknownError
    all_of_them = "nown are 'bernoulli', 'beta', 'discrete'"
    assert str(near) == f"unknown family 'bernouli': did you mean 'bernoulli'? K{all_of_them}"
    assert str(far) == f"unknown family 'zzz': k{all_of_them}"
    assert str(unknown("x", "a\n" * 500, [])).count("\n") == 0


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("truths", ["problems", "runs", "truth"], ["truth"]),
        ("truths", ["problems", "runs", "seeds"], []),
        ("tru", ["runs", "truth"], ["truth"]),
        ("fpucb", ["ucb1", "fp-ucb", "kl-ucb"], ["fp-ucb"]),
        ("FP_UCB", ["ucb1", "kl-ucb", "fp-ucb"], ["fp-ucb"]),
        ("ucb", ["imed", "fp-ucb", "ucb1"], ["ucb1", "fp-ucb"]),
        ("permutations", ["paper:two", "paper:permutations"], ["paper:permutations"]),
        ("horizon", ["horizons", "seeds"], ["horizons"]),
        ("teta1", ["theta2", "theta1"], ["theta1"]),
        ("zzz", ["theta2", "theta1"], []),
        ("", ["theta2", "-"], []),
    ],
)
def test_suggestions_make_sense(name: str, known: list[str], meant: list[str]) -> None:
    for order in (known, known[::-1]):
        assert nearest(name, order)[: max(len(meant), 1)] == meant


def test_of_very_many_names_the_nearest_are_named_and_all_are_counted() -> None:
    known = [f"user {number}" for number in range(50_000)]
    near, far = unknown("model", "usr 1", known), unknown("model", "?", known)
    assert str(near).startswith("unknown model 'usr 1': did you mean 'user 1' or '")
    assert str(near).endswith("? There are 50,000")
    assert str(far).endswith("'user 6', 'user 7', … (50,000 in all)")
    assert max(len(str(near)), len(str(far))) < 200
    assert str(unknown("model", "?", known[:20])).endswith("'user 18', 'user 19'")
    assert str(unknown("model", "?", known[:21])).endswith("'user 7', … (21 in all)")


def test_names_that_do_not_fit_are_left_out() -> None:
    assert listed([]) == ""
    assert listed("ab", most=2) == "'a', 'b'"
    assert listed("abc", most=2) == "'a', 'b', …"
    assert listed(map(str, range(10**9))).endswith("'7', …"), "no more are looked at than shown"


def test_what_is_quoted_is_short_and_on_one_line() -> None:
    for value in ("x" * 10**4, ["y"] * 1000, "a\nb", 10**5000, 1.5, None):
        text = quote(value)
        assert len(text) <= 60
        assert "\n" not in text


def test_what_is_quoted_is_whole_if_it_fits() -> None:
    assert quote("z" * 58) == f"'{'z' * 58}'"
    assert quote("begin" + "z" * 80 + "end").startswith("'begin")
    assert quote("begin" + "z" * 80 + "end").endswith("end'")
    assert quote(np.float64(-1)) == "-1.0"
    assert quote(10**5000) == "a number of thousands of digits"


def test_nouns_agree_with_their_numbers() -> None:
    assert [counted(n, "arm") for n in (0, 1, 2, 12345)] == [
        "0 arms",
        "1 arm",
        "2 arms",
        "12,345 arms",
    ]


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError


def test_quotes_are_one_line_whatever_is_quoted() -> None:
    class Rude:
        def __repr__(self) -> str:
            return "a\n\x1b[31mb"

    assert quote(Rude()) == "a [31mb"
    assert "\n" not in quote(np.zeros((3, 3)))
    assert quote(Unshowable()) == "a Unshowable"
    assert quote(np.float64(-1)) == "-1.0"
    assert quote(10**5000) == "a number of thousands of digits"
