r"""On the ground of Switching Latent Bandits (Russo, Metelli, Restelli, TMLR 2024): MovieLens.

Five types of users, eighteen genres, ratings .2, .4, …, 1. Before each play the user is replaced by
the next, whose type follows a Markov chain; T = 200,000. Their file ``transformed_data.json`` (in
the authors' public repository, ``movielens_dataset``) has the probabilities; it is given by path.

Who knows what: belief-greedy, which is their oracle, and the default know laws and chain; the
default with a ``change_rate`` knows laws and that rate; SL-EC knows laws and learns the chain;
sliding-window UCB knows nothing.

SL-EC as the paper describes it: play pairs of five arms in turn, those of the best conditioned
subset, for 66,000 plays (the kink in their figure); estimate the joint distribution of consecutive
types by least squares from how often each pair of ratings came; then play greedily by the filter
with that chain. Published numbers are read off their Fig. 2b, and count rewards behind the oracle.

``python benchmarks/keep.py others/switching_latent FILE [RUNS] [HORIZON]`` keeps the table, and
draws docs/figures/switching_latent.png.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numba import njit

from fpbandits import Problem, simulate
from fpbandits.core.arrays import Floats, Ints
from fpbandits.report.figures import PALETTE, blank, footnote, own_style, save_figure
from fpbandits.report.text import text_table
from fpbandits.simulation.paths import draw_path
from fpbandits.simulation.truths import truths

FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "switching_latent.png"
SEED, RATINGS = 1, [0.2, 0.4, 0.6, 0.8, 1.0]
ORACLE = "belief-greedy"
RATES = [f"frugal:change_rate={rate}" for rate in (0.05, 0.11, 0.2)]
OURS = ["frugal", *RATES]
PUBLISHED = {
    "SL-EC": 13_400,
    "particle filter": 15_500,
    "SW-UCB": 21_400,
    "ε-greedy": 27_500,
    "Exp3.S": 32_200,
}
PRINTED = "published"
SAME = {"sl-ec": "SL-EC", "sw-ucb": "SW-UCB"}
EXPLORING, EXPLORED_ARMS = 0.33, 5
"""The share of plays that SL-EC explores for, and how many arms: the kink in their figure."""

KNOWS = {
    "frugal": "distributions, chain",
    "sl-ec": "distributions",
    "sw-ucb": "nothing",
    **dict.fromkeys(RATES, "distributions, a rate"),
}


def sl_ec(problem: Problem, states: Ints, random: np.random.Generator) -> Ints:
    """Explore pairs of arms, estimate the chain, then play greedily by the filter; return arms."""
    laws, horizon = np.ascontiguousarray(problem.rewards.rows), len(states)
    # σ of a Kronecker square is the square of σ: the best conditioned arms by themselves.
    subsets = combinations(range(len(problem.arms)), EXPLORED_ARMS)
    best = max(subsets, key=lambda arms: _conditioned(laws[:, list(arms)]))
    pairs = np.array([arm for first in best for second in best for arm in (first, second)])
    arms = np.resize(pairs, int(EXPLORING * horizon))
    uniform = random.random(horizon)
    ratings = _ratings(laws, states[: len(arms)], arms, uniform)
    chain = _estimated(laws, arms, ratings)
    later = _greedy(laws, problem.means, chain, states, arms, ratings, uniform)
    return np.concatenate([arms, later])


def _conditioned(laws: Floats) -> float:
    return float(np.linalg.svd(laws.reshape(len(laws), -1).T, compute_uv=False)[-1])


def _ratings(laws: Floats, states: Ints, arms: Ints, uniform: Floats) -> Ints:
    """Draw which rating each play gets."""
    upto = laws.cumsum(axis=2)[states, arms, :-1]
    ratings: Ints = (uniform[: len(arms), np.newaxis] >= upto).sum(axis=1)
    return ratings


def _estimated(laws: Floats, arms: Ints, ratings: Ints) -> Floats:
    """Return the chain that fits the pairs of ratings best, by least squares."""
    states, kinds, values = len(laws), laws.shape[1], laws.shape[2]
    counts = np.zeros((kinds, kinds, values, values))
    np.add.at(counts, (arms[0:-1:2], arms[1::2], ratings[0:-1:2], ratings[1::2]), 1)
    played = np.argwhere(counts.sum(axis=(2, 3)) > 0)
    rows = [
        np.einsum("sx,ty->xyst", laws[:, a], laws[:, b]).reshape(-1, states * states)
        for a, b in played
    ]
    shares = [(counts[a, b] / counts[a, b].sum()).reshape(-1) for a, b in played]
    joint = np.linalg.lstsq(np.concatenate(rows), np.concatenate(shares), rcond=None)[0]
    chain = np.maximum(joint.reshape(states, states), 0.0)
    estimated: Floats = chain / chain.sum(axis=1, keepdims=True)
    return estimated


@njit
def _greedy(
    laws: Any, means: Any, chain: Any, states: Any, arms: Any, ratings: Any, uniform: Any
) -> Any:
    """Filter what was explored, then play the arm of the largest expected rating."""
    belief = np.ones(len(chain)) / len(chain)
    chosen = np.zeros(len(states) - len(arms), np.int64)
    for t in range(len(states)):
        if t < len(arms):
            arm, rating = arms[t], ratings[t]
        else:
            arm, rating, total = np.argmax(belief @ means), 0, 0.0
            chosen[t - len(arms)] = arm
            for value in range(laws.shape[2] - 1):
                total += laws[states[t], arm, value]
                rating += uniform[t] >= total
        for state in range(len(belief)):
            belief[state] *= laws[state, arm, rating]
        belief = belief @ chain
        belief /= belief.sum()
    return chosen


@njit
def _sliding_window_ucb(laws: Any, states: Any, uniform: Any, window: int, xi: float) -> Any:
    """UCB on the last plays alone, as the authors have it: mean + √(ξ ln min(t, window)/n)."""
    kinds, values = laws.shape[1], laws.shape[2]
    plays, sums, arms = np.zeros(kinds), np.zeros(kinds), np.zeros(len(states), np.int64)
    paid = np.zeros(len(states))
    for t in range(len(states)):
        best, most = 0, -1.0
        for arm in range(kinds):
            index = np.inf
            if plays[arm] > 0:
                index = sums[arm] / plays[arm]
                index += np.sqrt(xi * np.log(min(t, window)) / plays[arm])
            if index > most:
                best, most = arm, index
        total, rating = 0.0, 0
        for value in range(values - 1):
            total += laws[states[t], best, value]
            rating += uniform[t] >= total
        arms[t], paid[t] = best, (rating + 1) / values
        plays[best] += 1
        sums[best] += paid[t]
        if t >= window:
            plays[arms[t - window]] -= 1
            sums[arms[t - window]] -= paid[t - window]
    return arms


def sw_ucb(problem: Problem, states: Ints, random: np.random.Generator) -> Ints:
    """Return the arms of sliding-window UCB with the authors' window and width."""
    laws = np.ascontiguousarray(problem.rewards.rows)
    arms: Ints = _sliding_window_ucb(laws, states, random.random(len(states)), 1_000, 2.0)
    return arms


THEIRS = {"sl-ec": sl_ec, "sw-ucb": sw_ucb}


def their_regret(problem: Problem, name: str, times: list[int], runs: int) -> Floats:
    """Return the regret, [run, time], of one of their methods, on the paths of all others."""
    horizon, gaps = times[-1], problem.means.max(axis=1, keepdims=True) - problem.means
    begins = truths(problem, "prior", SEED, range(runs))
    assert begins is not None  # truths are drawn
    regret = np.zeros((runs, len(times)))
    for run in range(runs):
        starts, rows = draw_path(problem, int(begins[run]), horizon, SEED, run)
        states = np.repeat(rows, np.diff([*starts, horizon]))
        arms = THEIRS[name](problem, states, np.random.default_rng([SEED, run]))
        regret[run] = gaps[states, arms].cumsum()[np.array(times) - 1]
    return regret


def instance(path: str) -> Problem:
    """Read the authors' file."""
    content = json.loads(Path(path).read_text())
    return Problem.discrete(
        content["state_action_obs"],
        support=RATINGS,
        transitions=content["transition_matrix"],
        name="MovieLens, switching",
    )


@own_style()
def drawn(times: list[int], behind: dict[str, Floats], runs: int) -> Figure:
    """Draw how far each policy is behind the oracle over time, and what was published."""
    figure = blank(6.4, 4.6)
    axes = figure.subplots()
    for (name, lost), colour in zip(behind.items(), PALETTE, strict=False):
        mean, deviation = lost.mean(axis=0), lost.std(axis=0, ddof=1)
        axes.plot(times, mean, color=colour, label=name)
        axes.fill_between(times, mean - deviation, mean + deviation, color=colour, alpha=0.2)
    first = min(PUBLISHED.values())
    for name, value in PUBLISHED.items():
        axes.plot(times[-1], value, "k_", markersize=14, label=PRINTED if value == first else None)
        axes.annotate(
            name, (times[-1], value), (9, 0), fontsize=9, textcoords="offset points", va="center"
        )  # fmt: skip
    axes.set(xlabel="plays", ylabel="reward behind the oracle", xlim=(0, 1.3 * times[-1]))
    axes.set_xticks(np.linspace(0, times[-1], 5))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=9, loc="upper left")
    return footnote(figure, f"mean of {runs} runs ± 1 deviation; T = {times[-1]:,}, seed {SEED}")


def main() -> None:
    """Play, and write what came of it."""
    problem = instance(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    horizon = int(float(sys.argv[3])) if len(sys.argv) > 3 else 200_000
    times = np.linspace(horizon / 100, horizon, 100).astype(int).tolist()
    how: dict[str, Any] = {"horizon": horizon, "runs": runs, "seed": SEED, "times": times}
    theirs = {name: their_regret(problem, name, times, runs) for name in THEIRS}
    result = simulate(problem, [ORACLE, *OURS], truth="prior", **how)
    oracle = result.regret(ORACLE)
    regret = {name: result.regret(name) for name in OURS} | theirs
    behind = {name: lost - oracle for name, lost in regret.items()}
    rows = []
    for name, lost in behind.items():
        error = lost[:, -1].std(ddof=1) / np.sqrt(runs)
        told = f"{PUBLISHED[SAME[name]]:,}" if name in SAME else ""
        rows.append([name, KNOWS[name], f"{lost[:, -1].mean():,.0f} ± {2 * error:,.0f}", told])
    others = {"particle filter": "distributions", "ε-greedy": "nothing", "Exp3.S": "nothing"}
    rows += [[name, knows, "", f"{PUBLISHED[name]:,}"] for name, knows in others.items()]
    title = (
        f"reward behind the oracle ± two standard errors; T = {horizon:,}, {runs} runs, seed {SEED}"
    )
    head = ["", "knows", "here", "published"]
    print(text_table(title, [head, *rows], text_columns=2))
    print(f"regret of the oracle: {oracle[:, -1].mean():,.0f}")
    save_figure(drawn(times, behind, runs), FIGURE)


if __name__ == "__main__":
    main()
