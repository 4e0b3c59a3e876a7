r"""On the ground of Gupta et al. (arXiv 1810.08164): UCB-C and TS-C for types of film lovers.

Their recipe: users of one age group and one occupation are a *meta-user*; arms are genres; half of
the ratings, for training, say what each meta-user thinks of each genre, which makes the models;
rewards are ratings of one meta-user from the other half, which no model has seen. σ is 2 on the
scale from 1 to 5. They use MovieLens-1M; here it is MovieLens-100K, which has the same fields.

Who knows what: UCB and TS know nothing; UCB-C, TS-C know the means of all meta-users; the default
knows their ratings' distributions, or, with ``likelihood=means``, their means. The truth is none of
the models, as the halves differ.

``python benchmarks/keep.py others/correlated FOLDER [RUNS]`` keeps the table, and draws
docs/figures/correlated.png; the folder has u.data, u.user and u.item.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fpbandits import PlainPolicy, Problem
from fpbandits.core.arrays import Floats, Ints
from fpbandits.engine.plain import Seen
from fpbandits.policies import parse_policy
from fpbandits.report.figures import PALETTE, blank, footnote, own_style, save_figure
from fpbandits.report.text import text_table
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.runner import play_cells
from fpbandits.simulation.spec import RunSpec

FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "correlated.png"
SEED, HORIZON, TRUTHS = 1, 4_800, 10
FEWEST_OF_USER, FEWEST_OF_GENRE, PSEUDO_COUNT = 400, 1_500, 4.0
AGES = (18, 25, 35, 45, 50, 56)
AGE_GROUPS = ("under 18", "18 to 24", "25 to 34", "35 to 44", "45 to 49", "50 to 55", "over 55")


@dataclass(frozen=True)
class NormalTS(PlainPolicy):
    """Thompson sampling as Gupta et al. have it: draws from N(mean, σ²/n), σ half the range."""

    name = "ts"

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        """Play each arm once, then the one of the largest draw."""
        if seen.t < len(seen.plays):
            return seen.t
        return int(random.normal(seen.means, 2 / np.sqrt(seen.plays)).argmax())


KNOWS: dict[str, tuple[Any, str]] = {
    "ucb": (parse_policy("ucb1"), "nothing"),
    "ucb-c": (parse_policy("ucb-c:alpha=4"), "means"),
    "ts": (NormalTS(), "nothing"),
    "ts-c": (parse_policy("ts-c:alpha=4"), "means"),
    "frugal": (parse_policy("frugal"), "distributions"),
    "frugal:likelihood=means": (parse_policy("frugal:likelihood=means"), "means"),
}
"""The policies, and what they know. With α = 4, UCB-C has the index of UCB1."""


def rows_of(path: Path, separator: str) -> list[list[str]]:
    """Return the rows of a file that begin with a number."""
    lines = path.read_text(encoding="latin-1").splitlines()
    return [line.split(separator) for line in lines if line[:1].isdigit()]


def counted(folder: Path) -> tuple[list[str], Floats]:
    """Return the names of meta-users, and [half, meta-user, genre, rating]: how often it came."""
    users = {
        row[0]: f"{np.searchsorted(AGES, int(row[1]), side='right')} {row[3]}"
        for row in rows_of(folder / "u.user", "|")
    }
    genres = {row[0]: np.array(row[-18:], float) > 0 for row in rows_of(folder / "u.item", "|")}
    ratings = [row for row in rows_of(folder / "u.data", "\t") if row[1] in genres]
    half = np.random.default_rng(SEED).random(len(ratings)) < 0.5
    common = Counter(users[row[0]] for row in ratings)
    names = sorted(name for name, number in common.items() if number >= FEWEST_OF_USER)
    places = {name: place for place, name in enumerate(names)}
    counts = np.zeros((2, len(names), 18, 5))
    for row, training in zip(ratings, half, strict=True):
        place = places.get(users[row[0]])
        if place is not None:
            counts[int(training), place, genres[row[1]], int(row[2]) - 1] += 1
    enough = counts.sum(axis=(0, 1, 3)) >= FEWEST_OF_GENRE
    return names, counts[:, :, enough]


def label(name: str) -> str:
    """Return a meta-user's name as people read it."""
    age, _, occupation = name.partition(" ")
    return f"{occupation}, {AGE_GROUPS[int(age)]}"


def smoothed(counts: Floats) -> Floats:
    """Return the distribution of ratings; where there are few, nearer to that of all users."""
    all_users = counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, np.newaxis]
    some = counts + PSEUDO_COUNT * all_users
    shares: Floats = some / some.sum(axis=2, keepdims=True)
    return shares


def played(known: Problem, test: Problem, truth: int, runs: int) -> dict[str, Any]:
    """Play all policies, where rewards are those of a meta-user in the test half."""
    times = np.linspace(100, HORIZON, 48).astype(int).tolist()
    spec = RunSpec(
        horizon=HORIZON, times=times, runs=runs, seed=SEED, truth=known.models[truth], leap=False
    )
    laws = test.rewards.reordered(np.array([truth]), np.arange(known.pairs))
    cells = {
        name: replace(make_cell(known, policy, spec), laws=laws)
        for name, (policy, _) in KNOWS.items()
    }
    return {name: result.regret(result.policy) for name, result in play_cells(cells).items()}


@own_style()
def drawn(curves: dict[str, Floats], runs: int) -> Figure:
    """Draw the mean regret over time of each policy."""
    figure = blank(6.4, 4.4)
    axes, times = figure.subplots(), np.linspace(100, HORIZON, 48)
    for (name, regret), colour in zip(curves.items(), PALETTE, strict=False):
        axes.plot(times, regret.mean(axis=(0, 1)), color=colour, label=name)
    axes.set(xlabel="plays", ylabel="regret in stars", xlim=(0, HORIZON), ylim=(0, None))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=9)
    return footnote(
        figure, f"mean over {TRUTHS} meta-users, {runs} runs each; T = {HORIZON:,}, seed {SEED}"
    )


def main() -> None:
    """Play, and write what came of it."""
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    names, counts = counted(Path(sys.argv[1]))
    largest: Ints = np.argsort(-counts[0].sum(axis=(1, 2)), kind="stable")[:TRUTHS]
    known, test = (
        Problem.discrete(smoothed(half), support=[1, 2, 3, 4, 5], range=(1, 5), models=names)
        for half in (counts[1], counts[0])
    )
    print(known)
    found: dict[str, list[Floats]] = {name: [] for name in KNOWS}
    for truth in largest:
        for name, regret in played(known, test, int(truth), runs).items():
            found[name].append(regret)
    curves = {name: np.array(regrets) for name, regrets in found.items()}
    finals = {name: regret[:, :, -1] for name, regret in curves.items()}
    head = ["", *finals]
    mean = [f"mean of {TRUTHS}", *(f"{final.mean():,.0f}" for final in finals.values())]
    rows = [
        [label(names[k]), *(f"{final[row].mean():,.0f}" for final in finals.values())]
        for row, k in enumerate(largest)
    ]
    knows = ["knows", *(what for _, what in KNOWS.values())]
    title = f"regret in stars; T = {HORIZON:,}, {runs} runs each, seed {SEED}"
    print(text_table(title, [head, knows, mean, *rows], text_columns=1))
    save_figure(drawn(curves, runs), FIGURE)


if __name__ == "__main__":
    main()
