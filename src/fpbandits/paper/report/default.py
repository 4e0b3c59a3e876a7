"""The default policy, which the paper does not know, on the paper's five problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpbandits.paper.report import drawing
from fpbandits.paper.report.chapters import Chapter, Drawing
from fpbandits.simulation.figure import draw_policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fpbandits.paper.material import Material

_TIME = 10**12
"""The last that UCB1 is simulated to."""


def default_policy(material: Material) -> Chapter:
    """Return what the default policy does where the paper shows FP-UCB."""
    few, many = (
        _range([_mean(material, name, policy) for name in drawing.SETTING_COLOURS])
        for policy in ("frugal", "fp-ucb")
    )
    return Chapter(
        "The default policy on the paper’s problems",
        "Unless told otherwise, fpbandits does not play by FP-UCB but by frugal: it plays the arm "
        "that tells most, of the models that could matter, for what it is expected to lose. It "
        "looks at the likelihood of all rewards together, not at each arm’s mean alone. "
        f"At T = 10¹² its mean regret is between {few} on the five problems; FP-UCB’s "
        f"is between {many}.",
        [
            Drawing(
                "default-policy",
                "The default policy on the paper’s five problems to T = 10¹⁵. Means alone: a rare "
                "run loses far more than the others, so intervals would promise too much.",
                _five_problems,
            ),
            Drawing(
                "default-policy-rivals",
                "Mean regret at T = 10¹²: the default policy, and those that the paper compares.",
                _rivals,
            ),
        ],
    )


def _mean(material: Material, setting: str, policy: str) -> float:
    return float(material.regret(setting, policy, _TIME).mean())


def _range(values: list[float]) -> str:
    return f"{min(values):.2g} and {max(values):.3g}"


def _five_problems(material: Material) -> Figure:
    figure, axes = drawing.canvas("frugal: bounded and logarithmic", y="regret (log scale)")
    for name, colour in drawing.SETTING_COLOURS.items():
        result, label = material.result(name, "frugal", "far"), material.setting(name).title
        draw_policy(axes, result, "frugal", band=None, colour=colour, label=label)
    axes.set(xscale="log", yscale="log", xlim=(1, result.horizon), ylim=(0.05, 1e4))
    caption = f"mean of {result.runs:,} runs; T = 10¹⁵, seed {result.seed}"
    return drawing.finish(figure, axes, caption, ncols=1)


def _rivals(material: Material) -> Figure:
    title = "Mean regret at T = 10¹²"
    figure, axes = drawing.canvas(title, x="regret (log scale)", y="", height=3.9)
    signs = {"frugal": "D", "fp-ucb": "o", "thompson": "^", "ucb1": "s"}
    for row, setting in enumerate(drawing.SETTING_COLOURS):
        for policy, sign in signs.items():
            colour, label = drawing.POLICY_COLOURS[policy], drawing.POLICY_NAMES[policy]
            drawing.draw_mark(axes, _mean(material, setting, policy), row, sign, colour, label)
    axes.set_xscale("log")
    titles = [material.setting(name).title for name in drawing.SETTING_COLOURS]
    drawing.name_rows(axes, list(map(drawing.short_title, titles)), above=1.3)
    most, fewest = (material.result("two-1", name, "far").runs for name in ("fp-ucb", "frugal"))
    caption = f"means of {most:,} runs, of frugal and UCB1 {fewest:,}"
    return drawing.finish(figure, axes, caption, ncols=2, loc="upper center")
