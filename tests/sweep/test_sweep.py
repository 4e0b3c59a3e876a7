"""Sweeps: the table holds what `simulate` finds for each cell, and the figure shows it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
from studies import Written

from fpbandits import Optimist, load_problem, simulate
from fpbandits.policies import parse_policy
from fpbandits.sweep.report import sweep_figure
from fpbandits.sweep.study import load_study
from fpbandits.sweep.sweep import sweep


def test_rows_are_what_simulate_finds(file: Path, tmp_path: Path) -> None:
    study = load_study(file)
    found = sweep(study, out=tmp_path / "out")
    assert len(found.rows) == 2 * len(study.cells)
    rows = iter(found.rows)
    for cell in study.cells.values():
        truth: Any = cell.truth if cell.truth in cell.problem.models else [0.7, 0.6]
        alone = simulate(
            cell.problem,
            cell.policy,
            truth=truth,
            horizon=200,
            times=[50],
            runs=7,
            seed=cell.spec.seed,
            shuffle=True,
        )
        regret = alone.regret(str(cell.policy))
        for place, horizon in enumerate((50, 200)):
            row = next(rows)
            assert (row["horizon"], row["runs"]) == (horizon, 7)
            own = sorted(regret[:, place])
            assert row["mean_regret"] == pytest.approx(sum(own) / 7)
            variance = sum((value - sum(own) / 7) ** 2 for value in own) / 6
            assert row["std_regret"] == pytest.approx(math.sqrt(variance))
            assert row["median_regret"] == pytest.approx(own[3])
            low, high = (limit[place] for limit in alone.confidence_interval(str(cell.policy)))
            assert (row["ci95_low"], row["ci95_high"]) == (pytest.approx(low), pytest.approx(high))
            assert row["q95_regret"] == pytest.approx(own[5] + 0.7 * (own[6] - own[5]))
            assert row["q05_regret"] == pytest.approx(own[0] + 0.3 * (own[1] - own[0]))


@pytest.mark.parametrize(
    ("text", "against", "panels"),
    [
        ('problems = "paper:two"\nhorizons = [5, 10]', "horizon", [""]),
        ('problems = "paper:two"\npolicies = ["ucb1", "fp-ucb"]\nhorizons = 9', "policy", [""]),
        ('problems = [{problem = "paper:two", truth = "all"}]\nhorizons = 9', "truth", [""]),
        ('problems = ["paper:two", "paper:permutations"]\nhorizons = 9', "models", [""]),
        (
            'problems = ["paper:two", "paper:permutations"]\nhorizons = [8, 9]',
            "horizon",
            ["paper:two, truth theta1", "paper:permutations, truth 0.6,0.4,0.3,0.2"],
        ),
        (
            'problems = [{problem = "paper:permutations", truth = "all"}]\nhorizons = [8, 9]',
            "horizon",
            [""],
        ),
        (
            'problems = [{problem = "paper:two", truth = "all"}, "paper:grid"]\n'
            'against = "truth"\nhorizons = 9',
            "truth",
            ["paper:two", "paper:grid"],
        ),
        (
            'problems = "paper:two"\nhorizons = [8, 9]\n'
            'policies = ["optimist", "optimist:false_alarm=0.001"]',
            "horizon",
            [""],
        ),
        (
            'problems = "paper:two"\nhorizons = 9\n'
            'policies = [{policy = "optimist", delta = [0.1, 0.2], offset = [0, 0.7]}, "ucb1"]',
            "delta",
            [""],
        ),
        ('problems = ["paper:two"]\nagainst = "gap"\nhorizons = 9\nruns = 1', "gap", [""]),
        ('problems = [{problem = "paper:grid", truth = "all"}]\nhorizons = 9', "policy", [""]),
    ],
)
def test_what_is_drawn(
    written: Written, tmp_path: Path, text: str, against: str, panels: list[str]
) -> None:
    study = written(f"{text}\n" + ("" if "runs" in text else "runs = 2\n"))
    found = sweep(study)
    assert study.against == against
    assert list(found.points()) == panels
    figure = sweep_figure(found)
    axes = [each for each in figure.axes if each.get_visible()]
    assert [each.get_title() for each in axes] == panels
    lines = {line for panel in found.points().values() for line in panel}
    legend = {text.get_text() for each in figure.legends for text in each.get_texts()}
    assert legend == lines - {""}
    found.save(tmp_path)
    with (tmp_path / "study.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(found.rows)
    assert float(rows[0]["mean_regret"]) == found.rows[0]["mean_regret"]


def test_horizons_are_times_of_the_same_runs(written: Written) -> None:
    """Regret at an early horizon is that of a simulation which ends there, in law.

    100 runs each, of other seeds, and fixed: means within 4 standard errors, a false alarm for one
    of 16,000 choices of seeds.
    """
    study = written('problems = "paper:permutations"\npolicies = "ucb1"\nhorizons = [300, 3000]\n')
    rows = sweep(study, workers=2).rows
    alone = simulate(
        load_problem("paper:permutations"), parse_policy("ucb1"), horizon=300, runs=100, seed=9
    )
    error = math.hypot(rows[0]["std_regret"], alone.std_regret("ucb1")[-1]) / 10
    assert abs(rows[0]["mean_regret"] - alone.mean_regret("ucb1")[-1]) < 4 * error


def test_options_and_names_of_any_kind_are_drawn(written: Written, tmp_path: Path) -> None:
    prior = 'prior = ["theta1=3,theta2=1", "theta1=1,theta2=1"]'
    study = written(
        f'problems = "paper:two"\npolicies = [{{policy = "thompson-theta", {prior}}}, "ucb1"]\n'
        "horizons = 9\nruns = 2",
    )
    assert study.against == "prior"
    found = sweep(study)
    found.save(tmp_path)
    assert len(found.points()[""]["thompson-theta"]) == 2
    lines = [
        f'{{name = "{name}", truth = "x", models = {{x = [0.5, {level}]}}}}'
        for name, level in (("a$b_{$c", 0.1), ("x" * 90, 0.2))
    ]
    study = written(f'problems = [{", ".join(lines)}]\nhorizons = 9\nruns = 2\nagainst = "problem"')
    sweep(study).save(tmp_path)


def test_truths_that_change_or_are_drawn_are_compared_at_the_same_times(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'policies = ["optimist"]\nhorizons = [50, 200]\nruns = 7\n'
        'problems = [{ problem = "paper:two", truth = { 0 = "theta1", 120 = "theta2" } }, '
        '{ problem = "paper:two", truth = "prior" }, "paper:two"]\n'
    )
    found = sweep(load_study(tmp_path / "study.toml"))
    assert [(row["truth"], row["horizon"]) for row in found.rows] == [
        (truth, horizon)
        for truth in ("theta1, from 120 theta2", "prior", "theta1")
        for horizon in (50, 200)
    ]
    truths: list[Any] = [{0: "theta1", 120: "theta2"}, "prior", "theta1"]
    for place, truth in enumerate(truths):
        problem = load_problem("paper:two")
        alone = simulate(problem, Optimist(), truth=truth, horizon=200, times=[50], runs=7)
        means = alone.mean_regret("optimist")
        assert found.rows[2 * place]["mean_regret"] == pytest.approx(means[0])
        assert found.rows[2 * place + 1]["mean_regret"] == pytest.approx(means[-1])
