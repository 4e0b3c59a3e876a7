"""The leaderboard: its contests are what they say, its numbers add up, and it reads well."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, InputError, Optimist, Problem, analyze, load_problem, simulate
from fpbandits.leaderboard import Leaderboard, contests, own_contests, play
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


def test_ones_own_problems_under_their_truth_or_under_all() -> None:
    said = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], true="theta2", name="said")
    money = Problem.bernoulli([[90, 50], [20, 50]], range=(0, 100), name="in $ and $")
    said_contest, money_contest = own_contests([said, money])
    assert said_contest.truths == ["theta2"]
    assert money_contest.truths == ["theta1", "theta2"]
    # The mean of 0 and 0.22013, in a hundred times larger units.
    assert money_contest.lower_bound == pytest.approx(100 * 0.22013 / 2, rel=1e-3)
    chosen = {"ucb1": UCB1(), "optimist": Optimist(), "bpr": BPR()}
    board = play(runs=20, horizon=500, seed=3, policies=chosen, among=own_contests([said, money]))
    for name, policy in list(chosen.items())[:2]:
        asked: Any = {"horizon": 500, "times": [500], "runs": 10, "shuffle": True}
        parts = [
            simulate(money, policy, true=true, seed=seed, **asked).final_regret(name)
            for true, seed in (("theta1", 3000), ("theta2", 3001))
        ]
        mean = np.concatenate(parts).mean()
        assert board.standings[name][money.name].mean == pytest.approx(mean)
    least = board.standings["optimist"][money.name].mean
    times = (board.standings["ucb1"][money.name].mean / 100 + 0.5) / (least / 100 + 0.5)
    assert board.times_best("ucb1", money.name) == pytest.approx(times), "whatever the unit"
    assert board.ranking == ["optimist", "ucb1", "bpr"]


def test_what_makes_no_contest_is_refused() -> None:
    two = load_problem("paper:two")
    with pytest.raises(InputError, match="two problems are called 'paper:two': give each a name"):
        own_contests([two, two])
    many = Problem.bernoulli(np.linspace(0, 1, 2002).reshape(1001, 2), name="many")
    with pytest.raises(InputError, match=r"^many has 1,001 parameters, too many to play each"):
        own_contests([many])


def test_contests_in_contexts_have_their_own_lower_bound() -> None:
    means = [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]]]
    problem = Problem.bernoulli(means, contexts=["mobile", "desktop"], name="shop")
    (contest,) = own_contests([problem])
    cases: Any = analyze(problem).cases
    bounds = [case.theorem2.coefficient for case in cases]
    assert bounds[0] == 0 < bounds[1]
    assert contest.lower_bound == pytest.approx(sum(bounds) / 2)
    chosen = {"optimist": Optimist(), "ucb1": UCB1(), "fp-ucb": FPUCB()}
    board = play(runs=5, horizon=300, seed=1, policies=chosen, among=[contest])
    assert board.standings["optimist"]["shop"].mean < board.standings["ucb1"]["shop"].mean
    assert "shop" not in board.standings.get("fp-ucb", {})
