"""``fpbandits report``: for people and for machines."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import run
from stores import put, served

from fpbandits.cli import output
from fpbandits.cli.output import print_result
from fpbandits.cli.report import _table
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.store import open_store


def test_a_report_is_printed_and_is_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.db")
    with closing(open_store(path, make=True)) as store:
        experiment = put(store, control={"arm": "b", "share": 0.3})
        for number in range(3):
            served(store, experiment, [Ask(f"u{n}") for n in range(50)])
            tells = [Tell((f"u{n}", number), float(n % 2)) for n in range(50)]
            served(store, experiment, list(tells))
        put(store, "plain")
    code, out, _ = run(capsys, "report", path, "--experiment", "e", "--json")
    found = json.loads(out)
    assert (code, found["decisions"], found["control"]["as_of"]) == (0, 150, 125)
    code, out, _ = run(capsys, "report", path, "--experiment", "e")
    assert code == 0
    for words in ("50 units, 150 decisions", "likeliest model", "always b", "as of 125 rewards"):
        assert words in " ".join(out.split())
    code, out, _ = run(capsys, "report", path, "--experiment", "plain")
    assert (code, "control" in out) == (0, False)
    code, _, said = run(capsys, "report", path, "--experiment", "none")
    assert (code, said.splitlines()[0][:32]) == (2, "error: unknown experiment 'none'"[:32])


def test_a_report_gets_the_width_that_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[int] = []
    monkeypatch.setattr(output, "print_table", lambda table, least: widths.append(least))
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        put(store)
    run(capsys, "report", str(tmp_path / "a.db"), "--experiment", "e")
    assert widths == [70]


def group(**sums: object) -> dict[str, object]:
    return {"units": 1000, "decisions": 2000, "mean_reward": 0.25, **sums}


CONTROL = {
    "arm": "b",
    "policy": group(),
    "control": group(units=7, mean_reward=None),
    "difference": 0.125,
    "interval": [-0.5, 0.75],
    "as_of": 1250,
    "error": 0.05,
    "sample_ratio": {"share": 0.2, "p_value": 2e-5, "fits": False},
}


@pytest.mark.parametrize(
    ("control", "lines"),
    [
        (None, []),
        (
            CONTROL,
            [
                "above control by 0.125 per decision, -0.5 … 0.75, as of 1,250 rewards",
                "(95% for all looks together)",
                "warning: the control group is not 0.2 of the units (p = 2e-05): units are lost or "
                "invented",
            ],
        ),
        (
            {**CONTROL, "interval": None, "sample_ratio": {"fits": True}},
            ["above control: too few rewards, or rewards without bounds"],
        ),
    ],
)
def test_a_report_in_full(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    control: dict[str, Any] | None,
    lines: list[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    counts = ("units", "decisions", "rewards", "pending", "blocked", "expired", "late", "misfits")
    content = {
        "experiment": "e",
        **{name: 1000 + place for place, name in enumerate(counts)},
        "arms": {"a": group()},
        "models": {"x": group(mean_reward=None)},
        "control": control,
    }
    print_result(False, lambda: content, lambda: _table(content), least_width=70)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    words = " ".join(word for line in printed for word in line)
    assert words.startswith(
        "e: 1,000 units, 1,001 decisions, 1,002 rewards, 1,003 pending, 1,004 blocked, 1,005 "
        "expired, 1,006 late, 1,007 misfits"
    )
    assert ["arm", "decisions", "mean", "reward"] in printed
    assert ["a", "2,000", "0.25"] in printed
    assert ["likeliest", "model", "units", "decisions", "mean", "reward"] in printed
    assert ["x", "1,000", "2,000"] in printed
    assert (["always", "b", "7", "2,000"] in printed) is (control is not None)
    assert (["policy", "1,000", "2,000", "0.25"] in printed) is (control is not None)
    assert words.endswith(" ".join(lines) or "2,000")
