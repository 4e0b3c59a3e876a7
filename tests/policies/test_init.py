"""What all policies share, found by name; and what one line of registration buys a new one."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from command import run
from moments import planned
from plans import suited
from reference import Known, twin

from fpbandits import Agent, Optimist, Policy, Problem, load_problem, simulate
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.engine.contract import CLOCK, MISFITS, OWN, Ahead, Envelope, Plan
from fpbandits.leaderboard import contests, play
from fpbandits.policies import DEFAULT, POLICIES, parse_policy
from fpbandits.sweep.study import load_study
from fpbandits.sweep.sweep import sweep

TWINS = [name for name in POLICIES if name != "thompson"]
"""Thompson sampling has a test of its own."""

SETTINGS = [
    "fp-ucb:slack=0.1",
    "optimist:false_alarm=0.37",
    "frugal:false_alarm=0.05:trust=0.2",
    "optimist:delta=0.5:offset=2.0",
    "ucb-s:alpha=2",
    "ucb-c:alpha=5",
    "ts-c:alpha=1",
    "moss:horizon=150",
    "ata:c=0.2",
    "ossb:gamma=0.5:epsilon=0.1",
    "kl-ucb:c=3",
]


def options(policy: Policy) -> dict[str, Any]:
    """The options that differ from their defaults, which a twin must know by itself."""
    values = {option.name: getattr(policy, option.name) for option in fields(policy)}
    usual = type(policy)()
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


@pytest.mark.parametrize("word", [*TWINS, *SETTINGS])
def test_agents_decide_as_plain_python_does(word: str) -> None:
    """Random problems, random rewards 0/1 or in between, decision for decision."""
    generator = np.random.default_rng(5)
    problems = 50 if word in ("fp-ucb", "ucb1") else 12
    decided = 0
    for _ in range(problems):
        policy = parse_policy(word)
        problem = suited(policy, generator)
        agent = Agent(problem, policy)
        player = twin(policy.name)(Known(problem), **options(policy))
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


def test_simulation_plays_as_plain_python_does_with_all_policies_at_once() -> None:
    """Step by step, and with the same draws, for policies that draw nothing themselves."""
    problem = load_problem("paper:permutations")
    means = problem.rewards.unit_means[0].tolist()
    chosen = [POLICIES[name]() for name in TWINS if not POLICIES[name].randomised]
    result = simulate(
        problem, chosen, truth=problem.models[0], horizon=400, runs=2, seed=3, leap=False
    )
    for policy in chosen:
        for number in range(2):
            player, stream = twin(policy.name)(Known(problem)), random_stream(3, number, REWARDS)
            pulls, arm = [0] * 4, next(player)
            for _ in range(400):
                pulls[arm] += 1
                arm = player.send(float(stream.random() < means[arm]))
            assert result.pulls[policy.name][number, -1].tolist() == pulls, policy.name


@pytest.mark.parametrize(
    "name", ["ucb-s", "m-ucb", "ucb-c", "ts-c", "bpr", "ucb1", "moss", "kl-ucb", "imed"]
)
def test_an_arm_without_rewards_is_played_for_one_round(name: str) -> None:
    """Though more would be certain: the model that fits has it for its best arm."""
    problem, policy = Problem.bernoulli([[0.6, 0.4], [0.4, 0.6]]), POLICIES[name]()
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 2)
    state.plays[:], state.sums[:], state.counters[CLOCK] = [300, 0], [120, 0], 300
    envelope = Envelope(np.array([0.4, 0.6]), 0.5)
    assert planned(policy, prepared, state, workspace, envelope, 64) == (1, 1)
    assert workspace.cycle[0] == 1


@pytest.mark.parametrize("name", ["frugal", "optimist"])
@pytest.mark.parametrize("normal", [False, True])
def test_once_the_models_are_given_up_plans_are_those_of_imed(name: str, normal: bool) -> None:
    means = [[0.9, 0.4], [0.1, 0.6]]
    problem = Problem.gaussian(means, 0.5) if normal else Problem.bernoulli(means)
    envelope, made = Envelope(np.array([0.6, 0.3]), 0.5, not normal), []
    for word in (f"{name}:false_alarm=0.1", "imed"):
        policy = parse_policy(word)
        prepared, state = policy.prepare(problem), policy.new_state(problem)
        workspace = policy.workspace(prepared, 2)
        state.plays[:], state.sums[:] = [5000, 90], [3000, 27]
        state.counters[CLOCK], state.counters[OWN] = 5090, int(word != "imed")
        for plays in (10**6, 1):
            _, rounds = planned(policy, prepared, state, workspace, envelope, plays)
            made.append((int(workspace.cycle[0]), rounds))
        assert state.counters[MISFITS] == 2 * (word != "imed")
    assert made[:2] == made[2:]
    assert 1 < made[0][1] < 10**6


@pytest.mark.parametrize("name", ["frugal", "optimist"])
def test_if_the_truth_may_change_a_plan_is_for_one_round(name: str) -> None:
    problem = Problem.bernoulli([[0.9, 0.4], [0.1, 0.6]])
    envelope = Envelope(np.array([0.9, 0.4]), 0.5)
    for rate, expected in ((0.0, 64), (0.01, 1)):
        policy = parse_policy(f"{name}:change_rate={rate}")
        prepared, state = policy.prepare(problem), policy.new_state(problem)
        workspace = policy.workspace(prepared, 2)
        state.plays[:], state.sums[:], state.counters[CLOCK] = [500, 0], [450, 0], 500
        assert planned(policy, prepared, state, workspace, envelope, 64) == (1, expected)
        assert workspace.cycle[0] == 0


def test_names_and_what_is_said_of_them() -> None:
    assert DEFAULT.name in POLICIES
    for name, kind in POLICIES.items():
        assert str(kind()) == name
        assert parse_policy(name) == kind()
        assert kind.knows
        assert kind.guarantee
        assert isinstance(kind(), Policy)


def test_policies_that_know_theta_are_listed_first() -> None:
    knowing = [kind.knows.startswith("Θ") for kind in POLICIES.values()]
    assert knowing == sorted(knowing, reverse=True)
    assert list(POLICIES)[:3] == ["fp-ucb", "fp-llr", "frugal"]


class Order(NamedTuple):
    arms: int


@dataclass(frozen=True)
class Toy(Policy):
    """Every arm in turn."""

    name = "toy"
    knows = "the number of arms"
    guarantee = "the regret of pure exploration"
    leaps = True

    def prepare(self, problem: Problem) -> Order:
        return Order(len(problem.arms))

    @staticmethod
    def plan(prepared: Any, state: Any, workspace: Any, ahead: Ahead, random: Any) -> Plan:
        for arm in range(prepared.arms):
            workspace.cycle[arm] = arm
        return prepared.arms, max(1, ahead.plays // prepared.arms)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "toy", Toy)


@pytest.mark.usefixtures("registered")
def test_a_new_policy_is_simulated_by_its_name() -> None:
    problem = load_problem("paper:permutations")
    assert parse_policy("toy") == Toy()
    leaping, stepwise = (
        simulate(problem, parse_policy("toy"), horizon=10_001, runs=2, leap=leap)
        for leap in (True, False)
    )
    assert np.array_equal(leaping.pulls["toy"], stepwise.pulls["toy"])
    assert leaping.pulls["toy"][:, -1].tolist() == [[2501, 2500, 2500, 2500]] * 2
    assert leaping.plans["toy"].max() < 200 < 2500 < stepwise.plans["toy"].min()


@pytest.mark.usefixtures("registered")
def test_a_new_policy_is_an_agent_that_is_saved_and_loaded(tmp_path: Path) -> None:
    problem = load_problem("paper:permutations")
    agent = Agent(problem, parse_policy("toy"))
    arms = []
    for _ in range(10):
        decision = agent.ask()
        arms.append(decision.arm)
        agent.tell(decision.id, 1)
        agent.save(tmp_path / "agent.json")
        agent = Agent.load(tmp_path / "agent.json", problem)
    assert arms == [*problem.arms, *problem.arms, *problem.arms[:2]]


@pytest.mark.usefixtures("registered")
def test_a_new_policy_is_swept_and_ranked_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(
        'problems = ["paper:two"]\npolicies = ["toy", "ucb1"]\nhorizons = [100]\nruns = 3\n'
    )
    found = sweep(load_study(tmp_path / "study.toml"))
    assert [row["policy"] for row in found.rows] == ["toy", "ucb1"]
    assert found.rows[0]["std_regret"] == 0
    board = play(policies={"toy": Toy()}, among=contests("paper")[:1], runs=4, horizon=1000)
    means = contests("paper")[0].problem.means[0]
    expected = 1000 * (means.max() - means.mean())
    assert board.standings["toy"]["two θ¹"].mean == pytest.approx(expected)
    code, out, _ = run(capsys, "policies", "--json")
    assert code == 0
    assert json.loads(out)[-1] == {
        "name": "toy",
        "default": False,
        "description": "Every arm in turn.",
        "knows": "the number of arms",
        "guarantee": "the regret of pure exploration",
        "reference": "",
        "leaps": True,
        "options": {},
        "meaning": {},
    }


class Last(Optimist):
    """Prepares what the optimist does, and plays the last arm."""

    name = "last"

    @staticmethod
    def plan(prepared: Any, state: Any, workspace: Any, ahead: Ahead, random: Any) -> Plan:
        workspace.cycle[0] = prepared.theta.codes.shape[0] - 1
        return 1, ahead.plays


def test_a_subclass_plays_by_its_own_rule_and_leaves_the_other_alone() -> None:
    problem = load_problem("paper:permutations")
    before = simulate(problem, Optimist(), horizon=1000, runs=3)
    both = simulate(problem, [Last(), Optimist()], horizon=1000, runs=3)
    assert both.pulls["last"][:, -1].tolist() == [[0, 0, 0, 1000]] * 3
    assert np.array_equal(both.pulls["optimist"], before.pulls["optimist"])
    mine, other = Agent(problem, Last()), Agent(problem, Optimist())
    for _ in range(20):
        decision = mine.ask()
        assert decision.arm == problem.arms[-1]
        mine.tell(decision.id, 0)
        decision = other.ask()
        other.tell(decision.id, 0)
    assert other.plays[problem.arms[-1]] < 20
