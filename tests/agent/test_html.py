"""An agent in a notebook: every number in its place, in the user's units."""

from __future__ import annotations

import pytest
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
    # One reward of each kind has probability 5/36 under x, and 8/36 under y.
    assert Cells(text).rows[1:] == [
        ["<low>", "2", "6", "0.385", "5.538", "", ""],
        ["high", "0", "", "0.615", "3.462", "1", "1"],
    ]
    assert "Posterior, the likeliest first: y 0.615; x 0.385" in text
    assert "4 asked, 1 pending" in text
    agent.tell(second.id, 15)
    posterior, row = agent.posterior(), Cells(agent._repr_html_()).rows[2]
    belief = [f"{posterior['y']:.3g}", f"{9 * posterior['x']:.4g}"]
    assert row == ["high", "2", "15", *belief, "", ""]


def test_models_that_fit_are_named_and_the_rest_counted() -> None:
    agent = Agent("paper:grid", FPUCB())
    for reward in [1, 0, 0, 1] * 6:
        agent.tell(agent.ask().id, reward)
    fitting = list(agent.plausible())
    assert len(fitting) > 5
    text = agent._repr_html_()
    assert f"the best first: {'; '.join(fitting[:5])}</div>" in text
    assert f"… and {len(fitting) - 5} models more" in text
    likeliest = sorted(agent.posterior().values())
    assert f" {likeliest[-1]:.3g}; " in text
    assert f"… and {len(agent.problem.models) - 5} models more, in .posterior()" in text


def test_rows_are_counted_where_there_are_contexts_else_arms() -> None:
    arms, contexts = [0.5] * 22, ["mobile", "desktop"]
    text = Agent(Problem.bernoulli([arms]), UCB1())._repr_html_()
    assert "… and 2 arms more, in .plays" in text
    text = Agent(Problem.bernoulli([[arms, arms]], contexts=contexts), UCB1())._repr_html_()
    assert "… and 24 rows more, in .plays" in text


def test_that_nothing_fits_is_said() -> None:
    agent = Agent(Problem.bernoulli([[0.9, 0.1], [0.8, 0.2]]), FPUCB())
    for _ in range(200):
        agent.tell(agent.ask().id, 0)
    assert agent.misfits > 0
    text = agent._repr_html_()
    assert f"Decisions planned while no model fitted: {agent.misfits:,}." in text
    assert "Models whose means fit, the best first: none</div>" in text


def test_that_rewards_spread_otherwise_is_said() -> None:
    problem, line = Problem.beta([[0.5, 0.5]], 30.0), "Rewards do not spread as these models say."
    agent = Agent(problem)
    for number in range(40):
        agent.observe("arm1", 0.4 + 0.2 * (number % 2))
    assert line not in agent._repr_html_()
    assert "no model fitted" not in agent._repr_html_()
    wide = Agent.from_state(agent.state() | {"squares": 20.0}, problem)
    assert f"<div>{line}</div>" in wide._repr_html_()


def test_that_no_model_allows_what_was_seen_is_said() -> None:
    agent = Agent(Problem.bernoulli([[1.0, 0.5], [0.0, 0.5]]), UCB1())
    for reward in (0, 1):
        agent.observe("arm1", reward)
    text = agent._repr_html_()
    assert Cells(text).rows[1] == ["arm1", "2", "0.5", "", "", "", ""]
    assert "No model allows all rewards that count" in text


def test_contexts_have_a_column_and_rewards_the_users_units() -> None:
    problem = Problem.gaussian(
        [[[3, 1], [2, 5]], [[1, 2], [2, 4]]], deviation=2, contexts=["mobile", "desktop"]
    )
    agent = Agent(problem, UCB1())
    for reward in (4.5, 5.5):
        agent.observe("arm2", reward, context="desktop")
    decision = agent.ask(context="mobile")
    assert decision.arm == "arm1"
    rows = Cells(agent._repr_html_()).rows
    assert rows[0] == [
        *("context", "arm", "rewards that count", "their mean"),
        *("best with probability", "expected loss", "pending", "blocked"),
    ]
    assert [[*row[:4], *row[6:]] for row in rows[1:]] == [
        ["mobile", "arm1", "0", "", "1", ""],
        ["mobile", "arm2", "0", "", "", ""],
        ["desktop", "arm1", "0", "", "", ""],
        ["desktop", "arm2", "2", "5", "", ""],
    ]
    first = agent.posterior()["theta1"]
    assert [row[4] for row in rows[1:]] == [f"{first:.3g}", f"{1 - first:.3g}", "0", "1"]
    assert [float(row[5]) for row in rows[1:]] == pytest.approx(
        [1 - first, 2 * first, 3 * first + 2 * (1 - first), 0], rel=1e-3
    )
