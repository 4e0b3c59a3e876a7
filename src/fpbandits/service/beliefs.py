"""What a unit's agent has seen and believes, and why it decides as it does, as HTTP shows them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError
from fpbandits.service.batches import unit_failure
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import decision_name, is_name
from fpbandits.service.statuses import unknown_unit
from fpbandits.service.store import Store
from fpbandits.service.unit_state import unpack_unit


def read_unit(
    store: Store, experiment: Experiment, unit: str, context: str | None, error: float
) -> dict[str, Any]:
    """Return all that is known of a unit as of its last event; call this in a thread.

    ``error`` is the probability with which the unit's verdict, its best arm, may be wrong.
    """
    row = store.unit((experiment.id, unit)) if is_name(unit) else None
    if row is None or row.state is None:  # a row without a state: all its requests were refused
        raise unknown_unit(unit)
    if not experiment.is_current:
        experiment.check_serving()  # an error that says what to do
    try:
        agent, _ = unpack_unit(experiment, unit, row.state)
    except Exception as failure:  # its state is damaged; the store is well
        raise unit_failure(experiment, unit, failure) from None
    return {**seen(agent, unit), "events": row.steps, **beliefs(agent, context, error)}


def seen(agent: Agent, unit: str) -> dict[str, Any]:
    """Return what an agent has played, which models fit, and what is pending or blocked.

    ``misfits`` is how many decisions were planned while no model fitted, ``blocked`` how many
    rewards of each arm do not count yet, ``pending`` the arms of decisions without a reward.
    """
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
    """Return posterior, best arm, verdict at an ``error``, and reasons; None for what there is not.

    There is no posterior, and nothing that follows from it, if no model allows the rewards. There
    is no verdict while none is sure enough, or if the truth may change. With contexts, all but the
    posterior need one to be named.
    """
    answer: dict[str, Any] = dict.fromkeys(("posterior", "best_arm", "verdict", "why"))
    context_known = context is not None or not agent.problem.contexts
    if context_known:
        answer["why"] = agent.why(context).as_dict()
    try:
        answer["posterior"] = agent.posterior()
        if context_known:
            answer["best_arm"] = asdict(agent.best_arm(context))
            answer["verdict"] = agent.verdict(error, context)
    except ConflictError:  # what the agent refuses, and what comes after it, stays None
        pass
    return answer
