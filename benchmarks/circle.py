"""How often `evaluate` on the exported log of a service holds what policies truly earn.

An argument is the number of logs. In each, 150 new users of three types come ten times each; an
experiment decides, and its log is exported and evaluated. What is true comes from `simulate`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from engine import claim
from scipy.stats import binom

from fpbandits import Problem, evaluate, simulate
from fpbandits.core.arrays import Floats
from fpbandits.problem.files import problem_to_toml
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import Experiment, checked_experiment
from fpbandits.service.export import export
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.store import Store, open_store

USERS, VISITS = 150, 10
PRICING = Problem.bernoulli(
    [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]],
    value=[9, 12, 15],
    arms=["9 EUR", "12 EUR", "15 EUR"],
    models=["loyal", "regular", "thrifty"],
    prior={"loyal": 0.3, "regular": 0.3, "thrifty": 0.4},
)
SERVED: tuple[dict[str, Any], ...] = (
    {"policy": "frugal", "explore": 0.3},
    {"policy": "thompson-theta:change_rate=0.3"},
)
POLICIES = ["frugal", "thompson-theta", "ucb1"]
ROLES: Any = {"unit": "unit", "arm": "arm", "reward": "reward", "propensity": "propensity"}


def serve(store: Store, seed: int, definition: dict[str, Any]) -> str:
    """Decide for users of known types; return the experiment's name."""
    name = f"experiment-{seed}"
    problem = problem_to_toml(PRICING)
    wanted = checked_experiment(name, {"problem": problem, "seed": seed, **definition})
    kept, _ = store.add_experiment(name, wanted.definition, wanted.revision)
    experiment: Experiment = wanted.as_kept(kept)
    random = np.random.default_rng(seed)
    kinds = random.choice(3, USERS, p=PRICING.prior)
    names = [f"user-{place}" for place in range(USERS)]
    for visit in range(VISITS):
        answers = handle_together(store, [(experiment, Ask(user)) for user in names])
        tells = []
        for user, kind, answer in zip(names, kinds, answers, strict=True):
            if not isinstance(answer, dict):
                raise answer
            arm = PRICING.arms.index(answer["arm"])
            mean = PRICING.means[kind, arm]
            price = (9.0, 12.0, 15.0)[arm]
            tells.append(
                (experiment, Tell((user, visit), price * (random.random() < mean / price)))
            )
        handle_together(store, tells)
    return name


def earned(policy: str) -> Floats:
    """Return what a policy earns with its k-th decision for a user."""
    times = range(1, VISITS + 1)
    how: Any = {"horizon": VISITS, "times": times, "runs": 40_000, "leap": False, "seed": 3}
    regret = simulate(PRICING, policy, truth="prior", **how).mean_regret(policy)
    best = float(np.array(PRICING.prior) @ PRICING.means.max(axis=1))
    found: Floats = best - np.diff(regret, prepend=0.0)
    return found


def held(
    store: Store, folder: Path, seed: int, definition: dict[str, Any], true: dict[str, Floats]
) -> list[bool]:
    """Tell for each policy whether its interval holds the truth, of as many as are accepted."""
    log = folder / "log.csv"
    export(store, serve(store, seed, definition), log)
    result = evaluate(log, PRICING, POLICIES, **ROLES)
    accepted = binom.sf(np.arange(VISITS), VISITS, result.least_propensity)
    found = []
    for policy in POLICIES:
        value = float(accepted @ true[policy] / accepted.sum())
        mean = result.policies[policy].mean
        found.append(mean.low <= value <= mean.high)
    return found


def main(logs: int) -> None:
    """Count how often the intervals hold the truth."""
    true = {policy: earned(policy) for policy in POLICIES}
    found: list[list[list[bool]]] = [[] for _ in SERVED]
    with TemporaryDirectory() as folder:
        stores = [open_store(f"{folder}/{number}.db", make=True) for number in range(len(SERVED))]
        for seed in range(logs):
            for definition, store, own in zip(SERVED, stores, found, strict=True):
                own.append(held(store, Path(folder), seed, definition, true))
            if sys.stderr.isatty() or seed % 10 == 9:
                counts = [np.sum(own, axis=0).tolist() for own in found]
                sys.stderr.write(f"{seed + 1} logs of each: {counts}\n")
        for store in stores:
            store.close()
    for definition, own in zip(SERVED, found, strict=True):
        print(f"served by {definition}")
        for policy, share in zip(POLICIES, np.mean(own, axis=0), strict=True):
            claim(f"  {policy}: intervals that hold the truth, %", 100 * share, 90, at_least=True)
            claim("    … and not more than", 100 * share, 98)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
