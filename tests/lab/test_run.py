from __future__ import annotations

import numpy as np
import pytest

from fpbandits.agent.agent import Agent
from fpbandits.errors import InputError
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.run import MOST_STEPS, RulingOut, Run, describe
from fpbandits.problem.problem import Problem

TWO = EXAMPLES["paper:two"].make()


def test_a_run_is_an_agent_that_is_told_at_once() -> None:
    run = Run(TWO, "fp-ucb", "theta1", seed=5)
    assert (run.why.arm, run.why.policy) == (run.suggestion.arm, "fp-ucb")
    steps = [run.play() for _ in range(60)]
    agent = Agent(TWO, "fp-ucb", seed=5)
    for step in steps:
        decision = agent.ask()
        assert decision.arm == step.arm == step.suggested
        agent.tell(decision, step.reward)
    agent.ask()  # as the run has done by now, to know what comes next
    assert agent.plausible() == run.agent.plausible()
    assert run.regret == pytest.approx(0.4 * sum(step.arm == "arm2" for step in steps))
    assert dict(zip(TWO.arms, run.plays.tolist(), strict=True)) == agent.plays


def test_your_plays_count_and_the_suggestion_is_kept() -> None:
    run = Run(TWO, "fp-ucb", "theta1", 0)
    for arm in ("arm2", "arm2", "arm1"):
        expected = run.suggestion.arm
        step = run.play(arm)
        assert (step.arm, step.suggested, step.is_yours) == (arm, expected, arm != expected)
    assert run.agent.plays == {"arm1": 1, "arm2": 2}
    assert not run.agent.blocked
    with pytest.raises(InputError, match="unknown arm 'arm9'"):
        run.play("arm9")
    assert run.t == 3


def test_the_nth_play_of_an_arm_pays_the_same_whoever_plays() -> None:
    first, second = Run(TWO, "ucb1", "theta1", 7), Run(TWO, "fp-ucb", "theta1", 7)
    ones = [first.play("arm1").reward for _ in range(20)]
    for _ in range(20):
        second.play("arm2")
    assert [second.play("arm1").reward for _ in range(20)] == ones


@pytest.mark.parametrize("name", ["pricing", "cold start", "doses", "trial"])
def test_rewards_have_the_truths_means(name: str) -> None:
    problem = EXAMPLES[name].make()
    truth = problem.models[0]
    run = Run(problem, "ucb1", truth, seed=1)
    for arm in problem.arms:
        for _ in range(400):
            run.play(arm)
    seen = run.plays > 0
    means = problem.rewards.means[0]
    error = np.abs(run.sums[seen] / run.plays[seen] - means[seen])
    # Six standard errors of at most half the range, or of the deviation: 2e-9 per pair.
    spread = problem.rewards.width / 2
    assert (error < 6 * spread / np.sqrt(run.plays[seen])).all()
    assert len(run.steps) == MOST_STEPS


def test_contexts_come_by_their_shares() -> None:
    problem = EXAMPLES["cold start"].make()
    run = Run(problem, "ucb1", "fan", 0)
    mornings = sum(run.play().context == "morning" for _ in range(1000))
    assert abs(mornings - 400) < 6 * np.sqrt(240)  # fails once in 10^9 seeds


@pytest.mark.parametrize(("name", "policy"), [("paper:two", "fp-ucb"), ("pricing", "frugal")])
def test_what_is_said_to_rule_a_model_out_does_and_less_does_not(name: str, policy: str) -> None:
    problem = EXAMPLES[name].make()
    run = Run(problem, policy, problem.models[0], seed=2)
    checked = 0
    for _ in range(12):
        run.play()
        model, ruling_out = run.next_ruled_out() or ("", None)
        if ruling_out is None:
            continue
        assert model == list(run.agent.plausible())[-1]
        agent = Agent.from_state(run.agent.state(), problem)
        for rewards in range(1, ruling_out.rewards + 1):
            assert model in agent.plausible()
            agent.observe(ruling_out.pair, ruling_out.reward)
            assert (model in agent.plausible()) == (rewards < ruling_out.rewards)
        checked += 1
    assert checked > 2


def test_how_models_stand_is_described() -> None:
    run = Run(TWO, "fp-ucb", "theta1", 0)
    for _ in range(6):
        run.play()
    assert describe(run).startswith("2 models of 2 left. Next to go is theta2: ")
    for _ in range(400):
        run.play()
    assert describe(run) == "Only theta1 is left."
    assert describe(Run(TWO, "ucb1", "theta1", 0)).startswith("2 models of 2 left.")


def test_a_truth_must_be_a_model() -> None:
    with pytest.raises(InputError, match="unknown model 'theta9'"):
        Run(TWO, "ucb1", "theta9", 0)


def test_a_run_begins_with_nothing() -> None:
    run = Run(TWO, "ucb1", "theta1", 0)
    assert (run.t, run.regret, list(run.steps), run.context) == (0, 0.0, [], None)
    assert run.plays.tolist() == run.sums.tolist() == [0, 0]


@pytest.mark.parametrize("name", ["pricing", "cold start", "rate adaptation"])
def test_plays_sums_and_regret_are_those_of_its_steps(name: str) -> None:
    """The regret is what the best arm of each context would have earned more, on average."""
    problem = EXAMPLES[name].make()
    run = Run(problem, "ucb1", problem.models[1], 3)
    for arm in (*problem.arms, *problem.arms[1:], None, None):
        run.play(arm)
    arms, contexts = problem.arms, problem.contexts or (None,)
    means = problem.rewards.means[1].reshape(len(contexts), len(arms))
    plays, sums, regret = np.zeros(means.shape), np.zeros(means.shape), 0.0
    for t, step in enumerate(run.steps, 1):
        place = contexts.index(step.context), arms.index(step.arm)
        plays[place] += 1
        sums[place] += step.reward
        regret += means[place[0]].max() - means[place]
        assert step.t == t
    assert run.t == 2 * len(arms) + 1
    assert run.plays.tolist() == plays.ravel().tolist()
    assert run.sums == pytest.approx(sums.ravel())
    assert run.regret == pytest.approx(regret)


def fewest_to_rule_out(run: Run, model: str) -> int | None:
    """Try each pair, and the smallest and the largest reward, up to 32 times each."""
    found = []
    for pair, extremes in enumerate(run._extremes):
        context, arm = divmod(pair, len(run.problem.arms))
        name = run.problem.contexts[context] if run.problem.contexts else None
        for reward in extremes:
            agent = Agent.from_state(run.agent.state(), run.problem)
            for rewards in range(1, 33):
                agent.observe(run.problem.arms[arm], reward, name)
                if model not in agent.plausible():
                    found.append(rewards)
                    break
    return min(found, default=None)


@pytest.mark.filterwarnings("ignore")  # rewards that look odd
@pytest.mark.parametrize("seed", range(6))
def test_no_fewer_rewards_rule_a_model_out(seed: int) -> None:
    random = np.random.default_rng(seed)
    for contexts in ((), ("x", "y")):
        shape = (3, len(contexts) or 1, 3)
        means = random.integers(1, 20, shape) / 20
        table = means if contexts else means[:, 0]
        problem = Problem.bernoulli(table, contexts=list(contexts) or None)
        run = Run(problem, "frugal", "theta1", seed)
        for _ in range(2):
            run.play()
        model, ruling_out = run.next_ruled_out() or ("", None)
        if not model:
            continue
        assert model == list(run.agent.plausible())[-1]
        found = None if ruling_out is None else ruling_out.rewards
        assert found == fewest_to_rule_out(run, model)


def test_arms_that_differ_most_are_tried() -> None:
    """Of 30 arms, only the last one tells the models apart."""
    means = [[0.9] * 29 + [0.2], [0.9] * 29 + [0.1]]
    problem = Problem.gaussian(means, 0.05)
    found = Run(problem, "frugal", "theta1", 0).next_ruled_out()
    assert found is not None
    assert found[1] is not None
    assert found[1].pair == "arm30"


@pytest.mark.parametrize(
    ("ruling_out", "words"),
    [
        (RulingOut("12 EUR", 1.23456, 1), "a reward of 1.235 from 12 EUR would rule it out"),
        (
            RulingOut("a", 0.0, 2),
            "2 rewards in a row of 0 from a would rule it out",
        ),
    ],
)
def test_what_would_rule_a_model_out_in_words(ruling_out: RulingOut, words: str) -> None:
    assert str(ruling_out) == words


def test_models_that_stay_or_have_gone_are_described() -> None:
    same = Run(Problem.bernoulli([[1.0, 1.0], [1.0, 1.0]]), "ucb1", "theta1", 0)
    assert describe(same) == (
        "2 models of 2 left. Next to go is theta2, but no 32 equal rewards of a single arm would "
        "rule it out."
    )
    gone = Run(Problem.bernoulli([[1.0, 0.4]]), "fp-ucb", "theta1", 0)
    assert describe(gone) == "Only theta1 is left."
    gone.agent.observe("arm1", 0.0)
    assert describe(gone) == "No model fits any more."
