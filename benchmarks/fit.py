"""How well and how fast types are found in logs of known truth, in one run.

Run by ``make bench``. Errors are relative to expectation-maximisation that starts at the truth; CPU
times are of whole fits from the file on, choosing the number of types included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from engine import HERE, WORK, claim
from scipy.optimize import linear_sum_assignment

from fpbandits import FPUCB, Frugal, Policy, Problem, Thompson, fit, simulate
from fpbandits.core.arrays import Floats
from fpbandits.families import ESTIMATORS
from fpbandits.families.estimator import Estimator, Rewards
from fpbandits.fitting.cells import Cells, cells_of
from fpbandits.fitting.choose import fewest_types, folds, gain, rescore, score_of
from fpbandits.fitting.em import Mixture, Sample, merge_pairs, remove_type
from fpbandits.fitting.result import Fit
from fpbandits.logs.log import read_log

ROLES: Any = {"unit": "user", "arm": "arm", "reward": "reward"}


def draw(
    seed: int,
    family: str,
    units: int,
    *,
    types: int = 8,
    arms: int = 20,
    shown: int = 2,
    repeats: int = 5,
    law: tuple[float, float] | None = None,
    rarest: float | None = None,
    deviation: float = 1 / 3,
) -> tuple[Floats, Floats, dict[str, Any]]:
    """Return means, shares and a log: every user sees some arms, a few times each.

    Means are uniform, or of a Beta law; the last type has the share ``rarest``, if that is given.
    """
    random = np.random.default_rng(seed)
    if law is None:
        means = random.uniform(0.05, 0.95, (types, arms))
    else:
        means = random.beta(*law, (types, arms)).clip(0.005, 0.995)
    if rarest is None:
        shares = random.dirichlet(np.full(types, 5.0))
    else:
        shares = np.append((1 - rarest) * random.dirichlet(np.full(types - 1, 5.0)), rarest)
    kinds = random.choice(types, units, p=shares)
    seen = np.argsort(random.random((units, arms)), axis=1)[:, :shown]
    user, arm = np.repeat(np.arange(units), shown * repeats), np.repeat(seen.reshape(-1), repeats)
    mean = means[kinds[user], arm]
    if family == "bernoulli":
        reward = (random.random(len(user)) < mean).astype(float)
    elif family == "gaussian":
        reward = mean + random.normal(size=len(user)) * deviation
    elif family == "beta":
        reward = random.beta(5 * mean, 5 * (1 - mean))
    else:
        reward = random.binomial(3, mean) / 3
    order = random.permutation(len(user))
    return means, shares, {"user": user[order], "arm": arm[order], "reward": reward[order]}


def mean_error(found: Floats, truth: Floats) -> float:
    """Return the mean error of means, types matched as well as can be."""
    errors = np.abs(found[:, np.newaxis] - truth).mean(axis=2)
    return float(errors[linear_sum_assignment(errors)].mean())


def added_up(log: Any, family: str) -> tuple[Cells, Estimator]:
    """Return the cells of a log, and what finds laws in them."""
    read = read_log(log, **ROLES)
    estimator = ESTIMATORS[family].of_log(
        Rewards(read.reward, read.pair, read.pair_names, None, read.arms), {}
    )
    return cells_of(read, estimator), estimator


def true_mixture(estimator: Estimator, means: Floats, shares: Floats) -> Mixture:
    """Return the truth, as expectation-maximisation has it."""
    if estimator.family == "gaussian":
        start = (means - vars(estimator)["middle"]) / vars(estimator)["scale"]
    elif estimator.family == "discrete":
        chances = np.stack(
            [(1 - means) ** 3, 3 * means * (1 - means) ** 2, 3 * means**2 * (1 - means), means**3],
            -1,
        )
        start = np.log(chances[..., 1:] / chances[..., :1])
    else:
        start = np.log(means / (1 - means))
    where = np.swapaxes(start.reshape(*means.shape, -1), 0, 1)
    return Mixture(np.log(shares), np.ascontiguousarray(where), estimator.begin)


def from_truth(log: Any, family: str, means: Floats, shares: Floats) -> Floats:
    """Return the means that expectation-maximisation finds from the truth on, without penalty."""
    cells, estimator = added_up(log, family)
    sample = Sample(cells, cells.weights(), estimator, 1e-6)
    best, _ = sample.climb(true_mixture(estimator, means, shares), 3000, 1e-9)
    return estimator.means(best.parameters, best.common).T


def told_from_truth(log: Any, family: str, means: Floats, shares: Floats) -> tuple[int, str]:
    """Return how many types a search would choose that knows the truth, and by what margin.

    For fewer types it goes on from the truth with two types merged, or one left out: the best way
    of all. The margin is that of all true types over the best with one less.
    """
    cells, estimator = added_up(log, family)
    splits = list(folds(cells, estimator, np.random.default_rng(0)))
    first, mixture = splits[0], true_mixture(estimator, means, shares)
    for types in range(len(means), 0, -1):
        for split in splits:
            split.best[types] = split.sample.climb(mixture, 3000, 1e-9)
        if types > 1:
            more = first.best[types][0]
            fewer = [remove_type(more, kind) for kind in range(types)]
            fewer += merge_pairs(more, first.sample, combinations(range(types), 2))
            short = [first.sample.climb(each, 30, 1e-5) for each in fewer]
            mixture = max(short, key=lambda found: found[1])[0]
    scores = {types: score_of(splits, types) for types in range(1, len(means) + 1)}
    scores = rescore(splits, scores)
    chosen = fewest_types(scores, 2.0)
    if len(means) == 1:
        return chosen, ""
    most, less = scores[len(means)], scores[len(means) - 1]
    held, learnt = most.held_out - less.held_out, most.training - less.training
    error = (held + learnt) / 2 / gain(most, less)
    words = f"{held:+.0f} nats on units held out, {learnt:+.0f} on units learnt from, ± {error:.0f}"
    return chosen, words


HIDDEN: dict[str, tuple[str, int, dict[str, Any]]] = {
    "low click rates": ("bernoulli", 10**5, {"law": (1.2, 6.0), "rarest": 0.03}),
    "a rare type": ("bernoulli", 10**5, {"rarest": 0.01}),
    "a fifth of the users": ("bernoulli", 20_000, {}),
    "50 arms": ("bernoulli", 10**5, {"types": 6, "arms": 50, "shown": 5, "repeats": 2}),
    "4 arms": ("bernoulli", 20_000, {"types": 3, "arms": 4, "repeats": 4}),
    "one type": ("bernoulli", 20_000, {"types": 1, "arms": 10}),
    "gaussian, noisy": ("gaussian", 40_000, {"types": 5, "arms": 12, "deviation": 0.7}),
    "beta, few": ("beta", 2_000, {"types": 6, "arms": 10, "repeats": 2, "shown": 3}),
    "discrete": ("discrete", 20_000, {"types": 5, "arms": 15, "shown": 3, "repeats": 2}),
}
"""Logs unlike those that the search was made on: family, users, and how they are drawn."""


def hidden(seeds: range) -> None:
    """Count the types found in logs of many kinds, beside what could be told from the truth on."""
    total = {"too few": 0, "right": 0, "too many": 0, "told by the truth": 0}
    for name, (family, units, how) in HIDDEN.items():
        print(f"  {name}: {units:,} users, {how.get('types', 8)} types")
        for seed in seeds:
            means, shares, log = draw(seed, family, units, **how)
            start = time.process_time()
            found = fit(log, family=family, **ROLES)
            seconds = time.process_time() - start
            told, margin = told_from_truth(log, family, means, shares)
            words = f"found {found.types}, from the truth on {told}"
            if found.types == len(means):
                ours = mean_error(found.problem.means, means)
                truth = mean_error(from_truth(log, family, means, shares), means)
                words += f"; mean error {ours / truth:.2f} of that from the truth on"
            print(f"    seed {seed}: {words}; {seconds:.0f} s; the last type: {margin or 'none'}")
            off = (found.types > len(means)) - (found.types < len(means))
            total[("right", "too many", "too few")[off]] += 1
            total["told by the truth"] += told == len(means)
    print(f"  in all: {total}")


def write(log: dict[str, Any], path: Path) -> None:
    """Write a log as CSV, some rows at a time."""
    with path.open("w") as file:
        file.write("user,arm,reward\n")
        for start in range(0, len(log["user"]), 10**6):
            rows = (column[start : start + 10**6].tolist() for column in log.values())
            file.writelines(f"u{u},{a},{r!r}\n" for u, a, r in zip(*rows, strict=True))


def million(seed: int, family: str, folder: Path) -> None:
    """Fit a log of 10^6 events from its file."""
    means, shares, log = draw(seed, family, 10**5)
    path = folder / "log.csv"
    write(log, path)
    start = time.process_time()
    found = fit(path, family=family, **ROLES)
    seconds = time.process_time() - start
    name = f"  {family}, seed {seed}"
    claim(f"{name}: types found, off 8 by", abs(found.types - 8), 0)
    if found.types == 8:
        ours = mean_error(found.problem.means, means)
        truth = mean_error(from_truth(path, family, means, shares), means)
        claim(f"{name}: mean error {ours:.4f}, over that from the truth on", ours / truth, 1.1)
    claim(f"{name}: CPU seconds", seconds, 60)


def stepmix(folder: Path) -> None:
    """Compare with StepMix where it can express the data: ten of 20 arms, once each."""
    import json
    import os

    means, _, log = draw(0, "bernoulli", 10**5, shown=10, repeats=1)
    table = np.full((10**5, 20), np.nan)
    table[log["user"], log["arm"]] = log["reward"]
    np.save(folder / "table.npy", table)
    place = WORK / "stepmix"
    python = place / "bin" / "python"
    environment = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
    if not (place / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        words = [str(python), "-m", "pip", "install", "--quiet", "stepmix==3.0.0"]
        subprocess.run(words, check=True, capture_output=True, env=environment)
        (place / "ready").touch()
    words = [str(python), str(HERE / "peers" / "run_stepmix.py"), str(folder / "table.npy"), "8"]
    theirs = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    start = time.process_time()
    found = fit(log, types=8, **ROLES)
    seconds = time.process_time() - start
    ours = log_likelihood(found, table)
    print(f"  log-likelihood: ours {ours:.2f}, StepMix {theirs['likelihood']:.2f}")
    claim(
        "  nats per unit above StepMix", (ours - theirs["likelihood"]) / 10**5, -1e-6, at_least=True
    )
    claim(
        f"  CPU seconds, {seconds:.1f} over StepMix's {theirs['seconds']:.1f}",
        seconds / theirs["seconds"],
        0.5,
    )
    print(f"  mean error {mean_error(found.problem.means, means):.4f}")


def log_likelihood(found: Fit, table: Floats) -> float:
    """Return the log-likelihood of a table of 0, 1 and NaN."""
    means = found.problem.means
    order = np.argsort([int(arm) for arm in found.problem.arms])
    paid, not_paid = np.nan_to_num(table), np.nan_to_num(1 - table)
    own = paid @ np.log(means[:, order]).T + not_paid @ np.log1p(-means[:, order]).T
    own += np.log(list(found.shares.values()))
    top = own.max(axis=1, keepdims=True)
    return float((top[:, 0] + np.log(np.exp(own - top).sum(axis=1))).sum())


def coverage(logs: int) -> None:
    """Count how often 95 % intervals of means hold the truth, the number of types being found."""
    for family in ("bernoulli", "gaussian"):
        inside, right = [], 0
        for seed in range(logs):
            means, _, log = draw(1000 + seed, family, 2000, types=3, arms=6, shown=3, repeats=4)
            found = fit(log, family=family, **ROLES)
            errors = np.abs(found.problem.means[:, np.newaxis] - means).mean(axis=2)
            ours, truth = linear_sum_assignment(errors)
            off = np.abs(found.problem.means[ours] - means[truth])
            inside.append(float((off < 1.96 * found.error_table[ours]).mean()))
            right += found.types == 3
        print(f"  {family}: three types found in {right} of {logs} logs")
        print(f"  {family}: 95 % intervals hold {np.mean(inside):.1%} of means")


PLAYS = [1000, 10_000]


def regret(known: Problem, policy: Policy, means: Floats, shares: Floats) -> Floats:
    """Return the mean regret at `PLAYS`, over users drawn by their shares."""
    total = np.zeros(len(PLAYS))
    for kind, share in enumerate(shares):
        how: Any = {"horizon": PLAYS[-1], "times": PLAYS, "runs": 60, "seed": 5}
        result = simulate(known, [policy], truth=means[kind].tolist(), leap=False, **how)
        total += share * result.mean_regret(str(policy))
    return total


def widened(found: Fit, copies: int) -> Problem:
    """Return a model set with each type several times, its means moved by their errors."""
    random = np.random.default_rng(0)
    shape = (copies, *found.error_table.shape)
    moved = found.problem.means + random.normal(size=shape) * found.error_table
    moved[0] = found.problem.means
    rows = np.clip(moved, 0.001, 0.999).reshape(-1, shape[2])
    prior = list(found.shares.values()) * copies
    named = {f"theta{place}": share for place, share in enumerate(prior, 1)}
    return Problem.bernoulli(rows, prior=named, arms=found.problem.arms)


def played() -> None:
    """Play held-out users by fitted models, with and without the errors, and by the true ones."""
    for events in (10**4, 10**5):
        ratios: dict[str, list[Floats]] = {}
        for seed in range(6):
            means, shares, log = draw(seed, "bernoulli", events // 10, types=4, arms=8)
            found = fit(log, **ROLES)
            prior = {f"theta{place}": share for place, share in enumerate(shares, 1)}
            truth = Problem.bernoulli(means, prior=prior)
            slack = float(np.sqrt((found.error_table**2).mean()))
            ways: dict[str, tuple[Problem, Policy]] = {
                "frugal": (found.problem, Frugal()),
                "frugal, each type three times, moved by its errors": (widened(found, 3), Frugal()),
                "frugal, each type five times, moved by its errors": (widened(found, 5), Frugal()),
                "frugal:false_alarm=0.001": (found.problem, Frugal(false_alarm=0.001)),
                "fp-ucb": (found.problem, FPUCB()),
                "fp-ucb with a slack of the errors' size": (found.problem, FPUCB(slack=slack)),
                "thompson": (found.problem, Thompson()),
            }
            best = regret(truth, Frugal(), means, shares)
            for name, (problem, policy) in ways.items():
                ratios.setdefault(name, []).append(regret(problem, policy, means, shares) / best)
        print(f"  {events:,} events: regret over frugal's with the true models, at {PLAYS} plays")
        for name, each in ratios.items():
            print(f"    {name}: {np.exp(np.log(each).mean(axis=0)).round(2)}")
        if events >= 10**5:
            worst = max(float(ratio[0]) for ratio in ratios["frugal"])
            claim("    frugal at 1,000 plays, the worst of the logs", worst, 1.3)


def ten_million(folder: Path) -> None:
    """Fit a log of 10^7 events from its file."""
    _, _, log = draw(1, "bernoulli", 10**6)
    path = folder / "large.csv"
    write(log, path)
    del log
    start = time.perf_counter()
    words = [sys.executable, "-c", "from fpbandits.cli import main; main()", "fit", str(path)]
    words += ["--unit", "user", "--arm", "arm", "--reward", "reward", "--json"]
    subprocess.run(words, check=True, capture_output=True)
    claim("  10^7 events: minutes", (time.perf_counter() - start) / 60, 5)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print("\n10^6 events of 10^5 users, 20 arms, 8 types, 2 arms × 5 events per user")
        for number in range(3):
            million(number, "bernoulli", Path(name))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        claim("  peak memory, GB", peak, 1)
        for kind in ("gaussian", "beta", "discrete"):
            million(0, kind, Path(name))
        print("\n10^7 events of 10^6 users")
        ten_million(Path(name))
        print("\nAgainst StepMix, 8 types, one start of theirs")
        stepmix(Path(name))
    print("\nThe number of types in logs of other kinds")
    hidden(range(3))
    print("\nUsers played by fitted models, 4 types, 8 arms, six logs")
    played()
    print("\nErrors")
    coverage(200)
