"""``fpbandits policies`` as a person and a script meet it."""

from __future__ import annotations

import json

import pytest
from command import refusal, run

from fpbandits.policies import POLICIES, SMALL


def test_policies_are_listed_on_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, "policies")
    assert code == 0
    for name in POLICIES | SMALL:
        assert f"\n{name} " in out
    assert "frugal (default)" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) <= 34
    rows = json.loads(run(capsys, "policies", "--json")[1])
    assert {row["name"] for row in rows} == {*POLICIES, *SMALL}
    assert [row["name"] for row in rows if row["default"]] == ["frugal"]


@pytest.mark.parametrize("name", POLICIES | SMALL)
def test_each_policy_has_a_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (row,) = json.loads(run(capsys, "policies", name, "--json")[1])
    assert row in json.loads(run(capsys, "policies", "--json")[1])
    code, out, _ = run(capsys, "policies", name)
    assert code == 0
    assert out.startswith(name)
    words = " ".join(out.split())
    assert row["knows"] in words
    assert row["guarantee"] in words
    assert row["description"] in words
    assert row["reference"] in words
    for option, value in row["options"].items():
        assert f" {option} {value} {row['meaning'][option].split()[0]} " in words
    assert len(words) > 300, "its definition is there too"


def test_a_policy_of_another_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(capsys, "policies", "optimst")
    assert "unknown policy 'optimst': did you mean 'optimist'? Known are 'fp-ucb'" in message


def test_policies_that_know_the_models_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "policies", "--json")[1])
    knowing = [row["knows"].startswith("Θ") for row in rows]
    assert knowing == sorted(knowing, reverse=True)
    assert 0 < sum(knowing) < len(rows)
