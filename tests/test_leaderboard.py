"""The leaderboard: its contests are what they say, its numbers add up, and it reads well."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, Optimist, analyze, simulate
from fpbandits.leaderboard import Leaderboard, contests, play
from fpbandits.policies import BPR


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    chosen = {"fp-ucb": FPUCB(), "optimist": Optimist(), "ucb1": UCB1(), "bpr": BPR()}
    some = [contest for contest in contests() if "256" not in contest.name]
    return play(runs=20, horizon=500, seed=3, policies=chosen, among=some)


def test_contests_are_of_the_kinds_they_say() -> None:
    sizes = set()
    for contest in contests("random"):
        case = analyze(contest.problem, str(contest.truths[0])).cases[0]
        bounded = contest.name.endswith("bounded")
        assert case.regime == ("bounded" if bounded else "logarithmic")
        assert (contest.lower_bound > 0) is not bounded
        assert contest.lower_bound == pytest.approx(case.theorem2.all_arms.coefficient)
        sizes.add((len(contest.problem.parameters), len(contest.problem.arms)))
    assert min(sizes) == (2, 2)
    assert max(sizes) == (256, 16)
    assert len(contests("paper")) == 5
    for contest in contests("wrong"):
        for truth in contest.truths:
            distances = np.abs(contest.problem.means - np.array(truth)).max(axis=1)
            assert distances.min() > 1e-3, "the truth is not among the models"
    names = [contest.name for contest in contests()]
    assert len(set(names)) == len(names)


def test_standings_are_those_of_the_simulation(board: Leaderboard) -> None:
    contest = next(contest for contest in board.contests if contest.name == "two θ²")
    result = simulate(
        contest.problem,
        UCB1(),
        true="theta2",
        horizon=500,
        runs=20,
        seed=3000,
        shuffle=True,
        times=[500],
    )
    own = board.standings["ucb1"]["two θ²"]
    final = result.final_regret("ucb1")
    assert own.mean == pytest.approx(final.mean())
    assert own.standard_error == pytest.approx(final.std(ddof=1) / math.sqrt(20))
    assert own.q95 == pytest.approx(np.quantile(final, 0.95))
    assert own.ratio == pytest.approx(final.mean() / (0.22013 * math.log(500)), rel=1e-3)
    assert board.standings["ucb1"]["two θ¹"].ratio is None


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
    written = json.loads((tmp_path / "leaderboard.json").read_text())
    assert list(written["policies"]) == board.ranking
    assert written["policies"]["ucb1"]["contests"]["two θ²"]["mean"] > 0
    assert {"schema", "seed", "runs", "horizon", "versions"} <= written.keys()


def test_numbers_are_written_before_anything_is_drawn(
    board: Leaderboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("fpbandits.leaderboard.leaderboard_figure", fails)
    with pytest.raises(RuntimeError):
        board.save(tmp_path)
    assert json.loads((tmp_path / "leaderboard.json").read_text()) == board.as_dict()
