"""Style and colours of all figures, and how they are saved.

Equal figures give equal files: code that draws does so within `own_style`, in matplotlib's default
style, whatever the user's matplotlibrc or MPLBACKEND says. No backend is needed.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fpbandits.core.extras import needed_for
from fpbandits.core.storage import shown, write_aside
from fpbandits.errors import InputError, quote

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

FORMATS = (".png", ".svg")
"""Endings of the files that a figure can be written to."""

# The Okabe-Ito palette, which colour-blind readers can tell apart.
ORANGE = "#D55E00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
PURPLE = "#CC79A7"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, "#E69F00", "#000000")


@contextmanager
def own_style() -> Iterator[None]:
    """Draw with matplotlib's default style in this block; also works as a decorator."""
    with needed_for("drawing", "plot"):
        _import_matplotlib()
        import matplotlib.style

    with matplotlib.style.context("default", after_reset=True):
        yield


def blank(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches; a notebook displays it."""
    from fpbandits.report.notebook import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained")


def _import_matplotlib() -> None:
    """Make importing matplotlib safe even if MPLBACKEND names an unknown backend."""
    if "matplotlib" in sys.modules or "MPLBACKEND" not in os.environ:
        return
    backend = os.environ.pop("MPLBACKEND")
    try:
        import matplotlib
    finally:
        os.environ["MPLBACKEND"] = backend
    with suppress(ValueError):
        matplotlib.rcParams["backend"] = backend


def short(text: str, most: int) -> str:
    """Return a text, shortened to ``most`` characters if it has more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def as_plain_text(legend: Legend) -> None:
    """Show the names in a legend as they are, with dollar signs and not as formulas."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def footnote(figure: Figure, text: str) -> Figure:
    """Add a line below a figure, and return it."""
    figure.supxlabel(text, fontsize=8, color="0.35")
    return figure


def check_drawing() -> None:
    """Raise an error now if matplotlib is missing, before work that ends in a figure."""
    with own_style():
        pass


def check_figure_path(path: Path) -> None:
    """Raise an error now if a figure cannot be drawn, or cannot be written to this path."""
    check_drawing()
    if path.suffix.lower() not in FORMATS:
        unknown = f"unknown figure ending {quote(path.suffix)}: use {' or '.join(FORMATS)}"
        raise InputError(unknown, place=(shown(path),))
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {quote(str(path.parent))} to write it to", place=(shown(path),)
        )


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or SVG, by the path's ending."""
    check_figure_path(path)
    write_aside(path, render(figure, path.suffix.lower()[1:]))


def rendered(figure: Figure, stem: Path) -> dict[Path, bytes]:
    """Return the contents of ``stem``.png and ``stem``.svg for a figure, by path."""
    return {stem.with_name(stem.name + end): render(figure, end[1:]) for end in FORMATS}


@own_style()
def render(figure: Figure, kind: str) -> bytes:
    """Return the content of a "png" or "svg" file of a figure."""
    import matplotlib

    stream = io.BytesIO()
    # Dates, versions and random ids would make the files of equal figures differ.
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "fpbandits"}), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
    return stream.getvalue()
