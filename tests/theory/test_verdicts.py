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
    assert alone.verdict == "bounded, because arm1 is best under every model"
    assert alone.theorem1.printed.constant == 0
    assert alone.theorem1.corrected.constant == 0
    assert alone.nearest is None
    free = analyze(Problem.bernoulli([[0.5, 0.3], [0.5, 1]])).cases[0]
    assert free.regime == "logarithmic"
    assert free.theorem2.all_arms.coefficient == 0
    assert free.verdict.startswith("logarithmic for FP-UCB, because")
    assert "costs nothing" in free.verdict


def test_arms_that_are_as_good_cost_nothing() -> None:
    """B(θ°) is not empty, but FP-UCB's bound has no ln T."""
    flat = analyze(Problem.bernoulli([[0.5, 0.5], [0.5, 0.9]])).cases[0]
    assert (flat.confusion_set, flat.theorem1.corrected.log_coefficient) == (("theta2",), 0)
    assert flat.regime == "bounded"
    assert flat.verdict == "bounded, because FP-UCB plays no arm that is worse than arm1"
    assert "\n  FP-UCB         regret ≤ 0.0" in str(flat)
    several = [[0.5, 0.5, 0.5, 0.1], [0.5, 0.9, 0.1, 0.1], [0.5, 0.1, 0.9, 0.1], [0.9, 0.1, 0.1, 1]]
    assert analyze(Problem.bernoulli(several), "theta1").cases[0].verdict == (
        "bounded: it looks like theta2 and 1 other while you play arm1, but arm2 and 1 other, "
        "which are best there, are as good"
    )
    assert analyze(Problem.bernoulli(several[:1] + several[2:]), "theta1").cases[0].verdict == (
        "bounded: it looks like theta2 while you play arm1, but arm3, which is best there, is as "
        "good"
    )
    # One of the arms is worse: it is logarithmic.
    several[0][2] = 0.4
    assert analyze(Problem.bernoulli(several), "theta1").cases[0].regime == "logarithmic"
    # What is outside B(θ°) can still take long.
    late = Problem.bernoulli([[0.5, 0.5, 0.4], [0.5, 0.9, 0.1], [0.501, 0.1, 0.9]])
    assert analyze(late, "theta1").cases[0].verdict.startswith("bounded, but only just: ")


def test_repr_reads_well() -> None:
    text = repr(analyze(load_problem("paper:grid"), "0.4,0.3,0.2,0.2"))
    assert "does not tell 0.4,0.3,0.2,0.2 from 0.4,0.6,0.6,0.6 and 36 others" in " ".join(
        text.split()
    )
    assert "Note: 112 models" in text
    assert len(text.splitlines()) <= 12
    names = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  ")]
    assert names == ["best arm", "the default", "any policy", "optimist", "UCB1", "FP-UCB"]
