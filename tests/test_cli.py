"""The command line as a person and a script meet it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fpbandits import Result
from fpbandits.cli import main
from fpbandits.simulation import runner

COMMAND = [sys.executable, "-c", "from fpbandits.cli import main; main()"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    output = capsys.readouterr()
    return int(str(caught.value.code)), output.out, output.err


def test_json_has_the_promised_shape(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "analyze", "paper:two", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["problem"] == "paper:two"
    assert result["arms"] == ["arm1", "arm2"]
    assert result["parameters"] == ["theta1", "theta2"]
    assert result["candidate_arms"] == ["arm1", "arm2"]
    assert result["ties"] == []
    bounded, logarithmic = result["cases"]
    assert bounded["true"] == "theta1"
    assert bounded["best_arm"] == "arm1"
    assert bounded["regime"] == "bounded"
    assert bounded["confusion_set"] == bounded["confusing_arms"] == []
    assert set(bounded["gaps"]) == {"arm1", "arm2"}
    assert bounded["betas"] == {}
    assert set(bounded["theorem1"]) == {"printed", "corrected", "terms"}
    for version in ("printed", "corrected"):
        assert set(bounded["theorem1"][version]) == {"constants", "constant", "log_coefficient"}
    assert set(bounded["theorem1"]["terms"]["theta2"]) >= {"alpha", "k", "K", "lemma2"}
    assert bounded["theorem2"]["coefficient"] == 0
    assert bounded["theorem2"]["all_arms"]["coefficient"] == 0
    assert set(bounded["ucb1"]) == {"log_coefficient", "constant"}
    assert logarithmic["regime"] == "logarithmic"
    assert logarithmic["confusion_set"] == ["theta1"]
    assert logarithmic["theorem1"]["printed"] == {
        "constants": {},
        "constant": None,
        "log_coefficient": pytest.approx(7.3469, abs=1e-4),
    }
    assert logarithmic["theorem2"]["confusion_set"] == ["theta1"]
    assert set(logarithmic["theorem2"]["pulls"]) == {"arm1"}


def test_one_case_for_a_named_truth(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", "paper:grid", "--true", "0.4,0.3,0.2,0.2", "--json")
    assert code == 0
    (case,) = json.loads(out)["cases"]
    assert case["true"] == "0.4,0.3,0.2,0.2"


def test_tables_give_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", "paper:two")
    assert code == 0
    text = " ".join(out.split())
    assert "bounded; 117 plays of arm1 rule" in text
    assert "1 bounded, 1 logarithmic for FP-UCB" in text
    code, out, _ = run(capsys, "analyze", "paper:two", "--true", "theta2")
    text = " ".join(out.split())
    assert "logarithmic, because it looks like theta1 while you play arm2" in text
    assert "7.347" in out


def test_simulate_prints_json_as_promised(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "paper:two", "--policy", "fp-ucb:slack=0.050", "--policy", "ucb1"]
    words += ["--horizon", "1e3", "--runs", "5", "--seed", "2", "--times", "10,1e2", "--json"]
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["problem"] == "paper:two"
    assert result["true"] == "theta1"
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
    assert list(result["policies"]) == ["optimist"]
    assert result["true"] == "0.6,0.4,0.3,0.2"
    assert result["policies"]["optimist"]["std_regret"][-1] is None


def test_simulate_modes_and_truths(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["simulate", "paper:two", "--horizon", "200", "--runs", "3", "--json"]
    for options, key, value in (
        (["--step"], "leap", False),
        (["--exact"], "exact", True),
        (["--shuffle"], "shuffle", True),
        (["--true", "theta2"], "true", "theta2"),
        (["--true-means", ".5,0.6"], "true", "0.5,0.6"),
        (["--workers", "1"], "runs", 3),
    ):
        assert json.loads(run(capsys, *base, *options)[1])[key] == value


def test_simulate_keeps_its_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    words = ["simulate", "paper:two", "--horizon", "200", "--runs", "3", "--out", str(out)]
    code, text, err = run(capsys, *words)
    assert code == 0
    assert "optimist" in text
    assert "wrote" in err
    products = {"result.npz", "regret.csv", "regret.png"}
    assert {path.name for path in out.iterdir()} == products | {"manifest.json", "chunks", ".lock"}
    assert Result.load(out / "result.npz").runs == 3


def test_a_refused_simulation_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "new"
    code, _, _ = run(capsys, "simulate", "paper:two", "--policy", "nope", "--out", str(out))
    assert code == 2
    assert not out.exists()


def test_a_result_of_an_earlier_version_is_not_written_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "result.npz").write_bytes(b"precious")
    code, _, err = run(capsys, "simulate", "paper:two", "--out", str(tmp_path))
    assert code == 2
    assert err == (
        f"error: {tmp_path}: holds a result of an earlier version: name another folder\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["result.npz"]


def test_policies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "policies")
    assert code == 0
    for name in ("optimist (default)", "ucb1", "thompson", "slack=0.0"):
        assert name in " ".join(out.split())
    rows = json.loads(run(capsys, "policies", "--json")[1])
    assert [row["name"] for row in rows if row["default"]] == ["optimist"]


def test_long_jobs_are_announced_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "play_pieces", interrupted)
    words = ["simulate", "paper:two", "--policy", "thompson", "--horizon", "1e14", "--step"]
    code, out, err = run(capsys, *words)
    assert code == 130
    assert out == ""
    assert err.startswith("note: thompson goes step by step here, 1e+16 steps in all: about")
    assert len(err.splitlines()) == 1


def test_names_are_not_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('arms = ["[bold]a", "b[/]"]\n[parameters]\n"[red]x" = [0.1, 0.2]\n')
    for options in ([], ["--true", "[red]x"]):
        code, out, _ = run(capsys, "analyze", str(path), *options)
        assert code == 0
        assert "[red]x" in out
    assert "[bold]a" in out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot_is_written_once_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"figure.{ending}"
    contents = []
    for _ in range(2):
        code, _, err = run(capsys, "analyze", "paper:two", "--plot", str(path))
        assert code == 0
        assert err == f"wrote {path}\n"
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["analize", "paper:two"], "No such command 'analize'. Did you mean 'analyze'?"),
        (["analyze"], "Missing argument 'problem'"),
        (["analyze", "paper:two", "--treu", "x"], "No such option: --treu"),
        (["analyze", "paper:two", "--true"], "Option '--true' requires an argument"),
        (["analyze", "paper:two", "x"], "Got unexpected extra argument"),
        (["analyze", "paper:tow"], "did you mean 'paper:two'?"),
        (["analyze", "none.toml"], "none.toml: there is no such file"),
        (["analyze", "paper:two", "--true", "theta3"], "unknown parameter 'theta3': did you mean"),
        (["analyze", "paper:two", "--plot", "x.pdf"], "unknown figure ending '.pdf'"),
        (["analyze", "paper:two", "--plot", "no/where.png"], "there is no folder 'no'"),
        (["simulate", "paper:two", "--horizon", "0"], "horizon is 0: it must be at least 1"),
        (
            ["simulate", "paper:two", "--horizon", "1.5"],
            "horizon is 1.5: it must be a whole number",
        ),
        (["simulate", "paper:two", "--horizon", "1e16"], "2^53: beyond it the sum of an arm's"),
        (["simulate", "paper:two", "--horizon", "ten"], "--horizon is 'ten': expected a number"),
        (["simulate", "paper:two", "--horizon", "1" + "0" * 400], "2^53: beyond it the sum"),
        (["simulate", "paper:two", "--runs", "0"], "runs is 0: it must be at least 1"),
        (["simulate", "paper:two", "--runs", "1e12"], "ask for fewer runs or times"),
        (["simulate", "paper:two", "--seed", "-1"], "seed is -1: it must be at least 0"),
        (["simulate", "paper:two", "--workers", "0"], "workers is 0: it must be at least 1"),
        (["simulate", "paper:two", "--policy", "fpucb"], "did you mean 'fp-ucb'?"),
        (["simulate", "paper:two", "--policy", "ucb1", "--policy", "ucb1"], "is given twice"),
        (["simulate", "paper:two", "--true", "theta3"], "unknown parameter 'theta3'"),
        (["simulate", "paper:two", "--true", "x", "--true-means", "1"], "give one of them"),
        (["simulate", "paper:two", "--step", "--exact"], "exclude each other"),
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
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert len(err.splitlines()) == 1


def test_too_many_parameters_for_a_figure_or_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "many.csv"
    path.write_text("parameter,a\n" + "".join(f"p{i},0.5\n" for i in range(2500)))
    code, _, err = run(capsys, "analyze", str(path))
    assert code == 2
    assert "2,500 parameters make too many cases" in err
    plot = tmp_path / "x.png"
    code, _, err = run(capsys, "analyze", str(path), "--true", "p7", "--plot", str(plot))
    assert code == 2
    assert "2,500 parameters are too many to draw" in err
    assert not plot.exists()


def test_a_refused_command_leaves_no_figure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot = tmp_path / "x.png"
    code, _, _ = run(capsys, "analyze", "paper:two", "--true", "nope", "--plot", str(plot))
    assert code == 2
    assert not plot.exists()


@pytest.mark.parametrize("words", [["analyze", "paper:two"], ["analyze", "paper:two", "--json"]])
def test_output_that_cannot_be_written_makes_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert process.returncode == 1
    assert process.stderr.startswith("error: the output could not be written (No space left")
    assert len(process.stderr.splitlines()) == 1


def test_a_terminal_without_greek_gets_question_marks() -> None:
    process = subprocess.run(
        [*COMMAND, "analyze", "paper:two", "--true", "theta2"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert "logarithmic, because it looks like theta1" in process.stdout
    assert process.stderr == ""


def test_narrow_terminals_lose_no_figures() -> None:
    process = subprocess.run(
        [*COMMAND, "analyze", "paper:grid", "--true", "0.4,0.3,0.2,0.2"],
        env={**os.environ, "COLUMNS": "40"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "104,027.7" in process.stdout


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"]):
        code, out, _ = run(capsys, *words)
        assert code == 0
        assert "analyze" in out
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.startswith("fpbandits ")


def test_help_does_not_load_the_heavy_packages() -> None:
    script = (
        "import sys\nfrom fpbandits.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'matplotlib', 'rich', 'numba'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert output.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_makes_no_traceback() -> None:
    process = subprocess.Popen(
        [*COMMAND, "analyze", "paper:grid", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()


def test_ctrl_c_exits_130_without_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "slow.csv"
    rows = (f"p{i},{i % 97 / 100},{i % 89 / 100},{i % 83 / 100}\n" for i in range(2000))
    path.write_text("parameter,a,b,c\n" + "".join(rows))
    process = subprocess.Popen(
        [*COMMAND, "analyze", str(path), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Where the tests run in the background, a child would inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(3)
    assert process.poll() is None, "the work ended before it could be interrupted"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
