"""An agent in a notebook: every number in its place, in the user's units."""

from __future__ import annotations

from cells import Cells

from fpbandits import FPUCB, UCB1, Agent, Problem

PRICES = Problem.bernoulli(
    [[12, 3], [3, 12]], range=(-3, 15), arms=["<low>", "high"], models=["x", "y"]
)


def test_what_was_seen_and_what_is_awaited() -> None:
    agent = Agent(PRICES, FPUCB())
    first, second, third, fourth = (agent.ask() for _ in range(4))
    assert [each.arm for each in (first, second, third, fourth)] == ["<low>", "high"] * 2
    agent.tell(first.id, 15)
    agent.tell(third.id, -3)
    agent.tell(fourth.id, 15)  # must wait for the second
    text = agent._repr_html_()
    assert Cells(text).rows[1:] == [["<low>", "2", "6", "", ""], ["high", "0", "", "1", "1"]]
    assert "4 asked, 1 pending" in text
    agent.tell(second.id, 15)
    assert Cells(agent._repr_html_()).rows[2] == ["high", "2", "15", "", ""]


def test_models_that_fit_are_named_and_the_rest_counted() -> None:
    agent = Agent("paper:grid", FPUCB())
    for reward in [1, 0, 0, 1] * 6:
        agent.tell(agent.ask().id, reward)
    fitting = list(agent.plausible())
    assert len(fitting) > 5
    text = agent._repr_html_()
    assert "; ".join(fitting[:5]) in text
    assert fitting[5] not in text
    assert f"… and {len(fitting) - 5} models more" in text


def test_that_nothing_fits_is_said() -> None:
    agent = Agent(Problem.bernoulli([[0.9, 0.1], [0.8, 0.2]]), FPUCB())
    for _ in range(200):
        agent.tell(agent.ask().id, 0)
    assert agent.misfits > 0
    assert f"No model fitted what was seen in {agent.misfits:,} decisions." in agent._repr_html_()


def test_contexts_have_a_column_and_rewards_the_users_units() -> None:
    problem = Problem.gaussian(
        [[[3, 1], [2, 5]], [[1, 2], [2, 4]]], deviation=2, contexts=["mobile", "desktop"]
    )
    agent = Agent(problem, UCB1())
    for reward in (4.5, 5.5):
        agent.observe("arm2", reward, context="desktop")
    decision = agent.ask(context="mobile")
    assert decision.arm == "arm1"
    assert Cells(agent._repr_html_()).rows == [
        ["context", "arm", "rewards that count", "their mean", "pending", "blocked"],
        ["mobile", "arm1", "0", "", "1", ""],
        ["mobile", "arm2", "0", "", "", ""],
        ["desktop", "arm1", "0", "", "", ""],
        ["desktop", "arm2", "2", "5", "", ""],
    ]
