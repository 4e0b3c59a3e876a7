"""Points: what is averaged, and how certain the average is."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from studies import Written

from fpbandits import simulate
from fpbandits.sweep.points import Part, caption, points
from fpbandits.sweep.study import load_study
from fpbandits.sweep.sweep import sweep


def test_points_put_the_runs_of_all_seeds_together(file: Path) -> None:
    study = load_study(file)
    results = {
        name: simulate(
            cell.problem,
            cell.policy,
            truth=cell.truth if cell.truth in cell.problem.models else [0.7, 0.6],
            horizon=200,
            times=[50],
            runs=7,
            seed=cell.spec.seed,
            shuffle=True,
        ).final_regret(str(cell.policy))
        for name, cell in study.cells.items()
    }
    found = points(study, sweep(study).rows)
    assert len(found) == 5
    panel = found["paper:two, truth theta2"]
    assert {line: list(values) for line, values in panel.items()} == {
        "ucb1": [None],
        "fp-ucb": [0.0, 0.05, 0.1],
        "optimist:delta=0.2": [None],
    }
    both = np.concatenate(
        [results[f"paper:two, truth theta2: fp-ucb:slack=0.05, seed {seed}"] for seed in (0, 5)]
    )
    point = panel["fp-ucb"][0.05]
    assert point.runs == 14
    assert point.mean == pytest.approx(both.mean())
    assert point.standard_error == pytest.approx(both.std(ddof=1) / math.sqrt(14))


def test_a_part_of_single_runs() -> None:
    part = Part()
    for value in (1.0, 4.0, 7.0):
        part.add(1, value, math.nan)
    assert part.mean == 4
    assert part.standard_error == pytest.approx(math.sqrt(3))
    alone = Part()
    alone.add(1, 2.0, math.nan)
    assert math.isnan(alone.standard_error)
    assert math.isnan(alone.half_width)


def test_problems_that_share_streams_do_not_make_a_mean_more_certain(written: Written) -> None:
    """UCB1 does the very same where the truth is the same, however many sets of models hold it."""
    lines = [
        f'{{name = "p{number}", truth = "x", models = {{x = [0.5, 0.3], y = [0, 0.{number}]}}}}'
        for number in range(1, 5)
    ]
    text = f'problems = [{", ".join(lines)}]\npolicies = "ucb1"\nhorizons = 99\nseeds = [1, 2]'
    rows = sweep(written(f'{text}\nagainst = "policy"')).rows
    one, *others = sweep(written(f'{text}\nagainst = "problem"')).points()[""]["ucb1"].values()
    assert {(each.mean, each.standard_error) for each in others} == {(one.mean, one.standard_error)}
    study = written(f'{text}\nagainst = "models"')
    pooled = points(study, rows)[""]["ucb1"][2]
    assert pooled.runs == 4 * one.runs
    assert pooled.mean == pytest.approx(one.mean)
    assert pooled.standard_error == pytest.approx(one.standard_error)
    assert "up to 4 problems and truths together" in sweep(study).caption


def test_policies_on_different_problems_are_not_compared_in_silence(written: Written) -> None:
    study = written(
        'problems = [{problem = "paper:two", truth = "all"}, '
        '{problem = "paper:permutations", truth = "all"}]\n'
        'policies = ["ucb1", "bpr"]\nhorizons = [8, 9]\nruns = 2',
    )
    assert list(sweep(study).points()[""]) == ["ucb1", "bpr (24 of 26)"]


def test_many_problems_share_a_panel(written: Written) -> None:
    lines = [
        f'{{name = "p{number}", truth = "all", models = {{x = [0.5, 0.{number}], y = [0, 1]}}}}'
        for number in range(10, 23)
    ]
    study = written(f"problems = [{', '.join(lines)}]\nhorizons = 9\nruns = 2")
    assert study.against == "truth"
    assert list(sweep(study).points()) == [""]


def row(runs: int = 7, **columns: object) -> dict[str, Any]:
    common = {"problem": "p", "truth": "x", "policy": "a", "horizon": 200, "seed": 0, "models": 2}
    return {**common, "runs": runs, "mean_regret": 1.0, "std_regret": 0.5, **columns}


@pytest.mark.parametrize(
    ("against", "rows", "said"),
    [
        ("horizon", [row(), row(horizon=50)], "means of 7 runs"),
        ("models", [row(1), row(1, models=3)], "means of 1 run; T = 200"),
        ("models", [row(3), row(1200, models=3)], "means of 3 to 1,200 runs; T = 200"),
        ("models", [row(), row(horizon=50)], "means of 7 runs; T = 200"),
        ("horizon", [row(), row(seed=1)], "means of 14 runs; 2 seeds together"),
        (
            "models",
            [row(), row(truth="y", seed=4)],
            "means of 14 runs; 2 seeds together; up to 2 problems and truths together; T = 200",
        ),
    ],
)
def test_captions(against: str, rows: list[dict[str, Any]], said: str) -> None:
    study: Any = SimpleNamespace(against=against, options=[])
    assert caption(study, rows, points(study, rows)) == said


def test_parts_put_together_are_the_whole() -> None:
    """Mean and deviation of all numbers, from those of three parts."""
    parts = [[1.0, 4.0, 2.5], [7.0], [3.0, 9.0, 9.0, 1.0]]
    part = Part()
    for values in parts:
        part.add(
            len(values),
            np.mean(values).item(),
            float(np.std(values, ddof=1)) if values[1:] else math.nan,
        )
    whole = np.concatenate(parts)
    assert part.runs == 8
    assert part.mean == pytest.approx(whole.mean())
    assert part.std == pytest.approx(whole.std(ddof=1))


def test_intervals_are_students() -> None:
    part = Part()
    part.add(2, 3.0, 1.0)
    assert part.half_width == pytest.approx(12.7062 / math.sqrt(2), rel=1e-4)
