"""The loop in ordinary Python: counted when asked, stopped when told, the same as the compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fpbandits import UCB1, PlainPolicy, Problem, load_problem, simulate
from fpbandits.core.arrays import Counts
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine.plain import Seen
from fpbandits.simulation.kernel import STOP, TIME, new_progress
from fpbandits.simulation.plain import play_plainly

TWO = load_problem("paper:two")


@dataclass(frozen=True)
class InTurn(PlainPolicy):
    name = "in-turn"

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        return seen.t % len(seen.plays)


@dataclass(frozen=True)
class PlainUCB1(PlainPolicy):
    name = "plain-ucb1"

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        if seen.t < len(seen.plays):
            return seen.t
        return int(np.argmax(seen.means + np.sqrt(2 * np.log(seen.t) / seen.plays)))


def played(
    policy: PlainPolicy, problem: Problem, times: list[int], progress: Counts, run: int = 0
) -> tuple[int, Counts]:
    truth = problem.rewards.reordered(np.array([0]), np.arange(len(problem.arms)))
    pulls = np.zeros((len(times), len(problem.arms)), np.int64)
    stream, starts = random_stream(5, run, REWARDS), (np.array([0]), np.array([0]))
    steps = play_plainly(
        policy, problem, truth, stream, np.array(times), starts, None, progress, pulls
    )
    return steps, pulls


def test_pulls_are_those_at_the_recorded_times() -> None:
    times = [1, 2, 5, 200, 201, 1000]
    progress = new_progress()
    steps, pulls = played(InTurn(), TWO, times, progress)
    assert steps == 1000
    assert pulls.tolist() == [[(t + 1) // 2, t // 2] for t in times]
    assert progress[TIME] == 1000 // 128 * 128


@pytest.mark.parametrize(("horizon", "expected"), [(127, 127), (128, -1), (10**9, -1)])
def test_whoever_stops_it_need_not_wait_long(horizon: int, expected: int) -> None:
    progress = new_progress()
    progress[STOP] = 1
    assert played(InTurn(), TWO, [horizon], progress)[0] == expected
    assert progress[TIME] == (128 if expected < 0 else 0)


def test_a_rule_written_both_ways_plays_the_same() -> None:
    problem = load_problem("paper:permutations")
    times = [10, 100, 777]
    compiled = simulate(
        problem, UCB1(), truth=problem.models[0], horizon=777, times=times, runs=5, seed=5,
        leap=False,
    )  # fmt: skip
    for run in range(5):
        steps, pulls = played(PlainUCB1(), problem, times, new_progress(), run)
        assert steps == 777
        assert pulls.tolist() == compiled.pulls["ucb1"][run].tolist()


class Checking(PlainPolicy):
    """Plays in turn; the arm that pays is the second up to t = 7, in context b the first."""

    name = "checking"
    stays = False

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        return seen.t % 2

    def start(self, problem: Problem) -> list[int]:
        return []

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        late = len(seen.memory) >= 7 and not self.stays
        pays = (arm == 1) == ((seen.context != "b") != late)
        assert reward == pays
        seen.memory.append(arm)


class Staying(Checking):
    name = "staying"
    stays = True


A, B = [0.0, 1.0], [1.0, 0.0]
PLAIN = Problem.bernoulli([A, B])
IN_CONTEXTS = Problem.bernoulli([[A, B], [B, A]], contexts=["a", "b"])
CHANGES = {0: "theta1", 7: "theta2"}


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("problem", [PLAIN, IN_CONTEXTS], ids=["alone", "contexts"])
def test_rewards_are_those_of_the_stage_and_the_context(problem: Problem, delay: int) -> None:
    """Means are 0 and 1, so each reward is known; late ones are of when the decision was made."""
    result = simulate(problem, Checking(), truth=CHANGES, horizon=30, runs=3, delay=delay)
    counts = result.pulls["checking"][:, -1].reshape(3, -1, 2).sum(axis=1)
    assert counts.tolist() == [[15, 15]] * 3


def test_rewards_are_those_of_the_model_that_a_chain_begins_with() -> None:
    """It begins with the second of three, and stays there."""
    chain = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    problem = Problem.bernoulli([B, A, B], transitions=chain)
    result = simulate(problem, Staying(), truth="theta2", horizon=30, runs=2)
    assert result.pulls["staying"][:, -1].tolist() == [[0, 0, 15, 15, 0, 0]] * 2


def test_three_contexts_come_as_the_stream_says() -> None:
    problem = Problem.bernoulli([[A, B, A]], contexts=["x", "y", "z"], shares=[0.2, 0.5, 0.3])
    result = simulate(problem, InTurn(), truth="theta1", horizon=40, runs=2, seed=5)
    for run in range(2):
        stream, expected = random_stream(5, run, REWARDS), np.zeros(6, int)
        for t in range(40):
            context = int(np.searchsorted([0.2, 0.7], stream.random(), side="right"))
            expected[2 * context + t % 2] += 1
            stream.random()  # the reward
        assert result.pulls["in-turn"][run, -1].tolist() == expected.tolist()
