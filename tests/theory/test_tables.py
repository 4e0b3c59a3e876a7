"""Tables show the right numbers in the right places."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from fpbandits import Problem, analyze, load_problem
from fpbandits.report.text import LOOK_ALIKE
from fpbandits.theory.tables import analysis_table, brief


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


def lines_of(problem: Problem, truth: str | None, *, bounds: bool, width: int = 100) -> list[str]:
    """The lines of an analysis, without the spaces at their ends."""
    stream = io.StringIO()
    shown = analysis_table(analyze(problem, truth), problem, bounds=bounds)
    Console(file=stream, width=width).print(shown)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_case_in_full() -> None:
    """All that can be shown, but for a notice of ties: see `test_cases` for where numbers are from.

    To tell theta2 takes arm2 or, by far cheaper, arm3, which is best nowhere. Outside B are theta4
    and theta5, of which the one is harder to tell, and the paper names the other.
    """
    assert lines_of(SCALED, "theta1", bounds=True, width=110) == [
        "problem: 5 models, 4 arms, of which 3 are best under some model",
        "",
        "If the truth is theta1, losses never stop: playing arm1 does not tell theta1 from theta2,"
        " so other arms must",
        "be tried again and again. In the long run this costs at least 0.1468 more each time the"
        " number of plays grows",
        "tenfold.",
        "",
        "                                     FP-UCB       as            any policy ≥  with arms",
        " arm   mean  gap Δ  role        β   plays ≤  printed  + ln T ×        ln T ×  outside A",
        " " + "─" * 86,
        " arm1     5      0  best",
        " arm2     4      1  confusing   2   3,351.0                300         12.33          0",
        " arm3   4.9    0.1  never best                                                   0.6375",
        " arm4     1      4  candidate      16,875.6  6,590.3                       0          0",
        "",
        "",
        " regret up to T                                    constant  + ln T ×",
        " " + "─" * 68,
        " any policy at least, in the long run (Theorem 2)             0.06375",
        "   with arms of A alone                                         12.33",
        " the default at most, in the long run                          0.1801",
        " FP-UCB at most (Theorem 1, corrected)             70,853.2       300",
        "   as printed (the constant is undefined)                         300",
        " optimist at most, in the long run                              13.56",
        " UCB1 at most                                         21.88   9,000.0",
        "",
        "Regret is logarithmic, because it looks like theta2 while you play arm1.",
        "Confused with the truth (B): theta2",
        "Hardest to tell apart, outside B: theta4, whose mean on arm1 is 2 off: 2,326 plays of it",
    ]
    assert lines_of(SCALED, "theta1", bounds=False, width=110)[5:] == [
        "",
        "                                      plays per",
        " arm   mean  loss  role                 tenfold",
        " " + "─" * 46,
        " arm1     5     0  best",
        " arm2     4     1  best under others          0",
        " arm3   4.9   0.1  never best             1.468",
        " arm4     1     4  best under others          0",
        "",
        "Look like theta1 while you play arm1: theta2",
    ]


def test_columns_and_rows_without_values_are_left_out() -> None:
    """Nothing looks like theta1, and its printed bound is the corrected one."""
    assert lines_of(load_problem("paper:two"), "theta1", bounds=True)[2:] == [
        "If the truth is theta1, losses stop: about 3 plays of arm1 tell theta1 from theta2.",
        "",
        "                                FP-UCB",
        " arm   mean  gap Δ  role       plays ≤",
        " " + "─" * 37,
        " arm1   0.9      0  best",
        " arm2   0.5    0.4  candidate  1,092.9",
        "",
        "",
        " regret up to T                                    constant  + ln T ×",
        " " + "─" * 68,
        " any policy at least, in the long run (Theorem 2)                   0",
        " the default at most, in the long run                               0",
        " FP-UCB at most (Theorem 1, corrected)                437.2         0",
        "   as printed                                         874.3         0",
        " optimist at most, in the long run                                  0",
        " UCB1 at most                                         1.716        20",
        "",
        "Regret is bounded; 117 plays of arm1 rule out all with another best arm.",
        "Hardest to tell apart, outside B: theta2, whose mean on arm1 is 0.7 off: 117 plays of it",
    ]
    assert lines_of(load_problem("paper:two"), "theta1", bounds=False)[3:] == [
        "",
        " arm   mean  loss  role",
        " " + "─" * 35,
        " arm1   0.9     0  best",
        " arm2   0.5   0.4  best under others",
        "",
    ]


def test_what_forces_nothing_is_told_from_what_does() -> None:
    """theta2 has another law on arm1; arm2 costs what theta3 rules out at once."""
    problem = Problem.discrete(
        [
            [[0.5, 0, 0.5], [0.75, 0.25, 0]],
            [[0, 1, 0], [0.25, 0, 0.75]],
            [[0.5, 0, 0.5], [0, 0.5, 0.5]],
        ],
        support=[0, 0.5, 1],
    )
    lines = lines_of(problem, "theta1", bounds=True)
    assert lines[-2:] == [
        "Confused with the truth (B): theta2; theta3",
        "of which a policy must rule out by exploring: theta3",
    ]
    lines = lines_of(Problem.bernoulli([[0.5, 0.5], [0.2, 0.5], [0.7, 0.1]]), "theta2", bounds=True)
    assert "of which a policy must rule out by exploring: none" in lines
    grid = lines_of(load_problem("paper:grid"), "0.4,0.6,0.3,0.2", bounds=True)
    assert [line for line in grid if "2.466" in line] == [
        "   as printed (more than is needed)                             2.466"
    ]


def test_several_cases_with_a_notice_of_ties() -> None:
    """The default has no bound where best arms tie; nor has optimist."""
    problem = Problem.bernoulli([[0.5, 0.5], [0.5, 0.9], [0.5, 0.2]])
    note = [
        "Note: 1 model (theta1) with tied best arms: the first of them counts as best, so the order"
        " of the",
        "arms decides which models count as confused.",
    ]
    assert lines_of(problem, None, bounds=True) == [
        "problem: 3 models, 2 arms, of which 2 are best under some model",
        *note,
        "",
        "                  optimist   FP-UCB             any ≥",
        "truth   best arm    ln T ×  at most  + ln T ×  ln T ×",
        "─" * 100,
        "theta1  arm1             –        0         0       0",
        "  bounded, because FP-UCB plays no arm that is worse than arm1",
        "theta2  arm2             0    955.1         0       0",
        "  bounded; 461 plays of arm2 rule out all with another best arm",
        "theta3  arm1        0.2422        3     7.347  0.2201",
        "  logarithmic, because it looks like theta2 while you play arm1",
        "",
        "2 bounded, 1 logarithmic for FP-UCB. For one case in full: --truth NAME",
    ]
    assert lines_of(problem, None, bounds=False) == [
        "problem: 3 models, 2 arms, of which 2 are best under some model",
        *note,
        "",
        "theta1: best is arm1",
        "  losses can stop: playing arm1 does not tell theta1 from theta2, but other arms do so at"
        " no cost",
        "theta2: best is arm2",
        "  losses stop: about 3 plays of arm2 tell theta2 from theta3",
        "theta3: best is arm1",
        "  losses never stop: playing arm1 does not tell theta3 from theta2, so other arms must be"
        " tried",
        "  again and again. In the long run this costs at least 0.5069 more each time the number of"
        " plays",
        "  grows tenfold",
        "",
        "Losses are counted against knowing the truth from the start. Where they stop, they do so"
        " under the",
        "default policy; where they never stop, no policy that does well under all models can avoid"
        " it. What",
        "the default loses in all: fpbandits forecast. One truth in full: --truth NAME. The paper's"
        " bounds:",
        "--bounds.",
    ]
    rows = [line.split()[1:] for line in lines_of(problem, "theta1", bounds=True)]
    assert not any(row[:2] in (["default", "at"], ["at", "most,"]) for row in rows)


def test_logarithmic_for_fp_ucb_alone_is_counted_apart() -> None:
    """Under theta2 arm2 always pays: one failure rules it out, which FP-UCB does not see."""
    problem = Problem.bernoulli([[0.5, 0.3], [0.5, 1]])
    assert lines_of(problem, None, bounds=True)[-1] == (
        "1 bounded, 1 logarithmic for FP-UCB (0 for any policy). For one case in full: --truth NAME"
    )


def test_colours_tell_whether_losses_stop() -> None:
    """Without bounds that is for any policy; with them it is FP-UCB's verdict."""

    def colours(problem: Problem, truth: str | None, bounds: bool) -> list[str]:
        stream = io.StringIO()
        console = Console(file=stream, width=900, color_system="standard", force_terminal=True)
        console.print(analysis_table(analyze(problem, truth), problem, bounds=bounds))
        codes = re.findall(r"\x1b\[(32|33)m", stream.getvalue())
        return [{"32": "green", "33": "yellow"}[code] for code in codes]

    free = Problem.bernoulli([[0.5, 0.3], [0.5, 1]])
    assert colours(free, None, False) == ["green", "green"]
    assert colours(free, None, True) == ["yellow", "green"]
    assert colours(free, "theta1", False) == ["green"]
    two = load_problem("paper:two")
    assert colours(two, None, False) == ["green", "yellow"]
    assert colours(two, "theta2", False) == ["yellow"]
    small = Problem.bernoulli([[0.5, 0.499], [0.5, 0.9]])
    assert colours(small, "theta1", False) == ["yellow"], "a lower bound below 1 forces as well"
    means = [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]]]
    pairs = Problem.bernoulli(means, contexts=["mobile", "desktop"])
    assert colours(pairs, None, False) == ["green", "yellow"]


def test_models_from_a_log_look_the_same_within_their_errors() -> None:
    two = load_problem("paper:two")
    fitted = replace(two, fitted_units=("0" * 64,))
    for truth in (None, "theta2"):
        lines = lines_of(fitted, truth, bounds=False, width=1000)
        assert lines[-1] == LOOK_ALIKE
        assert LOOK_ALIKE not in lines_of(two, truth, bounds=False, width=1000)


def test_names_that_just_fit_stand_beside_their_numbers() -> None:
    """Eighteen letters for a truth, ten for an arm."""
    for truth, arm, fits in (
        ("t" * 18, "a" * 10, True),
        ("t" * 19, "a", False),
        ("t", "a" * 11, False),
    ):
        problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], models=[truth, "y"], arms=[arm, "b"])
        lines = lines_of(problem, None, bounds=True)
        (line,) = [line for line in lines if line.startswith(f"{truth}  {arm}")]
        assert line.endswith("437.2         0       0") == fits
        assert (line == f"{truth}  {arm}") != fits


def test_contexts_of_which_one_is_asked_for() -> None:
    """Contexts and arms are named in their rows, best arms too; others have what they lose."""
    problem = Problem.bernoulli(
        [[[90, 50], [80, 60]], [[40, 50], [80, 60]], [[10, 20], [30, 60]]],
        contexts=["mobile", "desktop"],
        range=(0, 100),
    )
    lines = lines_of(problem, "theta2", bounds=False)
    (row,) = [line for line in lines if line.startswith(" mobile")]
    # 1/kl(.4, .9) plays, each of which loses 10.
    told = 0.4 * math.log(0.4 / 0.9) + 0.6 * math.log(0.6 / 0.1)
    assert row.split() == ["mobile", "arm1", "40", "10", f"{1 / told:.4g}"]
    assert [line.split() for line in lines[lines.index(row) + 1 :] if line] == [
        ["arm2", "(best)", "50", "0", "0"],
        ["desktop", "arm1", "(best)", "80", "0", "0"],
        ["arm2", "60", "20", "0"],
    ]
    several = lines_of(problem, None, bounds=False)
    assert several[0].endswith("of which 2 are best in some of 2 contexts")
    assert sum(line.startswith("  best arm") for line in several) == 3
    wide = Problem.bernoulli(
        [[np.linspace(0.1, 0.9, 201)] * 2] * 2, contexts=["a", "b"], models=["x", "y"]
    )
    rows = [
        line for line in lines_of(wide, "x", bounds=False) if " arm1" in line or " arm2" in line
    ]
    assert [line.split()[-4] for line in rows[-2:]] == ["arm199", "arm200"]


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0.12345, 3, "0.123"),
        (0.12345, 2, "0.12"),
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (1350, 3, "1,350"),
        (1350, 4, "1350"),
        (99.6, 2, "100"),
        (999_999.4, 3, "999,999"),
        (1e6, 3, "1 million"),
    ],
)
def test_brief_numbers(value: float, digits: int, expected: str) -> None:
    assert brief(value, digits) == expected
    if digits == 3:
        assert brief(value) == expected
