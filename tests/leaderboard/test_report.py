"""The leaderboard's tables and its figure show every number in its place."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from rich.console import Console

from fpbandits.leaderboard import Leaderboard, Standing, WorstTruth, contests
from fpbandits.leaderboard.report import leaderboard_figure, leaderboard_table


def lines_of(board: Leaderboard, width: int = 132) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(leaderboard_table(board))
    return stream.getvalue().splitlines()


def practical() -> Leaderboard:
    """Three policies on the practice sets: one plays them all, one some, one none."""
    among = contests("practice", 7)
    of_all = {
        contest.name: Standing(n, 0.1, 10 * n, None, WorstTruth("theta1", 100 * n, 40 + n))
        for n, contest in enumerate(among, 1)
    }
    of_some = {
        contest.name: Standing(2, 0.1, 3, None, WorstTruth("theta2", 8765.4, 30))
        for contest in among
        if not contest.problem.contexts
    }
    standings = {"none": {}, "some [of] it": of_some, "optimist:false_alarm=0.001": of_all}
    return Leaderboard(among, standings, horizon=20_000, runs=400, seed=7)


def test_a_single_group_has_a_table_per_measure() -> None:
    board = practical()
    lines = lines_of(board)
    assert max(map(len, lines)) <= 132
    starts = [
        lines.index(title)
        for title in ("Mean regret", "95 % quantile", "Mean under the worst truth")
    ]
    for start, times in zip(starts, (1, 10, 100), strict=True):
        own = next(line for line in lines[start:] if line.startswith(":false")).split()
        assert own[1:] == [*(f"{times * n:,}" for n in range(1, 15)), "1.00"]
    some = [line.split()[3:] for line in lines if line.startswith("some [of] it")]
    assert [line.count("–") for line in some] == [4, 4, 4], "of those in contexts"
    assert some[2][0] == "8,765"
    partial = board.partial_score("some [of] it", "worst")
    assert some[2][-1] == f"*{partial:.2f}"
    fewest = next(line for line in lines if line.startswith("runs, at least")).split()[3:]
    apart = [bool(contest.problem.contexts) for contest in board.contests]
    assert fewest == [str(40 + n) if alone else "30" for n, alone in enumerate(apart, 1)]
    words = " ".join(" ".join(lines).split())
    for part in (
        "T = 20000, 400 runs",
        "sets of seed 7",
        "*: over those that the policy can play",
        "none can play none of them",
    ):
        assert part in words


def test_heads_are_whole_names() -> None:
    lines = lines_of(practical())
    rule = next(n for n, line in enumerate(lines) if line.startswith("───"))
    heads = " ".join(lines[1:rule]).split()
    names = [word for contest in contests("practice") for word in contest.name.split()]
    assert sorted(heads) == sorted([*names, "policy", "score"])


def test_wrong_models_alone_have_no_score() -> None:
    among = contests("wrong")
    own = {contest.name: Standing(1.25, 0.1, 2.5, None) for contest in among}
    lines = lines_of(Leaderboard(among, {"mine": own}, horizon=500, runs=20, seed=0))
    assert "score" not in " ".join(lines).lower()
    assert [line.split() for line in lines if line.startswith("mine")] == [
        ["mine", *["1.25"] * 8],
        ["mine", *["2.5"] * 8],
    ]


def test_several_groups_are_one_table() -> None:
    among = [contest for contest in contests() if contest.name != "256 [.4 …]"]
    whole = {contest.name: Standing(1.5, 0.1, 2.5, None) for contest in among}
    part = {contest.name: Standing(3.5, 0.1, 4, None) for contest in among[:2]}
    standings = {"whole": whole, "part": part}
    lines = lines_of(Leaderboard(among, standings, horizon=500, runs=20, seed=0))
    rows = [line.split() for line in lines if line.split()[:1] in (["whole"], ["part"])]
    assert rows[0] == ["whole", *["1.5", "(2.5)"] * 4, "1.5", "1.5", "1.00"]
    assert rows[1] == ["part", *["3.5", "(4)"] * 2, *["–"] * 4, "*2.00"]
    assert "*: over those that the policy can play" in " ".join(" ".join(lines).split())


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


def test_figure_of_practice_says_which_sets_they_are() -> None:
    axes = leaderboard_figure(practical()).axes[0]
    assert axes.get_title() == "Mean regret at T = 20000, 400 runs, arms shuffled, sets of seed 7"
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows == ["optimist:false_alarm=0.001", "some [of] it"], "who plays nothing has no row"
