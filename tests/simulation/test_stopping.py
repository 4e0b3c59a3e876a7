"""Runs that end at a verdict, against agents that are followed by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.stopping import (
    Stopped,
    _is_wrong,
    can_be_sure,
    is_sure,
    play_until_verdict,
)
from fpbandits.simulation.truths import truths

TABLE = {"loyal": [0.9, 0.8, 0.7], "regular": [0.6, 0.5, 0.3], "thrifty": [0.5, 0.2, 0.05]}
SHOP = fpb.Problem.bernoulli(
    list(TABLE.values()), value=[9, 12, 15], models=list(TABLE), prior={"loyal": 2}
)
ERROR = 0.1


def by_hand(problem: fpb.Problem, truth: int, run: int, horizon: int) -> int:
    """Follow an agent, in fractions: rewards are drawn as in simulation, one number each."""
    agent, stream = fpb.Agent(problem), random_stream(0, run, REWARDS)
    chances = [[Fraction(c).limit_denominator(100) for c in row] for row in TABLE.values()]
    prior = [Fraction(p).limit_denominator(100) for p in problem.prior or ()]
    best = [paid.index(max(paid)) for paid in ([9 * a, 12 * b, 15 * c] for a, b, c in chances)]
    weights = list(prior)
    for t in range(1, horizon + 1):
        decision = agent.ask()
        arm = problem.arms.index(decision.arm)
        paid = stream.random() < float(chances[truth][arm])
        agent.tell(decision.id, (9, 12, 15)[arm] if paid else 0)
        weights = [
            w * (row[arm] if paid else 1 - row[arm])
            for w, row in zip(weights, chances, strict=True)
        ]
        total = sum(weights)
        left = [
            k
            for k in range(3)
            if weights[k] / (total - weights[k]) > Fraction(1, 10) * prior[k] / (1 - prior[k])
        ]
        assert (agent.verdict(ERROR) is None) == (len({best[k] for k in left}) != 1)
        if len({best[k] for k in left}) == 1:
            return t
    return 0


def test_as_an_agent_followed_by_hand() -> None:
    spec = RunSpec(horizon=150, runs=25, seed=0, truth="prior")
    stopped = play_until_verdict(make_cell(SHOP, fpb.Frugal(), spec), 25, ERROR)
    found = stopped.plays
    drawn = truths(SHOP, "prior", 0, range(25))
    assert drawn is not None
    by_then = [by_hand(SHOP, int(drawn[run]), run, 150) for run in range(25)]
    assert found.tolist() == by_then
    assert len(set(found.tolist())) > 10
    assert stopped.named[found == 0].tolist() == [[-1]] * by_then.count(0) != []


def test_one_arm_best_under_all_is_sure_at_once_and_no_information_never_is() -> None:
    same = fpb.Problem.bernoulli([[0.5, 0.4], [0.6, 0.3]])
    blind = fpb.Problem.discrete(
        [[[0, 1, 0], [0.5, 0, 0.5]], [[0, 1, 0], [0.5, 0, 0.5]]], support=[0, 0.6, 1]
    )
    for problem in (same, blind):
        spec = RunSpec(horizon=50, runs=3, seed=2, truth="theta1")
        found = play_until_verdict(make_cell(problem, fpb.Frugal(), spec), 3, 0.3).plays
        assert found.tolist() == [1, 1, 1]


def weights(*shares: float) -> np.ndarray:
    return np.asarray(np.log(np.array(shares)))


@pytest.mark.parametrize(
    ("posterior", "sure"),
    [
        ((0.5, 0.3, 0.2), False),
        ((0.9, 0.09, 0.01), False),  # the second is not ruled out, and holds another arm best
        ((0.97, 0.001, 0.029), True),  # the third holds the same arm best as the first
        ((0.001, 0.998, 0.001), True),
    ],
)
def test_when_it_is_sure(posterior: tuple[float, ...], sure: bool) -> None:
    best = np.array([[[True, False]], [[False, True]], [[True, False]]])
    prior = np.array([0.4, 0.4, 0.2])
    named = np.full(1, -1)
    found = is_sure(7.0 + weights(*posterior), prior, 0.05, best, np.zeros(3), named)
    assert (found, named[0] >= 0) == (sure, sure)


def test_with_contexts_there_must_be_an_arm_in_each() -> None:
    best = np.array([[[True, False], [True, False]], [[True, False], [False, True]]])
    prior, named = np.full(2, 0.5), np.full(2, -1)  # posterior odds of 1 to 20 rule a model out
    assert not is_sure(weights(0.9, 0.1), prior, 0.05, best, np.zeros(2), named)
    assert not is_sure(weights(19.9, 1.0), prior, 0.05, best, np.zeros(2), named)
    assert named.tolist() == [-1, -1]
    assert is_sure(weights(20.1, 1.0), prior, 0.05, best, np.zeros(2), named)
    assert named.tolist() == [0, 0]


def followed(problem: fpb.Problem, truth: int, run: int, horizon: int) -> tuple[int, float, str]:
    """Return plays until the verdict of an agent, 0 for none, its regret by then, and the arm."""
    agent, stream, lost = fpb.Agent(problem), random_stream(3, run, REWARDS), 0.0
    means = np.array(problem.means)[truth]
    for t in range(1, horizon + 1):
        decision = agent.ask()
        arm = problem.arms.index(decision.arm)
        paid = stream.random() < list(TABLE.values())[truth][arm]
        agent.tell(decision, (9, 12, 15)[arm] if paid else 0)
        lost += means.max() - means[arm]
        named = agent.verdict(0.3)
        if named is not None:
            return t, lost, named
    return 0, lost, ""


def test_how_long_it_takes_what_it_costs_and_how_often_it_is_wrong(tmp_path: Path) -> None:
    runs, horizon = 60, 12
    result = fpb.simulate(SHOP, stop=0.3, horizon=horizon, runs=runs, seed=3, truth="prior")
    drawn = truths(SHOP, "prior", 3, range(runs))
    assert drawn is not None
    assert result.stops is not None
    found = [followed(SHOP, int(drawn[run]), run, horizon) for run in range(runs)]
    plays = [t for t, _, _ in found]
    best = np.array(SHOP.means).argmax(axis=1)
    wrong = [
        int(t > 0 and named != SHOP.arms[best[drawn[run]]])
        for run, (t, _, named) in enumerate(found)
    ]
    assert 0 < sum(wrong) < 20
    assert 0 in plays
    assert result.stops["frugal"].tolist() == [plays, wrong]
    assert result.final_regret("frugal").tolist() == pytest.approx([lost for _, lost, _ in found])
    ended = result.pulls["frugal"].sum(axis=(1, 2)).tolist()
    assert ended == [t or horizon for t in plays]
    verdicts = result.verdicts("frugal")
    assert verdicts.median == sorted(t or 99 for t in plays)[runs // 2]
    assert verdicts.q95 is None
    assert verdicts.share == sum(t > 0 for t in plays) / runs
    assert verdicts.wrong == sum(wrong) / runs
    assert result.as_dict()["policies"]["frugal"]["verdicts"] == vars(verdicts)
    assert (result.as_dict()["stop"], result.total_variation("frugal")) == (0.3, 0)
    assert "beyond T" in result.table()
    assert f"{100 * verdicts.wrong:.4g} %" in result._repr_html_()
    result.save(tmp_path / "result.npz")
    loaded = fpb.Result.load(tmp_path / "result.npz")
    assert loaded.verdicts("frugal") == verdicts
    assert loaded.first(5).verdicts("frugal").share == np.mean(np.array(plays[:5]) > 0)


def test_contexts_several_policies_and_normal_rewards() -> None:
    """Under each policy some arm is named in both contexts, and the right one almost always."""
    problem = fpb.Problem.gaussian(
        [[[3, 1], [2, 5]], [[1, 2], [4, 2]]], deviation=2, contexts=["mobile", "desktop"]
    )
    result = fpb.simulate(
        problem, ["ucb1", "thompson-theta"], stop=0.05, horizon=300, runs=50, truth="theta2"
    )
    for policy in result.policies:
        found = result.verdicts(policy)
        assert found.share == 1
        assert found.wrong <= 0.2  # 5 % at the most: eleven of 50 are wrong once in 30,000 times


def test_what_is_wrong_does_not_depend_on_the_unit_of_rewards() -> None:
    tiny = fpb.Problem.bernoulli(
        list(TABLE.values()), value=[9e-13, 12e-13, 15e-13], models=list(TABLE), prior={"loyal": 2}
    )
    how = {"stop": 0.3, "horizon": 12, "runs": 60, "seed": 3, "truth": "prior"}
    in_euro, in_tera_euro = (
        fpb.simulate(problem, **how).verdicts("frugal")  # type: ignore[arg-type]
        for problem in (SHOP, tiny)
    )
    assert in_euro == in_tera_euro
    assert in_euro.wrong > 0


def test_who_stops_with_what() -> None:
    for message, given in (
        ("stop is 1.0: it must be a probability, above 0 and below 1", {"stop": 1}),
        ("step by step: leave out a delay", {"delay": 3}),
        ("step by step: leave out shuffle=True", {"shuffle": True}),
        ("step by step: leave out worst_case=True", {"worst_case": True}),
        ("step by step: leave out times", {"times": [3]}),
        ("and may be 10000000 at most", {"horizon": 1e9}),
        ("workers is 4097: it must be at most 4,096", {"workers": 4097}),
        ("and not kept: use no out; Result.save", {"out": "runs"}),
        ("for a truth that does not change: leave out stop", {"truth": {0: "loyal", 9: "thrifty"}}),
        ("leave out stop or change_rate", {"policies": "frugal:change_rate=0.1"}),
        ("is in ordinary Python, and stop plays compiled", {"policies": "optimal:horizon=20"}),
    ):
        with pytest.raises(fpb.InputError, match=message):
            fpb.simulate(SHOP, **{"stop": 0.05, "horizon": 20, "runs": 2, **given})  # type: ignore[arg-type]
    with pytest.raises(fpb.InputError, match="do not stop at a verdict"):
        fpb.simulate(SHOP, horizon=20, runs=2).verdicts("frugal")


def test_a_mean_of_one_forgets_nothing() -> None:
    """A reward of 1 once set the weight of such a model back to where it began."""
    stops = []
    for most in (1.0, 1 - 1e-9):
        problem = fpb.Problem.bernoulli([[most, 0.5, 0.5], [0.9, 0.95, 0.5]])
        result = fpb.simulate(problem, "ucb1", truth="theta2", stop=0.05, horizon=100, runs=50)
        assert result.stops is not None
        stops.append(result.stops["ucb1"].tolist())
    assert stops[0] == stops[1]


def test_a_truth_that_moves_has_no_verdict() -> None:
    moving = fpb.Problem.bernoulli([[0.5, 0.4], [0.3, 0.6]], transitions=[[0.9, 0.1], [0.1, 0.9]])
    with pytest.raises(fpb.InputError, match="moves by its transitions, and a verdict is for"):
        fpb.simulate(moving, "ucb1", stop=0.05, horizon=20, runs=2)


NORMAL = fpb.Problem.gaussian([[3, 1], [1, 2], [2.5, 2.5]], deviation=2)
THIRDS = fpb.Problem.discrete(
    [[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]], [[0.3, 0.3, 0.4], [0.1, 0.3, 0.6]]],
    support=[0, 3, 5],
    range=(0, 5),
)
ROOMS = fpb.Problem.bernoulli(
    [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.3, 0.6]]], contexts=["a", "b"], shares=[0.7, 0.3]
)


@pytest.mark.parametrize("policy", ["ucb1", "thompson-theta"])
@pytest.mark.parametrize(
    ("problem", "truth"),
    [(SHOP, "prior"), (NORMAL, "theta2"), (THIRDS, "theta1"), (ROOMS, "theta2")],
    ids=["shop", "normal", "discrete", "contexts"],
)
def test_runs_without_a_verdict_are_stepwise_runs(
    problem: fpb.Problem, truth: str, policy: str
) -> None:
    """Bit for bit those of the other loop, to a horizon that no plan ends at."""
    how: dict[str, Any] = {"truth": truth, "horizon": 23, "runs": 6, "seed": 4}
    stopped = fpb.simulate(problem, policy, stop=1e-200, **how)
    steps = fpb.simulate(problem, policy, leap=False, times=[23], **how)
    assert np.array_equal(stopped.pulls[policy], steps.pulls[policy])
    assert np.array_equal(stopped.plans[policy], steps.plans[policy])
    assert stopped.stops is not None
    assert not stopped.stops[policy].any()


@pytest.mark.parametrize("problem", [NORMAL, THIRDS], ids=["normal", "discrete"])
def test_other_rewards_as_an_agent_that_sees_the_same(problem: fpb.Problem) -> None:
    """UCB1 draws nothing itself: an agent is given the rewards of the run's stream, one by one."""
    spec = RunSpec(horizon=60, truth="theta2", seed=4)
    found = play_until_verdict(make_cell(problem, fpb.UCB1(), spec), 12, 0.2)
    laws = problem.rewards.reordered(np.array([1]), np.arange(2))
    law, zero, width = laws.law(0), problem.rewards.zero, problem.rewards.width
    plays = []
    for run in range(12):
        agent, stream = fpb.Agent(problem, "ucb1"), random_stream(4, run, REWARDS)
        named, t = None, 0
        while named is None and t < 60:
            decision = agent.ask()
            arm = problem.arms.index(decision.arm)
            reward = laws.draw_sum(law, arm, 1, stream, np.zeros(laws.statistics))
            agent.tell(decision, float(zero + width * reward))
            named, t = agent.verdict(0.2), t + 1
        plays.append(0 if named is None else t)
        assert found.named[run].tolist() == [-1 if named is None else problem.arms.index(named)]
    assert found.plays.tolist() == plays
    assert len(set(plays)) > 3


def test_what_stops_and_how_wrong_it_is() -> None:
    pulls, plans = np.array([[1, 2], [3, 4], [0, 5]]), np.ones(3, np.int64)
    assert Stopped(pulls, plans, np.array([[0], [-1], [1]])).plays.tolist() == [3, 0, 5]
    named = np.array([[0, 1], [1, 1], [0, 0], [-1, -1]])
    gaps = np.array([[[0, 0.5], [0.3, 0]]])
    assert _is_wrong(named, gaps).tolist() == [False, True, True, False]
    by_run = np.concatenate([gaps[:, ::-1], gaps[:, :, ::-1], gaps, gaps])
    named[1] = [1, 0]
    assert _is_wrong(named, gaps).tolist() == [False, True, True, False]
    assert _is_wrong(named, by_run).tolist() == [True, False, True, False]


def test_progress_is_told_policy_by_policy_and_run_by_run() -> None:
    told: list[tuple[str, float, float]] = []
    fpb.simulate(
        SHOP,
        ["frugal", "ucb1"],
        stop=0.3,
        horizon=5,
        runs=4,
        workers=1,
        progress=lambda *news: told.append(news),
    )
    assert told == [("frugal", 1.0, 0.5), ("ucb1", 1.0, 1.0)]
    cell = make_cell(SHOP, fpb.Frugal(), RunSpec(horizon=5, truth="loyal"))
    shares: list[float] = []
    play_until_verdict(cell, 4, 0.3, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_which_policies_can_be_sure() -> None:
    assert can_be_sure(fpb.UCB1())
    assert can_be_sure(fpb.Frugal())
    assert not can_be_sure(fpb.Frugal(change_rate=0.1))

    class Plain(fpb.PlainPolicy):
        name = "plain"

        def choose(self, seen: Any, random: Any) -> int:
            return 0

    assert not can_be_sure(Plain())


def test_an_executor_is_of_no_use() -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(fpb.InputError, match="use no executor;"):
        fpb.simulate(SHOP, stop=0.3, horizon=5, runs=2, executor=threads)
    with pytest.raises(fpb.InputError, match="workers is 0: it must be at least 1"):
        fpb.simulate(SHOP, stop=0.3, horizon=5, runs=2, workers=0)


def test_a_first_arm_that_is_best_is_named_in_each_context() -> None:
    """Models with no share do not count; of two arms that are best the first is named."""
    best = np.array([[[False, True, True], [True, False, True]]] * 2)
    best[1, 1] = [False, False, True]
    prior, named = np.full(2, 0.5), np.full(2, -1)
    assert is_sure(weights(0.5, 0.5), prior, 0.05, best, np.zeros(2), named)
    assert named.tolist() == [1, 2]
    assert is_sure(weights(0.999, 0.001), prior, 0.05, best, np.zeros(2), named)
    assert named.tolist() == [1, 0]
    assert is_sure(weights(0.001, 0.999), prior, 0.05, best, np.zeros(2), named)
    assert named.tolist() == [1, 2]
