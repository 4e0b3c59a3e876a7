"""Policies in ordinary Python: what they see, what they may return, and where they play."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import getsourcelines
from typing import Any

import numpy as np
import pytest

from fpbandits import Agent, InputError, PlainPolicy, Problem, load_problem, simulate
from fpbandits.engine.plain import Seen


@dataclass(frozen=True)
class EpsilonGreedy(PlainPolicy):
    epsilon: float = 0.1
    name = "epsilon-greedy"

    def choose(self, seen: Seen, random: np.random.Generator) -> Any:
        if seen.t < len(seen.plays):
            return seen.t
        if random.random() < self.epsilon:
            return random.integers(len(seen.plays))
        return seen.means.argmax()


@dataclass(frozen=True)
class Witness(PlainPolicy):
    """Plays the arms in turn by name, and writes down all it sees."""

    name = "witness"

    def start(self, problem: Problem) -> Any:
        return []

    def choose(self, seen: Seen, random: np.random.Generator) -> str:
        row = [seen.t, seen.plays.tolist(), seen.sums.tolist(), seen.means.tolist()]
        seen.memory.append(["choose", *row, seen.context])
        return seen.problem.arms[seen.t % len(seen.problem.arms)]

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        seen.memory = [*seen.memory, ["update", seen.t, arm, reward]]


@dataclass(frozen=True)
class Odd(PlainPolicy):
    returns: Any = None
    name = "odd"

    def choose(self, seen: Seen, random: np.random.Generator) -> Any:
        return self.returns if seen.t == 3 else 0


def test_a_plain_run_is_the_loop_anyone_would_write() -> None:
    """The same stream, in ten lines of NumPy: the same pulls."""
    problem = load_problem("paper:permutations")
    result = simulate(problem, EpsilonGreedy(0.2), horizon=500, runs=4, seed=9, times=[100, 500])
    for run in range(4):
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(9, spawn_key=(run, 0))))
        plays, sums = np.zeros(4, int), np.zeros(4)
        for t in range(500):
            arm = t
            if t >= 4:
                explore = random.random() < 0.2
                arm = int(random.integers(4) if explore else np.argmax(sums / plays))
            sums[arm] += random.random() < [0.6, 0.4, 0.3, 0.2][arm]
            plays[arm] += 1
            if t == 99:
                assert result.pulls["epsilon-greedy:epsilon=0.2"][run, 0].tolist() == plays.tolist()
        assert result.pulls["epsilon-greedy:epsilon=0.2"][run, 1].tolist() == plays.tolist()


def test_a_plain_policy_sees_the_users_units() -> None:
    problem = Problem.bernoulli([[9.0, 12.0], [6.0, 7.0]], arms=["a", "b"], range=(5, 15))
    agent = Agent(problem, Witness())
    for reward in (15, 5, 5, 15):
        agent.tell(agent.ask().id, reward)
    memory = agent.state()["memory"]
    choices = [row for row in memory if row[0] == "choose"]
    assert [row[1] for row in choices] == [0, 1, 2, 3]
    assert choices[0][2:4] == [[0, 0], [0.0, 0.0]]
    assert all(np.isnan(choices[0][4]))
    assert choices[3][2:] == [[2, 1], [20.0, 5.0], [10.0, 5.0], None]
    updates = [row for row in memory if row[0] == "update"]
    assert updates == [["update", 1, 0, 15], ["update", 2, 1, 5], ["update", 3, 0, 5],
                       ["update", 4, 1, 15]]  # fmt: skip


def test_live_and_simulated_a_plain_policy_sees_the_same() -> None:
    """Fixed rewards in units of the user's own: what the agent saw is what the run saw."""
    problem = Problem.discrete(
        [[[0, 1, 0], [0, 0, 1]]], support=[0.1, 0.3, 1.7], range=(0.1, 1.7), truth="theta1"
    )
    seen: list[Any] = []

    @dataclass(frozen=True)
    class Recorder(Witness):
        name = "recorder"

        def update(self, each: Seen, arm: int, reward: float) -> None:
            seen.append((each.t, arm, reward, each.sums.tolist(), each.means.tolist()))

    simulate(problem, Recorder(), horizon=50, runs=1)
    simulated, seen[:] = list(seen), []
    agent = Agent(problem, Recorder())
    for step in range(50):
        agent.tell(agent.ask().id, (0.3, 1.7)[step % 2])
    assert [row[:2] for row in seen] == [row[:2] for row in simulated]
    for one, other in zip(seen, simulated, strict=True):
        np.testing.assert_allclose(one[2], other[2], rtol=1e-14)
        np.testing.assert_allclose(one[3], other[3], rtol=1e-14)


def test_in_a_context_it_sees_what_belongs_to_it() -> None:
    """Also of decisions that are pending, and of arms that may not be played."""
    problem = Problem.bernoulli([[[0.5, 0.4, 0.3]] * 2], contexts=["x", "y"])
    seen: list[Any] = []

    class Looker(PlainPolicy):
        name = "looker"

        def choose(self, now: Seen, random: np.random.Generator) -> int:
            seen.append((now.context, now.among, now.pending.tolist(), now.plays.tolist()))
            return now.among[-1]

    agent = Agent(problem, Looker())
    first = agent.ask("y")
    agent.ask("y", among=["arm2", "arm1"])
    agent.tell(first, 1)
    agent.ask("y")
    agent.ask("x")
    assert seen == [
        ("y", (0, 1, 2), [0, 0, 0], [0, 0, 0]),
        ("y", (0, 1), [0, 0, 1], [0, 0, 0]),
        ("y", (0, 1, 2), [0, 1, 0], [0, 0, 1]),
        ("x", (0, 1, 2), [0, 0, 0], [0, 0, 0]),
    ]


def test_a_plain_policy_is_played_step_by_step_and_may_draw() -> None:
    assert not Witness.leaps
    assert Witness.randomised


def test_early_decisions_do_not_wait_for_rewards() -> None:
    """`t` counts decisions, so arms are tried in turn though nothing is told yet."""
    agent = Agent(load_problem("paper:permutations"), EpsilonGreedy(0.0))
    assert [agent.ask().arm for _ in range(5)] == ["arm1", "arm2", "arm3", "arm4", "arm1"]


@pytest.mark.parametrize("returns", [2, -1, "arm3", 0.5, True, None, [0], np.nan])
def test_what_is_no_arm_is_refused(returns: Any) -> None:
    policy = Odd(tuple(returns) if isinstance(returns, list) else returns)
    with pytest.raises(
        InputError, match=r"odd: choose returned .* at t = 3: an arm is one of 'arm"
    ):
        simulate(load_problem("paper:two"), policy, horizon=9, runs=1)


@pytest.mark.parametrize("returns", [1, "arm2", np.int64(1), np.uint8(1)])
def test_arms_by_index_and_name(returns: Any) -> None:
    result = simulate(load_problem("paper:two"), Odd(returns), horizon=4, runs=1)
    (name,) = result.policies
    assert result.pulls[name][0, -1].tolist() == [3, 1]


@dataclass(frozen=True)
class Failing(PlainPolicy):
    where: str = "choose"
    name = "failing"

    def start(self, problem: Problem) -> Any:
        return 1 / (self.where != "start")

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        return 1 // (self.where != "choose" or seen.t < 2)

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        1 / (self.where != "update")  # it is meant to fail


@pytest.mark.parametrize("where", ["start", "choose", "update"])
def test_failures_of_its_own_code_are_told_in_one_line(where: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(load_problem("paper:two"), Failing(where), horizon=9, runs=1)
    message = str(caught.value)
    assert message.startswith(f"failing: its own code failed in {where}")
    assert "ZeroDivisionError" in message
    lines, first = getsourcelines(getattr(Failing, where))
    assert message.endswith(f"test_plain.py, line {first + len(lines) - 1})")
    assert "\n" not in message
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_memory_must_be_fit_for_json() -> None:
    @dataclass(frozen=True)
    class Hoarder(PlainPolicy):
        name = "hoarder"

        def start(self, problem: Problem) -> Any:
            return {1, 2}

        def choose(self, seen: Seen, random: np.random.Generator) -> int:
            return 0

    agent = Agent(load_problem("paper:two"), Hoarder())
    agent.tell(agent.ask().id, 1)
    with pytest.raises(InputError, match="hoarder: its memory is not fit for JSON"):
        agent.state()


def test_options_are_fields() -> None:
    class Undecorated(PlainPolicy):
        name = "undecorated"

        def __init__(self, size: int) -> None:
            self.size = size

        def choose(self, seen: Seen, random: np.random.Generator) -> int:
            return 0

    with pytest.raises(InputError, match=r"Undecorated: .* @dataclass\(frozen=True\)"):
        simulate(load_problem("paper:two"), Undecorated(3), horizon=9, runs=1)

    @dataclass(frozen=True)
    class Nameless(PlainPolicy):
        def choose(self, seen: Seen, random: np.random.Generator) -> int:
            return 0

    with pytest.raises(InputError, match="Nameless: a policy has a name"):
        Agent(load_problem("paper:two"), Nameless())
