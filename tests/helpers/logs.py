"""Logs whose truth is known, and what to compare fits with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import Floats
from fpbandits.families import ESTIMATORS
from fpbandits.families.estimator import Estimator, Rewards
from fpbandits.fitting.cells import Cells, cells_of
from fpbandits.logs.log import Log, read_log


@dataclass(frozen=True)
class Truth:
    """A log as a dict of columns, and what it was drawn from."""

    means: Floats
    shares: Floats
    kinds: NDArray[np.int64]
    log: dict[str, Any]


def drawn(
    seed: int = 0,
    family: str = "bernoulli",
    *,
    units: int = 300,
    means: Any = ((0.9, 0.5, 0.1), (0.1, 0.4, 0.8)),
    shares: Any = (0.6, 0.4),
    shown: int = 2,
    repeats: int = 4,
) -> Truth:
    """Draw a log: every unit sees ``shown`` random arms, ``repeats`` times each."""
    random = np.random.default_rng(seed)
    table = np.array(means, float)
    kinds = random.choice(len(table), units, p=shares)
    seen = np.argsort(random.random((units, table.shape[1])), axis=1)[:, :shown]
    unit = np.repeat(np.arange(units), shown * repeats)
    arm = np.repeat(seen.reshape(-1), repeats)
    mean = table[kinds[unit], arm]
    if family == "bernoulli":
        reward = (random.random(len(unit)) < mean).astype(float)
    elif family == "gaussian":
        reward = mean + 0.3 * random.normal(size=len(unit))
    elif family == "beta":
        reward = random.beta(6 * mean, 6 * (1 - mean))
    else:
        reward = random.binomial(3, mean) / 3
    order = random.permutation(len(unit))
    columns = {"user": unit[order], "arm": arm[order], "reward": reward[order]}
    return Truth(table, np.array(shares), kinds, columns)


def in_turn(*units: int) -> Truth:
    """Three types, each with a favourite of three arms: so many units of each.

    Units of one type are those of another with the arms turned round, so that in equal numbers
    nothing tells the types apart but the names of arms.
    """
    first = drawn(1, units=max(units), means=[[0.9, 0.1, 0.1]], shares=(1.0,), shown=3)
    parts = []
    for kind, count in enumerate(units):
        kept = first.log["user"] < count
        user, arm, reward = (first.log[name][kept] for name in ("user", "arm", "reward"))
        parts.append((user + 1000 * kind, (arm + kind) % 3, reward))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    means = np.array([np.roll(first.means[0], kind) for kind in range(len(units))])
    kinds = np.repeat(np.arange(len(units)), units)
    log = dict(zip(("user", "arm", "reward"), columns, strict=True))
    return Truth(means, np.array(units) / sum(units), kinds, log)


def read(truth: Truth) -> Log:
    return read_log(truth.log, unit="user", arm="arm", reward="reward")


def added_up(truth: Truth, family: str = "bernoulli", **given: Any) -> tuple[Cells, Estimator]:
    log = read(truth)
    rewards = Rewards(log.reward, log.pair, log.pair_names, None, log.arms)
    estimator = ESTIMATORS[family].of_log(rewards, given)
    return cells_of(log, estimator), estimator


def matched(found: Floats, truth: Floats) -> NDArray[np.int64]:
    """Which of the types found is each true one: the permutation with the least error."""
    best = min(
        permutations(range(len(truth))),
        key=lambda order: float(np.abs(found[list(order)] - truth).sum()),
    )
    return np.array(best)


def log_density(family: str, reward: float, mean: float, common: float) -> float:
    """The log-density of one reward, as textbooks have it."""
    if family == "bernoulli":
        return math.log(mean if reward else 1 - mean)
    if family == "gaussian":
        scaled = (reward - mean) / common
        return -0.5 * scaled**2 - math.log(common * math.sqrt(2 * math.pi))
    a, b = common * mean, common * (1 - mean)
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1) * math.log(reward) + (b - 1) * math.log1p(-reward)


def shape_of(estimator: Estimator, common: Floats) -> float:
    """The deviation or the concentration to the last digit: a problem file has six."""
    return math.exp(common[0]) * vars(estimator).get("scale", 1.0) if len(common) else 1.0


def log_likelihood(
    truth: Truth, family: str, means: Floats, shares: Floats, common: float
) -> float:
    """The log-likelihood of a mixture, unit by unit and reward by reward."""
    users, arms, rewards = (truth.log[name].tolist() for name in ("user", "arm", "reward"))
    by_unit: dict[int, list[float]] = {}
    for user, arm, reward in zip(users, arms, rewards, strict=True):
        own = by_unit.setdefault(user, [0.0] * len(shares))
        for kind in range(len(shares)):
            own[kind] += log_density(family, reward, float(means[kind, arm]), common)
    total = 0.0
    for own in by_unit.values():
        top = max(own)
        total += top + math.log(
            sum(share * math.exp(each - top) for share, each in zip(shares, own, strict=True))
        )
    return total
