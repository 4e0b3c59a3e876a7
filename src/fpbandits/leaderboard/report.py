"""The leaderboard for people, a row per policy and a column per contest: as tables and drawn.

On several groups at once it is one table: the paper's contests by name, the others in the mean of
their group. A single group has room for all of its contests: then the mean, the 95 % quantile and
the worst truth have a table each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from fpbandits.core.checks import amount
from fpbandits.report.figures import blank, own_style
from fpbandits.theory.tables import number_column, short, simple_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.leaderboard import Leaderboard

_TITLES = {"mean": "Mean regret", "q95": "95 % quantile", "worst": "Mean under the worst truth"}
_MEANING = "Score: regret as a multiple of the least, in the geometric mean over all contests"
_HEAD_WIDTH = 8


def leaderboard_table(board: Mapping[str, Any]) -> RenderableType:
    """Show who did how well, of what `Leaderboard.as_dict` tells."""
    groups: dict[str, list[str]] = {}
    for contest in board["contests"]:
        groups.setdefault(contest["group"], []).append(contest["name"])
    if len(groups) == 1 and groups.keys() <= {"random", "wrong", "practice"}:
        (group,) = groups
        return _by_measure(board, group, groups[group])
    return _at_a_glance(board, groups)


def _at_a_glance(board: Mapping[str, Any], groups: dict[str, list[str]]) -> RenderableType:
    """Show the paper's or one's own problems, and the mean of the others."""
    named = [*groups.pop("paper", []), *groups.pop("own", [])]
    columns = map(number_column, (*named, *groups, "score"))
    table = simple_table(Column("policy", no_wrap=True), *columns)
    for policy, own in board["policies"].items():
        played = own["contests"]
        cells = [
            f"{short(played[name]['mean'])} ({short(played[name]['q95'])})"
            if name in played
            else "–"
            for name in named
        ]
        for names in groups.values():
            means = [played[name]["mean"] for name in names if name in played]
            whole = means and len(means) == len(names)
            cells.append(short(sum(means) / len(means)) if whole else "–")
        table.add_row(Text(policy, style="bold"), *cells, _score(own, "mean"))
    words = f"Mean regret (95 % quantile) {_setting(board)}"
    if groups:
        words += "; the mean over the random problems and over wrong models"
    but = " but those of wrong models" if groups else ""
    return Group(table, Text(f"{words}. {_MEANING}{but}.{_marked(board)}"))


def _by_measure(board: Mapping[str, Any], group: str, names: Sequence[str]) -> RenderableType:
    """Show every contest of a group: a table per measure."""
    policies = {policy: own for policy, own in board["policies"].items() if own["contests"]}
    shown = [standing for own in policies.values() for standing in own["contests"].values()]
    several_truths = any(standing["worst"] for standing in shown)
    scored = group != "wrong"
    parts: list[RenderableType] = []
    for measure in _TITLES if several_truths else ("mean", "q95"):
        table = _narrow_table([*names, "score"] if scored else names)
        for policy, own in policies.items():
            played = own["contests"]
            cells = [_cell(played.get(name), measure) for name in names]
            scores = [_score(own, measure)] if scored else []
            # An option on a line of its own leaves room for the numbers.
            name = Text(policy.replace(":", "\n:"), style="bold")
            table.add_row(name, *cells, *scores)
        if measure == "worst":
            fewest = [_fewest_runs(policies, name) for name in names]
            table.add_section()
            table.add_row(Text("runs, at least", style="italic"), *fewest)
        parts += [Text(_TITLES[measure], style="bold"), table, ""]
    words = f"Regret {_setting(board)}."
    if group == "practice":
        words = (
            f"Regret {_setting(board)}, the truth of each run drawn from the prior; sets of seed "
            f"{board['seed']}."
        )
    if several_truths:
        words += (
            " The worst truth is the one with the largest mean, of those that were played; the "
            "last row has the fewest runs behind any mean above it: few say little."
        )
    if scored:
        words += f" {_MEANING}.{_marked(board)}"
    if none := [policy for policy in board["policies"] if policy not in policies]:
        words += f" {', '.join(none)} can play none of them."
    return Group(*parts, Text(words))


def _narrow_table(names: Sequence[str]) -> Table:
    """Return a table whose heads are broken into lines, as there are many."""
    heads = [
        Column(
            Text(fill(name, max(_HEAD_WIDTH, *map(len, name.split())), break_on_hyphens=False)),
            justify="right",
            vertical="bottom",
            no_wrap=True,
        )
        for name in names
    ]
    policy = Column("policy", vertical="bottom", no_wrap=True)
    return Table(policy, *heads, box=SIMPLE_HEAD, padding=0, show_edge=False)


def _cell(standing: Mapping[str, Any] | None, measure: str) -> str:
    if standing is None:
        return "–"
    if measure == "worst":
        standing, measure = standing["worst"] or standing, "mean"
    return short(standing[measure])


def _fewest_runs(policies: Mapping[str, Any], name: str) -> str:
    """Return of how few runs a mean under a worst truth is, in a contest."""
    standings = [own["contests"][name] for own in policies.values() if name in own["contests"]]
    runs = [standing["worst"]["runs"] for standing in standings if standing["worst"]]
    return f"{min(runs):,}" if runs else "–"


def _score(own: Mapping[str, Any], measure: str) -> str:
    """Return a score, and mark that of a policy which does not play every contest."""
    score = own["scores"][measure]
    return "–" if score is None else f"{'*' if own['score'] is None else ''}{score:.2f}"


def _setting(board: Mapping[str, Any]) -> str:
    return f"at T = {board['horizon']:.6g}, {board['runs']:,} runs, arms shuffled"


def _marked(board: Mapping[str, Any]) -> str:
    """Explain the mark of partial scores, if there are any."""
    policies = board["policies"].values()
    marked = any(own["score"] is None and own["scores"]["mean"] for own in policies)
    return " *: over those that the policy can play." if marked else ""


@own_style()
def leaderboard_figure(board: Leaderboard) -> Figure:
    """Draw how far every policy is from the best in every contest."""
    from matplotlib.colors import LogNorm

    ranking = [policy for policy in board.ranking if board.standings[policy]]
    names = [contest.name for contest in board.contests]
    size = (max(2.4 + 0.62 * len(names), 6.6), 2.6 + 0.34 * len(ranking))
    figure = blank(*size)
    axes = figure.subplots()
    shades = np.full((len(ranking), len(names)), np.nan)
    for row, policy in enumerate(ranking):
        for column, name in enumerate(names):
            if name in board.standings[policy]:
                shades[row, column] = times_best = board.times_best(policy, name)
                mean = board.standings[policy][name].mean
                text = (
                    f"{mean:.3g}" if mean < 1000 else f"{mean:.0f}" if mean < 1e6 else amount(mean)
                )
                colour = "white" if times_best > 10 else "black"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    image = axes.imshow(shades, cmap="cividis_r", norm=LogNorm(1, 100), aspect="auto")
    style: Any = {"rotation": 60, "ha": "right", "fontsize": 8, "parse_math": False}
    axes.set_xticks(range(len(names)), names, **style)
    axes.set_yticks(range(len(ranking)), ranking, fontsize=9, parse_math=False)
    figure.colorbar(image, ax=axes, label="mean regret as a multiple of the least", pad=0.01)
    title = f"Mean regret at T = {board.horizon:.6g}, {board.runs:,} runs, arms shuffled"
    if all(contest.group == "practice" for contest in board.contests):
        title = f"{title}, sets of seed {board.seed}"
    axes.set_title(title, fontsize=11)
    return figure
