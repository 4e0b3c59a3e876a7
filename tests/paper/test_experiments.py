"""Experiments are run once, found again, and never taken for another."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, InputError
from fpbandits.core.streams import run_stream
from fpbandits.errors import ConflictError
from fpbandits.paper import experiments
from fpbandits.paper.experiments import (
    EXPERIMENTS,
    PAPER,
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
    stream = run_stream(5, 0)
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
