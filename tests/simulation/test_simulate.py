"""Simulation: equal in law however it is done, and equal to the bit however it is spread out."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from reference import Known, twin
from scipy import stats

from fpbandits import (
    FPUCB,
    UCB1,
    InputError,
    Problem,
    Thompson,
    ThompsonTheta,
    load_problem,
    simulate,
)
from fpbandits.policies import POLICIES
from fpbandits.policies.base import Policy
from fpbandits.policies.ready import refusal
from fpbandits.simulation import workers
from fpbandits.simulation.cell import LONGEST_HORIZON

CASES = [
    ("paper:two", "theta1"),
    ("paper:two", "theta2"),
    ("paper:permutations", "0.6,0.4,0.3,0.2"),
    ("paper:grid", "0.6,0.4,0.3,0.2"),
    ("paper:grid", "0.4,0.3,0.2,0.2"),
]
LEAPING = [kind() for kind in POLICIES.values() if kind.leaps]


def differ(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p-value of a two-sample test on counts: χ² where few values occur, else K-S."""
    values, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    if len(values) > 40:
        return float(stats.ks_2samp(first, second).pvalue)
    common = values[counts >= 20]
    table = [
        [*(np.sum(sample == value) for value in common), np.sum(~np.isin(sample, common))]
        for sample in (first, second)
    ]
    columns = np.array(table)[:, np.sum(table, axis=0) > 0]
    return 1.0 if columns.shape[1] < 2 else float(stats.chi2_contingency(columns).pvalue)


@pytest.mark.parametrize("policy", LEAPING, ids=str)
def test_leaping_and_stepwise_have_one_law(policy: Policy) -> None:
    """Final pulls on the paper's problems and on random ones, default and exact leaps.

    Fixed seeds. 300 runs a side; two comparisons of each arm's pulls on 8 problems, some 50 tests
    a policy, each at level 1e-5: a false alarm in one of 1,000 choices of seeds.
    """
    generator = np.random.default_rng(3)
    problems: list[tuple[Problem, Any]] = [(load_problem(name), true) for name, true in CASES]
    for _ in range(3):
        count, arms = int(generator.integers(2, 20)), int(generator.integers(2, 5))
        means = generator.choice(np.linspace(0.1, 0.9, 9), (count, arms))
        problems.append((Problem.bernoulli(means), f"theta{generator.integers(1, count + 1)}"))
    tests, saved = 0, 0.0
    for problem, true in problems:
        common: Any = {"true": true, "horizon": 1500, "runs": 300, "times": [1500]}
        if refusal(policy, problem):
            continue
        steps = simulate(problem, policy, leap=False, seed=1, **common)
        for seed, exact in ((2, False), (3, True)):
            leaps = simulate(problem, policy, exact=exact, seed=seed, **common)
            saved += steps.plans[str(policy)].mean() - leaps.plans[str(policy)].mean()
            for arm in range(len(problem.arms)):
                one, other = (result.pulls[str(policy)][:, -1, arm] for result in (steps, leaps))
                assert differ(one, other) > 1e-5, (problem.means, true, arm, exact)
                tests += 1
    assert tests >= (8 if policy.name == "bpr" else 40)
    assert saved > 300


def test_thompson_sampling_leaps_in_law_further_on() -> None:
    """To T = 2·10⁴, where leaps are long. Seeds 1 and 2; 12 K-S tests, each at level 1e-5."""
    problem = load_problem("paper:permutations")
    for policy in (Thompson(), ThompsonTheta()):
        common: Any = {"horizon": 20_000, "runs": 500, "times": [1000, 5000]}
        steps = simulate(problem, policy, leap=False, seed=1, **common)
        leaps = simulate(problem, policy, seed=2, **common)
        assert leaps.plans[policy.name].mean() < 0.25 * steps.plans[policy.name].mean()
        for place in range(3):
            for arm in (1, 2):
                one, other = (result.pulls[policy.name][:, place, arm] for result in (steps, leaps))
                assert differ(one, other) > 1e-5


def test_discrete_and_beta_rewards_leap_too() -> None:
    """Seeds 1 and 2; two K-S tests, each at level 1e-4."""
    discrete = Problem.discrete(
        [[[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]], [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]], [0, 0.5, 1]
    )
    beta = Problem.beta([[0.6, 0.3], [0.6, 0.9]], concentration=4)
    for problem in (discrete, beta):
        common: Any = {"true": "theta1", "horizon": 2000, "runs": 400, "times": [2000]}
        steps = simulate(problem, FPUCB(), leap=False, seed=1, **common)
        leaps = simulate(problem, FPUCB(), seed=2, **common)
        assert leaps.plans["fp-ucb"].mean() < 0.5 * steps.plans["fp-ucb"].mean()
        pulls = (steps.pulls["fp-ucb"][:, -1, 1], leaps.pulls["fp-ucb"][:, -1, 1])
        assert differ(*pulls) > 1e-4


@pytest.mark.parametrize(("name", "policy"), [("fp-ucb", FPUCB()), ("ucb1", UCB1())])
def test_simulated_is_the_plain_rule(name: str, policy: Policy) -> None:
    """Mean pulls, compiled and in plain Python: 4 z-tests at 5 standard errors (2e-6 in all)."""
    problem = load_problem("paper:grid")
    means = problem.means.tolist()
    true = problem.index("0.4,0.3,0.2,0.2")
    generator = np.random.default_rng(4)
    counts = []
    for _ in range(60):
        player = twin(name)(Known(problem))
        pulls = np.zeros(4)
        arm = next(player)
        for _ in range(400):
            pulls[arm] += 1
            arm = player.send(float(generator.random() < means[true][arm]))
        counts.append(pulls)
    plain = np.array(counts)
    result = simulate(problem, policy, true="0.4,0.3,0.2,0.2", horizon=400, runs=2000, times=[400])
    ours = result.pulls[name][:, -1]
    error = np.sqrt(plain.var(axis=0, ddof=1) / 60 + ours.var(axis=0, ddof=1) / 2000) + 1e-9
    assert (np.abs(plain.mean(axis=0) - ours.mean(axis=0)) < 5 * error).all()


REGRETS: dict[str, list[float]] = {
    "fp-ucb": [7.5, 21, 188, 220, 443],
    "ucb1": [53, 70, 222, 220, 369],
    "thompson": [6.4, 12, 40, 41, 58],
}


def test_regret_at_1e5_is_that_of_independent_programs() -> None:
    """Numbers measured by other programs, in C and plain Python, with 60 to 200 runs of their own.

    They carry some 2 % of error, ours less: 10 % is five standard errors or more.
    """
    for place, (name, true) in enumerate(CASES):
        result = simulate(
            load_problem(name), [FPUCB(), UCB1(), Thompson()], true=true, runs=200, seed=5
        )
        for policy, figures in REGRETS.items():
            assert result.mean_regret(policy)[-1] == pytest.approx(figures[place], rel=0.1)


def test_results_do_not_depend_on_how_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("paper:permutations")
    policies = [FPUCB(), UCB1(), Thompson()]
    common: Any = {"horizon": 3000, "runs": 30, "seed": 7, "shuffle": True}
    reference = simulate(problem, policies, workers=1, **common)
    again = [
        simulate(problem, policies, workers=4, **common),
        simulate(problem, policies[::-1], **common),
        *(simulate(problem, policy, **common) for policy in policies),
        simulate(problem, policies, **(common | {"runs": 13})),
    ]
    with ThreadPoolExecutor(3) as threads:
        again.append(simulate(problem, policies, executor=threads, **common))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        again.append(simulate(problem, policies, executor=processes, **common))
    monkeypatch.setattr(workers, "SECONDS", 0.0)  # one run per batch
    again.append(simulate(problem, policies, **common))
    monkeypatch.setattr(workers, "_MOST_BYTES", 1)
    again.append(simulate(problem, policies, **common))
    for result in again:
        for name in result.policies:
            runs = result.runs
            assert np.array_equal(result.pulls[name], reference.pulls[name][:runs])
            assert np.array_equal(result.plans[name], reference.plans[name][:runs])
    other = simulate(problem, policies, **(common | {"seed": 8}))
    assert not np.array_equal(other.pulls["thompson"], reference.pulls["thompson"])


def test_recorded_times_do_not_change_the_law_and_count_right() -> None:
    problem = load_problem("paper:permutations")
    times = [1, 2, 3, 4, 5, 6, 7, 50, 51, 999, 1000]
    for policy in (FPUCB(), UCB1(), Thompson()):
        result = simulate(problem, policy, horizon=1000, runs=20, times=times[::-1])
        assert result.times.tolist() == times
        pulls = result.pulls[str(policy)]
        assert (pulls.sum(axis=2) == np.array(times)).all()
        assert (np.diff(pulls, axis=1) >= 0).all()
    # The first cycle plays each arm once, in order, whatever falls inside it.
    first = simulate(problem, FPUCB(), horizon=3, runs=1, times=[1, 2, 3]).pulls["fp-ucb"][0]
    assert first.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]


def test_shuffled_pulls_are_counted_under_the_arms_own_names() -> None:
    for policy in (FPUCB(), UCB1()):
        result = simulate(load_problem("paper:two"), policy, horizon=5000, runs=40, shuffle=True)
        pulls = result.pulls[str(policy)][:, -1]
        assert (pulls[:, 0] > 4500).all(), "the best arm, wherever it stood"


def test_default_times_are_spread_in_log_t() -> None:
    result = simulate(load_problem("paper:two"), horizon=10**12, runs=2)
    assert result.times[0] == 1
    assert result.times[-1] == 10**12
    assert 80 <= len(result.times) <= 101


def test_shuffling_moves_ties_but_not_names() -> None:
    """Two equal best arms: in order FP-UCB settles on the first, shuffled on either."""
    problem = Problem.bernoulli([[0.6, 0.6, 0.2], [0.3, 0.3, 0.5]])
    common: Any = {"true": "theta1", "horizon": 5000, "runs": 60, "times": [5000]}
    plain = simulate(problem, FPUCB(), **common).pulls["fp-ucb"][:, -1]
    assert (plain[:, 1] == 0).all()
    mixed = simulate(problem, FPUCB(), shuffle=True, **common).pulls["fp-ucb"][:, -1]
    assert (mixed.argmax(axis=1) == 0).sum() > 10
    assert (mixed.argmax(axis=1) == 1).sum() > 10
    assert (mixed[:, 2] < 2500).all()


def test_a_truth_outside_the_models() -> None:
    problem = load_problem("paper:two")
    result = simulate(problem, [FPUCB(), UCB1()], true=[0.5, 0.6], horizon=1000, runs=10)
    assert result.true == "0.5,0.6"
    assert result.gaps.tolist() == pytest.approx([0.1, 0])
    beta = Problem.beta([[0.5, 0.4]], 5)
    assert simulate(beta, true=[0.2, 0.3], horizon=100, runs=2).gaps.tolist() == pytest.approx(
        [0.1, 0]
    )
    discrete = Problem.discrete([[[0.5, 0.5]]], [0, 1])
    with pytest.raises(InputError, match="means alone do not make a discrete law"):
        simulate(discrete, true=[0.4])


def test_regret_is_in_the_users_units() -> None:
    unit = simulate(load_problem("paper:two"), FPUCB(), true="theta2", horizon=500, runs=5)
    scaled = Problem.bernoulli([[95, 75], [60, 75]], range=(50, 100))
    result = simulate(scaled, FPUCB(), true="theta2", horizon=500, runs=5)
    assert result.final_regret("fp-ucb").tolist() == pytest.approx(
        (50 * unit.final_regret("fp-ucb")).tolist()
    )


def test_far_horizons_take_few_leaps() -> None:
    """From 10³ to 10¹⁵ the leaps grow by a constant or so for each factor of ten."""
    problem = load_problem("paper:permutations")
    counts = [
        simulate(problem, FPUCB(), horizon=10**power, runs=30, times=[10**power])
        .plans["fp-ucb"]
        .mean()
        for power in (6, 9, 12, 15)
    ]
    assert counts[-1] < 400
    assert max(np.diff(counts)) < 40


def test_leaps_reach_far_where_no_model_fits() -> None:
    problem = Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]])
    result = simulate(problem, FPUCB(), true=[0.5, 0.45], horizon=10**9, runs=5)
    assert result.plans["fp-ucb"].max() < 500
    assert (result.pulls["fp-ucb"][:, -1] >= 4 * 10**8).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 0}, "horizon is 0: it must be at least 1"),
        ({"horizon": 10.5}, "horizon is 10.5: it must be a whole number"),
        ({"horizon": float("nan")}, "horizon is nan: it must be a whole number"),
        ({"horizon": "10"}, "horizon must be a whole number, not '10'"),
        ({"horizon": LONGEST_HORIZON + 2}, "2^53: beyond it the sum of an arm's rewards"),
        ({"runs": 0}, "runs is 0: it must be at least 1"),
        ({"runs": True}, "runs must be a whole number, not True"),
        ({"runs": 10**10}, "ask for fewer runs or times"),
        ({"seed": -1}, "seed is -1: it must be at least 0"),
        ({"seed": 0.5}, "seed is 0.5: it must be a whole number"),
        ({"executor": 4}, "expected an Executor of concurrent.futures, not 4"),
        ({"workers": 0}, "workers is 0: it must be at least 1"),
        ({"times": [0]}, "a time is 0: it must be at least 1"),
        ({"times": [200]}, "a time is 200: it must be at most 100, the horizon"),
        ({"true": "theta3"}, "unknown parameter 'theta3': did you mean 'theta"),
        ({"true": [0.5]}, "no value for arm 'arm2'"),
        ({"true": 0.5}, "true must be a parameter's name or a list of means, not 0.5"),
        ({"true": [0.5, 1.5]}, "mean 1.5 is outside the range"),
        ({"exact": True, "leap": False}, "exact=True says how to leap"),
        ({"policies": []}, "there are no policies to simulate"),
        ({"policies": [UCB1(), UCB1()]}, "policy 'ucb1' is given twice"),
        ({"horizon": 10**400}, "2^53: beyond it"),
        ({"times": 5}, "times must be a list of whole numbers, not 5"),
        ({"policies": UCB1}, "expected a policy such as FPUCB()"),
        ({"policies": {1: UCB1()}}, "a policy is named by a text, not 1"),
        ({"policies": ["ucb1"]}, "expected a policy such as FPUCB(), not 'ucb1'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(load_problem("paper:two"), **({"horizon": 100, "runs": 2} | arguments))
    assert message in str(caught.value)


def test_a_name_is_not_a_problem() -> None:
    with pytest.raises(InputError, match="expected a Problem, such as load_problem gives"):
        simulate("paper:two")  # type: ignore[arg-type]


def test_a_truth_beside_a_parameter_is_not_called_by_its_name() -> None:
    problem = load_problem("paper:permutations")
    result = simulate(problem, true=[0.6000001, 0.4, 0.3, 0.2], horizon=10, runs=1)
    assert result.true == "0.6000001,0.4,0.3,0.2"


def test_a_problem_without_a_truth_asks_for_one() -> None:
    with pytest.raises(InputError, match=r"name one of 'theta1', 'theta2'"):
        simulate(Problem.bernoulli([[0.1, 0.2], [0.3, 0.2]]))
