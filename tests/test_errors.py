"""Errors by kind, place and reason, and the words that messages share."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

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
        ("two", ["paper:grid", "paper:two"], ["paper:two"]),
        ("gr", ["paper:grid"], []),
        # Half of the letters are alike: 0.5, and 0.05 more for each of the first four.
        ("abcdwxyz", ["abcd1234"], ["abcd1234"]),
        ("abcwxyzv", ["abc12345"], []),
        # 6 of 13 letters are alike, 0.46: with 0.05 more for a fifth letter they would do.
        ("abcdefuvwxyz0", ["abcdef1234567"], []),
    ],
)
def test_suggestions_make_sense(name: str, known: list[str], meant: list[str]) -> None:
    for order in (known, known[::-1]):
        assert nearest(name, order)[: max(len(meant), 1)] == meant


def test_no_more_than_three_names_are_suggested() -> None:
    known = ["theta1", "theta2", "theta3", "theta4", "beta"]
    assert nearest("theta", known) == known[:3]
    assert nearest("theta", known, 1) == known[:1]


def test_long_names_and_late_ones_are_not_compared() -> None:
    """Comparing takes as long as the lengths of two names multiplied, for each known name."""
    assert "did you mean" in str(unknown("model", "x" * 99, ["x" * 100]))
    assert "did you mean" not in str(unknown("model", "x" * 99, ["x" * 101]))
    # Of 200 letters the first hundred are compared: 100 of 201 in both are alike, but for the cut.
    assert "did you mean" in str(unknown("model", "x" * 100 + "y" * 400, ["x" * 100]))
    names = ["?"] * 10_000
    assert "did you mean 'theta1'" in str(unknown("model", "theta", [*names[1:], "theta1"]))
    assert "did you mean" not in str(unknown("model", "theta", [*names, "theta1"]))


def test_of_very_many_names_the_nearest_are_named_and_all_are_counted() -> None:
    known = [f"user {number}" for number in range(50_000)]
    near, far = unknown("model", "usr 1", known), unknown("model", "?", known)
    assert str(near).startswith("unknown model 'usr 1': did you mean 'user 1' or '")
    assert str(near).endswith("? There are 50,000")
    assert str(far).endswith("'user 6', 'user 7', … (50,000 in all)")
    assert max(len(str(near)), len(str(far))) < 200
    assert str(unknown("model", "?", known[:24])).endswith("'user 22', 'user 23'")
    assert str(unknown("model", "?", known[:25])).endswith("'user 7', … (25 in all)")


def test_names_that_do_not_fit_are_left_out() -> None:
    assert listed([]) == ""
    assert listed("ab", most=2) == "'a', 'b'"
    assert listed("abc", most=2) == "'a', 'b', …"
    names = iter("abcdefghijkl")
    assert listed(names).endswith("'h', …")
    assert next(names) == "j", "one more is looked at than shown"


def test_what_is_quoted_is_short_and_on_one_line() -> None:
    for value in ("x" * 10**4, ["y"] * 1000, "a\nb", 10**5000, 1.5, None):
        text = quote(value)
        assert len(text) <= 60
        assert "\n" not in text


def test_what_is_quoted_is_whole_if_it_fits() -> None:
    assert quote("z" * 58) == f"'{'z' * 58}'"
    assert quote("z" * 59) == f"'{'z' * 39} … {'z' * 11}'"
    assert quote("begin" + "z" * 80 + "end") == f"'begin{'z' * 34} … {'z' * 8}end'"
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
    assert quote([1.5]) == "[1.5]"
    assert "\n" not in quote(np.zeros((3, 3)))
    assert quote(Unshowable()) == "a Unshowable"
    assert quote(np.float64(-1)) == "-1.0"
    assert quote(10**5000) == "a number of thousands of digits"


FOREIGN = {
    "errors.py: said": "what others say is put on one line",
    "problem/files.py: parse_toml": "tomllib tells a name that is given twice by its words alone",
    "engine/compiling.py: uncompilable": "Numba has a reason among pages of text",
}
"""Where a text is read: of errors that are not ours, since they are nothing but text."""


def kinds_of(trees: Iterable[ast.Module]) -> set[str]:
    """The names of all classes that are an `Error`."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    kinds = {"Error"}
    while more := {
        each.name
        for each in classes
        if each.name not in kinds
        and any(isinstance(base, ast.Name) and base.id in kinds for base in each.bases)
    }:
        kinds |= more
    return kinds


def names_in(node: ast.AST | None) -> set[str]:
    return {each.id for each in ast.walk(node or ast.Pass()) if isinstance(each, ast.Name)}


def texts_of_errors(function: ast.AST) -> Callable[[ast.AST], bool]:
    """Return what tells whether an expression is an error's text, within a function."""
    errors = {each.name for each in ast.walk(function) if isinstance(each, ast.ExceptHandler)} | {
        each.arg
        for each in ast.walk(function)
        if isinstance(each, ast.arg)
        and any(name.endswith(("Error", "Exception")) for name in names_in(each.annotation))
    }
    texts: set[str] = set()

    def is_text(node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name):
                return name in texts
            case ast.Attribute(value=ast.Name(id=name), attr="reason" | "args"):
                return name in errors
            case ast.Attribute(attr="message"):
                return True
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=name)]):
                return name in errors
            case ast.FormattedValue(value=ast.Name(id=name)):
                return name in errors
            case ast.JoinedStr(values=values):
                return any(map(is_text, values))
        return False

    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and is_text(node.value):
            texts |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign) and node.value is not None and is_text(node.value):
            texts |= names_in(node.target)
    return is_text


def readers(function: ast.AST, kinds: set[str]) -> Iterator[ast.AST]:
    """Yield where a function looks into an error's text, or makes another error of it."""
    is_text = texts_of_errors(function)
    patterns = {"search", "match", "fullmatch", "findall", "finditer", "split", "sub"}
    for node in ast.walk(function):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(is_text, [left, *others])):
                yield node
            case ast.Attribute(value=value) | ast.Subscript(value=value) if is_text(value):
                yield node
            case ast.Call(func=ast.Attribute(attr=name), args=given) if name in patterns:
                if any(map(is_text, given)):
                    yield node
            case ast.Call(func=ast.Call(func=ast.Name(id="type")), args=[ast.Call() as first, *_]):
                if is_text(first):
                    yield node
            case ast.Call(func=ast.Name(id=kind), args=[first, *_]) if kind in kinds:
                if isinstance(first, ast.Call) and names_in(first.func) == {"str"}:
                    yield node
            case ast.ExceptHandler(type=caught, name=str(name)) if names_in(caught) & kinds:
                for each in ast.walk(node):
                    if isinstance(each, ast.Call) and names_in(each.func) & kinds:
                        whole = (part for given in each.args for part in ast.walk(given))
                        if any(
                            isinstance(part, ast.FormattedValue)
                            and names_in(part.value) == {name}
                            and isinstance(part.value, ast.Name)
                            for part in whole
                        ):
                            yield each


def where_texts_are_read(sources: Mapping[str, str]) -> set[str]:
    """Return the functions of files that read errors' texts."""
    trees = {file: ast.parse(text) for file, text in sources.items()}
    kinds = kinds_of(trees.values())
    return {
        f"{file}: {function.name}"
        for file, tree in trees.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        if any(readers(function, kinds))
    }


def test_nothing_looks_into_an_errors_text() -> None:
    folder = Path(fpbandits.__file__).parent
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    found = where_texts_are_read({name: path.read_text() for name, path in files.items()})
    assert found == FOREIGN.keys()


@pytest.mark.parametrize(
    "body",
    [
        "if 'range' in str(error): pass",
        "if str(error) == 'it is wrong': pass",
        "if str(error).startswith('model '): pass",
        "words = str(error).removeprefix('decision 3: ')",
        "words = str(error)\n        row = words.split(' ')[1]",
        "re.search('row', f'{error}')",
        "pattern.match(str(error))",
        "str(error)[:20]",
        "if error.reason == 'it is wrong': pass",
        "error.args[0]",
        "raise InputError(str(error)) from None",
        "raise InputError(f'problem: {error}') from None",
        "raise type(error)(str(error)) from None",
        "raise InputError(str(unknown('field', 'x', [])))",
    ],
)
def test_reading_of_texts_is_found(body: str) -> None:
    source = f"def do():\n    try:\n        it()\n    except InputError as error:\n        {body}\n"
    kind = "class InputError(Error): pass\n"
    assert where_texts_are_read({"a.py": kind + source}) == {"a.py: do"}
    fine = "raise error.at('a.toml')", "show(str(error))", "if error.place: pass"
    for body in fine:
        source = f"def do():\n    try: it()\n    except InputError as error:\n        {body}\n"
        assert not where_texts_are_read({"a.py": kind + source})
