"""What the report's figures share: their size, colours, captions and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fpbandits.errors import counted
from fpbandits.paper.claims.statement import time_text
from fpbandits.paper.evidence import Evidence
from fpbandits.paper.experiments import PAPER, SETTINGS
from fpbandits.report.figures import BLUE, GREEN, ORANGE, PURPLE, SKY
from fpbandits.report.regret import BANDS, draw_policy
from fpbandits.simulation.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POLICY_NAMES = {"fp-ucb": "FP-UCB", "ucb1": "UCB1", "thompson": "Thompson sampling"}
POLICY_COLOURS = {"fp-ucb": BLUE, "ucb1": ORANGE, "thompson": GREEN}
SETTING_COLOURS: Mapping[str, str] = dict(
    zip((setting.name for setting in PAPER), (BLUE, ORANGE, SKY, GREEN, PURPLE), strict=True)
)


@dataclass(frozen=True)
class Drawing:
    """A figure: its file's name, what it shows in a sentence or two, and how it is drawn."""

    name: str
    caption: str
    draw: Callable[[Evidence], Figure]


@dataclass(frozen=True)
class Chapter:
    """Figures that belong together, under a heading and after a few words."""

    title: str
    text: str
    drawings: Sequence[Drawing]


def canvas(title: str, height: float = 3.5) -> tuple[Figure, Axes]:
    """Return an empty figure, of a width at which text is readable on a telephone too."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.9, height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)
    return figure, axes


def draw_curves(
    axes: Axes, curves: Mapping[str, Result], *, band: str, over_log: bool = False
) -> None:
    """Draw the regret of policies, each from a result of its own, from 0 up to the last of all."""
    for policy, result in curves.items():
        draw_policy(
            axes,
            result,
            policy,
            band=band,
            colour=POLICY_COLOURS[policy],
            label=POLICY_NAMES[policy],
            over_log=over_log,
        )
    axes.set_xlim(right=max(result.horizon for result in curves.values()))
    leave_room(axes)
    axes.set_xlabel("time t")
    axes.set_ylabel("regret / ln t" if over_log else "regret")


def leave_room(axes: Axes) -> None:
    """Let the vertical axis start at 0 and leave room for a legend at the top."""
    axes.set_ylim(0, 1.22 * max(axes.dataLim.y1, 1e-9))


def finish(figure: Figure, axes: Axes, caption: str, **legend: Any) -> Figure:
    """Add a legend, by default in a row at the top, and a line on what was simulated."""
    count = len(axes.get_legend_handles_labels()[0])
    style: dict[str, Any] = {"loc": "upper left", "ncols": count, "columnspacing": 1.2}
    style |= {"fontsize": 9, "framealpha": 0.9, "edgecolor": "none", "borderaxespad": 0.3}
    axes.legend(**style | legend)
    figure.supxlabel(caption, fontsize=8, color="0.35")
    return figure


def what_was_run(result: Result, band: str) -> str:
    """Return the line below a figure."""
    return (
        f"mean of {counted(result.runs, 'run')}, {BANDS[band]}; T = {time_text(result.horizon)}, "
        f"seed {result.seed}"
    )


def short_title(setting: str) -> str:
    """Return a setting's title on two lines, for an axis."""
    return SETTINGS[setting].title.replace(", truth", ",\ntruth").replace(" of [", "\nof [")
