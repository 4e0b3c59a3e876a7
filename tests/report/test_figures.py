"""Numbers are written by their endings, and equal ones are equal files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from command import COMMAND
from matplotlib.figure import Figure

from fpbandits import UCB1, InputError, load_problem, simulate
from fpbandits.leaderboard import Leaderboard, Standing, contests
from fpbandits.leaderboard.report import leaderboard_figure
from fpbandits.report.figures import (
    as_plain_text,
    check_figure_path,
    render,
    rendered,
    save_figure,
    short,
)
from fpbandits.sweep.report import sweep_figure
from fpbandits.sweep.study import load_study
from fpbandits.sweep.sweep import Sweep, sweep
from fpbandits.theory.figure import structure_figure


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    def draw() -> Figure:
        figure = Figure()
        axes = figure.subplots()
        axes.plot([1, 2], label="$x_{")
        as_plain_text(axes.legend())
        return figure

    files = rendered(draw(), tmp_path / "a.b")
    assert list(files) == [tmp_path / "a.b.png", tmp_path / "a.b.svg"]
    assert rendered(draw(), tmp_path / "a.b") == files
    for path, content in files.items():
        save_figure(draw(), path)
        assert path.read_bytes() == content


def test_a_text_is_shortened_if_it_is_too_long() -> None:
    assert [short("abcdef", most) for most in (7, 6, 5, 1)] == ["abcdef", "abcdef", "abcd…", "…"]


def test_what_could_not_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown figure ending '.pdf': use .png or .svg"):
        check_figure_path(tmp_path / "x.pdf")
    with pytest.raises(InputError, match="there is no folder"):
        check_figure_path(tmp_path / "no" / "x.png")


def _regret() -> Figure:
    return simulate(load_problem("paper:two"), UCB1(), horizon=50, runs=3).plot()


def _structure() -> Figure:
    return structure_figure(load_problem("paper:two"))


def _leaderboard() -> Figure:
    some = contests("paper")[:2]
    standings = {"ucb1": {contest.name: Standing(1.5, 0.1, 2, None) for contest in some}}
    return leaderboard_figure(Leaderboard(some, standings, horizon=500, runs=20, seed=0))


@pytest.fixture
def study(tmp_path: Path) -> Sweep:
    path = tmp_path / "study.toml"
    path.write_text('problems = ["paper:two"]\npolicies = ["ucb1"]\nhorizons = [9, 50]\nruns = 3')
    return sweep(load_study(path))


THEIRS: Any = {
    "text.usetex": True,
    "axes.facecolor": "red",
    "font.size": 20,
    "svg.fonttype": "none",
}


@pytest.mark.parametrize("draw", [_regret, _structure, _leaderboard])
def test_a_users_own_style_is_not_ours(draw: Callable[[], Figure], tmp_path: Path) -> None:
    expected = rendered(draw(), tmp_path / "a")
    with matplotlib.rc_context(THEIRS):
        assert rendered(draw(), tmp_path / "a") == expected
        assert matplotlib.rcParams["font.size"] == 20


def test_nor_is_it_that_of_a_study(study: Sweep, tmp_path: Path) -> None:
    expected = rendered(sweep_figure(study), tmp_path / "a")
    with matplotlib.rc_context(THEIRS):
        assert rendered(sweep_figure(study), tmp_path / "a") == expected


@pytest.mark.parametrize("backend", ["nonsense", "module://nowhere.backend_inline"])
def test_figures_need_no_backend(backend: str, tmp_path: Path) -> None:
    """Jupyter sets one that is not there outside of it; and LaTeX need not be there either."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    settings = {"MPLBACKEND": backend, "MATPLOTLIBRC": str(tmp_path / "matplotlibrc")}
    words = ["simulate", "paper:two", "--runs", "3", "--horizon", "50", "--policy", "ucb1"]
    process = subprocess.run(
        [*COMMAND, *words, "--out", str(tmp_path / "out")],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert (tmp_path / "out" / "regret.png").read_bytes() == render(_regret(), "png")
