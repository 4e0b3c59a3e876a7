"""The leaderboard as tables and as a figure: a row per policy and a column per contest.

For several groups it is one table: the paper's contests by name, the others as the mean of their
group. For a single group there is a table each for the mean, the 95 % quantile and the worst truth,
with all contests.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from fpbandits.core.checks import amount
from fpbandits.report.figures import blank, own_style
from fpbandits.simulation.delays import delay_text
from fpbandits.theory.tables import brief, simple_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.leaderboard.board import Leaderboard, Measure

_TITLES: dict[Measure, str] = {
    "mean": "Mean regret",
    "q95": "95 % quantile",
    "worst": "Mean under the worst truth",
}
_MEANING = (
    "Score: regret as a multiple of the least, half the width of the rewards' range added to both, "
    "in the geometric mean over all contests"
)
_NARROW_HEAD = 8
"""Characters of a line of a column's head, if its words are no longer."""
_WIDE_HEAD = 14
"""The same where a cell holds a mean and a quantile."""


def leaderboard_table(board: Leaderboard) -> RenderableType:
    """Return the tables of a leaderboard, with a sentence below that explains them."""
    groups: dict[str, list[str]] = {}
    for contest in board.contests:
        groups.setdefault(contest.group, []).append(contest.name)
    if len(groups) == 1 and groups.keys() <= {"random", "wrong", "practice"}:
        (group,) = groups
        return _by_measure(board, group, groups[group])
    return _at_a_glance(board, groups)


def _at_a_glance(board: Leaderboard, groups: dict[str, list[str]]) -> RenderableType:
    """Show the paper's and the user's problems one by one, and the means of the other groups."""
    named = [*groups.pop("paper", []), *groups.pop("own", [])]
    last = ["score", "× floor"] if board.floors else ["score"]
    columns = (_column(head, _WIDE_HEAD) for head in (*named, *groups, *last))
    table = simple_table(Column("policy", vertical="bottom", no_wrap=True), *columns)
    for policy in board.ranking:
        played = board.standings[policy]
        cells = [
            f"{brief(played[name].mean)} ({brief(played[name].q95)})" if name in played else "–"
            for name in named
        ]
        for names in groups.values():
            means = [played[name].mean for name in names if name in played]
            cells.append(brief(sum(means) / len(means)) if len(means) == len(names) else "–")
        cells.append(_score(board, policy, "mean"))
        table.add_row(Text(policy, style="bold"), *cells, *_times_floor(board, policy))
    words = f"Mean regret (95 % quantile) {_setting(board)}"
    if groups:
        words += "; the mean over the random problems and over wrong models"
    but = " but those of wrong models" if groups else ""
    return Group(table, Text(f"{words}. {_MEANING}{but}.{_mark_note(board)}{_floor_note(board)}"))


def _by_measure(board: Leaderboard, group: str, names: Sequence[str]) -> RenderableType:
    """Show every contest of a group: a table per measure."""
    policies = {policy: board.standings[policy] for policy in board.ranking}
    fewest_runs: dict[str, int] = {}
    for played in policies.values():
        for name, worst in ((name, standing.worst) for name, standing in played.items()):
            if worst:
                fewest_runs[name] = min(worst.runs, fewest_runs.get(name, worst.runs))
    scored = group != "wrong"
    parts: list[RenderableType] = []
    for measure, title in _TITLES.items():
        if measure == "worst" and not fewest_runs:
            continue
        floors = measure == "mean" and bool(board.floors)
        last = [*(["score"] if scored else []), *(["× floor"] if floors else [])]
        table = _narrow_table([*names, *last])
        for policy, played in policies.items():
            if played:
                cells = [
                    brief(played[name].regret(measure)) if name in played else "–" for name in names
                ]
                scores = [_score(board, policy, measure)] if scored else []
                scores += _times_floor(board, policy) if floors else []
                # An option on a line of its own leaves room for the numbers.
                table.add_row(Text(policy.replace(":", "\n:"), style="bold"), *cells, *scores)
        if floors:
            cells = [brief(board.floors[name]) if name in board.floors else "–" for name in names]
            table.add_section()
            table.add_row(Text("floor", style="italic"), *cells)
        if measure == "worst":
            cells = [f"{fewest_runs[name]:,}" if name in fewest_runs else "–" for name in names]
            table.add_section()
            table.add_row(Text("runs, at least", style="italic"), *cells)
        parts += [Text(title, style="bold"), table, ""]
    words = f"Regret {_setting(board)}"
    if group == "practice":
        words += f", the truth of each run drawn from the prior; sets of seed {board.seed}"
    words += "."
    if fewest_runs:
        words += (
            " The worst truth is the one with the largest mean, of those that were played; the "
            "last row has the fewest runs behind any mean above it: few say little."
        )
    if scored:
        words += f" {_MEANING}.{_mark_note(board)}{_floor_note(board)}"
    if idle := [policy for policy, played in policies.items() if not played]:
        words += f" {', '.join(idle)} can play none of them."
    return Group(*parts, Text(words))


def _narrow_table(names: Sequence[str]) -> Table:
    """Return a table of many narrow columns, whose heads are broken into lines."""
    heads = (_column(name, _NARROW_HEAD) for name in names)
    policy = Column("policy", vertical="bottom", no_wrap=True)
    return Table(policy, *heads, box=SIMPLE_HEAD, padding=0, show_edge=False)


def _column(head: str, width: int) -> Column:
    """Return a column of numbers, whose head is broken into lines between words."""
    lines = fill(head, max(width, *map(len, head.split())), break_on_hyphens=False)
    return Column(Text(lines), justify="right", vertical="bottom", no_wrap=True)


def _score(board: Leaderboard, policy: str, measure: Measure) -> str:
    """Return a score, and mark that of a policy which does not play every contest."""
    score = board.partial_score(policy, measure)
    mark = "*" if board.score(policy) is None else ""
    return "–" if score is None else f"{mark}{score:.2f}"


def _times_floor(board: Leaderboard, policy: str) -> list[str]:
    """Return the cell of the column "× floor", or no cell if the table has no such column."""
    if not board.floors:
        return []
    times = board.times_floor(policy)
    return ["–" if times is None else f"{times:.2f}"]


def _floor_note(board: Leaderboard) -> str:
    """Explain the column "× floor", if the table has it."""
    return (
        " × floor: as a multiple of the least that any policy can lose, where that is known."
        if board.floors
        else ""
    )


def _setting(board: Leaderboard) -> str:
    """Return the horizon, the number of runs, that arms were shuffled, and the delay, in words."""
    late = delay_text(board.delay)
    return f"at T = {board.horizon:.6g}, {board.runs:,} runs, arms shuffled{late}"


def _mark_note(board: Leaderboard) -> str:
    """Explain the mark of partial scores, if there are any."""
    partial = any(board.score(name) is None and board.partial_score(name) for name in board.ranking)
    return " *: over those that the policy can play." if partial else ""


@own_style()
def leaderboard_figure(board: Leaderboard) -> Figure:
    """Draw mean regret by policy and contest, coloured by its multiple of the least."""
    from matplotlib.colors import LogNorm

    ranking = [policy for policy in board.ranking if board.standings[policy]]
    names = [contest.name for contest in board.contests]
    figure = blank(max(2.4 + 0.62 * len(names), 6.6), 2.6 + 0.34 * len(ranking))
    axes = figure.subplots()
    shades = np.full((len(ranking), len(names)), np.nan)
    for row, policy in enumerate(ranking):
        for column, name in enumerate(names):
            if name in board.standings[policy]:
                shades[row, column] = times_best = board.times_best(policy, name)
                mean = board.standings[policy][name].mean
                text = f"{mean:.0f}" if mean < 1e6 else amount(mean)
                if mean < 999.5:
                    text = f"{mean:.3g}"
                colour = "white" if times_best > 10 else "black"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    image = axes.imshow(shades, cmap="cividis_r", norm=LogNorm(1, 100), aspect="auto")
    style: Any = {"rotation": 60, "ha": "right", "fontsize": 8, "parse_math": False}
    axes.set_xticks(range(len(names)), names, **style)
    axes.set_yticks(range(len(ranking)), ranking, fontsize=9, parse_math=False)
    figure.colorbar(image, ax=axes, label="mean regret as a multiple of the least", pad=0.01)
    title = f"Mean regret {_setting(board)}"
    if all(contest.group == "practice" for contest in board.contests):
        title = f"{title}, sets of seed {board.seed}"
    axes.set_title(title, fontsize=11)
    return figure
