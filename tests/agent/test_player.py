"""Eligible arms and exploration: which arms, what is left alone, and right probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from fpbandits import Agent, Decision, InputError, PlainPolicy, Problem, load_problem
from fpbandits.core.streams import EXPLORATION, random_stream
from fpbandits.engine.contract import Random
from fpbandits.engine.plain import Seen
from fpbandits.policies import POLICIES

ALARM = 1e-6
"""The probability that a test of frequencies fails for no reason."""

TELLING = {
    "fp-llr",
    "fp-ucb",
    "frugal",
    "imed",
    "kl-ucb",
    "least-squares",
    "m-ucb",
    "moss",
    "optimist",
    "ossb",
    "thompson-theta",
    "ucb-c",
    "ucb-s",
    "ucb1",
}
"""Policies that can tell how likely each arm is."""

PROBLEM = Problem.bernoulli(
    [[0.8, 0.3, 0.5, 0.1], [0.3, 0.7, 0.5, 0.2], [0.4, 0.3, 0.6, 0.9]], prior={"theta1": 2}
)
CONTEXTS = Problem.bernoulli(
    [[[0.8, 0.3], [0.3, 0.9]], [[0.3, 0.7], [0.4, 0.2]]], contexts=["p", "q"]
)


class Coin(PlainPolicy):
    name = "coin"

    def choose(self, seen: Seen, random: Random) -> int:
        return int(random.integers(2))


def explores(seed: int, number: int, share: float) -> bool:
    """Tell whether a decision explores, by the stream of its own."""
    return bool(random_stream(seed, number, EXPLORATION).random() < share)


def new_agent(policy: str, problem: Problem = PROBLEM, plays: int = 25, **options: Any) -> Agent:
    """Return an agent that has made so many plays, with fair coins for rewards."""
    agent, generator = Agent(problem, policy, **options), np.random.default_rng(4)
    for step in range(plays):
        context = problem.contexts[step % len(problem.contexts)] if problem.contexts else None
        agent.tell(agent.ask(context), int(generator.random() < 0.5))
    return agent


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        *((policy, PROBLEM) for policy in ("frugal", "fp-ucb", "ucb1", "thompson-theta")),
        *((policy, CONTEXTS) for policy in ("frugal", "ucb1", "thompson-theta")),
    ],
)
def test_probabilities_are_those_of_decisions(policy: str, problem: Problem) -> None:
    """Two thousand agents in one state, with a seed each."""
    first = new_agent(policy, problem, explore=0.4)
    state, context = first.own_state(), problem.contexts[0] if problem.contexts else None
    decisions = [first.another(seed=s, own_state=state).ask(context) for s in range(2000)]
    chances: dict[str, float] = {}
    for decision in decisions:
        assert decision.probability is not None
        assert chances.setdefault(decision.arm, decision.probability) == decision.probability
    arms = problem.arms
    assert sum(chances.values()) == pytest.approx(1)
    assert min(chances.values()) >= 0.4 / len(arms)
    counts = [sum(decision.arm == arm for decision in decisions) for arm in arms]
    assert chisquare(counts, [2000 * chances[arm] for arm in arms]).pvalue > ALARM


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_who_cannot_tell_probabilities_does_not_explore(policy: str) -> None:
    problem = load_problem("paper:permutations")  # all policies take it
    if policy in TELLING:
        assert Agent(problem, policy, explore=0.1).ask().probability is not None
    else:
        with pytest.raises(InputError, match=f"^{policy} draws arms and cannot tell how likely"):
            Agent(problem, policy, explore=0.1)
    Agent(problem, policy, explore=0)
    with pytest.raises(InputError, match="coin draws arms"):
        Agent(problem, Coin(), explore=0.1)


@pytest.mark.parametrize("policy", ["frugal", "fp-ucb", "ucb1", "thompson-theta"])
def test_exploring_changes_nothing_but_the_decision(policy: str) -> None:
    agent, share = new_agent(policy, explore=0.5), 0.5
    tried = 0
    for _ in range(60):
        number, before = agent._ledger.next, (agent._packed.tobytes(), list(agent._to_hand_out))
        decision = agent.ask()
        if explores(0, number, share):
            tried += 1
            assert before == (agent._packed.tobytes(), agent._to_hand_out)
        agent.tell(decision, 1)
    assert 15 < tried < 45


def test_a_planned_arm_is_not_used_up() -> None:
    """UCB1's first round is every arm once, whatever exploration comes between."""
    agent = Agent(PROBLEM, "ucb1", explore=0.5)
    planned = [d.arm for d in (agent.ask() for _ in range(40)) if not explores(0, d.id, 0.5)]
    assert planned[:4] == list(PROBLEM.arms)


def test_without_exploration_decisions_are_as_they_were() -> None:
    for policy in ("frugal", "thompson-theta"):
        assert decisions_of(new_agent(policy)) == decisions_of(new_agent(policy, explore=0.0))


def decisions_of(agent: Agent) -> list[tuple[Decision, float | None]]:
    return [(decision, decision.probability) for decision in (agent.ask() for _ in range(20))]


def test_exploring_always_is_uniform() -> None:
    agent = Agent(PROBLEM, explore=1)
    decisions = [agent.ask() for _ in range(400)]
    assert {decision.probability for decision in decisions} == {0.25}
    counts = [sum(decision.arm == arm for decision in decisions) for arm in PROBLEM.arms]
    assert chisquare(counts).pvalue > ALARM


@pytest.mark.parametrize("explore", [-0.1, 1.1, float("nan"), "0.1", None, True])
def test_a_share_is_from_0_to_1(explore: Any) -> None:
    with pytest.raises(InputError, match="explore"):
        Agent(PROBLEM, explore=explore)


REFUSING = {"ata", "bpr", "ossb"}
"""Policies that cannot decide among some of the arms."""

ONE_BY_ONE = sorted(set(POLICIES) - REFUSING - {"fp-ucb", "fp-llr"})
"""Policies that plan one arm at a time, but for UCB1's first round."""

DISTINCT = Problem.bernoulli(
    [[0.8, 0.3, 0.52, 0.1], [0.35, 0.7, 0.5, 0.2], [0.41, 0.31, 0.6, 0.9], [0.5, 0.64, 0.2, 0.3]],
    prior={"theta1": 2, "theta2": 1, "theta3": 1, "theta4": 3},
)


def draw_eligible(problem: Problem, generator: np.random.Generator) -> list[str]:
    """Draw the arms that are eligible, in any order."""
    count = int(generator.integers(1, len(problem.arms) + 1))
    return [str(arm) for arm in generator.permutation(problem.arms)[:count]]


@pytest.mark.parametrize("explore", [0.0, 0.3])
@pytest.mark.parametrize("policy", sorted(set(POLICIES) - REFUSING))
def test_the_arm_is_eligible_and_the_one_that_why_names(policy: str, explore: float) -> None:
    if explore and policy not in TELLING:
        return
    for problem in (PROBLEM, CONTEXTS) if policy in {"frugal", "optimist", "ucb1"} else (PROBLEM,):
        agent = Agent(problem, policy, late="any", explore=explore, seed=3)
        generator = np.random.default_rng(5)
        for number in range(80):
            context = str(generator.choice(problem.contexts)) if problem.contexts else None
            among = draw_eligible(problem, generator)
            before = agent.own_state()
            reasons = agent.why(context, among)
            assert agent.own_state() == before
            assert set(reasons.arms) == set(among)
            decision = agent.ask(context, among)
            assert decision.arm in among
            assert decision.arm == reasons.arm or explores(3, number, explore)
            if generator.random() < 0.8:
                agent.tell(decision, int(generator.random() < 0.5))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_with_all_arms_eligible_nothing_changes(policy: str) -> None:
    problem = load_problem("paper:permutations") if policy == "bpr" else PROBLEM
    agents = [Agent(problem, policy, seed=7, late="any") for _ in range(2)]
    generator = np.random.default_rng(6)
    for _ in range(40):
        one, other = agents[0].ask(), agents[1].ask(among=reversed(problem.arms))
        assert (one, one.probability) == (other, other.probability)
        reward = int(generator.random() < 0.5)
        for agent in agents:
            agent.tell(one.id, reward)
    assert agents[0].own_state() == agents[1].own_state()


@pytest.mark.parametrize("policy", ONE_BY_ONE)
def test_it_decides_as_if_there_were_no_other_arms(policy: str) -> None:
    """Beside it plays an agent whose problem has the eligible arms alone."""
    among = ["arm2", "arm4", "arm1"]
    means = np.array(DISTINCT.means)[:, [0, 1, 3]]
    assert DISTINCT.prior is not None
    prior = dict(zip(DISTINCT.models, DISTINCT.prior, strict=True))
    alone = Problem.bernoulli(means, arms=sorted(among), models=DISTINCT.models, prior=prior)
    agent, beside = Agent(DISTINCT, policy, seed=1), Agent(alone, policy, seed=1)
    generator = np.random.default_rng(8)
    for _ in range(60):
        decision, other = agent.ask(among=among), beside.ask()
        assert (decision.arm, decision.probability) == (other.arm, other.probability)
        reward = int(generator.random() < 0.5)
        agent.tell(decision, reward)
        beside.tell(other, reward)


@pytest.mark.parametrize("policy", ["belief-greedy", "ids-theta", "thompson-theta"])
def test_in_contexts_too_there_might_be_no_other_arms(policy: str) -> None:
    """These policies look at no context but the one at hand."""
    generator = np.random.default_rng(12)
    means, among = generator.uniform(size=(4, 2, 4)), ["arm2", "arm4", "arm1"]
    problem = Problem.bernoulli(means, contexts=["p", "q"])
    alone = Problem.bernoulli(means[:, :, [0, 1, 3]], arms=sorted(among), contexts=["p", "q"])
    agent, beside = Agent(problem, policy, seed=1), Agent(alone, policy, seed=1)
    for _ in range(60):
        context = str(generator.choice(["p", "q"]))
        decision, other = agent.ask(context, among), beside.ask(context)
        assert (decision.arm, decision.probability) == (other.arm, other.probability)
        reward = int(generator.random() < 0.5)
        agent.tell(decision, reward)
        beside.tell(other, reward)


@pytest.mark.parametrize("policy", ["frugal", "thompson-theta", "ids-theta"])
def test_rewards_of_other_arms_count_as_a_prior(policy: str) -> None:
    agent, generator = Agent(DISTINCT, policy, seed=1), np.random.default_rng(9)
    for arm, reward in [("arm3", 0), ("arm3", 1), ("arm3", 1), ("arm4", 1)]:
        agent.observe(arm, reward)
    means = np.array(DISTINCT.means)[:, :2]
    prior = agent.posterior()
    beside = Agent(Problem.bernoulli(means, models=DISTINCT.models, prior=prior), policy, seed=1)
    for _ in range(60):
        decision, other = agent.ask(among=["arm1", "arm2"]), beside.ask()
        assert decision.arm == other.arm
        assert decision.probability == pytest.approx(other.probability)
        reward = int(generator.random() < 0.5)
        agent.tell(decision, reward)
        beside.tell(other, reward)


def test_a_planned_arm_that_is_not_eligible_stays_planned() -> None:
    agent = Agent(PROBLEM, "fp-ucb")
    assert agent.ask().arm == "arm1"  # of a first round of arm1, arm2 and arm4
    assert agent.why(among=["arm3", "arm4"]).rule.startswith("plays the next arm of a plan")
    assert agent.ask(among=["arm3", "arm4"]).arm == "arm4"
    assert agent.ask(among=["arm3"]).arm == "arm3"
    assert agent.ask().arm == "arm2"
    in_order = Agent(PROBLEM, "fp-ucb")
    in_order.ask()
    assert [in_order.ask(among=["arm4", "arm2"]).arm for _ in range(2)] == ["arm2", "arm4"]
    moved = Agent.from_state(agent.state(), PROBLEM)
    assert moved.ask(among=["arm3", "arm1"]).arm == agent.ask(among=["arm3", "arm1"]).arm


@pytest.mark.parametrize("policy", ["fp-ucb", "fp-llr"])
def test_arms_that_could_be_best_are_played_in_turn(policy: str) -> None:
    """Where nothing tells, each of a round gets its share although one arm is planned at a time."""
    problem = Problem.bernoulli([[0.6, 0.5, 0.5], [0.5, 0.6, 0.5], [0.5, 0.5, 0.6]])
    agent = Agent(problem, policy)
    arms = [agent.ask(among=["arm1", "arm3"]).arm for _ in range(20)]
    assert arms == ["arm1", "arm3"] * 10


def test_a_first_round_in_a_context_plays_each_eligible_arm() -> None:
    means = [[[0.6, 0.5, 0.5], [0.5, 0.6, 0.5]], [[0.5, 0.5, 0.6], [0.6, 0.5, 0.5]]]
    agent = Agent(Problem.bernoulli(means, contexts=["p", "q"]), "ucb1")
    assert [agent.ask("q", among=["arm1", "arm3"]).arm for _ in range(2)] == ["arm1", "arm3"]


def test_exploring_is_uniform_over_what_is_eligible() -> None:
    """Expected are 200 of each; a chi-squared test fails for no reason once in a million."""
    agent, among = Agent(PROBLEM, explore=1.0), ["arm2", "arm4"]
    decisions = [agent.ask(among=among) for _ in range(400)]
    assert {decision.probability for decision in decisions} == {0.5}
    counts = [sum(decision.arm == arm for decision in decisions) for arm in among]
    assert chisquare(counts).pvalue > ALARM
    arm = Agent(PROBLEM).why(among=among).arm
    mixed = [Agent(PROBLEM, explore=0.5, seed=seed).ask(among=among) for seed in range(60)]
    chances = {decision.arm: decision.probability for decision in mixed}
    assert chances == {name: 0.75 if name == arm else 0.25 for name in among}


def test_models_that_were_given_up_leave_a_choice_among_the_eligible() -> None:
    agent = Agent(PROBLEM, "frugal:false_alarm=0.01", late="any")
    for arm in PROBLEM.arms:
        for _ in range(40):
            agent.observe(arm, float(arm == "arm3"))
    for number in range(40):
        among = [["arm1", "arm2"], ["arm4"], ["arm2", "arm4"]][number % 3]
        decision = agent.ask(among=among)
        assert decision.arm in among
        agent.tell(decision, 0)
    assert agent.misfits > 30
    assert agent.ask().arm == "arm3"


def test_doubt_falls_on_eligible_arms() -> None:
    """No model says that arm3 is best; rewards say so once it is eligible."""
    agent = Agent(PROBLEM, "frugal:false_alarm=0.01:trust=0.01", late="any")
    generator, arms = np.random.default_rng(1), set()
    for _ in range(200):
        decision = agent.ask(among=["arm1", "arm2"])
        arms.add(decision.arm)
        agent.tell(decision, int(generator.random() < (0.8 if decision.arm == "arm1" else 0.3)))
    assert arms == {"arm1", "arm2"}


@pytest.mark.parametrize("policy", sorted(REFUSING))
def test_who_cannot_says_so(policy: str) -> None:
    agent = Agent(load_problem("paper:permutations"), policy)
    for method in (agent.ask, agent.why):
        with pytest.raises(InputError) as caught:
            method(among=["arm1"])
        assert str(caught.value) == (
            f"{policy} cannot decide among some of the arms: leave out among, or choose another "
            "policy, such as frugal"
        )
    assert agent.ask().id == 0


class Last(PlainPolicy):
    name = "last"

    def choose(self, seen: Seen, random: Random) -> int:
        return seen.among[-1]


def test_a_rule_of_ones_own_sees_what_is_eligible() -> None:
    agent = Agent(CONTEXTS, Last())
    assert agent.ask("p").arm == "arm2"
    assert agent.ask("q", among=["arm1"]).arm == "arm1"
    seed = next(s for s in range(50) if Agent(CONTEXTS, Coin(), seed=s).ask("p").arm == "arm2")
    with pytest.raises(InputError) as caught:
        Agent(CONTEXTS, Coin(), seed=seed).ask("p", among=["arm1"])
    assert str(caught.value) == (
        "coin: it chose 'arm2', which is not eligible, and not one of 'arm1'; a rule finds them in "
        "seen.among"
    )


def test_losses_are_against_the_best_that_is_eligible() -> None:
    agent = Agent(PROBLEM)
    reasons, p = agent.why(among=["arm3", "arm2"]), np.array([2, 1, 1]) / 4
    assert list(reasons.arms) == ["arm2", "arm3"]
    losses = [numbers["expected loss"] for numbers in reasons.arms.values()]
    assert losses == pytest.approx((p @ [[0.2, 0], [0, 0.2], [0.3, 0]]).tolist())


def test_numbers_of_the_rule_are_those_of_the_eligible_arms() -> None:
    reasons = Agent(PROBLEM, "thompson-theta").why(among=["arm3", "arm2"])
    drawn = {arm: numbers["probability of being drawn"] for arm, numbers in reasons.arms.items()}
    # arm2 is the better of the two under the second model alone.
    assert drawn == pytest.approx({"arm2": 0.25, "arm3": 0.75})
