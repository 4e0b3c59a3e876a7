"""``fpbandits report``: for people and for machines."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from command import run
from stores import put, served

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
