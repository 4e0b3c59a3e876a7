"""An agent in a notebook: what it has seen, what it waits for, which models are left."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from fpbandits.arrays import Floats
from fpbandits.errors import InputError, counted
from fpbandits.markup import and_more, html_table

if TYPE_CHECKING:
    from fpbandits.agent import Agent

_MOST_ARMS, _MOST_MODELS = 20, 5


def agent_html(agent: Agent, sums: Floats) -> str:
    """Return a row per arm, and a line on the models that still fit.

    ``sums`` are those of the rewards of each arm that count, on [0, 1].
    """
    low, width = agent.problem.range[0], agent.problem.rewards.width
    waiting, out = agent.waiting, Counter(agent.outstanding.values())
    plays = agent.plays
    rows = [
        [
            arm,
            f"{count:,}",
            f"{low + width * total / count:.4g}" if count else "",
            f"{out[arm]:,}" if arm in out else "",
            f"{waiting[arm].rewards:,}" if arm in waiting else "",
        ]
        for (arm, count), total in islice(zip(plays.items(), sums, strict=True), _MOST_ARMS)
    ]
    return html_table(
        f"{agent.problem.name}, {agent.policy}",
        ["arm", "rewards that count", "their mean", "outstanding", "waiting"],
        rows,
        above=[repr(agent).rpartition(": ")[2].removesuffix(")")],
        below=[*and_more(len(plays), len(rows), "arms", "in .plays"), *_models(agent)],
    )


def _models(agent: Agent) -> list[str]:
    try:
        fitting = list(agent.survivors())
    except InputError:  # a policy that rules nothing out
        return []
    some = "; ".join(fitting[:_MOST_MODELS]) or "none"
    more = and_more(len(fitting), min(len(fitting), _MOST_MODELS), "models", "in .survivors()")
    lines = [f"Models that still fit, the best first: {some}", *more]
    if agent.misfits:
        lines.append(f"No model fitted what was seen in {counted(agent.misfits, 'plan')}.")
    return lines
