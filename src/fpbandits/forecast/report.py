"""A forecast for people: a screen of words, a figure, a page."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from fpbandits import __version__
from fpbandits.core.checks import amount, printable
from fpbandits.core.storage import make_folder, write_together
from fpbandits.errors import counted
from fpbandits.report.figures import (
    BLUE,
    GREEN,
    ORANGE,
    as_plain_text,
    blank,
    footnote,
    own_style,
    rendered,
    save_figure,
    short,
)
from fpbandits.report.html import fill
from fpbandits.report.times import as_written, time_text
from fpbandits.simulation.figure import label_regret

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.forecast.forecast import Forecast

_WIDTH = 80
"""Characters in a line."""
_HEAD = 15
"""Characters of a line that its heading takes."""
_FEW_RUNS = 20
"""With fewer runs than this, a 95 % quantile is left out."""
_MOST_NAMES = 6
"""Contexts or truths that are named; the others are counted."""
_THOMPSON = "Thompson sampling without models"


def forecast_text(forecast: Forecast) -> str:
    """Return the forecast in a screen of words."""
    lines = [setting(forecast), ""]
    for head, words in answers(forecast).items():
        first, *rest = wrap(words, _WIDTH - _HEAD)
        lines.append(f"{head:<{_HEAD}}{first}")
        lines += [" " * _HEAD + line for line in rest]
    return "\n".join(lines)


def setting(forecast: Forecast) -> str:
    """Say what was asked, in a line."""
    problem = forecast.problem
    truth = "the truth drawn from the prior"
    if forecast.truth is not None:
        truth = f"the truth is {forecast.truth}"
    elif problem.prior is None:
        truth = "each model equally likely"
    return printable(
        f"{problem.name}: {counted(len(problem.models), 'model')}, "
        f"{counted(len(problem.arms), 'arm')}, {counted(forecast.horizon, 'play')}, {truth}"
    )


def answers(forecast: Forecast) -> dict[str, str]:
    """Return the sentences of a forecast by their headings; what is not known is left out."""
    sections = {
        "Start with": _first(forecast),
        "It will cost": _cost(forecast),
        "By truth": _by_truth(forecast),
        "Until sure": _until_sure(forecast),
        "Others lose": _others(forecast),
        "Models off": _off(forecast),
    }
    return {head: printable(words) for head, words in sections.items() if words}


def _first(forecast: Forecast) -> str:
    """Name the first arm, or that of each context."""
    first = forecast.first_arm
    if isinstance(first, str):
        return first
    named = [f"{arm} ({context})" for context, arm in list(first.items())[:_MOST_NAMES]]
    more = len(first) - len(named)
    return ", ".join(named) + (f", and {counted(more, 'context')} more" if more else "")


def _cost(forecast: Forecast) -> str:
    """Say what the policy loses, and what no policy can avoid."""
    regret = forecast.as_dict()["regret"]
    low, high = regret["interval"]
    interval = "" if low is None else f" (95 % interval {amount(low)} … {amount(high)})"
    words = (
        f"{amount(regret['mean'])} on average{interval} against knowing the truth from the start"
    )
    runs = forecast.result.runs
    if runs < _FEW_RUNS:
        words += f", from {counted(runs, 'run')} only."
    else:
        words += f"; 19 runs in 20 lose at most {amount(regret['q95'])}."
    floor = forecast.floor
    if floor is None:
        return words
    if floor.upper is None:
        return f"{words} No policy can lose less than {amount(floor.value)} on average."
    least = amount(floor.upper)
    how_near = ""
    if low is not None and floor.upper > 0:
        # Only by chance could a policy lose less than the best one.
        first, last = (f"{max(1.0, end / floor.upper):.2f}" for end in (low, high))
        between = first if first == last else f"{first} to {last}"
        how_near = f": {forecast.policy} loses {between} times that"
    return f"{words} The best possible policy loses {least} on average{how_near}."


def _by_truth(forecast: Forecast) -> str:
    """Say what is lost under each truth, the dearest first."""
    if forecast.truth is not None or len(forecast.per_truth) < 2:
        return ""
    dearest = sorted(forecast.per_truth.items(), key=lambda item: -item[1])[:_MOST_NAMES]
    named = [f"{amount(mean)} if it is {model}" for model, mean in dearest]
    more = len(forecast.per_truth) - len(named)
    others = f", less if it is one of {more} others" if more > 0 else ""
    return f"on average {', '.join(named)}{others}."


def _until_sure(forecast: Forecast) -> str:
    """Say after how many plays the best arm is known."""
    sure = forecast.until_sure
    if sure is None:
        return ""
    risk = f"with a risk of {100 * sure.error:.3g} % of being wrong"
    if sure.median is None:
        return (
            f"{100 * sure.share:.0f} % of runs know the best arm by play {forecast.horizon:,}, "
            f"{risk}; the others go on learning."
        )
    words = f"half of the runs know the best arm after {sure.median:,.0f} plays, {risk}"
    if sure.q95 is not None:
        return f"{words}; 19 in 20 after {sure.q95:,.0f}."
    return f"{words}; {100 * sure.share:.0f} % by play {forecast.horizon:,}."


def _others(forecast: Forecast) -> str:
    """Say what the baselines lose."""
    names = {"thompson": _THOMPSON}
    losses = [
        f"{amount(lost)}: {names.get(name, name)}" for name, lost in forecast.baselines.items()
    ]
    return "; ".join(losses) + "."


def _off(forecast: Forecast) -> str:
    """Say what is lost if the models are somewhat wrong, and how wrong they may be."""
    off = forecast.off
    if off is None:
        return ""
    bounded = forecast.problem.rewards.bounded
    whole = "of the range" if bounded else "of two deviations"

    def size(by: float) -> str:
        return f"{100 * by:.3g} % {whole} ({amount(by * forecast.problem.rewards.width)})"

    several = len(forecast.per_truth) > 1
    worst = f" ({amount(off.worst)} near the model where this costs most)" if several else ""
    words = (
        f"if every true mean is off by up to {size(off.by)}, at random, {forecast.policy} loses "
        f"{amount(off.regret)} on average{worst}"
    )
    if off.thompson is None:
        return f"{words}."
    words += f"; {_THOMPSON} loses {amount(off.thompson)}."
    if off.until is None:
        return f"{words} Even if means are off by less, {forecast.policy} loses more than that."
    return (
        f"{words} {forecast.policy} loses less as long as means are off by up to {size(off.until)}."
    )


@own_style()
def forecast_figure(forecast: Forecast, path: Path | None = None) -> Figure:
    """Draw regret over time with its band, the floor and the baselines."""
    result, policy = forecast.result, forecast.policy
    figure = blank(7.5, 4.6)
    axes = figure.subplots()
    times, mean = result.times, result.mean_regret(policy)
    low, high = (result.quantile_regret(policy, share) for share in (0.05, 0.95))
    top = max(forecast.baselines.values())
    logarithmic = top > 8 * max(float(mean[-1]), 1e-12)
    axes.plot(times, mean, color=BLUE, linewidth=2, label=short(printable(policy), 40))
    axes.fill_between(times, low, high, color=BLUE, alpha=0.18, linewidth=0)
    if forecast.floors is not None:
        moments = np.array(list(forecast.floors))
        values = np.array([floor.value for floor in forecast.floors.values()])
        label = "floor: no policy loses less"
        axes.plot(moments, values, color="0.2", linestyle="--", linewidth=1.4, label=label)
    if forecast.others is not None:
        others = forecast.others
        axes.plot(others.times, others.mean_regret("thompson"), color=ORANGE, label=_THOMPSON)
    always = next(iter(forecast.baselines))
    line = times * forecast.baselines[always] / forecast.horizon
    axes.plot(times, line, color=GREEN, linestyle="-.", label=short(printable(always), 40))
    axes.set_xscale("log")
    axes.set_xlim(times[0], max(times[-1], 2))  # a single play needs some width, too
    if logarithmic:
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(max(float(mean[-1]) / 100, 1e-9), 2 * top)
    else:
        axes.set_ylim(0, 1.05 * max(top, float(high.max()), 1e-9))
    axes.set_xlabel("plays")
    label_regret(axes, "regret", {forecast.problem.range})
    axes.grid(alpha=0.25)
    as_plain_text(axes.legend(frameon=False, fontsize=9, loc="upper left"))
    axes.set_title(short(setting(forecast), 90), fontsize=11, parse_math=False)
    footnote(
        figure,
        f"mean of {counted(result.runs, 'run')}, 5 … 95 %; "
        f"T = {as_written(time_text(forecast.horizon))}, seed {forecast.seed}",
    )
    if path is not None:
        save_figure(figure, path)
    return figure


def write_report(forecast: Forecast, folder: Path) -> Path:
    """Write forecast.html, its figure and forecast.json, all or none."""
    make_folder(folder)
    files = rendered(forecast_figure(forecast), folder / "regret")
    page = fill(
        "forecast.html.j2",
        forecast=forecast,
        setting=setting(forecast),
        answers=answers(forecast),
        amount=amount,
        picture=files[folder / "regret.svg"],
        version=__version__,
    )
    files[folder / "forecast.html"] = page.encode()
    files[folder / "forecast.json"] = (json.dumps(forecast.as_dict(), indent=1) + "\n").encode()
    write_together(files)
    return folder / "forecast.html"
