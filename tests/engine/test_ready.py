"""What is prepared is shared while anyone holds it, and freed when no one does; so are streams."""

from __future__ import annotations

import gc
import itertools
import struct
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from memory import measured, resident

from fpbandits import (
    FPUCB,
    UCB1,
    Agent,
    Frugal,
    InputError,
    Optimist,
    PlainPolicy,
    Policy,
    Problem,
    Thompson,
    ThompsonTheta,
    load_problem,
    simulate,
)
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine import ready as module
from fpbandits.engine.compilations import IN_BACKGROUND
from fpbandits.engine.compiling import load_code
from fpbandits.engine.contract import COUNTERS, State
from fpbandits.engine.ready import ready, refusal
from fpbandits.policies import BPR, POLICIES, parse_policy


def other(number: int) -> Problem:
    return Problem.bernoulli([[0.1, 0.2 + number / 100]])


def test_what_is_ready_is_made_once_while_anyone_holds_it() -> None:
    mine = ready(FPUCB(), other(0))
    for number in range(1, 30):
        ready(FPUCB(), other(number))
    assert ready(FPUCB(), other(0)) is mine
    assert ready(UCB1(), other(0)) is not mine
    assert ready(FPUCB(slack=0.1), other(0)) is not mine


def test_what_no_one_holds_is_freed_when_eight_others_were_made_since() -> None:
    gone = weakref.ref(ready(FPUCB(), other(40)))
    for number in range(41, 49):
        ready(FPUCB(), other(number))
    gc.collect()
    assert gone() is None


def test_threads_have_scratch_space_of_their_own() -> None:
    own = ready(FPUCB(), other(0))
    assert own.workspace is own.workspace
    found = []
    thread = threading.Thread(target=lambda: found.append(own.workspace))
    thread.start()
    thread.join()
    assert found[0] is not own.workspace


BERNOULLI = Problem.bernoulli([[0.3, 0.6, 0.5], [0.7, 0.2, 0.4], [0.3, 0.5, 0.8]])
PROBLEMS = [
    BERNOULLI,
    Problem.bernoulli([[0.3, 0.6, 0.5], [0.7, 0.2, 0.4]], value=[9, 12, 15]),
    Problem.gaussian([[3, 6, 5], [7, 2, 4], [3, 5, 8]], 2.5),
    Problem.beta([[0.3, 0.6, 0.5], [0.7, 0.2, 0.4]], 4.0),
    Problem.discrete(
        [[[0.2, 0.3, 0.5]] * 2, [[0.5, 0.4, 0.1], [0.2, 0.2, 0.6]]], [0, 1, 3], range=(0, 3)
    ),
    Problem.bernoulli([[0.2, 0.7, 0.6], [0.6, 0.2, 0.7], [0.7, 0.6, 0.2]]),
    Problem.bernoulli(
        [[[0.3, 0.6], [0.5, 0.4]], [[0.7, 0.2], [0.4, 0.3]]], contexts=["a", "b"], shares=[0.3, 0.7]
    ),
]
WORDS = [
    *POLICIES,
    "frugal:false_alarm=0.14:trust=0.2",
    "optimist:false_alarm=0.37",
    "fp-ucb:slack=0.1",
]
WORDS += ["frugal:change_rate=0.02", "optimist:change_rate=0.02", "thompson-theta:change_rate=0.02"]
WORDS += ["frugal:likelihood=means", "frugal:horizon=300.0"]


@pytest.mark.parametrize("word", WORDS)
def test_in_python_a_rule_plays_as_compiled_bit_for_bit(word: str) -> None:
    """The compiled loop, beside the same loop in Python with the same stream of random numbers."""
    policy, played = parse_policy(word), 0
    for problem in PROBLEMS:
        if refusal(policy, problem) is not None:
            continue
        played += 1
        times = range(1, 301)
        result = simulate(
            problem, policy, truth="theta1", horizon=300, times=times, runs=1, seed=8, leap=False
        )
        stream = random_stream(8, 0, REWARDS)
        assert result.pulls[word][0].tolist() == in_python(policy, problem, stream)
    assert played >= 1


def in_python(policy: Policy, problem: Problem, random: np.random.Generator) -> list[list[int]]:
    """Plays of each pair after 1, 2, … 300 steps."""
    own, law, arms = ready(policy, problem), problem.rewards.law(0), len(problem.arms)
    state, upto = policy.new_state(problem), np.cumsum(problem.shares or (1.0,))
    policy.renew(own.workspace)
    counts: list[list[int]] = []
    cycle: list[int] = []
    while len(counts) < 300:
        context = 0
        if len(upto) > 1:
            context = min(int((random.random() >= upto).sum()), len(upto) - 1)
        here = own._view(state, context, None)[1]
        made, nothing = len(counts), own.none_pending
        arguments = own.prepared, here, own.workspace, made, nothing, random
        length = own._plan_in_python(*arguments)
        cycle = own.workspace.cycle[: 1 if own.several else length].tolist()
        for arm in cycle:
            pair = context * arms + arm
            total = problem.rewards.draw_sum(law, pair, 1, random, state.statistics[pair])
            policy.observe(own.prepared, here, arm if own.apart else pair, 1, total, random)
            counts.append(state.plays.tolist())
    return counts[:300]


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done in the background, in order; it is done at once."""
    work: list[str] = []

    class AtOnce(threading.Thread):
        def start(self) -> None:
            assert self.name == IN_BACKGROUND
            work.append(self._target.__name__)  # type: ignore[attr-defined]
            self.run()

    monkeypatch.setattr(threading, "Thread", AtOnce)
    return work


def asked(problem: Problem, decisions: int, policy: Policy | None = None) -> list[str]:
    agent = Agent(problem, policy or Frugal())
    arms = []
    for number in range(decisions):
        decision = agent.ask(among=problem.arms[number % 2 :])
        agent.tell(decision.id, number % 2)
        arms.append(decision.arm)
    return arms


def test_machine_code_takes_over_without_a_difference(
    background: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked for first, and compiled later: agents do not notice either."""
    monkeypatch.setattr(module, "load_code", lambda function, arguments: None)
    monkeypatch.setattr(module, "perf_counter", lambda: 0.0)
    in_python = asked(other(50), 200, UCB1())
    assert background == []
    monkeypatch.setattr(module, "LOAD_AFTER", -1.0)
    monkeypatch.setattr(module, "COMPILE_AFTER", -1.0)
    _forget()
    assert asked(other(50), 200, UCB1()) == in_python
    assert background == ["_load", "_compile"]
    assert ready(UCB1(), other(50))._machine_code is not None
    _forget()
    monkeypatch.setattr(module, "load_code", load_code)
    assert asked(other(50), 200, UCB1()) == in_python
    assert background == ["_load", "_compile", "_load"]


def test_code_is_loaded_after_a_twentieth_of_a_second_and_compiled_after_two(
    background: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each decision takes 1/64 second: 4 of them more than 0.05, and 129 more than 2."""
    ticks = itertools.count()
    monkeypatch.setattr(module, "perf_counter", lambda: next(ticks) / 64)
    monkeypatch.setattr(module, "load_code", lambda function, arguments: None)
    monkeypatch.setattr(module, "compile_for", lambda *others: lambda *arguments: 1)
    agent, begun = Agent(other(51)), []
    for _ in range(140):
        agent.ask()
        begun.append(len(background))
    assert (begun.index(1), begun.index(2)) == (3, 128)
    assert background == ["_load", "_compile"]
    assert next(ticks) == 2 * 129  # machine code is not timed


def _forget() -> None:
    module._ready.cache_clear()
    gc.collect()


def test_what_is_large_or_from_elsewhere_is_compiled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_for(policy: Policy, *others: Any) -> Any:
        compiled.append(policy.name)
        return lambda *arguments: 1

    monkeypatch.setattr(module, "compile_for", compile_for)
    asked(other(60), 1)
    assert compiled == []
    rows = [[0.1, 0.2], [0.2, 0.1], [0.2, 0.3]]
    monkeypatch.setattr(module, "LARGE", 7)
    asked(Problem.bernoulli(rows), 1)
    assert compiled == []
    monkeypatch.setattr(module, "LARGE", 6)
    asked(Problem.bernoulli(rows[::-1]), 1)
    assert compiled == ["frugal"]
    monkeypatch.setattr(module, "LARGE", 10**9)
    asked(other(62), 1, Mine())
    assert compiled == ["frugal", "mine"]


class Mine(UCB1):
    name = "mine"


TWO_CONTEXTS = Problem.bernoulli(
    [[[0.6, 0.5, 0.4], [0.3, 0.2, 0.7]], [[0.1, 0.6, 0.2], [0.5, 0.4, 0.2]]],
    contexts=["a", "b"],
    prior={"theta1": 3, "theta2": 1},
)
MOVING = Problem.beta([[0.3, 0.6], [0.5, 0.4]], 4.0, transitions=[[0.9, 0.1], [0.2, 0.8]])


@pytest.mark.parametrize("problem", [*PROBLEMS, TWO_CONTEXTS, MOVING])
@pytest.mark.parametrize(
    "word", ["ucb1", "thompson-theta", "optimist:change_rate=0.02", "frugal:likelihood=means"]
)
def test_a_state_is_packed_as_plays_counters_sums_statistics_and_extra_numbers(
    word: str, problem: Problem
) -> None:
    policy = parse_policy(word)
    if refusal(policy, problem) is not None:
        return
    own, state = ready(policy, problem), policy.new_state(problem)
    parts = [state.plays.size, state.counters.size, state.sums.size]
    parts += [state.statistics.size, state.extra.size]
    ends = np.cumsum(parts).tolist()
    found = [own.upto_counters, own.upto_sums, own.upto_statistics, own.upto_extra]
    assert (own.pairs, *found) == tuple(ends)
    numbers = [*range(ends[1]), *np.linspace(0, 1, ends[-1] - ends[1]).tolist()]
    assert own.layout.pack(*numbers) == struct.pack(f"{ends[1]}q{ends[-1] - ends[1]}d", *numbers)
    assert [each.shape for each in own.nothing] == [(own.pairs, 0), (0,)]
    assert own.none_pending.tolist() == [0] * own.pairs


@pytest.mark.parametrize(
    ("policy", "problem", "laws", "spread"),
    [
        (Optimist(), PROBLEMS[3], True, True),
        (Optimist(), PROBLEMS[2], True, True),
        (Optimist(), MOVING, True, False),  # rewards spread as under no model
        (Optimist(), PROBLEMS[1], True, False),  # its means say how its rewards spread
        (Optimist(likelihood="means"), PROBLEMS[3], False, False),
        (UCB1(), PROBLEMS[3], False, False),
        (Optimist(), BERNOULLI, False, False),
    ],
)
def test_whose_rewards_are_looked_at_beyond_their_means(
    policy: Policy, problem: Problem, laws: bool, spread: bool
) -> None:
    own = ready(policy, problem)
    assert (own.looks_at_laws, own.trusts_spread) == (laws, spread)


@pytest.mark.parametrize(
    ("policy", "problem", "several", "apart"),
    [
        (UCB1(), TWO_CONTEXTS, True, True),
        (Frugal(), TWO_CONTEXTS, True, False),
        (UCB1(), BERNOULLI, False, False),
        (UCB1(), Problem.bernoulli([[[0.5, 0.4]]], contexts=["a"]), False, False),
    ],
)
def test_where_there_are_several_contexts(
    policy: Policy, problem: Problem, several: bool, apart: bool
) -> None:
    own = ready(policy, problem)
    assert (own.several, own.apart) == (several, apart)


def test_an_agent_plans_one_play_ahead() -> None:
    """Where Thompson sampling could leap it draws a mean for every arm, as for any other play."""
    own, arms = ready(Thompson(), BERNOULLI), set()
    plays, wins = np.array([1000, 2, 2]), np.array([600.0, 1.0, 1.0])
    for seed in range(20):
        random, twin = np.random.default_rng(seed), np.random.default_rng(seed)
        state = State(plays, wins, np.zeros(COUNTERS, np.int64))
        drawn = [twin.beta(1 + s, 1 + n - s) for n, s in zip(plays, wins, strict=True)]
        assert own.plan(state, 1004, None, random)[0] == [int(np.argmax(drawn))]
        assert random.random() == twin.random()
        arms.add(int(np.argmax(drawn)))
    assert arms == {0, 1, 2}


def test_in_several_contexts_earlier_plans_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[Any] = []
    monkeypatch.setattr(Optimist, "renew", lambda policy, workspace: renewed.append(workspace))
    for problem in (BERNOULLI, TWO_CONTEXTS):
        own = ready(Optimist(), problem)
        own.plan(own.policy.new_state(problem), 0, None, module.NO_STREAM)
    assert renewed == [own.workspace]


def test_rewards_are_taken_in_by_their_pair() -> None:
    """With the statistics that the policy looks at; a clock of its own for a context apart."""
    own = ready(UCB1(), TWO_CONTEXTS)
    state = own.policy.new_state(own.problem)
    assert own.observe(state, 1, "kept", 4, 1.0, module.NO_STREAM) == "kept"
    assert (state.plays.tolist(), state.sums.tolist()) == ([0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1, 0])
    assert np.flatnonzero(state.counters).tolist() == [5]
    own = ready(Optimist(), PROBLEMS[3])
    state = own.policy.new_state(own.problem)
    for reward in (0.2, 0.5):
        own.observe(state, 1, None, 2, reward, module.NO_STREAM)
    np.testing.assert_allclose(state.statistics[:2], 0)
    added = own.problem.rewards.statistics_of(2, 0.2), own.problem.rewards.statistics_of(2, 0.5)
    np.testing.assert_allclose(state.statistics[2], np.add(*added))


@pytest.mark.parametrize(
    ("pending", "arm"),
    [
        ([0, 0, 0, 0, 0, 0], 0),
        ([5, 0, 0, 0, 0, 0], 0),  # of another context
        ([0, 0, 0, 1, 0, 0], 2),
        ([0, 0, 0, 1, 0, 1], 0),
        ([0, 0, 0, 2, 0, 1], 2),
    ],
)
def test_of_a_round_the_arm_that_was_decided_least_often_is_played(
    pending: list[int], arm: int
) -> None:
    own = ready(UCB1(), TWO_CONTEXTS)
    state = own.policy.new_state(own.problem)
    counts = np.array(pending)
    assert own.plan(state, 0, "kept", module.NO_STREAM, 1, counts, (0, 2)) == ([arm], "kept")
    # Without ``among`` it is the first of the round.
    assert own.plan(state, 0, None, module.NO_STREAM, 1, counts) == ([0], None)


def test_rewards_count_as_decisions_too() -> None:
    own = ready(FPUCB(), BERNOULLI)
    state = own.policy.new_state(BERNOULLI)
    state.plays[:], state.sums[:] = [3, 2, 4], [1.5, 1.0, 2.0]
    state.counters[0] = 9
    assert own.plan(state, 9, None, module.NO_STREAM)[0] == [0, 1, 2]
    for among, arm in (((0, 2), 0), ((1, 2), 1), ((0, 1, 2), 1), ((2,), 2)):
        found, _ = own.plan(state, 9, None, module.NO_STREAM, among=among)
        assert found == [arm], among


def test_a_plan_without_an_eligible_arm_is_refused() -> None:
    own = ready(FPUCB(), BERNOULLI)
    with pytest.raises(InputError) as caught:
        own._choose_eligible([0, 1], (2,), np.zeros(3, np.int64))
    assert str(caught.value) == (
        "fp-ucb: it chose 'arm1', which is not eligible, and not one of 'arm3'; a rule finds them "
        "in seen.among"
    )


def test_chances_and_reasons_are_those_of_the_context_and_the_eligible_arms() -> None:
    own = ready(ThompsonTheta(), TWO_CONTEXTS)
    state = own.policy.new_state(own.problem)
    # The first model, three times as likely, has its best arm at 0 in a, and at 2 in b.
    for context, among, chances in (
        (0, None, [0.75, 0.25, 0]),
        (1, None, [0.25, 0, 0.75]),
        (1, (0, 1), [1, 0]),
        (0, (1, 2), [1, 0]),
    ):
        arms = range(3) if among is None else among
        own.plan(state, 0, None, np.random.default_rng(0), context, None, among)
        found = [own.chance(state, arm, context, among) for arm in arms]
        assert found == pytest.approx(chances)
        reasons = own.reasons(state, context, among)
        assert reasons is not None
        assert reasons.numbers["probability of being drawn"] == pytest.approx(np.array(chances))
    blind = ready(UCB1(), TWO_CONTEXTS)
    state = blind.policy.new_state(blind.problem)
    state.plays[3:], state.sums[3:], state.counters[5] = 4, [1, 2, 3], 12
    radius = np.sqrt(2 * np.log(12) / 4)
    for among in (None, (0, 2)):
        blind.plan(state, 12, None, module.NO_STREAM, 1, None, among)
        reasons = blind.reasons(state, 1, among)
        assert reasons is not None
        rows = [0, 1, 2] if among is None else [0, 2]
        means = np.array([0.25, 0.5, 0.75])[rows]
        # Among some arms, the clock is still that of all.
        assert reasons.numbers["index"] == pytest.approx(means + radius)
    silent = ready(Thompson(), BERNOULLI)
    assert silent.reasons(silent.policy.new_state(BERNOULLI), 0, (0, 1)) is None


def test_what_is_restricted_is_kept_for_64_sets_of_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    restrict = Frugal.restrict

    def counting(policy: Frugal, *others: Any) -> Any:
        made.append(others[-1])
        return restrict(policy, *others)

    monkeypatch.setattr(Frugal, "restrict", counting)
    own = ready(Frugal(), Problem.bernoulli([np.linspace(0.1, 0.8, 8), np.linspace(0.7, 0, 8)]))
    state = own.policy.new_state(own.problem)
    sets = [arms for size in (1, 2, 3) for arms in itertools.combinations(range(8), size)][:65]
    for arms in sets[:64] * 2:
        own._view(state, 0, arms)
    assert made == sets[:64]
    for arms in (sets[64], sets[0], sets[64]):
        own._view(state, 0, arms)
    assert made == [*sets[:65], sets[0]]


class Counter(PlainPolicy):
    name = "counter"

    def start(self, problem: Problem) -> int:
        return len(problem.arms)

    def choose(self, seen: Any, random: Any) -> int:
        seen.memory += int(seen.pending.sum()) + len(seen.among)
        return int(seen.plays.argmin())

    def update(self, seen: Any, arm: int, reward: float) -> None:
        seen.memory += 100 + 10 * arm + int(seen.pending.sum())


def test_a_plain_policy_is_made_ready_too() -> None:
    own = ready(Counter(), TWO_CONTEXTS)
    state, stream = own.policy.new_state(own.problem), module.NO_STREAM
    assert own.prepared is None
    memory = own.start()
    assert memory == 3
    state.plays[0] = 1
    assert own.plan(state, 0, memory, stream) == ([1], 6)  # in the first context
    memory = own.observe(state, 1, memory, 3, 1.0, stream)
    assert memory == 103
    assert state.plays.tolist() == [1, 0, 0, 1, 0, 0]
    assert own.observe(state, 2, memory, 2, 0.0, stream) == 223
    pending = np.array([7, 7, 7, 1, 2, 3])
    assert own.plan(state, 1, memory, stream, 1, pending, (1, 2)) == ([1], 103 + 6 + 2)
    assert own.chance(state, 0, 1, None) is None
    assert own.reasons(state, 1, None) is None


def test_why_a_policy_does_not_apply() -> None:
    assert refusal(BPR(), load_problem("paper:permutations")) is None
    assert "needs one largest mean" in str(refusal(BPR(), load_problem("paper:two")))


def test_problems_that_play_alike_keep_their_own_names() -> None:
    first, second = (Problem.bernoulli([[0.5, 0.4]], name=name) for name in ("first", "second"))
    assert first == second
    assert Agent(first).problem.name == "first"
    assert Agent(second).problem.name == "second"


def test_problems_that_differ_in_the_shares_of_contexts_alone_are_played_apart() -> None:
    means = [[[0.85, 0.58], [0.47, 0.75]], [[0.08, 0.69], [0.39, 0.13]]]
    for shares in ((0.98, 0.02), (0.02, 0.98)):
        problem = Problem.bernoulli(means, contexts=["a", "b"], shares=shares)
        assert ready(Frugal(), problem).problem.shares == shares
        assert ready(Frugal(), problem).prepared.shares.tolist() == list(shares)


LIVE = """
import threading
from fpbandits import Agent, load_problem
from fpbandits.policies import POLICIES
from fpbandits.engine import ready
ready.LOAD_AFTER = ready.COMPILE_AFTER = {after}
agent = Agent(load_problem("paper:permutations"), POLICIES[{name!r}]())
def work(decisions):
    for number in range(decisions):
        agent.tell(agent.ask().id, number % 2)
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
"""
COMPILED, IN_PYTHON = 0.0, 1e9


@measured
@pytest.mark.parametrize("after", [COMPILED, IN_PYTHON])
def test_memory_does_not_grow_with_decisions(after: float) -> None:
    _, before, later = resident(LIVE.format(name="thompson", after=after), 10, 1_000, 20_000)
    assert later - before < 5


@measured
@pytest.mark.nightly
@pytest.mark.parametrize("name", POLICIES)
def test_memory_does_not_grow_with_a_million_decisions(name: str) -> None:
    _, before, later = resident(LIVE.format(name=name, after=COMPILED), 10, 1_000, 10**6)
    assert later - before < 5
