"""Progress is told to the end, and what does not fit into memory is refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fpbandits import FPUCB, InputError, Thompson, load_problem, simulate


def test_progress_ends_at_one() -> None:
    shares: dict[str, list[float]] = {}
    totals: list[float] = []

    def note(name: str, share: float, share_of_all: float) -> None:
        shares.setdefault(name, []).append(share)
        totals.append(share_of_all)

    simulate(
        load_problem("paper:two"), [FPUCB(), Thompson()], horizon=10**4, runs=20, progress=note
    )
    for values in shares.values():
        assert values[-1] == 1
        assert values.count(1) == 1
        assert all(0 <= value <= 1 for value in values)
    assert set(shares) == {"fp-ucb", "thompson"}
    assert totals[-1] == 1
    assert totals == sorted(totals)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("paper:two")
    with pytest.raises(InputError, match=r"10,000,000,000 runs take .* GiB and this machine has"):
        simulate(problem, runs=10**10)
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert simulate(problem, runs=2, horizon=10).runs == 2


ELSEWHERE = """
import os, sys
sys.modules["fcntl"] = None
del os.sysconf
import fpbandits as fpb
result = fpb.simulate(fpb.load_problem("paper:two"), runs=3, horizon=100, out=sys.argv[1])
again = fpb.load_results(sys.argv[1])["optimist"]
assert (result.pulls["optimist"] == again.pulls["optimist"]).all()
"""


def test_where_there_is_no_fcntl(tmp_path: Path) -> None:
    """As on Windows: nothing of it is needed, with a folder or without."""
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(tmp_path / "out")], check=True)
