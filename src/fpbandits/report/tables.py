"""Tables for the terminal.

Names come from users, so they are put in as plain text, never as Rich markup.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fpbandits.problem import Problem
from fpbandits.theory.analysis import Analysis, Case

_STYLES = {"bounded": "green", "logarithmic": "yellow"}
_MOST_NAMES = 12
_MOST_ROWS, _MOST_COLUMNS = 40, 8


def analysis_table(analysis: Analysis, problem: Problem) -> RenderableType:
    """Show one case in full, or several at a glance."""
    parts: list[RenderableType] = [Text(analysis.summary, style="bold")]
    if analysis.tie_notice:
        parts.append(Text(f"Note: {analysis.tie_notice}", style="italic"))
    if len(analysis.cases) == 1:
        parts += _in_full(analysis, analysis.cases[0], problem)
    else:
        parts += _at_a_glance(analysis)
    return Group(*parts)


def policy_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Show what there is to choose from."""
    table = _table()
    for column in ("policy", "knows", "guarantee", "options"):
        table.add_column(column, overflow="fold")
    for row in rows:
        options = ", ".join(f"{name}={value}" for name, value in row["options"].items())
        name = Text(row["name"] + (" (default)" if row["default"] else ""), style="bold")
        table.add_row(name, Text(row["knows"]), Text(row["guarantee"]), Text(options))
    return table


def leaderboard_table(board: Mapping[str, Any]) -> RenderableType:
    """Show who did how well on the paper's problems, and in the mean of each other group."""
    names = [contest["name"] for contest in board["contests"] if contest["group"] == "paper"]
    random = [contest["name"] for contest in board["contests"] if contest["group"] == "random"]
    wrong = [contest["name"] for contest in board["contests"] if contest["group"] == "wrong"]
    table = _table()
    table.add_column("policy", no_wrap=True)
    for name in (*names, "random", "wrong", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for policy, own in board["policies"].items():
        cells = [Text(policy, style="bold")]
        for name in names:
            found = own["contests"].get(name)
            cells.append(Text(f"{found['mean']:.3g} ({found['q95']:.3g})" if found else "–"))
        for group in (random, wrong):
            means = [own["contests"][name]["mean"] for name in group if name in own["contests"]]
            whole = len(means) == len(group) and means
            cells.append(Text(f"{sum(means) / len(means):.3g}" if whole else "–"))
        cells.append(Text(f"{own['score']:.2f}" if own["score"] else "–"))
        table.add_row(*cells)
    words = (
        f"Mean regret at T = {board['horizon']:.6g} (95 % quantile), {board['runs']:,} runs, arms "
        "shuffled; the mean over the random problems and over wrong models; score: geometric mean "
        "of regret over the least, wrong models left out."
    )
    return Group(table, Text(words))


def sweep_table(
    against: str, points: Mapping[str, Mapping[str, Mapping[Any, Any]]], caption: str
) -> Group:
    """Show the points of a study's figure: policies and values, the fewer of them as columns."""
    parts: list[RenderableType] = []
    cut = False
    for title, panel in points.items():
        values = list(dict.fromkeys(value for line in panel.values() for value in line))
        if all(isinstance(value, int | float) for value in values if value is not None):
            values.sort(key=lambda value: -math.inf if value is None else value)
        cells = {
            (line, value): _with_error(own.get(value))
            for line, own in panel.items()
            for value in values
        }
        table = _table()
        named = {value: _value(value) for value in values}
        if len(values) <= len(panel) and against != "policy":
            head, down, across, flip = f"policy, {against} →", list(panel), values, False
        else:
            head, down, across, flip = against, values, list(panel), True
        table.add_column(head, overflow="fold")
        for column in across[:_MOST_COLUMNS]:
            label = (column or "mean regret") if flip else named[column]
            table.add_column(Text(str(label)), justify="right", no_wrap=True)
        for row in down[:_MOST_ROWS]:
            own = [
                cells[(column, row) if flip else (row, column)] for column in across[:_MOST_COLUMNS]
            ]
            table.add_row(Text(named[row] if flip else row), *own)
        cut = cut or len(down) > _MOST_ROWS or len(across) > _MOST_COLUMNS
        parts += [Text(title, style="bold"), table] if title else [table]
    more = " There is more in study.csv." if cut else ""
    return Group(*parts, Text(f"Mean regret ± its standard error: {caption}.{more}"))


def _value(value: Any) -> str:
    """Return a value as a table shows it; None is that of a policy without the option."""
    if value is None:
        return "any"
    if isinstance(value, int) and value < 10**7:
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def _with_error(point: Any) -> Text:
    if point is None:
        return Text("–")
    error = "" if math.isnan(point.standard_error) else f" ± {point.standard_error:.2g}"
    return Text(f"{point.mean:.4g}{error}")


def _at_a_glance(analysis: Analysis) -> list[RenderableType]:
    table = _table()
    table.add_column("truth", overflow="fold")
    table.add_column("best arm", overflow="fold")
    table.add_column("regret is", overflow="fold")
    table.add_column("FP-UCB\nat most", justify="right", no_wrap=True)
    table.add_column("\n+ ln T ×", justify="right", no_wrap=True)
    table.add_column("any ≥\nln T ×", justify="right", no_wrap=True)
    for case in analysis.cases:
        corrected = case.theorem1.corrected
        table.add_row(
            Text(case.true),
            Text(case.best_arm),
            Text(case.verdict, style=_STYLES[case.regime]),
            _figure(corrected.constant),
            _figure(corrected.log_coefficient),
            _figure(case.theorem2.all_arms.coefficient),
        )
    logarithmic = sum(case.regime == "logarithmic" for case in analysis.cases)
    forced = sum(case.theorem2.all_arms.coefficient > 0 for case in analysis.cases)
    closing = f"{len(analysis.cases) - logarithmic} bounded, {logarithmic} logarithmic for FP-UCB"
    if forced < logarithmic:
        closing += f" ({forced} for any policy)"
    return [table, Text(f"{closing}. For one case in full: --true NAME")]


def _in_full(analysis: Analysis, case: Case, problem: Problem) -> list[RenderableType]:
    headline = Text.assemble(
        "If the truth is ",
        (case.true, "bold"),
        ", regret is ",
        (case.verdict, _STYLES[case.regime]),
        ".",
    )
    parts: list[RenderableType] = ["", headline, _arm_table(analysis, case, problem)]
    parts.append(_bound_table(case))
    if case.confusion_set:
        parts.append(Text(f"Confused with the truth (B): {_names(case.confusion_set)}"))
        if case.confusion_set != case.theorem2.confusion_set:
            needed = _names(case.theorem2.confusion_set) if case.theorem2.confusion_set else "none"
            parts.append(Text(f"of which a policy must rule out by exploring: {needed}"))
    if case.nearest:
        parts.append(
            Text(
                f"Hardest to tell apart, outside B: {case.nearest.parameter}, whose mean on "
                f"{case.best_arm} is {case.nearest.alpha:.4g} off: "
                f"{case.nearest.plays:,} plays of it"
            )
        )
    return parts


def _arm_table(analysis: Analysis, case: Case, problem: Problem) -> Table:
    """Show each arm's part; a column that would say nothing new is left out."""
    corrected, printed = case.theorem1.corrected.constants, case.theorem1.printed.constants
    over_a, over_all = case.theorem2.pulls, case.theorem2.all_arms.pulls
    differs = any(printed[arm] != corrected[arm] for arm in printed)
    outside_helps = case.theorem2.all_arms.coefficient < case.theorem2.coefficient

    table = _table()
    table.add_column("arm", overflow="fold")
    table.add_column("mean", justify="right")
    table.add_column("gap Δ", justify="right")
    table.add_column("role")
    if case.betas:
        table.add_column("β", justify="right")
    table.add_column("FP-UCB\nplays ≤", justify="right")
    if differs:
        table.add_column("as\nprinted", justify="right")
    if case.betas:
        table.add_column("\n+ ln T ×", justify="right")
    if case.theorem2.coefficient:
        table.add_column("any policy ≥\nln T ×", justify="right")
    if outside_helps:
        table.add_column("with arms\noutside A", justify="right")

    means = problem.means[problem.index(case.true)]
    for arm, mean in zip(analysis.arms, means, strict=True):
        beta = case.betas.get(arm)
        if arm == case.best_arm:
            role = Text("best", style="bold")
        elif beta:
            role = Text("confusing", style="yellow")
        else:
            role = Text("candidate" if arm in analysis.candidate_arms else "never best")
        cells: list[str | Text] = [Text(arm), f"{mean:.4g}", f"{case.gaps[arm]:.4g}", role]
        if case.betas:
            cells.append(f"{beta:.4g}" if beta else "")
        cells.append(_figure(corrected.get(arm)))
        if differs:
            cells.append(_figure(printed.get(arm)))
        if case.betas:
            # Proposition 2's log term; its β lives on [0, 1].
            cells.append(_figure(12 * (problem.rewards.width / beta) ** 2) if beta else "")
        if case.theorem2.coefficient:
            cells.append(_figure(over_a.get(arm)))
        if outside_helps:
            cells.append(_figure(over_all.get(arm)))
        table.add_row(*cells)
    return table


def _bound_table(case: Case) -> Table:
    table = _table()
    table.add_column("regret up to T")
    table.add_column("constant", justify="right")
    table.add_column("+ ln T ×", justify="right")

    def row(label: str, constant: float | None, log_coefficient: float) -> None:
        table.add_row(label, _figure(constant), _figure(log_coefficient))

    corrected, printed, lower = case.theorem1.corrected, case.theorem1.printed, case.theorem2
    row("FP-UCB at most (Theorem 1, corrected)", corrected.constant, corrected.log_coefficient)
    if printed.constant is None:
        row("  as printed (the constant is undefined)", None, printed.log_coefficient)
    else:
        proven = corrected.constant is not None and printed.constant >= corrected.constant
        label = "  as printed" if proven else "  as printed (not proven)"
        row(label, printed.constant, printed.log_coefficient)
    row("UCB1 at most", case.ucb1.constant, case.ucb1.log_coefficient)
    row("any policy at least, in the long run (Theorem 2)", None, lower.all_arms.coefficient)
    if lower.coefficient != lower.all_arms.coefficient:
        row("  with arms of A alone", None, lower.coefficient)
    if lower.printed.coefficient != lower.coefficient:
        row("  as printed (more than is needed)", None, lower.printed.coefficient)
    return table


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)


def _figure(value: float | None) -> str:
    """Return a number to four digits, or nothing."""
    if value is None:
        return ""
    return f"{value:,.1f}" if 1000 <= value < 1e7 else f"{value:.4g}"


def _names(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    return "; ".join(names[:_MOST_NAMES]) + (f"; and {more:,} more" if more > 0 else "")
