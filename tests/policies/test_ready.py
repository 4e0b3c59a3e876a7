"""What is prepared is shared while anyone holds it, and freed when no one does; so are streams."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from memory import measured, resident

from fpbandits import FPUCB, UCB1, Agent, Problem, load_problem
from fpbandits.policies import BPR, POLICIES
from fpbandits.policies.ready import ready, refusal


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
    assert own.scratch is own.scratch
    found = []
    thread = threading.Thread(target=lambda: found.append(own.scratch))
    thread.start()
    thread.join()
    assert found[0] is not own.scratch


def test_why_a_policy_does_not_apply() -> None:
    assert refusal(BPR(), load_problem("paper:permutations")) is None
    assert "needs one largest mean" in str(refusal(BPR(), load_problem("paper:two")))


def test_problems_that_play_alike_keep_their_own_names() -> None:
    first, second = (Problem.bernoulli([[0.5, 0.4]], name=name) for name in ("first", "second"))
    assert first == second
    assert Agent(first).problem.name == "first"
    assert Agent(second).problem.name == "second"


LIVE = """
from fpbandits import Agent, load_problem
from fpbandits.policies import POLICIES
agent = Agent(load_problem("paper:permutations"), POLICIES[{name!r}]())
def work(decisions):
    for number in range(decisions):
        agent.tell(agent.ask().id, number % 2)
"""


@measured
def test_memory_does_not_grow_with_decisions() -> None:
    before, after = resident(LIVE.format(name="thompson"), 1_000, 20_000)
    assert after - before < 5


@measured
@pytest.mark.nightly
@pytest.mark.parametrize("name", POLICIES)
def test_memory_does_not_grow_with_a_million_decisions(name: str) -> None:
    before, after = resident(LIVE.format(name=name), 1_000, 10**6)
    assert after - before < 5
