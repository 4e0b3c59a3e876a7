"""The optimal policy: evaluated over all histories, it has the floor for its regret."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from by_belief import regret_by_belief

import fpbandits as fpb
from fpbandits.engine.contract import Random
from fpbandits.engine.plain import Seen
from fpbandits.policies import parse_policy
from fpbandits.policies.optimal import _ByBelief, _program, _value
from fpbandits.theory.structure import gaps_by_pair

RANDOM: Random = np.random.default_rng(0)


def exact_regret(problem: fpb.Problem, policy: fpb.PlainPolicy, horizon: int) -> float:
    """The Bayes regret of a plain policy: of each memory it may have, with its probability."""
    chances = problem.rewards.chances()
    assert chances is not None
    values = problem.rewards.possible
    gaps, arms = gaps_by_pair(problem), len(problem.arms)
    shares = problem.shares or (1.0,)
    pending = np.zeros(problem.pairs, np.int64)
    start = np.array(problem.prior or [1 / len(problem.models)] * len(problem.models))

    @cache
    def regret(t: int, memory: tuple[float, ...], weights: tuple[float, ...]) -> float:
        if t == horizon:
            return 0.0
        total = 0.0
        for context, share in enumerate(shares):
            seen = Seen(problem, policy.new_state(problem), t, list(memory), context, pending)
            arm = policy.choose(seen, RANDOM)
            pair = context * arms + arm
            total += share * float(np.array(weights) @ gaps[:, pair])
            for number in range(chances.shape[2]):
                after = np.array(weights) * chances[:, pair, number]
                if after.any():
                    reward = values[number] if values is not None else 0.0
                    seen.memory = list(memory)
                    policy.update(seen, arm, float(reward))
                    total += share * regret(t + 1, tuple(seen.memory), tuple(after))
        return total

    return regret(0, tuple(policy.start(problem)), tuple(start))


def draw_small_problem(number: int) -> fpb.Problem:
    random = np.random.default_rng(number)
    models, arms = 2 + number % 3, 2 + number % 2
    prior = {f"theta{k + 1}": float(random.uniform(0.5, 2)) for k in range(models)}
    means = random.uniform(0.05, 0.95, (models, arms))
    if number % 4 == 3:
        chances = np.stack([1 - means, means / 3, 2 * means / 3], axis=-1)
        return fpb.Problem.discrete(chances.tolist(), support=[0, 0.5, 1], prior=prior)
    if number % 5 == 4:
        means = random.uniform(0.05, 0.95, (models, 2, 2))
        return fpb.Problem.bernoulli(means.tolist(), contexts=["a", "b"], prior=prior)
    return fpb.Problem.bernoulli(means, prior=prior)


@pytest.mark.parametrize("number", range(10))
def test_evaluated_exactly_it_has_the_floor_for_its_regret(number: int) -> None:
    problem = draw_small_problem(number)
    least = fpb.floor(problem, 6)
    assert least.upper is not None
    found = exact_regret(problem, fpb.Optimal(horizon=6), 6)
    assert found == pytest.approx(least.value, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("number", range(4))
def test_simulated_it_is_within_three_standard_errors(number: int) -> None:
    """A false alarm in 100, of four; the seed is fixed."""
    problem = draw_small_problem(number)
    least = fpb.floor(problem, 20)
    policy = fpb.Optimal(horizon=20)
    result = fpb.simulate(problem, policy, truth="prior", horizon=20, runs=500, seed=2)
    regret = result.final_regret(str(policy))
    assert abs(regret.mean() - least.value) <= 3 * regret.std() / np.sqrt(500)


def test_normal_rewards_by_belief() -> None:
    problem = fpb.Problem.gaussian([[0, 0.5], [0, -0.5]], deviation=1, prior={"theta1": 2})
    least, policy = fpb.floor(problem, 50), fpb.Optimal(horizon=50)
    assert least.upper is not None
    result = fpb.simulate(problem, policy, truth="prior", horizon=50, runs=1000, seed=2)
    regret = result.final_regret(str(policy))
    error = regret.std() / np.sqrt(1000)
    assert least.value - 3 * error <= regret.mean() <= least.upper + 3 * error


@pytest.mark.parametrize("number", [0, 1])
def test_an_agent_goes_on_after_the_horizon_and_after_save_and_load(number: int) -> None:
    problem = draw_small_problem(number)
    agent = fpb.Agent(problem, fpb.Optimal(horizon=5))
    for _ in range(9):
        decision = agent.ask()
        agent.tell(decision.id, 1.0)
        agent = fpb.Agent.from_state(agent.state(), problem)
    # After nine rewards of 1 the arm of least expected loss, by Bayes' rule.
    plays = agent.plays
    weights = np.array(problem.prior)
    for arm, count in enumerate(plays.values()):
        weights = weights * problem.means[:, arm] ** count
    assert agent.ask().arm == problem.arms[int((weights @ gaps_by_pair(problem)).argmin())]


def test_it_is_found_by_its_name_and_is_not_among_all() -> None:
    assert parse_policy("optimal:horizon=60") == fpb.Optimal(horizon=60)
    assert str(fpb.Optimal(horizon=60)) == "optimal:horizon=60"


@pytest.mark.parametrize(
    ("problem", "horizon", "words"),
    [
        ("paper:permutations", 1000, "too large for it with 1,000 plays"),
        ("paper:two", 10**5, "at most 30,000 times here: the horizon is 100,000"),
    ],
)
def test_what_is_too_large_is_refused(problem: str, horizon: int, words: str) -> None:
    with pytest.raises(fpb.InputError, match=words):
        fpb.Agent(fpb.load_problem(problem), fpb.Optimal(horizon=horizon)).ask()


def test_revenue_of_two_models_is_refused() -> None:
    problem = fpb.Problem.revenue([[0.3, 0.5], [0.6, 0.5]], [[3, 4], [3, 4]], shape=2)
    words = "optimal: what revenue rewards tell of two models has no known distribution"
    with pytest.raises(fpb.InputError, match=words):
        fpb.Agent(problem, fpb.Optimal(horizon=20)).ask()
    with pytest.raises(fpb.InputError, match=words.removeprefix("optimal: ")):
        regret_by_belief(problem, lambda t, posterior: np.zeros(len(posterior), int), 20)


@pytest.mark.parametrize("horizon", [0, -1, 2.5, "x", None])
def test_a_horizon_is_a_whole_number(horizon: object) -> None:
    with pytest.raises(fpb.InputError, match=r"optimal.*horizon"):
        fpb.Optimal(horizon=horizon)  # type: ignore[arg-type]


def test_beliefs_of_two_models_are_log_odds() -> None:
    """Of the second model, from the prior's on; 10⁹ nats where a reward rules out either."""
    problem = fpb.Problem.bernoulli([[0.6, 1.0], [0.3, 0.0]], prior={"theta1": 3, "theta2": 1})
    program = _program(problem, problem.shares, 4)
    assert isinstance(program, _ByBelief)
    memory = program.start()
    assert memory == [0, pytest.approx(np.log(1 / 3), abs=program.step)]
    for arm, reward, change in (
        (0, 1, np.log(1 / 2)),
        (0, 0, np.log(7 / 4)),
        (1, 1, -1e9),
        (1, 0, 1e9),
    ):
        after = program.after(memory, arm, reward)
        assert after == [1, pytest.approx(memory[1] + change)]
        assert program.after(after, arm, reward)[0] == 2
    # Beyond the ends of the grid the choice is that of the end, and after the horizon, the last.
    assert [program.choose([0, odds], 0) for odds in (-1e9, 1e9)] == [1, 0]
    assert [program.choose([9, odds], 0) for odds in (-1e9, 1e9)] == [1, 0]


def test_with_few_plays_left_it_stops_exploring() -> None:
    """Arm 2 tells, and is probably worse: it is worth a try early on alone."""
    problem = fpb.Problem.bernoulli(
        [[0.5, 0.9], [0.5, 0.1]], prior={"theta1": 0.45, "theta2": 0.55}
    )
    program = _program(problem, problem.shares, 40)
    odds = np.log(0.55 / 0.45)
    assert [program.choose([t, odds], 0) for t in (0, 38, 39, 40)] == [1, 1, 0, 0]


def test_rewards_are_told_apart_by_their_values() -> None:
    discrete = fpb.Problem.discrete([[[0.2, 0.3, 0.5]] * 2], [0, 3, 10], range=(0, 10))
    assert [_value(discrete, 0, reward) for reward in (0, 3, 10)] == [0, 1, 2]
    ends = fpb.Problem.bernoulli([[14, 12]], range=(10, 20))
    assert [_value(ends, 0, reward) for reward in (10, 20)] == [0, 1]
    with pytest.raises(fpb.InputError, match="optimal: 15 is neither end of the range"):
        _value(ends, 0, 15)
    amounts = fpb.Problem.bernoulli([[0.5, 0.2]], value=[9, 4])
    assert [_value(amounts, 1, reward) for reward in (0, 4)] == [0, 1]


def test_a_reward_that_no_model_allows_is_refused() -> None:
    problem = fpb.Problem.bernoulli([[0.5, 1.0], [0.4, 1.0], [0.3, 1.0]])
    program = _program(problem, problem.shares, 4)
    assert program.start() == [0, 0, 0]
    with pytest.raises(fpb.InputError, match="optimal: no model allows this reward"):
        program.after(program.start(), 1, 0.0)
    assert sorted(program.after(program.start(), 1, 1.0)) == [0, 0, 1]


def test_shares_of_contexts_make_another_program() -> None:
    means = [[[0.64, 0.27], [0.04, 0.02]], [[0.81, 0.91], [0.61, 0.73]]]
    first = []
    for shares in ((0.98, 0.02), (0.02, 0.98)):
        problem = fpb.Problem.bernoulli(means, contexts=["a", "b"], shares=shares)
        first.append(fpb.Agent(problem, "optimal:horizon=10").ask(context="a").arm)
    assert first == ["arm2", "arm1"]
