"""The report's figures, chapter by chapter: what one is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material

Draw = Callable[["Material"], "Figure"]


@dataclass(frozen=True)
class Drawing:
    """A figure: its file's name, what it shows in a sentence or two, and how it is drawn."""

    name: str
    caption: str
    draw: Draw


@dataclass(frozen=True)
class Chapter:
    """Numbers that belong together, under a heading and after a few words."""

    title: str
    text: str
    drawings: Sequence[Drawing]
