"""The frame of a small chart as SVG: a horizontal line, a label at the top and two below."""

from __future__ import annotations

WIDTH = 720
"""Width of a chart between its ends, in units of the SVG, as all lengths here."""

HEIGHT = 140
"""Height of a chart without its labels."""

_ABOVE = 24
"""Space above for the label at the top."""

_BELOW = 28
"""Space below for the two labels there."""

_SIDE = 5
"""Space at both sides, so that a mark at an end is drawn whole."""


def chart(marks: str, *, title: str, top: str, ends: tuple[str, str], line: float = HEIGHT) -> str:
    """Return a chart.

    Parameters
    ----------
    marks
        Shapes as SVG, from x = 0 to `WIDTH` and from y = 0, the top, to `HEIGHT`.
    title
        What the chart shows, for screen readers.
    top
        The label of the top.
    ends
        The labels of the left and the right end.
    line
        The y of the horizontal line.
    """
    box = f"{-_SIDE} {-_ABOVE} {WIDTH + 2 * _SIDE} {_ABOVE + HEIGHT + _BELOW}"
    below = HEIGHT + 22
    return (
        f'<svg class="heat" viewBox="{box}" role="img"><title>{title}</title>'
        f'<line x1="0" x2="{WIDTH}" y1="{line:.1f}" y2="{line:.1f}"/>{marks}'
        f'<text x="0" y="-6">{top}</text><text x="0" y="{below}">{ends[0]}</text>'
        f'<text x="{WIDTH}" y="{below}" text-anchor="end">{ends[1]}</text></svg>'
    )
