"""``fpbandits policies`` as a person and a script meet it."""

from __future__ import annotations

import json

import pytest
from command import run


def test_policies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "policies")
    assert code == 0
    for name in ("optimist (default)", "ucb1", "thompson", "slack=0.0"):
        assert name in " ".join(out.split())
    rows = json.loads(run(capsys, "policies", "--json")[1])
    assert [row["name"] for row in rows if row["default"]] == ["optimist"]
