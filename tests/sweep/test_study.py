"""Study files: all that vary are crossed, and mistakes are said in a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from studies import Written

from fpbandits import FPUCB, InputError
from fpbandits.cli import main
from fpbandits.errors import StorageError
from fpbandits.policies import DEFAULT, Policy
from fpbandits.sweep import study as study_module
from fpbandits.sweep.study import load_study


def test_all_that_vary_are_crossed(file: Path) -> None:
    study = load_study(file)
    truths = [("paper:two", "theta1"), ("paper:two", "theta2")]
    truths += [("gap 0.1", "theta1"), ("gap 0.3", "theta1"), ("inline", "0.7,0.6")]
    policies = ["ucb1", "fp-ucb", "fp-ucb:slack=0.05", "fp-ucb:slack=0.1", "optimist:delta=0.2"]
    expected = [
        (problem, truth, policy, seed)
        for problem, truth in truths
        for policy in policies
        for seed in (0, 5)
    ]
    found = [
        (label["problem"], label["truth"], label["policy"], label["seed"])
        for label in study.labels.values()
    ]
    assert found == expected
    assert study.options == ["slack", "delta"]
    assert study.against == "slack"
    for name, label in study.labels.items():
        cell = study.cells[name]
        assert str(cell.policy) == label["policy"]
        assert (cell.spec.seed, cell.truth, cell.spec.runs) == (label["seed"], label["truth"], 7)
        assert cell.times.tolist() == [50, 200]
        assert cell.spec.shuffle
        has = {"ucb1": (None, None), "fp-ucb": (0.0, None), "optimist:delta=0.2": (None, 0.2)}
        if label["policy"] in has:
            assert (label["slack"], label["delta"]) == has[label["policy"]]
    gaps = {label["problem"]: label["gap"] for label in study.labels.values()}
    assert gaps == {"paper:two": 0.3, "gap 0.1": 0.1, "gap 0.3": 0.3, "inline": 0.1}


def test_what_a_file_need_not_say(written: Written) -> None:
    study = written('problems = "paper:two"')
    (cell,) = study.cells.values()
    spec = cell.spec
    assert (spec.horizon, spec.runs, spec.seed, spec.shuffle, spec.delay) == (
        10**5,
        100,
        0,
        False,
        0,
    )
    assert (str(cell.policy), study.name, study.against) == (DEFAULT.name, "other", "policy")
    assert (study.horizons, cell.truth) == ([10**5], "theta1")


@pytest.mark.parametrize(
    ("truth", "truths"),
    [
        ('"all"', ["all"]),
        ('["b"]', ["b"]),
        ('["all", "b"]', ["all", "b"]),
        ("[0.7, 0.6]", ["0.7,0.6"]),
        ("[1, 0]", ["1.0,0.0"]),
        ("[[1, 0], [0, 1]]", ["1.0,0.0", "0.0,1.0"]),
    ],
)
def test_truths_of_a_problem_that_has_a_model_called_all(
    written: Written, truth: str, truths: list[str]
) -> None:
    models = "{ all = [0.9, 0.5], b = [0.2, 0.5] }"
    study = written(f"problems = [{{ models = {models}, truth = {truth} }}]")
    assert [cell.truth for cell in study.cells.values()] == truths


def test_policies_that_do_not_apply_are_left_out_and_said(written: Written) -> None:
    study = written(
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
        ("problems = [3]", "problem 1: it must be a file, a built-in name or a table, not 3"),
        ('problems = ["paper:tow"]', "problem 1: unknown built-in problem"),
        ('problems = ["none.toml"]', "none.toml: there is no such file"),
        ('problems = ["x*.toml"]', "problem 1: no file is called like 'x*.toml'"),
        ('problems = "paper:two"\ntruths = "all"', "field 'truths': a truth goes with its problem"),
        ('problems = [{problem = "paper:two", tru = 1}]', "unknown field 'tru': did you mean"),
        ("problems = [{problem = 2}]", "expected a file or a built-in name, not 2"),
        ('problems = [{name = "x"}]', "problem 1: the field 'models' is missing"),
        ("problems = [{models = {a = [2, 0]}}]", "problem 1: "),
        ('problems = [{problem = "paper:two", truth = "theta9"}]', "unknown model 'theta9'"),
        ('problems = [{problem = "paper:two", truth = [[1]]}]', "no value for arm 'arm2'"),
        ('problems = [{problem = "paper:two", truth = []}]', "no value for arm"),
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
        ('problems = "paper:two"\nshuffle = 1', "shuffle must be True or False, not 1"),
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
        ('problems = "paper:two"\nname = 3', "the study: its name must be a text, not 3"),
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


def test_an_error_of_a_problem_says_which_as_data(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('problems = ["paper:two", { models = { x = [0.5, 7] } }]')
    with pytest.raises(InputError) as caught:
        load_study(path)
    place = ("problem", 2), ("model", "x"), ("arm", "arm2")
    assert caught.value.place == (str(path), *place)


def test_a_study_is_a_toml_file(tmp_path: Path) -> None:
    for name, message in (("study.csv", "a study is a .toml file"), ("no.toml", "no such file")):
        with pytest.raises(InputError, match=message):
            load_study(tmp_path / name)


def test_the_documented_study_is_one() -> None:
    docs = Path(__file__).parents[2] / "docs"
    study = load_study(docs / "slack.toml")
    assert len(study.cells) == 4 * 6 * 2
    assert study.against == "slack"
    shown = (docs / "scale.md").read_text().split("```toml\n")[1].split("```")[0]
    assert (docs / "slack.toml").read_text().endswith(shown)


def test_policies_of_ones_own_are_found_beside_the_study(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: list[str] = []

    def parse(word: str) -> Policy:
        words.append(word)
        return FPUCB(slack=len(words) / 10)

    monkeypatch.setattr(study_module, "parse_policy", parse)
    study = written(
        'problems = "paper:two"\nruns = 2\npolicies = ["my.pyramid/mine.py:Mine:slack=1", '
        '{policy = "mine.py:Mine", slack = [1, 2]}, "/mine.py:Mine", "optimist:delta=0.1"]'
    )
    assert words == [
        f"{tmp_path / 'my.pyramid/mine.py'}:Mine:slack=1",
        f"{tmp_path / 'mine.py'}:Mine:slack=1",
        f"{tmp_path / 'mine.py'}:Mine:slack=2",
        "/mine.py:Mine",
        "optimist:delta=0.1",
    ]
    assert study.options == ["slack"]


@dataclass(frozen=True)
class Seeded(FPUCB):
    seed: float = 0.0


def test_an_option_does_not_hide_a_column(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_module, "parse_policy", lambda word: Seeded(seed=3.0))
    with pytest.raises(InputError, match="'seed' is a column of its own"):
        written('problems = "paper:two"\npolicies = "mine.py:Seeded:seed=3"')


def test_a_link_that_leads_nowhere_is_said_in_a_line(written: Written, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").symlink_to("nowhere.toml")
    with pytest.raises(InputError, match=r"broken\.toml: there is no such file"):
        written('problems = ["broken*.toml"]')
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    with pytest.raises(StorageError, match=r"loop\.toml: cannot be read"):
        written('problems = ["loop*.toml"]')


@pytest.mark.parametrize("name", ["a\\u001b[2J", "a\\u202eb", "", " a"])
def test_a_studys_name_can_be_shown_anywhere(written: Written, name: str) -> None:
    with pytest.raises(InputError, match="the study: its name"):
        written(f'name = "{name}"\nproblems = ["paper:two"]')


def test_the_gap_in_contexts_is_within_a_context(written: Written) -> None:
    study = written(
        """
        policies = ["optimist", "fp-ucb"]
        runs = 1
        [[problems]]
        contexts = ["mobile", "desktop"]
        truth = "x"
        [problems.models.x]
        mobile = [0.9, 0.5]
        desktop = [0.2, 0.45]
        """
    )
    (label,) = study.labels.values()
    assert (label["gap"], label["arms"], label["models"]) == (0.25, 2, 1)
    (label,) = written("runs = 1\n[[problems]]\n[problems.models]\nx = [0.5, 0.5]").labels.values()
    assert label["gap"] == 0
    (remark,) = study.remarks
    assert "fp-ucb knows nothing of contexts" in remark
