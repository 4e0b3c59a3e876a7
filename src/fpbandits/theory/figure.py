"""The figure of a problem: the means, the best arms, and which model looks like which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem
from fpbandits.report.figures import ORANGE, SKY, blank, own_style, short
from fpbandits.theory.contexts import PairStructure
from fpbandits.theory.structure import Structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_MODELS = 1_000
"""With more models a row of the confusion matrix is thinner than a pixel."""

_MOST_LABELS = 40
"""Ticks of an axis that are named; if there are more, they are numbered."""

_MOST_NUMBERED_PAIRS = 16
"""Columns up to which the means are written into their cells."""

_LONGEST_LABEL = 24
"""Characters of a name on an axis."""

Kinds = np.ndarray[tuple[int, int], np.dtype[np.int8]]
"""Whether each model looks like each truth, [truth, model]: one of the three numbers below."""

NOT_ALIKE = 0
"""While the truth's best arms are played, the model is ruled out."""

MUST = 1
"""The model looks like the truth, but has a better arm: they must be told apart."""

NEED_NOT = 2
"""The model looks like the truth, and need not be told apart from it."""

_LEGEND: dict[str, Any] = {"ncols": 2, "frameon": False, "fontsize": 9}
_CONFUSIONS = {"has a better arm: must be told apart": ORANGE, "need not be told apart": SKY}
"""Labels and colours of `MUST` and `NEED_NOT`."""


def confusion(problem: Problem) -> Kinds:
    """Return which models look like which truth while its best arms are played."""
    structure = PairStructure(problem)
    kinds = np.full((len(problem.models),) * 2, NOT_ALIKE, np.int8)
    # Without contexts the paper's B(θ°) may hold more models than that of `PairStructure`.
    paper_structure = None if problem.contexts else Structure(problem)
    for truth in range(len(kinds)):
        if paper_structure is not None:
            kinds[truth, paper_structure.confusion_set(truth)] = NEED_NOT
        kinds[truth, structure.confusion_set(truth)] = MUST
    return kinds


@own_style()
def structure_figure(problem: Problem) -> Figure:
    """Draw the means with the best arms marked, and which model is confused with which."""
    count = len(problem.models)
    if count > MOST_MODELS:
        raise InputError(
            f"{count:,} models are too many to draw (at most {MOST_MODELS:,}); leave out --plot"
        ).at(problem.name)
    longest = min(max(map(len, problem.models)), _LONGEST_LABEL)
    height = float(np.clip(2.2 + 0.32 * count, 4.0, 9.0)) + 0.06 * longest
    left = float(np.clip(1.5 + 0.55 * problem.pairs, 3.2, 9.0))
    figure = blank(left + height + 2.0, height)
    means_axes, confusion_axes = figure.subplots(1, 2, width_ratios=[left, height])
    _draw_means(figure, means_axes, problem, PairStructure(problem))
    _draw_confusion(figure, confusion_axes, problem)
    sizes = [f"{count:,} models", f"{len(problem.arms):,} arms"]
    if problem.contexts:
        sizes.append(f"{len(problem.contexts):,} contexts")
    figure.suptitle(f"{problem.name}: {', '.join(sizes)}", parse_math=False)
    return figure


def _draw_means(figure: Figure, axes: Axes, problem: Problem, structure: PairStructure) -> None:
    """Draw the means as a heat map, with a dot at the best arm and circles where others tie."""
    means, arms = problem.rewards.means, len(problem.arms)
    image = axes.imshow(means, cmap="cividis", aspect="auto", interpolation="nearest")
    if len(problem.models) <= _MOST_LABELS and problem.pairs <= _MOST_NUMBERED_PAIRS:
        middle = (means.min() + means.max()) / 2
        for (row, column), mean in np.ndenumerate(means):
            colour = "white" if mean < middle else "black"
            axes.text(
                column, row, f"{mean:.3g} ", ha="right", va="center", fontsize=8, color=colour
            )
    size = float(np.clip(1500 / len(means), 4, 45))
    rows, columns = np.nonzero(structure.best_arms.reshape(means.shape))
    tied = axes.scatter(columns + 0.2, rows, s=size, facecolors="none", edgecolors=ORANGE)
    firsts = np.array([structure.best_pairs(truth) for truth in range(len(means))])
    rows = np.repeat(np.arange(len(means)), firsts.shape[1])
    best = axes.scatter(firsts.reshape(-1) + 0.2, rows, s=size, color=ORANGE)
    marks = {"best arm": best} | ({"tied with it": tied} if len(structure.ties) else {})
    figure.legend(marks.values(), marks.keys(), loc="outside lower left", **_LEGEND)
    axes.set_title("mean reward", fontsize=10, pad=18 if problem.contexts else None)
    axes.set_ylabel("model")
    axes.set_xlabel("arm")
    _name_ticks(axes.xaxis, problem.arms * max(1, len(problem.contexts)), rotate=True)
    _name_ticks(axes.yaxis, problem.models)
    _name_contexts(axes, problem.contexts, arms)
    figure.colorbar(image, ax=axes, pad=0.02)


def _name_contexts(axes: Axes, contexts: tuple[str, ...], arms: int) -> None:
    """Name each context above its arms, and draw a line between it and the next."""
    if not 0 < len(contexts) <= _MOST_LABELS:
        return
    first_columns = arms * np.arange(len(contexts))
    top = axes.secondary_xaxis("top")
    top.set_xticks(first_columns + (arms - 1) / 2)
    labels = [short(name, 6 * arms) for name in contexts]
    top.set_xticklabels(labels, fontsize=8, parse_math=False)
    top.tick_params(length=0)
    for column in first_columns[1:]:
        axes.axvline(column - 0.5, color="white", linewidth=3)


def _draw_confusion(figure: Figure, axes: Axes, problem: Problem) -> None:
    """Draw for every truth the models in B(θ°), those that force exploration in another colour."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    kinds = confusion(problem)
    colours = ["#F2F2F2", *_CONFUSIONS.values()]
    axes.imshow(kinds, cmap=ListedColormap(colours), vmin=0, vmax=2, interpolation="nearest")
    title = "who looks like whom while the best arm is played"
    if problem.contexts:
        title = "who looks like whom while you play well"
    axes.set_title(title, fontsize=10)
    axes.set_ylabel("if this is the truth …")
    axes.set_xlabel("… this one looks like it")
    _name_ticks(axes.xaxis, problem.models, rotate=True)
    _name_ticks(axes.yaxis, problem.models)
    if len(kinds) <= _MOST_LABELS:
        axes.set_xticks(np.arange(len(kinds)) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(kinds)) - 0.5, minor=True)
        axes.grid(which="minor", color="white")
        axes.tick_params(which="minor", length=0)
    patches = [
        Patch(color=colour, label=label)
        for kind, (label, colour) in enumerate(_CONFUSIONS.items(), 1)
        if (kinds == kind).any()
    ]
    if patches:
        figure.legend(handles=patches, loc="outside lower right", **_LEGEND)
    else:
        axes.text(0.5, 0.5, "no two are confused", transform=axes.transAxes, ha="center")


def _name_ticks(axis: Axis, names: tuple[str, ...], *, rotate: bool = False) -> None:
    """Name every tick where the names fit, else number them from 1."""
    if len(names) > _MOST_LABELS:
        axis.set_major_formatter(lambda position, _: f"no. {position + 1:.0f}")
        return
    labels = [short(name, _LONGEST_LABEL) for name in names]
    axis.set_ticks(range(len(names)), labels, fontsize=8, parse_math=False)
    if rotate and sum(map(len, labels)) > 30:
        axis.set_tick_params(rotation=90)
