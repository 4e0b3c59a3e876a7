from __future__ import annotations

import sys

import pytest
from command import refusal, run


def test_help_says_how_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "lab", "--help")
    assert code == 0
    assert "Ctrl-C ends it" in out
    assert "--no-browser" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.toml"], "nowhere.toml"),
        (["paper:tow"], "did you mean 'paper:two'"),
        (["--port", "70000"], "--port 70000 is not a port"),
        (["--port", "-1"], "--port -1 is not a port"),
        (["--port", "x"], "--port is 'x': expected a number"),
        (["--prot", "1"], "did you mean --port?"),
        (["--store", "sqlite:///nowhere.db"], "nowhere.db: there is no such store"),
        (["--store", "mysql://x"], "unknown store 'mysql://x'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_served(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal(capsys, "lab", *words)


def test_without_its_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("fpbandits.lab.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'fpbandits[lab]'" in refusal(capsys, "lab", "--no-browser")
