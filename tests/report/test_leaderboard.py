"""The leaderboard's figure shows every mean in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits.leaderboard import Leaderboard, Standing, contests
from fpbandits.report.leaderboard import leaderboard_figure


def test_every_mean_is_in_its_place() -> None:
    some = contests("paper")[:2]
    means = {"mine": (1.5, 2.5), "$other_": (3.5, 19999.5), "little": (7.5,)}
    standings = {
        policy: {
            contest.name: Standing(mean, 0.1, mean, None)
            for contest, mean in zip(some, own, strict=False)
        }
        for policy, own in means.items()
    }
    board = Leaderboard(some, standings, horizon=500, runs=20, seed=0)
    axes = leaderboard_figure(board).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["mine", "$other_", "little"]
    shown = {text.get_position(): text.get_text() for text in axes.texts}
    assert shown == {(0, 0): "1.5", (1, 0): "2.5", (0, 1): "3.5", (1, 1): "20000", (0, 2): "7.5"}
    shades: Any = axes.images[0].get_array()
    np.testing.assert_allclose(shades[:, 0], [1, 2, 4])
    assert shades[0, 1] == 1
    assert shades.mask[2, 1], "what was not played is left white"
    assert axes.get_title() == "Mean regret at T = 500, 20 runs, arms shuffled"
