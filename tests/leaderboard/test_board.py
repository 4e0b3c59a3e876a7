"""Scores add up, and what is written is whole."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from fpbandits import FPUCB, UCB1, Optimist, Problem
from fpbandits.leaderboard import Contest, Leaderboard, Standing, WorstTruth, contests, play
from fpbandits.leaderboard.board import Measure
from fpbandits.policies import BPR


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    chosen = {"fp-ucb": FPUCB(), "optimist": Optimist(), "ucb1": UCB1(), "bpr": BPR()}
    some = [contest for contest in contests() if "256" not in contest.name]
    return play(runs=20, horizon=500, seed=3, policies=chosen, among=some)


def test_scores_by_hand(board: Leaderboard) -> None:
    assert "two θ¹" not in board.standings["bpr"], "the largest means differ"
    assert "24 permutations" in board.standings["bpr"]
    assert board.score("bpr") is None
    ratios = []
    for contest in board.contests:
        if contest.group != "wrong":
            means = {
                p: own[contest.name].mean
                for p, own in board.standings.items()
                if contest.name in own
            }
            ratios.append((means["ucb1"] + 0.5) / (min(means.values()) + 0.5))
    assert board.score("ucb1") == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))
    assert board.ranking[0] == "optimist"
    assert board.ranking[-1] == "bpr"


def test_it_is_written_whole(board: Leaderboard, tmp_path: Path) -> None:
    board.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "leaderboard.json",
        "leaderboard.png",
        "leaderboard.svg",
    ]
    text = (tmp_path / "leaderboard.json").read_text()
    assert text == json.dumps(board.as_dict(), indent=1) + "\n"
    written = json.loads(text)
    assert (written["schema"], written["delay"], written["seed"]) == (1, 0, 3)
    assert list(written["policies"]) == board.ranking
    assert written["policies"]["ucb1"]["contests"]["two θ²"]["mean"] > 0
    assert {"schema", "seed", "runs", "horizon", "versions"} <= written.keys()


def test_numbers_are_written_before_anything_is_drawn(
    board: Leaderboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("fpbandits.leaderboard.board.leaderboard_figure", fails)
    with pytest.raises(RuntimeError):
        board.save(tmp_path)
    assert json.loads((tmp_path / "leaderboard.json").read_text()) == board.as_dict()


def by_hand(**contests_of: dict[str, tuple[float, float, float]]) -> Leaderboard:
    """A board of mean, 95 % quantile and worst truth by policy and contest, in units of 4."""
    problem = Problem.bernoulli([[4, 2], [1, 2]], range=(0, 4))
    names = ("one", "two")
    standings = {
        policy: {
            name: Standing(mean, 0.1, q95, None, WorstTruth("theta2", worst, 3))
            for name, (mean, q95, worst) in own.items()
        }
        for policy, own in contests_of.items()
    }
    among = [Contest(name, "practice", problem, ["prior"]) for name in names]
    return Leaderboard(among, standings, horizon=500, runs=20, seed=0)


def test_policies_that_play_different_contests_are_compared_in_each() -> None:
    board = by_hand(a={"one": (6, 6, 6)}, b={"two": (2, 2, 2)}, c={"two": (6, 6, 6)})
    # With half a unit, 2: 8 against 4.
    assert [board.partial_score(policy) for policy in "abc"] == [1, 1, pytest.approx(2)]
    assert board.as_dict()["policies"]["c"]["score"] is None


def test_scores_of_the_mean_the_quantile_and_the_worst_truth() -> None:
    board = by_hand(
        a={"one": (6, 14, 30), "two": (2, 6, 43)},
        b={"one": (2, 62, 62), "two": (6, 2, 3)},
        narrow={"two": (0, 1, 0.5)},
        nowhere={},
    )
    # With half a unit, 2: 8 and 4 against 4 and 8; 16 and 8 against 64 and 4; 32 and 45 against
    # 64 and 5. So the products of multiples are 2 and 2, 2 and 4, 9 and 2.
    products: dict[Measure, tuple[float, float]] = {"mean": (2, 2), "q95": (2, 4), "worst": (9, 2)}
    for measure, (of_a, of_b) in products.items():
        assert board.score("a", measure) == pytest.approx(math.sqrt(of_a))
        assert board.score("b", measure) == pytest.approx(math.sqrt(of_b))
    assert board.score("narrow") is None
    assert board.partial_score("narrow") == pytest.approx(2 / 4), "better than all who play both"
    assert board.partial_score("narrow", "q95") == pytest.approx(3 / 4)
    assert board.partial_score("narrow", "worst") == pytest.approx(2.5 / 5)
    assert board.partial_score("nowhere") is None
    assert board.ranking == ["a", "b", "narrow", "nowhere"]
    told = board.as_dict()["policies"]
    assert told["narrow"]["score"] is None
    assert told["narrow"]["scores"] == pytest.approx({"mean": 0.5, "q95": 0.75, "worst": 0.5})
    assert told["a"]["contests"]["one"]["worst"] == {"truth": "theta2", "mean": 30, "runs": 3}
    assert json.loads(json.dumps(board.as_dict())) == board.as_dict()


def test_a_board_says_how_late_rewards_were() -> None:
    board = play(
        runs=2,
        horizon=20,
        delay="batch:5",
        policies={"ucb1": UCB1()},  # each would be compiled again for late rewards
        among=contests("paper")[:1],
        floors=False,
    )
    assert board.as_dict()["delay"] == "batch:5"
    assert replace(board, delay=0).as_dict()["delay"] == 0
