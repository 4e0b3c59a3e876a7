"""Late rewards: against agents that are told so late, decision for decision."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fpbandits import Agent, InputError, PlainPolicy, Problem, load_problem, simulate
from fpbandits.core.streams import DELAY, REWARDS, random_stream
from fpbandits.simulation.delays import Delay, checked_delay, make_schedule
from fpbandits.simulation.spec import RunSpec

DELAYS: list[Delay] = [1, 7, "geometric:6", "batch:10"]


def due(delay: Delay, horizon: int, run: int) -> list[int]:
    """After how many decisions the reward of decision 1, 2, … is known."""
    if isinstance(delay, int):
        return [k + delay for k in range(1, horizon + 1)]
    kind, text = delay.split(":")
    size = int(text)
    if kind == "batch":
        return [-(-k // size) * size for k in range(1, horizon + 1)]
    late = random_stream(0, run, DELAY).geometric(1 / (1 + size), horizon) - 1
    return [k + int(late[k - 1]) for k in range(1, horizon + 1)]


@pytest.mark.parametrize("delay", DELAYS)
def test_rewards_are_known_when_they_are_due(delay: Delay) -> None:
    known, order = make_schedule(delay, 50, 0, 3)
    moments = due(delay, 50, 3)
    for t in range(51):
        arrived = {int(k) for k in order[: known[t]]}
        assert arrived == {k for k in range(50) if moments[k] <= t}
    # Of those that become known at once, the first decision comes first.
    assert all((moments[a], a) < (moments[b], b) for a, b in pairwise(order[: known[50]]))


def test_geometric_delays_have_their_mean() -> None:
    """10⁵ delays of mean 20: six standard errors, false with probability 2e-9."""
    late = np.array(due("geometric:20", 10**5, 0)) - np.arange(1, 10**5 + 1)
    assert late.min() == 0
    assert abs(late.mean() - 20) < 6 * np.sqrt(20 * 21 / 10**5)


def told_late(problem: Problem, word: str, delay: Delay, truth: int, run: int, T: int) -> list[int]:
    """The pairs that an agent plays whose rewards are told when they are due."""
    agent = Agent(problem, word, late="any", seed=run)
    laws = problem.rewards.reordered(np.array([truth]), np.arange(problem.pairs))
    law, random, moments = laws.law(0), random_stream(0, run, REWARDS), due(delay, T, run)
    upto, out, played = np.cumsum(problem.shares), list[tuple[int, int, float]](), list[int]()
    for t in range(T):
        for moment in sorted(each for each in out if each[0] <= t):
            agent.tell(moment[1], moment[2])
        out = [each for each in out if each[0] > t]
        context = None
        if problem.contexts:
            context = problem.contexts[int((random.random() >= upto[:-1]).sum())]
        decision = agent.ask(context=context)
        pair = problem.arms.index(decision.arm)
        if context is not None:
            pair += problem.contexts.index(context) * len(problem.arms)
        value = laws.draw_sum(law, pair, 1, random, np.zeros(laws.statistics))
        reward = problem.rewards.zero + problem.rewards.width * value
        out.append((moments[t], decision.id, float(reward)))
        played.append(pair)
    return played


CONTEXTS = Problem.bernoulli(
    [[[0.5, 0.2], [0.4, 0.5]], [[0.5, 0.2], [0.6, 0.5]], [[0.5, 0.7], [0.3, 0.5]]],
    contexts=["a", "b"],
    shares=[0.7, 0.3],
)
NORMAL = Problem.gaussian([[1.0, 2.0, 0.0], [2.5, 2.0, 1.0]], deviation=1.5)


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("word", ["frugal", "fp-ucb", "optimist", "kl-ucb"])
@pytest.mark.parametrize(
    "problem", [load_problem("paper:permutations"), CONTEXTS, NORMAL], ids=["0/1", "xa", "normal"]
)
def test_runs_decide_as_agents_do_that_are_told_so_late(
    problem: Problem, word: str, delay: Delay
) -> None:
    if problem is CONTEXTS and word == "fp-ucb":
        pytest.skip("FP-UCB knows nothing of contexts")
    T, truth = 150, 1
    result = simulate(
        problem,
        word,
        truth=problem.models[truth],
        horizon=T,
        runs=2,
        times=range(1, T + 1),
        delay=delay,
    )
    for run in range(2):
        played = told_late(problem, word, delay, truth, run, T)
        counts = np.cumsum(np.eye(problem.pairs, dtype=int)[played], axis=0)
        np.testing.assert_array_equal(
            result.pulls[word][run].reshape(T, -1), counts, err_msg=f"run {run}"
        )


def test_who_draws_plays_by_the_same_law() -> None:
    """Thompson sampling on Θ, 400 runs and 400 agents: means within 4 standard errors of either.

    False with probability below 1e-3.
    """
    problem, T = load_problem("paper:two"), 60
    result = simulate(problem, "thompson-theta", truth="theta2", horizon=T, runs=400, delay=15)
    runs = result.pulls["thompson-theta"][:, -1, 0]
    agents = np.array(
        [told_late(problem, "thompson-theta", 15, 1, run, T).count(0) for run in range(400)]
    )
    error = np.hypot(runs.std(), agents.std()) / 20
    assert abs(runs.mean() - agents.mean()) < 4 * error


@dataclass(frozen=True)
class Watching(PlainPolicy):
    """Plays in turn, and looks whether as many rewards are pending as there should be."""

    delay: int = 4
    name = "watching"

    def choose(self, seen: Any, random: np.random.Generator) -> int:
        assert seen.pending.sum() == min(seen.t, self.delay)
        assert seen.plays.sum() == seen.t - seen.pending.sum()
        expected = [0, 0]
        for t in range(max(0, seen.t - self.delay), seen.t):
            expected[t % 2] += 1
        assert seen.pending.tolist() == expected
        return int(seen.t % 2)


def test_a_plain_policy_sees_what_is_pending() -> None:
    result = simulate(
        load_problem("paper:two"), Watching(), truth="theta1", horizon=41, runs=2, delay=4
    )
    assert result.pulls["watching"][:, -1].tolist() == [[21, 20]] * 2


def test_plain_policies_in_contexts_are_told_of_the_right_one() -> None:
    @dataclass(frozen=True)
    class Noting(PlainPolicy):
        name = "noting"

        def start(self, problem: Problem) -> list[str | None]:
            return []

        def update(self, seen: Any, arm: int, reward: float) -> None:
            seen.memory = [*seen.memory, seen.context]

        def choose(self, seen: Any, random: np.random.Generator) -> int:
            counts = [seen.memory.count(name) for name in ("a", "b")]
            assert seen.plays.sum() == counts["ab".index(seen.context)]
            return 0

    result = simulate(CONTEXTS, Noting(), truth="theta1", horizon=60, runs=1, delay="geometric:5")
    assert result.pulls["noting"][0, -1].sum() == 60


@pytest.mark.parametrize(
    ("given", "shortest"),
    [
        (0, 0),
        (1, 1),
        (30.0, 30),
        ("30", 30),
        ("0", 0),
        (10**12, 10**12),
        ("geometric:0", 0),
        ("geometric:1", "geometric:1"),
        ("geometric:007", "geometric:7"),
        (f"geometric:{10**12}", f"geometric:{10**12}"),
        ("batch:1", 0),
        ("batch:2", "batch:2"),
    ],
)
def test_a_delay_has_one_shortest_form(given: Any, shortest: Delay) -> None:
    found = checked_delay(given)
    assert (found, type(found)) == (shortest, type(shortest))


WRONG = [-1, 1.5, 10**12 + 1, "soon", "30:", ":3", "late:3", "batch:", "batch:0", "geometric:x"]


@pytest.mark.parametrize("delay", [*WRONG, "geometric:1000000000001", None, True])
def test_what_is_no_delay_is_refused(delay: Any) -> None:
    with pytest.raises(InputError, match="delay"):
        checked_delay(delay)


def test_no_delay_is_no_setting() -> None:
    assert "delay" not in RunSpec().settings
    assert "delay" not in RunSpec(delay="geometric:0").settings
    assert RunSpec(delay="30", horizon=1e4).settings["delay"] == 30


def test_long_runs_with_a_delay_are_refused() -> None:
    with pytest.raises(InputError, match="10000000 at most"):
        RunSpec(delay=1, horizon=1e9)
    with pytest.raises(InputError, match="with a delay nothing leaps: leave worst_case=True out"):
        RunSpec(delay=1, horizon=1e3, worst_case=True)
