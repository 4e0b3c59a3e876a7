"""A study that varies everything, for tests of sweeps and of their command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fpbandits import Problem, save_problem
from fpbandits.sweep.study import Study

Written = Callable[[str], Study]
"""Writes a text to a file and reads it as a study."""

STUDY = """
name = "slack, and more"
problems = [
    { problem = "paper:two", truth = "all" },
    "mine/*.toml",
    { name = "inline", models = { a = [0.9, 0.5], b = [0.2, 0.5] }, truth = [[0.7, 0.6]] },
]
policies = ["ucb1", { policy = "fp-ucb", slack = [0, 0.05, 0.1] }, "optimist:delta=0.2"]
horizons = [50, 200]
seeds = [0, 5]
runs = 7
shuffle = true
"""


def write_study(folder: Path) -> Path:
    """Write it, with the problems it names, and return its path."""
    (folder / "mine").mkdir()
    for number, gap in enumerate((0.1, 0.3)):
        problem = Problem.bernoulli(
            [[0.5, 0.5 - gap], [0.5, 0.5 + gap]], name=f"gap {gap}", truth="theta1"
        )
        save_problem(problem, folder / "mine" / f"{number}.toml")
    path = folder / "study.toml"
    path.write_text(STUDY)
    return path
