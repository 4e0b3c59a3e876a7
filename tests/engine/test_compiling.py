"""Machine code: of the rule that is meant, and holding on to nothing that it is given."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import config, njit, types
from numba.core import runtime
from numba.core.errors import NumbaError

from fpbandits import FPUCB, UCB1, InputError, Optimist, Policy, Problem, load_problem, simulate
from fpbandits.engine import compiling
from fpbandits.engine.code_cache import _Nowhere
from fpbandits.engine.compiling import compiled, jitted, load_code, prepare, uncompilable
from fpbandits.engine.contract import Ahead, Plan
from fpbandits.policies import POLICIES


def _draw(random: Any) -> float:
    drawn: float = random.random()
    return drawn


@pytest.mark.parametrize("compile", [compiled, njit], ids=["ours", "counting"])
def test_compiled_calls_hold_on_to_no_generator(compile: Any) -> None:
    """With and without reference counting: neither the Generator nor its source of bits."""
    draw, random, twin = compile(_draw), np.random.default_rng(3), np.random.default_rng(3)
    before = held(random)
    assert [draw(random) for _ in range(100)] == twin.random(100).tolist()
    assert held(random) == before


def _draw_each(random: Any) -> tuple[float, float, float]:
    short = random.random(dtype=np.float32)
    return random.random(), random.standard_normal(), short


def test_compiled_calls_draw_what_numpy_draws() -> None:
    """Doubles, and bits by 64 and by 32: a source has a function for each."""
    draw = compiled(_draw_each)
    for source in (np.random.PCG64, np.random.MT19937, np.random.Philox):
        random, twin = np.random.Generator(source(7)), np.random.Generator(source(7))
        for _ in range(100):
            assert draw(random) == _draw_each(twin)
        assert random.bit_generator.random_raw() == twin.bit_generator.random_raw()


def held(random: np.random.Generator) -> tuple[int, int, int]:
    """How many references there are to a Generator and its bits, and how many notes of Numba's."""
    numba_runtime: Any = runtime
    numba_runtime._nrt_python.memsys_enable_stats()
    notes = numba_runtime.rtsys.get_allocation_stats()
    references = sys.getrefcount(random), sys.getrefcount(random.bit_generator)
    return *references, notes.mi_alloc - notes.mi_free


def test_no_two_policies_prepare_types_of_one_name() -> None:
    """Numba tells named tuples apart by their names and fields, and by nothing else."""
    problem = load_problem("paper:permutations")
    prepared = {name: prepare(kind(), problem) for name, kind in POLICIES.items()}
    assert len({type(each).__name__ for each in prepared.values()}) == len(POLICIES)
    for name, kind in POLICIES.items():
        assert compiling._policies[type(prepared[name])] is kind


def parts(given: Any) -> Iterator[type]:
    """The types of a named tuple, and of those in it."""
    if isinstance(given, tuple):
        yield type(given)
        for each in given:
            yield from parts(each)


def test_no_two_workspaces_have_one_name() -> None:
    """Nor do what stands in them: the same name and types would be the same fields to Numba."""
    problem = load_problem("paper:permutations")
    found = set()
    for kind in POLICIES.values():
        found |= set(parts(kind().workspace(prepare(kind(), problem), 4)))
    assert len({each.__name__ for each in found}) == len(found) > 8


class Stubborn(Optimist):
    """The first arm, whatever comes."""

    name = "stubborn"

    @staticmethod
    def plan(prepared: Any, state: Any, workspace: Any, ahead: Ahead, random: Any) -> Plan:
        workspace.cycle[0] = 0
        return 1, ahead.plays


FIRST = """
from test_compiling import Stubborn
from fpbandits import Optimist, load_problem, simulate
problem, pulls = load_problem("paper:permutations"), {{}}
for policy in [{policies}]:
    result = simulate(problem, policy, truth="0.2,0.3,0.4,0.6", horizon=200, runs=2, times=[200])
    pulls |= result.pulls
print({{name: own.tolist() for name, own in pulls.items()}})
"""


def played(policies: str) -> dict[str, list[list[list[int]]]]:
    """The pulls of policies that are the first to be played in a process."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST.format(policies=policies)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return eval(done.stdout)  # type: ignore[no-any-return]  # a dictionary of lists


def test_who_builds_on_another_rule_does_not_disturb_it() -> None:
    """Whichever of the two is played first, in this process or in another one."""
    first = played("Stubborn(), Optimist()")
    second = played("Optimist(), Stubborn()")
    assert first == second
    assert played("Optimist()") == {"optimist": first["optimist"]}
    assert first["stubborn"] == [[[200, 0, 0, 0]]] * 2
    assert all(run[0][3] > 100 for run in first["optimist"])


class Nothing(Policy):
    name = "nothing"

    def prepare(self, problem: Problem) -> Any:
        return None


class Few(NamedTuple):
    arms: int


class Unwritten(Policy):
    name = "unwritten"

    def prepare(self, problem: Problem) -> Few:
        return Few(len(problem.arms))


def test_what_cannot_be_compiled_is_said_in_a_line() -> None:
    problem = load_problem("paper:two")
    with pytest.raises(InputError, match="nothing: prepare returned None: it must be a named tup"):
        prepare(Nothing(), problem)
    with pytest.raises(InputError, match=r"unwritten: its rule cannot be compiled: .* PlainPolicy"):
        simulate(problem, Unwritten(), horizon=10, runs=1)


class Pair(Nothing):
    def prepare(self, problem: Problem) -> Any:
        return 1, 2


class Sized(Nothing):
    def prepare(self, problem: Problem) -> Any:
        sized: Any = type("Sized", (), {"_fields": ()})
        return sized()


@pytest.mark.parametrize("policy", [Pair(), Sized()])
def test_what_is_prepared_is_a_named_tuple(policy: Policy) -> None:
    with pytest.raises(InputError, match=r"nothing: prepare returned .*: it must be a named tuple"):
        prepare(policy, load_problem("paper:two"))


def test_contexts_are_refused_by_who_knows_nothing_of_them() -> None:
    problem = Problem.bernoulli([[[0.6, 0.3], [0.2, 0.5]]], contexts=["a", "b"], name="shop")
    with pytest.raises(InputError) as caught:
        prepare(FPUCB(), problem)
    assert str(caught.value) == (
        "fp-ucb knows nothing of contexts, and shop has 2: frugal, thompson-theta or kl-ucb would "
        "do"
    )
    assert prepare(UCB1(), problem) == UCB1().prepare(problem)
    assert type(prepare(FPUCB(), load_problem("paper:two"))).__name__ == "FPUCBData"


NUMBAS = """Failed in nopython mode pipeline (step: nopython frontend)
- Resolution failure for literal arguments:
NumbaTypeError: Failed in nopython mode pipeline
{reason}>>> plan(int64)
{call}
File "{rule}", line 7:
File "{own}", line 8:
File "/lib/site-packages/numba/x.py", line 9:
File "second.py", line 10:
"""


@pytest.mark.parametrize(
    ("reason", "call", "rule", "said"),
    [
        ("TypingError: No match.\n", "", "mine.py", "No match. (mine.py, line 7)"),
        ("", ">>> sort(array(float64, 1d, C))", "mine.py", "sort(array(float64, 1d, C)) (mine.py"),
        ("", "", "mine.py", "Numba does not know how (mine.py, line 7)"),
        ("", "", "/x/site-packages/y.py", "Numba does not know how (second.py, line 10)"),
        (f"Error: {'x' * 300}\n", "", "mine.py", f"{'x' * 200} (mine.py, line 7)"),
    ],
)
def test_what_numba_says_is_cut_to_a_line(reason: str, call: str, rule: str, said: str) -> None:
    own = Path(compiling.__file__).parent / "policy.py"
    error = NumbaError(NUMBAS.format(reason=reason, call=call, rule=rule, own=own))
    told = str(uncompilable(Optimist(), error))
    assert told.startswith(f"optimist: its rule cannot be compiled: {said}")
    assert told.endswith("); a PlainPolicy need not be")
    assert str(uncompilable(Optimist(), NumbaError("?"))).endswith(
        "compiled: Numba does not know how; a PlainPolicy need not be"
    )


@jitted
def _twice(number: int) -> int:
    return 2 * number


def _sum_of_doubles(count: int) -> int:
    total = 0
    for number in range(count):
        total += _twice(number)
    return total


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("nothing_kept")
def test_machine_code_holds_a_loop_and_nothing_else() -> None:
    """All calls are within it; nothing is counted, C may not call it, and other threads go on."""
    loop: Any = compiled(_sum_of_doubles)
    assert loop(10) == 90
    (code,) = loop.inspect_llvm().values()
    assert code.count("define ") == 2  # the loop, and what Python calls
    assert "PyEval_SaveThread" in code
    assert not any(part in code for part in ("NRT_", "cfunc"))
    assert " mul " in code, "optimised to count·(count − 1)"


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compiling_as_before(collects: bool) -> None:
    (gc.enable if collects else gc.disable)()
    try:
        assert compiled(_twice)(4) == 8
        assert gc.isenabled() is collects
    finally:
        gc.enable()


@pytest.mark.usefixtures("nothing_kept")
def test_code_is_loaded_if_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """From this process, or from disk, and then it need not be read again."""
    first: Any = compiled(_twice)
    assert load_code(first, (4,)) is None
    assert first(4) == 8
    second: Any = compiled(_twice)
    for loop in (first, second):
        code = load_code(loop, (4,))
        assert code is loop.overloads[types.int64,].entry_point
        assert code(5) == 10
        assert load_code(loop, (4.5,)) is None
        assert loop.signatures == [(types.int64,)]
    third: Any = compiled(_twice)
    third._cache = _Nowhere()
    monkeypatch.setattr(_Nowhere, "has_warned", False)
    assert load_code(third, (4,)) is None  # and nobody is warned


def test_rules_are_not_played_where_compiling_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with pytest.raises(InputError, match=r"optimist: its rule must be compiled.*NUMBA_DISABLE_JIT"):
        prepare(Optimist(), load_problem("paper:two"))
