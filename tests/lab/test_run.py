from __future__ import annotations

import numpy as np
import pytest

from fpbandits.agent.agent import Agent
from fpbandits.errors import InputError
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.run import MOST_STEPS, Run, describe

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
    run = Run(TWO, "fp-ucb", "theta1")
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
    run = Run(problem, "ucb1", "fan")
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
    run = Run(TWO, "fp-ucb", "theta1")
    for _ in range(6):
        run.play()
    assert describe(run).startswith("2 models of 2 left. Next to go is theta2: ")
    for _ in range(400):
        run.play()
    assert describe(run) == "Only theta1 is left."
    assert describe(Run(TWO, "ucb1", "theta1")).startswith("2 models of 2 left.")


def test_a_truth_must_be_a_model() -> None:
    with pytest.raises(InputError, match="unknown model 'theta9'"):
        Run(TWO, "ucb1", "theta9")
