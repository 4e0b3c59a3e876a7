"""Studies: all that vary are crossed, and the table holds what `simulate` finds for each."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem, load_problem, save_problem, simulate
from fpbandits.cli import main
from fpbandits.policies import parse_policy
from fpbandits.report.sweep import sweep_figure
from fpbandits.simulation.cell import Cell
from fpbandits.sweep.points import Part, points
from fpbandits.sweep.study import Study, load_study
from fpbandits.sweep.sweep import sweep

STUDY = """
name = "slack, and more"
problems = [
    { problem = "paper:two", true = "all" },
    "mine/*.toml",
    { name = "inline", parameters = { a = [0.9, 0.5], b = [0.2, 0.5] }, true = [[0.7, 0.6]] },
]
policies = ["ucb1", { policy = "fp-ucb", slack = [0, 0.05, 0.1] }, "optimist:delta=0.2"]
horizons = [50, 200]
seeds = [0, 5]
runs = 7
shuffle = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    for number, gap in enumerate((0.1, 0.3)):
        problem = Problem.bernoulli(
            [[0.5, 0.5 - gap], [0.5, 0.5 + gap]], name=f"gap {gap}", true="theta1"
        )
        save_problem(problem, tmp_path / "mine" / f"{number}.toml")
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def written(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "other.toml"
    path.write_text(text)
    return load_study(path)


def test_all_that_vary_are_crossed(file: Path) -> None:
    study = load_study(file)
    truths = [("paper:two", "theta1"), ("paper:two", "theta2")]
    truths += [("gap 0.1", "theta1"), ("gap 0.3", "theta1"), ("inline", "0.7,0.6")]
    policies = ["ucb1", "fp-ucb", "fp-ucb:slack=0.05", "fp-ucb:slack=0.1", "optimist:delta=0.2"]
    expected = [
        (problem, true, policy, seed)
        for problem, true in truths
        for policy in policies
        for seed in (0, 5)
    ]
    found = [
        (label["problem"], label["true"], label["policy"], label["seed"])
        for label in study.labels.values()
    ]
    assert found == expected
    assert study.options == ["slack", "delta"]
    assert study.against == "slack"
    for name, label in study.labels.items():
        cell = study.cells[name]
        assert str(cell.policy) == label["policy"]
        assert (cell.seed, cell.true, cell.runs) == (label["seed"], label["true"], 7)
        assert cell.times.tolist() == [50, 200]
        assert cell.shuffle
        has = {"ucb1": (None, None), "fp-ucb": (0.0, None), "optimist:delta=0.2": (None, 0.2)}
        if label["policy"] in has:
            assert (label["slack"], label["delta"]) == has[label["policy"]]
    gaps = {label["problem"]: label["gap"] for label in study.labels.values()}
    assert gaps == {"paper:two": 0.3, "gap 0.1": 0.1, "gap 0.3": 0.3, "inline": 0.1}


def test_rows_are_what_simulate_finds(file: Path, tmp_path: Path) -> None:
    study = load_study(file)
    found = sweep(study, out=tmp_path / "out")
    assert len(found.rows) == 2 * len(study.cells)
    rows = iter(found.rows)
    for cell in study.cells.values():
        true: Any = cell.true if cell.true in cell.problem.parameters else [0.7, 0.6]
        alone = simulate(
            cell.problem,
            cell.policy,
            true=true,
            horizon=200,
            times=[50],
            runs=7,
            seed=cell.seed,
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


def test_points_put_the_runs_of_all_seeds_together(file: Path) -> None:
    study = load_study(file)
    results = {
        name: simulate(
            cell.problem,
            cell.policy,
            true=cell.true if cell.true in cell.problem.parameters else [0.7, 0.6],
            horizon=200,
            times=[50],
            runs=7,
            seed=cell.seed,
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


def test_problems_that_share_streams_do_not_make_a_mean_more_certain(tmp_path: Path) -> None:
    """UCB1 does the very same where the truth is the same, however many sets of models hold it."""
    lines = [
        f'{{name = "p{number}", true = "x", parameters = {{x = [0.5, 0.3], y = [0, 0.{number}]}}}}'
        for number in range(1, 5)
    ]
    text = f'problems = [{", ".join(lines)}]\npolicies = "ucb1"\nhorizons = 99\nseeds = [1, 2]'
    rows = sweep(written(tmp_path, f'{text}\nagainst = "policy"')).rows
    one, *others = (
        sweep(written(tmp_path, f'{text}\nagainst = "problem"')).points()[""]["ucb1"].values()
    )
    assert {(each.mean, each.standard_error) for each in others} == {(one.mean, one.standard_error)}
    study = written(tmp_path, f'{text}\nagainst = "models"')
    pooled = points(study, rows)[""]["ucb1"][2]
    assert pooled.runs == 4 * one.runs
    assert pooled.mean == pytest.approx(one.mean)
    assert pooled.standard_error == pytest.approx(one.standard_error)
    assert "up to 4 problems and truths together" in sweep(study).caption


@pytest.mark.parametrize(
    ("text", "against", "panels"),
    [
        ('problems = "paper:two"\nhorizons = [5, 10]', "horizon", [""]),
        ('problems = "paper:two"\npolicies = ["ucb1", "fp-ucb"]\nhorizons = 9', "policy", [""]),
        ('problems = [{problem = "paper:two", true = "all"}]\nhorizons = 9', "true", [""]),
        ('problems = ["paper:two", "paper:permutations"]\nhorizons = 9', "models", [""]),
        (
            'problems = ["paper:two", "paper:permutations"]\nhorizons = [8, 9]',
            "horizon",
            ["paper:two, truth theta1", "paper:permutations, truth 0.6,0.4,0.3,0.2"],
        ),
        (
            'problems = [{problem = "paper:permutations", true = "all"}]\nhorizons = [8, 9]',
            "horizon",
            [""],
        ),
        (
            'problems = [{problem = "paper:two", true = "all"}, "paper:grid"]\n'
            'against = "true"\nhorizons = 9',
            "true",
            ["paper:two", "paper:grid"],
        ),
        (
            'problems = "paper:two"\nhorizons = [8, 9]\npolicies = ["optimist", "optimist:safe=7"]',
            "horizon",
            [""],
        ),
        (
            'problems = "paper:two"\nhorizons = 9\n'
            'policies = [{policy = "optimist", delta = [0.1, 0.2], safe = [0, 7]}, "ucb1"]',
            "delta",
            [""],
        ),
        ('problems = ["paper:two"]\nagainst = "gap"\nhorizons = 9\nruns = 1', "gap", [""]),
        ('problems = [{problem = "paper:grid", true = "all"}]\nhorizons = 9', "policy", [""]),
    ],
)
def test_what_is_drawn(tmp_path: Path, text: str, against: str, panels: list[str]) -> None:
    study = written(tmp_path, f"{text}\n" + ("" if "runs" in text else "runs = 2\n"))
    found = sweep(study)
    assert study.against == against
    assert list(found.points()) == panels
    figure = sweep_figure(study, found.rows)
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


def test_policies_that_do_not_apply_are_left_out_and_said(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        'problems = ["paper:two", "paper:permutations"]\npolicies = ["bpr", "ucb1"]\nruns = 2',
    )
    assert [label["policy"] for label in study.labels.values()] == ["ucb1", "bpr", "ucb1"]
    (remark,) = study.remarks
    assert remark.startswith("bpr is left out of paper:two: bpr needs one largest mean")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the field 'problems' is missing"),
        ("problems = []", "problems is an empty list: give it a value"),
        ("problems = [3]", "problem 1 must be a file, a built-in name or a table: 3"),
        ('problems = ["paper:tow"]', "problem 1: unknown built-in problem"),
        ('problems = ["none.toml"]', "none.toml: there is no such file"),
        ('problems = ["x*.toml"]', "problem 1: no file is called like 'x*.toml'"),
        ('problems = [{problem = "paper:two", tru = 1}]', "unknown field 'tru': did you mean"),
        ("problems = [{problem = 2}]", "expected a file or a built-in name, not 2"),
        ('problems = [{name = "x"}]', "problem 1: the field 'parameters' is missing"),
        ("problems = [{parameters = {a = [2, 0]}}]", "problem 1: "),
        ('problems = [{problem = "paper:two", true = "theta9"}]', "unknown parameter 'theta9'"),
        ('problems = [{problem = "paper:two", true = [[1]]}]', "no value for arm 'arm2'"),
        ('problems = [{problem = "paper:two", true = []}]', "no value for arm"),
        ('problems = ["paper:two", "paper:two"]', "is there twice"),
        (
            'problems = "paper:two"\nhorizon = 3',
            "unknown field 'horizon': did you mean 'horizons'?",
        ),
        ('problems = "paper:two"\nhorizons = [0]', "a horizon is 0: it must be at least 1"),
        ('problems = "paper:two"\nhorizons = [5, 5]', "the horizon 5 is given twice"),
        ('problems = "paper:two"\nhorizons = "far"', "a horizon must be a whole number, not 'far'"),
        ('problems = "paper:two"\nseeds = -1', "a seed is -1: it must be at least 0"),
        ('problems = "paper:two"\nseeds = [1, 1]', "the seed 1 is given twice"),
        ('problems = "paper:two"\nruns = 0', "runs is 0: it must be at least 1"),
        ('problems = "paper:two"\nshuffle = 1', "shuffle is true or false, not 1"),
        ('problems = "paper:two"\npolicies = ["ucb"]', "unknown policy 'ucb'"),
        ('problems = "paper:two"\npolicies = [1]', "a policy is a name, or a table such as"),
        ('problems = "paper:two"\npolicies = [{slack = 1}]', "a policy is a name, or a table"),
        (
            'problems = "paper:two"\npolicies = [{policy = "fp-ucb", slak = 1}]',
            "unknown option of fp-ucb 'slak': did you mean 'slack'?",
        ),
        (
            'problems = "paper:two"\npolicies = ["fp-ucb", {policy = "fp-ucb", slack = [0, 1]}]',
            "the policy 'fp-ucb' is given twice",
        ),
        ('problems = "paper:two"\npolicies = "bpr"', "bpr is left out of paper:two: bpr needs"),
        ('problems = "paper:two"\nagainst = "slack"', "unknown column to draw against 'slack'"),
        ("problems = [", "not valid TOML"),
        ('problems = "paper:two"\nname = 3', "name is a text, not 3"),
        ('problems = "/abs/*.toml"', "'/abs/*.toml': expected a pattern like mine/*.toml"),
        ('problems = "a**.toml"', "'a**.toml': expected a pattern like mine/*.toml"),
        ('problems = "*.toml"', "no file is called like '*.toml'"),
        ('problems = "paper:two"\nagainst = []', "unknown column to draw against '[]'"),
        (
            'problems = "paper:two"\npolicies = [{policy = "thompson-theta", prior = {a = 1}}]',
            "policy 'thompson-theta': prior is a number or a text, or a list of them, not {'a': 1}",
        ),
    ],
)
def test_mistakes_take_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["sweep", str(path), "--out", str(tmp_path / "out")])
    output = capsys.readouterr()
    assert (caught.value.code, output.out) == (2, "")
    assert output.err.startswith(f"error: {path}: ")
    assert message in output.err
    assert output.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_study_is_a_toml_file(tmp_path: Path) -> None:
    for name, message in (("study.csv", "a study is a .toml file"), ("no.toml", "no such file")):
        with pytest.raises(InputError, match=message):
            load_study(tmp_path / name)


def test_the_command_resumes_and_may_ask_for_more_runs(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*words: str) -> tuple[str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["sweep", str(file), *words])
        assert caught.value.code == 0
        output = capsys.readouterr()
        return output.out, output.err

    monkeypatch.chdir(tmp_path)
    text, error = run("--runs", "3")
    assert "paper:two, truth theta1" in text
    assert "±" in text
    assert error == f"wrote {Path('study-out/study.csv')}, study.png and study.svg\n"
    assert "means of 6 runs; 2 seeds together; T = 200." in text
    assert (tmp_path / "study-out" / "study.toml").read_text() == STUDY
    fewer = (tmp_path / "study-out" / "study.csv").read_bytes()
    played: list[int] = []
    play = Cell.play

    def counting(cell: Cell, runs: range, *others: Any) -> Any:
        played.extend(runs)
        return play(cell, runs, *others)

    monkeypatch.setattr(Cell, "play", counting)
    run()
    assert set(played) == {3, 4, 5, 6}
    whole = (tmp_path / "study-out" / "study.csv").read_bytes()
    printed = json.loads(run("--out", "fresh", "--json")[0])
    assert (tmp_path / "fresh" / "study.csv").read_bytes() == whole != fewer
    assert len(printed["rows"]) == whole.count(b"\n") - 1
    assert {"schema", "name", "against", "versions"} < printed.keys()
    file.write_text(STUDY.replace("seeds = [0, 5]", "seeds = [0, 6]"))
    with pytest.raises(SystemExit) as caught:
        main(["sweep", str(file)])
    assert caught.value.code == 2
    assert "error: study-out: holds other runs (" in capsys.readouterr().err
    assert (tmp_path / "study-out" / "study.csv").read_bytes() == whole


def test_names_are_not_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "$x_{"\nruns = 2\nhorizons = [5, 6]\n'
        'problems = [{name = "[red]$y^", parameters = {a = [1, 0]}, true = "a"}, "paper:two"]'
    )
    with pytest.raises(SystemExit) as caught:
        main(["sweep", str(path), "--out", str(tmp_path / "out")])
    assert caught.value.code == 0
    assert "[red]$y^, truth a" in capsys.readouterr().out


def test_horizons_are_times_of_the_same_runs(tmp_path: Path) -> None:
    """Regret at an early horizon is that of a simulation which ends there, in law.

    100 runs each, of other seeds, and fixed: means within 4 standard errors, a false alarm for one
    of 16,000 choices of seeds.
    """
    study = written(
        tmp_path, 'problems = "paper:permutations"\npolicies = "ucb1"\nhorizons = [300, 3000]\n'
    )
    rows = sweep(study, workers=2).rows
    alone = simulate(
        load_problem("paper:permutations"), parse_policy("ucb1"), horizon=300, runs=100, seed=9
    )
    error = math.hypot(rows[0]["std_regret"], alone.std_regret("ucb1")[-1]) / 10
    assert abs(rows[0]["mean_regret"] - alone.mean_regret("ucb1")[-1]) < 4 * error


def test_options_and_names_of_any_kind_are_drawn(tmp_path: Path) -> None:
    prior = 'prior = ["theta1=3,theta2=1", "theta1=1,theta2=1"]'
    study = written(
        tmp_path,
        f'problems = "paper:two"\npolicies = [{{policy = "thompson-theta", {prior}}}, "ucb1"]\n'
        "horizons = 9\nruns = 2",
    )
    assert study.against == "prior"
    found = sweep(study)
    found.save(tmp_path)
    assert len(found.points()[""]["thompson-theta"]) == 2
    lines = [
        f'{{name = "{name}", true = "x", parameters = {{x = [0.5, {level}]}}}}'
        for name, level in (("a$b_{$c", 0.1), ("x" * 90, 0.2))
    ]
    study = written(
        tmp_path, f'problems = [{", ".join(lines)}]\nhorizons = 9\nruns = 2\nagainst = "problem"'
    )
    sweep(study).save(tmp_path)


def test_policies_on_different_problems_are_not_compared_in_silence(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        'problems = [{problem = "paper:two", true = "all"}, '
        '{problem = "paper:permutations", true = "all"}]\n'
        'policies = ["ucb1", "bpr"]\nhorizons = [8, 9]\nruns = 2',
    )
    assert list(sweep(study).points()[""]) == ["ucb1", "bpr (24 of 26)"]


def test_many_problems_share_a_panel(tmp_path: Path) -> None:
    lines = [
        f'{{name = "p{number}", true = "all", parameters = {{x = [0.5, 0.{number}], y = [0, 1]}}}}'
        for number in range(10, 23)
    ]
    study = written(tmp_path, f"problems = [{', '.join(lines)}]\nhorizons = 9\nruns = 2")
    assert study.against == "true"
    assert list(sweep(study).points()) == [""]


def test_intervals_are_students() -> None:
    part = Part()
    part.add(2, 3.0, 1.0)
    assert part.half_width == pytest.approx(12.7062 / math.sqrt(2), rel=1e-4)


def test_the_documented_study_is_one() -> None:
    docs = Path(__file__).parents[2] / "docs"
    study = load_study(docs / "slack.toml")
    assert len(study.cells) == 4 * 6 * 2
    assert study.against == "slack"
    shown = (docs / "scale.md").read_text().split("```toml\n")[1].split("```")[0]
    assert (docs / "slack.toml").read_text().endswith(shown)
