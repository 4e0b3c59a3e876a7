"""A figure that shows itself in a notebook, once, with or without ``%matplotlib inline``.

A notebook asks an object for its picture by `_repr_png_`, unless matplotlib's own backend has told
it what to do with figures. No window or manager knows of the figure, so nothing else shows it.
"""

from __future__ import annotations

from matplotlib.figure import Figure

_PIXELS = 96
"""To the inch, as browsers count; the picture has more, and is sharp on screens that do."""


class NotebookFigure(Figure):
    """A matplotlib figure that is a picture wherever a cell ends in it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        from fpbandits.report.figures import render

        width, height = (round(_PIXELS * inches) for inches in self.get_size_inches())
        return render(self, "png"), {"width": width, "height": height}
