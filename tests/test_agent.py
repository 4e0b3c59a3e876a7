"""Agents: ask and tell, late, out of order, never, and again after a restart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, Agent, InputError, Problem, Thompson, load_problem
from fpbandits.agent import Decision
from fpbandits.policies import POLICIES


@pytest.fixture
def problem() -> Problem:
    return load_problem("paper:permutations")


def snapshot(agent: Agent) -> Any:
    return (
        agent._next,
        list(agent._plan),
        dict(agent._out),
        dict(agent._told),
        {arm: list(queue) for arm, queue in agent._queues.items()},
        [part.tolist() for part in agent._tally],
    )


def play(agent: Agent, steps: int, reward: Callable[[Decision], float]) -> list[str]:
    arms = []
    for _ in range(steps):
        decision = agent.ask()
        arms.append(decision.arm)
        agent.tell(decision.id, reward(decision))
    return arms


def test_decisions_have_ids_and_arms(problem: Problem) -> None:
    agent = Agent(problem, FPUCB())
    first, second = agent.ask(), agent.ask()
    assert (first.id, first.arm) == (0, "arm1")
    assert (second.id, second.arm) == (1, "arm2")
    assert agent.outstanding == {0: "arm1", 1: "arm2"}
    agent.tell(1, reward=1.0)
    agent.tell(0, reward=True)
    assert agent.outstanding == {}
    assert agent.plays == {"arm1": 1, "arm2": 1, "arm3": 0, "arm4": 0}


def test_an_arm_counts_up_to_its_first_untold_decision() -> None:
    single = Problem.bernoulli([[0.5], [0.6]])
    agent = Agent(single, FPUCB())
    ids = [agent.ask().id for _ in range(5)]
    agent.tell(ids[1], 1)
    agent.tell(ids[2], 0)
    agent.tell(ids[4], 1)
    assert agent.plays == {"arm1": 0}
    agent.tell(ids[0], 1)
    assert agent.plays == {"arm1": 3}
    agent.forget(ids[3])
    assert agent.plays == {"arm1": 4}
    assert agent._tally.sums[0] == 3
    assert agent._queues == {}
    assert agent._told == {}

    eager = Agent(single, FPUCB(), late="any")
    ids = [eager.ask().id for _ in range(5)]
    eager.tell(ids[2], 1)
    assert eager.plays == {"arm1": 1}
    eager.forget(ids[0])
    assert eager.plays == {"arm1": 1}


def test_order_of_telling_within_an_episode_does_not_matter(problem: Problem) -> None:
    generator = np.random.default_rng(2)
    forth, back = Agent(problem, FPUCB()), Agent(problem, FPUCB())
    for _ in range(60):
        decisions = [[agent.ask()] for agent in (forth, back)]
        for agent, asked in zip((forth, back), decisions, strict=True):
            while agent._plan:
                asked.append(agent.ask())
        assert [d.arm for d in decisions[0]] == [d.arm for d in decisions[1]]
        rewards = {d.id: float(generator.random() < 0.4) for d in decisions[0]}
        for decision in decisions[0]:
            forth.tell(decision.id, rewards[decision.id])
        for decision in reversed(decisions[1]):
            back.tell(decision.id, rewards[decision.id])
        assert [part.tolist() for part in forth._tally] == [part.tolist() for part in back._tally]


def ruled_out(late: str) -> int:
    """Count the episodes in which the truth does not fit, where only failures are told late.

    A sale is known at once, a non-sale when 400 others have come.
    """
    problem = Problem.bernoulli([[0.6, 0.4], [0.4, 0.6], [0.9, 0.95]], parameters=["x", "y", "z"])
    agent = Agent(problem, FPUCB(), late=late)
    generator = np.random.default_rng(1)
    waiting: list[int] = []
    missing = 0
    for step in range(2000):
        decision = agent.ask()
        chance = 0.6 if decision.arm == "arm1" else 0.4
        if generator.random() < chance:
            agent.tell(decision.id, 1)
        else:
            waiting.append(decision.id)
        if len(waiting) > 400:
            agent.tell(waiting.pop(0), 0)
        if step > 100:
            missing += "x" not in agent.survivors()
    return missing


def test_the_trap_of_biased_delays() -> None:
    """Counting whatever is told rules the true model out; counting in order does not."""
    assert ruled_out("in-order") == 0
    assert ruled_out("any") > 500


def test_nothing_told_constrains_nothing(problem: Problem) -> None:
    for kind in POLICIES.values():
        agent = Agent(problem, kind())
        arms = [agent.ask().arm for _ in range(40)]
        assert set(arms) <= set(problem.arms)
        assert agent.plays == dict.fromkeys(problem.arms, 0)
    assert set(Agent(problem, FPUCB()).survivors()) == set(problem.parameters)


def test_survivors_and_by_how_much() -> None:
    problem = Problem.bernoulli([[60, 40], [20, 40]], range=(0, 100), parameters=["x", "y"])
    agent = Agent(problem, FPUCB())
    generator = np.random.default_rng(0)
    play(agent, 2000, lambda d: 100.0 * (generator.random() < (0.6 if d.arm == "arm1" else 0.4)))
    survivors = agent.survivors()
    assert list(survivors) == ["x"]
    tally = agent._tally
    radius = np.sqrt(3 * np.log(tally.counters[0]) / tally.plays)
    slack = radius - np.abs(tally.sums / tally.plays - [0.6, 0.4])
    assert survivors["x"] == pytest.approx(100 * slack.min())
    with pytest.raises(InputError, match="ucb1 does not rule any model out"):
        Agent(problem, UCB1()).survivors()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("late", ["in-order", "any"])
def test_state_survives_save_and_load(
    problem: Problem, tmp_path: Path, name: str, late: str
) -> None:
    """An agent saved and loaded after every tenth step decides as one that never stopped."""
    path = tmp_path / "agent.json"
    policy = POLICIES[name]()
    steady = Agent(problem, policy, seed=5, late=late)
    moved = Agent(problem, policy, seed=5, late=late)
    generator = np.random.default_rng(1)
    open_ids: list[int] = []
    for step in range(300):
        one, other = steady.ask(), moved.ask()
        assert one == other
        open_ids.append(one.id)
        if generator.random() < 0.8:
            known = open_ids.pop(int(generator.integers(len(open_ids))))
            reward = float(generator.random())
            steady.tell(known, reward)
            moved.tell(known, reward)
        elif generator.random() < 0.3:
            lost = open_ids.pop(0)
            steady.forget(lost)
            moved.forget(lost)
        if step % 10 == 0:
            moved.save(path)
            moved = Agent.load(path, problem)
        assert snapshot(steady) == snapshot(moved)


def test_thompson_agents_are_reproducible(problem: Problem) -> None:
    arms = [play(Agent(problem, Thompson(), seed=seed), 100, lambda d: 0.3) for seed in (1, 1, 2)]
    assert arms[0] == arms[1]
    assert arms[0] != arms[2]


def test_bad_tells_leave_the_agent_as_it_was(problem: Problem) -> None:
    agent = Agent(problem)
    play(agent, 30, lambda d: 1.0)
    told, open_id = 3, agent.ask().id
    before = snapshot(agent)
    mistakes: list[tuple[Any, Any, str]] = [
        (999, 1.0, "unknown decision 999"),
        (-1, 1.0, "unknown decision -1"),
        ("0", 1.0, "unknown decision '0'"),
        (True, 1.0, "unknown decision True"),
        (told, 1.0, "decision 3 was told or forgotten already"),
        (open_id, 1.5, "the reward 1.5 is outside the range [0, 1]"),
        (open_id, float("nan"), "the reward nan is outside the range [0, 1]"),
        (open_id, "much", "the reward must be a number, not 'much'"),
        (open_id, None, "the reward must be a number, not None"),
        (open_id, 10**400, "the reward must be a number, not 1"),
    ]
    for number, reward, message in mistakes:
        with pytest.raises(InputError) as caught:
            agent.tell(number, reward)
        assert message in str(caught.value)
        assert snapshot(agent) == before
    with pytest.raises(InputError, match="told or forgotten already"):
        agent.forget(told)
    agent.forget(open_id)
    with pytest.raises(InputError, match="told or forgotten already"):
        agent.tell(open_id, 1.0)


def test_bad_files(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = Agent(problem)
    play(agent, 10, lambda d: 1.0)
    agent.ask()
    agent.save(path)
    whole = path.read_text()
    state = json.loads(whole)

    def refusal(text: str, other: Problem = problem) -> str:
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            Agent.load(path, other)
        assert len(str(caught.value).splitlines()) == 1
        return str(caught.value)

    for cut in range(0, len(whole) - 2, 7):
        assert str(path) in refusal(whole[:cut])
    assert "written with schema 2" in refusal(json.dumps(state | {"schema": 2}))
    assert "plays another problem" in refusal(whole, load_problem("paper:two"))
    assert "not an agent of fpbandits" in refusal("{}")
    assert "not an agent of fpbandits" in refusal("[1]")
    assert "unknown policy" in refusal(json.dumps(state | {"policy": "magic"}))
    for key in state:
        assert str(path) in refusal(json.dumps({k: v for k, v in state.items() if k != key}))
    damages: list[dict[str, Any]] = [
        {"policy": 5},
        {"queues": []},
        {"plan": [-1]},
        {"counters": [-1, 0, 0]},
        {"queues": [[1, state["queues"][0][1]]]},
        {"queues": state["queues"] * 2, "told": [[state["next"] - 1, 0.5]]},
    ]
    for changes in damages:
        assert str(path) in refusal(json.dumps(state | changes))
    for key in ("plays", "sums", "counters", "plan", "out", "queues", "told", "next"):
        for value in (None, "x", [1.5], [[99, 99]], {"a": 1}):
            if value != state[key]:
                assert str(path) in refusal(json.dumps(state | {key: value}))
    with pytest.raises(InputError, match="there is no such file"):
        Agent.load(tmp_path / "none.json", problem)


def test_numbers_of_numpy_are_saved_like_others(problem: Problem, tmp_path: Path) -> None:
    policy = FPUCB(slack=np.float64(0.05))
    assert str(policy) == "fp-ucb:slack=0.05"
    agent = Agent(problem, policy)
    ids = [agent.ask().id for _ in range(6)]
    number: Any = np.int64(ids[4])
    agent.tell(number, float(np.float32(1.0)))
    agent.save(tmp_path / "agent.json")
    assert snapshot(Agent.load(tmp_path / "agent.json", problem)) == snapshot(agent)


def test_bad_arguments(problem: Problem) -> None:
    with pytest.raises(InputError, match="late is 'never': it must be one of in-order, any"):
        Agent(problem, late="never")
    with pytest.raises(InputError, match="seed is -1"):
        Agent(problem, seed=-1)
    with pytest.raises(InputError, match="expected a policy such as FPUCB"):
        Agent(problem, "fp-ucb")  # type: ignore[arg-type]


def size_in_bytes(agent: Agent) -> int:
    """Add up what belongs to this agent alone."""
    parts = [agent, agent._plan, agent._out, agent._told, agent._queues, agent._numbers]
    for queue in agent._queues.values():
        parts += [queue, *queue]
    return sum(map(sys.getsizeof, parts))


def test_an_agent_is_small(problem: Problem) -> None:
    """A million agents with nothing outstanding fit into 700 MB."""
    agents = [Agent(problem) for _ in range(1000)]
    for agent in agents[:50]:
        play(agent, 40, lambda d: 1.0)
    assert size_in_bytes(agents[0]) < 700
