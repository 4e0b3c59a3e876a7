"""An agent in a notebook: what it has seen, what it believes, what is pending."""

from __future__ import annotations

from collections import Counter
from itertools import islice, product
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.agent.belief import chances_and_losses
from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import amount
from fpbandits.core.markup import and_more, html_table
from fpbandits.errors import ConflictError, counted

if TYPE_CHECKING:
    from fpbandits.agent.agent import Agent

_MOST_ARMS = 20
"""The most rows of the table."""

_MOST_MODELS = 5
"""The most models named below it."""


def agent_html(agent: Agent, plays: Counts, sums: Floats) -> str:
    """Return a table with a row per arm, in each context if there are any, and lines on models.

    ``plays`` and ``sums`` are those of the rewards that count, by pair; sums are on [0, 1].
    """
    problem, blocked, pending = agent.problem, agent.blocked, Counter(agent.pending.values())
    zero, width = problem.rewards.zero, problem.rewards.width
    labels = product(*([problem.contexts] if problem.contexts else []), problem.arms)
    posterior = _posterior(agent)
    beliefs = _beliefs(agent, posterior)
    rows = [
        [
            *names,
            f"{count:,}",
            f"{zero + width * total / count:.4g}" if count else "",
            *belief,
            f"{pending[pair]:,}" if pair in pending else "",
            f"{blocked[pair].rewards:,}" if pair in blocked else "",
        ]
        for names, pair, count, total, belief in islice(
            zip(labels, problem.pair_names, plays.tolist(), sums.tolist(), beliefs, strict=True),
            _MOST_ARMS,
        )
    ]
    texts = ["context", "arm"] if problem.contexts else ["arm"]
    counts = ["rewards that count", "their mean"]
    return html_table(
        f"{problem.name}, {agent.policy}",
        [*texts, *counts, "best with probability", "expected loss", "pending", "blocked"],
        rows,
        text_columns=len(texts),
        above=[repr(agent).rpartition(": ")[2].removesuffix(")")],
        below=[
            *and_more(
                problem.pairs, len(rows), "rows" if problem.contexts else "arms", "in .plays"
            ),
            *_likely(posterior),
            *_fitting(agent),
        ],
    )


def _posterior(agent: Agent) -> dict[str, float]:
    try:
        return agent.posterior()
    except ConflictError:  # no model allows what was seen
        return {}


def _beliefs(agent: Agent, posterior: dict[str, float]) -> list[tuple[str, str]]:
    """Return for each pair how likely it is best, and what it is expected to lose."""
    problem = agent.problem
    if not posterior:
        return [("", "")] * problem.pairs
    weights, contexts = np.array(list(posterior.values())), max(1, len(problem.contexts))
    beliefs = []
    for context in range(contexts):
        chances, losses = chances_and_losses(problem, weights, context)
        beliefs += [
            (f"{chance:.3g}", amount(loss))
            for chance, loss in zip(chances.tolist(), losses.tolist(), strict=True)
        ]
    return beliefs


def _likely(posterior: dict[str, float]) -> list[str]:
    """Name the likeliest models."""
    if not posterior:
        return ["No model allows all rewards that count, so there is no posterior."]
    order = sorted(posterior, key=lambda model: -posterior[model])[:_MOST_MODELS]
    likeliest = "; ".join(f"{model} {posterior[model]:.3g}" for model in order)
    more = and_more(len(posterior), len(order), "models", "in .posterior()")
    return [f"Posterior, the likeliest first: {likeliest}", *more]


def _fitting(agent: Agent) -> list[str]:
    """Name the models that fit the rewards, and say what does not fit."""
    try:
        fitting = list(agent.plausible())
    except ConflictError:
        return ["No model allows what was seen."]
    named = "; ".join(fitting[:_MOST_MODELS]) or "none"
    more = and_more(len(fitting), min(len(fitting), _MOST_MODELS), "models", "in .plausible()")
    lines = [f"Models that still fit, the best first: {named}", *more]
    if not agent.spread_fits:
        lines.append("Rewards do not spread as these models say.")
    if agent.misfits:
        lines.append(f"No model fitted what was seen in {counted(agent.misfits, 'decision')}.")
    return lines
