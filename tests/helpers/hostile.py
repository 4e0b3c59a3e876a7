"""Calls of the whole public API with whatever people might give: ``python hostile.py CALLS``.

``--all`` plays by all policies, which takes a minute to compile, and not by two alone.

Every call must succeed or raise an `fpbandits.Error` of one line. It runs in a process of its own,
so that a crash of the interpreter is seen, in a folder of its own, which it fills. The last call is
in the file ``last``.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import fpbandits as fpb
from fpbandits.policies import POLICIES, parse_policy


class Word(StrEnum):
    ANY = "any"
    ARM = "arm1"


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Mine(np.ndarray[Any, Any]):
    """An array of a subclass that does nothing."""


def endless() -> list[Any]:
    """A list that holds itself."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


TABLE = [[0.9, 0.5], [0.2, 0.5]]
TEXTS = [
    *("", " ", "a", "arm1", "theta1", "theta2", "any", "in-order", "std", "fp-ucb", "ucb1", "1"),
    *("paper:two", "paper:three", "x.toml", "x.csv", "x.png", "x.npz", "x.json", "nan", "1e400"),
    *("a\nb", "\0", "\ud800", "\x1b[31m", "\u202e", "=1+1", "😀" * 60, "👩‍👩‍👧" * 60, "x" * 5000),
    *("fp-ucb:slack=1", "fp-ucb:slack=", "fp-ucb:slack=nan", "thompson-theta:prior=a=1e308", ":"),
    *("mine.py:Mine", ".py:", "fp-ucb::", "%", "a=b"),
]
NUMBERS = [
    *(True, False, np.True_, 0, 1, 2, 3, -1, 2**63, -(2**64), 10**400, 10**5000, 0.0, -0.0, 0.5),
    *(1.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), Fraction(1, 2), Fraction(10**400)),
    *(Decimal("0.5"), Decimal("sNaN"), 1j, np.float16(0.5), np.float32(0.5), np.longdouble(0.5)),
    *(np.finfo(np.longdouble).max, np.int8(1), np.uint64(2**64 - 1), np.complex64(1)),
    *(np.timedelta64(1), np.timedelta64(1, "s"), np.datetime64("2020"), np.ma.masked),
]
OBJECTS = [
    *(None, b"ab", bytearray(b"ab"), memoryview(b"ab"), object(), object, len, Unshowable()),
    *(Word.ANY, Word.ARM, np.str_("theta1"), np.bytes_(b"a"), Path("x.toml"), Path(), ...),
    *(fpb.UCB1(), fpb.FPUCB, fpb.Problem.bernoulli(TABLE)),
]
BOXES: list[Callable[[Any], Any]] = [
    list,
    tuple,
    deque,
    iter,
    np.array,
    lambda rows: np.array(rows, object),
    lambda rows: np.array(rows, np.float16),
    lambda rows: np.array(rows, np.longdouble),
    lambda rows: np.array(rows, complex),
    lambda rows: np.array(rows, ">f8"),
    lambda rows: np.array(rows, order="F"),
    lambda rows: np.array(rows, str),
    lambda rows: np.array(rows, np.float64)[::-1],
    lambda rows: np.array(rows, np.float64)[..., ::-1],
    lambda rows: np.array(rows, np.float64).view(Mine),
    lambda rows: np.atleast_2d(np.array(rows, np.float64)[0]).view(np.matrix),
    lambda rows: np.array(rows).view(np.matrix),
    lambda rows: np.ma.array(rows, mask=np.zeros(np.shape(rows), bool)),
    lambda rows: np.ma.masked_less(np.array(rows, float), 0.5),
    lambda rows: np.array(rows)[np.newaxis],
    lambda rows: np.array(rows)[0],
    lambda rows: np.array(rows)[:0],
    lambda rows: np.array(rows)[:, :0],
    lambda rows: np.zeros(len(rows), "f8,f8"),
    lambda rows: np.zeros(len(rows), "V8"),
    lambda rows: np.array(0.5),
    lambda rows: dict(enumerate(rows)),
    lambda rows: {tuple(np.ravel(row)) for row in rows},
    lambda rows: dict(enumerate(rows)).values(),
    lambda rows: [np.array(row) for row in rows],
    lambda rows: [np.array(row).view(np.matrix) for row in rows],
    lambda rows: [iter(row) for row in rows],
    lambda rows: [*rows, rows],
    lambda rows: endless(),
]


def boxed(box: Callable[[Any], Any], rows: Any) -> Any:
    """Put rows into a box; not all fit."""
    try:
        return box(rows)
    except Exception:
        return rows


def one_of(values: list[Any]) -> st.SearchStrategy[Any]:
    """Draw one of these; unlike `sampled_from`, which hashes and compares them."""
    return st.integers(0, len(values) - 1).map(lambda place: values[place])


texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_characters="/~"), max_size=8)
scalars = one_of([*NUMBERS, *OBJECTS]) | st.floats() | texts | st.integers(-(2**70), 2**70)
means = st.floats(0, 1)
fair_tables = st.integers(1, 3).flatmap(
    lambda arms: st.lists(st.lists(means, min_size=arms, max_size=arms), min_size=1, max_size=4)
)
spoilt_tables = st.lists(st.lists(means | scalars, max_size=3) | scalars, max_size=3)
tables = st.builds(boxed, st.sampled_from(BOXES), fair_tables) | fair_tables | spoilt_tables
shares = one_of([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
laws = st.builds(
    boxed,
    st.sampled_from(BOXES),
    st.lists(st.lists(shares, min_size=2, max_size=2), min_size=1, max_size=3),
)
lists = st.lists(scalars | texts, max_size=4)
names = (
    one_of([["a", "b"], {"a", "b"}, np.array(["a", "b"]), {"a": 1, "b": 2}.keys(), None])
    | lists
    | st.frozensets(texts, max_size=3)
)
anything: st.SearchStrategy[Any] = scalars | tables | lists | names


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw what will do three times in four: calls that are all wrong see the first check alone."""
    return st.integers(0, 3).flatmap(lambda place: good if place else anything)


def some_of(options: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Give a few of the options, most of them none."""
    few = st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True)
    return few.flatmap(lambda keys: st.fixed_dictionaries({key: options[key] for key in keys}))


naming = some_of(
    {
        "arms": mostly(names),
        "models": mostly(names),
        "range": mostly(one_of([[0, 2], (0, 1e101), np.array([0, 1])])),
        "truth": mostly(one_of(["theta1", np.str_("theta1"), Word.ARM])),
        "name": mostly(texts),
    }
)

TWO = fpb.load_problem("paper:two")
PROBLEMS = [
    TWO,
    fpb.Problem.beta(TABLE, 3, truth="theta1"),
    fpb.Problem.discrete([[[0.1, 0.9], [0.5, 0.5]]] * 2, [0, 4], range=(0, 5), truth="theta2"),
    fpb.Problem.bernoulli([[0.5]], arms=["😀" * 60], models=["👩‍👩‍👧" * 60], name="😀" * 60),
    fpb.Problem.gaussian(TABLE, 0.2, truth="theta1"),
    fpb.Problem.bernoulli(TABLE, value=[9, -2], truth="theta1"),
]
PAIR: list[fpb.Policy] = [fpb.FPUCB(), fpb.UCB1()]
RULES = [kind() for kind in POLICIES.values()] if sys.argv[2:] == ["--all"] else PAIR
problems = st.sampled_from(PROBLEMS)
rules = st.sampled_from(RULES)
RESULT = fpb.simulate(TWO, PAIR, horizon=50, runs=3)
SINGLE = fpb.simulate(PROBLEMS[3], truth="👩‍👩‍👧" * 60, policies=PAIR, horizon=5, runs=1)
results = one_of([RESULT, SINGLE])
files = one_of(["a.toml", "b.csv", "c.json", "d.npz", "e.png", Path("f.toml")])
AGENT = fpb.Agent(TWO, fpb.FPUCB())
for _ in range(6):
    AGENT.ask()
AGENT.tell(1, 1)
STATE = AGENT.state()

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def call(function: Any, *given: st.SearchStrategy[Any], **options: Any) -> st.SearchStrategy[Call]:
    """Call a function with these, most options left out."""
    return st.tuples(
        st.just(function), st.tuples(*given), some_of(options) if options else st.just({})
    )


def tables_of_all() -> st.SearchStrategy[Call]:
    """Make problems."""
    problem = fpb.Problem
    families = mostly(one_of(["bernoulli", "beta", "gaussian"]))
    given = one_of([{}, {"concentration": 2}, {"deviation": 1}, {"value": [1]}, None])
    concentrations = mostly(one_of([2, 0.5]))
    supports = mostly(one_of([[0, 1], np.array([1, 0]), [0.5, 0.5]]))

    def with_names(function: Any, *given: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
        return st.tuples(st.just(function), st.tuples(*given), naming)

    return st.one_of(
        with_names(problem.bernoulli, tables),
        with_names(problem.beta, tables, concentrations),
        with_names(problem.gaussian, tables, concentrations),
        call(problem.bernoulli, tables, value=supports),
        with_names(problem.discrete, mostly(laws), supports),
        with_names(problem.of_family, families, tables, given),
        call(TWO.index, anything),
        call(fpb.Problem, texts, names, names, mostly(one_of([TWO.rewards]))),
    )


def made_and_used(table: Any, options: dict[str, Any], rule: Any) -> None:
    """Make a problem and play it: what passed the checks must fit compiled code."""
    problem = fpb.Problem.bernoulli(table, **options)
    fpb.analyze(problem)
    agent = fpb.Agent(problem, rule)
    for _ in range(5):
        agent.tell(agent.ask().id, problem.range[1])
    fpb.simulate(problem, rule, truth=problem.models[0], horizon=20, runs=1, shuffle=True)


def whole_use() -> st.SearchStrategy[Call]:
    """Make problems of odd arrays and use them."""
    return call(made_and_used, tables, naming, rules)


def files_and_theory() -> st.SearchStrategy[Call]:
    """Load, save, analyze."""
    return st.one_of(
        call(fpb.load_problem, mostly(files)),
        call(fpb.save_problem, mostly(problems), mostly(files)),
        call(fpb.analyze, mostly(problems), mostly(one_of(["theta1", None]))),
        call(fpb.load_results, mostly(files)),
        call(fpb.Agent.load, mostly(files), mostly(problems)),
        call(fpb.Result.load, mostly(files)),
    )


def words() -> st.SearchStrategy[Call]:
    """Policies, by word and by class."""
    kinds = st.sampled_from(list(POLICIES.values()))
    spelled = st.builds(lambda name, rest: f"{name}:{rest}", one_of([*POLICIES, "a.py"]), texts)
    priors = st.dictionaries(texts | scalars.filter(_hashable), anything, max_size=2)
    return st.one_of(
        call(parse_policy, mostly(spelled)),
        kinds.flatmap(
            lambda kind: call(
                kind, **dict.fromkeys((option.name for option in fields(kind)), anything)
            )
        ),
        call(fpb.ThompsonTheta, mostly(priors | st.just({"theta1": 1e308}))),
    )


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except Exception:
        return False
    return True


small = st.integers(1, 30)


def simulations() -> st.SearchStrategy[Call]:
    """Play, with odd arguments."""
    numbers = one_of(NUMBERS) | lists | texts
    options: dict[str, st.SearchStrategy[Any]] = {
        "truth": mostly(one_of(["theta1", [0.3, 0.4], np.array([0.3, 0.4])])),
        "horizon": small | numbers,
        "runs": st.integers(1, 3) | numbers,
        "seed": small | numbers,
        "times": mostly(st.lists(small)),
        "shuffle": mostly(st.booleans()),
        "leap": mostly(st.booleans()),
        "worst_case": mostly(st.booleans()),
        "workers": st.integers(1, 2) | numbers,
        "executor": anything,
        "out": mostly(one_of(["out", "out2"])),
    }

    def play(problem: Any, policies: Any, given: dict[str, Any]) -> Any:
        return fpb.simulate(problem, policies, **{"horizon": 20, "runs": 1, "workers": 1} | given)

    given = one_of([fpb.UCB1(), PAIR, {"😀" * 60: fpb.UCB1()}, {np.str_("a"): PAIR[0]}])
    policies = given | mostly(st.dictionaries(texts, rules, max_size=2))
    return st.one_of(
        call(play, problems, rules, some_of(options)),
        call(play, mostly(problems), policies, some_of(options)),
    )


def agents() -> st.SearchStrategy[Call]:
    """Play live, and come back from states that were tampered with."""

    def live(problem: Any, policy: Any, seed: Any, late: Any) -> None:
        agent = fpb.Agent(problem, policy, seed=seed, late=late)
        agent.tell(agent.ask().id, agent.problem.range[0])

    def tampered(key: str, value: Any, given: dict[str, Any]) -> None:
        agent = fpb.Agent.from_state(STATE | {key: value}, TWO, **given)
        for _ in range(3):
            agent.ask()
        for number in agent.pending:
            agent.tell(number, 1)
        agent.plausible()
        json.dumps(agent.state())
        repr((agent, agent.plays, agent.blocked, agent.misfits))

    def wronged(method: str, given: tuple[Any, ...]) -> None:
        agent = fpb.Agent.from_state(STATE, TWO)
        getattr(agent, method)(*given)
        agent.tell(agent.ask().id, 0.5)

    seeds, late = mostly(small), mostly(one_of(["any", "in-order", Word.ANY]))
    nested = st.lists(st.lists(st.integers(-1, 6) | means, min_size=2, max_size=2), max_size=4)
    counts = st.lists(st.integers(-1, 2**63), min_size=2, max_size=4)
    values = anything | nested | counts | st.lists(means, min_size=2, max_size=2)
    ids, rewards = mostly(st.integers(0, 6)), mostly(one_of([0, 1, True]))
    arms = mostly(one_of(["arm1", np.str_("arm2"), Word.ARM]))
    return st.one_of(
        call(live, problems, rules, seeds, late),
        call(live, mostly(problems), mostly(rules), small, late),
        call(tampered, st.sampled_from(sorted(STATE)), values, st.just({})),
        call(tampered, texts, anything, st.fixed_dictionaries({"policy": mostly(rules)})),
        call(fpb.Agent.from_state, anything, mostly(problems)),
        call(wronged, st.just("tell"), st.tuples(ids, rewards)),
        call(wronged, st.just("forget"), st.tuples(ids)),
        call(wronged, st.just("observe"), st.tuples(arms, rewards)),
        call(wronged, st.just("save"), st.tuples(mostly(files))),
    )


def questions() -> st.SearchStrategy[Call]:
    """Ask results."""
    policies = mostly(one_of(["fp-ucb", "ucb1", np.str_("ucb1")]))
    levels = mostly(means)
    asked: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
        "first": (mostly(small),),
        "until": (mostly(small),),
        "regret": (policies,),
        "final_regret": (policies,),
        "mean_regret": (policies,),
        "std_regret": (policies,),
        "quantile_regret": (policies, levels),
        "confidence_interval": (policies, levels),
        "mean_pulls": (policies,),
        "total_variation": (policies,),
        "compare": (policies, policies, levels),
        "to_csv": (mostly(files),),
        "save": (mostly(files),),
        "table": (),
        "as_dict": (),
        "to_frame": (),
    }

    def ask(result: Any, question: str, given: tuple[Any, ...]) -> None:
        answer = getattr(result, question)(*given)
        if isinstance(answer, fpb.Result):
            answer.table()

    return st.sampled_from(sorted(asked)).flatmap(
        lambda question: call(ask, results, st.just(question), st.tuples(*asked[question]))
    )


def drawings() -> st.SearchStrategy[Call]:
    """Draw results; slow, so there are few."""

    def draw(result: Any, given: dict[str, Any]) -> None:
        from matplotlib import pyplot

        try:
            result.plot(**given)
        finally:
            pyplot.close("all")

    options = {
        "path": mostly(one_of(["a.png", "b.svg", "c.doc"])),
        "band": mostly(one_of(["std", "none"])),
        "log_time": mostly(st.booleans()),
        "bounds": mostly(st.booleans()),
    }
    return call(draw, results, some_of(options))


GROUPS = {
    tables_of_all: 0.34,
    whole_use: 0.06,
    files_and_theory: 0.1,
    words: 0.18,
    simulations: 0.1,
    agents: 0.14,
    questions: 0.0775,
    drawings: 0.0025,
}
"""Who is called, and with what share of the calls."""


def run(calls: int) -> tuple[Counter[str], dict[str, str]]:
    """Make so many calls; return what came of them, and the first of each kind of failure."""
    outcomes: Counter[str] = Counter()
    failures: dict[str, str] = {}
    with Path("last").open("w") as last:

        def attempt(one: Call) -> None:
            function, given, options = one
            last.seek(0)
            last.truncate()
            last.write(ascii_of((function, given, options)))
            last.flush()
            try:
                function(*given, **options)
                outcomes["done"] += 1
            except fpb.Error as error:
                outcomes[type(error).__name__] += 1
                if not str(error) or "\n" in str(error):
                    failures.setdefault(f"more than a line: {str(error)[:80]!r}", ascii_of(one))
            except Exception as error:
                outcomes["failed"] += 1
                frames = [
                    f
                    for f in traceback.extract_tb(error.__traceback__)
                    if "fpbandits" in f.filename
                ]
                where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
                failures.setdefault(
                    f"{type(error).__name__} at {where}: {str(error)[:80]!r}", ascii_of(one)
                )

        for group, share in GROUPS.items():
            how = settings(
                max_examples=max(int(calls * share), 1),
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            how(given(group())(attempt))()
    return outcomes, failures


def ascii_of(value: Any) -> str:
    """Show a call, as far as it can be shown."""
    try:
        return ascii(value)[:1000]
    except Exception:
        return "a call that cannot be shown"


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    outcomes, failures = run(int(sys.argv[1]))
    sys.stdout.write(json.dumps({"outcomes": outcomes, "failures": failures}))
