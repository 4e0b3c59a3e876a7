"""Verdicts and bounds read well, whatever the units."""

from __future__ import annotations

from fpbandits import Problem, analyze, load_problem


def test_nearly_confused_is_said_in_any_units() -> None:
    for scale, words in ((1, "only just"), (100, "only just")):
        near = Problem.bernoulli(
            [[0.5 * scale, 0.4 * scale], [0.55 * scale, 0.9 * scale]], range=(0, scale)
        )
        assert words in analyze(near, "theta1").cases[0].verdict
        far = Problem.bernoulli(
            [[0.5 * scale, 0.4 * scale], [0.65 * scale, 0.9 * scale]], range=(0, scale)
        )
        assert "rule out all with another best arm" in analyze(far, "theta1").cases[0].verdict


def test_degenerate_problems() -> None:
    alone = analyze(Problem.bernoulli([[0.5]])).cases[0]
    assert alone.verdict == "bounded, because arm1 is best under every parameter"
    assert alone.theorem1.printed.constant == 0
    assert alone.theorem1.corrected.constant == 0
    assert alone.nearest is None
    flat = analyze(Problem.bernoulli([[0.5, 0.5], [0.5, 0.9]])).cases[0]
    assert flat.regime == "logarithmic"
    assert flat.theorem2.all_arms.coefficient == 0
    assert "costs nothing" in flat.verdict


def test_repr_reads_well() -> None:
    text = repr(analyze(load_problem("paper:grid"), "0.4,0.3,0.2,0.2"))
    assert "logarithmic, because it looks like 0.4,0.6,0.6,0.6 and 36 others" in text
    assert "Note: 112 parameters" in text
    assert len(text.splitlines()) < 10
