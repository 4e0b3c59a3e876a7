"""``fpbandits analyze`` as a person and a script meet it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command import COMMAND, refusal, run


def test_json_has_the_promised_shape(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "analyze", "paper:two", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["problem"] == "paper:two"
    assert result["arms"] == ["arm1", "arm2"]
    assert result["models"] == ["theta1", "theta2"]
    assert result["candidate_arms"] == ["arm1", "arm2"]
    assert result["ties"] == []
    bounded, logarithmic = result["cases"]
    assert bounded["truth"] == "theta1"
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
    code, out, _ = run(capsys, "analyze", "paper:grid", "--truth", "0.4,0.3,0.2,0.2", "--json")
    assert code == 0
    (case,) = json.loads(out)["cases"]
    assert case["truth"] == "0.4,0.3,0.2,0.2"


def test_tables_give_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", "paper:two")
    assert code == 0
    text = " ".join(out.split())
    assert "theta1: best is arm1 losses stop: about 3 plays of arm1 tell theta1 from theta2" in text
    assert "costs at least 0.5069 more each time the number of plays grows tenfold" in text
    assert "under the default policy; where they never stop, no policy" in text
    assert "The paper's bounds: --bounds" in text
    code, out, _ = run(capsys, "analyze", "paper:two", "--truth", "theta2")
    assert "If the truth is theta2, losses never stop" in " ".join(out.split())
    assert "FP-UCB" not in out
    code, out, _ = run(capsys, "analyze", "paper:two", "--bounds")
    text = " ".join(out.split())
    assert "bounded; 117 plays of arm1 rule" in text
    assert "1 bounded, 1 logarithmic for FP-UCB" in text
    code, out, _ = run(capsys, "analyze", "paper:two", "--truth", "theta2", "--bounds")
    text = " ".join(out.split())
    assert "logarithmic, because it looks like theta1 while you play arm2" in text
    assert "7.347" in out


def test_names_are_not_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('arms = ["[bold]a", "b[/]"]\n[models]\n"[red]x" = [0.1, 0.2]\n')
    for options in ([], ["--truth", "[red]x"]):
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


def test_too_many_models_for_a_figure_or_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "many.csv"
    path.write_text("model,a\n" + "".join(f"p{i},0.5\n" for i in range(2500)))
    code, _, err = run(capsys, "analyze", str(path))
    assert code == 2
    assert "2,500 models make too many cases" in err
    plot = tmp_path / "x.png"
    code, _, err = run(capsys, "analyze", str(path), "--truth", "p7", "--plot", str(plot))
    assert code == 2
    assert "2,500 models are too many to draw" in err
    assert not plot.exists()


def test_a_refused_command_leaves_no_figure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot = tmp_path / "x.png"
    code, _, _ = run(capsys, "analyze", "paper:two", "--truth", "nope", "--plot", str(plot))
    assert code == 2
    assert not plot.exists()


def test_narrow_terminals_lose_no_figures() -> None:
    process = subprocess.run(
        [*COMMAND, "analyze", "paper:grid", "--truth", "0.4,0.3,0.2,0.2", "--bounds"],
        env={**os.environ, "COLUMNS": "40"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "104,027.7" in process.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["analyze", "paper:tow"], "did you mean 'paper:two'?"),
        (["analyze", "none.toml"], "none.toml: there is no such file"),
        (["analyze", "paper:two", "--truth", "theta3"], "unknown model 'theta3': did you mean"),
        (["analyze", "paper:two", "--plot", "x.pdf"], "unknown figure ending '.pdf'"),
        (["analyze", "paper:two", "--plot", "no/where.png"], "there is no folder 'no'"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert message in refusal(capsys, *words)
