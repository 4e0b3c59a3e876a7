"""Every policy: decisions against plain Python, certificates against hostile rewards, names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Player
from scipy import stats

from fpbandits import (
    FPUCB,
    UCB1,
    Agent,
    InputError,
    Problem,
    Thompson,
    analyze,
    load_problem,
    simulate,
)
from fpbandits.policies import DEFAULT, POLICIES, parse_policy, thompson
from fpbandits.policies.base import (
    CLOCK,
    COUNTERS,
    MISFITS,
    Envelope,
    Policy,
    Tally,
    compiled,
    desk,
    mean_range,
    observe,
    observe_once,
    plan,
    plan_once,
    repeats,
)


def rates(problem: Problem, which: str) -> reference.Rates:
    """Whom to tell each model from, and at what rate to play: from the analysis, by name."""
    found: reference.Rates = []
    for case in analyze(problem).cases:
        bound = case.theorem2 if which == "A" else case.theorem2.all_arms
        rivals = [problem.index(name) for name in case.theorem2.confusion_set]
        pulls = [bound.pulls.get(arm, 0.0) if rivals else 0.0 for arm in problem.arms]
        found.append((rivals, pulls))
    return found


def stream(number: int) -> np.random.Generator:
    """The stream from which an agent of seed 0 draws its decision of this number."""
    return np.random.default_rng(np.random.SeedSequence(0, spawn_key=(number, 0)))


def means(problem: Problem) -> list[list[float]]:
    return problem.rewards.unit_means.tolist()  # type: ignore[no-any-return]


def told_of(problem: Problem) -> tuple[float, float]:
    """The largest mean, and the least gap below it."""
    largest = problem.rewards.unit_means.max()
    gaps = largest - problem.rewards.unit_means
    return float(largest), float(gaps[gaps > 1e-12].min(initial=1.0))


REFERENCES: dict[str, Callable[[Problem], Player]] = {
    "fp-ucb": lambda problem: reference.fp_ucb(means(problem)),
    "fp-ucb:slack=0.1": lambda problem: reference.fp_ucb(means(problem), 0.1),
    "fp-llr": lambda problem: reference.fp_llr(means(problem)),
    "optimist": lambda problem: reference.optimist(means(problem)),
    "optimist:safe=1.0": lambda problem: reference.optimist(means(problem), safe=1.0),
    "optimist:delta=0.5:offset=2.0": lambda problem: reference.optimist(means(problem), 0.5, 2.0),
    "least-squares": lambda problem: reference.least_squares(means(problem)),
    "ucb-s": lambda problem: reference.ucb_s(means(problem)),
    "ucb-c": lambda problem: reference.ucb_c(means(problem)),
    "ata": lambda problem: reference.ata(means(problem), rates(problem, "A"), stream),
    "ossb": lambda problem: reference.ossb(means(problem), rates(problem, "all")),
    "thompson-theta": lambda problem: reference.thompson_theta(means(problem), stream),
    "bpr": lambda problem: reference.bpr(len(problem.arms), *told_of(problem), stream),
    "ucb1": lambda problem: reference.ucb1(len(problem.arms)),
    "kl-ucb": lambda problem: reference.kl_ucb(len(problem.arms)),
    "imed": lambda problem: reference.imed(len(problem.arms)),
}


def random_problem(generator: np.random.Generator) -> Problem:
    """Few levels or all distinct, so that both ways of looking up Θ are used; ties at times."""
    count, arms = int(generator.integers(1, 40)), int(generator.integers(1, 7))
    if generator.random() < 0.5:
        levels = generator.choice(np.linspace(0.05, 0.95, 19), int(generator.integers(2, 7)))
        return Problem.bernoulli(generator.choice(levels, (count, arms)))
    if generator.random() < 0.3:
        count = 80  # more distinct means than are turned into bits
    return Problem.bernoulli(generator.random((count, arms)))


def suited(policy: Policy, generator: np.random.Generator) -> Problem:
    """A random problem that the policy applies to."""
    problem = random_problem(generator)
    try:
        policy.model(problem)
    except InputError:
        row = generator.random(int(generator.integers(2, 5)))
        rows = np.unique([generator.permutation(row) for _ in range(8)], axis=0)
        problem = Problem.bernoulli(rows)
    return problem


def test_every_policy_has_a_plain_twin() -> None:
    """Thompson sampling has a test of its own below."""
    assert {word.partition(":")[0] for word in REFERENCES} == set(POLICIES) - {"thompson"}


@pytest.mark.parametrize("word", REFERENCES)
def test_agents_decide_as_plain_python_does(word: str) -> None:
    """Random problems, random rewards 0/1 or in between, decision for decision."""
    generator = np.random.default_rng(5)
    problems = 100 if word in ("fp-ucb", "ucb1") else 25
    decided = 0
    for _ in range(problems):
        problem = suited(parse_policy(word), generator)
        agent = Agent(problem, parse_policy(word))
        player = REFERENCES[word](problem)
        expected = next(player)
        binary = generator.random() < 0.7
        chances = generator.random(len(problem.arms))
        for _ in range(int(generator.integers(1, 300))):
            decision = agent.ask()
            assert decision.arm == problem.arms[expected]
            reward = float(generator.random() < chances[expected])
            if not binary:
                reward = float(generator.random())
            agent.tell(decision.id, reward)
            expected = player.send(reward)
            decided += 1
    assert decided > 100 * problems


def test_thompson_plays_the_largest_draw() -> None:
    """With the same stream, the arm is the argmax of NumPy's own Beta draws."""
    problem = load_problem("paper:grid")
    policy = Thompson()
    model, room = policy.model(problem), desk(4)
    generator = np.random.default_rng(1)
    for seed in range(200):
        plays = generator.integers(0, 50, 4)
        wins = generator.binomial(plays, 0.4).astype(float)
        tally = Tally(plays, wins, np.zeros(COUNTERS, np.int64))
        assert plan_once(model, tally, room, np.random.default_rng(seed)) == 1
        stream = np.random.default_rng(seed)
        draws = [stream.beta(1 + wins[i], 1 + plays[i] - wins[i]) for i in range(4)]
        assert room.cycle[0] == int(np.argmax(draws))


def test_thompson_rounds_rewards_at_random() -> None:
    """A reward of 0.3 is a success 3 times in 10. Seeds 0 … 3999; 5 standard errors."""
    problem = load_problem("paper:two")
    policy = Thompson()
    tally = policy.tally(problem)
    for seed in range(4000):
        observe_once(policy.model(problem), tally, 0, 0.3, np.random.default_rng(seed))
    assert tally.plays[0] == 4000
    assert tally.sums[0] == int(tally.sums[0])
    assert abs(tally.sums[0] / 4000 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 4000)


@compiled
def draw_above(a: float, b: float, y: float, chance: float, generator: Any) -> float:
    return thompson._draw_above(a, b, y, chance, generator)


@compiled
def upper_tail(a: float, b: float, y: float) -> float:
    return thompson._upper_tail(a, b, y)


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [
        (1, 1, 0.95),
        (5, 1, 0.99),
        (1, 5, 0.7),
        (2, 2, 0.97),
        (40, 60, 0.55),
        (40, 60, 0.41),
        (9, 2, 0.9),
    ],
)
def test_tails_of_beta_laws(a: float, b: float, y: float) -> None:
    """Against SciPy; 3,000 draws, a K-S test at level 1e-5."""
    law = stats.beta(a, b)
    chance = float(law.sf(y))
    if y > a / (a + b):
        assert upper_tail(a, b, y) == pytest.approx(chance, rel=1e-10)
    generator = np.random.default_rng(7)
    draws = np.array([draw_above(a, b, y, chance, generator) for _ in range(3000)])
    assert draws.min() >= y
    assert stats.kstest(1 - law.sf(draws) / chance, "uniform").pvalue > 1e-5


def test_means_of_0_and_1_are_leapt_over() -> None:
    """Such rewards do not vary, so nothing stands in the way of a leap."""
    problem = Problem.bernoulli([[1.0, 0.5, 0.0], [0.5, 0.6, 0.2], [0.9, 0.95, 0.0]])
    for name, kind in POLICIES.items():
        # One does not apply here; and indices of arms played once come too close to a mean of 1.
        if name in ("bpr", "ucb1", "kl-ucb"):
            continue
        result = simulate(problem, kind(), true="theta1", horizon=10**6, runs=2, times=[10**6])
        assert result.plans[name].max() < 30_000, name
        assert (result.pulls[name][:, -1].sum(axis=1) == 10**6).all()


@compiled
def plan_ahead(
    model: Any, tally: Any, envelope: Any, room: Any, budget: int, generator: Any
) -> tuple[int, int]:
    return plan(model, tally, envelope, room, budget, generator)


def hostile(
    kind: str, p: float, m: int, deviation: float, generator: np.random.Generator
) -> list[float]:
    """Rewards of m plays that stay inside the envelope: 0 ≤ x ≤ j and |x − jp| ≤ deviation."""
    rewards: list[float] = []
    total = 0.0
    for j in range(1, m + 1):
        low = max(total, j * p - deviation)
        high = min(total + 1, j * p + deviation)
        wish = {
            "zeros": total,
            "ones": total + 1,
            "alternating": total + j % 2,
            "low edge": j * p - deviation,
            "high edge": j * p + deviation,
            "up then down": j * p + (deviation if j < m / 2 else -deviation),
            "down then up": j * p + (-deviation if j < m / 2 else deviation),
            "random": total + generator.random(),
        }[kind]
        new = min(max(wish, low), high)
        rewards.append(new - total)
        total = new
    return rewards


def copy(tally: Tally) -> Tally:
    return Tally(tally.plays.copy(), tally.sums.copy(), tally.counters.copy())


KINDS = ["zeros", "ones", "alternating", "low edge", "high edge"]
KINDS += ["up then down", "down then up", "random"]


@compiled
def observe_many(
    model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any
) -> None:
    observe(model, tally, arm, plays, total, generator)


CERTIFYING = [name for name, kind in POLICIES.items() if kind.leaps and not kind.thins]


@pytest.mark.parametrize("name", CERTIFYING)
@pytest.mark.parametrize(
    "spread", [math.log(2e18) / 2, 0.5, math.inf], ids=["1e-18", "tight", "worst"]
)
def test_no_rewards_within_the_envelope_break_a_certificate(name: str, spread: float) -> None:
    """A certified stretch is replayed step by step with rewards that try to upset it.

    The "tight" envelope is one that rewards would often leave; the certificate must hold inside it
    all the same, and leaves less room for a certificate that is right by being timid.
    """
    stretches: list[int] = []
    # The first two have certificates of their own; the others share theirs, and are slower.
    examples, longest = (400, 3000) if name in ("fp-ucb", "ucb1") else (80, 400)

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(0, 12))
    def challenge(seed: int, kind: str, size: int) -> None:
        generator = np.random.default_rng(seed)
        policy = parse_policy(name)
        problem = suited(policy, generator)
        arms = len(problem.arms)
        model = policy.model(problem)
        room = policy.desk(model, arms)
        p = generator.random(arms)
        if generator.random() < 0.5:  # a truth in Θ, where cycles settle
            p = np.array(problem.rewards.unit_means[generator.integers(len(problem.parameters))])
        envelope = Envelope(p, spread)
        tally = policy.tally(problem)
        # Play some plans to get to a state that can be reached.
        for _ in range(int(generator.integers(2, 60))):
            length, rounds = plan_ahead(model, tally, envelope, room, 2**size, generator)
            for arm in room.cycle[:length].tolist():
                total = float(generator.binomial(rounds, p[arm]))
                observe_many(model, tally, arm, rounds, total, generator)
        before = copy(tally)
        length, rounds = plan_ahead(model, tally, envelope, room, 10**6, generator)
        cycle = room.cycle[:length].tolist()
        rounds = min(rounds, longest)
        stretches.append(rounds)
        if rounds == 1:  # nothing is certified, and a draw may be behind it
            return
        deviation = math.sqrt((rounds - 1) * spread) if rounds > 1 else 0.0
        paths = {
            arm: hostile(kind, p[arm], rounds, min(deviation, 1e9), generator) for arm in cycle
        }
        replay = copy(before)
        for step in range(rounds):
            played = plan_once(model, replay, room, generator)
            assert room.cycle[:played].tolist() == cycle, (kind, step, rounds)
            for arm in cycle:
                observe_once(model, replay, arm, paths[arm][step], generator)

    challenge()
    assert sum(rounds > 1 for rounds in stretches) > 0.15 * examples
    assert max(stretches) > 50


@compiled
def range_of_means(
    plays: int, total: float, mean: float, more: int, deviation: float
) -> tuple[float, float]:
    return mean_range(plays, total, mean, more, deviation)


@compiled
def is_certain(model: Any, tally: Any, envelope: Any, room: Any, rounds: int) -> bool:
    return repeats(model, tally, envelope, room, rounds)


@st.composite
def stretches(draw: st.DrawFn) -> tuple[int, float, float, int, float]:
    """An arm's plays and sum, its true mean, how many plays to come, and their deviation."""
    n = draw(st.integers(1, 300))
    total = draw(st.floats(0, 1)) * n
    p = draw(st.sampled_from([0.0, 1.0]) | st.floats(0.01, 0.99))
    more = draw(st.integers(1, 400))
    return n, total, p, more, draw(st.sampled_from([0.0, math.inf]) | st.floats(0.1, 100))


def limits(j: int, p: float, deviation: float) -> tuple[float, float]:
    """The least and the largest sum of j rewards within the envelope."""
    return max(0.0, j * p - deviation), min(float(j), j * p + deviation)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(stretches())
def test_the_range_of_a_mean_is_that_of_every_step(
    stretch: tuple[int, float, float, int, float],
) -> None:
    n, total, p, more, deviation = stretch
    low, high = range_of_means(n, total, p, more, deviation)
    lows = [(total + limits(j, p, deviation)[0]) / (n + j) for j in range(more + 1)]
    highs = [(total + limits(j, p, deviation)[1]) / (n + j) for j in range(more + 1)]
    assert low <= min(lows) + 1e-12
    assert high >= max(highs) - 1e-12
    # And no wider than a fraction of a step explains.
    assert low >= min(lows) - 1 / n
    assert high <= max(highs) + 1 / n


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(stretches(), st.integers(0, 10**4))
def test_ucb1_is_never_sure_of_a_leader_who_can_be_overtaken(
    stretch: tuple[int, float, float, int, float], others: int
) -> None:
    """A rival just above the leader's lowest index on some step must make the plan unsure."""
    n, total, p, more, deviation = stretch
    t = n + 10**9 + others
    spread = deviation**2 / more
    if p in (0.0, 1.0) and deviation < math.inf:
        deviation = 0.0  # such rewards do not vary
    lowest = min(
        (total + limits(j, p, deviation)[0]) / (n + j) + math.sqrt(2 * math.log(t) / (n + j))
        for j in range(more + 1)
    )
    wide = math.sqrt(2 * math.log(t + more) / 1e9)
    for shift, expected in ((1e-6, False), (-0.2, True)):
        rival = (lowest + shift - wide) * 1e9
        tally = Tally(np.array([n, 10**9]), np.array([total, rival]), np.array([t, 0, 0, 0]))
        room = desk(2)
        room.numbers[0] = tally.sums / tally.plays
        room.numbers[1] = 1 / tally.plays
        room.numbers[2, 0] = 2 * math.log(t)
        model = UCB1().model(load_problem("paper:two"))
        envelope = Envelope(np.array([p, 0.5]), spread)
        # Far enough below, a plan must be sure: the certificate is not merely timid.
        if expected and n < 100:
            continue
        assert is_certain(model, tally, envelope, room, more + 1) is expected


def test_leaps_reach_far() -> None:
    """A certificate that always said no would pass every other test."""
    problem = load_problem("paper:permutations")
    policy = FPUCB()
    tally = policy.tally(problem)
    tally.plays[:] = [10**6, 400, 300, 150]
    tally.sums[:] = [600_000, 160, 90, 30]
    tally.counters[CLOCK] = 10**6
    envelope = Envelope(np.array([0.6, 0.4, 0.3, 0.2]), math.log(2e18) / 2)
    model, room = policy.model(problem), desk(4)
    length, rounds = plan_ahead(model, tally, envelope, room, 10**12, np.random.default_rng())
    assert length == 1
    assert rounds > 5 * 10**5


def test_misfits_are_counted_from_the_second_episode_on() -> None:
    problem = Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]])
    agent = Agent(problem, FPUCB())
    for _ in range(400):
        agent.tell(agent.ask().id, 0.5)
    assert agent.misfits > 100
    good = Agent(problem, FPUCB())
    for number in range(400):
        decision = good.ask()
        good.tell(decision.id, float(decision.arm == "arm2" or number % 10 == 0))
    assert good.misfits == 0


def test_slack_widens_every_radius() -> None:
    problem = Problem.bernoulli([[0.5, 0.4], [0.3, 0.45]])
    tally = Tally(np.array([100, 100]), np.array([50.0, 60.0]), np.array([100, 0, 0]))
    strict, loose = FPUCB().margins(problem, tally), FPUCB(slack=0.25).margins(problem, tally)
    assert strict is not None
    assert loose is not None
    np.testing.assert_allclose(loose - strict, 0.25)
    radius = math.sqrt(3 * math.log(100) / 100)
    np.testing.assert_allclose(strict, [radius - 0.2, radius - 0.2], atol=1e-12)


def test_changed_sources_are_compiled_again() -> None:
    """The key of the machine code on disk holds a digest of all sources that go into it."""
    from numba.core.registry import cpu_target

    from fpbandits.policies import base

    cache: Any = plan_once._cache  # type: ignore[attr-defined]
    key = cache._index_key((), cpu_target.target_context.codegen())
    assert base._SOURCES in key
    assert base._SOURCES == base.digest_of_sources()


def test_machine_code_that_cannot_be_kept_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import IndexDataCacheFile

    from fpbandits.policies import base

    tried: list[object] = []

    def full(*others: object) -> None:
        tried.append(others)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert base.compiled(_double)(21) == 42
    assert tried


def _double(number: int) -> int:
    return 2 * number


def test_names_and_options() -> None:
    assert DEFAULT.name in POLICIES
    assert parse_policy("fp-ucb") == FPUCB()
    assert parse_policy("fp-ucb:slack=5e-2") == FPUCB(slack=0.05)
    assert str(FPUCB(slack=0.05)) == "fp-ucb:slack=0.05"
    for name, kind in POLICIES.items():
        assert str(kind()) == name
        assert parse_policy(name) == kind()
        assert kind.knows
        assert kind.guarantee
        assert isinstance(kind(), Policy)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("fpucb", "unknown policy 'fpucb': did you mean 'fp-ucb'?"),
        ("", "unknown policy ''"),
        ("fp-ucb:slak=1", "unknown option of fp-ucb 'slak': did you mean 'slack'?"),
        ("fp-ucb:slack", "expected slack=NUMBER, not 'slack'"),
        ("fp-ucb:slack=much", "expected slack=NUMBER, not 'slack=much'"),
        ("fp-ucb:slack=-1", "fp-ucb: slack is -1.0: it must be 0 or more"),
        ("fp-ucb:slack=nan", "fp-ucb: slack is nan: it must be 0 or more"),
        ("fp-ucb:slack=1:slack=2", "slack is given twice"),
        ("ucb1:c=2", "policy 'ucb1' has no options, but 'c=2' is given"),
    ],
)
def test_bad_words_for_policies(word: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_policy(word)
    assert message in str(caught.value)


def test_bad_options_in_python() -> None:
    with pytest.raises(InputError, match="it must be 0 or more"):
        FPUCB(slack=10**400)
    for slack in ("much", True, None):
        with pytest.raises(InputError, match="slack must be a number"):
            FPUCB(slack=slack)  # type: ignore[arg-type]


def test_unused_counter_names() -> None:
    """UCB1 counts plays, FP-UCB episodes; both leave the count of misfits at its place."""
    problem = load_problem("paper:two")
    for policy in (UCB1(), FPUCB()):
        agent = Agent(problem, policy)
        for _ in range(10):
            agent.tell(agent.ask().id, 1)
        assert agent._tally.counters[CLOCK] > 0
        assert agent._tally.counters[MISFITS] == 0
