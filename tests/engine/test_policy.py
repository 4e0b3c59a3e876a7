"""What every policy has: counters with a meaning, options that are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, Agent, InputError, Optimist, Policy, Problem, load_problem
from fpbandits.engine.contract import CLOCK, MISFITS
from fpbandits.engine.policy import Contexts, Eligible


def test_bad_options_in_python() -> None:
    with pytest.raises(InputError, match="it must be 0 or more"):
        FPUCB(slack=10**400)
    for slack in ("much", True, None):
        with pytest.raises(InputError, match="slack must be a number"):
            FPUCB(slack=slack)  # type: ignore[arg-type]  # the mistake that is tested


def test_unused_counter_names() -> None:
    """UCB1 counts plays, FP-UCB episodes; both leave the count of misfits at its place."""
    problem = load_problem("paper:two")
    for policy in (UCB1(), FPUCB()):
        agent = Agent(problem, policy)
        for _ in range(10):
            agent.tell(agent.ask().id, 1)
        assert agent._seen.counters[CLOCK] > 0
        assert agent._seen.counters[MISFITS] == 0


@pytest.mark.parametrize("value", [np.complex128(1), np.timedelta64(1), 1j, "1", True, np.True_])
def test_options_are_real_numbers(value: Any) -> None:
    with pytest.raises(InputError, match="fp-ucb: slack must be a number, not "):
        FPUCB(slack=value)


@dataclass(frozen=True)
class Silent(Policy):
    size: float = 2.0
    name = "silent"

    def prepare(self, problem: Problem) -> Any:
        return None


class Apart(Silent):
    contexts = Contexts.APART


def test_what_a_policy_is_that_says_nothing_of_itself() -> None:
    policy, problem = Silent(), Problem.beta([[[0.5, 0.4]] * 3], 4.0, contexts=["a", "b", "c"])
    assert (policy.revision, policy.leaps, policy.randomised) == (1, True, False)
    assert (policy.contexts, policy.eligible) == (Contexts.REFUSED, Eligible.REFUSED)
    assert (policy.knows, policy.guarantee) == ("not said", "none claimed")
    assert not policy.follows(problem)
    assert not policy.looks_at_laws
    state = policy.new_state(problem)
    assert policy.chance(None, state, None, 0) is None
    assert policy.reasons(problem, None, state, None) is None
    assert [str(each) for each in (policy, Silent(3))] == ["silent", "silent:size=3.0"]
    # Of 6 pairs; a leap draws a bound and a chance for each of 2 arms.
    assert [each.shape for each in state] == [(6,), (6,), (5,), (3,), (6, 2), (0,)]
    assert Apart().new_state(problem).counters.shape == (15,)
    assert Apart().new_state(Problem.bernoulli([[0.5, 0.4]])).counters.shape == (5,)
    policy.observe(None, state, 4, 3, 1.5, np.random.default_rng(0))
    assert (state.plays[4], state.sums[4], state.counters[CLOCK]) == (3, 1.5, 3)


def test_who_looks_at_more_of_a_reward_than_its_mean() -> None:
    """The others may leap where a reward's statistics can stray, as those of Beta rewards do."""
    assert Optimist().looks_at_laws
    assert not Optimist(likelihood="means").looks_at_laws
    assert not FPUCB().looks_at_laws
