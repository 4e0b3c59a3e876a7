"""Policies are compiled in the background before they are played.

Compiling a policy takes seconds, once per machine; then its machine code is found on disk. It
begins when the page is open, in a daemon thread. A simulation that needs the policy earlier waits
for that thread, so nothing is compiled twice.
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
"""The policies that are chosen at first."""

_begun: dict[object, Thread] = {}
_guard = Lock()


def soonest_first(words: Iterable[str]) -> list[str]:
    """Return policies, those that compile fastest first: the ones that do not use Θ."""
    return sorted(words, key=lambda word: not isinstance(parse_policy(word), BlindPolicy))


def compiling(word: str, problem: Problem) -> Thread:
    """Have a policy compiled for simulations; return the thread that does it."""
    policy = parse_policy(word)
    return _once(type(policy), lambda: _play(policy, problem))


def compile_ahead(words: Iterable[str], problem: Problem) -> Thread:
    """Have these policies compiled for simulations.

    Policies from files wait until they are played: loading such a file runs it.
    """
    known = tuple(word for word in words if word.partition(":")[0] in POLICIES)
    return _once(known, lambda: _all(known, problem))


def _once(what: object, work: Callable[[], None]) -> Thread:
    """Start work in a thread, unless it was started before."""
    with _guard:
        if what not in _begun:
            _begun[what] = Thread(
                target=_quietly, args=[work, what], name=IN_BACKGROUND, daemon=True
            )
            _begun[what].start()
        return _begun[what]


def _quietly(work: Callable[[], None], key: object) -> None:
    try:
        work()
    except Exception:  # playing it will raise the same; another problem may do
        with _guard:
            _begun.pop(key, None)


def _play(policy: Policy, problem: Problem) -> None:
    if not isinstance(policy, PlainPolicy):
        cell = make_cell(problem, policy, RunSpec(horizon=10, runs=1, truth=problem.models[0]))
        cell.play(range(1), new_progress())


def _all(words: tuple[str, ...], problem: Problem) -> None:
    for word in soonest_first(words):
        compiling(word, problem).join()


if __name__ == "__main__":  # as a part of installing
    compile_ahead(STARTERS, built_in("paper:two")).join()
