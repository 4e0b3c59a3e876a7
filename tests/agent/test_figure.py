"""The posterior over time: every line at the height that Bayes' rule gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fpbandits import Agent, InputError, Problem, load_problem

SHOP = Problem.bernoulli(
    [[0.6, 0.5], [0.3, 0.5], [0.2, 0.7]], models=["$x$", "y", "z"], name="a shop", value=[9, 12]
)


def new_agent(problem: Problem, plays: int, policy: str = "frugal") -> Agent:
    """Return an agent that has made so many plays, of which half were paid."""
    agent, generator = Agent(problem, policy, log=True), np.random.default_rng(6)
    for _ in range(plays):
        decision = agent.ask()
        reward = problem.range[1] if generator.random() < 0.5 else 0
        agent.tell(
            decision,
            {"arm1": 9, "arm2": 12}[decision.arm] if reward and problem is SHOP else reward,
        )
    return agent


def test_lines_are_posteriors(tmp_path: Path) -> None:
    agent = new_agent(SHOP, 30)
    assert len(agent.log) == 30
    (axes,) = agent.plot(tmp_path / "posterior.png").axes
    assert (tmp_path / "posterior.png").read_bytes().startswith(b"\x89PNG")
    assert [line.get_label() for line in axes.lines] == ["$x$", "y", "z"]
    for time in (0, 1, 17, 30):
        expected = SHOP.posterior(agent.log[:time])
        heights = [np.asarray(line.get_ydata())[time] for line in axes.lines]
        assert heights == pytest.approx(list(expected.values()))
    assert list(agent.posterior().values()) == pytest.approx(heights)
    assert axes.get_xlabel() == "rewards that count"
    (note,) = axes.figure.texts
    assert note.get_text() == "a shop, played by frugal: 30 rewards"


def test_models_that_were_ever_likely_have_lines() -> None:
    """The six largest by their largest share, and the rest as one; long names are shortened."""
    generator = np.random.default_rng(3)
    names = [f"{letter} {'x' * 50}" for letter in "abcdefghij"]
    problem = Problem.bernoulli(generator.uniform(0.1, 0.9, (10, 2)), models=names)
    agent = new_agent(problem, 12)
    shares = np.array([list(problem.posterior(agent.log[:t]).values()) for t in range(13)])
    likeliest = sorted(range(10), key=lambda m: (-shares[:, m].max(), -shares[-1, m]))[:6]
    (axes,) = agent.plot().axes
    labels = [str(line.get_label()) for line in axes.lines]
    assert [label[0] for label in labels[:6]] == ["abcdefghij"[m] for m in sorted(likeliest)]
    assert {len(label) for label in labels[:6]} == {40}
    assert labels[6:] == ["4 others together"]
    for line, model in zip(axes.lines, sorted(likeliest), strict=False):
        assert np.asarray(line.get_xdata()).tolist() == [*range(13)]
        np.testing.assert_allclose(np.asarray(line.get_ydata()), shares[:, model])


def test_many_models_and_many_rewards() -> None:
    agent = new_agent(load_problem("paper:grid"), 700, "ucb1")
    (axes,) = agent.plot().axes
    assert len(axes.lines) == 7
    label = f"{len(agent.problem.models) - 6} others together"
    assert axes.lines[-1].get_label() == label
    total = sum(np.asarray(line.get_ydata()) for line in axes.lines)
    assert total == pytest.approx(np.ones(501))
    assert np.asarray(axes.lines[0].get_xdata())[-1] == 700


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="keeps no log: make it with log=True"):
        Agent(SHOP).plot()
    with pytest.raises(InputError, match="no reward counts yet"):
        Agent(SHOP, log=True).plot()
    with pytest.raises(InputError, match="unknown figure ending"):
        new_agent(SHOP, 3).plot("posterior.gif")


def test_a_log_is_of_rewards_that_count_in_their_order() -> None:
    problem = Problem.gaussian([[[3, 1], [2, 5]]], deviation=2, contexts=["p", "q"])
    agent = Agent(problem, log=True)
    agent.observe("arm2", 7.5, context="q")
    first, second = (agent.ask("p") for _ in range(2))
    agent.tell(second, 1.0)
    assert agent.log == [("arm2", 7.5, "q")]
    agent.tell(first, -2.0)
    assert agent.log == [("arm2", 7.5, "q"), ("arm1", -2.0, "p"), ("arm1", 1.0, "p")]
    assert problem.posterior(agent.log) == agent.posterior()
