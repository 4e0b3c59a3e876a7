"""Policies of one's own, from any file: everywhere the built-in ones play, and never confused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fpbandits import (
    UCB1,
    Agent,
    ConflictError,
    Error,
    InputError,
    UnknownError,
    load_problem,
    load_results,
    simulate,
)
from fpbandits.policies import parse_policy
from fpbandits.policies.own import (
    _digest,
    _is_users,
    _Walk,
    code_of,
    find_loaded,
    is_own,
    sent_by_value,
)

PLAIN = """
from dataclasses import dataclass
import fpbandits as fpb

def explores(random, epsilon):
    return random.random() < epsilon

@dataclass(frozen=True)
class Greedy(fpb.PlainPolicy):
    epsilon: float = 0.1
    name = "greedy"

    def choose(self, seen, random):
        if seen.t < len(seen.plays):
            return seen.t
        if explores(random, self.epsilon):
            return random.integers(len(seen.plays))
        return seen.means.argmax()
"""

COMPILED = """
from dataclasses import dataclass
from typing import NamedTuple
import fpbandits as fpb

class Prepared(NamedTuple):
    arm: int

@dataclass(frozen=True)
class Stubborn(fpb.Policy):
    name = "stubborn"
    leaps = True

    def prepare(self, problem):
        return Prepared(len(problem.arms) - 1)

    @staticmethod
    def plan(prepared, state, workspace, ahead, random):
        workspace.cycle[0] = prepared.arm
        return 1, ahead.plays
"""

MOSS = """
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
import fpbandits as fpb

class Prepared(NamedTuple):
    arms: int

@dataclass(frozen=True)
class Moss(fpb.Policy):
    name = "moss"

    def prepare(self, problem):
        return Prepared(len(problem.arms))

    @staticmethod
    def plan(prepared, state, workspace, ahead, random):
        if state.plays.min() == 0:
            workspace.cycle[0] = int(state.plays.argmin())
            return 1, 1
        spread = {arm: np.log(1e5 / (prepared.arms * n)) for arm, n in enumerate(state.plays)}
        means = state.sums / state.plays
        index = [means[a] + np.sqrt(max(s, 0) / state.plays[a]) for a, s in spread.items()]
        workspace.cycle[0] = int(np.argmax(index))
        return 1, 1
"""


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def run(folder: Path, *words: str, cache: Path | None = None, code: int = 0) -> str:
    """Run the command line, or Python code after -c, in a folder; return what it printed."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    command = [sys.executable, *words] if words[0] == "-c" else [
        sys.executable, "-c", "from fpbandits.cli import main; main()", *words
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def mean_pulls(output: str, word: str) -> dict[str, float]:
    pulls: dict[str, float] = json.loads(output)["policies"][word]["mean_pulls"]
    return pulls


QUESTION = ("simulate", "paper:two", "--horizon", "100", "--runs", "3", "--json")


def test_an_own_rule_leaves_nothing_that_others_trip_over(tmp_path: Path) -> None:
    """A compiled rule of one folder, then built-in rules from another, with one cache of code."""
    here, there, cache = tmp_path / "here", tmp_path / "there", tmp_path / "cache"
    here.mkdir()
    there.mkdir()
    write(here, COMPILED)
    word = "mine.py:Stubborn"
    assert mean_pulls(run(here, *QUESTION, "--policy", word, cache=cache), word)["arm2"] == 100
    assert "ucb1" in run(there, *QUESTION, "--policy", "ucb1", cache=cache)
    live = "import fpbandits as fpb; print(fpb.Agent(fpb.load_problem('paper:two')).ask())"
    assert "Decision(id=0" in run(there, "-c", live, cache=cache)
    kept = b"".join(path.read_bytes() for path in cache.rglob("*.nbi"))
    assert b"Stubborn" not in kept
    assert b"mine" not in kept


def test_an_edited_rule_is_another_rule(tmp_path: Path) -> None:
    """A new process plays the new rule, and a folder of the old one's runs is refused."""
    cache, word = tmp_path / "cache", "mine.py:Stubborn"
    question = (*QUESTION, "--policy", word)
    write(tmp_path, COMPILED)
    assert mean_pulls(run(tmp_path, *question, "--out", "kept", cache=cache), word)["arm2"] == 100
    write(tmp_path, "# a comment changes nothing\n" + COMPILED)
    assert mean_pulls(run(tmp_path, *question, "--out", "kept", cache=cache), word)["arm2"] == 100
    write(tmp_path, COMPILED.replace("len(problem.arms) - 1", "0"))
    assert mean_pulls(run(tmp_path, *question, cache=cache), word)["arm1"] == 100
    refusal = run(tmp_path, *question, "--out", "kept", cache=cache, code=2)
    assert "holds other runs" in refusal
    assert "name another folder" in refusal


def test_the_digest_of_a_rule_sees_all_that_it_runs(tmp_path: Path) -> None:
    def digest(text: str, helper: str = "RATE = 2\n") -> str:
        write(tmp_path, helper, "helper.py")
        sys.modules.pop("helper", None)
        code = code_of(parse_policy(f"{write(tmp_path, text)}:Greedy"))
        assert code is not None
        return code

    text = PLAIN.replace("import fpbandits as fpb", "import fpbandits as fpb\nimport helper")
    text = text.replace(
        "return random.random() < epsilon", "return random.random() < epsilon * helper.RATE"
    )
    first = digest(text)
    assert digest(text + "\n# no more than a comment\n") == first
    assert digest("\n\n" + text) == first
    assert digest(text + "\nUNUSED = 3\n") == first
    assert digest(text.replace("random.random() <", "random.random() <=")) != first
    assert digest(text.replace("seen.t < len", "seen.t <= len")) != first
    assert digest(text.replace("epsilon: float = 0.1", "epsilon: float = 0.2")) != first
    assert digest(text, "RATE = 3\n") != first
    chosen = '    def choose(self, seen, random):\n        """Explore at times."""  # or not\n'
    assert digest(text.replace("    def choose(self, seen, random):\n", chosen)) == first
    assert (
        digest(text.replace("    epsilon: float", "    other: float = 0\n    epsilon: float"))
        != first
    )
    assert code_of(parse_policy("ucb1")) is None


WALKED = """
import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

import fpbandits as fpb

ARRAY = np.array([1.0, 2.0])
SET = {1, 2}
TABLE = {"a": [1, (2, 3)]}

class Pair(NamedTuple):
    one: int
    two: int = 5

@njit
def compiled(x):
    return x + 10

def closed(step):
    def inner(x, scale=20, *, shift=30):
        return x * scale + shift + step
    return inner

added = closed(40)

class Base(fpb.PlainPolicy):
    BASE = 50

@dataclass(frozen=True)
class Greedy(Base):
    \"\"\"A policy.\"\"\"

    epsilon: float = 0.1
    name = "greedy"
    shown = 60
    size = property(lambda self: 70, None)

    def __len__(self):
        return 80

    @property
    def width(self):
        return 90

    @staticmethod
    def low():
        return 100

    @classmethod
    def high(cls):
        return 110

    def choose(self, seen, random):
        def within(x):
            return x + 120
        ARRAY, SET, TABLE, Pair, compiled, added
        return 0
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[1.0, 2.0]", "[1.0, 2.5]"),
        ("[1.0, 2.0])", "[1, 2])"),
        ("{1, 2}", "{1, 3}"),
        ("(2, 3)", "(2, 4)"),
        ("[1, (2, 3)]", "(1, (2, 3))"),
        ('{"a":', '{"b":'),
        ("x + 10", "x + 11"),
        ("scale=20", "scale=21"),
        ("shift=30", "shift=31"),
        ("closed(40)", "closed(41)"),
        ("BASE = 50", "BASE = 51"),
        ("shown = 60", "shown = 61"),
        ("self: 70", "self: 71"),
        ("return 80", "return 81"),
        ("return 90", "return 91"),
        ("return 100", "return 101"),
        ("return 110", "return 111"),
        ("x + 120", "x + 121"),
        ("epsilon: float = 0.1", "epsilon: float = 0.2"),
        ("epsilon: float = 0.1", "rate: float = 0.1"),
        ("    two: int = 5", "    three: int = 5"),
        ("size = property", "length = property"),
    ],
)
def test_whatever_a_rule_mentions_is_in_its_digest(before: str, after: str, tmp_path: Path) -> None:
    def digest(text: str) -> str | None:
        return code_of(parse_policy(f"{write(tmp_path, text)}:Greedy"))

    assert WALKED.count(before) == 1
    first = digest(WALKED)
    assert first is not None
    assert len(first) == 32
    assert digest(WALKED.replace(before, after)) != first


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A policy.", "Another docstring."),
        ("import functools\n", "import functools, itertools\n"),
        ("ARRAY = ", "# a comment\nARRAY = "),
        ("class Base", "UNUSED = 7\n\nclass Base"),
        ("{1, 2}", "{2, 1}"),
        ("return x + 120", "return (x\n                + 120)  # the same"),
    ],
)
def test_what_changes_nothing_is_not_in_its_digest(before: str, after: str, tmp_path: Path) -> None:
    def digest(text: str) -> str | None:
        return code_of(parse_policy(f"{write(tmp_path, text)}:Greedy"))

    assert digest(WALKED.replace(before, after)) == digest(WALKED)


def test_a_class_is_found_by_its_name_and_code(tmp_path: Path) -> None:
    """Also a subclass of a subclass; of the package's there is no need."""
    word = f"{write(tmp_path, PLAIN)}:Greedy"
    first = type(parse_policy(word))
    write(tmp_path, PLAIN.replace("epsilon: float = 0.1", "epsilon: float = 0.3"))
    second = type(parse_policy(word))
    for kind in (first, second):
        code = code_of(kind())
        assert code is not None
        assert find_loaded("greedy", code) is kind
        assert find_loaded("greed", code) is None
    assert find_loaded("greedy", "0" * 32) is None
    assert find_loaded("ucb1", _digest(UCB1)) is None


def test_what_a_file_may_hold_beside_its_policy(tmp_path: Path) -> None:
    """Policies of the package, abstract ones and others are no policies of its own."""
    text = (
        PLAIN + "\nfrom fpbandits import UCB1\nclass Open(fpb.PlainPolicy): name = 'open'\nN = 3\n"
    )
    path = write(tmp_path, text)
    assert str(parse_policy(f"{path}:Greedy")) == "greedy"
    for name in ("UCB1", "PlainPolicy", "Open", "N", "dataclass"):
        with pytest.raises(UnknownError, match=r"known are 'Greedy'|did you mean 'Greedy'"):
            parse_policy(f"{path}:{name}")


def test_a_file_is_run_once_by_its_own_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Annotations are evaluated as the file has them; what is beside it comes first."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere, "RATE = 1", "beside_it.py")
    write(tmp_path, "RATE = 2", "beside_it.py")
    monkeypatch.syspath_prepend(str(elsewhere))
    places = list(sys.path)
    text = (
        PLAIN
        + """
import beside_it
def f(x: int): ...
assert f.__annotations__ == {"x": int}
assert beside_it.RATE == 2
"""
    )
    word = f"{write(tmp_path, text)}:Greedy"
    assert type(parse_policy(word)) is type(parse_policy(word))
    assert sys.path == places
    del sys.modules["beside_it"]


def test_who_stops_a_file_from_being_run_is_heard(tmp_path: Path) -> None:
    path = write(tmp_path, "raise KeyboardInterrupt", "stopped.py")
    with pytest.raises(KeyboardInterrupt):
        parse_policy(f"{path}:Greedy")
    assert not any(name.startswith("stopped_") for name in sys.modules)


def test_whose_code_is_the_users() -> None:
    assert _is_users("mine", None)
    assert _is_users("__main__", "<stdin>")
    assert _is_users("mine", "/home/someone/mine.py")
    assert not _is_users("json.decoder", None)
    assert not _is_users("numpy", np.__file__)
    assert not _is_users("fpbandits.policies.own", code_of.__code__.co_filename)
    assert list(_Walk(UCB1).parts([json, sys])) == ["list"]
    assert is_own(type("Mine", (UCB1,), {"__module__": "fpbandits_of_mine"}))
    assert not is_own(UCB1)


def test_modules_of_the_user_are_sent_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that define the policies, and those from which they take something; no others."""
    first, second, third = (ModuleType(name) for name in ("first_", "second_", "third_"))
    for module in (first, second, third):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(first).update(np=np, second=second, number=3)
    vars(second).update(again=first)
    kind = type("Mine", (UCB1,), {"__module__": "first_"})
    import cloudpickle

    with sent_by_value([kind(), UCB1()]):
        assert set(cloudpickle.list_registry_pickle_by_value()) == {"first_", "second_"}
        with sent_by_value([kind()]):  # what is registered already stays so
            pass
        assert set(cloudpickle.list_registry_pickle_by_value()) == {"first_", "second_"}
    assert not cloudpickle.list_registry_pickle_by_value()


def test_the_digest_of_an_installed_policy_sees_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands among installed packages does not count, but for the policy's own."""
    from fpbandits.policies import own

    monkeypatch.setattr(own, "_INSTALLED", (str(tmp_path.resolve()),))
    first = code_of(parse_policy(f"{write(tmp_path, PLAIN)}:Greedy"))
    changed = PLAIN.replace("random.random() <", "random.random() <=")
    assert code_of(parse_policy(f"{write(tmp_path, changed)}:Greedy")) != first


def test_the_digest_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Whatever order sets have there, and whatever the compiler made of the source."""
    text = PLAIN.replace(
        "if seen.t <",
        "if seen.problem.name in {'a', 'b', 'c', 'd'}:\n            return 0\n        if seen.t <",
    )
    text = text.replace("if seen.t <", "assert seen.t >= 0\n        if seen.t <", 1)
    path = write(tmp_path, text)
    ask = (
        "from fpbandits.policies import parse_policy; from fpbandits.policies.own import code_of;"
        f"print(code_of(parse_policy({str(path) + ':Greedy'!r})))"
    )
    here = code_of(parse_policy(f"{path}:Greedy"))
    for seed, optimised in (("1", ""), ("2", ""), ("1", "2")):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONOPTIMIZE": optimised}
        there = subprocess.run(
            [sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True
        )
        assert there.stdout.strip() == here


def test_code_in_use_keeps_its_digest_though_its_file_changes(tmp_path: Path) -> None:
    policy = parse_policy(f"{write(tmp_path, PLAIN)}:Greedy")
    twin = parse_policy(f"{write(tmp_path, PLAIN)}:Greedy")
    write(tmp_path, PLAIN.replace("seen.means.argmax()", "seen.means.argmin()"))
    other = parse_policy(f"{tmp_path / 'mine.py'}:Greedy")
    assert code_of(policy) == code_of(twin) != code_of(other)


def test_code_without_a_source_has_a_digest_too() -> None:
    """Typed in, where nobody keeps the lines."""
    digests = set()
    for step in ("0", "1", "min(0, 1)", "{'a': 1}.get(seen.context in {'a', 'b'}, 0)"):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(PLAIN.replace("seen.means.argmax()", step), "<stdin>", "exec"), names)
        digests.add(code_of(names["Greedy"]()))
    assert len(digests) == 4


def test_ordinary_numpy_in_a_compiled_rule_is_told_in_one_line(tmp_path: Path) -> None:
    word = f"{write(tmp_path, MOSS)}:Moss"
    for play in (
        lambda: simulate(load_problem("paper:two"), parse_policy(word), horizon=10, runs=1),
        lambda: Agent(load_problem("paper:two"), parse_policy(word)).ask(),
    ):
        with pytest.raises(
            InputError, match=r"moss: its rule cannot be compiled: .*PlainPolicy"
        ) as c:
            play()
        assert "\n" not in str(c.value)
        assert len(str(c.value)) < 500
    *notes, error = run(tmp_path, *QUESTION, "--policy", "mine.py:Moss", code=2).splitlines()
    assert all("is compiling" in note for note in notes)
    assert error.startswith("error: moss: its rule cannot be compiled")


@pytest.mark.parametrize("text", [PLAIN, COMPILED], ids=["plain", "compiled"])
def test_own_policies_play_on_every_executor(text: str, tmp_path: Path) -> None:
    """Threads, processes that cannot import the file, and Dask: bit for bit the same."""
    from distributed import Client, LocalCluster

    kind = "Greedy" if text is PLAIN else "Stubborn"
    # With a helper beside it, which no worker could import.
    write(tmp_path, "def below(draw, epsilon):\n    return draw < epsilon\n", "beside.py")
    text = text.replace("import fpbandits as fpb", "import fpbandits as fpb\nimport beside")
    text = text.replace("random.random() < epsilon", "beside.below(random.random(), epsilon)")
    policy = parse_policy(f"{write(tmp_path, text)}:{kind}")
    problem = load_problem("paper:permutations")

    def ask(**how: Any) -> np.ndarray:
        result = simulate(problem, policy, horizon=300, runs=12, seed=4, **how)
        return result.pulls[str(policy)]

    expected = ask(workers=1)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        np.testing.assert_array_equal(ask(executor=pool), expected)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        np.testing.assert_array_equal(ask(executor=client.get_executor()), expected)


def test_own_policies_are_kept_and_resumed(tmp_path: Path) -> None:
    policy = parse_policy(f"{write(tmp_path, PLAIN)}:Greedy:epsilon=0.2")
    problem = load_problem("paper:two")
    kept = tmp_path / "kept"
    question: Any = {"horizon": 50, "seed": 2, "out": kept}
    simulate(problem, policy, runs=3, **question)
    more = simulate(problem, policy, runs=6, **question)
    whole = simulate(problem, policy, runs=6, horizon=50, seed=2)
    np.testing.assert_array_equal(more.pulls[str(policy)], whole.pulls[str(policy)])
    loaded = load_results(kept)[str(policy)]
    np.testing.assert_array_equal(loaded.pulls[str(policy)], whole.pulls[str(policy)])
    changed = PLAIN.replace("seen.means.argmax()", "seen.means.argmin()")
    other = parse_policy(f"{write(tmp_path, changed)}:Greedy:epsilon=0.2")
    with pytest.raises(ConflictError, match=r"holds other runs .*name another folder"):
        simulate(problem, other, runs=6, **question)
    # Results load though the policy is gone.
    (tmp_path / "mine.py").unlink()
    load = f"import fpbandits as fpb; print(*fpb.load_results({str(kept)!r}))"
    assert run(tmp_path, "-c", load).strip() == str(policy)


def test_own_policies_in_studies_and_on_the_leaderboard(tmp_path: Path) -> None:
    from fpbandits.leaderboard import contests, play

    write(tmp_path, PLAIN)
    study = write(
        tmp_path,
        """
        problems = ["paper:two"]
        policies = ["ucb1", { policy = "mine.py:Greedy", epsilon = [0.1, 0.2, 0.4] }]
        horizons = [100]
        runs = 4
        """,
        "study.toml",
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    rows = json.loads(run(elsewhere, "sweep", str(study), "--json"))["rows"]
    assert {row["policy"] for row in rows} == {
        "ucb1", "greedy", "greedy:epsilon=0.2", "greedy:epsilon=0.4"
    }  # fmt: skip
    assert [row["epsilon"] for row in rows] == [None, 0.1, 0.2, 0.4]
    policy = parse_policy(f"{tmp_path / 'mine.py'}:Greedy")
    board = play(runs=4, horizon=200, policies={"mine": policy}, among=contests("paper")[:2])
    assert set(board.standings["mine"]) == {"two θ¹", "two θ²"}


def test_own_policies_on_the_command_line(tmp_path: Path) -> None:
    write(tmp_path, PLAIN)
    word = "mine.py:Greedy:epsilon=0.5"
    output = json.loads(run(tmp_path, *QUESTION, "--policy", word, "--policy", "ucb1"))
    assert list(output["policies"]) == [word, "ucb1"]
    assert sum(output["policies"][word]["mean_pulls"].values()) == 100


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("mine.py", InputError, "name its class too, as mine.py:MyPolicy"),
        ("mine.py:Gready", UnknownError, "unknown policy 'Gready': did you mean 'Greedy'?"),
        ("mine.py:", UnknownError, "unknown policy '': known are 'Greedy'"),
        ("mine.py:fpb", UnknownError, "unknown policy 'fpb'"),
        ("mine.py:Greedy:epsilom=1", UnknownError, "unknown option of greedy 'epsilom'"),
        ("mine.py:Greedy:epsilon=x", InputError, "expected epsilon=NUMBER, not 'epsilon=x'"),
        ("absent.py:Greedy", InputError, "there is no such file"),
        ("folder.py:Greedy", InputError, "not a regular file"),
        ("broken.py:Greedy", InputError, "cannot be imported (SyntaxError"),
        (
            "failing.py:Greedy",
            InputError,
            "cannot be imported (ZeroDivisionError: division by zero)",
        ),
        ("empty.py:Greedy", InputError, "there is no policy in it"),
    ],
)
def test_bad_words_for_own_policies(
    word: str, kind: type[Error], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, PLAIN)
    write(tmp_path, "def", "broken.py")
    write(tmp_path, "1 / 0", "failing.py")
    write(tmp_path, "x = 1", "empty.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(kind) as caught:
        parse_policy(word)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_of_every_kind(tmp_path: Path) -> None:
    text = PLAIN.replace(
        "    name =", "    steps: int = 3\n    label: str = 'a'\n    bold: bool = False\n    name ="
    )
    path = write(tmp_path, text)
    policy: Any = parse_policy(f"{path}:Greedy:steps=7:label=x%3Ay:bold=true")
    assert (policy.steps, policy.label, policy.bold, policy.epsilon) == (7, "x:y", True, 0.1)
    assert str(policy) == "greedy:steps=7:label=x%3Ay:bold=True"
    assert parse_policy(f"{path}{str(policy).replace('greedy', ':Greedy')}") == policy
