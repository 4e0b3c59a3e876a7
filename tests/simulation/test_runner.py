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


MEASURED = """
import resource, sys
import numpy as np
import fpbandits as fpb
from fpbandits.simulation.runner import memory_needed

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

arms, runs, times, out = *map(int, sys.argv[1:4]), sys.argv[4]
means = np.linspace(0.1, 0.9, arms)
problem = fpb.Problem.bernoulli([means, means[::-1]], true="theta1")

def play(runs, out):
    result = fpb.simulate(problem, fpb.UCB1(), horizon=times, times=range(1, times + 1), runs=runs,
        workers=2, out=out)
    result.table(), result.as_dict(), result.plot(), result.save(f"{out}/result.npz")

play(2, f"{out}/warm")
before = peak()
play(runs, f"{out}/long")
print((peak() - before) / memory_needed([(runs, times, arms)]))
"""


@pytest.mark.parametrize(("arms", "runs", "times"), [(20, 1500, 1000), (2, 4000, 2000)])
def test_the_memory_that_is_said_to_be_needed_is(
    tmp_path: Path, arms: int, runs: int, times: int
) -> None:
    """Tables of 240 and 128 MB: no more than what the check counts, and not much less."""
    words = [sys.executable, "-c", MEASURED, *map(str, (arms, runs, times)), str(tmp_path)]
    share = float(subprocess.run(words, capture_output=True, check=True).stdout)
    assert 0.4 < share < 1


def test_an_empty_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="out is an empty text: name a folder"):
        simulate(load_problem("paper:two"), runs=2, horizon=10, out="")
    assert list(tmp_path.iterdir()) == []


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
