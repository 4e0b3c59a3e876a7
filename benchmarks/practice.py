"""The default policy on practice sets, against the best of fourteen in hindsight.

For each seed the fourteen and the default play the practice sets of that seed (docs/practice.md).
What is printed of each set is

    (mean regret of the default + ½) / (least mean regret of any of the fourteen + ½)

and the same ratio of its 95 % quantile to that of Thompson sampling on Θ; ½ is half the width of
the range of rewards. Whoever is best is chosen set by set, after the fact, and so by luck too.

Run by hand, ``python benchmarks/practice.py SEED ...``. A seed takes many minutes. Finished runs
are kept in ``--out``, and the same command goes on from there. The fourteen's results are kept for
good, whatever changes in the sources, so that rules may be tried with ``--policy`` without playing
all others again: remove the folder once one of the fourteen plays otherwise.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fpbandits.leaderboard import PRACTICE_HORIZON, PRACTICE_RUNS, Contest, contests, play
from fpbandits.policies import DEFAULT, parse_policy
from fpbandits.storage import write_aside

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

Standings = Mapping[str, Mapping[str, Any]]
"""By set; what `Standing` has, as JSON."""


def standings_of(
    word: str, among: Sequence[Contest], seed: int, asked: argparse.Namespace, folder: Path
) -> Standings:
    """Return how a policy did on the sets of a seed."""
    began = time.perf_counter()
    board = play(
        policies={word: parse_policy(word)},
        among=among,
        seed=seed,
        runs=asked.runs,
        horizon=asked.horizon,
        workers=asked.workers,
        out=folder,
    )
    seconds = time.perf_counter() - began
    sys.stderr.write(f"seed {seed}, {word}: {seconds:.0f} s\n")
    played: Standings = board.as_dict()["policies"][word]["contests"]
    return played


def rival(
    word: str, among: Sequence[Contest], seed: int, asked: argparse.Namespace, folder: Path
) -> Standings:
    """Return the same of one of the fourteen, from its file if it has been there before."""
    path = folder / f"{word}.json"
    key = {"runs": asked.runs, "horizon": asked.horizon}
    if path.exists():
        kept = json.loads(path.read_text())
        if all(kept[name] == value for name, value in key.items()):
            found: Standings = kept["standings"]
            return found
    played = standings_of(word, among, seed, asked, folder / word)
    write_aside(path, json.dumps({**key, "standings": played}, indent=1).encode())
    return played


def compare(seed: int, asked: argparse.Namespace) -> list[tuple[float, float]]:
    """Print the sets of a seed, and return both ratios of each."""
    among = contests("practice", seed)
    # Other horizons are other runs, and a folder holds those of one question.
    folder = asked.out / f"seed-{seed}-T-{asked.horizon}"
    tried = asked.policy.replace("/", "_")
    others = {word: rival(word, among, seed, asked, folder) for word in RIVALS}
    own = standings_of(asked.policy, among, seed, asked, folder / f"tried {tried}")
    print(f"seed {seed}: {asked.policy}, T = {asked.horizon:,}, {asked.runs:,} runs")
    print(f"  {'':18} {'mean':>8} {'±':>6} {'least':>8} {'of':15} {'ratio':>6} {'q95 ratio':>9}")
    ratios = []
    for contest in among:
        name, half = contest.name, contest.problem.rewards.width / 2
        least, best = min(
            (played[name]["mean"], w) for w, played in others.items() if name in played
        )
        mean, quantile = own[name]["mean"], own[name]["q95"]
        ratio = (mean + half) / (least + half)
        quantiles = (quantile + half) / (others["thompson-theta"][name]["q95"] + half)
        ratios.append((ratio, quantiles))
        error = own[name]["standard_error"]
        print(
            f"  {name:18} {mean:8.4g} {error:6.3g} {least:8.4g} {best:15} {ratio:6.2f} "
            f"{quantiles:9.2f}"
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
    parser.add_argument("--workers", type=int, help="threads; default: one per core")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(".bench/practice"),
        metavar="DIR",
        help="where runs are kept; default: %(default)s",
    )
    asked = parser.parse_args()
    everything = [ratios for seed in asked.seeds for ratios in compare(seed, asked)]
    if len(asked.seeds) > 1:
        conclude(f"all {len(asked.seeds)} seeds", everything)


if __name__ == "__main__":
    main()
