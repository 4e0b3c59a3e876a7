"""One small reproduction, shared by the tests of claims, figures and page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from made_up import made_up_material

from fpbandits.core.arrays import Floats
from fpbandits.paper.claims import Claim, judge
from fpbandits.paper.experiments import Distance, play_episodes, run_experiments
from fpbandits.paper.formulas import compute_numbers
from fpbandits.paper.material import Material, analyze_problems

RUNS, SEED = 200, 1


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play the experiments once for all workers; each has a folder of its own below this one."""
    shared = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else None
    folder = (shared or tmp_path_factory.mktemp("report")) / "results"
    with FileLock(f"{folder}.lock"):
        run_experiments(folder, runs=RUNS, seed=SEED)
    return folder


@pytest.fixture(scope="session")
def material(results_folder: Path) -> Material:
    with FileLock(f"{results_folder}.lock"):
        results = run_experiments(results_folder, runs=RUNS, seed=SEED)
    return Material(results, analyze_problems(), compute_numbers(), play_episodes(SEED))


@pytest.fixture(scope="session")
def claims(material: Material) -> list[Claim]:
    return judge(material)


@pytest.fixture(scope="session")
def made_up() -> Material:
    return made_up_material()


Samples = Callable[..., Sequence[float]]


@dataclass(frozen=True)
class Given(Material):
    """Material whose regret and growth are what a test says, whatever was played.

    ``regrets`` are asked by setting, policy and time, ``slopes`` by setting, policy and two times.
    """

    regrets: Samples
    slopes: Samples

    def regret(
        self, setting: str, policy: str, time: int, distance: Distance | None = None
    ) -> Floats:
        return np.array(self.regrets(setting, policy, time), float)

    def slope(
        self, setting: str, policy: str, start: int, end: int, distance: Distance | None = None
    ) -> Floats:
        return np.array(self.slopes(setting, policy, start, end), float)


def _nothing(*question: object) -> Sequence[float]:
    raise KeyError(question)


Give = Callable[..., Given]
"""Takes ``regrets``, ``slopes`` or both; what is not given must not be asked for."""


@pytest.fixture(scope="session")
def give(made_up: Material) -> Give:
    def given(
        material: Material = made_up, *, regrets: Samples = _nothing, slopes: Samples = _nothing
    ) -> Given:
        return Given(
            material.results,
            material.analyses,
            material.numbers,
            material.episodes,
            regrets=regrets,
            slopes=slopes,
        )

    return given
