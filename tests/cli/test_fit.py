"""``fpbandits fit`` as a person and a script meet it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import COMMAND, refusal, run
from logs import drawn
from waiting import LONG

from fpbandits import load_problem
from fpbandits.report.text import LOOK_ALIKE

WORDS = ("--unit", "user", "--arm", "arm", "--reward", "reward")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("logs") / "shop.csv"
    frame = pd.DataFrame(drawn(1, units=400).log)
    frame["reward"] = frame["reward"].astype(int)
    frame.to_csv(path, index=False)
    return str(path)


def test_json_and_a_problem_file(
    capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path
) -> None:
    models = tmp_path / "models.toml"
    code, out, err = run(capsys, "fit", log, *WORDS, "--save", str(models), "--json")
    assert (code, err) == (0, f"wrote {models}\n")
    content = json.loads(out)
    assert content["types"] == 2
    assert (content["units"], content["events"]) == (400, 3200)
    problem = load_problem(models)
    assert problem.name == "shop"
    assert {
        name: row.tolist() for name, row in zip(problem.models, problem.means, strict=True)
    } == (content["models"])
    assert problem.prior == pytest.approx(list(content["shares"].values()))
    assert run(capsys, "fit", log, *WORDS, "--json")[1] == out, "bit for bit"
    words = " ".join(LOOK_ALIKE.split())
    for command in (("analyze", str(models)), ("fit", log, *WORDS)):
        assert words in " ".join(run(capsys, *command)[1].split()), "the same in both"


def test_a_table_and_a_page(capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    code, out, err = run(capsys, "fit", log, *WORDS, "--types", "2", "--report", str(folder))
    assert (code, err) == (0, f"wrote {folder / 'report.html'}\n")
    assert out.startswith("2 types from 3,200 rewards of 400 units, bernoulli rewards in [0, 1]\n")
    assert "type1: playing " in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    names = {path.name for path in folder.iterdir()}
    assert {"report.html", "types.png", "types.svg", "fit.json", "models.toml"} == names
    assert not any(name.startswith(".") for name in names), "nothing is left aside"


def test_bad_logs_get_one_line(
    capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path
) -> None:
    lines = Path(log).read_text().splitlines()
    path = tmp_path / "bad.csv"

    def refused(row: int | None, cell: str, *words: str) -> str:
        changed = list(lines)
        if row is not None:
            cells = changed[row - 1].split(",")
            changed[row - 1] = ",".join([*cells[:2], cell])
        path.write_text("\n".join(changed) + "\n")
        return refusal(
            capsys, "fit", str(path), *(words or WORDS), "--save", str(tmp_path / "m.toml")
        )

    assert "row 17: the reward is 'yes': expected a number" in refused(17, "yes")
    assert "row 18: the reward is missing" in refused(18, "nan")
    assert "row 19: the reward is missing. 1 of 3,200 rows lack something: --missing" in refused(
        19, ""
    )
    assert "row 20: the reward 7 is neither 0 nor 1" in refused(20, "7")
    assert "row 20: the reward 7 is outside the range [0, 1]" in refused(
        20, "7", *WORDS, "--range", "0,1"
    )
    assert "unknown column 'sold'" in refused(None, "", *WORDS[:-1], "sold")
    assert "unknown arm '1': known are '0', '2'" in refused(None, "", *WORDS, "--arms", "0,2")
    assert not (tmp_path / "m.toml").exists()
    path.write_text("")
    assert "it is empty" in refusal(capsys, "fit", str(path), *WORDS)


def test_bad_options_get_one_line(capsys: pytest.CaptureFixture[str], log: str) -> None:
    assert ".toml file" in refusal(capsys, "fit", log, *WORDS, "--save", "models.csv")
    assert "no folder" in refusal(capsys, "fit", log, *WORDS, "--save", "nowhere/models.toml")
    assert "Missing option '--reward'" in refusal(capsys, "fit", log, *WORDS[:4])
    assert "no such file" in refusal(capsys, "fit", "nosuch.csv", *WORDS)
    assert "--arms is empty: name the arms" in refusal(capsys, "fit", log, *WORDS, "--arms", " ")
    assert refusal(capsys, "fit", log, *WORDS, "--shape", "3") == (
        "error: shape is for revenue rewards, not for bernoulli: leave it out\n"
    )


def test_prices_with_commas_and_one_that_was_never_paid(
    capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path
) -> None:
    frame = pd.read_csv(log)
    prices = {0: "9,50 €", 1: "12 €", 2: "15 €"}
    frame["reward"] *= frame["arm"].map({0: 9.5, 1: 12, 2: 15})
    frame["arm"] = frame["arm"].map(prices)
    path, models = tmp_path / "prices.csv", tmp_path / "models.toml"
    frame.to_csv(path, index=False)
    words = ("fit", str(path), *WORDS, "--types", "2", "--save", str(models))
    arms = ("--arms", '"9,50 €", 12 €, 15 €, 18 €')
    assert "'18 €' never paid in this log" in refusal(capsys, *words, *arms)
    assert not models.exists()
    assert run(capsys, *words, *arms, "--value", "9.5,12,15,18")[0] == 0
    problem = load_problem(models)
    assert problem.arms == ("9,50 €", "12 €", "15 €", "18 €")
    assert problem.rewards.content["value"].tolist() == [9.5, 12, 15, 18]  # type: ignore[union-attr]


def test_threads_change_no_bit(log: str) -> None:
    outputs = set()
    for threads in "14":
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        words = [*COMMAND, "fit", log, *WORDS, "--json"]
        outputs.add(subprocess.run(words, env=environment, capture_output=True, check=True).stdout)
    assert len(outputs) == 1


def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    truth = drawn(
        2,
        "gaussian",
        units=40_000,
        means=np.random.default_rng(0).random((6, 8)),
        shares=[1 / 6] * 6,
    )
    path = tmp_path / "log.csv"
    pd.DataFrame(truth.log).to_csv(path, index=False)
    models = tmp_path / "models.toml"
    words = ["fit", str(path), *WORDS, "--family", "gaussian", "--save", str(models)]
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *words], stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        seen = b""
        while b"fitting 3 types" not in seen:
            seen += os.read(ours, 2**12)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # who writes to a terminal that nobody reads would wait
            while os.read(ours, 2**12):
                pass
        assert process.wait(LONG) == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(ours)
    assert [each.name for each in tmp_path.iterdir()] == ["log.csv"]
