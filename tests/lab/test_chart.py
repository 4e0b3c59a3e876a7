from __future__ import annotations

from fpbandits.lab.chart import chart


def test_a_chart_has_its_shapes_and_three_labels() -> None:
    """720 by 140, with 5 at both sides, 24 above and 28 below; the lower labels are at 162."""
    assert chart("<g/>", title="what", top="high", ends=("first", "last"), line=35) == (
        '<svg class="heat" viewBox="-5 -24 730 192" role="img"><title>what</title>'
        '<line x1="0" x2="720" y1="35.0" y2="35.0"/><g/><text x="0" y="-6">high</text>'
        '<text x="0" y="162">first</text><text x="720" y="162" text-anchor="end">last</text></svg>'
    )


def test_the_line_is_at_the_bottom_unless_told() -> None:
    assert 'y1="140.0" y2="140.0"' in chart("", title="", top="", ends=("", ""))
