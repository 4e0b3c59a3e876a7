"""What is prepared is shared while anyone holds it, and freed when no one does; so are streams."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from memory import measured, resident

from fpbandits import FPUCB, UCB1, Agent, Frugal, Policy, Problem, load_problem, simulate
from fpbandits.core.streams import run_stream
from fpbandits.engine import ready as module
from fpbandits.engine.compilations import IN_BACKGROUND
from fpbandits.engine.compiling import load_code
from fpbandits.engine.ready import ready, refusal
from fpbandits.policies import BPR, POLICIES, parse_policy


def other(number: int) -> Problem:
    return Problem.bernoulli([[0.1, 0.2 + number / 100]])


def test_what_is_ready_is_made_once_while_anyone_holds_it() -> None:
    mine = ready(FPUCB(), other(0))
    for number in range(1, 30):
        ready(FPUCB(), other(number))
    assert ready(FPUCB(), other(0)) is mine
    assert ready(UCB1(), other(0)) is not mine
    assert ready(FPUCB(slack=0.1), other(0)) is not mine


def test_what_no_one_holds_is_freed_when_eight_others_were_made_since() -> None:
    gone = weakref.ref(ready(FPUCB(), other(40)))
    for number in range(41, 49):
        ready(FPUCB(), other(number))
    gc.collect()
    assert gone() is None


def test_threads_have_scratch_space_of_their_own() -> None:
    own = ready(FPUCB(), other(0))
    assert own.workspace is own.workspace
    found = []
    thread = threading.Thread(target=lambda: found.append(own.workspace))
    thread.start()
    thread.join()
    assert found[0] is not own.workspace


BERNOULLI = Problem.bernoulli([[0.3, 0.6, 0.5], [0.7, 0.2, 0.4], [0.3, 0.5, 0.8]])
PROBLEMS = [
    BERNOULLI,
    Problem.bernoulli([[0.3, 0.6, 0.5], [0.7, 0.2, 0.4]], value=[9, 12, 15]),
    Problem.gaussian([[3, 6, 5], [7, 2, 4], [3, 5, 8]], 2.5),
    Problem.beta([[0.3, 0.6, 0.5], [0.7, 0.2, 0.4]], 4.0),
    Problem.discrete(
        [[[0.2, 0.3, 0.5]] * 2, [[0.5, 0.4, 0.1], [0.2, 0.2, 0.6]]], [0, 1, 3], range=(0, 3)
    ),
    Problem.bernoulli([[0.2, 0.7, 0.6], [0.6, 0.2, 0.7], [0.7, 0.6, 0.2]]),
    Problem.bernoulli(
        [[[0.3, 0.6], [0.5, 0.4]], [[0.7, 0.2], [0.4, 0.3]]], contexts=["a", "b"], shares=[0.3, 0.7]
    ),
]
WORDS = [
    *POLICIES,
    "frugal:false_alarm=0.14:trust=0.2",
    "optimist:false_alarm=0.37",
    "fp-ucb:slack=0.1",
]
WORDS += ["frugal:change_rate=0.02", "optimist:change_rate=0.02", "thompson-theta:change_rate=0.02"]
WORDS += ["frugal:likelihood=means", "frugal:horizon=300.0"]


@pytest.mark.parametrize("word", WORDS)
def test_in_python_a_rule_plays_as_compiled_bit_for_bit(word: str) -> None:
    """The compiled loop, beside the same loop in Python with the same stream of random numbers."""
    policy, played = parse_policy(word), 0
    for problem in PROBLEMS:
        if refusal(policy, problem) is not None:
            continue
        played += 1
        times = range(1, 301)
        result = simulate(
            problem, policy, truth="theta1", horizon=300, times=times, runs=1, seed=8, leap=False
        )
        assert result.pulls[word][0].tolist() == in_python(policy, problem, run_stream(8, 0))
    assert played >= 1


def in_python(policy: Policy, problem: Problem, random: np.random.Generator) -> list[list[int]]:
    """Plays of each pair after 1, 2, … 300 steps."""
    own, law, arms = ready(policy, problem), problem.rewards.law(0), len(problem.arms)
    state, upto = policy.new_state(problem), np.cumsum(problem.shares or (1.0,))
    policy.renew(own.workspace)
    counts: list[list[int]] = []
    cycle: list[int] = []
    while len(counts) < 300:
        context = 0
        if len(upto) > 1:
            context = min(int((random.random() >= upto).sum()), len(upto) - 1)
        here = own._view(state, context, None)[1]
        made, nothing = len(counts), own.none_pending
        arguments = own.prepared, here, own.workspace, made, nothing, random
        length = own._plan_in_python(*arguments)
        cycle = own.workspace.cycle[: 1 if own.several else length].tolist()
        for arm in cycle:
            pair = context * arms + arm
            total = problem.rewards.draw_sum(law, pair, 1, random, state.statistics[pair])
            policy.observe(own.prepared, here, arm if own.apart else pair, 1, total, random)
            counts.append(state.plays.tolist())
    return counts[:300]


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done in the background, in order; it is done at once."""
    work: list[str] = []

    class AtOnce(threading.Thread):
        def start(self) -> None:
            assert self.name == IN_BACKGROUND
            work.append(self._target.__name__)  # type: ignore[attr-defined]
            self.run()

    monkeypatch.setattr(threading, "Thread", AtOnce)
    return work


def asked(problem: Problem, decisions: int, policy: Policy | None = None) -> list[str]:
    agent = Agent(problem, policy or Frugal())
    arms = []
    for number in range(decisions):
        decision = agent.ask(among=problem.arms[number % 2 :])
        agent.tell(decision.id, number % 2)
        arms.append(decision.arm)
    return arms


def test_machine_code_takes_over_without_a_difference(
    background: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked for first, and compiled later: agents do not notice either."""
    monkeypatch.setattr(module, "load_code", lambda function, arguments: None)
    in_python = asked(other(50), 200)
    assert background == []
    monkeypatch.setattr(module, "LOAD_AFTER", -1.0)
    monkeypatch.setattr(module, "COMPILE_AFTER", 0.0)
    _forget()
    assert asked(other(50), 200) == in_python
    assert background == ["_load", "_compile"]
    assert ready(Frugal(), other(50))._machine_code is not None
    _forget()
    monkeypatch.setattr(module, "load_code", load_code)
    assert asked(other(50), 200) == in_python
    assert background == ["_load", "_compile", "_load"]


def _forget() -> None:
    module._ready.cache_clear()
    gc.collect()


def test_what_is_large_or_from_elsewhere_is_compiled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_for(policy: Policy, *others: Any) -> Any:
        compiled.append(policy.name)
        return lambda *arguments: 1

    monkeypatch.setattr(module, "compile_for", compile_for)
    asked(other(60), 1)
    assert compiled == []
    monkeypatch.setattr(module, "LARGE", 2)
    asked(other(61), 1)
    assert compiled == ["frugal"]
    monkeypatch.setattr(module, "LARGE", 10**9)
    asked(other(62), 1, Mine())
    assert compiled == ["frugal", "mine"]


class Mine(UCB1):
    name = "mine"


def test_why_a_policy_does_not_apply() -> None:
    assert refusal(BPR(), load_problem("paper:permutations")) is None
    assert "needs one largest mean" in str(refusal(BPR(), load_problem("paper:two")))


def test_problems_that_play_alike_keep_their_own_names() -> None:
    first, second = (Problem.bernoulli([[0.5, 0.4]], name=name) for name in ("first", "second"))
    assert first == second
    assert Agent(first).problem.name == "first"
    assert Agent(second).problem.name == "second"


def test_problems_that_differ_in_the_shares_of_contexts_alone_are_played_apart() -> None:
    means = [[[0.85, 0.58], [0.47, 0.75]], [[0.08, 0.69], [0.39, 0.13]]]
    for shares in ((0.98, 0.02), (0.02, 0.98)):
        problem = Problem.bernoulli(means, contexts=["a", "b"], shares=shares)
        assert ready(Frugal(), problem).problem.shares == shares
        assert ready(Frugal(), problem).prepared.shares.tolist() == list(shares)


LIVE = """
import threading
from fpbandits import Agent, load_problem
from fpbandits.policies import POLICIES
from fpbandits.engine import ready
ready.LOAD_AFTER = ready.COMPILE_AFTER = {after}
agent = Agent(load_problem("paper:permutations"), POLICIES[{name!r}]())
def work(decisions):
    for number in range(decisions):
        agent.tell(agent.ask().id, number % 2)
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
"""
COMPILED, IN_PYTHON = 0.0, 1e9


@measured
@pytest.mark.parametrize("after", [COMPILED, IN_PYTHON])
def test_memory_does_not_grow_with_decisions(after: float) -> None:
    _, before, later = resident(LIVE.format(name="thompson", after=after), 10, 1_000, 20_000)
    assert later - before < 5


@measured
@pytest.mark.nightly
@pytest.mark.parametrize("name", POLICIES)
def test_memory_does_not_grow_with_a_million_decisions(name: str) -> None:
    _, before, later = resident(LIVE.format(name=name, after=COMPILED), 10, 1_000, 10**6)
    assert later - before < 5
