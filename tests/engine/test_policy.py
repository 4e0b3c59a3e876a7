"""What every policy has: counters with a meaning, options that are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, Agent, InputError, Optimist, load_problem
from fpbandits.engine.contract import CLOCK, MISFITS


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


def test_who_looks_at_more_of_a_reward_than_its_mean() -> None:
    """The others may leap where a reward's statistics can stray, as those of Beta rewards do."""
    assert Optimist().looks_at_laws
    assert not Optimist(likelihood="means").looks_at_laws
    assert not FPUCB().looks_at_laws
