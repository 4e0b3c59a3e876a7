"""Tables of an analysis for the terminal, and the style of all such tables.

Names come from users, so they are put in as plain text, never as Rich markup.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from operator import gt

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from fpbandits.core.checks import amount
from fpbandits.problem.problem import Problem
from fpbandits.report.text import LOOK_ALIKE, aligned
from fpbandits.theory.analysis import Analysis, ContextAnalysis
from fpbandits.theory.cases import Case

_STYLES = {"bounded": "green", "logarithmic": "yellow"}
"""The colour of a verdict, by regime."""

_MOST_NAMES = 12
"""Names in a list of confused models; the others are counted."""

_NAME_WIDTHS = 18, 10
"""Widths of a truth and of its best arm that leave room for the numbers in 80 columns."""

_MOST_ARMS = 200
"""Arms that are shown: laying out a row takes a millisecond, and nobody reads thousands."""

_CLOSING = (
    "Losses are counted against knowing the truth from the start. Where they stop, they do so "
    "under the default policy; where they never stop, no policy that does well under all models "
    "can avoid it. What the default loses in all: fpbandits forecast. One truth in full: --truth "
    "NAME."
)
"""What is said below several cases."""


def analysis_table(analysis: Analysis, problem: Problem, *, bounds: bool = False) -> RenderableType:
    """Show one case in full, or several at a glance; ``bounds`` adds the bounds of FP-UCB."""
    parts: list[RenderableType] = [Text(analysis.summary, style="bold")]
    if analysis.tie_notice:
        parts.append(Text(f"Note: {analysis.tie_notice}", style="italic"))
    if isinstance(analysis, ContextAnalysis):
        parts += _with_contexts(analysis, problem)
    elif len(analysis.cases) == 1:
        parts += _in_full(analysis, analysis.cases[0], problem, bounds)
    elif bounds:
        parts += _at_a_glance(analysis)
    else:
        parts += _in_words(analysis)
    if problem.fitted_units:
        parts.append(Text(LOOK_ALIKE))
    return Group(*parts)


def brief(value: float, digits: int = 3) -> str:
    """Return a number to few digits, but not as a power of ten: 1,350, not 1.35e+03."""
    small = round(value) < 10**digits
    return f"{value:.{digits}g}" if small else f"{value:,.0f}" if value < 1e6 else amount(value)


def _with_contexts(analysis: ContextAnalysis, problem: Problem) -> list[RenderableType]:
    """Show the verdict on each truth, and for a single one the mean and the gap of each pair."""
    parts: list[RenderableType] = [""]
    for case in analysis.cases:
        head = Text.assemble((case.truth, "bold"), ": ", (case.outlook, _STYLES[case.regime]))
        facts = [Text(f"{name:<14} {fact}") for name, fact in case.facts.items()]
        parts += [head, Padding(Group(*facts), (0, 0, 0, 2), expand=False)]
    if len(analysis.cases) > 1:
        return [*parts, "", Text(_CLOSING)]
    (case,) = analysis.cases
    means = problem.means[problem.index(case.truth)]
    table = simple_table(
        *map(_words, ("context", "arm")), *map(number_column, ("mean", "gap", "plays ln T ×"))
    )
    for row, context in enumerate(problem.contexts):
        for column, arm in enumerate(problem.arms[:_MOST_ARMS]):
            best = arm == case.best_arm[context]
            cells = [Text(context if column == 0 else ""), Text(arm + (" (best)" if best else ""))]
            numbers = means[row, column], case.gaps[context][arm], case.theorem2.pulls[context][arm]
            table.add_row(*cells, *map(amount, map(float, numbers)))
    return [*parts, table]


def _in_words(analysis: Analysis) -> list[RenderableType]:
    """Say under each truth which arm is best, and whether losses stop."""
    parts: list[RenderableType] = [""]
    for case in analysis.cases:
        head = Text.assemble((case.truth, "bold"), ": best is ", (case.best_arm, "bold"))
        parts += [head, Padding(_outlook(case), (0, 0, 0, 2), expand=False)]
    return [*parts, "", Text(f"{_CLOSING} The paper's bounds: --bounds.")]


def _outlook(case: Case) -> Text:
    """Return the outlook of a case, coloured by whether losses can stop."""
    forced = case.theorem2.all_arms.coefficient > 0
    return Text(case.outlook, style=_STYLES["logarithmic" if forced else "bounded"])


def _at_a_glance(analysis: Analysis) -> list[RenderableType]:
    """Show two lines per truth: the bounds, and the verdict in words."""
    # The heads of the two columns of names are in the second line, beside the units of the numbers.
    name_heads, number_heads = ["truth", "best arm"], ["optimist", "FP-UCB", "", "any ≥"]
    units = ["ln T ×", "at most", "+ ln T ×", "ln T ×"]
    rows = [([case.truth, case.best_arm], _bounds_of(case)) for case in analysis.cases]
    names = [name_heads, *(row_names for row_names, _ in rows)]
    numbers = [number_heads, units, *(row_numbers for _, row_numbers in rows)]
    widths = [
        min(max(map(cell_len, column)), most)
        for column, most in zip(zip(*names, strict=True), _NAME_WIDTHS, strict=True)
    ]
    widths += [-max(map(len, column)) for column in zip(*numbers, strict=True)]
    lines = [["", "", *number_heads], [*name_heads, *units]]
    parts: list[RenderableType] = ["", *(aligned(line, widths) for line in lines), Rule(style="")]
    for case, (row_names, row_numbers) in zip(analysis.cases, rows, strict=True):
        line = [*row_names, *row_numbers]
        if any(map(gt, map(cell_len, row_names), _NAME_WIDTHS)):  # long names take their own line
            parts.append(Text("  ".join(row_names)))
            line = ["", "", *row_numbers]
        reason = Text(case.verdict, style=_STYLES[case.regime])
        parts += [Text(aligned(line, widths)), Padding(reason, (0, 0, 0, 2))]
    logarithmic = sum(case.regime == "logarithmic" for case in analysis.cases)
    forced = sum(case.theorem2.all_arms.coefficient > 0 for case in analysis.cases)
    closing = f"{len(analysis.cases) - logarithmic} bounded, {logarithmic} logarithmic for FP-UCB"
    if forced < logarithmic:
        closing += f" ({forced} for any policy)"
    return [*parts, "", Text(f"{closing}. For one case in full: --truth NAME")]


def _bounds_of(case: Case) -> list[str]:
    """Return the bounds of optimist, of FP-UCB (constant and coefficient) and of any policy."""
    upper, lower = case.theorem1.corrected, case.theorem2.all_arms
    bounds = upper.constant, upper.log_coefficient, lower.coefficient
    return [amount(case.optimist.log_coefficient) or "–", *map(amount, bounds)]


def _in_full(
    analysis: Analysis, case: Case, problem: Problem, bounds: bool
) -> list[RenderableType]:
    """Show a case: a headline, a row per arm, the confused models; and with ``bounds`` those."""
    headline = Text.assemble("If the truth is ", (case.truth, "bold"), ", ", _outlook(case), ".")
    parts: list[RenderableType] = ["", headline, _arm_table(analysis, case, problem, bounds)]
    if len(analysis.arms) > _MOST_ARMS:
        more = len(analysis.arms) - _MOST_ARMS
        parts.append(Text(f"and {more:,} arms more: --json lists them all"))
    if not bounds:
        confused = case.theorem2.confusion_set
        like = f"Look like {case.truth} while you play {case.best_arm}: {_list_names(confused)}"
        return [*parts, Text(like)] if confused else parts
    parts.append(_bound_table(case))
    verdict = Text(case.verdict, style=_STYLES[case.regime])
    parts.append(Text.assemble("Regret is ", verdict, "."))
    if case.confusion_set:
        parts.append(Text(f"Confused with the truth (B): {_list_names(case.confusion_set)}"))
        if case.confusion_set != case.theorem2.confusion_set:
            needed = _list_names(case.theorem2.confusion_set) or "none"
            parts.append(Text(f"of which a policy must rule out by exploring: {needed}"))
    if case.nearest:
        parts.append(
            Text(
                f"Hardest to tell apart, outside B: {case.nearest.model}, whose mean on "
                f"{case.best_arm} is {amount(case.nearest.alpha)} off: "
                f"{case.nearest.plays:,} plays of it"
            )
        )
    return parts


def _arm_table(analysis: Analysis, case: Case, problem: Problem, bounds: bool) -> Table:
    """Show a row per arm; a column without values of its own is left out."""
    upper, lower = case.theorem1, case.theorem2
    corrected, printed = upper.corrected.constants, upper.printed.constants
    differs = any(printed[arm] != corrected[arm] for arm in printed)
    outside_helps = lower.all_arms.coefficient < lower.coefficient
    # Proposition 2's log term, whose β is on [0, 1].
    logs = {arm: 12 * (problem.rewards.width / beta) ** 2 for arm, beta in case.betas.items()}
    columns: dict[str, Mapping[str, float]] = {
        "β": case.betas,
        "FP-UCB\nplays ≤": corrected,
        "as\nprinted": printed if differs else {},
        "\n+ ln T ×": logs,
        "any policy ≥\nln T ×": lower.pulls if lower.coefficient else {},
        "with arms\noutside A": lower.all_arms.pulls if outside_helps else {},
    }
    if not bounds:
        tries = {arm: math.log(10) * pulls for arm, pulls in lower.all_arms.pulls.items()}
        columns = {"plays per\ntenfold": tries if lower.all_arms.coefficient else {}}
    columns = {head: values for head, values in columns.items() if values}
    table = simple_table(
        _words("arm"),
        *(Column(head, justify="right") for head in ("mean", "gap Δ" if bounds else "loss")),
        "role",
        *(Column(head, justify="right") for head in columns),
    )
    means = problem.means[problem.index(case.truth)].tolist()
    candidates = set(analysis.candidate_arms)
    for index in _arms_to_show(analysis.arms, (case.best_arm,), case.betas, candidates):
        arm, mean = analysis.arms[index], means[index]
        if arm == case.best_arm:
            role = Text("best", style="bold")
        elif bounds and arm in case.betas:
            role = Text("confusing", style="yellow")
        elif arm in candidates:
            role = Text("candidate" if bounds else "best under others")
        else:
            role = Text("never best")
        numbers = [amount(values.get(arm)) for values in columns.values()]
        gap = amount(case.gaps[arm])
        table.add_row(Text(arm), amount(mean), gap, role, *numbers)
    return table


def _arms_to_show(arms: tuple[str, ...], *groups: Container[str]) -> list[int]:
    """Return the indices of at most `_MOST_ARMS` arms, those of earlier groups before others."""

    def rank(index: int) -> list[bool]:
        return [arms[index] not in group for group in groups]

    return sorted(sorted(range(len(arms)), key=rank)[:_MOST_ARMS])


def _bound_table(case: Case) -> Table:
    """Show the upper and lower bounds on regret, a row for each."""
    table = simple_table(
        "regret up to T", *(Column(head, justify="right") for head in ("constant", "+ ln T ×"))
    )

    def row(label: str, constant: float | None, log_coefficient: float) -> None:
        table.add_row(label, amount(constant), amount(log_coefficient))

    corrected, printed, lower = case.theorem1.corrected, case.theorem1.printed, case.theorem2
    row("any policy at least, in the long run (Theorem 2)", None, lower.all_arms.coefficient)
    if lower.coefficient != lower.all_arms.coefficient:
        row("  with arms of A alone", None, lower.coefficient)
    if lower.printed.coefficient != lower.coefficient:
        row("  as printed (more than is needed)", None, lower.printed.coefficient)
    if case.default.log_coefficient is not None:
        row("the default at most, in the long run", None, case.default.log_coefficient)
    row("FP-UCB at most (Theorem 1, corrected)", corrected.constant, corrected.log_coefficient)
    if printed.constant is None:
        row("  as printed (the constant is undefined)", None, printed.log_coefficient)
    else:
        assert corrected.constant is not None
        proven = printed.constant >= corrected.constant
        label = "  as printed" if proven else "  as printed (not proven)"
        row(label, printed.constant, printed.log_coefficient)
    if case.optimist.log_coefficient is not None:
        row("optimist at most, in the long run", None, case.optimist.log_coefficient)
    row("UCB1 at most", case.ucb1.constant, case.ucb1.log_coefficient)
    return table


def simple_table(*columns: Column | str) -> Table:
    """Return a table of these columns, whose only line is below their heads."""
    return Table(*columns, box=SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)


def _words(head: str) -> Column:
    """Return a column of texts, which may be long."""
    return Column(head, overflow="fold")


def number_column(head: str) -> Column:
    """Return a column of numbers; its head may be a name that a user gave."""
    return Column(Text(head), justify="right", no_wrap=True)


def _list_names(names: tuple[str, ...]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return "; ".join(names[:_MOST_NAMES]) + (f"; and {more:,} more" if more > 0 else "")
