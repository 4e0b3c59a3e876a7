"""UCB-S: what it counts as misfits. Its decisions: `test_init`."""

from __future__ import annotations

import math

from fpbandits import UCBS, Agent, Problem


def test_misfits_are_decisions_at_which_no_model_fits() -> None:
    """After one play the intervals are points, which says nothing of the models."""
    means = [[0.1, 0.9], [0.9, 0.1]]
    agent = Agent(Problem.bernoulli(means), UCBS())
    plays, misfits = [0, 0], 0
    for t in range(40):
        if t > 1:
            allowed = [math.sqrt(math.log(t) / n) if n else math.inf for n in plays]
            misfits += not any(
                all(abs(0.5 - mean) <= most for mean, most in zip(model, allowed, strict=True))
                for model in means
            )
        decision = agent.ask()
        plays[agent.problem.arms.index(decision.arm)] += 1
        agent.tell(decision, 0.5)
    assert agent.misfits == misfits
    assert 0 < misfits < 38
