"""An agent in a notebook: what it has seen, what it believes, what is pending."""

from __future__ import annotations

from collections import Counter
from itertools import islice, product
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.agent.belief import chances_and_losses
from fpbandits.agent.why import MOST_MODELS, MOST_ROWS, heaviest
from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import amount
from fpbandits.core.markup import and_more, html_table
from fpbandits.errors import ConflictError

if TYPE_CHECKING:
    from fpbandits.agent.agent import Agent


def agent_html(agent: Agent, plays: Counts, sums: Floats) -> str:
    """Return a table with a row per arm, in each context if there are any, and lines on models.

    ``plays`` and ``sums`` are those of the rewards that count, by pair of a context and an arm, in
    the units of policies: `Problem.rewards` has their ``zero`` and ``width``.
    """
    problem, blocked = agent.problem, agent.blocked
    pending = Counter(agent.pending.values())  # how many decisions, by name of the pair
    zero, width = problem.rewards.zero, problem.rewards.width
    cells = product(*([problem.contexts] if problem.contexts else []), problem.arms)
    posterior = _posterior(agent)
    beliefs = _beliefs(agent, posterior)
    rows = [
        [
            *texts,
            f"{count:,}",
            f"{zero + width * total / count:.4g}" if count else "",
            *belief,
            f"{pending[pair_name]:,}" if pair_name in pending else "",
            f"{blocked[pair_name].rewards:,}" if pair_name in blocked else "",
        ]
        for texts, pair_name, count, total, belief in islice(
            zip(cells, problem.pair_names, plays.tolist(), sums.tolist(), beliefs, strict=True),
            MOST_ROWS,
        )
    ]
    names = ["context", "arm"] if problem.contexts else ["arm"]
    counts = ["rewards that count", "their mean"]
    return html_table(
        f"{problem.name}, {agent.policy}",
        [*names, *counts, "best with probability", "expected loss", "pending", "blocked"],
        rows,
        text_columns=len(names),
        above=[repr(agent).rpartition(": ")[2].removesuffix(")")],  # "3 asked, 1 pending"
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
    return heaviest(posterior, "Posterior, the likeliest first", "in .posterior()")


def _fitting(agent: Agent) -> list[str]:
    """Name the models that fit the rewards; warn if their spread does not, or none ever fitted."""
    fitting = list(agent.plausible())
    named = "; ".join(fitting[:MOST_MODELS]) or "none"
    more = and_more(len(fitting), min(len(fitting), MOST_MODELS), "models", "in .plausible()")
    lines = [f"Models whose means fit, the best first: {named}", *more]
    if not agent.spread_fits:
        lines.append("Rewards do not spread as these models say.")
    if agent.misfits:
        lines.append(f"Decisions planned while no model fitted: {agent.misfits:,}.")
    return lines
