"""Verdicts and bounds read well, whatever the units."""

from __future__ import annotations

from fpbandits import Problem, analyze, load_problem
from fpbandits.theory.verdicts import bound_text, case_text, least_text


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


def test_why_no_policy_needs_to_pay() -> None:
    """Models of equal mean on arm1: it is best there too, pays by another law there, or either."""
    fair, sure, low = [0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.75, 0.25, 0.0]
    truth, tied, other = [fair, low], [fair, sure], [sure, [0.0, 0.5, 0.5]]

    def verdict(*others: list[list[float]]) -> str:
        # The order of the arms decides which of two equal ones counts as best.
        laws = [[arms[1], arms[0]] for arms in (truth, *others)]
        problem = Problem.discrete(laws, support=[0, 0.5, 1], arms=["b", "a"])
        return analyze(problem, "theta1").cases[0].verdict

    begin = "logarithmic for FP-UCB, because the mean of a is the same under theta2"
    end = ", so no policy needs to pay"
    assert verdict(tied) == f"{begin}; but a is best there too{end}"
    assert verdict(other) == f"{begin}; but a pays by another law there{end}"
    assert verdict(tied, other) == (
        f"{begin} and 1 other; but a is best there too, or pays by another law{end}"
    )


def test_a_case_is_folded_at_spaces_only() -> None:
    words = "a-" * 30 + "a " + "b" * 17 + " " + "c" * 90
    facts = {"best arm": "x", "a fact of many words": "y"}
    assert case_text("t", words, facts).splitlines() == [
        f"t: {'a-' * 30}a",
        "b" * 17,
        "c" * 90,
        "  best arm       x",
        "  a fact of many words y",
    ]
    (line,) = case_text("t", "d" * 70 + " " + "e" * 6, {}).splitlines()
    assert len(line) == 80


def test_bounds_as_people_write_them() -> None:
    assert bound_text(1287.04, 26.6666) == "1,287.0 + 26.67 · ln T"
    assert bound_text(999_999.9, 0) == "999,999.9"
    assert bound_text(1e6, 0) == "1 million"
    assert bound_text(None, 7.5) == "7.5 · ln T"
    assert least_text(0.25) == "regret ≥ 0.25 · ln T in the long run"
    assert least_text(0) == "need not let regret grow"


def test_how_close_is_only_just() -> None:
    """A tenth of the range takes some 11,000 plays: 12 ln k/α² at the k that the paper gives."""
    for distance, words in ((0.11, "; 9,"), (0.09, ", but only just: it takes 14,")):
        problem = Problem.bernoulli([[0.5, 0.4], [0.5 + distance, 0.9]])
        assert analyze(problem, "theta1").cases[0].verdict.startswith(f"bounded{words}")
