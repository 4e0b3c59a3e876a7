"""Progress is told to the end, and what does not fit into memory is refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from memory import measured

from fpbandits import FPUCB, InputError, Problem, Result, Thompson, load_problem, simulate
from fpbandits.engine import ready as ready_module
from fpbandits.engine.ready import refusal
from fpbandits.policies import POLICIES
from fpbandits.policies.shared import rates
from fpbandits.simulation import runner
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.runner import (
    ON_THE_WAY,
    _Watch,
    check_memory,
    memory_needed,
    play_cells,
)
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.workers import Played, RunRange


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


def test_progress_counts_runs_of_before_and_runs_under_way() -> None:
    told: list[tuple[str, float, float]] = []
    problem = load_problem("paper:two")
    cells = {
        name: make_cell(problem, FPUCB(), RunSpec(horizon=10, runs=runs))
        for name, runs in (("one", 4), ("two", 6))
    }
    watch = _Watch(cells, [0, 3], lambda *news: told.append(news))
    assert told == [("two", 0.5, 0.3)]
    watch.tick({0: 1.0, 1: 1.5})
    assert told[1:] == [("one", 0.25, 0.55), ("two", 0.75, 0.55)]
    watch.took(Played(RunRange(1, 3, 6), np.zeros((3, 1, 2), np.int64), np.ones(3, np.int64)))
    watch.tick({0: 4.0})
    # All that is under way may be as good as done, but 1 is for what is done.
    assert told[3:] == [("one", 1 - 1e-9, 1.0), ("two", 1.0, 1.0)]
    watch.tick({})
    assert len(told) == 5, "nothing is new"


def test_the_memory_of_tables_by_hand() -> None:
    """Pulls twice, as there are as many on their way at most; three of regret, plans and JSON."""
    nothing = memory_needed([])
    assert (nothing, ON_THE_WAY) == (2**26, 2**28 + 2 * 2**27)
    assert memory_needed([(10, 5, 4)]) - nothing == 2 * 8 * 200 + 3 * 8 * 50 + 100 * 10
    two = 2 * 8 * (200 + 60) + 3 * 8 * 50 + 100 * 12
    assert memory_needed([(10, 5, 4), (2, 10, 3)]) - nothing == two
    large = 8 * 10**6 * 100 * 2
    wanted = large + ON_THE_WAY + 3 * large // 2 + 100 * 10**6
    assert memory_needed([(10**6, 100, 2)]) - nothing == wanted


def test_a_fifth_of_memory_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed for nothing, 2^26 bytes, is 0.8 of 81,920 pages of 1,024 bytes."""
    memory = {"SC_PAGE_SIZE": 1024, "SC_PHYS_PAGES": 81_920}
    monkeypatch.setattr(os, "sysconf", memory.__getitem__)
    check_memory([])
    memory["SC_PHYS_PAGES"] -= 1
    with pytest.raises(
        InputError, match=r"0 runs take 0 GiB and this machine has 0: ask for fewer"
    ):
        check_memory([])


def test_there_are_as_many_threads_as_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or as many as one asks for; one where the number of cores is not known."""
    threads: list[int] = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, workers: int) -> None:
            threads.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(runner, "ThreadPoolExecutor", Counted)
    for cores, asked in ((7, None), (None, None), (7, 2)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        cell = make_cell(load_problem("paper:two"), FPUCB(), RunSpec(horizon=10, runs=1))
        play_cells({"one": cell}, workers=asked)
    assert threads == [7, 1, 2]


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("paper:two")
    with pytest.raises(InputError, match=r"10,000,000,000 runs take .* GiB and this machine has"):
        simulate(problem, runs=10**10)
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert simulate(problem, runs=2, horizon=10).runs == 2


MEASURED = """
import sys
from pathlib import Path
import numpy as np
import fpbandits as fpb
from fpbandits.simulation.runner import memory_needed

def peak():
    return 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

arms, runs, times, out = *map(int, sys.argv[1:4]), sys.argv[4]
means = np.linspace(0.1, 0.9, arms)
problem = fpb.Problem.bernoulli([means, means[::-1]], truth="theta1")

def play(runs, out):
    result = fpb.simulate(problem, fpb.UCB1(), horizon=times, times=range(1, times + 1), runs=runs,
        workers=2, out=out)
    result.table(), result.as_dict(), result.plot(), result.save(f"{out}/result.npz")

play(2, f"{out}/warm")
Path("/proc/self/clear_refs").write_text("5")  # the compiler may have needed more than all else
before = peak()
play(runs, f"{out}/long")
print((peak() - before) / memory_needed([(runs, times, arms)]))
"""


@measured
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
    with pytest.raises(InputError, match="expected the path of a file or folder"):
        simulate(load_problem("paper:two"), runs=2, horizon=10, out=np.array(["a", "b"]))  # type: ignore[arg-type]  # wrong on purpose
    assert list(tmp_path.iterdir()) == []


ELSEWHERE = """
import os, sys
sys.modules["fcntl"] = None
del os.sysconf
import fpbandits as fpb
result = fpb.simulate(fpb.load_problem("paper:two"), runs=3, horizon=100, out=sys.argv[1])
again = fpb.load_results(sys.argv[1])["frugal"]
assert (result.pulls["frugal"] == again.pulls["frugal"]).all()
"""


def test_where_there_is_no_fcntl(tmp_path: Path) -> None:
    """As on Windows: nothing of it is needed, with a folder or without."""
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(tmp_path / "out")], check=True)


def tied_problem(number: int) -> Problem:
    """A small problem with many ties, for which programs have several solutions."""
    generator = np.random.default_rng(number)
    count, arms = int(generator.integers(2, 6)), int(generator.integers(2, 5))
    means = generator.choice([0.3, 0.5, 0.6], (count, arms))
    means[:2, 0] = 0.5
    truth = f"theta{generator.integers(1, count + 1)}"
    return Problem.bernoulli(means, name=f"tied {number}", truth=truth)


def tied_cells(problems: int, policies: Sequence[str], runs: int) -> dict[str, Cell]:
    return {
        f"{problem.name} {name} {shuffle}": make_cell(
            problem,
            POLICIES[name](),
            RunSpec(horizon=300, runs=runs, shuffle=shuffle, times=[100, 300]),
        )
        for problem in map(tied_problem, range(problems))
        for name in policies
        for shuffle in (False, True)
        if not refusal(POLICIES[name](), problem)
    }


def same(one: Mapping[str, Result], other: Mapping[str, Result]) -> None:
    assert one.keys() == other.keys()
    for name, result in one.items():
        assert np.array_equal(result.pulls[result.policy], other[name].pulls[result.policy]), name
        assert np.array_equal(result.plans[result.policy], other[name].plans[result.policy]), name


def in_pieces(folder: Path, problems: int, policies: Sequence[str]) -> dict[str, Result]:
    """Play in pieces, forgetting in between whatever was solved or prepared."""
    for runs in (2, 1, 3):
        forget()
        results = play_cells(tied_cells(problems, policies, runs), out=folder, workers=2)
    return results


def forget() -> None:
    rates._solutions.cache_clear()
    ready_module._ready.cache_clear()


def test_who_computes_does_not_matter_where_solutions_tie(tmp_path: Path) -> None:
    """Policies that solve programs, alone and together, in one process and in others."""
    policies = ("ata", "ossb")
    forget()
    expected = play_cells(tied_cells(6, policies, 3), workers=1)
    forget()
    backwards = dict(reversed(tied_cells(6, policies, 3).items()))
    same(expected, dict(reversed(play_cells(backwards, workers=8).items())))
    same(expected, in_pieces(tmp_path, 6, policies))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same(expected, play_cells(tied_cells(6, policies, 3), executor=pool))


@pytest.mark.nightly
def test_who_computes_does_not_matter(tmp_path: Path) -> None:
    """Every policy on 40 problems with many ties: threads, processes, Dask, and in pieces."""
    from distributed import Client, LocalCluster

    policies = tuple(POLICIES)
    expected = play_cells(tied_cells(40, policies, 3), workers=1)
    forget()
    same(expected, play_cells(tied_cells(40, policies, 3), workers=8))
    same(expected, in_pieces(tmp_path, 40, policies))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same(expected, play_cells(tied_cells(40, policies, 3), executor=pool))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        same(expected, play_cells(tied_cells(40, policies, 3), executor=client.get_executor()))
