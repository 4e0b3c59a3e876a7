"""Rows are accepted as plain agents, asked row by row, would have decided."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.engine.ready import ready
from fpbandits.errors import InputError
from fpbandits.evaluation.rejection import accept_rows, check_rewards, sums_by_unit
from fpbandits.logs.log import Log, read_log
from fpbandits.policies.parsing import the_policy

MEANS = [[0.9, 0.5, 0.1], [0.2, 0.5, 0.7], [0.3, 0.8, 0.4]]
PRIOR = {"theta1": 3, "theta2": 2}


def problem_of(contexts: bool, family: str = "bernoulli") -> fpb.Problem:
    naming: Any = {"arms": ["a", "b", "c"], "prior": PRIOR}
    means: Any = MEANS
    if contexts:
        means = [[row, row[::-1]] for row in MEANS]
        naming |= {"contexts": ["x", "y"]}
    if family == "gaussian":
        return fpb.Problem.gaussian(means, deviation=0.5, **naming)
    return fpb.Problem.bernoulli(means, **naming)


def log_of(problem: fpb.Problem, seed: int = 0, rows: int = 900) -> Log:
    random = np.random.default_rng(seed)
    columns = {
        "unit": random.integers(30, size=rows),
        "arm": np.array(problem.arms)[random.integers(3, size=rows)],
        "paid": random.integers(2, size=rows).astype(float),
        "on": np.array(["x", "y"])[random.integers(2, size=rows)],
    }
    return read_log(
        columns,
        unit="unit",
        arm="arm",
        reward="paid",
        context="on" if problem.contexts else None,
        arms=problem.arms,
        contexts=problem.contexts,
    )


def accepted(policy: str | fpb.Policy, problem: fpb.Problem, log: Log, usable: Any) -> Any:
    player = ready(the_policy(policy), problem)
    return accept_rows(player, log, usable, 0, lambda share: None).rows


def by_agents(policy: str | fpb.Policy, problem: fpb.Problem, log: Log, usable: Any) -> list[int]:
    """Ask a copy of the unit's agent at every row; only where it is right, let the agent play."""
    agents: dict[int, fpb.Agent] = {}
    rows = []
    for row in np.flatnonzero(usable).tolist():
        agent = agents.setdefault(int(log.unit[row]), fpb.Agent(problem, policy))
        context, arm = divmod(int(log.pair[row]), 3)
        name = problem.contexts[context] if problem.contexts else None
        if copy.copy(agent).ask(name).arm == problem.arms[arm]:
            decision = agent.ask(name)
            agent.tell(decision, float(log.reward[row]))
            rows.append(row)
    return rows


@dataclass(frozen=True)
class Sequential(fpb.PlainPolicy):
    """Plays arms in turn by its clock, and by what it remembers: planning changes its memory."""

    name = "sequential"

    def start(self, problem: fpb.Problem) -> Any:
        return {"plans": 0, "paid": 0}

    def choose(self, seen: Any, random: Any) -> int:
        seen.memory["plans"] += 1
        return int((seen.t + seen.memory["plans"] + seen.memory["paid"]) % 3)

    def update(self, seen: Any, arm: int, reward: float) -> None:
        seen.memory["paid"] += int(reward)


@pytest.mark.parametrize(
    ("policy", "contexts"),
    [
        ("frugal", False),
        ("fp-ucb", False),  # plans cycles of several arms
        (Sequential(), False),
        ("frugal", True),
        ("frugal:change_rate=0.01", True),  # its plans change its beliefs
        ("ucb1", True),  # a bandit per context
        ("fp-llr", True),  # its plans move its clock
        (Sequential(), True),
    ],
)
def test_as_agents_decide(policy: str | fpb.Policy, contexts: bool) -> None:
    problem = problem_of(contexts)
    log = log_of(problem)
    usable = np.random.default_rng(1).random(900) < 0.8
    found = np.flatnonzero(accepted(policy, problem, log, usable)).tolist()
    assert found == by_agents(policy, problem, log, usable)
    assert 150 < len(found) < 350, "a third of those that are usable"


@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_rewards_are_in_the_users_units(family: str) -> None:
    """A sale brings 15 EUR and a visit costs 5: as agents decide who are told so."""
    means: Any = 15 * np.array(MEANS) - 5
    if family == "bernoulli":
        problem = fpb.Problem.bernoulli(means, arms=["a", "b", "c"], range=(-5, 10))
    else:
        problem = fpb.Problem.gaussian(means, deviation=4.0, arms=["a", "b", "c"])
    random = np.random.default_rng(6)
    columns: Any = {"unit": random.integers(30, size=900)}
    columns["arm"] = np.array(problem.arms)[random.integers(3, size=900)]
    columns["paid"] = 15.0 * random.integers(2, size=900) - 5
    log = read_log(columns, unit="unit", arm="arm", reward="paid", arms=problem.arms)
    usable = np.ones(900, bool)
    found = np.flatnonzero(accepted("frugal", problem, log, usable)).tolist()
    assert found == by_agents("frugal", problem, log, usable)


def test_randomised_policies_keep_their_law() -> None:
    """The first decision is by the prior: 3/6 for arm a, 2/6 for c, whichever row comes first.

    Five deviations of a binomial share are a false alarm once in 10^6.
    """
    problem = problem_of(False)
    units = 2000
    random = np.random.default_rng(2)
    columns = {"unit": np.repeat(np.arange(units), 2), "arm": ["a", "c"] * units}
    columns["paid"] = random.integers(2, size=2 * units)
    log = read_log(columns, unit="unit", arm="arm", reward="paid", arms=problem.arms)
    first = np.arange(2 * units) % 2 == 0
    assert abs(accepted("thompson-theta", problem, log, first).sum() / units - 1 / 2) < 0.056
    last = accepted("thompson-theta", problem, log, ~first)
    assert abs(last.sum() / units - 1 / 3) < 0.053
    again = accepted("thompson-theta", problem, log, ~first)
    assert (last == again).all(), "bit for bit"


@dataclass(frozen=True)
class Tosses(fpb.PlainPolicy):
    """Plays arms at random."""

    name = "tosses"

    def choose(self, seen: Any, random: Any) -> int:
        return int(random.integers(3))


@pytest.mark.parametrize("seed", [0, 5])
def test_a_unit_has_a_stream_by_seed_and_number(seed: int) -> None:
    """A decision stands until a row played it, and then the next is drawn."""
    problem = problem_of(False)
    log = log_of(problem)
    sequences = [np.random.SeedSequence(seed, spawn_key=(unit, 1)) for unit in range(30)]
    streams = [np.random.default_rng(sequence) for sequence in sequences]
    decisions = [stream.integers(3) for stream in streams]
    wanted = []
    for row, (unit, arm) in enumerate(zip(log.unit.tolist(), log.pair.tolist(), strict=True)):
        if decisions[unit] == arm:
            wanted.append(row)
            decisions[unit] = streams[unit].integers(3)
    player, usable = ready(Tosses(), problem), np.ones(900, bool)
    found = accept_rows(player, log, usable, seed, lambda share: None)
    assert np.flatnonzero(found.rows).tolist() == wanted


@dataclass(frozen=True)
class Stubborn(fpb.PlainPolicy):
    """Plays c in context x, a in y."""

    name = "stubborn"

    def choose(self, seen: Any, random: Any) -> int:
        return 2 if seen.context == "x" else 0


def test_units_that_asked_for_what_was_never_played_are_counted() -> None:
    """Each once; the log played no c in x, and no b in y."""
    columns = {
        "unit": ["u", "u", "u", "v", "v", "w", "u"],
        "arm": ["a", "b", "a", "b", "b", "a", "c"],
        "paid": [1, 0, 1, 0, 1, 0, 1],
        "on": ["x", "x", "y", "x", "x", "x", "y"],
    }
    problem = problem_of(True)
    naming: Any = {"unit": "unit", "arm": "arm", "reward": "paid", "context": "on"}
    log = read_log(columns, **naming, arms=problem.arms, contexts=problem.contexts)
    usable = np.array([True] * 5 + [False, True])
    found = accept_rows(ready(Stubborn(), problem), log, usable, 0, lambda share: None)
    assert found.rows.tolist() == [False, False, True, False, False, False, False]
    assert found.stuck.tolist() == [0, 0, 2, 0, 0, 0]


def test_progress_is_the_share_of_usable_rows() -> None:
    """After the first unit, after every 256th from there on, and in the end."""
    problem = problem_of(False)
    columns = {"unit": np.arange(300), "arm": ["a"] * 300, "paid": np.arange(300) % 2}
    log = read_log(columns, unit="unit", arm="arm", reward="paid", arms=problem.arms)
    told: list[float] = []
    for usable in (np.arange(300) >= 10, np.arange(300) == 0):
        accept_rows(ready(Stubborn(), problem), log, usable, 0, told.append)
    assert told == [0, 247 / 290, 1, 1, 1, 1]


def test_rewards_that_cannot_be_told_are_named_by_their_row() -> None:
    columns = {"unit": [1, 1, 2], "arm": ["a", "b", "a"], "paid": [1, 0, 7]}
    problem = problem_of(False)
    log = read_log(columns, unit="unit", arm="arm", reward="paid", arms=problem.arms)
    with pytest.raises(InputError, match=r"the reward 7\.0 is outside the range") as caught:
        check_rewards(ready(the_policy("frugal"), problem), log)
    assert caught.value.place == (("index", 2), ("arm", "a"))
    normal = ready(the_policy("frugal"), problem_of(False, "gaussian"))
    check_rewards(normal, log)
    huge = read_log({**columns, "paid": [1, 1e200, 0]}, unit="unit", arm="arm", reward="paid")
    with pytest.raises(InputError, match=r"the reward 1e\+200 is beyond 1e\+100") as caught:
        check_rewards(normal, huge)
    assert caught.value.place == (("index", 1),)


def test_sums_by_unit() -> None:
    log = read_log(
        {"unit": ["u", "v", "u"], "arm": ["a", "b", "a"], "paid": [1, 2, 4]},
        unit="unit",
        arm="arm",
        reward="paid",
    )
    sums, counts = sums_by_unit(log)
    assert (sums.tolist(), counts.tolist()) == ([5, 2], [2, 1])
    sums, counts = sums_by_unit(log, np.array([False, False, True]))
    assert (sums.tolist(), counts.tolist()) == ([4, 0], [1, 0])


@pytest.mark.parametrize("policy", ["frugal", "fp-ucb", "ucb1"])
def test_among_eligible_arms_as_agents_decide(policy: str) -> None:
    """Agents are asked why, which changes nothing, and play where the log did the same."""
    problem, random = problem_of(contexts=False), np.random.default_rng(3)
    sets = ["a|b|c", "", "a|b", "b | c", "c|a", "b"]
    among = random.choice(sets, 600)
    eligible = [[name.strip() for name in (text or "a|b|c").split("|")] for text in among]
    columns = {
        "unit": random.integers(15, size=600),
        "arm": np.array([random.choice(names) for names in eligible]),
        "paid": random.integers(2, size=600).astype(float),
        "among": among,
    }
    log = read_log(columns, unit="unit", arm="arm", reward="paid", among="among", arms=problem.arms)
    found = accepted(policy, problem, log, np.ones(600, bool))
    agents = [fpb.Agent(problem, policy) for _ in range(15)]
    for row, (unit, arm, reward) in enumerate(
        zip(columns["unit"], columns["arm"], columns["paid"], strict=True)
    ):
        agent = agents[unit]
        agrees = agent.why(among=eligible[row]).arm == arm
        assert found[row] == agrees
        if agrees:
            agent.tell(agent.ask(among=eligible[row]), float(reward))
    assert 100 < found.sum() < 500
