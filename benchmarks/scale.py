"""What it costs to spread work out, to keep it, and to have many small cells, in one run.

Run by ``make bench``. Ratios are of times measured in turn within this run, since machines are
shared and noisy; those of Dask are of jobs of a minute or more.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from distributed import Client, LocalCluster
from engine import claim

from fpbandits import FPUCB, UCB1, Problem, Thompson, load_problem, save_problem, simulate
from fpbandits.simulation import cell, packing, workers
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.kernel import play
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.workers import RunRange
from fpbandits.sweep.study import load_study
from fpbandits.sweep.sweep import sweep


def seconds(work: Callable[[], object]) -> float:
    """Time a piece of work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def job(runs: int, **how: Any) -> Callable[[], object]:
    """Return some work: three policies, step by step."""
    problem = load_problem("paper:permutations")
    return lambda: simulate(
        problem, [Thompson(), UCB1(), FPUCB()], horizon=10**5, runs=runs, leap=False, **how
    )


def executors() -> None:
    """Play the same job on two threads, on two processes of Dask, and on a pool of two, in turn."""
    job(20)()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
    ):
        runs = int(200 * 70 / seconds(job(200, workers=2)))
        print(f"{3 * runs:,} runs, step by step, of three policies to T = 1e5:")
        times: dict[str, list[float]] = {"threads": [], "Dask": [], "process pool": []}
        for name in ("threads", "Dask", "process pool", "Dask", "threads"):
            how = {"Dask": {"executor": client.get_executor()}, "process pool": {"executor": pool}}
            times[name].append(seconds(job(runs, workers=2, **how.get(name, {}))))
            print(f"  {name:40} {times[name][-1]:10.1f} s")
    for name in ("Dask", "process pool"):
        ratio = min(times[name]) / min(times["threads"])
        claim(f"  {name} of 2 processes, over 2 threads", ratio, 1.15)


def keeping() -> None:
    """Keep runs in a folder, and do not."""
    found = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            found.append((seconds(job(300)), seconds(job(300, out=folder))))
    bare, kept = (min(column) for column in zip(*found, strict=True))
    claim("the same with finished runs kept in a folder", kept / bare, 1.15)


@contextmanager
def kernel_time() -> Iterator[list[float]]:
    """Add up the time that is spent inside the compiled loop."""
    spent = [0.0]

    def timed(*arguments: Any) -> int:
        start = time.perf_counter()
        plans = play(*arguments)
        spent[0] += time.perf_counter() - start
        return plans

    with patch.object(cell, "play", timed):
        yield spent


def many_cells() -> None:
    """Read, play, sum up, write and draw a study of 100 problems × 10 policies × 10 seeds."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(100):
            means = np.unique(random.integers(1, 20, (12, 4)) / 20, axis=0)
            problem = Problem.bernoulli(means, name=f"problem {number}", truth="theta1")
            save_problem(problem, folder / f"problem-{number}.toml")
        for seeds in (1, 1, 10):  # the first time compiles
            (folder / "study.toml").write_text(
                'problems = ["problem-*.toml"]\n'
                'policies = ["fp-ucb", "optimist", "ucb1", "kl-ucb", "thompson", "imed", "ucb-s", '
                '"ucb-c", "thompson-theta", "least-squares"]\n'
                f"seeds = {list(range(seeds))}\nhorizons = [100, 1000]\nruns = 2\n"
            )
            with kernel_time() as inside:
                start = time.perf_counter()
                study = load_study(folder / "study.toml")
                found = sweep(study, out=folder / "out", workers=1)
                found.save(folder / "out")
                spent = time.perf_counter() - start
            shutil.rmtree(folder / "out")
            outside = (spent - inside[0]) / len(study.cells)
        claim(f"{len(study.cells):,} cells: ms a cell outside the kernel", 1e3 * outside, 1.0)
        print(f"  inside the kernel {1e3 * inside[0] / len(study.cells):.3f} ms a cell, of 2 runs")


def sending() -> None:
    """Pack and unpack a batch for large sets of models; the way between is not in it."""
    for models in (10**2, 10**4, 10**6):
        problem = Problem.bernoulli(
            np.random.default_rng(1).random((models, 4)), truth="theta1", name="large"
        )
        cells = {0: make_cell(problem, UCB1(), RunSpec(runs=1, horizon=1))}
        works = [seconds(partial(_send, cells)) for _ in range(4)]
        print(
            f"a batch of one run with {models:>9,} models: "
            f"{1e3 * works[0]:8.1f} ms the first time, then {1e3 * min(works[1:]):8.1f} ms"
        )


def _send(cells: dict[int, Cell]) -> object:
    return workers._play_packed(*packing.pack_batch(cells, [RunRange(0, 0, 1)], True))


def main() -> None:
    """Measure everything."""
    many_cells()
    sending()
    keeping()
    executors()


if __name__ == "__main__":
    main()
