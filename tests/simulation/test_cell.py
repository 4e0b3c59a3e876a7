"""One cell: its times and its truth, orders of arms, leaps, runs together and alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from laws import differ
from memory import measured, resident
from numba import typeof

from fpbandits import (
    FPUCB,
    UCB1,
    InputError,
    Optimist,
    PlainPolicy,
    Problem,
    Thompson,
    ThompsonTheta,
    load_problem,
    simulate,
)
from fpbandits.engine.compiling import compile_for
from fpbandits.engine.contract import Ahead, Plan
from fpbandits.engine.policy import Contexts, Policy
from fpbandits.simulation import cell as cell_module
from fpbandits.simulation.cell import MANY, make_cell
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, new_progress
from fpbandits.simulation.spec import RunSpec


def test_discrete_and_beta_rewards_leap_too() -> None:
    """Seeds 1 and 2; two K-S tests, each at level 1e-4."""
    discrete = Problem.discrete(
        [[[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]], [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]], [0, 0.5, 1]
    )
    beta = Problem.beta([[0.6, 0.3], [0.6, 0.9]], concentration=4)
    for problem in (discrete, beta):
        common: Any = {"truth": "theta1", "horizon": 2000, "runs": 400, "times": [2000]}
        steps = simulate(problem, FPUCB(), leap=False, seed=1, **common)
        leaps = simulate(problem, FPUCB(), seed=2, **common)
        assert leaps.plans["fp-ucb"].mean() < 0.5 * steps.plans["fp-ucb"].mean()
        pulls = (steps.pulls["fp-ucb"][:, -1, 1], leaps.pulls["fp-ucb"][:, -1, 1])
        assert differ(*pulls) > 1e-4


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
    common: Any = {"truth": "theta1", "horizon": 5000, "runs": 60, "times": [5000]}
    plain = simulate(problem, FPUCB(), **common).pulls["fp-ucb"][:, -1]
    assert (plain[:, 1] == 0).all()
    mixed = simulate(problem, FPUCB(), shuffle=True, **common).pulls["fp-ucb"][:, -1]
    assert (mixed.argmax(axis=1) == 0).sum() > 10
    assert (mixed.argmax(axis=1) == 1).sum() > 10
    assert (mixed[:, 2] < 2500).all()


def test_a_truth_outside_the_models() -> None:
    problem = load_problem("paper:two")
    result = simulate(problem, [FPUCB(), UCB1()], truth=[0.5, 0.6], horizon=1000, runs=10)
    assert result.truth == "0.5,0.6"
    assert result.gaps.tolist() == pytest.approx([0.1, 0])
    beta = Problem.beta([[0.5, 0.4]], 5)
    assert simulate(beta, truth=[0.2, 0.3], horizon=100, runs=2).gaps.tolist() == pytest.approx(
        [0.1, 0]
    )
    discrete = Problem.discrete([[[0.5, 0.5]]], [0, 1])
    with pytest.raises(InputError, match="means alone do not make a discrete law"):
        simulate(discrete, truth=[0.4])


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
    result = simulate(problem, FPUCB(), truth=[0.5, 0.45], horizon=10**9, runs=5)
    assert result.plans["fp-ucb"].max() < 500
    assert (result.pulls["fp-ucb"][:, -1] >= 4 * 10**8).all()


def test_a_truth_beside_a_model_is_not_called_by_its_name() -> None:
    problem = load_problem("paper:permutations")
    result = simulate(problem, truth=[0.6000001, 0.4, 0.3, 0.2], horizon=10, runs=1)
    assert result.truth == "0.6000001,0.4,0.3,0.2"


def test_a_problem_without_a_truth_draws_it_from_the_prior() -> None:
    problem = Problem.bernoulli([[0.1, 0.2], [0.3, 0.2]])
    asked: dict[str, Any] = {"policies": "ucb1", "horizon": 50, "runs": 4}
    given, drawn = simulate(problem, truth="prior", **asked), simulate(problem, **asked)
    assert drawn.truth == given.truth == "prior"
    assert (drawn.pulls["ucb1"] == given.pulls["ucb1"]).all()


SHOP = Problem.bernoulli(
    [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.3, 0.6]]], contexts=["mobile", "desktop"]
)
NORMAL = Problem.gaussian([[0.9, 0.5], [0.2, 0.5]], deviation=0.5)
WEIGHED = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], prior={"theta1": 3})
SEVERAL: dict[str, tuple[Problem, dict[str, Any], bool]] = {
    "one truth": (load_problem("paper:two"), {"truth": "theta2"}, True),
    "normal": (NORMAL, {"truth": "theta2"}, True),
    "stages": (NORMAL, {"truth": {0: "theta1", 60: "theta2"}}, True),
    "contexts": (SHOP, {"truth": "theta2"}, True),
    "contexts, stages": (SHOP, {"truth": {0: "theta1", 60: "theta2"}}, True),
    "in any order": (load_problem("paper:two"), {"truth": "theta2", "shuffle": True}, False),
    "a drawn truth": (WEIGHED, {"truth": "prior"}, False),
}
"""Problems and options, and whether all runs give the compiled loop arguments of the same types."""


@pytest.mark.parametrize("name", SEVERAL)
def test_runs_together_are_the_runs_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit; together they find their machine code once, where their types are alike."""
    problem, options, alike = SEVERAL[name]
    found: list[Any] = []

    def compile_once(policy: Policy, function: Any, arguments: tuple[Any, ...]) -> Any:
        found.append([typeof(argument) for argument in arguments])
        code = compile_for(policy, function, arguments)

        def call(*given: Any) -> Any:
            assert [typeof(argument) for argument in given] == found[0]
            return code(*given)

        return call

    monkeypatch.setattr(cell_module, "compile_for", compile_once)
    for policy in (Optimist(), ThompsonTheta()):
        found.clear()
        spec = RunSpec(horizon=150, runs=MANY, times=[10, 150], **options)
        cell = make_cell(problem, policy, spec)
        alone = [cell.play(range(run, run + 1), new_progress()) for run in range(MANY)]
        assert found == []
        pulls, plans = cell.play(range(MANY), new_progress())
        assert len(found) == alike
        np.testing.assert_array_equal(pulls, np.concatenate([each for each, _ in alone]))
        np.testing.assert_array_equal(plans, np.concatenate([each for _, each in alone]))


def test_a_cell_says_how_far_it_is_and_ends_when_told() -> None:
    cell = make_cell(load_problem("paper:two"), UCB1(), RunSpec(horizon=50, times=[7], runs=9))
    progress = new_progress()
    pulls, plans = cell.play(range(2, 6), progress)
    assert (pulls.shape, plans.shape) == ((4, 2, 2), (4,))
    assert (progress[RUNS], progress[TIME], progress[END]) == (4, 0, 50)
    after, _ = cell.play(range(2, 6), progress, deadline=-math.inf)
    assert np.array_equal(after, pulls[:1]), "one run, however late it is"
    assert progress[RUNS] == 5
    progress[STOP] = 1
    for policy in (UCB1(), Halting()):
        stopped = make_cell(load_problem("paper:two"), policy, RunSpec(horizon=500, runs=9))
        pulls, plans = stopped.play(range(3), progress)
        assert (len(pulls), len(plans)) == (0, 0)
    assert progress[RUNS] == 5


class Halting(PlainPolicy):
    name = "halting"

    def choose(self, seen: Any, random: Any) -> int:
        return 0


THIRDS = Problem.discrete([[[0.2, 0.3, 0.5], [0.3, 0.4, 0.3]]] * 2, support=[0, 0.5, 1])
BETA = Problem.beta([[0.9, 0.5], [0.2, 0.5]], 4)
AT_ONCE = 2**53
REACHES: dict[str, tuple[Problem, Policy, dict[str, Any], int]] = {
    "all at once": (load_problem("paper:two"), FPUCB(), {}, AT_ONCE),
    "the worst case, too": (load_problem("paper:two"), FPUCB(), {"worst_case": True}, AT_ONCE),
    "step by step": (load_problem("paper:two"), FPUCB(), {"leap": False}, 1),
    "contexts": (SHOP, UCB1(), {}, 1),
    "one context": (
        Problem.bernoulli([[[0.9, 0.5]], [[0.4, 0.5]]], contexts=["all"]),
        UCB1(),
        {},
        AT_ONCE,
    ),
    "drawn one by one": (BETA, FPUCB(), {}, 10**6),
    "normal": (NORMAL, FPUCB(), {}, AT_ONCE),
    "unbounded in the worst case": (NORMAL, FPUCB(), {"worst_case": True}, 1),
    "a policy that looks at laws": (THIRDS, Optimist(), {}, AT_ONCE),
    "and whose statistics may stray": (BETA, Optimist(), {}, 1),
}
"""A problem, a policy and options, and the most plays that a plan may be for."""


@pytest.mark.parametrize("name", REACHES)
def test_how_far_a_plan_may_reach(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, policy, options, longest = REACHES[name]
    assert Optimist().looks_at_laws
    assert not BETA.rewards.statistics_stay_near
    given: list[Any] = []

    def loop(*arguments: Any) -> int:
        given.extend(arguments)
        return 1

    monkeypatch.setattr(cell_module, "play", loop)
    spec = RunSpec(horizon=10, runs=1, truth=problem.models[0], **options)
    make_cell(problem, policy, spec).play(range(1), new_progress())
    assert given[10] == longest
    spread = given[3].spread
    # The rewards leave the envelope with probability 2 exp(−2 spread).
    stray = 0 if "worst_case" in options else 1e-18
    assert 2 * math.exp(-2 * spread) == pytest.approx(stray, rel=1e-9, abs=0)
    assert given[3].bounded == (problem is not NORMAL)
    assert given[3].means.tolist() == problem.rewards.unit_means[0].tolist()
    assert given[3].expected.tolist() == problem.rewards.expected(0).tolist()
    assert given[11].tolist() == ([0.5, 1.0] if problem is SHOP else [1.0])
    assert given[12] == (problem is SHOP), "UCB1 plays each context as a bandit of its own"


def test_each_stage_has_its_envelope(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of all stages one after another, and a copy of the first, which may be changed."""
    given: list[Any] = []

    def loop(*arguments: Any) -> int:
        given.extend(arguments)
        return 1

    monkeypatch.setattr(cell_module, "play", loop)
    spec = RunSpec(horizon=90, truth={0: "theta2", 60: "theta1"}, runs=1)
    make_cell(NORMAL, FPUCB(), spec).play(range(1), new_progress())
    now, starts, rows, stages = given[3], given[7], given[8], given[9]
    unit = NORMAL.rewards.unit_means
    assert (starts.tolist(), rows.tolist()) == ([0, 60], [0, 1])
    assert stages.means.tolist() == [*unit[1], *unit[0]]
    assert now.means.tolist() == unit[1].tolist()
    expected = NORMAL.rewards.expected
    assert stages.expected.tolist() == [*expected(1).tolist(), *expected(0).tolist()]
    assert now.expected.tolist() == expected(1).tolist()
    assert not np.shares_memory(now.means, stages.means)
    moving = Problem.bernoulli(
        [[0.9, 0.5], [0.2, 0.5], [0.3, 0.1]], transitions=[[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    )
    given.clear()
    spec = RunSpec(horizon=4, truth="theta3", runs=1)
    make_cell(moving, ThompsonTheta(), spec).play(range(1), new_progress())
    assert (given[7].tolist(), given[8].tolist()) == ([0, 1, 2, 3], [2, 0, 1, 2])
    assert given[3].means.tolist() == [0.3, 0.1]


class HalfWritten(NamedTuple):
    arms: int


class Half(Policy):
    name = "half"
    contexts = Contexts.TOGETHER

    def prepare(self, problem: Problem) -> HalfWritten:
        return HalfWritten(len(problem.arms))

    @staticmethod
    def plan(prepared: Any, state: Any, workspace: Any, ahead: Ahead, random: Any) -> Plan:
        workspace.cycle[0] = prepared.nothing_of_the_kind
        return 1, 1


@pytest.mark.parametrize("runs", [1, MANY])
@pytest.mark.parametrize("problem", [SHOP, WEIGHED], ids=["contexts", "none"])
def test_what_cannot_be_compiled_is_said_in_a_line(problem: Problem, runs: int) -> None:
    cell = make_cell(problem, Half(), RunSpec(truth="theta1", horizon=10, runs=runs))
    with pytest.raises(InputError, match=r"half: its rule cannot be compiled: .*PlainPolicy") as no:
        cell.play(range(runs), new_progress())
    assert len(str(no.value).splitlines()) == 1


PLAYED = """
from fpbandits import FPUCB, load_problem, simulate
def work(runs):
    simulate(load_problem("paper:two"), FPUCB(), horizon=100, times=[100], runs=runs, workers=1)
"""


@measured
def test_memory_does_not_grow_with_runs() -> None:
    before, after = resident(PLAYED, 1_000, 20_000)
    assert after - before < 10


@measured
@pytest.mark.nightly
def test_memory_does_not_grow_with_a_million_runs() -> None:
    before, after = resident(PLAYED, 10**5, 10**6)
    of_the_result = 10**6 * (2 + 1) * 8 / 2**20  # pulls of two arms, and plans
    assert after <= 1.3 * before + of_the_result
