"""A figure that a notebook displays once, with or without ``%matplotlib inline``.

IPython calls `_repr_png_`, unless matplotlib's inline backend has registered its own display of
figures. The figure is not known to pyplot, so it is not displayed a second time.
"""

from __future__ import annotations

from matplotlib.figure import Figure

_CSS_PIXELS = 96
"""CSS pixels per inch. The image itself has more (`render`), so that it is sharp on any screen."""


class NotebookFigure(Figure):
    """A matplotlib figure that is displayed as PNG."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        from fpbandits.report.figures import render

        width, height = (round(_CSS_PIXELS * inches) for inches in self.get_size_inches())
        return render(self, "png"), {"width": width, "height": height}
