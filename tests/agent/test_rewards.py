"""Rewards as agents are told them: in any units within the range, odd ones with a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fpbandits import Agent, InputError, Optimist, Problem, load_problem

PRICES = Problem.bernoulli([[8.1, 6], [1.8, 6]], range=(0, 15), name="prices")
REVENUE = Problem.discrete(
    [[[0.1, 0.9, 0], [0.5, 0, 0.5]], [[0.8, 0.2, 0], [0.5, 0, 0.5]]],
    support=[0, 9, 12],
    range=(0, 12),
    name="revenue",
)


@pytest.mark.parametrize(
    ("problem", "values", "others"),
    [
        (PRICES, "0, 15", 'another range, or reward = "discrete" or "beta"'),
        (REVENUE, "0, 9, 12", ""),
    ],
)
@pytest.mark.parametrize("way", ["tell", "observe"])
def test_a_reward_that_no_model_pays_is_taken_in_with_a_word(
    problem: Problem, values: str, others: str, way: str
) -> None:
    problem = replace(problem, name=f"{problem.name} {way}")  # of which nothing was said before
    by_means = Optimist(likelihood="means")  # by their laws such a reward cannot be
    agents = [Agent(problem, by_means), Agent(problem, by_means)]

    def give(agent: Agent, reward: float) -> None:
        if way == "tell":
            agent.tell(agent.ask().id, reward)
        else:
            agent.observe(problem.arms[0], reward)

    for value in values.split(", "):
        give(agents[0], float(value))
    with pytest.warns(
        UserWarning, match=rf"told a reward of 11\.34, and.* pay {values} only"
    ) as told:
        give(agents[0], 11.34)
    assert others in str(told[0].message)
    assert told[0].filename == __file__
    for agent in agents:  # a word per problem, not per reward
        give(agent, 11.34)
    assert sum(agents[0].plays.values()) == len(values.split(", ")) + 2


@pytest.mark.parametrize(
    ("count", "values"), [(8, "0, 1, 2, 3, 4, 5, 6, 7"), (9, "0, 1, 2, 3, 4, 5, 6, 7, …")]
)
def test_eight_values_at_most_are_named(count: int, values: str) -> None:
    law = [1 / count] * count
    problem = Problem.discrete([[law]], range(count), range=(0, count), name=f"of {count}")
    agent = Agent(problem, "ucb1")
    with pytest.warns(UserWarning, match="was told a reward") as told:
        agent.observe("arm1", 3.5)
    assert [str(each.message) for each in told] == [
        f"of {count} was told a reward of 3.5, and its models pay {values} only: it counts by its "
        "mean all the same, but models should say what can come: another range, or reward = "
        '"discrete" or "beta"'
    ]


def test_fractions_are_welcome_where_rewards_are_in_0_to_1() -> None:
    for problem in (load_problem("paper:two"), Problem.beta([[0.5, 0.4]], 3)):
        agent = Agent(problem)
        agent.tell(agent.ask().id, 0.5)
        assert sum(agent.plays.values()) == 1


@pytest.mark.parametrize("policy", ["frugal", "ucb1"])
def test_models_that_were_fitted_to_zeros_and_ones_are_told_nothing_between(policy: str) -> None:
    problem = Problem.bernoulli([[6, 3]], range=(0, 12), fitted_units=("0" * 12,))
    agent = Agent(problem, policy)
    decision = agent.ask()
    for reward in (0, 12.0):
        agent.observe("arm1", reward)
    for refused in (0.5, 6):
        with pytest.raises(InputError, match=rf"decision 0: .* {refused} is neither 0 nor 12, as"):
            agent.tell(decision, refused)
    with pytest.raises(InputError, match="is neither 0 nor 12"):
        agent.observe("arm1", 3)
    agent.tell(decision, 12)


def test_a_reward_outside_the_range_is_told_what_would_be_right() -> None:
    agent = Agent(load_problem("paper:two"))
    with pytest.raises(
        InputError, match=r"12\.34 is outside the range \[0, 1\]: a problem whose"
    ) as no:
        agent.tell(agent.ask().id, 12.34)
    assert str(no.value).endswith(
        "a problem whose rewards are in [0, 12.34] says range = [0, 12.34], and reward = "
        '"discrete" or "beta" where rewards are not all or nothing'
    )
    priced = Agent(Problem.bernoulli([[0.5, 0.1]], arms=["9", "15"], value=[9, 15]))
    with pytest.raises(InputError) as no:
        priced.observe("15", 18.0)
    assert str(no.value) == (
        "arm '15': the reward 18.0 is outside the range [0, 15]: an arm pays 0, or its value in "
        "the problem"
    )


@pytest.mark.parametrize("deviation", [1e-90, 1.0])
def test_rewards_without_a_range_can_be_added_up(deviation: float) -> None:
    problem = Problem.gaussian([[0.0, 0.0], [deviation, 0.0]], deviation=deviation)
    agent = Agent(problem, "ucb1")
    decision = agent.ask()
    for reward in (1e308, -1e308, deviation * 1e101):
        with pytest.raises(InputError, match=r"decision 0: the reward .* is too large"):
            agent.tell(decision.id, reward)
    agent.tell(decision.id, deviation * 1e99)
    assert Agent.from_state(agent.state(), problem).state() == agent.state()
