"""A figure shows itself in a notebook, once, with and without matplotlib's own backend for them."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest
from IPython.core.formatters import DisplayFormatter
from IPython.core.pylabtools import select_figure_formats
from matplotlib import pyplot
from matplotlib.figure import Figure

from fpbandits import UCB1, load_problem, simulate
from fpbandits.theory.figure import structure_figure


@pytest.fixture(params=["alone", "inline"])
def notebook(request: pytest.FixtureRequest) -> DisplayFormatter:
    """What a notebook shows objects by, before and after ``%matplotlib inline``."""
    formatter = DisplayFormatter()
    if request.param == "inline":
        select_figure_formats(SimpleNamespace(display_formatter=formatter), {"png"})
    return formatter


def test_figures_show_themselves(notebook: DisplayFormatter) -> None:
    for figure in (
        simulate("paper:two", UCB1(), horizon=50, runs=3).plot(),
        structure_figure(load_problem("paper:two")),
    ):
        assert isinstance(figure, Figure)
        shown, _ = notebook.format(figure)
        assert shown["image/png"]
        assert pyplot.get_fignums() == [], "it would be shown again at the end of the cell"


def test_pictures_are_sharp_and_of_their_size() -> None:
    figure = simulate("paper:two", UCB1(), horizon=50, runs=3).plot()
    shown, about = DisplayFormatter().format(figure)
    picture, size = shown["image/png"], about["image/png"]
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    assert size["width"] == 720
    assert width / size["width"] == pytest.approx(height / size["height"], rel=0.01)
    assert width > 1.4 * size["width"]
