"""What a unit's agent has seen and believes, and why it decides as it does, as HTTP shows them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError
from fpbandits.service.messages import decision_name


def seen(agent: Agent, unit: str) -> dict[str, Any]:
    """Return what an agent has played, and which models fit the rewards."""
    return {
        "unit": unit,
        "plays": agent.plays,
        "plausible": agent.plausible(),
        "spread_fits": agent.spread_fits,
        "misfits": agent.misfits,
        "pending": {decision_name(unit, number): arm for number, arm in agent.pending.items()},
        "blocked": {arm: blocked.rewards for arm, blocked in agent.blocked.items()},
    }


def beliefs(agent: Agent, context: str | None, error: float) -> dict[str, Any]:
    """Return posterior, best arm, verdict and reasons.

    Each is None where the agent has none: no posterior if no model allows the rewards, no verdict
    if the truth may change. With contexts, all but the posterior need one to be named.
    """
    answer: dict[str, Any] = dict.fromkeys(("posterior", "best_arm", "verdict", "why"))
    has_context = context is not None or not agent.problem.contexts
    if has_context:
        answer["why"] = agent.why(context).as_dict()
    try:
        answer["posterior"] = agent.posterior()
        if has_context:
            answer["best_arm"] = asdict(agent.best_arm(context))
            answer["verdict"] = agent.verdict(error, context)
    except ConflictError:  # what the agent refuses stays None
        pass
    return answer
