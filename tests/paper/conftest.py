"""One small reproduction, shared by the tests of claims, figures and page."""

from __future__ import annotations

from pathlib import Path

import pytest

from fpbandits.paper.evidence import Evidence, analyses, numbers
from fpbandits.paper.experiments import play_episodes, run_experiments

RUNS, SEED = 200, 1


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "results"
    run_experiments(folder, runs=RUNS, seed=SEED)
    return folder


@pytest.fixture(scope="session")
def evidence(results_folder: Path) -> Evidence:
    results = run_experiments(results_folder, runs=RUNS, seed=SEED)
    return Evidence(results, analyses(), numbers(), play_episodes(SEED))
