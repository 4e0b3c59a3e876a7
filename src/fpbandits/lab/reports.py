"""The report of an experiment with a control group, as tables and a picture for the page.

`fpbandits.service.report` makes the report, and `fpbandits.service.comparison` says why its
intervals hold at all looks together.
"""

from __future__ import annotations

from typing import Any

from fpbandits.core.markup import html_table
from fpbandits.errors import counted
from fpbandits.lab.chart import HEIGHT, WIDTH, chart
from fpbandits.report.figures import BLUE
from fpbandits.service.comparison import FIRST
from fpbandits.service.report import Report


def control_table(report: Report) -> str:
    """Return how the policy compares with the control group, in words and numbers."""
    comparison = report["control"]
    arm = comparison["arm"]
    groups = {"policy": comparison["policy"], f"always {arm}": comparison["control"]}
    rows = [
        [name, f"{group['units']:,}", f"{group['decisions']:,}", _number(group["mean_reward"])]
        for name, group in groups.items()
    ]
    title = f"Against the control group, which always gets {arm}"
    above, head = _difference(comparison), ["group", "units", "decisions", "mean reward"]
    return html_table(title, head, rows, above=above, below=[_sample_ratio(comparison)])


def _difference(comparison: dict[str, Any]) -> list[str]:
    """Return in words whether the policy earns more than the control group, and how sure that is.

    ``comparison`` is ``report["control"]``. It has both groups as they are now, and their
    difference at the last look, which was after ``comparison["as_of"]`` rewards.
    """
    if comparison["as_of"] is None:
        return [f"The groups are compared once there are {FIRST} rewards."]
    difference, at_look = comparison["difference"], f"as of {comparison['as_of']:,} rewards"
    if difference is None:
        return [f"One of the groups had no rewards, {at_look}."]
    lines = [
        f"Per decision the policy earns {_number(abs(difference))} "
        f"{'more' if difference >= 0 else 'less'} than the control group, {at_look}."
    ]
    if comparison["interval"] is None:
        return [*lines, "There is no interval, because rewards have no bounds."]
    low, high = comparison["interval"]
    better = "It is not clear yet which of them is better."
    if low > 0:
        better = "The policy is better."
    if high < 0:
        better = "The control group's arm is better."
    sure = f"{100 * (1 - comparison['error']):.3g} % for all looks together"
    return [*lines, f"Interval: {_number(low)} … {_number(high)} ({sure}). {better}"]


def _sample_ratio(comparison: dict[str, Any]) -> str:
    """Return in words whether the control group is as large as it should be."""
    ratio, size = comparison["sample_ratio"], comparison["control"]["units"]
    units = size + comparison["policy"]["units"]
    words = (
        f"the control group has {size:,} of {counted(units, 'unit')} and should have "
        f"{100 * ratio['share']:.3g} % of them (p = {ratio['p_value']:.2g})"
    )
    if ratio["fits"]:
        return f"Sample ratio: {words}, which fits."
    return f"Alarm: {words}: units are lost or invented."


def difference_picture(report: Report) -> tuple[str, str]:
    """Return an SVG of the difference at each look that has one, and words that explain it.

    Both are empty if no look has one.
    """
    looks = [look for look in report["over_time"] if look["difference"] is not None]
    if not looks:
        return "", ""
    # Rewards without bounds have no interval: the difference alone is drawn.
    intervals = [look["interval"] or [look["difference"]] * 2 for look in looks]
    lowest = min(0.0, *(low for low, _ in intervals))
    highest = max(0.0, *(high for _, high in intervals))
    scale = HEIGHT / (highest - lowest or 1.0)
    marks = []
    for index, (look, (low, high)) in enumerate(zip(looks, intervals, strict=True)):
        x = WIDTH * (index + 0.5) / len(looks)
        top, middle, bottom = (scale * (highest - y) for y in (high, look["difference"], low))
        marks.append(
            f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{BLUE}" stroke-width="2"/>'
            f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="4" fill="{BLUE}"/>'
        )
    picture = chart(
        "".join(marks),
        title="difference from the control group at every look",
        top=_number(highest),
        ends=(f"{looks[0]['rewards']:,} rewards", f"{looks[-1]['rewards']:,} rewards"),
        line=scale * highest,
    )
    words = (
        "How much more the policy earns per decision than the control group; bars are intervals. "
        f"The picture reaches from {_number(lowest)} to {_number(highest)}, and its line is at 0."
    )
    return picture, words


def rewards_by_arm_table(report: Report) -> str:
    """Return the decisions and the mean reward of each arm, both groups together."""
    rows = [
        [arm, f"{sums['decisions']:,}", _number(sums["mean_reward"])]
        for arm, sums in report["arms"].items()
    ]
    return html_table("Rewards by arm", ["arm", "decisions", "mean reward"], rows)


def rewards_by_model_table(report: Report) -> str:
    """Return the units, decisions and mean reward by likeliest model.

    They are of the units that the report looked at and that some model allows.
    """
    rows = [
        [model, f"{sums['units']:,}", f"{sums['decisions']:,}", _number(sums["mean_reward"])]
        for model, sums in report["models"].items()
    ]
    units = sum(sums["units"] for sums in report["models"].values())
    above = [f"The likeliest models of {counted(units, 'unit')}."]
    head = ["likeliest model", "units", "decisions", "mean reward"]
    return html_table("Rewards by likeliest model", head, rows, above=above)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
