"""What a unit's agent believes, why it decides as it does, and whether it may stop, over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError


def beliefs(agent: Agent, context: str | None, error: float) -> dict[str, Any]:
    """Return posterior, best arm, verdict and reasons.

    Where there is none it is None: a posterior that rewards refute, a verdict under a change rate;
    and with contexts all but the posterior, unless one of them is named.
    """
    found: dict[str, Any] = dict.fromkeys(("posterior", "best_arm", "verdict", "why"))
    named = context is not None or not agent.problem.contexts
    if named:
        found["why"] = agent.why(context).as_dict()
    try:
        found["posterior"] = agent.posterior()
        if named:
            found["best_arm"] = asdict(agent.best_arm(context))
            found["verdict"] = agent.verdict(error, context)
    except ConflictError:  # what it refuses stays None
        pass
    return found
