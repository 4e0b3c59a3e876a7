"""Machine code: of the rule that is meant, and holding on to nothing that it is given."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import config, njit
from numba.core import runtime

from fpbandits import InputError, Optimist, Policy, Problem, load_problem, simulate
from fpbandits.engine import compiling
from fpbandits.engine.compiling import compiled, prepare
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


def test_rules_are_not_played_where_compiling_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with pytest.raises(InputError, match=r"optimist: its rule must be compiled.*NUMBA_DISABLE_JIT"):
        prepare(Optimist(), load_problem("paper:two"))
