"""Experiments are run once, found again, and never taken for another."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, InputError, Problem
from fpbandits.core.streams import REWARDS, random_stream
from fpbandits.errors import ConflictError
from fpbandits.paper import experiments
from fpbandits.paper.experiments import (
    COUNTEREXAMPLES,
    EXPERIMENTS,
    PAPER,
    RUNS,
    SETTINGS,
    Experiment,
    find_experiments,
    play_episodes,
    run_experiments,
)
from fpbandits.simulation.simulate import simulate


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave two short experiments."""
    chosen = [
        Experiment(SETTINGS["two-1"], FPUCB(), "near", 1000),
        Experiment(SETTINGS["two-2"], UCB1(), "far", 1000, share=0.5),
    ]
    monkeypatch.setattr(experiments, "EXPERIMENTS", {each.name: each for each in chosen})


def test_the_papers_experiments_are_all_here() -> None:
    """The three sets of models, the five truths, and policies of every figure of the paper."""
    assert [len(setting.problem.models) for setting in PAPER] == [2, 2, 24, 256, 256]
    for setting in PAPER:
        assert f"{setting.name}-fp-ucb-near" in EXPERIMENTS
        assert EXPERIMENTS[f"{setting.name}-fp-ucb-far"].horizon >= 10**12
    for name in ("permutations-ucb1-near", "permutations-thompson-near", "grid-4-ucb1-near"):
        assert EXPERIMENTS[name].runs(1000) == 1000
    for experiment in EXPERIMENTS.values():
        times = experiment.times
        assert times == sorted(set(times))
        assert times[-1] == experiment.horizon
        assert {10**power for power in range(6) if 10**power <= experiment.horizon} <= set(times)


def test_settings_are_those_of_the_paper_and_of_the_counterexamples() -> None:
    """Where the figures of the paper end, and the means that docs/paper.md counts on."""
    ends = {"two-1": 10**3, "two-2": 10**4, "permutations": 10**5, "grid-6": 10**5, "grid-4": 10**6}
    assert {setting.name: setting.horizon for setting in PAPER} == ends
    found = {setting.name: setting for setting in COUNTEREXAMPLES}
    assert list(found) == ["minimum", "forgotten", "constants", "certain", "laws", "tied"]
    for name, means, title in (
        (
            "minimum",
            [[0.5, 0.49], [0.01, 0.9], [0.501, 0.502]],
            "Θ = {(.5, .49), (.01, .9), (.501, .502)}, truth the first",
        ),
        (
            "forgotten",
            [[0.5, 0.49], [0.5, 0.9], [0.501, 0.502]],
            "Θ = {(.5, .49), (.5, .9), (.501, .502)}, truth the first",
        ),
        ("constants", [[0.5, 0.3], [0.5, 0.51]], "Θ = {(.5, .3), (.5, .51)}, truth the first"),
        ("certain", [[0.5, 0.3], [0.5, 1]], "Θ = {(.5, .3), (.5, 1)}, truth the first"),
    ):
        problem = Problem.bernoulli(means, name=name)
        assert (found[name].problem, found[name].title) == (problem, title)
        assert found[name].truth == "theta1"
    sure, other = [[0, 1, 0], [0.7, 0, 0.3]], [[0.5, 0, 0.5], [0.2, 0, 0.8]]
    laws = Problem.discrete([sure, other], support=[0, 0.5, 1], name="laws")
    assert (found["laws"].problem, found["laws"].truth) == (laws, "theta1")
    assert found["tied"].problem is SETTINGS["grid-4"].problem


def test_which_policy_is_run_where_how_far_and_how_often() -> None:
    """The order too: it is that of the cells in the folder of results."""
    expected = []
    for setting in ("two-1", "two-2", "permutations", "grid-6", "grid-4"):
        expected += [(setting, "fp-ucb", "near", 10**6, 1000)]
        expected += [(setting, "fp-ucb", "far", 10**15, 1000)]
        if setting != "grid-6":
            expected += [(setting, "ucb1", "near", 10**6, 1000)]
            expected += [(setting, "ucb1", "far", 10**12, 200)]
            expected += [(setting, "thompson", "near", 10**6, 1000)]
            expected += [(setting, "thompson", "far", 10**15, 1000)]
    expected += [
        ("minimum", "fp-ucb", "far", 10**12, 200),
        ("forgotten", "fp-ucb", "far", 10**12, 200),
        ("constants", "fp-ucb", "far", 10**12, 200),
        ("constants", "ucb1", "far", 10**12, 200),
        ("certain", "fp-ucb", "far", 10**15, 1000),
        ("certain", "optimist", "far", 10**15, 1000),
        ("laws", "fp-ucb", "far", 10**15, 1000),
        ("tied", "fp-ucb", "far", 10**15, 200),
        *((setting.name, "frugal", "far", 10**15, 200) for setting in PAPER),
    ]
    found = [
        (each.setting.name, each.policy.name, each.distance, each.horizon, each.runs(RUNS))
        for each in EXPERIMENTS.values()
    ]
    assert found == expected
    names = [f"{setting}-{policy}-{distance}" for setting, policy, distance, _, _ in expected]
    assert list(EXPERIMENTS) == names
    assert EXPERIMENTS["two-1-ucb1-far"].runs(11) == 10, "as many as the paper's figures have"
    assert EXPERIMENTS["two-1-ucb1-far"].runs(101) == 21
    assert EXPERIMENTS["two-1-ucb1-far"].title == "two models, truth θ¹: ucb1 to T = 1e12"


@pytest.mark.parametrize("name", ["two-1", "two-2", "permutations", "grid-4"])
def test_times_are_even_in_log_t_and_near_ones_in_t_too(name: str) -> None:
    """To the end of the paper's figure in steps of a hundredth of it."""
    end = SETTINGS[name].horizon
    near = {round(10 ** (k / 16)) for k in range(6 * 16 + 1)}
    near |= set(range(end // 100, end + 1, end // 100))
    assert EXPERIMENTS[f"{name}-fp-ucb-near"].times == sorted(near)
    far = {round(10 ** (k / 8)) for k in range(15 * 8 + 1)}
    assert EXPERIMENTS[f"{name}-fp-ucb-far"].times == sorted(far)


def test_a_short_experiment_ends_before_the_papers_figure() -> None:
    times = Experiment(SETTINGS["two-2"], UCB1(), "near", 1000).times
    even = {round(10 ** (k / 16)) for k in range(3 * 16 + 1)} | set(range(10, 1001, 10))
    assert times == sorted(even)


def test_what_makes_a_result_that_of_an_experiment() -> None:
    """Problem, truth, policy and times: each of them alone tells another result apart."""
    experiment = Experiment(SETTINGS["two-1"], FPUCB(), "near", 100)
    result = experiment.cell(10, 0).result(
        np.zeros((10, len(experiment.times), 2), np.int64), np.ones(10, np.int64)
    )
    assert experiment.matches(result)
    assert not experiment.matches(replace(result, problem=SETTINGS["constants"].problem))
    assert not experiment.matches(replace(result, truth="theta2"))
    assert not experiment.matches(replace(result, pulls={"ucb1": result.pulls["fp-ucb"]}))
    assert not experiment.matches(replace(result, times=result.times + 1))


def test_policies_without_models_do_the_same_under_the_same_truth() -> None:
    """So UCB1 and Thompson sampling are not simulated again among the 256 models."""
    options: dict[str, Any] = {"truth": "0.6,0.4,0.3,0.2", "horizon": 300, "runs": 3}
    for policy in (
        EXPERIMENTS[f"permutations-{name}-near"].policy for name in ("ucb1", "thompson")
    ):
        small, large = (
            simulate(SETTINGS[name].problem, policy, **options)
            for name in ("permutations", "grid-6")
        )
        assert np.array_equal(small.pulls[policy.name], large.pulls[policy.name])


@pytest.mark.usefixtures("few")
def test_finished_experiments_are_found_again(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        find_experiments(tmp_path)
    first = run_experiments(tmp_path, runs=30, seed=1)
    assert [result.runs for result in first.values()] == [30, 15]
    for name, result in find_experiments(tmp_path).items():
        assert result.as_dict() == first[name].as_dict()
        experiment = experiments.EXPERIMENTS[name]
        alone = simulate(
            experiment.setting.problem,
            experiment.policy,
            truth=experiment.setting.truth,
            horizon=1000,
            times=experiment.times,
            runs=result.runs,
            seed=1,
        )
        assert alone.as_dict() == result.as_dict()
    with pytest.raises(InputError, match=r"holds other runs \(seed 1 there, 2 here\)"):
        run_experiments(tmp_path, runs=30, seed=2)


@pytest.mark.usefixtures("few")
def test_other_experiments_are_not_taken_for_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_experiments(tmp_path, runs=20, seed=1)
    others = {
        name: replace(experiment, horizon=100)
        for name, experiment in experiments.EXPERIMENTS.items()
    }
    monkeypatch.setattr(experiments, "EXPERIMENTS", others)
    with pytest.raises(ConflictError, match="holds other experiments than this version has"):
        find_experiments(tmp_path)
    monkeypatch.setattr(experiments, "EXPERIMENTS", {})
    with pytest.raises(ConflictError, match="holds other experiments than this version has"):
        find_experiments(tmp_path)


def test_episodes_are_those_of_algorithm_1() -> None:
    """Against the plain version, fed with the same rewards."""
    found = play_episodes(5, plays=800)
    setting = SETTINGS["permutations"]
    problem = setting.problem
    means = problem.means[problem.index(setting.truth)]
    stream = random_stream(5, 0, REWARDS)
    sums, plays = np.zeros(4), np.zeros(4)
    arms = iter(found.arms)
    for k in itertools.count():
        expected = (0, 1, 2, 3) if k == 0 else tuple(_episode(problem.means, sums, plays, k))
        played = next(arms, None)
        if played is None:
            break
        assert played == expected
        for arm in played:
            plays[arm] += 1
            sums[arm] += stream.random() < means[arm]
    assert plays.sum() >= 800
    assert any(len(played) < 4 for played in found.arms)


def _episode(means: Any, sums: Any, plays: Any, k: int) -> list[int]:
    """Return A_k, or A where nothing fits."""
    consistent = [
        row
        for row in means
        if all(
            abs(sums[arm] / plays[arm] - row[arm]) <= np.sqrt(3 * np.log(k) / plays[arm])
            for arm in range(4)
        )
    ]
    return sorted({int(np.argmax(row)) for row in consistent}) or [0, 1, 2, 3]
