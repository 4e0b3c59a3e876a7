"""Tables show the right numbers in the right places."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from fpbandits import Problem, analyze, load_problem
from fpbandits.theory.tables import analysis_table


def shown(problem: Problem, truth: str | None = None) -> list[list[str]]:
    """Render a table wide enough not to wrap, and return its words line by line."""
    stream = io.StringIO()
    console = Console(file=stream, width=250)
    console.print(analysis_table(analyze(problem, truth), problem, bounds=True))
    return [line.split() for line in stream.getvalue().splitlines()]


def row(lines: list[list[str]], *start: str) -> list[str]:
    (found,) = [line for line in lines if line[: len(start)] == list(start)]
    return found


#: An informative arm outside A, a wide range, and printed bounds that differ from corrected ones.
SCALED = Problem.bernoulli(
    np.array(
        [
            [0.5, 0.4, 0.49, 0.1],
            [0.5, 0.6, 0.01, 0.1],
            [0.9, 0.95, 0.2, 0.1],
            [0.7, 0.1, 0.2, 0.9],
            [0.8, 0.1, 0.2, 0.9],
        ]
    )
    * 10,
    range=(0, 10),
)


def test_overview_shows_corrected_bounds_and_all_arms() -> None:
    lines = shown(SCALED)
    case = analyze(SCALED, "theta1").cases[0]
    assert case.theorem2.all_arms.coefficient < case.theorem2.coefficient
    numbers = row(lines, "theta1")[-3:]
    constant = case.theorem1.corrected.constant
    assert constant is not None
    assert numbers == [
        f"{constant:,.1f}",
        f"{case.theorem1.corrected.log_coefficient:.4g}",
        f"{case.theorem2.all_arms.coefficient:.4g}",
    ]
    assert row(lines, "theta1")[-4] == f"{case.optimist.log_coefficient:.4g}"
    bounded = analyze(SCALED, "theta4").cases[0].theorem1
    assert bounded.printed.constant != bounded.corrected.constant
    assert row(lines, "theta4")[-3] == f"{bounded.corrected.constant:,.1f}"


def test_the_count_of_regimes_is_that_of_the_bounds() -> None:
    """Under theta1 every arm is as good as any other: a model is confused, and nothing is lost."""
    lines = shown(Problem.bernoulli([[0.5, 0.5], [0.5, 0.9]]))
    assert row(lines, "theta1")[-3:] == ["0", "0", "0"]
    assert "2 bounded, 0 logarithmic for FP-UCB." in " ".join(lines[-1])
    # A lower bound of 0.07·ln T is one, too.
    lines = shown(Problem.bernoulli([[0.5, 0.45], [0.5, 0.9]]))
    assert "1 bounded, 1 logarithmic for FP-UCB. For" in " ".join(lines[-1])


def test_details_of_every_arm() -> None:
    lines = shown(SCALED, "theta1")
    case = analyze(SCALED, "theta1").cases[0]
    assert row(lines, "arm1")[:4] == ["arm1", "5", "0", "best"]
    # Proposition 2's log term is 12/β² with β = 0.2 on [0, 1], whatever the units.
    cells = row(lines, "arm2")
    assert cells[:5] == ["arm2", "4", "1", "confusing", "2"]
    assert "300" in cells
    assert cells[-2:] == [
        f"{case.theorem2.pulls['arm2']:.4g}",
        f"{case.theorem2.all_arms.pulls['arm2']:.4g}",
    ]
    assert row(lines, "arm3")[:5] == ["arm3", "4.9", "0.1", "never", "best"]
    printed, corrected = case.theorem1.printed.constants, case.theorem1.corrected.constants
    assert f"{printed['arm4']:,.1f}" in row(lines, "arm4")
    assert f"{corrected['arm4']:,.1f}" in row(lines, "arm4")


def test_a_printed_bound_below_the_corrected_one_is_called_unproven() -> None:
    lines = shown(load_problem("paper:permutations"), "0.6,0.4,0.3,0.2")
    assert row(lines, "as", "printed", "(not", "proven)")[-2:] == ["6,899.8", "0"]
    lines = shown(load_problem("paper:two"), "theta1")
    assert row(lines, "as", "printed")[-2:] == ["874.3", "0"]
    lines = shown(load_problem("paper:two"), "theta2")
    assert row(lines, "as", "printed", "(the", "constant")[-1] == "7.347"


def test_of_many_arms_those_that_matter_are_shown() -> None:
    """A row per arm took minutes for 600,000 of them."""
    means = np.linspace(0.1, 0.5, 1000).tolist()
    lines = shown(Problem.bernoulli([[*means, 0.9, 0.2, 0.3], [*means, 0.9, 0.95, 0.3]]), "theta1")
    assert row(lines, "arm1001")[3] == "best"
    assert row(lines, "arm1002")[3] == "confusing"
    assert sum(line[:1] != [] and line[0].startswith("arm") for line in lines) == 201  # with a head
    assert row(lines, "and", "803")[2:] == ["arms", "more:", "--json", "lists", "them", "all"]


@pytest.mark.parametrize("rivals", [12, 14])
def test_of_many_confused_models_twelve_are_named_and_the_others_counted(rivals: int) -> None:
    better = [[0.5, 0.6 + 0.01 * k] for k in range(rivals)]
    lines = shown(Problem.bernoulli([[0.5, 0.4], *better]), "theta1")
    words = " ".join(row(lines, "Confused")).partition(": ")[2]
    names = [f"theta{number}" for number in range(2, 14)]
    assert words.split("; ") == [*names, *(["and 2 more"] if rivals > 12 else [])]


def test_at_a_glance_fits_80_columns_two_lines_per_truth() -> None:
    problem = load_problem("paper:permutations")
    stream = io.StringIO()
    Console(file=stream, width=80).print(analysis_table(analyze(problem), problem, bounds=True))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    place = lines.index("0.6,0.4,0.3,0.2  arm1             0  19,552.3         0       0")
    assert lines[place + 1].startswith("  bounded; 2,326 plays of arm1")
    assert lines[place + 2].startswith("0.6,0.4,0.2,0.3  arm1")
    assert len(lines) <= 2 * 24 + 8


def test_long_names_take_a_line_of_their_own_and_ties_have_no_bound() -> None:
    long = "a name that is too long to stand beside numbers"
    tied = Problem.bernoulli([[0.5, 0.5], [0.5, 0.9]], models=[long, "y"])
    lines = shown(tied)
    place = lines.index([*long.split(), "arm1"])
    assert lines[place + 1][0] == "–"
    assert row(lines, "y")[:3] == ["y", "arm2", "0"]


def test_contexts_are_shown_within_80_columns() -> None:
    means = [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]]]
    problem = Problem.bernoulli(
        means, contexts=["mobile", "desktop"], arms=["9 EUR", "12 EUR"], name="shop"
    )
    stream = io.StringIO()
    console = Console(file=stream, width=80)
    console.print(analysis_table(analyze(problem, "theta2"), problem))
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert [" ".join(line.split()) for line in text.splitlines() if line.strip()] == [
        "shop: 2 models, 2 arms, of which 2 are best in some of 2 contexts",
        "theta2: losses never stop: playing the best arms does not tell theta2 from",
        "theta1, so other arms must be tried again and again. In the long run this costs",
        "at least 0.3067 more each time the number of plays grows tenfold",
        "best arm 12 EUR in mobile; 9 EUR in desktop",
        "any policy regret ≥ 0.1332 · ln T in the long run",
        "UCB1 in each regret ≤ 1.3 + 120 · ln T",
        "context arm mean gap plays ln T ×",
        "─" * 47,
        "mobile 9 EUR 0.4 0.1 1.332",
        "12 EUR (best) 0.5 0 0",
        "desktop 9 EUR (best) 0.8 0 0",
        "12 EUR 0.6 0.2 0",
    ]
    overview = [" ".join(line) for line in shown(problem)]
    assert "theta1: losses stop: for free, mobile tells it from theta2" in overview
    assert "best arm 9 EUR in every context" in overview
    assert "One truth in full: --truth NAME." in " ".join(overview)


def test_no_line_is_filled_up_to_the_edge_of_a_wide_terminal() -> None:
    means = [[0.9, 0.5], [0.4, 0.5]]
    for problem in (
        Problem.bernoulli(means),
        Problem.bernoulli([[row, row] for row in means], contexts=["mobile", "desktop"]),
    ):
        stream = io.StringIO()
        Console(file=stream, width=1000).print(analysis_table(analyze(problem), problem))
        assert max(map(len, stream.getvalue().splitlines())) < 500
