"""An agent in a notebook: what it has seen, what it waits for, which models are left."""

from __future__ import annotations

from collections import Counter
from itertools import islice, product
from typing import TYPE_CHECKING

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.markup import and_more, html_table
from fpbandits.errors import counted

if TYPE_CHECKING:
    from fpbandits.agent.agent import Agent

_MOST_ARMS, _MOST_MODELS = 20, 5


def agent_html(agent: Agent, plays: Counts, sums: Floats) -> str:
    """Return a row per arm, in each context if there are any, and a line on models that still fit.

    ``plays`` and ``sums`` are those of the rewards that count, by pair; sums are on [0, 1].
    """
    problem, blocked, out = agent.problem, agent.blocked, Counter(agent.pending.values())
    zero, width = problem.rewards.zero, problem.rewards.width
    places = product(*([problem.contexts] if problem.contexts else []), problem.arms)
    rows = [
        [
            *place,
            f"{count:,}",
            f"{zero + width * total / count:.4g}" if count else "",
            f"{out[pair]:,}" if pair in out else "",
            f"{blocked[pair].rewards:,}" if pair in blocked else "",
        ]
        for place, pair, count, total in islice(
            zip(places, problem.pair_names, plays.tolist(), sums.tolist(), strict=True), _MOST_ARMS
        )
    ]
    names = ["context", "arm"] if problem.contexts else ["arm"]
    return html_table(
        f"{problem.name}, {agent.policy}",
        [*names, "rewards that count", "their mean", "pending", "blocked"],
        rows,
        text_columns=len(names),
        above=[repr(agent).rpartition(": ")[2].removesuffix(")")],
        below=[
            *and_more(
                problem.pairs, len(rows), "rows" if problem.contexts else "arms", "in .plays"
            ),
            *_models(agent),
        ],
    )


def _models(agent: Agent) -> list[str]:
    fitting = list(agent.plausible())
    some = "; ".join(fitting[:_MOST_MODELS]) or "none"
    more = and_more(len(fitting), min(len(fitting), _MOST_MODELS), "models", "in .plausible()")
    lines = [f"Models that still fit, the best first: {some}", *more]
    if agent.misfits:
        lines.append(f"No model fitted what was seen in {counted(agent.misfits, 'decision')}.")
    return lines
