"""The compiled loop against plain Python, and against programs that others wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from context_twins import WORDS, player, random_problem
from reference import Known, twin

from fpbandits import (
    FPUCB,
    UCB1,
    Problem,
    Thompson,
    load_problem,
    simulate,
)
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine.policy import Policy
from fpbandits.engine.ready import NO_STREAM, ready
from fpbandits.policies import parse_policy
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, new_late, new_progress


@pytest.mark.parametrize(("name", "policy"), [("fp-ucb", FPUCB()), ("ucb1", UCB1())])
def test_simulated_is_the_plain_rule(name: str, policy: Policy) -> None:
    """Mean pulls, compiled and in plain Python: 4 z-tests at 5 standard errors (2e-6 in all)."""
    problem = load_problem("paper:grid")
    means = problem.means.tolist()
    truth = problem.index("0.4,0.3,0.2,0.2")
    generator = np.random.default_rng(4)
    counts = []
    for _ in range(60):
        player = twin(name)(Known(problem))
        pulls = np.zeros(4)
        arm = next(player)
        for _ in range(400):
            pulls[arm] += 1
            arm = player.send(float(generator.random() < means[truth][arm]))
        counts.append(pulls)
    plain = np.array(counts)
    result = simulate(problem, policy, truth="0.4,0.3,0.2,0.2", horizon=400, runs=2000, times=[400])
    ours = result.pulls[name][:, -1]
    error = np.sqrt(plain.var(axis=0, ddof=1) / 60 + ours.var(axis=0, ddof=1) / 2000) + 1e-9
    assert (np.abs(plain.mean(axis=0) - ours.mean(axis=0)) < 5 * error).all()


CASES = [
    ("paper:two", "theta1"),
    ("paper:two", "theta2"),
    ("paper:permutations", "0.6,0.4,0.3,0.2"),
    ("paper:grid", "0.6,0.4,0.3,0.2"),
    ("paper:grid", "0.4,0.3,0.2,0.2"),
]
"""The paper's problems, and what is true there."""

REGRETS: dict[str, list[float]] = {
    "fp-ucb": [7.5, 21, 188, 220, 443],
    "ucb1": [53, 70, 222, 220, 369],
    "thompson": [6.4, 12, 40, 41, 58],
}


def test_regret_at_1e5_is_that_of_independent_programs() -> None:
    """Figures measured by other programs, in C and plain Python, with 60 to 200 runs of their own.

    They carry some 2 % of error, ours less: 10 % is five standard errors or more.
    """
    for place, (name, truth) in enumerate(CASES):
        result = simulate(
            load_problem(name), [FPUCB(), UCB1(), Thompson()], truth=truth, runs=200, seed=5
        )
        for policy, figures in REGRETS.items():
            assert result.mean_regret(policy)[-1] == pytest.approx(figures[place], rel=0.1)


@pytest.mark.parametrize("word", WORDS)
def test_contexts_are_played_as_plain_python_does(word: str) -> None:
    """With the same draws: of the context, by the policy, of the reward. Every recorded pull."""
    generator = np.random.default_rng(8)
    for number in range(6):
        problem = random_problem(generator)
        means, arms = problem.means[0], len(problem.arms)
        times = [50, 99, 150]
        result = simulate(
            problem, parse_policy(word), truth="theta1", horizon=150, times=times, runs=2, seed=3
        )
        for run in range(2):
            stream, twin_player = random_stream(3, run, REWARDS), player(word, problem)
            pulls = np.zeros(problem.pairs, int)
            upto = np.cumsum(problem.shares)
            for t in range(1, 151):
                context = min(
                    int(np.searchsorted(upto, stream.random(), side="right")), len(upto) - 1
                )
                arm = twin_player.decide(context, stream)
                twin_player.told(context, arm, float(stream.random() < means[context][arm]))
                pulls[context * arms + arm] += 1
                if t in times:
                    recorded = result.pulls[word][run, times.index(t)]
                    assert recorded.tolist() == pulls.tolist(), (number, run, t)


def test_contexts_come_as_often_as_their_shares_say() -> None:
    """Multinomial counts of 40,000 plays: 3 z-tests at 5 standard errors (2e-6 in all)."""
    problem = Problem.bernoulli(
        [[[0.5, 0.4]] * 3], contexts=["a", "b", "c"], shares=[0.7, 0.2, 0.1]
    )
    result = simulate(problem, UCB1(), truth="theta1", horizon=4000, runs=10)
    counts = result.pulls["ucb1"][:, -1].reshape(10, 3, 2).sum(axis=(0, 2))
    for count, share in zip(counts, problem.shares, strict=True):
        assert abs(count - 40_000 * share) < 5 * np.sqrt(40_000 * share * (1 - share))


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("word", ["fp-ucb", "ucb1"])
@pytest.mark.parametrize("change", [150, 61])
def test_every_plan_is_played_to_its_end(word: str, change: int, delay: int) -> None:
    """Stepwise runs against the rules in Python, plan by plan; the truth may change in between.

    With a delay of 1 a reward is known when the next decision has been made.
    """
    problem = load_problem("paper:permutations")
    first, second = problem.models[0], problem.models[9]
    truth = {0: first, change: second} if change < 150 else first
    times = [1, 2, 7, 60, 100, 150]
    how: Any = {"horizon": 150, "times": times, "runs": 2, "seed": 3, "leap": False}
    result = simulate(problem, word, truth=truth, delay=delay, **how)
    rules = ready(parse_policy(word), problem)
    for run in range(2):
        stream, state = random_stream(3, run, REWARDS), rules.policy.new_state(problem)
        played, plans, counts = 0, 0, np.zeros(4, int)
        waiting: list[tuple[int, float]] = []
        while played < 150:
            pending = np.bincount([arm for arm, _ in waiting], minlength=4)
            arms, _ = rules.plan(state, played, None, NO_STREAM, pending=pending)
            plans += 1
            for arm in arms:
                means = problem.means[0 if played < change else 9]
                waiting.append((arm, float(stream.random() < means[arm])))
                played += 1
                counts[arm] += 1
                while len(waiting) > delay:
                    rules.observe(state, played, None, *waiting.pop(0), NO_STREAM)
                if played in times:
                    recorded = result.pulls[word][run, result.times == played]
                    assert recorded.tolist() == [counts.tolist()]
                if played == 150:
                    break
        assert result.plans[word][run] == plans


def test_a_decision_in_contexts_is_a_plan() -> None:
    problem = Problem.bernoulli([[[0.5, 0.4]] * 3], contexts=["a", "b", "c"])
    for delay in (0, 5):
        result = simulate(
            problem, UCB1(), truth="theta1", horizon=40, times=[40], runs=3, delay=delay
        )
        assert result.plans["ucb1"].tolist() == [40, 40, 40]


def test_what_a_loop_shares_and_what_it_begins_with() -> None:
    assert (TIME, STOP, RUNS, END) == (0, 1, 2, 3)
    assert new_progress().tolist() == [0, 0, 0, 0]
    late = new_late(5, 2, 3)
    shapes = [(5,), (5,), (5, 2), (3,), (3,)]
    assert [array.shape for array in late] == shapes
    assert not any(array.any() for array in late)
    assert not np.shares_memory(late.pending, late.made)
