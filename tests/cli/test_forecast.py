"""`fpbandits forecast`."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import pytest
from command import run

from fpbandits import forecast
from fpbandits.cli.forecast import forecast as forecast_command

SHORT = ("--horizon", "100", "--runs", "20")


def test_words_json_and_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "forecast", "paper:two", *SHORT)
    assert code == 0
    assert out.startswith("paper:two: 2 models, 2 arms, 100 plays, each model equally likely\n")
    folder = tmp_path / "page"
    code, out, err = run(capsys, "forecast", "paper:two", *SHORT, "--json", "--report", str(folder))
    assert code == 0
    assert json.loads(out)["horizon"] == 100
    assert (folder / "forecast.html").exists()
    assert "wrote" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--error", "2"),
        ("--off", "x"),
        ("--truth", "nobody"),
        ("--policy", "nobody"),
        ("--report", ""),
    ],
)
def test_what_cannot_be_is_one_line(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "forecast", "paper:two", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_defaults_are_those_of_the_docs_and_of_the_function() -> None:
    """The README says 1,000 customers, the list of options 1e4 plays."""
    command, function = (
        {name: parameter.default for name, parameter in signature(each).parameters.items()}
        for each in (forecast_command, forecast)
    )
    assert (command["runs"], command["horizon"]) == (1000, 10**4)
    shared = ("horizon", "truth", "policy", "runs", "seed", "error", "off", "workers")
    assert {name: command[name] for name in shared} == {name: function[name] for name in shared}
