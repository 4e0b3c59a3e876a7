"""Experiments are run once, found again, and never taken for another."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import FPUCB, UCB1, InputError, Result
from fpbandits.paper import experiments
from fpbandits.paper.experiments import (
    EXPERIMENTS,
    FAR,
    NEAR,
    PAPER,
    SETTINGS,
    Experiment,
    find,
    play_episodes,
    run_or_find,
)
from fpbandits.simulation.simulate import simulate
from fpbandits.simulation.streams import run_stream


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Leave two short experiments, and count which of them are simulated."""
    chosen = [
        Experiment(SETTINGS["two-1"], FPUCB(), NEAR, 1000),
        Experiment(SETTINGS["two-2"], UCB1(), FAR, 1000),
    ]
    monkeypatch.setattr(experiments, "EXPERIMENTS", {each.name: each for each in chosen})
    simulated: list[str] = []

    def counting(problem: Any, policy: Any, **options: Any) -> Result:
        simulated.append(f"{options['true']} {policy} {options['runs']}")
        return simulate(problem, policy, **options)

    monkeypatch.setattr(experiments, "simulate", counting)
    return simulated


def test_the_papers_experiments_are_all_here() -> None:
    """The three sets of models, the five truths, and policies of every figure of the paper."""
    assert [len(setting.problem.parameters) for setting in PAPER] == [2, 2, 24, 256, 256]
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
    options: dict[str, Any] = {"true": "0.6,0.4,0.3,0.2", "horizon": 300, "runs": 3}
    for policy in (
        EXPERIMENTS[f"permutations-{name}-near"].policy for name in ("ucb1", "thompson")
    ):
        small, large = (
            simulate(SETTINGS[name].problem, policy, **options)
            for name in ("permutations", "grid-6")
        )
        assert np.array_equal(small.pulls[policy.name], large.pulls[policy.name])


def test_finished_experiments_are_found_again(few: list[str], tmp_path: Path) -> None:
    first = run_or_find(tmp_path, runs=20, seed=1)
    assert few == ["theta1 fp-ucb 20", "theta2 ucb1 20"]
    (tmp_path / "two-2-ucb1-far.npz").unlink()
    again = run_or_find(tmp_path, runs=20, seed=1)
    assert few[2:] == ["theta2 ucb1 20"]
    for name, result in first.items():
        assert again[name].as_dict() == result.as_dict() == find(tmp_path)[name].as_dict()


def test_more_runs_may_be_asked_for_and_other_questions_not(few: list[str], tmp_path: Path) -> None:
    run_or_find(tmp_path, runs=20, seed=1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for runs, seed in ((20, 2), (15, 1)):
        message = f"holds 20 runs of seed 1, and {runs} of seed {seed} are asked for.*--out"
        with pytest.raises(InputError, match=message):
            run_or_find(tmp_path, runs=runs, seed=seed)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    more = run_or_find(tmp_path, runs=30, seed=1)
    assert few[2:] == ["theta1 fp-ucb 30", "theta2 ucb1 30"]
    assert {result.runs for result in more.values()} == {30}


def test_damaged_and_foreign_results_are_computed_again(
    few: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_or_find(tmp_path, runs=20, seed=1)
    path = tmp_path / "two-1-fp-ucb-near.npz"
    path.write_bytes(path.read_bytes()[:-40])
    remarks: list[str] = []
    run_or_find(tmp_path, runs=20, seed=1, say=remarks.append)
    assert few[2:] == ["theta1 fp-ucb 20"]
    assert len(remarks) == 1
    assert "not a whole result file" in remarks[0]
    assert "computing it again" in remarks[0]

    monkeypatch.setattr(experiments, "versions", lambda: {"fpbandits": "9.9"})
    run_or_find(tmp_path, runs=20, seed=1, say=remarks.append)
    assert len(few) == 5
    assert [remark.split(": ")[1] for remark in remarks[1:]] == [
        "made by another version; computing it again"
    ] * 2


def test_results_of_another_kind_are_refused(few: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        find(tmp_path)
    run_or_find(tmp_path, runs=20, seed=1)
    other = tmp_path / "two-2-ucb1-far.npz"
    other.write_bytes((tmp_path / "two-1-fp-ucb-near.npz").read_bytes())
    with pytest.raises(InputError, match=r"two-2-ucb1-far\.npz: holds another simulation"):
        find(tmp_path)
    Result.load(other)
    simulate(
        SETTINGS["two-2"].problem,
        UCB1(),
        true="theta2",
        horizon=1000,
        runs=20,
        seed=7,
        times=experiments.EXPERIMENTS["two-2-ucb1-far"].times,
    ).save(other)
    with pytest.raises(InputError, match=r"results of several seeds, \[1, 7\]"):
        find(tmp_path)


def test_episodes_are_those_of_algorithm_1() -> None:
    """Against the plain version, fed with the same rewards."""
    found = play_episodes(5, plays=800)
    setting = SETTINGS["permutations"]
    problem = setting.problem
    means = problem.means[problem.index(setting.true)]
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
