"""Compiles policies in background threads, before the user plays them.

Compiling a policy takes seconds, once per machine; later its machine code is loaded from disk. A
simulation that needs a policy which is being compiled waits for its thread, so nothing is compiled
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock, Thread

from fpbandits.engine.compilations import IN_BACKGROUND
from fpbandits.engine.plain import PlainPolicy
from fpbandits.engine.policy import Policy
from fpbandits.policies import DEFAULT, POLICIES, parse_policy
from fpbandits.policies.shared.blind import BlindPolicy
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.kernel import new_progress
from fpbandits.simulation.spec import RunSpec

STARTERS = (DEFAULT.name, "ucb1")
"""The policies that are selected when the lab opens."""

_threads: dict[object, Thread] = {}
"""Threads that compile or have compiled.

The key is a policy's class, since its machine code serves all problems and options, or the names
that `compile_ahead` was given.
"""

_lock = Lock()
"""Guards `_threads`."""


def fastest_first(policies: Iterable[str]) -> list[str]:
    """Return policies in the order of compiling: first those without models, which compile fast."""
    return sorted(policies, key=lambda name: not isinstance(parse_policy(name), BlindPolicy))


def start_compiling(name: str, problem: Problem) -> Thread:
    """Compile a policy for simulations; return the thread that does it."""
    policy = parse_policy(name)
    return _start_once(type(policy), lambda: _play_briefly(policy, problem))


def compile_ahead(policies: Iterable[str], problem: Problem) -> Thread:
    """Compile these policies one after the other; return the thread that does it.

    A policy from a file is compiled when it is played, since loading the file runs it.
    """
    names = tuple(name for name in policies if name.partition(":")[0] in POLICIES)

    def compile_all() -> None:
        for name in fastest_first(names):
            start_compiling(name, problem).join()

    return _start_once(names, compile_all)


def _start_once(key: object, work: Callable[[], None]) -> Thread:
    """Start work in a thread, unless a thread with this key was started; return the thread."""

    def run() -> None:
        try:
            work()
        except Exception:
            # The user sees the error when the policy is played. It may be the problem's fault, so
            # compiling may be started again.
            with _lock:
                _threads.pop(key, None)

    with _lock:
        if key not in _threads:
            _threads[key] = Thread(target=run, name=IN_BACKGROUND, daemon=True)
            _threads[key].start()
        return _threads[key]


def _play_briefly(policy: Policy, problem: Problem) -> None:
    """Compile a policy by one short run; a plain one runs in Python, and needs no compiling."""
    if not isinstance(policy, PlainPolicy):
        cell = make_cell(problem, policy, RunSpec(horizon=10, truth=problem.models[0]))
        cell.play(range(1), new_progress())


if __name__ == "__main__":  # `make lab` runs this while it installs
    compile_ahead(STARTERS, built_in("paper:two")).join()
