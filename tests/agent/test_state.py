"""States of agents: short, legible if they have few numbers, and whole to the last bit."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zlib
from base64 import b85decode, b85encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from context_twins import WORDS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fpbandits import Agent, InputError, Problem, StorageError
from fpbandits.agent.state import LONGEST_LIST, REAL, WHOLE, from_json, to_json
from fpbandits.families.base import RewardFamily

CONTEXTS = ["mobile", "desktop", "tablet", "mail", "shop"]
MEANS = np.random.default_rng(0).uniform(0.05, 0.95, (6, 5, 10))
CHANCES = np.random.default_rng(1).dirichlet(np.ones(6), (6, 5, 10))

SHAPED: dict[str, Problem] = {
    "bernoulli": Problem.bernoulli(MEANS, contexts=CONTEXTS),
    "beta": Problem.beta(MEANS, 10, contexts=CONTEXTS),
    "gaussian": Problem.gaussian(10 * MEANS, deviation=2, contexts=CONTEXTS),
    "values": Problem.bernoulli(MEANS, value=[9.99 + i for i in range(10)], contexts=CONTEXTS),
    "discrete": Problem.discrete(CHANCES, [0, 0.1, 0.25, 0.5, 0.99, 1], contexts=CONTEXTS),
}
"""10 arms in 5 contexts, in every family."""


def count_rewards(
    agent: Agent, rewards: RewardFamily, plays: int, generator: np.random.Generator
) -> None:
    """Add some ``plays`` rewards of each pair to an agent's state, as if told one by one."""
    state, law = agent._seen, rewards.law(0)
    for pair in range(50):
        more = int(generator.integers(plays // 2, 3 * plays // 2))
        for _ in range(more if not rewards.sum_in_one_draw else 1):
            together = more if rewards.sum_in_one_draw else 1
            total = rewards.draw_sum(law, pair, together, generator, state.statistics[pair])
            state.sums[pair] += total
            state.plays[pair] += together
    state.counters[0] += state.plays.sum()


@pytest.mark.parametrize("name", SHAPED)
def test_ten_arms_in_five_contexts_fit_into_two_kilobytes(name: str, tmp_path: Path) -> None:
    """From 1,000 rewards to 100,000, a few of which are still to be told."""
    problem, generator = SHAPED[name], np.random.default_rng(2)
    for plays in (20, 200, 2_000):
        agent = Agent(problem)
        count_rewards(agent, problem.rewards, plays, generator)
        for context in CONTEXTS[:3]:
            agent.ask(context)
        state = agent.state()
        assert len(json.dumps(state)) < 2_000, plays
        agent.save(tmp_path / "agent.json")
        assert (tmp_path / "agent.json").stat().st_size < 2_000
        for again in (
            Agent.from_state(state, problem),
            Agent.load(tmp_path / "agent.json", problem),
        ):
            assert again._packed.tobytes() == agent._packed.tobytes()
            assert again.state() == state


def test_an_agent_in_contexts_is_small(tmp_path: Path) -> None:
    """10 arms in 5 contexts, seen 5,000 times: below 2 kB, in a file and in memory."""
    generator = np.random.default_rng(0)
    for name in ("bernoulli", "gaussian", "values"):
        problem = SHAPED[name]
        for word in WORDS:
            agent = Agent(problem, word)
            for number in range(5_000):
                arm = int(generator.integers(10))
                reward = generator.normal() if name == "gaussian" else float(number % 3 == 0)
                if name == "values":
                    reward *= arm + 9.99
                agent.observe(problem.arms[arm], reward, context=CONTEXTS[number % 5])
            agent.ask(context="shop")
            agent.save(tmp_path / "agent.json")
            assert (tmp_path / "agent.json").stat().st_size < 2_000, (name, word)
            assert agent._packed.nbytes < 2_000
            again = Agent.load(tmp_path / "agent.json", problem)
            assert again._packed.tobytes() == agent._packed.tobytes()
            assert again.state() == agent.state()


def test_a_small_state_can_be_read_by_people() -> None:
    agent = Agent("paper:two")
    for reward in (1, 0, 0.5):
        agent.tell(agent.ask().id, reward)
    state = agent.state()
    assert sum(state["plays"]) == 3
    assert sum(state["sums"]) == 1.5


def test_a_list_of_up_to_120_characters_stays_a_list() -> None:
    longest = [10] + [1] * 58
    assert len(json.dumps(longest, separators=(",", ":"))) == 120
    assert to_json(longest) is longest
    assert isinstance(to_json([10, *longest[:-1]]), str)
    assert to_json([]) == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ([5, 1, 2], [5, 1, 2, 0, 0]),
        ([5, 1, 2, 3], [5, 1, 2, 3, 0]),
        ([5, 1, 2, 3, 4], [5, 1, 2, 3, 4]),
        ([5, 1], None),
        ([5, 1, 2, 3, 4, 0], None),
        ([5, 1, 2, 3, -4], None),
        ("abc", None),
    ],
)
def test_earlier_versions_had_fewer_counters(written: Any, read: list[int] | None) -> None:
    state = Agent("paper:two", "ucb1").state() | {"counters": written}
    if read is None:
        with pytest.raises(StorageError, match="not the whole state"):
            Agent.from_state(state, "paper:two")
    else:
        assert Agent.from_state(state, "paper:two").state()["counters"] == read


def test_the_last_number_that_frugal_once_kept_is_left_out() -> None:
    for word, kept in (("frugal", 0), ("frugal:change_rate=0.1", 6)):
        agent = Agent("paper:two", word)
        agent.tell(agent.ask(), 1)
        agent.ask()
        state = agent.state()
        assert len(state["beliefs"]) == kept
        longer = state | {"beliefs": [*state["beliefs"], 0.5]}
        assert Agent.from_state(longer, "paper:two").state() == state
        with pytest.raises(StorageError, match="not the whole state"):
            Agent.from_state(state | {"beliefs": [*state["beliefs"], 0.5, 0.5]}, "paper:two")
    other = Agent("paper:two", "thompson-theta:change_rate=0.1").state()
    with pytest.raises(StorageError, match="not the whole state"):
        Agent.from_state(other | {"beliefs": [*other["beliefs"], 0.5]}, "paper:two")


def test_states_without_statistics_are_refused_where_there_are_some() -> None:
    for name, kind in (("beta", "beta"), ("values", "bernoulli")):
        state = Agent(SHAPED[name]).state()
        del state["statistics"]
        with pytest.raises(StorageError) as caught:
            Agent.from_state(state, SHAPED[name])
        assert str(caught.value) == (
            "this agent was written by an earlier version, which kept too little of "
            f"{kind} rewards: begin a new one, and let it observe the history"
        )
    state = Agent("paper:two").state()
    del state["statistics"]
    assert Agent.from_state(state, "paper:two").observed == 0


AS_LISTS = """{"kind": "fpbandits agent", "schema": 2, "fingerprint": "%s", "policy": "optimist",
"code": null, "seed": 0, "late": "in-order", "next": 7, "out": [[6, 2]], "told": [], "queues":
[[2, [6]]], "observed": 0, "plan": [], "plays": [3, 1, 2, 0], "sums": [1.5123456789012345,
0.25, 1.0000000000000002, 0.0], "statistics": [-2.3456789012345678, -1.9876543210987654,
-1.3862943611198906, -0.2876820724517809, -1.7046480922384253, -1.1239300966523996, 0.0, 0.0],
"beliefs": [], "counters": [6, 1, 0, 0, 1], "memory": null}
"""
"""An agent as it was saved when all numbers stood in lists."""


def test_states_of_lists_alone_go_on(tmp_path: Path) -> None:
    problem = Problem.beta(
        [[[0.5, 0.4], [0.3, 0.6]], [[0.2, 0.4], [0.5, 0.6]]], 5, contexts=["x", "y"]
    )
    path = tmp_path / "agent.json"
    path.write_text(AS_LISTS % problem.fingerprint)
    agent = Agent.load(path, problem)
    written = json.loads(path.read_text())
    state = agent._seen
    assert state.plays.tolist() == written["plays"]
    assert state.sums.tolist() == written["sums"]
    assert state.statistics.reshape(-1).tolist() == written["statistics"]
    assert state.counters.tolist() == written["counters"]
    agent.save(path)
    now = json.loads(path.read_text())
    assert isinstance(now["statistics"], str)
    assert {k: v for k, v in now.items() if k != "statistics"} == {
        k: v for k, v in written.items() if k != "statistics"
    }
    again = Agent.load(path, problem)
    assert again._packed.tobytes() == agent._packed.tobytes()
    for each in (agent, again):
        each.tell(6, 0.5)
    assert agent.state() == again.state()


def by_hand(text: str, format: str) -> list[Any]:
    """Return the numbers of a text, read as the module describes it, one by one."""
    content = zlib.decompress(b85decode(text))
    count = len(content) // 8
    numbers = [bytes(content[byte * count + i] for byte in range(8)) for i in range(count)]
    return [struct.unpack(f"<{format}", number)[0] for number in numbers]


NUMBERS = st.sampled_from([np.float64, np.int64]).flatmap(
    lambda kind: arrays.arrays(kind, st.integers(0, 80))
)


@given(NUMBERS)
def test_numbers_come_back_to_the_last_bit(numbers: Any) -> None:
    kind = numbers.dtype.type
    letter = REAL if kind is np.float64 else WHOLE
    written = to_json(numbers.tolist())
    again = np.array(from_json(json.loads(json.dumps(written)), len(numbers), letter), kind)
    if isinstance(written, str):
        assert again.tobytes() == numbers.tobytes()  # −0 and every NaN too
        assert np.array(by_hand(written, letter), kind).tobytes() == numbers.tobytes()
    else:
        np.testing.assert_array_equal(again, numbers)


@given(NUMBERS)
def test_the_shorter_way_is_taken_and_few_numbers_stand_in_lists(numbers: Any) -> None:
    written, as_list = (
        to_json(numbers.tolist()),
        json.dumps(numbers.tolist(), separators=(",", ":")),
    )
    if len(as_list) <= LONGEST_LIST:
        assert isinstance(written, list)
    assert len(json.dumps(written, separators=(",", ":"))) <= len(as_list) + 2  # the quotes


def test_texts_that_hold_something_else_are_refused() -> None:
    problem = SHAPED["beta"]
    agent = Agent(problem)
    count_rewards(agent, problem.rewards, 20, np.random.default_rng(3))
    state = agent.state()
    assert {key for key, value in state.items() if isinstance(value, str)} >= {"sums", "statistics"}
    whole = b85decode(state["sums"])
    endless = zlib.compress(bytes(10**8), 9)
    wrong = ["", "x", " ", "€", state["statistics"], state["sums"][:-5]]
    wrong += [b85encode(each).decode() for each in (whole[:-4], whole + b"more", endless)]
    for key in ("plays", "sums", "statistics", "beliefs", "counters"):
        for text in wrong:
            if (key, text) == ("statistics", state["statistics"]):
                continue
            with pytest.raises(StorageError, match="not the whole state of an agent") as caught:
                Agent.from_state(state | {key: text}, problem)
            assert not isinstance(caught.value, InputError)
            assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["beta", "gaussian"])
def test_numbers_that_cannot_be_are_refused_in_a_text_too(name: str) -> None:
    problem = SHAPED[name]
    agent = Agent(problem)
    count_rewards(agent, problem.rewards, 20, np.random.default_rng(4))
    state = agent.state()
    varied = np.linspace(0.5, 1, 50)
    wrong: list[tuple[str, Any]] = [
        ("plays", -np.arange(50)),
        ("sums", np.nan * varied),
        ("statistics", np.full(state_size(problem), np.inf)),
    ]
    if name == "beta":
        wrong += [("sums", -varied), ("sums", 1e6 * varied)]
    for key, numbers in wrong:
        text = to_json(numbers.tolist())
        assert isinstance(text, str)
        with pytest.raises(StorageError, match=r"the (counts do not add up|sums are not finite)"):
            Agent.from_state(state | {key: text}, problem)


def state_size(problem: Problem) -> int:
    return problem.pairs * problem.rewards.statistics


def test_a_short_text_cannot_fill_memory() -> None:
    text = b85encode(zlib.compress(bytes(10**8), 9)).decode()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="does not hold 50 numbers"):
            from_json(text, 50, REAL)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("code", [None, "0" * 32])
def test_a_state_does_not_run_the_file_that_it_names(tmp_path: Path, code: str | None) -> None:
    file, trace = tmp_path / "mine.py", tmp_path / "it ran"
    file.write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
    state = {**Agent("paper:two", "ucb1").state(), "policy": f"{file}:Mine", "code": code}
    with pytest.raises(InputError, match=r"ine\.py"):
        Agent.from_state(state, "paper:two")
    assert not trace.exists()
