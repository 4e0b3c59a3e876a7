"""The default policy on practice sets, against the best of fourteen in hindsight.

For each seed the fourteen and the default play the practice sets of that seed (docs/practice.md).
What is printed of each set is

    (mean regret of the default + ½) / (least mean regret of any of the fourteen + ½)

and the same ratio of its 95 % quantile to that of Thompson sampling on Θ; ½ is half the width of
the range of rewards. Whoever is best is chosen set by set, after the fact, and so by luck too.

Of the fourteen, who after a tenth of the runs is behind another by three standard errors of each on
a set is no candidate there, and plays no more of it.

Run by hand, ``python benchmarks/practice.py SEED ...``. A seed takes many minutes. The fourteen's
results are kept in ``--out`` for good, whatever changes in the sources, so that rules may be tried
with ``--policy`` without playing all others again: remove the folder once one of the fourteen plays
otherwise.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fpbandits.core.storage import write_aside
from fpbandits.leaderboard import PRACTICE_HORIZON, PRACTICE_RUNS, Contest, contests, play
from fpbandits.policies import DEFAULT, parse_policy

RIVALS = (
    "ata",
    "bpr",
    "fp-llr",
    "fp-ucb",
    "imed",
    "kl-ucb",
    "optimist",
    "ossb",
    "thompson",
    "thompson-theta",
    "ucb-c",
    "ucb-s",
    "ucb1",
    "least-squares",
)
SAMPLING = "thompson-theta"


class Asked(argparse.Namespace):
    """The command line."""

    policy: str
    runs: int
    horizon: int
    out: Path


Standing = Mapping[str, Any]
"""What `Standing` of the leaderboard has, as JSON."""


def standing(word: str, contest: Contest, seed: int, runs: int, horizon: int) -> Standing | None:
    """Return how a policy did on a set; None if it cannot play it."""
    rules = {word: parse_policy(word)}
    board = play(
        policies=rules, among=[contest], seed=seed, runs=runs, horizon=horizon, floors=False
    )
    played: Mapping[str, Standing] = board.as_dict()["policies"][word]["contests"]
    return played.get(contest.name)


def rival(word: str, contest: Contest, seed: int, runs: int, asked: Asked) -> Standing | None:
    """Return the same of one of the fourteen, from its file if it has been there before."""
    path = asked.out / f"seed-{seed}" / f"{contest.name} {word} {asked.horizon} {runs}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        found = standing(word, contest, seed, runs, asked.horizon)
        write_aside(path, json.dumps(found).encode())
    kept: Standing | None = json.loads(path.read_text())
    return kept


def candidates(contest: Contest, seed: int, asked: Asked) -> list[str]:
    """Return who may have the least mean regret on a set, by a tenth of the runs."""
    tenth = max(asked.runs // 10, 2)
    tried = {word: rival(word, contest, seed, tenth, asked) for word in RIVALS}
    spans = {
        word: (own["mean"] - 3 * own["standard_error"], own["mean"] + 3 * own["standard_error"])
        for word, own in tried.items()
        if own is not None
    }
    limit = min(high for _, high in spans.values())
    return [word for word, (low, _) in spans.items() if low <= limit]


def compare(seed: int, asked: Asked) -> list[tuple[float, float]]:
    """Print the sets of a seed, and return both ratios of each."""
    print(f"seed {seed}: {asked.policy}, T = {asked.horizon:,}, {asked.runs:,} runs")
    print(f"  {'':18} {'mean':>8} {'±':>6} {'least':>8} {'of':15} {'ratio':>6} {'q95 ratio':>9}")
    ratios = []
    for contest in contests("practice", seed):
        words = {*candidates(contest, seed, asked), SAMPLING}
        others = {word: rival(word, contest, seed, asked.runs, asked) for word in sorted(words)}
        least, best = min((own["mean"], word) for word, own in others.items() if own is not None)
        own, sampling = (
            standing(asked.policy, contest, seed, asked.runs, asked.horizon),
            others[SAMPLING],
        )
        assert own is not None
        assert sampling is not None
        half = contest.problem.rewards.width / 2
        ratio = (own["mean"] + half) / (least + half)
        quantiles = (own["q95"] + half) / (sampling["q95"] + half)
        ratios.append((ratio, quantiles))
        print(
            f"  {contest.name:18} {own['mean']:8.4g} {own['standard_error']:6.3g} {least:8.4g} "
            f"{best:15} {ratio:6.2f} {quantiles:9.2f}",
            flush=True,
        )
    conclude(f"seed {seed}", ratios)
    return ratios


def conclude(title: str, ratios: Sequence[tuple[float, float]]) -> None:
    """Print geometric means, and the worst set."""
    means, quantiles = zip(*ratios, strict=True)
    print(
        f"{title}: mean regret over the least {geometric(means):.3f}, worst {max(means):.2f}; "
        f"95 % quantile over thompson-theta's {geometric(quantiles):.3f}\n",
        flush=True,
    )


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    """Compare on the sets of each seed, then on all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    parser.add_argument("--policy", default=DEFAULT.name, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=PRACTICE_RUNS, help="default: %(default)s")
    parser.add_argument(
        "--horizon",
        type=lambda text: int(float(text)),
        default=PRACTICE_HORIZON,
        help="default: %(default)s",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(".bench/practice"),
        metavar="DIR",
        help="where results are kept; default: %(default)s",
    )
    asked = parser.parse_args(namespace=Asked())
    everything = [ratios for seed in asked.seeds for ratios in compare(seed, asked)]
    if len(asked.seeds) > 1:
        conclude(f"all {len(asked.seeds)} seeds", everything)


if __name__ == "__main__":
    main()
