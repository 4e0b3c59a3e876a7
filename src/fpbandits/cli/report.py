"""``fpbandits report``: how an experiment of a service does, and against its control group."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fpbandits.cli.options import Json
from fpbandits.cli.verify import StoreName

if TYPE_CHECKING:
    from rich.console import RenderableType


def report(
    store: StoreName,
    experiment: Annotated[str, typer.Option(metavar="NAME", help="The experiment.")],
    json: Json = False,
) -> None:
    """Report how an experiment does.

    Decisions and mean reward, by arm and by likeliest model; against the control group, if it has
    one, with intervals that hold whenever one looks.
    """
    from fpbandits.cli.output import print_result
    from fpbandits.service.report import report
    from fpbandits.service.store import open_store

    with closing(open_store(store)) as opened:
        content = report(opened, experiment)
    print_result(json, lambda: content, lambda: _table(content), least_width=70)


def _table(content: dict[str, Any]) -> RenderableType:
    """Show a report as a line of counts and a table for each way to group decisions."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table

    counts = ("units", "decisions", "rewards", "pending", "blocked", "expired", "late", "misfits")
    parts: list[RenderableType] = [
        f"{content['experiment']}: " + ", ".join(f"{content[name]:,} {name}" for name in counts)
    ]
    for title, groups in _groups(content):
        columns = (title, *([] if title == "arm" else ["units"]), "decisions", "mean reward")
        table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
        for name, row in groups.items():
            units = [] if title == "arm" else [f"{row['units']:,}"]
            table.add_row(name, *units, f"{row['decisions']:,}", _number(row["mean_reward"]))
        parts.append(table)
    parts += _against_control(content)
    return Group(*parts)


def _groups(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the ways to group decisions: by arm, by likeliest model, by policy or control."""
    groups = [("arm", content["arms"]), ("likeliest model", content["models"])]
    control = content["control"]
    if control is not None:
        always = f"always {control['arm']}"
        groups.append(("group", {"policy": control["policy"], always: control["control"]}))
    return groups


def _against_control(content: dict[str, Any]) -> list[str]:
    """Say how much more the policy earns than control, and whether control has too few units."""
    control = content["control"]
    if control is None:
        return []
    lines = []
    if control["interval"] is not None:
        low, high = map(_number, control["interval"])
        above = f"above control by {_number(control['difference'])} per decision, {low} … {high}"
        lines.append(f"{above}, as of {control['as_of']:,} rewards")
        lines.append(f"({1 - control['error']:.0%} for all looks together)")
    else:
        lines.append("above control: too few rewards, or rewards without bounds")
    ratio = control["sample_ratio"]
    if not ratio["fits"]:
        share = f"the control group is not {ratio['share']:.3g} of the units"
        lines.append(f"warning: {share} (p = {ratio['p_value']:.1g}): units are lost or invented")
    return lines


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
