"""Agents: ask and tell, late, out of order, never, and again after a restart."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from context_twins import WORDS
from reference import kl

from fpbandits import (
    FPUCB,
    UCB1,
    Agent,
    ConflictError,
    Error,
    InputError,
    Policy,
    Problem,
    StorageError,
    Thompson,
    UnknownError,
    load_problem,
    save_problem,
)
from fpbandits.agent.agent import Decision, Late
from fpbandits.agent.ledger import CROWD, Blocked
from fpbandits.engine import ready
from fpbandits.engine.compilations import IN_BACKGROUND
from fpbandits.policies import POLICIES, PlainPolicy, parse_policy

may_pile_up = pytest.mark.usefixtures("no_warnings_of_blocked_rewards")


@pytest.fixture
def no_warnings_of_blocked_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no agent warn of them; a filter of warnings would be lost when a compilation ends."""
    monkeypatch.setattr(Agent, "_crowd_warning", lambda agent, pair: None)


@pytest.fixture(autouse=True)
def nothing_compiles() -> None:
    """Wait for compilations that earlier tests began.

    Numba sets and resets the filters of warnings, which all threads share.
    """
    for thread in threading.enumerate():
        if thread.name == IN_BACKGROUND:
            thread.join()


@pytest.fixture
def problem() -> Problem:
    return load_problem("paper:permutations")


def snapshot(agent: Agent) -> Any:
    return (
        agent._from_history,
        json.dumps(agent._memory),
        list(agent._to_hand_out),
        agent._ledger.state(),
        agent._packed.tolist(),
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
    assert agent.pending == {0: "arm1", 1: "arm2"}
    agent.tell(1, reward=1.0)
    agent.tell(0, reward=True)
    assert agent.pending == {}
    assert agent.plays == {"arm1": 1, "arm2": 1, "arm3": 0, "arm4": 0}


def test_a_decision_is_the_same_whether_or_not_its_probability_is_known() -> None:
    asked = Agent(Problem.bernoulli([[0.5, 0.4]]), FPUCB()).ask()
    written_down = Decision(asked.id, asked.arm)
    assert (asked.probability, written_down.probability) == (1, None)
    assert asked == written_down
    assert hash(asked) == hash(written_down)


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
    assert agent._seen.sums[0] == 3
    assert agent._ledger.state() == {"next": 5, "out": [], "told": [], "queues": []}

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
            while agent._to_hand_out:
                asked.append(agent.ask())
        assert [d.arm for d in decisions[0]] == [d.arm for d in decisions[1]]
        rewards = {d.id: float(generator.random() < 0.4) for d in decisions[0]}
        for decision in decisions[0]:
            forth.tell(decision.id, rewards[decision.id])
        for decision in reversed(decisions[1]):
            back.tell(decision.id, rewards[decision.id])
        assert forth._packed.tolist() == back._packed.tolist()


def count_ruled_out(late: Late) -> int:
    """Return at how many of 1,900 plays the truth does not fit, if only failures are told late.

    A sale is told at once, a non-sale after 400 others.
    """
    problem = Problem.bernoulli([[0.6, 0.4], [0.4, 0.6], [0.9, 0.95]], models=["x", "y", "z"])
    agent = Agent(problem, FPUCB(), late=late)
    generator = np.random.default_rng(1)
    failures: list[int] = []
    missing = 0
    for step in range(2000):
        decision = agent.ask()
        chance = 0.6 if decision.arm == "arm1" else 0.4
        if generator.random() < chance:
            agent.tell(decision.id, 1)
        else:
            failures.append(decision.id)
        if len(failures) > 400:
            agent.tell(failures.pop(0), 0)
        if step > 100:
            missing += "x" not in agent.plausible()
    return missing


@may_pile_up
def test_the_trap_of_biased_delays() -> None:
    """Counting whatever is told rules the true model out; counting in order does not."""
    assert count_ruled_out("in-order") == 0
    assert count_ruled_out("any") > 500


def test_nothing_told_constrains_nothing(problem: Problem) -> None:
    for kind in POLICIES.values():
        agent = Agent(problem, kind())
        arms = [agent.ask().arm for _ in range(40)]
        assert set(arms) <= set(problem.arms)
        assert agent.plays == dict.fromkeys(problem.arms, 0)
    assert set(Agent(problem, FPUCB()).plausible()) == set(problem.models)


def test_plausible_models_and_by_how_much() -> None:
    problem = Problem.bernoulli([[60, 40], [20, 40]], range=(0, 100), models=["x", "y"])
    agent = Agent(problem, FPUCB())
    generator = np.random.default_rng(0)
    play(agent, 2000, lambda d: 100.0 * (generator.random() < (0.6 if d.arm == "arm1" else 0.4)))
    plausible = agent.plausible()
    assert list(plausible) == ["x"]
    wins = {arm: agent._seen.sums[number] for number, arm in enumerate(problem.arms)}
    nats = math.log(1000)
    for arm, mean in (("arm1", 0.6), ("arm2", 0.4)):
        n, observed = agent.plays[arm], wins[arm] / agent.plays[arm]
        nats += math.log(n + 1) - n * kl(observed, mean)
    assert plausible["x"] == pytest.approx(nats)


def test_plausible_is_by_one_test_whoever_decides() -> None:
    """The truth may be missing at some time in 1 of 20 runs: in at most 38 of 400.

    The test fails for no reason with probability below 1e-4.
    """
    problem = Problem.gaussian([[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]], deviation=0.5)
    missing = 0
    for run in range(400):
        agent = Agent(problem, "optimist:false_alarm=0.05" if run % 2 else "ucb1")
        generator, lost = np.random.default_rng(run), False
        for _ in range(40):
            decision = agent.ask()
            agent.tell(decision.id, generator.normal(0.5 if decision.arm == "arm1" else 1.0, 0.5))
            lost = lost or "theta2" not in agent.plausible()
        missing += lost
    assert missing <= 38
    agent = Agent(problem, UCB1())
    for _ in range(40):
        agent.tell(agent.ask().id, 9.0)
    assert agent.plausible() == {}


@may_pile_up
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("late", ["in-order", "any"])
def test_state_survives_save_and_load(
    problem: Problem, tmp_path: Path, name: str, late: Late
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
    mistakes: list[tuple[Any, Any, type[Error], str]] = [
        (999, 1.0, UnknownError, "unknown decision 999"),
        (-1, 1.0, UnknownError, "unknown decision -1"),
        ("0", 1.0, UnknownError, "unknown decision '0'"),
        (True, 1.0, UnknownError, "unknown decision True"),
        (told, 1.0, ConflictError, "decision 3 was told or forgotten already"),
        (open_id, 1.5, InputError, "the reward 1.5 is outside the range [0, 1]"),
        (open_id, float("nan"), InputError, "the reward nan is outside the range [0, 1]"),
        (open_id, "much", InputError, "the reward must be a number, not 'much'"),
        (open_id, "1", InputError, "the reward must be a number, not '1'"),
        (open_id, 1j, InputError, "the reward must be a number, not 1j"),
        (open_id, np.complex128(1), InputError, "the reward must be a number, not np.complex128"),
        (open_id, np.array([1.0]), InputError, "the reward must be a number, not array([1.])"),
        (open_id, np.ma.masked, InputError, "the reward must be a number, not masked"),
        (10**5000, 1.0, UnknownError, "unknown decision a number of thousands of digits"),
        (np.timedelta64(0), 1.0, UnknownError, "unknown decision np.timedelta64(0)"),
        (open_id, None, InputError, "the reward must be a number, not None"),
        (open_id, 10**400, InputError, "the reward must be a number, not 1"),
    ]
    for number, reward, kind, message in mistakes:
        with pytest.raises(InputError) as caught:
            agent.tell(number, reward)
        assert type(caught.value) is kind
        assert message in str(caught.value)
        assert snapshot(agent) == before
    with pytest.raises(ConflictError, match="told or forgotten already"):
        agent.forget(told)
    agent.forget(open_id)
    with pytest.raises(ConflictError, match="told or forgotten already"):
        agent.tell(open_id, 1.0)


LATER = {"code", "observed", "memory", "statistics", "beliefs"}
"""What was not there in the first schema, and coins can do without."""


def test_bad_files(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = Agent(problem)
    play(agent, 10, lambda d: 1.0)
    agent.ask()
    agent.save(path)
    whole = path.read_text()
    state = json.loads(whole)

    def refusal(text: str, kind: type[Error] = StorageError, other: Problem = problem) -> str:
        path.write_text(text)
        with pytest.raises(Error) as caught:
            Agent.load(path, other)
        assert isinstance(caught.value, kind)
        assert not (kind is StorageError and isinstance(caught.value, InputError))
        assert len(str(caught.value).splitlines()) == 1
        return str(caught.value)

    for cut in range(0, len(whole) - 2, 7):
        assert str(path) in refusal(whole[:cut])
    assert "written with schema 3" in refusal(json.dumps(state | {"schema": 3}))
    other = load_problem("paper:two")
    assert "plays another problem" in refusal(whole, ConflictError, other)
    assert "holds no agent of fpbandits" in refusal("{}")
    assert "holds no agent of fpbandits" in refusal("[1]")
    for policy in ("magic", 5):
        assert "unknown policy" in refusal(json.dumps(state | {"policy": policy}), UnknownError)
    for key in state.keys() - LATER:
        assert str(path) in refusal(json.dumps({k: v for k, v in state.items() if k != key}))
    damages: list[dict[str, Any]] = [
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
    with pytest.raises(
        InputError, match="late is 'never': it must be one of in-order, all-in-order, any"
    ):
        Agent(problem, late="never")  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(InputError, match="seed is -1"):
        Agent(problem, seed=-1)
    with pytest.raises(InputError, match="unknown policy 'fp-ucbb': did you mean 'fp-ucb'"):
        Agent(problem, "fp-ucbb")
    with pytest.raises(InputError, match="expected a policy such as FPUCB"):
        Agent(problem, FPUCB)  # type: ignore[arg-type]  # likewise


def test_a_policy_by_its_name_and_a_decision_by_itself(problem: Problem) -> None:
    agent = Agent(problem, "fp-ucb:slack=0.1")
    assert agent.policy == FPUCB(slack=0.1)
    agent.tell(agent.ask(), reward=1)
    agent.forget(agent.ask())
    assert sum(agent.plays.values()) == 1
    assert agent.pending == {}


def size_in_bytes(agent: Agent) -> int:
    """Add up what belongs to this agent alone."""
    ledger = agent._ledger
    parts: list[Any] = [agent, agent._to_hand_out, agent._packed, agent._lock]
    parts += [ledger, ledger.pending, ledger._blocked, ledger._queues]
    for queue in ledger._queues.values():
        parts += [queue, *queue]
    return sum(map(sys.getsizeof, parts))


def test_an_agent_is_small(problem: Problem) -> None:
    """A million agents with nothing pending fit into 744 MB; the default keeps a number."""
    agents = [Agent(problem) for _ in range(1000)]
    for agent in agents[:50]:
        play(agent, 40, lambda d: 1.0)
    assert size_in_bytes(agents[0]) <= 744


@pytest.fixture
def busy_threads() -> Any:
    """Threads that take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("busy_threads")
@may_pile_up
@pytest.mark.parametrize("late", ["in-order", "any"])
def test_threads_share_an_agent(
    problem: Problem, late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing must compile here. A policy that is ready already would, so the problem is a new one.
    monkeypatch.setattr(ready, "LOAD_AFTER", math.inf)
    monkeypatch.setattr(ready, "COMPILE_AFTER", math.inf)
    agent = Agent(replace(problem, name="shared by threads"), FPUCB(), late=late)

    def tell_all(ids: list[int]) -> None:
        for number in ids:
            agent.tell(number, 1)

    with ThreadPoolExecutor(8) as pool:
        asked = list(
            pool.map(lambda _: [agent.ask().id for _ in range(3000)], range(8), chunksize=1)
        )
        assert {number for ids in asked for number in ids} == set(range(24_000))
        list(pool.map(tell_all, asked))
    assert agent.pending == {}
    assert agent.blocked == {}
    assert sum(agent.plays.values()) == 24_000
    assert agent._seen.sums.sum() == 24_000


def lose_the_first(agent: Agent, steps: int) -> tuple[list[Decision], list[str]]:
    """Tell every reward but each arm's first; return the decisions lost, and what was warned of."""
    lost: dict[str, Decision] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(steps):
            decision = agent.ask()
            if lost.setdefault(decision.arm, decision) is not decision:
                agent.tell(decision.id, 1)
    return list(lost.values()), [str(warning.message) for warning in caught]


def test_a_lost_reward_is_warned_of(problem: Problem) -> None:
    agent = Agent(problem, "optimist")  # it plays one arm until it hears
    (lost,), told = lose_the_first(agent, 101)
    assert len(told) == 1
    for part in (f"arm '{lost.arm}'", f"decision {lost.id},", f"forget({lost.id})", "late='any'"):
        assert part in told[0]
    assert len(told[0].splitlines()) == 1
    assert agent.plays[lost.arm] == 0
    assert agent.blocked == {lost.arm: Blocked(lost.id, 100)}
    agent.forget(lost.id)
    assert agent.plays[lost.arm] == 100
    assert agent.blocked == {}
    # What will never come is known by now: it is not said again.
    assert lose_the_first(agent, 101)[1] == []


def test_lost_rewards_are_warned_of_once_per_arm(problem: Problem) -> None:
    agent = Agent(problem, FPUCB())
    lost, told = lose_the_first(agent, 400)
    assert len(lost) == len(told) == 4
    assert all(
        f"decision {decision.id}," in line for decision, line in zip(lost, told, strict=True)
    )
    assert agent.blocked == {decision.arm: Blocked(decision.id, 99) for decision in lost}
    for decision in lost:
        agent.tell(decision.id, 0)
    assert agent.plays == dict.fromkeys(problem.arms, 100)


def test_few_rewards_may_wait(problem: Problem) -> None:
    agent = Agent(problem, "optimist")
    (lost,), told = lose_the_first(agent, CROWD)
    assert told == []
    assert agent.blocked == {lost.arm: Blocked(lost.id, CROWD - 1)}
    with pytest.warns(UserWarning, match=f"{CROWD} rewards wait for that of decision {lost.id}"):
        agent.tell(agent.ask().id, 1)
    eager = Agent(problem, late="any")
    assert lose_the_first(eager, 400)[1] == []
    assert eager.blocked == {}


@may_pile_up
def test_telling_does_not_look_through_all_that_are_out(problem: Problem) -> None:
    """With rewards of one arm blocked, those of another that count at once are as fast as ever."""
    agent = Agent(problem, FPUCB())
    asked = [agent.ask() for _ in range(400)]
    one, other = ([d.id for d in asked if d.arm == arm] for arm in problem.arms[:2])
    for number in one[1:]:
        agent.tell(number, 1)
    looked = 0

    class Queue(deque[int]):
        def __iter__(self) -> Any:
            nonlocal looked
            looked += 1
            return super().__iter__()

    agent._ledger._queues[1] = Queue(agent._ledger._queues[1])
    for number in other:
        agent.tell(number, 1)
    assert looked == 0


@dataclass(frozen=True)
class Streak(PlainPolicy):
    """Stay with an arm while it pays; what has paid lately is its memory."""

    longest: int = 5

    name = "streak"

    def start(self, problem: Problem) -> Any:
        return {"arm": 0, "lately": []}

    def choose(self, seen: Any, random: np.random.Generator) -> Any:
        if len(seen.memory["lately"]) > self.longest or random.random() < 0.1:
            return random.integers(len(seen.plays))
        return seen.memory["arm"]

    def update(self, seen: Any, arm: int, reward: float) -> None:
        lately = seen.memory["lately"]
        lately.append(reward)
        del lately[: -2 * self.longest]
        if reward < 0.5:
            seen.memory["arm"] = (arm + 1) % len(seen.plays)
            lately.clear()


EVERY = [*(kind() for kind in POLICIES.values()), Streak(), Streak(longest=2)]


@pytest.mark.parametrize("policy", EVERY, ids=str)
def test_states_are_whole_and_do_not_change(problem: Problem, policy: Policy) -> None:
    agent = Agent(problem, policy, seed=7)
    generator = np.random.default_rng(3)
    play(agent, 50, lambda d: float(generator.random()))
    agent.ask()
    state = agent.state()
    written = json.dumps(state)
    assert json.loads(written) == state
    copies = [Agent.from_state(json.loads(written), problem) for _ in range(2)]
    copies.append(Agent.from_state(state, problem, policy))
    copies.append(Agent.from_state(state, problem))
    rewards = generator.random(61).tolist()
    arms = []
    for player in (agent, *copies):
        player.tell(50, rewards[0])
        arms.append(play(player, 60, lambda d: rewards[d.id - 50]))
    assert all(of_copy == arms[0] for of_copy in arms)
    assert all(snapshot(other) == snapshot(agent) for other in copies)
    assert json.dumps(state) == written
    assert all(other.policy == policy and other.problem == problem for other in copies)


BEFORE = {
    "thompson": (
        """{"kind": "fpbandits agent", "schema": 1, "fingerprint":
        "942eb08ed6a3f5227900c239b3d7cdeb187cf6381d13ace00dd7af007f98361c", "policy": "thompson",
        "seed": 5, "late": "in-order", "next": 12, "plan": [], "out": [[4, 0], [7, 0]], "told":
        [[8, 0.0], [9, 0.25], [10, 0.5], [11, 0.75]], "queues": [[0, [4, 7, 8, 9, 10, 11]]],
        "plays": [2, 4], "sums": [1.0, 1.0], "counters": [0, 0, 0, 0]}""",
        [0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0],
    ),
    "fp-ucb:slack=0.05": (
        """{"kind": "fpbandits agent", "schema": 1, "fingerprint":
        "942eb08ed6a3f5227900c239b3d7cdeb187cf6381d13ace00dd7af007f98361c", "policy":
        "fp-ucb:slack=0.05", "seed": 5, "late": "in-order", "next": 9, "plan": [1], "out": [[4, 0],
        [7, 1]], "told": [[6, 0.5], [8, 0.0]], "queues": [[0, [4, 6, 8]], [1, [7]]], "plays":
        [2, 3], "sums": [0.5, 1.25], "counters": [5, 0, 0]}""",
        [1, 0] * 12 + [1],
    ),
}
"""Agents as they were saved with schema 1, and the arms that they went on with."""


@pytest.mark.parametrize("word", BEFORE)
def test_agents_of_the_first_schema_go_on(word: str, tmp_path: Path) -> None:
    text, expected = BEFORE[word]
    path = tmp_path / "agent.json"
    path.write_text(text)
    problem = load_problem("paper:two")
    agent = Agent.load(path, problem)
    assert (str(agent.policy), agent.observed) == (word, 0)
    rewards = [(i % 3) / 2 for i in range(25)]
    first = agent._ledger.next
    arms = play(agent, 25, lambda d: rewards[d.id - first])
    assert [problem.arms.index(arm) for arm in arms] == expected
    agent.save(path)
    assert json.loads(path.read_text())["schema"] == 2
    assert snapshot(Agent.load(path, problem)) == snapshot(agent)


@pytest.mark.parametrize("word", ["optimist", "ucb1", "imed", "kl-ucb"])
def test_history_that_is_observed_counts_as_if_it_were_told(problem: Problem, word: str) -> None:
    generator = np.random.default_rng(4)
    told, warm = Agent(problem, parse_policy(word)), Agent(problem, parse_policy(word))
    for _ in range(60):
        decision, reward = told.ask(), float(generator.random() < 0.4)
        told.tell(decision.id, reward)
        warm.observe(decision.arm, reward)
    assert warm.plays == told.plays
    assert warm.pending == {}
    rewards = (generator.random(60) < 0.4).astype(float).tolist()
    assert play(told, 60, lambda d: rewards[d.id - 60]) == play(warm, 60, lambda d: rewards[d.id])


def test_history_in_units_of_the_user() -> None:
    agent = Agent(Problem.bernoulli([[20, 40]], range=(0, 100), arms=["a", "b"]), FPUCB())
    agent.ask()
    with pytest.warns(UserWarning, match="told a reward of 25, and its models pay 0, 100 only"):
        agent.observe("b", 25)
    assert agent.plays == {"a": 0, "b": 1}
    assert agent._seen.sums.tolist() == [0, 0.25]
    assert agent.observed == 1
    assert agent.pending == {0: "b"}  # the one arm of A


def test_bad_history_leaves_the_agent_as_it_was(problem: Problem) -> None:
    agent = Agent(problem, Thompson())
    agent.observe("arm1", 0.5)
    before = snapshot(agent)
    mistakes: list[tuple[Any, Any, type[Error], str]] = [
        ("arm5", 1, UnknownError, "unknown arm 'arm5': did you mean"),
        (0, 1, InputError, "an arm is named by a text, not 0"),
        ("arm1", 1.5, InputError, "arm 'arm1': the reward 1.5 is outside the range [0, 1]"),
        ("arm1", float("nan"), InputError, "the reward nan is outside the range [0, 1]"),
        ("arm1", "much", InputError, "the reward must be a number, not 'much'"),
    ]
    for arm, reward, kind, message in mistakes:
        with pytest.raises(InputError) as caught:
            agent.observe(arm, reward)
        assert type(caught.value) is kind
        assert message in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1
        assert snapshot(agent) == before


def test_history_goes_on_after_a_restart(problem: Problem, tmp_path: Path) -> None:
    """Thompson sampling rounds rewards at random, each with a stream of its own."""
    steady, moved = Agent(problem, Thompson(), seed=2), Agent(problem, Thompson(), seed=2)
    for number in range(60):
        arm = problem.arms[number % 4]
        steady.observe(arm, 0.5)
        moved.observe(arm, 0.5)
        moved.save(tmp_path / "agent.json")
        moved = Agent.load(tmp_path / "agent.json", problem)
    assert snapshot(steady) == snapshot(moved)
    assert 10 < steady._seen.sums.sum() < 50  # not all the same way
    assert play(steady, 40, lambda d: 0.5) == play(moved, 40, lambda d: 0.5)


@pytest.mark.parametrize("word", ["optimist", "ata"])
def test_problems_in_turn_are_prepared_once(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counting(policy: Policy, problem: Problem) -> Any:
        made.append(problem)
        return prepare(policy, problem)

    prepare = ready.prepare  # type: ignore[attr-defined]  # imported there
    monkeypatch.setattr(ready, "prepare", counting)
    problems = [Problem.bernoulli([[0.6, 0.3], [0.6, 0.7 + n / 100]]) for n in range(20)]
    agents = [Agent(problem, parse_policy(word)) for problem in problems]
    assert len(made) <= 20
    made.clear()
    for _ in range(5):
        for agent in agents:
            play(agent, 1, lambda d: 1.0)
    assert made == []


def test_agents_share_what_is_prepared_and_let_go_of_it() -> None:
    def problem(number: int) -> Problem:
        return Problem.bernoulli([[0.1, 0.5 + number / 1000]])

    one, other = Agent(problem(0), FPUCB()), Agent(problem(0), FPUCB())
    others = [Agent(problem(number), FPUCB()) for number in range(1, 20)]
    assert one._ready is other._ready is Agent(problem(0), FPUCB())._ready
    assert len({id(each._ready) for each in others}) == 19
    gone, kept = weakref.ref(others[0]._ready), weakref.ref(one._ready)
    others.clear()
    del one
    for number in range(20, 28):
        Agent(problem(number), FPUCB())
    gc.collect()
    assert gone() is None
    assert kept() is other._ready


HABIT = """
from dataclasses import dataclass
import fpbandits as fpb

@dataclass(frozen=True)
class Habit(fpb.PlainPolicy):
    step: int = 1
    name = "habit"

    def start(self, problem):
        return 0

    def choose(self, seen, random):
        return seen.memory % len(seen.plays)

    def update(self, seen, arm, reward):
        seen.memory += self.step
"""

ASK = """
import fpbandits as fpb
problem = fpb.load_problem("paper:permutations")
try:
    agent = fpb.Agent.load("agent.json", problem{given})
    for _ in range(4):
        decision = agent.ask()
        print(decision.arm)
        agent.tell(decision.id, 1)
    agent.save("agent.json")
except fpb.Error as error:
    print(type(error).__name__, error)
"""


def test_own_policies_are_found_by_their_rule(tmp_path: Path) -> None:
    module = tmp_path / "habits.py"
    module.write_text(HABIT)

    def process(before: str, given: str = "") -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", before + ASK.format(given=given)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    make = """
from habits import Habit
import fpbandits as fpb
fpb.Agent(fpb.load_problem("paper:permutations"), Habit(step=3)).save("agent.json")
"""
    assert process(make) == ["arm1", "arm4", "arm3", "arm2"]
    assert process("import habits") == ["arm1", "arm4", "arm3", "arm2"]
    (refused,) = process("")
    assert refused.startswith("UnknownError agent.json: this agent plays by 'habit:step=3', a poli")
    assert "import it first, or give it as policy=" in refused
    given = "from habits import Habit"
    assert process(given, ", Habit(step=3)") == ["arm1", "arm4", "arm3", "arm2"]
    (refused,) = process(given, ", policy=Habit()")
    assert refused == "ConflictError agent.json: this agent plays by 'habit:step=3', not by 'habit'"
    (refused,) = process("", ", policy=fpb.UCB1()")
    assert "not by 'ucb1'" in refused

    # Comments and line numbers do not count, the rule does.
    module.write_text("# A habit.\n\n" + HABIT)
    assert process("import habits") == ["arm1", "arm4", "arm3", "arm2"]
    module.write_text(HABIT.replace("seen.memory %", "(seen.memory + 1) %"))
    (refused,) = process("import habits")
    assert "is not known here, or has changed since" in refused
    (refused,) = process(given, ", policy=Habit(step=3)")
    assert refused.endswith("'habit:step=3', and its rule has changed since")


def test_own_policies_need_not_be_named_where_they_are_defined(
    problem: Problem, tmp_path: Path
) -> None:
    agent = Agent(problem, Streak(longest=3))
    play(agent, 30, lambda d: 0.7)
    agent.save(tmp_path / "agent.json")
    again = Agent.load(tmp_path / "agent.json", problem)
    assert again.policy == Streak(longest=3)
    assert snapshot(again) == snapshot(agent)
    assert Agent.load(tmp_path / "agent.json", problem, Streak(longest=3)).ask() == agent.ask()


def test_agents_are_copied_and_pickled_by_their_state(problem: Problem) -> None:
    agent = Agent(problem, Thompson(), seed=4)
    play(agent, 20, lambda decision: 0.5)
    agent.ask()
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert other.state() == agent.state()
        assert other.pending == {20: agent.pending[20]}
    twin = copy.deepcopy(agent)
    assert [agent.ask() for _ in range(9)] == [twin.ask() for _ in range(9)]


def test_a_problem_is_taken_by_its_name() -> None:
    agent = Agent("paper:two", FPUCB())
    assert agent.problem == load_problem("paper:two")
    assert Agent.from_state(agent.state(), "paper:two").ask() == agent.ask()
    wrong: Any = None
    with pytest.raises(InputError, match="expected a Problem, the path of its file or one of"):
        Agent(wrong)


def test_a_seed_can_be_written_down() -> None:
    agent = Agent("paper:two", Thompson(), seed=10**999)
    assert Agent.from_state(agent.state(), "paper:two").ask() == agent.ask()
    with pytest.raises(InputError, match="it must have at most 1,000 digits"):
        Agent("paper:two", Thompson(), seed=10**5000)


@pytest.mark.parametrize("late", [None, np.array(["any", "any"]), ["any"], 3])
def test_late_is_one_of_three_words(late: Any) -> None:
    with pytest.raises(InputError, match="it must be one of in-order, all-in-order, any"):
        Agent("paper:two", late=late)


def test_an_agent_fits_a_saved_problem_whatever_its_names_were(tmp_path: Path) -> None:
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], arms=list(np.array(["a", "b"])))
    agent = Agent(problem, FPUCB())
    agent.observe(np.str_("a"), 1)
    save_problem(problem, tmp_path / "problem.toml")
    agent.save(tmp_path / "agent.json")
    again = Agent.load(tmp_path / "agent.json", tmp_path / "problem.toml")
    assert again.ask() == agent.ask()


def shop(**more: Any) -> Problem:
    return Problem.bernoulli(
        [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.3, 0.6]]],
        contexts=["mobile", "desktop"],
        arms=["9 EUR", "12 EUR"],
        models=["loyal", "thrifty", "idle"],
        name="shop",
        **more,
    )


@may_pile_up
@pytest.mark.parametrize("word", [*WORDS, "optimist:change_rate=0.01"])
def test_agents_in_contexts_go_on_after_every_restart(word: str, tmp_path: Path) -> None:
    """And play again what they played, given the same contexts and rewards."""
    generator = np.random.default_rng(9)
    problem, policy = shop(), parse_policy(word)
    steady, again, restarted = (Agent(problem, policy, seed=1) for _ in range(3))
    late: list[int] = []
    for _ in range(80):
        context = problem.contexts[int(generator.integers(2))]
        decisions = [agent.ask(context=context) for agent in (steady, again, restarted)]
        assert decisions[0] == decisions[1] == decisions[2]
        restarted.save(tmp_path / "agent.json")
        restarted = Agent.load(tmp_path / "agent.json", problem)
        late.append(decisions[0].id)
        if generator.random() < 0.7:
            number = late.pop(int(generator.integers(len(late))))
            reward = float(generator.random() < 0.6)
            for agent in (steady, again, restarted):
                agent.tell(number, reward)
    assert snapshot(steady) == snapshot(again) == snapshot(restarted)
    assert steady.plays == restarted.plays


def test_a_context_must_be_named_where_there_are_any() -> None:
    agent: Any = Agent(shop())
    for ask in (agent.ask, lambda **given: agent.observe("9 EUR", 1, **given)):
        with pytest.raises(InputError, match=r"shop has contexts: say which.* 'mobile', 'desktop'"):
            ask()
        with pytest.raises(UnknownError, match="unknown context 'mobil': did you mean 'mobile'"):
            ask(context="mobil")
        with pytest.raises(InputError, match="a context is named by a text, not 3"):
            ask(context=3)
    assert repr(agent) == "Agent('shop', frugal: 0 asked, 0 pending)"
    plain = Agent("paper:two")
    with pytest.raises(InputError, match="no contexts, and the context 'mobile' was given: leave"):
        plain.ask(context="mobile")
    with pytest.raises(InputError, match="no contexts"):
        plain.observe("arm1", 1, context="mobile")
    assert repr(plain.ask()) == "Decision(id=0, arm='arm1')"


def test_rewards_in_a_context_wait_for_those_of_the_same_pair_alone() -> None:
    agent = Agent(shop())
    mobile, desktop, later = (agent.ask(context=name) for name in ("mobile", "desktop", "mobile"))
    assert repr(mobile) == "Decision(id=0, arm='9 EUR', context='mobile')"
    assert {d.arm for d in (mobile, desktop, later)} == {"9 EUR"}
    agent.tell(later.id, 1)
    agent.tell(desktop.id, 0)
    assert agent.pending == {0: "mobile: 9 EUR"}
    assert agent.blocked == {"mobile: 9 EUR": Blocked(decision=0, rewards=1)}
    assert agent.plays == {
        "mobile": {"9 EUR": 0, "12 EUR": 0},
        "desktop": {"9 EUR": 1, "12 EUR": 0},
    }
    agent.tell(mobile.id, 1)
    assert agent.plays["mobile"]["9 EUR"] == 2
    assert agent.blocked == {}
    assert agent.pending == {}


def test_a_warm_start_in_one_context_helps_in_another() -> None:
    """Forty sales at 9 EUR on mobiles leave loyal alone, whose best price holds on the desktop."""
    agent = Agent(shop())
    for _ in range(40):
        agent.observe("9 EUR", 1, context="mobile")
    assert next(iter(agent.plausible())) == "loyal"
    assert agent.ask(context="desktop").arm == "9 EUR"
    apart = Agent(shop(), UCB1())
    for _ in range(10):
        apart.observe("9 EUR", 1, context="mobile")
    assert apart.ask(context="mobile").arm == "12 EUR"
    assert apart.ask(context="desktop").arm == "9 EUR"


def test_contexts_are_part_of_what_an_agent_plays(tmp_path: Path) -> None:
    """Their shares are not: those are for simulations."""
    agent = Agent(shop())
    agent.ask(context="mobile")
    agent.save(tmp_path / "agent.json")
    Agent.load(tmp_path / "agent.json", shop(shares=[0.9, 0.1]))
    renamed = Problem.bernoulli(
        shop().means,
        contexts=["phone", "desktop"],
        arms=shop().arms,
        models=shop().models,
    )
    with pytest.raises(ConflictError, match="another problem"):
        Agent.load(tmp_path / "agent.json", renamed)


@pytest.mark.parametrize("word", ["optimist", "thompson-theta", "fp-llr"])
def test_agents_in_contexts_do_not_learn_from_one_another(word: str) -> None:
    """All agents on a problem share a workspace, which keeps numbers from plan to plan.

    Two agents in turn, told rewards of different truths, decide as each does alone.
    """

    def decisions(truths: list[int]) -> list[list[str]]:
        agents = [Agent(shop(), parse_policy(word), seed=5) for _ in truths]
        draws = [np.random.default_rng(truth) for truth in truths]
        arms: list[list[str]] = [[] for _ in truths]
        for _ in range(150):
            for agent, truth, draw, decided in zip(agents, truths, draws, arms, strict=True):
                context = int(draw.integers(2))
                decision = agent.ask(context=shop().contexts[context])
                decided.append(decision.arm)
                mean = shop().means[truth, context, shop().arms.index(decision.arm)]
                agent.tell(decision.id, float(draw.random() < mean))
        return arms

    assert decisions([0, 1]) == [*decisions([0]), *decisions([1])]


@pytest.mark.parametrize("policy", ["fp-ucb", "thompson", "frugal"])
def test_agents_of_one_kind_are_made_of_one_another(policy: str) -> None:
    first = Agent("paper:permutations", policy, late="any")
    for seed in (3, 4):
        twin = Agent("paper:permutations", policy, seed=seed, late="any")
        other = first.another(seed=seed)
        for number in range(40):
            assert other.ask() == twin.ask()
            if number > 2:
                for agent in (other, twin):
                    agent.tell(number - 2, number % 3 == 0)
            other = first.another(seed=seed, own_state=other.own_state())
        assert other.state() == twin.state()
    assert first.state() == Agent("paper:permutations", policy, late="any").state()
    for wrong in ("{}", "[]", "", other.own_state()[:-20]):
        with pytest.raises(StorageError, match="not the whole state"):
            first.another(seed=0, own_state=wrong)


def test_a_decision_says_how_likely_it_was() -> None:
    assert Agent("paper:two", "fp-ucb").ask().probability == 1.0
    assert Agent("paper:two", "thompson").ask().probability is None
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], prior={"theta1": 3, "theta2": 1})
    drawn = [Agent(problem, "thompson-theta", seed=seed).ask() for seed in range(20)]
    assert {decision.arm for decision in drawn} == {"arm1", "arm2"}
    for decision in drawn:
        assert decision.probability == pytest.approx(0.75 if decision.arm == "arm1" else 0.25)
        assert "probability" not in repr(decision)


@may_pile_up
@pytest.mark.parametrize("late", ["in-order", "any"])
@pytest.mark.parametrize("policy", ["ucb1", "fp-ucb", "thompson-theta"])
def test_an_agent_follows_decisions_that_others_made(policy: str, late: Any) -> None:
    """It follows its twin and stays like it; it follows other arms and counts their rewards."""
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], arms=["a", "b"], models=["x", "y"])
    leader, follower = (Agent(problem, policy, seed=4, late=late) for _ in range(2))
    for number in range(40):
        decision = leader.ask()
        assert follower.follow(decision.arm) == decision
        if number % 3:
            leader.tell(decision, number % 2)
            follower.tell(number, number % 2)
    assert follower.state() == leader.state()
    other = Agent(problem, policy, seed=4, late=late)
    for number in range(30):
        arm = "ab"[number % 3 == 0]
        decision = other.follow(arm)
        assert decision.id == number
        assert other.pending[number] == arm
        if number % 4:
            other.tell(number, 1)
    for number in range(0, 30, 4):
        other.forget(number)
    told = [n for n in range(30) if n % 4]
    b = sum(n % 3 == 0 for n in told)
    assert other.plays == {"a": len(told) - b, "b": b}
    assert Agent.from_state(other.state(), problem).state() == other.state()
    with pytest.raises(InputError, match="unknown arm 'c'"):
        other.follow("c")


MOODS = Problem.bernoulli(
    [[0.9, 0.5], [0.2, 0.5], [0.4, 0.7]],
    models=["calm", "busy", "odd"],
    transitions={
        "calm": {"calm": 0.9, "busy": 0.1},
        "busy": {"odd": 1},
        "odd": {"calm": 0.3, "busy": 0.3, "odd": 0.4},
    },
    name="moods",
)


def filter_by_hand(plays: list[tuple[int, int | None]]) -> list[float]:
    """Return the belief after plays of arms with their rewards; None: it never came."""
    belief, chain = np.full(3, 1 / 3), np.array(MOODS.transitions)
    for arm, reward in plays:
        if reward is not None:
            belief = belief * (MOODS.means[:, arm] if reward else 1 - MOODS.means[:, arm])
        belief = belief @ chain
        belief /= belief.sum()
    return [float(probability) for probability in belief]


@pytest.mark.parametrize("policy", ["frugal", "optimist", "thompson-theta", "fp-ucb"])
def test_rewards_of_a_moving_truth_count_at_the_time_of_their_decisions(policy: str) -> None:
    agent, arms = Agent(MOODS, policy), MOODS.arms
    agent.observe("arm2", 1)
    plays: list[tuple[int, int | None]] = [(1, 1)]
    decisions = [agent.ask() for _ in range(4)]
    # Nothing is known of these four but that they are made.
    assert list(agent.posterior().values()) == pytest.approx(
        filter_by_hand([*plays, *[(0, None)] * 4])
    )
    agent.tell(decisions[1], 0)  # it must wait for the one before
    assert list(agent.posterior().values()) == pytest.approx(
        filter_by_hand([*plays, *[(0, None)] * 4])
    )
    agent.forget(decisions[0])
    agent.tell(decisions[3], 1)
    agent.tell(decisions[2], 1)
    told = [None, 0, 1, 1]
    plays += [(arms.index(d.arm), paid) for d, paid in zip(decisions, told, strict=True)]
    wanted = filter_by_hand(plays)
    again = Agent.from_state(agent.state(), MOODS)
    for each in (agent, again, copy.copy(agent)):
        assert list(each.posterior().values()) == pytest.approx(wanted)
    likely = {m: p for m, p in zip(MOODS.models, wanted, strict=True) if p >= 1e-3 / 3}
    plausible = agent.plausible()
    assert plausible == {m: pytest.approx(np.log(p * 3e3)) for m, p in likely.items()}
    assert list(plausible.values()) == sorted(plausible.values(), reverse=True)
    assert agent.ask() == again.ask()
    assert agent.why().arm in arms


def test_what_a_moving_truth_refuses_is_said_in_a_line() -> None:
    agent = Agent(MOODS)
    agent.tell(agent.ask(), 1)
    with pytest.raises(InputError, match="moves by its transitions, and a verdict is for a truth"):
        agent.verdict()
    with pytest.raises(InputError, match="observe history before the first ask"):
        agent.observe("arm1", 1)
    with pytest.raises(InputError, match="in the order of decisions: leave out late='any'"):
        Agent(MOODS, late="any")
    assert agent.state()["late"] == "all-in-order"


def test_rewards_that_no_reachable_model_allows_leave_no_posterior() -> None:
    problem = Problem.bernoulli([[1.0, 0.5], [0.0, 0.5]], transitions=np.eye(2))
    agent = Agent(problem, "belief-greedy")
    agent.observe("arm1", 1)
    agent.observe("arm1", 0)
    with pytest.raises(ConflictError, match="there is no posterior: 1 rewards counted by"):
        agent.posterior()
    assert agent.ask().arm in problem.arms


def test_numbers_that_name_arms_are_told_how_to_be_written() -> None:
    agent = Agent(Problem.bernoulli([[0.5, 0.4]], arms=["9", "12"]))
    with pytest.raises(InputError, match="an arm is named by a text, not 9: write '9'"):
        agent.observe(9, 1)  # type: ignore[arg-type]  # as pandas gives them
