"""The leaderboard's tables and its figure show every number in its place."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console

from fpbandits import Problem
from fpbandits.leaderboard import Contest, Leaderboard, Standing, WorstTruth, contests
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


def made_up(
    groups: Mapping[str, str],
    floors: Mapping[str, float],
    worst: bool,
    **policies: dict[str, tuple[float, int]],
) -> Leaderboard:
    """A board from each contest's group, and means and runs by policy and contest.

    A quantile is ten times the mean, and under the worst truth the mean is three times as large.
    """
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])
    among = [Contest(name, group, problem, ["theta1"]) for name, group in groups.items()]
    standings = {
        policy: {
            name: Standing(
                mean, 0.1, 10 * mean, None, WorstTruth("x", 3 * mean, runs) if worst else None
            )
            for name, (mean, runs) in own.items()
        }
        for policy, own in policies.items()
    }
    return Leaderboard(among, standings, horizon=500, runs=20, seed=3, floors=floors)


def text_of(board: Leaderboard) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines_of(board, 100))


def test_the_tables_of_a_group_with_floors() -> None:
    groups = {"ab cd ef gh": "random", "well-known": "random"}
    board = made_up(
        groups,
        {"well-known": 1.0},
        worst=False,
        ucb1={"ab cd ef gh": (1.5, 4), "well-known": (3.5, 7)},
        part={"well-known": (1.5, 9)},
    )
    # The others' regret is 3.5 and 35: (1.5 + ½)/(3.5 + ½) and (15 + ½)/(35 + ½).
    assert (
        text_of(board)
        == """\
Mean regret
       ab cd ef
policy       gh well-known score × floor
────────────────────────────────────────
ucb1        1.5        3.5  1.00    3.50
part          –        1.5 *0.50    1.50

floor         –          1

95 % quantile
       ab cd ef
policy       gh well-known score
────────────────────────────────
ucb1         15         35  1.00
part          –         15 *0.44

Regret at T = 500, 20 runs, arms shuffled. Score: regret as a multiple of the least, half the width
of the rewards' range added to both, in the geometric mean over all contests. *: over those that the
policy can play. × floor: as a multiple of the least that any policy can lose, where that is known.
"""
    )


def test_the_tables_of_practice_without_floors() -> None:
    board = made_up(
        {"one": "practice", "b": "practice"},
        {},
        worst=True,
        ucb1={"one": (1.5, 4), "b": (3.5, 7)},
        part={"b": (1.5, 9)},
        idle={},
    )
    assert (
        text_of(board)
        == """\
Mean regret
policy one   b score
────────────────────
ucb1   1.5 3.5  1.00
part     – 1.5 *0.50

95 % quantile
policy one  b score
───────────────────
ucb1    15 35  1.00
part     – 15 *0.44

Mean under the worst truth
policy         one    b score
─────────────────────────────
ucb1           4.5 10.5  1.00
part             –  4.5 *0.45

runs, at least   4    7

Regret at T = 500, 20 runs, arms shuffled, the truth of each run drawn from the prior; sets of seed
3. The worst truth is the one with the largest mean, of those that were played; the last row has the
fewest runs behind any mean above it: few say little. Score: regret as a multiple of the least, half
the width of the rewards' range added to both, in the geometric mean over all contests. *: over
those that the policy can play. idle can play none of them.
"""
    )


def test_the_table_of_all_groups() -> None:
    board = made_up(
        {
            "two of a kind and more": "paper",
            "mine": "own",
            "r": "random",
            "s": "random",
            "w": "wrong",
        },
        {"mine": 1.0},
        worst=False,
        ucb1={
            "two of a kind and more": (1.5, 4),
            "mine": (3.5, 7),
            "r": (2.5, 1),
            "s": (7.5, 1),
            "w": (9.5, 1),
        },
        part={"mine": (1.5, 9), "r": (1, 1)},
    )
    # Of part: (1.5 + ½)/(3.5 + ½) and (1 + ½)/(2.5 + ½), as only ucb1 plays all.
    assert (
        text_of(board)
        == """
         two of a kind
 policy       and more      mine  random  wrong  score  × floor
 ──────────────────────────────────────────────────────────────
 ucb1         1.5 (15)  3.5 (35)       5    9.5   1.00     3.50
 part                –  1.5 (15)       –      –  *0.50     1.50

Mean regret (95 % quantile) at T = 500, 20 runs, arms shuffled; the mean over the random problems
and over wrong models. Score: regret as a multiple of the least, half the width of the rewards'
range added to both, in the geometric mean over all contests but those of wrong models. *: over
those that the policy can play. × floor: as a multiple of the least that any policy can lose, where
that is known.
"""
    )
    alone = made_up({"mine": "own"}, {}, worst=False, ucb1={"mine": (3.5, 7)})
    assert (
        text_of(alone)
        == """
 policy      mine  score
 ───────────────────────
 ucb1    3.5 (35)   1.00

Mean regret (95 % quantile) at T = 500, 20 runs, arms shuffled. Score: regret as a multiple of the
least, half the width of the rewards' range added to both, in the geometric mean over all contests.
"""
    )


def test_numbers_and_colours_of_the_figure() -> None:
    means = {999.4: "999", 999.7: "1000", 999_999.4: "999999", 1_000_000.2: "1 million"}
    groups = {f"$a_{{{number}$": "own" for number in range(4)}
    of = {name: (mean, 1) for name, mean in zip(groups, means, strict=True)}
    axes = leaderboard_figure(made_up(groups, {}, worst=False, ucb1=of)).axes[0]
    assert [text.get_text() for text in axes.texts] == list(means.values())
    norm: Any = axes.images[0].norm
    assert (norm.vmin, norm.vmax) == (1, 100)
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert [label.get_text() for label in labels] == [*groups, "ucb1"]
    assert not any(label.get_parse_math() for label in labels)
