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

Run by hand: ``python benchmarks/others/switching_latent.py FILE [RUNS] [HORIZON]``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from record import record

from fpbandits import PlainPolicy, Problem, simulate
from fpbandits.core.arrays import Floats
from fpbandits.engine.plain import Seen
from fpbandits.report.figures import PALETTE, blank, footnote, own_style
from fpbandits.simulation.result import Result

SEED, RATINGS = 1, [0.2, 0.4, 0.6, 0.8, 1.0]
ORACLE = "belief-greedy"
RATES = [f"frugal:change_rate={rate}" for rate in (0.05, 0.11, 0.2)]
PUBLISHED = {"SL-EC": 13_400, "particle filter": 15_500, "SW-UCB": 21_400, "Exp3.S": 32_200}
KNOWS = {
    "frugal": "laws, chain",
    "thompson-theta": "laws, chain",
    "sl-ec": "laws",
    "sw-ucb": "nothing",
    **dict.fromkeys(RATES, "laws, a rate"),
}


@dataclass(frozen=True)
class SLEC(PlainPolicy):
    """Explore pairs of arms, estimate the chain, then play greedily by the filter."""

    explore: int = 66_000
    arms: int = 5
    name = "sl-ec"

    def start(self, problem: Problem) -> Any:
        """Choose the arms to explore."""
        laws = problem.rewards.rows
        subsets = combinations(range(len(problem.arms)), self.arms)
        # σ of a Kronecker square is the square of σ: the best conditioned arms by themselves.
        best = max(subsets, key=lambda arms: _conditioned(laws[:, list(arms)]))
        pairs = [arm for first in best for second in best for arm in (first, second)]
        states = len(problem.models)
        return {"pairs": pairs, "seen": [], "belief": [1 / states] * states, "chain": None}

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        """Play the next of the pairs; after them, the arm of the largest expected reward."""
        memory = seen.memory
        if seen.t < self.explore:
            return int(memory["pairs"][seen.t % len(memory["pairs"])])
        if memory["chain"] is None:
            laws = seen.problem.rewards.rows
            memory["chain"] = _estimated(laws, memory["seen"])
            for arm, value in memory["seen"]:
                _filter(memory, laws, arm, value)
        return int((memory["belief"] @ seen.problem.means).argmax())

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        """Note the rating, or filter by it."""
        value = round(reward * 5) - 1
        if seen.memory["chain"] is None:
            seen.memory["seen"].append((arm, value))
        else:
            _filter(seen.memory, seen.problem.rewards.rows, arm, value)


def _conditioned(laws: Floats) -> float:
    return float(np.linalg.svd(laws.reshape(len(laws), -1).T, compute_uv=False)[-1])


def _estimated(laws: Floats, seen: list[tuple[int, int]]) -> Floats:
    """Return the chain that fits the pairs of ratings best, by least squares."""
    states = len(laws)
    counts: dict[tuple[int, int], Floats] = {}
    for (first, x), (second, y) in list(pairwise(seen))[::2]:
        counts.setdefault((first, second), np.zeros((5, 5)))[x, y] += 1
    rows = [
        np.einsum("sx,ty->xyst", laws[:, a], laws[:, b]).reshape(25, states * states)
        for a, b in counts
    ]
    shares = [(count / count.sum()).reshape(-1) for count in counts.values()]
    joint = np.linalg.lstsq(np.concatenate(rows), np.concatenate(shares), rcond=None)[0]
    chain = np.maximum(joint.reshape(states, states), 0.0)
    estimated: Floats = chain / chain.sum(axis=1, keepdims=True)
    return estimated


def _filter(memory: Any, laws: Floats, arm: int, value: int) -> None:
    belief = (memory["belief"] * laws[:, arm, value]) @ memory["chain"]
    memory["belief"] = belief / belief.sum()


@dataclass(frozen=True)
class SlidingWindowUCB(PlainPolicy):
    """UCB on the last plays alone, as the authors have it: means + √(2 ln min(t, window)/n)."""

    window: int = 1_000
    xi: float = 2.0
    name = "sw-ucb"

    def start(self, problem: Problem) -> Any:
        """Begin with an empty window."""
        arms = len(problem.arms)
        return {"last": [], "plays": np.zeros(arms), "sums": np.zeros(arms)}

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        """Play the arm of the largest index in the window; first one that is not there."""
        plays, sums = seen.memory["plays"], seen.memory["sums"]
        if not plays.all():
            return int(plays.argmin())
        width = np.sqrt(self.xi * np.log(min(seen.t, self.window)) / plays)
        return int((sums / plays + width).argmax())

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        """Move the window."""
        last, plays, sums = (seen.memory[key] for key in ("last", "plays", "sums"))
        last.append((arm, reward))
        plays[arm] += 1
        sums[arm] += reward
        if len(last) > self.window:
            oldest, paid = last[-self.window - 1]
            plays[oldest] -= 1
            sums[oldest] -= paid


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
def drawn(result: Result, names: list[str]) -> Figure:
    """Draw how far each policy is behind the oracle over time, and what was published."""
    figure = blank(7.0, 4.6)
    axes = figure.subplots()
    oracle = result.regret(ORACLE)
    for name, colour in zip(names, PALETTE, strict=False):
        behind = result.regret(name) - oracle
        mean, deviation = behind.mean(axis=0), behind.std(axis=0, ddof=1)
        axes.plot(result.times, mean, color=colour, label=name)
        axes.fill_between(result.times, mean - deviation, mean + deviation, color=colour, alpha=0.2)
    for name, value in PUBLISHED.items():
        axes.plot(result.horizon, value, "k_", markersize=14)
        axes.annotate(
            f"{name}, published", (result.horizon, value), (-8, 3), fontsize=8,
            textcoords="offset points", ha="right",
        )  # fmt: skip
    axes.set(xlabel="plays", ylabel="reward behind belief-greedy play", xlim=(0, None))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="upper left")
    return footnote(figure, f"mean of {result.runs} runs ± 1 deviation, seed {result.seed}")


def main() -> None:
    """Play, and write what came of it."""
    problem = instance(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    horizon = int(float(sys.argv[3])) if len(sys.argv) > 3 else 200_000
    names = ["frugal", *RATES, "thompson-theta", "sl-ec", "sw-ucb"]
    own = {"sl-ec": SLEC(explore=66_000 * horizon // 200_000), "sw-ucb": SlidingWindowUCB()}
    policies: dict[str, Any] = {name: own.get(name, name) for name in (ORACLE, *names)}
    times = np.linspace(horizon / 100, horizon, 100).astype(int).tolist()
    result = simulate(
        problem, policies, truth="prior", horizon=horizon, runs=runs, seed=SEED, times=times
    )
    oracle, rows, numbers = result.final_regret(ORACLE), [], {}
    published = {"sl-ec": PUBLISHED["SL-EC"], "sw-ucb": PUBLISHED["SW-UCB"]}
    for name in names:
        behind = result.final_regret(name) - oracle
        error = behind.std(ddof=1) / np.sqrt(runs) if runs > 1 else 0.0
        numbers[name] = {"behind": behind.tolist(), "knows": KNOWS[name]}
        told = f"{published[name]:,}" if name in published else ""
        rows.append([name, KNOWS[name], f"{behind.mean():,.0f} ± {2 * error:,.0f}", told])
    others = {"particle filter": "laws", "Exp3.S": "nothing"}
    rows += [[name, knows, "", f"{PUBLISHED[name]:,}"] for name, knows in others.items()]
    found = {"horizon": horizon, "runs": runs, "policies": numbers, "published": PUBLISHED}
    found["oracle_regret"] = oracle.tolist()
    head = ["", "knows", "behind the oracle, ours", "published"]
    record("switching-latent", found, head, rows, drawn(result, names), seed=SEED)


if __name__ == "__main__":
    main()
