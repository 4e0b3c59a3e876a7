"""``fpbandits simulate`` as a person and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import refusal, run

from fpbandits import Result, load_problem
from fpbandits.cli.simulate import _by_context
from fpbandits.policies import POLICIES


def test_simulate_prints_json_as_promised(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "paper:two", "--policy", "fp-ucb:slack=0.050", "--policy", "ucb1"]
    words += ["--horizon", "1e3", "--runs", "5", "--seed", "2", "--times", "10,1e2", "--json"]
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["problem"] == "paper:two"
    assert result["truth"] == "theta1"
    assert (result["horizon"], result["runs"], result["seed"]) == (1000, 5, 2)
    assert result["times"] == [10, 100, 1000]
    assert list(result["policies"]) == ["fp-ucb:slack=0.050", "ucb1"]
    for policy in result["policies"].values():
        assert len(policy["mean_regret"]) == len(policy["std_regret"]) == 3
        assert len(policy["final_regret"]) == 5
        assert sum(policy["mean_pulls"].values()) == pytest.approx(1000)
        assert set(policy["mean_pulls"]) == {"arm1", "arm2"}


def test_simulate_by_default_plays_the_default_policy(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "paper:permutations", "--horizon", "100", "--runs", "1", "--json"]
    result = json.loads(run(capsys, *words)[1])
    assert list(result["policies"]) == ["frugal"]
    assert result["truth"] == "0.6,0.4,0.3,0.2"
    assert result["policies"]["frugal"]["std_regret"][-1] is None


def test_simulate_modes_and_truths(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["simulate", "paper:two", "--horizon", "200", "--runs", "3", "--json"]
    for options, key, value in (
        ([], "leap", True),
        (["--no-leap"], "leap", False),
        (["--stop", "0.05"], "leap", False),
        (["--delay", "3"], "leap", False),
        (["--worst-case"], "worst_case", True),
        (["--shuffle"], "shuffle", True),
        (["--truth", "theta2"], "truth", "theta2"),
        (["--truth-means", ".5,0.6"], "truth", "0.5,0.6"),
        (["--workers", "1"], "runs", 3),
    ):
        assert json.loads(run(capsys, *base, *options)[1])[key] == value


def test_every_truth_in_turn_is_what_each_is_alone(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["simulate", "paper:two", "--policy", "ucb1", "--policy", "optimist", "--shuffle"]
    base += ["--horizon", "200", "--runs", "3", "--times", "50"]
    code, out, err = run(capsys, *base, "--truth", "all", "--json")
    assert (code, err) == (0, "")
    every = json.loads(out)
    assert (every["problem"], every["horizon"], every["runs"]) == ("paper:two", 200, 3)
    assert every["times"] == [50, 200]
    assert "policies" not in every
    assert "truth" not in every
    assert list(every["truths"]) == ["theta1", "theta2"]
    for truth, own in every["truths"].items():
        assert own == json.loads(run(capsys, *base, "--truth", truth, "--json")[1])
    code, out, _ = run(capsys, *base, "--truth", "all")
    assert code == 0
    starts = [line.split()[:2] for line in out.splitlines()[3:]]
    assert [start[0] for start in starts] == ["theta1", "optimist", "theta2", "optimist"]


def test_a_model_called_all_is_one_truth(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("model,a,b\nall,0.5,0.4\nnone,0.1,0.2\n")
    words = [str(file), "--truth", "all", "--json"]
    result = json.loads(run(capsys, "simulate", *words, "--runs", "2", "--horizon", "10")[1])
    assert result["truth"] == "all"
    assert len(json.loads(run(capsys, "analyze", *words)[1])["cases"]) == 1
    assert len(json.loads(run(capsys, "analyze", "paper:two", *words[1:])[1])["cases"]) == 2


def test_all_policies_are_those_that_can_play(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "paper:two", "--policy", "fp-ucb:slack=0.1", "--policy", "all"]
    code, out, err = run(capsys, *words, "--horizon", "20", "--runs", "2", "--json")
    assert code == 0
    played = list(json.loads(out)["policies"])
    assert played == ["fp-ucb:slack=0.1", *(name for name in POLICIES if name != "bpr")]
    (note,) = err.splitlines()
    assert note.startswith("note: left out: bpr needs one largest mean")


def test_simulate_keeps_its_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    words = ["simulate", "paper:two", "--horizon", "200", "--runs", "3", "--out", str(out)]
    code, text, err = run(capsys, *words)
    assert code == 0
    assert "frugal" in text
    assert "wrote" in err
    products = {"result.npz", "regret.csv", "regret.png"}
    assert {path.name for path in out.iterdir()} == products | {
        "manifest.json",
        "chunks",
        ".lock",
        ".owner",
    }
    assert Result.load(out / "result.npz").runs == 3


def test_a_refused_simulation_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "new"
    code, _, _ = run(capsys, "simulate", "paper:two", "--policy", "nope", "--out", str(out))
    assert code == 2
    assert not out.exists()


def test_what_is_remarkable_is_a_note_of_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["simulate", "paper:two", "--horizon", "200", "--runs", "3", "--out", str(tmp_path)]
    run(capsys, *words)
    (tmp_path / "manifest.json").write_text("{")
    code, _, err = run(capsys, *words)
    assert code == 0
    assert err.startswith(f"note: {tmp_path / 'manifest.json'}: damaged (it is cut off")
    assert len(err.splitlines()) == 2
    assert err.splitlines()[1].startswith("wrote ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "paper:two", "--horizon", "0"], "horizon is 0: it must be at least 1"),
        (
            ["simulate", "paper:two", "--horizon", "1.5"],
            "horizon is 1.5: it must be a whole number",
        ),
        (["simulate", "paper:two", "--horizon", "1e16"], "2^53: beyond it 64-bit floats do"),
        (["simulate", "paper:two", "--horizon", "ten"], "--horizon is 'ten': expected a number"),
        (["simulate", "paper:two", "--horizon", "1" + "0" * 400], "2^53: beyond it 64-bit"),
        (["simulate", "paper:two", "--runs", "0"], "runs is 0: it must be at least 1"),
        (["simulate", "paper:two", "--runs", "1e12"], "ask for fewer runs or times"),
        (["simulate", "paper:two", "--seed", "-1"], "seed is -1: it must be at least 0"),
        (["simulate", "paper:two", "--workers", "0"], "workers is 0: it must be at least 1"),
        (["simulate", "paper:two", "--policy", "fpucb"], "did you mean 'fp-ucb'?"),
        (["simulate", "paper:two", "--policy", "ucb1", "--policy", "ucb1"], "is given twice"),
        (["simulate", "paper:two", "--truth", "theta3"], "unknown model 'theta3'"),
        (["simulate", "paper:two", "--truth", "x", "--truth-means", "1"], "give one of them"),
        (["simulate", "paper:two", "--no-leap", "--worst-case"], "exclude each other"),
        (["simulate", "paper:two", "--stop", "0.05", "--out", "x"], "no runs: leave out --out"),
        (["simulate", "paper:two", "--stop", "0.05", "--dask", "x"], "no runs: leave out --dask"),
        (["simulate", "paper:two", "--truth", "all", "--out", "x"], "write a study (sweep)"),
        (["simulate", "paper:two", "--policy", "all", "--policy", "all"], "is given twice"),
        (["simulate", "paper:two", "--times", "5,,7"], "--times is '': expected a number"),
        (
            ["simulate", "paper:two", "--out", "/dev/null/x"],
            "/dev/null/x: cannot be written to (Not a directory)",
        ),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert message in refusal(capsys, *words)


def test_who_names_no_truth_has_it_drawn_from_the_prior_and_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("model,a,b\nx,0.5,0.4\ny,0.1,0.2\n")
    words = ["--horizon", "10", "--runs", "3", "--json"]
    code, out, err = run(capsys, "simulate", str(file), *words)
    assert code == 0
    assert json.loads(out)["truth"] == "prior"
    assert err == "note: mine names no truth: it is drawn from the prior, for each run\n"
    named = run(capsys, "simulate", str(file), "--truth", "prior", *words)
    assert named == (0, out, "")


def test_errors_come_without_notes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A truth that is drawn from the prior is noted, but not before an error."""
    file = tmp_path / "mine.toml"
    text = 'arms = ["9 EUR", "15 EUR"]\nvalue = [9, 15]\n[models]\nx = [0.5, 0.4]\ny = [0.5, 0.1]\n'
    file.write_text(text)
    words = ("simulate", str(file), "--runs", "2", "--horizon", "10")
    assert run(capsys, *words)[2].startswith("note: mine names no truth")
    assert refusal(capsys, *words, "--workers", "0").startswith("error: workers is 0")
    assert refusal(capsys, *words, "--truth-means", "5,20") == (
        "error: --truth-means: model 'the truth', arm '15 EUR': the mean reward 20 is not between "
        "0 and 15, what the arm pays\n"
    )
    file.write_text(f"{text}[transitions]\nx = {{ x = 0.9, y = 0.1 }}\ny = {{ y = 1 }}\n")
    assert "moves by its transitions" in refusal(capsys, *words, "--stop", "0.05")


IN_CONTEXTS = """
arms = ["a", "b", "c"]
contexts = ["x", "y"]
[models]
low = {x = [0.1, 0.2, 0.3], y = [0.3, 0.2, 0.1]}
high = {x = [0.7, 0.8, 0.9], y = [0.9, 0.8, 0.7]}
"""


def test_true_means_are_given_context_by_context(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(IN_CONTEXTS)
    problem = load_problem(file)
    assert _by_context(problem, [1, 2, 3, 4, 5, 6]) == [[1, 2, 3], [4, 5, 6]]
    two = load_problem("paper:two")
    assert _by_context(two, [1, 2, 3]) == [1, 2, 3], "checked where contexts or not are the same"
    words = ("simulate", str(file), "--runs", "2", "--horizon", "10", "--policy", "ucb1", "--json")
    code, out, err = run(capsys, *words, "--truth-means", "0.1,0.2,0.3,0.6,0.5,0.4")
    assert (code, err) == (0, ""), "no note: a truth is named"
    assert json.loads(out)["truth"] == "0.1,0.2,0.3,0.6,0.5,0.4"
    assert refusal(capsys, *words, "--truth-means", "0.1") == (
        "error: --truth-means has 1 value, and mine has 2 contexts of 3 arms: give 6, those of "
        "context 'x' first\n"
    )
