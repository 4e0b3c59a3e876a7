"""The optimist: what stays plausible, what that costs, and what it does when no model fits.

Its mean regret where it is heavy-tailed comes from ``benchmarks/exact_two.py``, which is held here
against every sequence of rewards and against simulation.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import product
from typing import Any

import numpy as np
import pytest
import reference
from exact_two import growth, mean_regret
from moments import Make, Moment, assert_certain_as, moment, moments, normal_problem, small_problem

from fpbandits import FPUCB, Agent, Optimist, Problem, load_problem, simulate
from fpbandits.engine.contract import CLOCK, MISFITS, OWN, Envelope
from fpbandits.policies import IMED
from fpbandits.policies.shared.giving_up import keeps_fitting
from fpbandits.policies.shared.likelihood import bracket
from fpbandits.theory.structure import Structure

WRONG = Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]])


def test_without_the_option_misfits_are_counted_and_nothing_is_given_up() -> None:
    agent = Agent(WRONG, Optimist())
    for _ in range(400):
        agent.tell(agent.ask().id, 0.5)
    assert agent.misfits > 0
    assert agent._seen.counters[OWN] == 0


@pytest.mark.parametrize("false_alarm", [0.37, 0.001])
def test_an_alarm_gives_up_the_models_for_good_and_goes_on_with_imed(false_alarm: float) -> None:
    agent, blind = Agent(WRONG, Optimist(false_alarm=false_alarm)), Agent(WRONG, IMED())
    generator = np.random.default_rng(3)
    before = after = 0
    for _ in range(600):
        given_up = agent._seen.counters[OWN] == 1
        decision = agent.ask()
        if given_up:
            assert decision.arm == blind.ask().arm
            after += 1
        else:
            before += 1
        reward = float(generator.random() < (0.5 if decision.arm == "arm1" else 0.45))
        agent.tell(decision.id, reward)
        blind.observe(decision.arm, reward)
    assert before > 5
    assert after > 100
    # The plan that raised the alarm is the first that is counted.
    assert agent._seen.counters[MISFITS] >= after


def test_a_model_that_fits_is_not_given_up() -> None:
    """Seed 1; 50 agents, each of which raises a false alarm with a chance below e^−7."""
    generator = np.random.default_rng(1)
    for _ in range(50):
        agent = Agent(WRONG, Optimist(false_alarm=0.001))
        for _ in range(100):
            decision = agent.ask()
            chance = 0.1 if decision.arm == "arm1" else 0.9
            agent.tell(decision.id, float(generator.random() < chance))
        assert agent._seen.counters[OWN] == agent.misfits == 0


@pytest.mark.parametrize(("delta", "offset"), [(0.0, 0.0), (0.1, 0.7), (0.05, 0.0), (1.0, 0.3)])
def test_the_exact_mean_is_that_over_all_sequences_of_rewards(delta: float, offset: float) -> None:
    """Both arms' rewards, 2^11 sequences, each played by the plain twin."""
    problem, horizon = load_problem("paper:two"), 11
    expected = 0.0
    for rewards in product((0.0, 1.0), repeat=horizon):
        player = reference.optimist(reference.Known(problem), delta, offset)
        arm, chance, wrong = next(player), 1.0, 0
        for reward in rewards:
            wrong += arm == 1
            mean = (0.9, 0.5)[arm]
            chance *= mean if reward else 1 - mean
            arm = player.send(reward)
        expected += 0.4 * wrong * chance
    assert expected > 0.01
    assert mean_regret(horizon, delta, offset) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("delta", "offset", "horizon"), [(2.0, 0.0, 10**6), (0.1, 0.7, 50), (0.0, 0.0, 50)]
)
def test_the_exact_mean_is_that_of_many_runs(delta: float, offset: float, horizon: int) -> None:
    """Where variance is finite. 10,000 runs, seed 1, 4 standard errors: one alarm in 15,000."""
    policy = Optimist(delta=delta, offset=offset)
    result = simulate(
        "paper:two", {"it": policy}, truth="theta1", horizon=horizon, runs=10_000, seed=1
    )
    regret = result.final_regret("it")
    error = regret.std(ddof=1) / 100
    assert error < 0.03
    assert regret.mean() == pytest.approx(mean_regret(horizon, delta, offset), abs=4 * error)


def test_means_of_the_table_where_luck_decides_simulations() -> None:
    """The values of docs/optimist.md; and what they say of its rows."""
    at = {
        (delta, offset): [mean_regret(T, delta, offset) for T in (1e5, 1e12, math.inf)]
        for delta, offset in ((0.05, 0.0), (0.1, 0.7), (0.1, 1.2))
    }
    assert at[0.05, 0.0] == pytest.approx([1.458, 2.560, 3.449], abs=6e-4)
    assert at[0.1, 0.7] == pytest.approx([0.584, 0.806, 0.862], abs=6e-4)
    assert at[0.1, 1.2] == pytest.approx([0.370, 0.505, 0.538], abs=6e-4)
    assert mean_regret(math.inf, 0.0, 0.0) == math.inf
    # With δ = 0, each further factor of 10^6 costs the same: far out, growth is what it is said to
    # be, and with δ > 0 the limit is where ever larger horizons lead.
    further = mean_regret(1e15, 0.0, 0.0) - mean_regret(1e9, 0.0, 0.0)
    assert further == pytest.approx(growth(0.0) * math.log(1e6), rel=1e-3)
    assert mean_regret(math.inf, 1.0, 0.7) == pytest.approx(mean_regret(1e15, 1.0, 0.7), rel=1e-9)


def test_no_alarm_can_help_where_a_wrong_model_fits_all_that_is_played() -> None:
    """Truth (.5, .6): arm 1 pays what the first model says, and arm 2 would give it away."""
    problem = Problem.bernoulli([[0.5, 0.4], [0.3, 0.45]])
    policies = {"careful": Optimist(false_alarm=0.001), "imed": IMED()}
    result = simulate(
        problem, policies, truth=[0.5, 0.6], horizon=10**6, runs=50, times=[10**5, 10**6]
    )
    early, late = result.mean_regret("careful")
    assert early > 9000  # of 10,000 that can be lost
    assert late > 9 * early
    assert result.mean_regret("imed")[-1] < 100


TIED = Problem.bernoulli([[0.5, 0.5, 0.1], [0.3, 0.5, 0.7], [0.2, 0.5, 0.1]])


def test_with_two_best_arms_regret_can_grow_where_that_of_fp_ucb_does_not() -> None:
    """Seed 0. FP-UCB's truth is ruled out beyond 10^6 with a chance far below one in a million."""
    times = [10**6, 10**9, 10**12]
    result = simulate(
        TIED, [FPUCB(), Optimist()], truth=TIED.models[0], horizon=10**12, runs=200, times=times
    )
    assert len(Structure(TIED).confusion_set(0)) == 0
    assert np.ptp(result.mean_regret("fp-ucb")) < 0.1
    grown = np.diff(result.mean_regret("optimist"))
    assert grown.min() > 3  # 3.8 ± 0.12
    assert grown.max() < 4.6


def test_with_one_best_arm_and_nothing_to_confuse_it_with_regret_stays() -> None:
    """Random problems. By the theorem a run loses anything after 10^7 plays with a chance of some
    |Θ|·e^{−c(10^7)} = 1e-7: in these 400 runs, once in 10,000 seeds.
    """
    generator = np.random.default_rng(7)
    found = 0
    while found < 20:
        means = generator.integers(1, 10, (6, 3)) / 10
        problem = Problem.bernoulli(np.unique(means, axis=0))
        structure = Structure(problem)
        if len(structure.confusion_set(0)) or (structure.gaps(0) == 0).sum() > 1:
            continue
        found += 1
        result = simulate(
            problem,
            Optimist(),
            truth=problem.models[0],
            horizon=10**12,
            runs=20,
            times=[10**7, 10**12],
            shuffle=True,
        )
        early, late = result.mean_regret("optimist")
        assert early == late


@pytest.mark.parametrize("make", [small_problem, normal_problem])
@pytest.mark.parametrize("options", [{}, {"false_alarm": 0.4}, {"delta": 0.5, "offset": 2.0}])
def test_a_plan_is_certain_as_its_docstring_says(options: dict[str, Any], make: Make) -> None:
    """By limits of deficits: what may be plausible, what surely is, and what wins ties."""
    policy = Optimist(**options)

    def stays(one: Moment, more: int, by: float) -> bool:
        theta, fit, played = one.prepared.theta, one.workspace.fit, one.cycle[0]
        bracket(theta, one.envelope, fit, np.array(one.cycle), 1, more)
        now, end = ((1 + policy.delta) * math.log(t) + policy.offset for t in (one.t, one.t + more))
        models, least = one.unit_means, min(fit.lowest.min(), 0.0)
        plausible = fit.deficit <= now + 1e-9
        top = models.max(axis=1)
        promised = top[plausible].max()
        may_be = (fit.lowest <= end - by) & (top >= promised - 1e-9)
        is_best = models >= top[:, None] - 1e-9
        if (top[may_be] > promised + 1e-9).any() or not is_best[may_be, played].all():
            return False
        fits = may_be & (fit.highest - least <= now + by)
        # Of e⁻²⁰ of the likelihood and more: less may count as a tie with an earlier arm.
        large = fits & (fit.highest - least + math.log(len(models)) < 20 + by)
        alarm = -math.log(policy.false_alarm) if policy.false_alarm else 0.0
        best = fit.reference[0]
        return bool(
            fits.any()
            and all((~is_best[large, arm]).any() for arm in range(played))
            and (
                alarm == 0
                or keeps_fitting(theta, alarm, one.state, best, one.envelope, played, more)
            )
        )

    assert_certain_as(stays, (one for one in moments(policy, 200, make) if not given_up(one)))


def given_up(one: Moment) -> bool:
    return bool(one.state.counters[OWN] == 1)


def test_a_model_that_promises_more_is_believed_up_to_the_threshold() -> None:
    """(1 + δ) ln t + b, and a billionth: arm 1 tells the two apart."""
    problem = Problem.bernoulli([[0.6, 0.1], [0.3, 0.9]])
    deficit = 60 * math.log(0.6 / 0.3) + 40 * math.log(0.4 / 0.7)
    for by, arm in ((-0.5e-9, 1), (0.5e-9, 1), (2e-9, 0)):
        policy = Optimist(delta=1.0, offset=deficit - 2 * math.log(100) - by)
        state = policy.new_state(problem)
        state.plays[0], state.sums[0], state.counters[CLOCK] = 100, 60, 100
        assert moment(policy, problem, state, Envelope(np.zeros(2), 0.5)).cycle == [arm]


def test_with_a_change_rate_the_threshold_stops_growing() -> None:
    """At t = 1/√r = 10: 1.1 ln 10 + .7 = 3.233. The prior keeps the likelier model believed.

    Beliefs after no reward are the prior, whatever the clock says.
    """
    for weight, arm in ((3.2, 1), (3.3, 0)):
        prior = {"theta1": 1.0, "theta2": math.exp(-weight)}
        problem = Problem.bernoulli([[0.6, 0.1], [0.6, 0.9]], prior=prior)
        policy = Optimist(change_rate=0.01)
        state = policy.new_state(problem)
        state.counters[CLOCK] = 10**6
        assert moment(policy, problem, state, Envelope(np.zeros(2), 0.5)).cycle == [arm]


def test_among_some_arms_it_believes_the_model_that_promises_most_of_these() -> None:
    agent = Agent(Problem.bernoulli([[0.6, 0.1, 0.2, 0.2], [0.3, 0.1, 0.3, 0.9]]), Optimist())
    assert agent.why().arm == "arm4"
    assert agent.why(among=["arm1", "arm2", "arm3"]).arm == "arm1"
    assert agent.why(among=["arm2", "arm3"]).arm == "arm3"
    assert agent.why(among=["arm2"]).arm == "arm2"


def gamma_tail(x: float, arms: int) -> float:
    """e^{−x} Σ_{j < arms} x^j/j!, the bound of docs/optimist.md for late rewards."""
    return math.exp(-x) * sum(x**j / math.factorial(j) for j in range(arms))


@pytest.mark.parametrize("arms", [1, 2, 4])
def test_prefixes_that_someone_chooses_stay_within_the_bound_for_late_rewards(arms: int) -> None:
    """Whoever delays rewards may stop each arm where it speaks against the truth most.

    Means ½ under the truth and ¾ under the other model, 40,000 runs of 200 rewards per arm, seed 2.
    The nearest bound is 4 standard errors away. That the bound for one sequence, e^{−x}, does not
    hold for several is seen with 20 to spare.
    """
    generator, runs, x = np.random.default_rng(2), 40_000, 4.0
    most = np.zeros(runs)
    for _ in range(arms):
        walk, highest = np.zeros(runs), np.zeros(runs)
        for _ in range(200):
            walk += np.where(generator.random(runs) < 0.5, math.log(1.5), math.log(0.5))
            np.maximum(highest, walk, out=highest)
        most += highest
    share = (most >= x).mean()
    assert share <= gamma_tail(x, arms)
    assert (share > 1.5 * math.exp(-x)) == (arms > 1)


@pytest.mark.parametrize("slow", [0.0, 1.0])
def test_rewards_that_are_late_for_what_they_are_do_not_keep_it_from_the_best_arm(
    slow: float,
) -> None:
    """Failures, or successes, are told 12 decisions late; seeds 0 … 9.

    After 500 decisions any wrong play has a chance of some |Θ|·G(c(500)) = 0.1 by the bound, which
    is lax: of these 20 agents none makes one.
    """
    problem = load_problem("paper:permutations")
    for seed in range(10):
        generator, agent = np.random.default_rng(seed), Agent(problem)
        out: deque[tuple[int, int, float]] = deque()
        for t in range(800):
            while out and out[0][0] == t:
                _, number, reward = out.popleft()
                agent.tell(number, reward)
            decision = agent.ask()
            arm = problem.arms.index(decision.arm)
            assert t < 500 or arm == 0
            reward = float(generator.random() < problem.means[0, arm])
            if reward == slow:
                out.append((t + 12, decision.id, reward))
            else:
                agent.tell(decision.id, reward)
