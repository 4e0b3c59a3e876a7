"""Standings are what simulation says of policies in contests."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, Optimist, Problem, analyze, simulate
from fpbandits.core.streams import TRUTH, random_stream
from fpbandits.engine.ready import refusal
from fpbandits.leaderboard import Contest, contests, own_contests, play, playing
from fpbandits.policies import BPR, POLICIES
from fpbandits.theory.floor import floor


def test_standings_are_those_of_the_simulation() -> None:
    board = play(
        runs=20, horizon=500, seed=3, policies={"ucb1": UCB1()}, among=contests("paper")[:2]
    )
    contest = next(contest for contest in board.contests if contest.name == "two θ²")
    result = simulate(
        contest.problem,
        UCB1(),
        truth="theta2",
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


def test_ones_own_problems_under_their_truth_or_under_all() -> None:
    said = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], truth="theta2", name="said")
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
            simulate(money, policy, truth=truth, seed=seed, **asked).final_regret(name)
            for truth, seed in (("theta1", 3000), ("theta2", 3001))
        ]
        mean = np.concatenate(parts).mean()
        assert board.standings[name][money.name].mean == pytest.approx(mean)
    least = board.standings["optimist"][money.name].mean
    times = (board.standings["ucb1"][money.name].mean / 100 + 0.5) / (least / 100 + 0.5)
    assert board.times_best("ucb1", money.name) == pytest.approx(times), "whatever the unit"
    assert board.ranking == ["optimist", "ucb1", "bpr"]


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


def test_worst_truth_of_those_that_the_prior_drew() -> None:
    prior = {"theta1": 5, "theta2": 3, "theta3": 1}
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5], [0.5, 0.45]], prior=prior)
    contest = Contest("drawn", "practice", problem, ["prior"])
    board = play(runs=60, horizon=300, seed=2, policies={"ucb1": UCB1()}, among=[contest])
    asked: Any = {"horizon": 300, "times": [300], "runs": 60, "shuffle": True, "seed": 2000}
    final = simulate(problem, UCB1(), truth="prior", **asked).final_regret("ucb1")
    drawn: dict[str, list[float]] = {"theta1": [], "theta2": [], "theta3": []}
    for run, regret in enumerate(final.tolist()):
        place = 9 * random_stream(2000, run, TRUTH).random()
        truth = "theta1" if place < 5 else "theta2" if place < 8 else "theta3"
        drawn[truth].append(regret)
    means = {truth: sum(own) / len(own) for truth, own in drawn.items()}
    truth = max(means, key=lambda truth: means[truth])
    own = board.standings["ucb1"]["drawn"]
    assert own.mean == pytest.approx(final.mean())
    assert own.q95 == pytest.approx(np.quantile(final, 0.95))
    assert own.worst is not None
    assert own.worst.truth == truth
    assert own.worst.mean == pytest.approx(means[truth])
    assert own.worst.runs == len(drawn[truth])


def test_worst_of_several_truths_and_of_one() -> None:
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], name="mine")
    board = play(runs=21, horizon=300, policies={"ucb1": UCB1()}, among=own_contests([problem]))
    asked: Any = {"horizon": 300, "times": [300], "runs": 11, "shuffle": True}
    means = {
        truth: simulate(problem, UCB1(), truth=truth, seed=seed, **asked)
        .final_regret("ucb1")
        .mean()
        for seed, truth in enumerate(problem.models)
    }
    worst = board.standings["ucb1"]["mine"].worst
    assert worst is not None
    assert (worst.truth, worst.runs) == (max(means, key=lambda truth: means[truth]), 11)
    assert worst.mean == pytest.approx(max(means.values()))
    one = play(runs=2, horizon=10, policies={"ucb1": UCB1()}, among=contests("paper")[:1])
    assert one.standings["ucb1"]["two θ¹"].worst is None


@pytest.mark.parametrize(
    ("group", "horizon", "runs"), [("paper", 10**5, 100), ("practice", 2 * 10**4, 400)]
)
def test_usual_horizon_and_runs(
    group: str, horizon: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    class EnoughSeenError(Exception):
        pass

    def note(cells: dict[str, Any], **others: object) -> None:
        asked.extend((cell.spec.horizon, cell.spec.runs) for cell in cells.values())
        raise EnoughSeenError

    monkeypatch.setattr(playing, "play_cells", note)
    some = contests(group)[:1]
    every: list[Any] = [{}, {"runs": 7}, {"horizon": 9}]
    for given in every:
        with pytest.raises(EnoughSeenError):
            play(policies={"ucb1": UCB1()}, among=some, **given)
    assert asked == [(horizon, runs), (horizon, 7), (9, runs)]


def test_all_policies_and_a_safe_one_play_if_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class EnoughSeenError(Exception):
        pass

    def note(cells: dict[str, Any], **others: object) -> None:
        asked.extend(cells)
        raise EnoughSeenError

    monkeypatch.setattr(playing, "play_cells", note)
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], name="mine")
    with pytest.raises(EnoughSeenError):
        play(among=own_contests([problem]))
    applicable = [
        name
        for name, policy in {**POLICIES, "frugal:false_alarm=0.001": None}.items()
        if policy is None or not refusal(policy(), problem)
    ]
    assert asked == [f"mine: {name}, truth {number}" for name in applicable for number in (1, 2)]


def test_a_floor_that_may_be_rounding_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """In units of 100, where a millionth of the width is 1e-4."""
    problem = Problem.bernoulli([[50, 40], [50, 60]], range=(0, 100), name="in cents")
    for value, wanted in ((1.01e-4, {"in cents": 1.01e-4}), (0.99e-4, {})):
        monkeypatch.setattr(playing, "floor", lambda *_, v=value: SimpleNamespace(value=v))
        board = play(runs=2, horizon=9, policies={"ucb1": UCB1()}, among=own_contests([problem]))
        assert board.floors == wanted


def test_floors_where_truths_are_drawn_or_each_has_its_turn() -> None:
    means = [[0.5, 0.4], [0.5, 0.6]]
    drawn = Problem.bernoulli(means, prior={"theta1": 3})
    by_prior = Contest("drawn", "practice", drawn, ["prior"])
    in_turn = Contest("in turn", "own", drawn, ["theta1", "theta2"])
    one = Contest("one", "own", drawn, ["theta1"])
    wrong = Contest("wrong", "wrong", drawn, [[0.5, 0.45]])
    mixed = Contest("mixed", "own", drawn, ["prior", [0.5, 0.45]])
    among = [by_prior, in_turn, one, wrong, mixed]
    board = play(runs=40, horizon=100, policies={"ucb1": UCB1()}, among=among)
    equal = Problem.bernoulli(means)
    assert board.floors == {
        "drawn": pytest.approx(floor(drawn, 100).value),
        "in turn": pytest.approx(floor(equal, 100).value),
    }
    own = board.standings["ucb1"]
    ratios = [own[name].mean / least for name, least in board.floors.items()]
    assert board.times_floor("ucb1") == pytest.approx(math.sqrt(math.prod(ratios)))
    assert board.as_dict()["contests"][2]["floor"] is None
    without = play(runs=40, horizon=100, policies={"ucb1": UCB1()}, among=among, floors=False)
    assert (without.floors, without.standings) == ({}, board.standings)
