"""Reasons name the arm that comes next, and their numbers are those of the rule."""

from __future__ import annotations

import json
from math import inf, log, sqrt
from typing import Any

import numpy as np
import pytest
from cells import Cells

from fpbandits import Agent, InputError, PlainPolicy, Problem, load_problem
from fpbandits.agent.why import BEST, LOSS, Why
from fpbandits.engine.contract import Random
from fpbandits.engine.plain import Seen
from fpbandits.policies import POLICIES

SHOP = Problem.bernoulli(
    [[0.6, 0.5, 0.2], [0.5, 0.3, 0.28], [0.7, 0.2, 0.1]],
    value=[9, 12, 15],
    arms=["9 EUR", "12 EUR", "15 EUR"],
    models=["loyal", "regular", "thrifty"],
)
DECIDING = {
    "ucb1": "index",
    "kl-ucb": "index",
    "moss": "index",
    "imed": "surprise",
}
"""The number that decides, of policies that have one: the largest, but for imed the smallest."""


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_arm_is_that_of_the_next_decision(policy: str) -> None:
    """Some rewards never come, so that states are of all kinds; asking why changes nothing."""
    problem, generator = load_problem("paper:permutations"), np.random.default_rng(3)
    agent, beside = (Agent(problem, policy, late="any", seed=2) for _ in range(2))
    for _ in range(60):
        before = agent.own_state()
        reasons = agent.why()
        assert agent.own_state() == before
        decision = agent.ask()
        assert decision.arm == reasons.arm
        assert beside.ask() == decision
        column = DECIDING.get(policy)
        if column is not None and column in reasons.arms[decision.arm]:
            numbers = [reasons.arms[arm][column] for arm in problem.arms]
            chosen = reasons.arms[decision.arm][column]
            best = min(numbers) if policy == "imed" else max(numbers)
            assert chosen == best or abs(chosen - best) < 1e-9
        if generator.random() < 0.7:
            reward = int(generator.random() < 0.6)
            agent.tell(decision, reward)
            beside.tell(decision, reward)


@pytest.mark.parametrize("policy", ["frugal", "ucb1", "thompson-theta"])
def test_the_arm_in_a_context(policy: str) -> None:
    problem = Problem.gaussian(
        [[[3, 1], [2, 5]], [[1, 2], [2, 4]]], deviation=2, contexts=["mobile", "desktop"]
    )
    agent, generator = Agent(problem, policy), np.random.default_rng(4)
    for _ in range(40):
        context = str(generator.choice(problem.contexts))
        other = next(name for name in problem.contexts if name != context)
        agent.why(other)
        reasons = agent.why(context)
        decision = agent.ask(context)
        assert (decision.arm, decision.context) == (reasons.arm, reasons.context)
        agent.tell(decision, float(generator.normal(2, 2)))
    with pytest.raises(InputError, match="has contexts: say which"):
        agent.why()


def test_what_arms_are_expected_to_lose() -> None:
    agent = Agent(SHOP)
    agent.observe("12 EUR", 12)
    reasons, posterior = agent.why(), np.array(list(agent.posterior().values()))
    assert posterior == pytest.approx([0.5, 0.3, 0.2])
    assert dict(reasons.models) == pytest.approx(agent.posterior())
    means = np.array([[5.4, 6, 3], [4.5, 3.6, 4.2], [6.3, 2.4, 1.5]])
    losses = posterior @ (means.max(axis=1, keepdims=True) - means)
    assert [numbers[LOSS] for numbers in reasons.arms.values()] == pytest.approx(losses.tolist())
    assert [numbers[BEST] for numbers in reasons.arms.values()] == pytest.approx([0.5, 0.5, 0])


def test_indices_are_in_the_users_units() -> None:
    agent = Agent(SHOP, "ucb1")
    assert [numbers["index"] for numbers in agent.why().arms.values()] == [inf] * 3
    for reward in (9, 12, 0, 0):
        agent.tell(agent.ask(), reward)
    plays = agent.plays
    sums = {"9 EUR": 9, "12 EUR": 12, "15 EUR": 0}
    for arm, numbers in agent.why().arms.items():
        assert numbers["index"] == pytest.approx(
            sums[arm] / plays[arm] + 15 * sqrt(2 * log(4) / plays[arm])
        )


def test_weights_of_the_policys_own_are_shown() -> None:
    agent = Agent(SHOP, "thompson-theta:change_rate=0.5")
    for _ in range(20):
        agent.observe("12 EUR", 12)
    reasons = agent.why()
    assert reasons.models["loyal"] < 0.9 < agent.posterior()["loyal"]
    drawn = {arm: numbers["probability of being drawn"] for arm, numbers in reasons.arms.items()}
    assert drawn == pytest.approx(
        {
            "9 EUR": reasons.models["regular"] + reasons.models["thrifty"],
            "12 EUR": reasons.models["loyal"],
            "15 EUR": 0,
        }
    )
    assert agent.ask().probability == pytest.approx(drawn[reasons.arm])


def test_an_arm_that_was_planned_before_says_so() -> None:
    agent = Agent(SHOP, "fp-ucb")
    agent.ask()
    assert agent.why().rule == "plays the next arm of a plan that it made before"
    assert agent.why().arm == agent.ask().arm


class InTurn(PlainPolicy):
    name = "in-turn"

    def start(self, problem: Problem) -> list[int]:
        return []

    def choose(self, seen: Seen, random: Random) -> int:
        seen.memory.append(len(seen.memory))
        return int(seen.memory[-1] % len(seen.plays))


def test_a_memory_of_the_policys_own_does_not_change() -> None:
    agent = Agent(SHOP, InTurn())
    for arm in SHOP.arms * 2:
        assert [agent.why().arm for _ in range(3)] == [arm] * 3
        assert agent.ask().arm == arm


@pytest.mark.parametrize("policy", ["belief-greedy", "frugal", "thompson-theta"])
def test_the_arm_where_the_truth_moves(policy: str) -> None:
    moves = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    means = [[0.9, 0.3, 0.1], [0.1, 0.9, 0.3], [0.3, 0.1, 0.9]]
    agent = Agent(Problem.bernoulli(means, transitions=moves), policy, seed=2)
    generator, arms = np.random.default_rng(10), set()
    for _ in range(60):
        reasons, decision = agent.why(), agent.ask()
        assert reasons.arm == decision.arm
        arms.add(decision.arm)
        agent.tell(decision, int(generator.random() < 0.5))
    assert len(arms) == 3


def test_in_words_in_tables_and_as_a_dict() -> None:
    agent = Agent(SHOP, "ucb1", explore=0.1)
    reasons = agent.why()
    assert str(reasons) == (
        "9 EUR is next: ucb1 plays the arm of the largest index. It is best with probability "
        "0.6667 and expected to lose 0.2 per play. With probability 0.1 any eligible arm is played "
        "instead."
    )
    agent = Agent(SHOP, "ucb1")
    agent.tell(agent.ask(), 0)
    agent.tell(agent.ask(), 0)
    agent.tell(agent.ask(), 15)
    reasons = agent.why()
    assert "9 EUR would lose least" in str(reasons)
    assert repr(reasons).splitlines()[1].split("  ")[0] == "arm"
    cells = Cells(reasons._repr_html_()).rows
    assert cells[0] == ["arm", BEST, LOSS, "index"]
    assert [row[0] for row in cells[1:]] == list(SHOP.arms)
    assert f"<strong>{reasons.arm}</strong>" in reasons._repr_html_()
    assert "Models by weight: " in reasons._repr_html_()
    plain: dict[str, Any] = json.loads(json.dumps(reasons.as_dict(), allow_nan=False))
    assert plain["arm"] == reasons.arm
    assert plain["arms"] == {arm: dict(numbers) for arm, numbers in reasons.arms.items()}
    unplayed = Agent(SHOP, "ucb1").why()
    assert unplayed.as_dict()["arms"]["9 EUR"]["index"] is None
    assert "∞" in repr(unplayed)


def test_a_notebook_shows_twenty_arms_and_five_models() -> None:
    arms = {f"arm{n}": {BEST: 0.04, LOSS: float(n), "index": -inf} for n in range(22)}
    models = {f"m{n}": (n + 1) / 28 for n in range(7)}
    reasons = Why("arm1", "p", "ucb1", "plays the arm of the largest index", arms, models)
    html = reasons._repr_html_()
    cells = Cells(html)
    assert cells.rows[0] == ["arm", BEST, LOSS, "index"]
    assert cells.rows[1:] == [[f"arm{n}", "0.04", str(n), "-∞"] for n in range(20)]
    assert cells.strong == ["arm1"]
    words = (
        "arm1 is next in p: ucb1 plays the arm of the largest index. It is best with probability "
        "0.04 and expected to lose 1 per play. arm0 would lose least, 0."
    )
    lines = [
        "<strong>Why arm1?</strong>",
        f"<div>{words}</div>",
        "<div>… and 2 arms more, in .arms</div>",
        "<div>Models by weight: m6 0.25; m5 0.214; m4 0.179; m3 0.143; m2 0.107</div>",
        "<div>… and 2 models more, in .models</div>",
    ]
    assert [html.count(line) for line in lines] == [1] * 5
    assert str(reasons) == words
    assert reasons.as_dict() == {
        "arm": "arm1",
        "context": "p",
        "policy": "ucb1",
        "rule": "plays the arm of the largest index",
        "arms": {arm: {**numbers, "index": None} for arm, numbers in arms.items()},
        "models": models,
        "explore": 0.0,
    }


def test_a_table_has_names_on_the_left_and_numbers_on_the_right() -> None:
    arms = {"short": {"index": 1.5}, "a longer one": {"index": 12.25}}
    assert repr(Why("short", None, "ucb1", "plays on", arms, {})).splitlines()[1:] == [
        "arm           index",
        "───────────────────",
        "short           1.5",
        "a longer one  12.25",
    ]


def test_where_no_model_allows_what_was_seen() -> None:
    problem = Problem.bernoulli([[1.0, 0.5], [0.0, 0.5]])
    agent = Agent(problem, "ucb1")
    agent.observe("arm1", 1)
    agent.observe("arm1", 0)
    reasons = agent.why()
    assert (reasons.models, list(reasons.arms["arm1"])) == ({}, ["index"])
    assert str(reasons) == "arm2 is next: ucb1 plays the arm of the largest index."
