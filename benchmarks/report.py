"""Whether the interval of `report` against the control group holds at all looks together.

Simulates experiments through a store, as the service plays them: units of types drawn from the
prior enrol in every round, and each enrolled unit asks with a probability of its own. At every look
the interval must hold the true difference of that look: by the number of decisions of each unit so
far, what the policy and the control arm earn on average over the types. Of the policy that is known
from a large simulation; its own error is a fiftieth of the intervals' width.

    python benchmarks/report.py [EXPERIMENTS] [SEED]
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import fpbandits as fpb
from fpbandits.core.arrays import Floats
from fpbandits.problem.files import problem_to_toml
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import Experiment, checked_experiment
from fpbandits.service.messages import Ask, Request, Tell
from fpbandits.service.report import report
from fpbandits.service.store import Store, open_store

PROBLEM = fpb.Problem.bernoulli(
    [[0.9, 0.5, 0.1], [0.2, 0.5, 0.4], [0.1, 0.3, 0.8]],
    arms=["a", "b", "c"],
    prior={"theta1": 0.5, "theta2": 0.3, "theta3": 0.2},
)
MEANS = np.array([[0.9, 0.5, 0.1], [0.2, 0.5, 0.4], [0.1, 0.3, 0.8]])
PRIOR = np.array([0.5, 0.3, 0.2])
POLICY, CONTROL = "frugal", {"arm": "b", "share": 0.25}
ROUNDS, ENROL = 14, 8
"""Rounds of an experiment, and units that enrol in each of the first ten."""


def expected_by_decision() -> Floats:
    """Return what the policy's k-th decision earns on average over the types."""
    runs = fpb.simulate(
        PROBLEM,
        truth="prior",
        policies=POLICY,
        horizon=ROUNDS,
        runs=20_000,
        times=range(1, ROUNDS + 1),
    )
    regret = np.diff(runs.mean_regret(POLICY), prepend=0.0)
    best = float(PRIOR @ MEANS.max(axis=1))
    earned: Floats = best - regret
    return earned


def play(store: Store, number: int, random: np.random.Generator) -> Experiment:
    """Play an experiment."""
    body = {"problem": problem_to_toml(PROBLEM), "policy": POLICY, "seed": number}
    wanted = checked_experiment(f"e{number}", {**body, "control": CONTROL})
    kept, _ = store.add_experiment(wanted.name, wanted.definition, wanted.revision)
    experiment = wanted.as_kept(kept)
    types, rates = list[int](), list[float]()
    made: list[int] = []
    for count in range(ROUNDS):
        if count < 10:
            types += random.choice(3, ENROL, p=PRIOR).tolist()
            rates += random.uniform(0.2, 1.0, ENROL).tolist()
            made += [0] * ENROL
        asking = np.flatnonzero(random.random(len(rates)) < rates)
        asks: list[Request] = [Ask(f"u{unit}") for unit in asking]
        answers = handle_together(store, [(experiment, each) for each in asks])
        tells: list[Request] = []
        for unit, answer in zip(asking, answers, strict=True):
            assert isinstance(answer, dict)
            chance = MEANS[types[unit], PROBLEM.arms.index(answer["arm"])]
            tells.append(Tell((f"u{unit}", made[unit]), float(random.random() < chance)))
            made[unit] += 1
        handle_together(store, [(experiment, each) for each in tells])
    return experiment


def truths(store: Store, experiment: Experiment, earned: Floats, looks: list[int]) -> list[float]:
    """Return the true difference at looks, from who had how many rewards by then."""
    order = [
        line.unit for line in store.log(experiment.id, 0, 10**6) if line.event.kind == "reward"
    ]
    upto = np.concatenate([[0.0], np.cumsum(earned)])
    always = float(PRIOR @ MEANS[:, PROBLEM.arms.index(str(CONTROL["arm"]))])
    found = []
    for count in looks:
        had: dict[str, int] = {}
        for unit in order[:count]:
            had[str(unit)] = had.get(str(unit), 0) + 1
        policy = [n for unit, n in had.items() if experiment.control_arm(unit) is None]
        found.append(float(sum(upto[n] for n in policy) / sum(policy)) - always)
    return found


def main() -> None:
    """Play all experiments, and print how often the intervals held."""
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    earned, began = expected_by_decision(), time.perf_counter()
    missed, looks, widths, closest = 0, 0, list[float](), 0.0
    with (
        TemporaryDirectory() as folder,
        closing(open_store(str(Path(folder, "a.db")), make=True)) as store,
    ):
        for number in range(experiments):
            experiment = play(store, number, random)
            found = report(store, experiment.name, most_units=1)["over_time"]
            true = truths(store, experiment, earned, [look["rewards"] for look in found])
            off = [
                abs(look["difference"] - truth) / (look["interval"][1] - look["difference"])
                for look, truth in zip(found, true, strict=True)
            ]
            missed += any(
                not look["interval"][0] <= truth <= look["interval"][1]
                for look, truth in zip(found, true, strict=True)
            )
            looks += len(found)
            closest = max(closest, *off)
            low, high = found[-1]["interval"]
            widths.append((high - low) / 2)
            while store.delete_some(experiment.id):
                pass
    covered = 1 - missed / experiments
    print(f"{experiments} experiments, {looks} looks, {time.perf_counter() - began:.0f} s")
    print(f"covered at all looks together: {covered:.1%} (wanted: at least 95 %)")
    print(f"half-width at the last look: {np.mean(widths):.3f} on average")
    print(f"largest error, in half-widths: {closest:.2f}")


if __name__ == "__main__":
    main()
