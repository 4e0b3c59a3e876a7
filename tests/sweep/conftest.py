from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fpbandits import Problem, save_problem
from fpbandits.sweep.study import Study, load_study

Written = Callable[[str], Study]

STUDY = """
name = "slack, and more"
problems = [
    { problem = "paper:two", true = "all" },
    "mine/*.toml",
    { name = "inline", parameters = { a = [0.9, 0.5], b = [0.2, 0.5] }, true = [[0.7, 0.6]] },
]
policies = ["ucb1", { policy = "fp-ucb", slack = [0, 0.05, 0.1] }, "optimist:delta=0.2"]
horizons = [50, 200]
seeds = [0, 5]
runs = 7
shuffle = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    for number, gap in enumerate((0.1, 0.3)):
        problem = Problem.bernoulli(
            [[0.5, 0.5 - gap], [0.5, 0.5 + gap]], name=f"gap {gap}", true="theta1"
        )
        save_problem(problem, tmp_path / "mine" / f"{number}.toml")
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return a function that writes a text to a file and reads it as a study."""

    def write(text: str) -> Study:
        path = tmp_path / "other.toml"
        path.write_text(text)
        return load_study(path)

    return write
