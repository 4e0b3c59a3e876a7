"""One small reproduction, shared by the tests of claims, figures and page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock
from made_up import made_up_material

from fpbandits.paper.claims import Claim, judge
from fpbandits.paper.experiments import play_episodes, run_experiments
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
