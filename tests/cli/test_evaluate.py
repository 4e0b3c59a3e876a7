"""``fpbandits evaluate`` as a person and a script meet it."""

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
from waiting import LONG

MODELS = """name = "shop"
arms = ["9", "12"]
[models]
loyal = [0.9, 0.8]
thrifty = [0.8, 0.1]
[prior]
loyal = 2
thrifty = 1
"""
WORDS = ("--unit", "user", "--arm", "price", "--reward", "bought")


def write_log(path: Path, users: int) -> None:
    random = np.random.default_rng(0)
    user = np.repeat(np.arange(users), 10)
    arm = random.integers(2, size=len(user))
    means = np.array([[0.9, 0.8], [0.8, 0.1]])
    bought = random.random(len(user)) < means[user % 2, arm]
    columns = {"user": user, "price": np.array([9, 12])[arm], "bought": bought.astype(int)}
    pd.DataFrame({**columns, "p": 0.5}).to_csv(path, index=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("shop")
    write_log(folder / "log.csv", 200)
    (folder / "models.toml").write_text(MODELS)
    return str(folder / "log.csv"), str(folder / "models.toml")


def test_table_and_json(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    policies = "--policy", "frugal", "--policy", "ucb1"
    words = "evaluate", *files, *WORDS, "--uniform", *policies
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert out.startswith("log.csv: reward per decision of 200 units, models of shop\n")
    assert "\nucb1  " in out
    assert "2,000 of 2,000 rows usable" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run(capsys, *words, "--json")
    content = json.loads(out)
    assert list(content["policies"]) == ["frugal", "ucb1"]
    assert content["policies"]["frugal"]["mean"] > content["log"]["mean"]
    assert list(content["baselines"]) == ["always 9"]
    by_column = "evaluate", *files, *WORDS, "--propensity", "p", *policies, "--json"
    assert json.loads(run(capsys, *by_column)[1]) == content, "a half each is uniform"


def test_one_line_each(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    asked = "evaluate", *files, *WORDS
    assert "(--propensity), or say" in refusal(capsys, *asked)
    assert "unknown column 'q'" in refusal(capsys, *asked, "--propensity", "q")
    assert "unknown column 'day'" in refusal(capsys, *asked, "--uniform", "--time", "day")
    assert "row 3: the key '0' was there before. 1,800 rows of 2,000 repeat a key" in refusal(
        capsys, "evaluate", *files, "--unit", "p", *WORDS[2:], "--uniform", "--key", "user"
    )
    assert "unknown policy 'frugle'" in refusal(capsys, *asked, "--uniform", "--policy", "frugle")
    assert "row 2: unknown arm '12': known are 'arm1'" in refusal(
        capsys, "evaluate", files[0], "paper:two", *WORDS, "--uniform"
    )
    assert "log.csv: unknown column 'day'" in refusal(
        capsys, "evaluate", *files, *WORDS[:5], "day", "--uniform"
    )


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    write_log(tmp_path / "log.csv", 60_000)
    (tmp_path / "models.toml").write_text(MODELS)
    files = [str(tmp_path / name) for name in ("log.csv", "models.toml")]
    # The first is interrupted; the others would take long, so that none is at its end by then.
    names = ("thompson-theta", "ids-theta", "fp-llr", "optimist", "kl-ucb", "thompson")
    words = ["evaluate", *files, *WORDS, "--uniform", *(f"--policy={name}" for name in names)]
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *words], stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        seen = b""
        while b"thompson-theta" not in seen:
            seen += os.read(ours, 2**12)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # who writes to a terminal that nobody reads would wait
            while os.read(ours, 2**12):
                pass
        assert process.wait(LONG) == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(ours)


def test_a_cost_is_noted_where_models_may_be_of_revenue(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    """Amounts do not tell whether they are less their cost."""
    log, models = tmp_path / "log.csv", tmp_path / "models.toml"
    frame = pd.read_csv(files[0])
    frame["bought"] *= frame["price"]
    frame.to_csv(log, index=False)
    rates = "loyal = [[0.9, 9], [0.8, 12]]\nthrifty = [[0.8, 9], [0.1, 12]]"
    head = 'reward = "revenue"\nshape = 4\narms = ["9", "12"]'
    models.write_text(f"{head}\n[models]\n{rates}\n")
    words = ("evaluate", str(log), str(models), *WORDS, "--uniform", "--policy", "ucb1", "--json")
    warned = json.loads(run(capsys, *words, "--cost", "4")[1])["warnings"]
    assert sum("rewards are less their cost: are the models, too?" in each for each in warned) == 1
    assert "cost" not in str(json.loads(run(capsys, *words)[1])["warnings"])
