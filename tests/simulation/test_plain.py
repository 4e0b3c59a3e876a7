"""The loop in ordinary Python: counted when asked, stopped when told, the same as the compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fpbandits import UCB1, PlainPolicy, Problem, load_problem, simulate
from fpbandits.core.arrays import Counts
from fpbandits.core.streams import run_stream
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
    stream, starts = run_stream(5, run), (np.array([0]), np.array([0]))
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
