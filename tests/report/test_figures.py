"""Numbers are written by their endings, and equal ones are equal files."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fpbandits import InputError
from fpbandits.report.figures import as_plain_text, check_figure_path, rendered, save_figure


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


def test_what_could_not_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown figure ending '.pdf': use .png or .svg"):
        check_figure_path(tmp_path / "x.pdf")
    with pytest.raises(InputError, match="there is no folder"):
        check_figure_path(tmp_path / "no" / "x.png")
