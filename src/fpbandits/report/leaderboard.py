"""The leaderboard drawn: a row per policy, a column per contest, the darker the worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.checks import amount
from fpbandits.report.figures import blank, own_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.leaderboard import Leaderboard


@own_style()
def leaderboard_figure(board: Leaderboard) -> Figure:
    """Draw how far every policy is from the best in every contest."""
    from matplotlib.colors import LogNorm

    ranking, names = board.ranking, [contest.name for contest in board.contests]
    size = (max(2.4 + 0.62 * len(names), 6.6), 2.6 + 0.34 * len(ranking))
    figure = blank(*size)
    axes = figure.subplots()
    shades = np.full((len(ranking), len(names)), np.nan)
    for row, policy in enumerate(ranking):
        for column, name in enumerate(names):
            if name in board.standings[policy]:
                shades[row, column] = times_best = board.times_best(policy, name)
                mean = board.standings[policy][name].mean
                text = (
                    f"{mean:.3g}" if mean < 1000 else f"{mean:.0f}" if mean < 1e6 else amount(mean)
                )
                colour = "white" if times_best > 10 else "black"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    image = axes.imshow(shades, cmap="cividis_r", norm=LogNorm(1, 100), aspect="auto")
    style: Any = {"rotation": 60, "ha": "right", "fontsize": 8, "parse_math": False}
    axes.set_xticks(range(len(names)), names, **style)
    axes.set_yticks(range(len(ranking)), ranking, fontsize=9, parse_math=False)
    figure.colorbar(image, ax=axes, label="mean regret as a multiple of the least", pad=0.01)
    title = f"Mean regret at T = {board.horizon:.6g}, {board.runs:,} runs, arms shuffled"
    axes.set_title(title, fontsize=11)
    return figure
