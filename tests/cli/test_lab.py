from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command import refusal, run

from fpbandits.problem.problem import Problem
from fpbandits.service.store import Store, open_store


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
        (["--port", "65536"], "--port 65536 is not a port"),
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


def test_what_is_served(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served: list[tuple[str, int, bool, bool]] = []

    def note(problem: Problem, port: int, *, store: Store | None, open_browser: bool) -> None:
        served.append((problem.name, port, store is None, open_browser))
        if store is not None:
            store.close()

    monkeypatch.setattr("fpbandits.lab.server.serve", note)
    path = f"sqlite:///{tmp_path / 'a.db'}"
    open_store(path, make=True).close()
    for words in (
        [],
        ["paper:grid", "--port", "65535", "--no-browser"],
        ["--port", "1", "--store", path, "--browser"],
    ):
        assert run(capsys, "lab", *words)[0] == 0
    assert served == [
        ("paper:two", 0, True, True),
        ("paper:grid", 65535, True, False),
        ("paper:two", 1, False, True),
    ]
