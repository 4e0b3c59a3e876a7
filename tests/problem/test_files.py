"""Problem files: there and back, every refusal, and any bytes at all."""

from __future__ import annotations

import os
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fpbandits import InputError, Problem, load_problem, save_problem
from fpbandits.errors import Error, Place
from fpbandits.families.beta import Beta
from fpbandits.families.discrete import Discrete
from fpbandits.problem import files

names = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cn")), min_size=1, max_size=8
).filter(lambda name: name == name.strip())
units = st.floats(0, 1, allow_subnormal=False)


@st.composite
def problems(draw: st.DrawFn, *, plain: bool = False) -> Problem:
    count, arms = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    titles: dict[str, Any] = {
        "arms": draw(st.lists(names, min_size=arms, max_size=arms, unique=True)),
        "models": draw(st.lists(names, min_size=count, max_size=count, unique=True)),
    }

    def rows(cell: st.SearchStrategy[Any]) -> list[list[Any]]:
        row = st.lists(cell, min_size=arms, max_size=arms)
        return draw(st.lists(row, min_size=count, max_size=count))

    if plain:
        return Problem.bernoulli(rows(units), **titles)
    low = draw(st.floats(-1e3, 1e3, allow_subnormal=False))
    high = low + draw(st.floats(1, 1e6))
    inside = st.floats(low, high, allow_subnormal=False)
    titles |= {
        "range": (low, high),
        "name": draw(names),
        "truth": draw(st.none() | st.sampled_from(titles["models"])),
    }
    match draw(st.sampled_from(["bernoulli", "beta", "discrete"])):
        case "bernoulli":
            return Problem.bernoulli(rows(inside), **titles)
        case "beta":
            open_interval = st.floats(low + 0.01 * (high - low), high - 0.01 * (high - low))
            return Problem.beta(rows(open_interval), draw(st.floats(0.01, 1e6)), **titles)
        case _:
            support = draw(st.lists(inside, min_size=1, max_size=4, unique=True))
            weights = st.lists(st.floats(0.01, 1), min_size=len(support), max_size=len(support))
            laws = [[(np.array(w) / sum(w)).tolist() for w in row] for row in rows(weights)]
            return Problem.discrete(laws, support, **titles)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(problem=problems())
def test_toml_gives_back_every_bit(
    tmp_path_factory: pytest.TempPathFactory, problem: Problem
) -> None:
    path = tmp_path_factory.mktemp("toml") / "problem.toml"
    save_problem(problem, path)
    again = load_problem(path)
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert (again.name, again.truth) == (problem.name, problem.truth)
    assert again.means.tobytes() == problem.means.tobytes()
    assert type(again.rewards) is type(problem.rewards)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(problem=problems(plain=True))
def test_csv_gives_back_every_bit(
    tmp_path_factory: pytest.TempPathFactory, problem: Problem
) -> None:
    path = tmp_path_factory.mktemp("csv") / "problem.csv"
    save_problem(problem, path)
    assert load_problem(path) == problem
    assert load_problem(path).name == "problem"


def test_the_three_families_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "pricing.toml"
    path.write_text(
        'name = "pricing"\nreward = "bernoulli"\narms = ["9 EUR", "12 EUR"]\ntruth = "loyal"\n'
        "[models]\nloyal = [0.9, 0.5]\nthrifty = [0.2, 0.5]\n"
    )
    problem = load_problem(str(path))
    assert problem.name == "pricing"
    assert problem.arms == ("9 EUR", "12 EUR")
    assert problem.models == ("loyal", "thrifty")
    assert problem.truth == "loyal"
    assert problem.means.tolist() == [[0.9, 0.5], [0.2, 0.5]]

    path.write_text('reward = "beta"\nconcentration = 10\n[models]\nx = [0.9, 0.5]\n')
    beta = load_problem(path)
    assert beta.name == "pricing"
    assert beta.arms == ("arm1", "arm2")
    assert isinstance(beta.rewards, Beta)
    assert beta.rewards.concentration == 10

    path.write_text(
        'reward = "discrete"\nsupport = [0, 5, 10]\nrange = [0, 10]\narms = ["a", "b"]\n'
        "[models]\nx = [[0.5, 0, 0.5], [0, 1, 0]]\n"
    )
    discrete = load_problem(path)
    assert isinstance(discrete.rewards, Discrete)
    assert discrete.means.tolist() == [[5, 5]]


def test_everything_in_one_file(tmp_path: Path) -> None:
    """As the module's docstring shows it, and as people read it."""
    text = """\
name = "Läden"
reward = "bernoulli"
arms = ["9 €", "12 €"]
range = [0.0, 10.0]
truth = "loyal"
contexts = ["mobile", "desktop"]
shares = [0.75, 0.25]

[models."loyal"]
"mobile" = [9.0, 5.0]
"desktop" = [8.0, 6.0]

[models."thrifty"]
"mobile" = [4.0, 1.0]
"desktop" = [3.0, 2.0]

[prior]
"loyal" = 0.75
"thrifty" = 0.25

[transitions]
"loyal" = { "loyal" = 0.5, "thrifty" = 0.5 }
"thrifty" = { "thrifty" = 1.0 }

[fitted]
units = ["0004ba9e2273", "0015956050d0"]
"""
    problem = Problem.bernoulli(
        [[[9, 5], [8, 6]], [[4, 1], [3, 2]]],
        name="Läden",
        arms=["9 €", "12 €"],
        models=["loyal", "thrifty"],
        contexts=["mobile", "desktop"],
        shares=[0.75, 0.25],
        range=(0, 10),
        truth="loyal",
        prior={"loyal": 3, "thrifty": 1},
        transitions=[[0.5, 0.5], [0, 1]],
        fitted_units=["0004ba9e2273", "0015956050d0"],
    )
    assert files.problem_to_toml(problem) == text
    again = files.problem_from_toml(text, "other")
    assert again == problem
    for field in ("name", "truth", "shares", "prior", "contexts", "transitions", "fitted_units"):
        assert getattr(again, field) == getattr(problem, field)
    plain = Problem.bernoulli([[0.5, 0.25]], value=[9, 12], name="p")
    assert files.problem_to_toml(plain) == (
        'name = "p"\nreward = "bernoulli"\narms = ["arm1", "arm2"]\nvalue = [9.0, 12.0]\n\n'
        '[models]\n"theta1" = [0.5, 0.25]\n'
    )
    for cost, profits in (("4", [5, 8]), ("[4, 5]", [5, 7])):
        text = f"value = [9, 12]\ncost = {cost}\n[models]\nx = [0.5, 0.25]\n"
        found = files.problem_from_toml(text, "p").rewards.content["value"]
        assert np.asarray(found).tolist() == profits


def test_csv_as_spreadsheets_write_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b'\xef\xbb\xbfmodel, a , "b, c"\r\n\r\nx, 0.9 ,.5\r\n"y ""z""",2e-1,0.5\r\n')
    problem = load_problem(path)
    assert problem.arms == ("a", "b, c")
    assert problem.models == ("x", 'y "z"')
    assert problem.means.tolist() == [[0.9, 0.5], [0.2, 0.5]]


TOML_REFUSALS = [
    ("", "the field 'models' is missing"),
    ("[models]\n", "there are no models"),
    ("models = 3", "models must be a table of name = [values], not 3"),
    ("[models]\nx = [0.9, 1.5]", "model 'x', arm 'arm2': mean 1.5 is outside the range"),
    ("[models]\nx = [0.9, nan]", "model 'x', arm 'arm2': nan is not a finite number"),
    ("[models]\nx = [0.9, true]", "arm 'arm2': expected a number, not the boolean True"),
    ('[models]\nx = [0.9, "b"]', "arm 'arm2': expected a number, not the text 'b'"),
    ("[models]\nx = [0.9, 1979-05-27]", "arm 'arm2': expected a number, not datetime.date"),
    ("[models]\nx = 0.5", "model 'x': expected a value for every arm, not 0.5"),
    ('[models]\nx = "ab"', "model 'x': expected a value for every arm, not 'ab'"),
    ("[models]\nx.y = [0.5]", "model 'x'"),
    ("arms = ['a', 'b']\n[models]\nx = [0.5]", "'x': it has 1 of 2 values: no value for arm 'b'"),
    ("arms = ['a']\n[models]\nx = [0.5, 1]", "'x': it has 2 values for 1 arm"),
    ("arms = ['a', 'a']\n[models]\nx = [0, 1]", "duplicate arm name 'a'"),
    ("arms = 'ab'\n[models]\nx = [0, 1]", "arms must be a list, not 'ab'"),
    ("arms = []\n[models]\nx = []", "there are no arms"),
    ("[models]\nx = [0.5]\nx = [0.6]", "row 3: a name is given for the second time"),
    ("armes = ['a']\n[models]\nx = [0.5]", "unknown field 'armes': did you mean 'arms'?"),
    ("reward = 'bernouilli'\n[models]\nx = [0.5]", "did you mean 'bernoulli'?"),
    ("reward = 3\n[models]\nx = [0.5]", "reward must be a family's name, not 3"),
    ("support = [0]\n[models]\nx = [0.5]", "'support' goes with reward = 'discrete' only"),
    ("reward = 'beta'\n[models]\nx = [0.5]", "the field 'concentration' is missing"),
    ("reward = 'discrete'\n[models]\nx = [[1]]", "the field 'support' is missing"),
    ("range = [0, 'x']\n[models]\nx = [0.5]", "range: expected a number, not the text 'x'"),
    ("range = 5\n[models]\nx = [0.5]", "range must be a list, not 5"),
    ("truth = 'y'\n[models]\nx = [0.5]", "unknown true model 'y': known are 'x'"),
    ("truth = 1\n[models]\nx = [0.5]", "truth must be a model's name, not 1"),
    ("name = 1\n[models]\nx = [0.5]", "the problem: its name must be a text, not 1"),
    ("x = [", "not valid TOML: "),
    ("[models]\nx = [1, .5]", "; a number begins with a digit there: 0.5, not .5"),
    ("cost = 4\n[models]\nx = [0.5]", "value"),
    ("reward = 'beta'\ncost = 4\nconcentration = 3\n[models]\nx = [0.5]", "'cost'"),
    ("x = " + "9" * 5000, "not valid TOML: "),
    ("[models]\nx = [1" + "0" * 400 + "]", "is not a finite number"),
    ("[models]\nx = [0x" + "1" * 5000 + "]", "is not a finite number"),
    ("reward = 0o" + "7" * 9000 + "\n[models]\nx = [1]", "reward must be a family's name"),
    ("range = [0, 1e308]\n[models]\nx = [1]", "floating point cannot map it"),
    ("x = " + "[" * 100_000, "lists are nested too deeply"),
    ("a" + ".a" * 1_000_000 + " = 1", "a name has more than 32 parts between dots"),
    ('[ "a" ' + " . 'a'" * 500_000 + "]", "a name has more than 32 parts between dots"),
]

CSV_REFUSALS = [
    ("", "the file is empty: expected a header model,<arm>,<arm>…"),
    ("model,a\n", "there are no models"),
    ("name,a\nx,1", "row 1: the header must be model,<arm>,<arm>…; it starts with 'name'"),
    ("model;a\nx;1", "the header must be model,<arm>,<arm>…, separated by commas"),
    ("model\ta\nx\t1", "the header must be model,<arm>,<arm>…, separated by commas"),
    ("model\nx", "row 1: the header names no arms"),
    ("model,a,a\nx,1,1", "row 1: duplicate arm name 'a'"),
    ("\n\nmodel,a\n\nx,1\n\ny,2\n", "row 7: model 'y', arm 'a': mean 2 is outside"),
    (
        "# rang = 0, 15\nmodel,a\nx,1",
        "row 1: above the header only a line like # range = 0, 15",
    ),
    ("# range = 0\nmodel,a\nx,1", "may stand, not '# range = 0'"),
    ("# range = 0, 1, 2\nmodel,a\nx,1", "may stand, not '# range = 0,1,2'"),
    ("# range = 0, x\nmodel,a\nx,1", "may stand, not '# range = 0,x'"),
    ("\n# range = 5, 0\nmodel,a\nx,1", "row 2: range [5, 0]: the lowest must be below"),
    ("# range = 0, nan\nmodel,a\nx,1", "row 1: range: nan is not a finite number"),
    ("# range = 0, 1_5\nmodel,a\nx,1", "row 1: above the header only"),
    ("# range = 0, 15\nmodel,a\nx,16", "row 3: model 'x', arm 'a': mean 16 is outside the"),
    ("model,a\n# range = 0, 15\nx,1", "row 2: model '# range = 0', arm 'a': mean 15"),
    ("model,a,\nx,1,1", "row 1: arm 2 has no name in the header"),
    ("model,a,b\nx,0.5,1.5", "row 2: model 'x', arm 'b': mean 1.5 is outside the range"),
    ("model,a,b\nx,0.5,nan", "row 2: model 'x', arm 'b': nan is not a finite"),
    ("model,a,b\nx,0.5,true", "row 2: model 'x', arm 'b': expected a number, not the text"),
    ("model,a,b\nx,0.5,1_0", "row 2: model 'x', arm 'b': expected a number, not the text"),
    ("model,a,b\nx,,0.5", "row 2: model 'x', arm 'a': expected a number, but there is no"),
    ("model,a,b\n\n\nx,0.5", "row 4: model 'x': no value for arm 'b'"),
    ("model,a,b\nx,0.5,0.5,1", "row 2: model 'x': 3 values for 2 arms: nothing follows arm 'b'"),
    ("model,a\nx,1\ny,1\nx,0", "row 4: duplicate model name 'x': models 1 and 3"),
    ("model,a\n,1", "row 2: model 1: its name is empty"),
    ('model,a\nx,"1', "row 2: not valid CSV"),
    ("model,a\nx," + "1" * 200_000, "row 2: not valid CSV"),
]


@pytest.mark.parametrize(
    ("ending", "content", "message"),
    [("toml", *case) for case in TOML_REFUSALS] + [("csv", *case) for case in CSV_REFUSALS],
)
def test_refusals(tmp_path: Path, ending: str, content: str, message: str) -> None:
    path = tmp_path / f"bad.{ending}"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_problem(path)
    text = str(caught.value)
    assert message in text
    assert text.startswith(str(path))
    assert len(text.splitlines()) == 1
    assert len(text) < 600


CELL = ("model", "y"), ("arm", "b")


@pytest.mark.parametrize(
    ("ending", "content", "place"),
    [
        ("toml", "arms = ['a', 'b']\n[models]\nx = [0, 1]\ny = [0, 'z']", CELL),
        ("toml", "arms = ['a', 'b']\n[models]\nx = [0, 1]\ny = [0]", CELL[:1]),
        ("toml", "arms = ['a', 'a']\n[models]\nx = [0, 1]", (("arm", 2),)),
        ("toml", "range = [3, 1]\n[models]\nx = [0, 1]", ("range",)),
        ("toml", "[models]\nx = [0, 1]\n[prior]\nx = -1", (("prior", "x"),)),
        ("toml", "[models]\nx = [0, 1]\n[prior]\nz = 1", ("prior", ("model", "z"))),
        ("toml", "x = 1\nx = 2", (("row", 2),)),
        ("csv", "model,a,b\n\nx,0,1\ny,0,7", (("row", 4), *CELL)),
        ("csv", "model,a,b\nx,0,1\ny,0,z", (("row", 3), *CELL)),
        ("csv", "model,a,b\nx,0,1\nx,0,1", (("row", 3), ("model", 2))),
        ("csv", "model,a,a\nx,0,1", (("row", 1), ("arm", 2))),
        (
            "csv",
            "model,context,a,b\nx,m,0,1\ny,m,0,1\ny,n,0,1\nx,n,7,1",
            (("row", 5), ("model", "x"), ("context", "n"), ("arm", "a")),
        ),
        ("csv", "model,a\nx,\x00", (("row", 2), ("model", "x"), ("arm", "a"))),
    ],
)
def test_an_error_says_where_as_data(
    tmp_path: Path, ending: str, content: str, place: Place
) -> None:
    path = tmp_path / f"bad.{ending}"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_problem(path)
    assert caught.value.place == (str(path), *place)


def test_refusals_of_the_file_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal(source: str | Path) -> str:
        with pytest.raises(Error) as caught:
            load_problem(source)
        return str(caught.value)

    assert "there is no such file" in refusal(tmp_path / "none.toml")
    assert "unknown file ending '.json': a problem is a .toml or .csv" in refusal("p.json")
    assert "unknown file ending ''" in refusal("grid")
    assert "did you mean 'paper:grid'?" in refusal("paper:grit")
    assert "no problem is named" in refusal("")
    (tmp_path / "folder.toml").mkdir()
    assert "not a regular file" in refusal(tmp_path / "folder.toml")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in refusal(tmp_path / "pipe.csv")
    (tmp_path / "bytes.csv").write_bytes(b"model,a\nx,\xff")
    assert "row 2: byte 0xff is not UTF-8 text" in refusal(tmp_path / "bytes.csv")
    assert "cannot be read" in refusal(tmp_path / "a\0b.csv")
    assert "longer than any that a file can have" in refusal(tmp_path / ("x" * 300 + ".csv"))
    for ending in (".toml", ".csv"):
        monkeypatch.setitem(files.SIZE_LIMITS, ending, 2**20)
        (tmp_path / f"large{ending}").write_bytes(b"#" * (2**20 + 1))
        assert "larger than 1 MiB, the most that is read" in refusal(tmp_path / f"large{ending}")


VALID = [
    b'name = "p"\nreward = "discrete"\nsupport = [0, 5]\nrange = [0, 5]\narms = ["a", "b"]\n'
    b'truth = "x"\n[models]\nx = [[0.5, 0.5], [0, 1]]\n"y.z" = [[1, 0], [0.25, 0.75]]\n',
    b'reward = "beta"\nconcentration = 10\n[models]\nx = [0.9, 0.5]\n',
    b'model,a,"b, c"\nx,0.9,.5\ny,2e-1,0.5\n',
]


@st.composite
def mangled_files(draw: st.DrawFn) -> bytes:
    """A valid file with a few places cut out, doubled or overwritten."""
    content = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 20)))
        middle = draw(
            st.binary(max_size=6)
            | st.sampled_from([b"[", b"nan", b"truth", b'"', b"0x", b"1e999", b"\0", b"'''", b"="])
            | st.just(content[start:end] * 2)
        )
        content = content[:start] + middle + content[end:]
    return content


@pytest.mark.parametrize("ending", [".toml", ".csv"])
def test_no_bytes_make_a_traceback(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"fuzz{ending}"
    outcomes: list[str] = []

    @settings(max_examples=600, deadline=2000, derandomize=True, database=None)
    @given(st.binary(max_size=300) | mangled_files() | st.text(string.printable).map(str.encode))
    def load(content: bytes) -> None:
        path.write_bytes(content)
        try:
            load_problem(path)
            outcomes.append("a problem")
        except InputError as error:
            outcomes.append(str(error))

    load()
    assert all(len(outcome.splitlines()) == 1 for outcome in outcomes)
    # Some loaded and some did not, so the bytes reached every layer of the loader.
    assert 0 < outcomes.count("a problem") < len(outcomes)


def test_csv_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    for problem in (Problem.beta([[0.5]], 3), Problem.discrete([[[0.5, 0.5]]], [0, 1])):
        with pytest.raises(
            InputError, match=r"CSV holds Bernoulli means only, and this is .*beta|d"
        ):
            save_problem(problem, tmp_path / "p.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        "# range = 0, 15",
        "#range=0,15",
        " # range = [0, 15]",
        '"# range = 0, 15",,',
        "# range = 0,15,",
        "# range = -0.0, 1.5e1",
    ],
)
def test_csv_may_have_a_range(tmp_path: Path, line: str) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(f"{line}\nmodel,9 EUR,12 EUR\nloyal,8.1,6\nthrifty,1.8,6\n")
    problem = load_problem(path)
    assert problem.range == (0, 15)
    assert problem.means.tolist() == [[8.1, 6], [1.8, 6]]
    save_problem(problem, tmp_path / "again.csv")
    again = load_problem(tmp_path / "again.csv")
    assert again == problem
    assert again.range == problem.range


def test_csv_keeps_any_range_to_the_last_bit(tmp_path: Path) -> None:
    problem = Problem.bernoulli([[0.1, -1 / 7]], range=(-1 / 3, 0.1 + 0.2))
    save_problem(problem, tmp_path / "p.csv")
    assert load_problem(tmp_path / "p.csv") == problem


def test_spreadsheets_compute_nothing_of_a_problem(tmp_path: Path) -> None:
    problem = Problem.bernoulli(
        [[0.5, 0.25], [0.75, 1.0]],
        arms=["=cmd|' /C calc'!A0", "'-b"],
        models=["@x", "+1"],
        name="odd",
    )
    save_problem(problem, tmp_path / "odd.csv")
    first, *rest = (tmp_path / "odd.csv").read_text().splitlines()
    assert first == "model,'=cmd|' /C calc'!A0,''-b"
    assert rest == ["'@x,0.5,0.25", "'+1,0.75,1.0"]
    assert load_problem(tmp_path / "odd.csv") == problem
    (tmp_path / "plain.csv").write_text("model,=a\n-x,0.5\n")
    assert load_problem(tmp_path / "plain.csv").arms == ("=a",)
    assert load_problem(tmp_path / "plain.csv").models == ("-x",)


def test_hashes_of_fitted_units_are_kept(tmp_path: Path) -> None:
    hashes = ("0004ba9e2273", "0015956050d0")
    problem = Problem.bernoulli([[0.5, 0.2]], fitted_units=hashes)
    save_problem(problem, tmp_path / "models.toml")
    again = load_problem(tmp_path / "models.toml")
    assert again.fitted_units == hashes
    assert again == Problem.bernoulli([[0.5, 0.2]]), "they decide nothing"
    for wrong in ("fitted = 3", "[fitted]\nrows = 3", "[fitted]\nunits = ['x']"):
        with pytest.raises(InputError, match=r"fitted\w* must be "):
            files.problem_from_toml(f"models.x = [0.5]\n{wrong}", "wrong")


def test_a_chain_is_written_back_bit_for_bit(tmp_path: Path) -> None:
    chain = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 3)
    chain[1] = [0, 1, 0]
    models = ["a b", "c", 'd"']
    problem = Problem.bernoulli([[0.1], [0.2], [0.3]], models=models, transitions=chain)
    save_problem(problem, tmp_path / "p.toml")
    again = load_problem(tmp_path / "p.toml")
    assert again.transitions == problem.transitions == tuple(map(tuple, chain.tolist()))
    assert again == problem != Problem.bernoulli([[0.1], [0.2], [0.3]], models=models)
    order = np.array([2, 0, 1])
    again = problem.reordered(order, np.array([0]))
    assert again.transitions == tuple(map(tuple, chain[order][:, order].tolist()))
    assert "a truth that moves" in repr(problem)
    with pytest.raises(InputError, match=r"use \.toml"):
        save_problem(problem, tmp_path / "p.csv")


def test_a_file_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    models = 500
    chain = np.random.default_rng(0).dirichlet(np.ones(models), models)
    problem = Problem.bernoulli(np.full((models, 2), 0.5), transitions=chain)
    with pytest.raises(InputError, match="larger than 4 MiB, the most that is read"):
        save_problem(problem, tmp_path / "large.toml")
    assert not (tmp_path / "large.toml").exists()
