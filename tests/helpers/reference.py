"""The policies in plain Python, for comparison: each a few lines, sharing no code with the package.

A *twin* is a function named after its policy, ``fp_ucb`` for "fp-ucb". It takes what is `Known` of
a problem and the policy's options, and is a generator: it yields an arm and is sent its reward, on
[0, 1]. The tests find it by its name, so that a new policy's twin is a function here, and no more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fpbandits import Problem, analyze

Player = Generator[int, float, None]

Rates = list[tuple[list[int], list[float]]]
"""For each model: which ones must be told from it, and how often to play each arm for that."""

EQUAL = 1e-9


@dataclass(frozen=True)
class Known:
    """What a twin may know of a problem."""

    problem: Problem

    @cached_property
    def means(self) -> list[list[float]]:
        """A row per model, on [0, 1]."""
        return self.problem.rewards.unit_means.tolist()  # type: ignore[no-any-return]  # of NumPy

    @property
    def arms(self) -> int:
        return len(self.problem.arms)

    @property
    def largest(self) -> float:
        return max(map(max, self.means))

    @property
    def gap(self) -> float:
        """The least gap below the largest mean."""
        gaps = [self.largest - mean for row in self.means for mean in row]
        return min((gap for gap in gaps if gap > 1e-12), default=1.0)

    @property
    def rates(self) -> Rates:
        """Over the arms of A."""
        return self._rates(everywhere=False)

    @property
    def rates_over_all(self) -> Rates:
        return self._rates(everywhere=True)

    def _rates(self, everywhere: bool) -> Rates:
        found: Rates = []
        for case in analyze(self.problem).cases:
            bound = case.theorem2.all_arms if everywhere else case.theorem2
            rivals = [self.problem.index(name) for name in case.theorem2.confusion_set]
            pulls = [bound.pulls.get(arm, 0.0) if rivals else 0.0 for arm in self.problem.arms]
            found.append((rivals, pulls))
        return found

    def misfits(self, n: list[int], S: list[float]) -> list[float]:
        """What the rewards cost each model, less the least: here that of 0/1 rewards."""
        return misfits(self.means, n, S)

    def stream(self, number: int) -> np.random.Generator:
        """The stream from which an agent of seed 0 draws its decision of this number."""
        return np.random.default_rng(np.random.SeedSequence(0, spawn_key=(number, 0)))


def twin(name: str) -> Any:
    """Return a policy's twin; there must be one."""
    return globals()[name.replace("-", "_")]


def nothing_seen(known: Known) -> tuple[int, list[int], list[float]]:
    """The number of arms, and of each arm no plays and no rewards."""
    return known.arms, [0] * known.arms, [0.0] * known.arms


def best_arm(row: list[float]) -> int:
    return min(i for i, mean in enumerate(row) if mean >= max(row) - 1e-12)


def first_least(costs: list[float]) -> int:
    return next(i for i, cost in enumerate(costs) if cost <= min(costs) + EQUAL)


def kl(p: float, q: float) -> float:
    if (q <= 0 < p) or (q >= 1 > p):
        return math.inf
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def misfits(means: Any, n: list[int], S: list[float], squares: bool = False) -> list[float]:
    """What the rewards cost each model, less the least."""
    total = []
    for row in means:
        cost = 0.0
        for q, plays, wins in zip(row, n, S, strict=True):
            if plays:
                mean = wins / plays
                cost += plays * ((mean - q) ** 2 if squares else kl(mean, q))
        total.append(cost)
    return [cost - min(total) for cost in total]


def _fits(row: list[float], n: list[int], S: list[float], scale: float, t: int) -> bool:
    return all(
        abs(S[i] / n[i] - row[i]) <= math.sqrt(scale * math.log(t) / n[i])
        for i in range(len(n))
        if n[i]
    )


def fp_ucb(known: Known, slack: float = 0.0) -> Player:
    """Algorithm 1, line by line."""
    best = [best_arm(row) for row in known.means]
    A = sorted(set(best))
    n, S = dict.fromkeys(A, 0), dict.fromkeys(A, 0.0)
    A_k, k = A, 0
    while True:
        for arm in A_k or A:
            S[arm] += yield arm
            n[arm] += 1
        k += 1
        A_k = sorted(
            {
                best[theta]
                for theta, row in enumerate(known.means)
                if all(
                    abs(S[i] / n[i] - row[i]) <= math.sqrt(3 * math.log(k) / n[i]) + slack
                    for i in A
                )
            }
        )


def ucb1(known: Known) -> Player:
    arms, n, S = nothing_seen(known)
    for arm in range(arms):
        S[arm] += yield arm
        n[arm] += 1
    t = arms
    while True:
        index = [S[i] / n[i] + math.sqrt(2 * math.log(t) / n[i]) for i in range(arms)]
        arm = index.index(max(index))
        S[arm] += yield arm
        n[arm] += 1
        t += 1


def moss(known: Known, horizon: float = 0.0) -> Player:
    arms, n, S = nothing_seen(known)
    while True:
        T = horizon or sum(n)
        index = [
            S[i] / n[i] + math.sqrt(max(math.log(T / (arms * n[i])), 0) / n[i])
            if n[i]
            else math.inf
            for i in range(arms)
        ]
        arm = index.index(max(index))
        S[arm] += yield arm
        n[arm] += 1


def imed(known: Known) -> Player:
    arms, n, S = nothing_seen(known)
    yield from imed_from(arms, n, S)


def imed_from(arms: int, n: list[int], S: list[float]) -> Player:
    while True:
        if 0 in n:
            arm = n.index(0)
        else:
            means = [S[i] / n[i] for i in range(arms)]
            top = max(means)
            number = [n[i] * kl(means[i], top) + math.log(n[i]) for i in range(arms)]
            arm = first_least(number)
        S[arm] += yield arm
        n[arm] += 1


def kl_ucb(known: Known, c: float = 0.0) -> Player:
    arms, n, S = nothing_seen(known)
    while True:
        if 0 in n:
            arm = n.index(0)
        else:
            index = []
            t = sum(n)
            level = math.log(t) + (c * math.log(math.log(t)) if t > 2 else 0)
            for i in range(arms):
                mean, bound = S[i] / n[i], level / n[i]
                if mean >= 1 or bound == 0:
                    index.append(mean)
                elif kl(mean, 1 - 1e-16) <= bound:
                    index.append(1.0)
                else:
                    root = brentq(lambda q, m=mean, b=bound: kl(m, q) - b, mean, 1 - 1e-16)
                    index.append(float(root))
            arm = next(i for i in range(arms) if index[i] >= max(index) - 1e-12)
        S[arm] += yield arm
        n[arm] += 1


def fp_llr(known: Known) -> Player:
    means, (_, n, S) = known.means, nothing_seen(known)
    A = sorted({best_arm(row) for row in means})
    cycle, k = A, 0
    while True:
        for arm in cycle:
            S[arm] += yield arm
            n[arm] += 1
        k += 1
        limit = 2 * math.log(k) + math.log(len(means)) + EQUAL
        fits = [cost <= limit for cost in known.misfits(n, S)]
        cycle = sorted({best_arm(row) for row, fit in zip(means, fits, strict=True) if fit})


def optimist(
    known: Known, delta: float = 0.1, offset: float = 0.7, false_alarm: float = 0.0
) -> Player:
    means, (arms, n, S) = known.means, nothing_seen(known)
    while True:
        own = [sum(n[i] * kl(S[i] / n[i], row[i]) for i in range(arms) if n[i]) for row in means]
        if false_alarm and min(own) > sum(math.log(plays + 1) for plays in n) - math.log(
            false_alarm
        ):
            yield from imed_from(arms, n, S)
        costs = known.misfits(n, S)
        limit = (1 + delta) * math.log(max(sum(n), 1)) + offset + EQUAL
        top = max(max(row) for row, cost in zip(means, costs, strict=True) if cost <= limit)
        mass = [0.0] * arms
        for row, cost in zip(means, costs, strict=True):
            if cost <= limit and max(row) >= top - 1e-12:
                for i in range(arms):
                    if row[i] >= max(row) - 1e-12:
                        mass[i] += math.exp(-cost)
        arm = next(i for i in range(arms) if mass[i] >= max(mass) * (1 - EQUAL))
        S[arm] += yield arm
        n[arm] += 1


def frugal(
    known: Known,
    delta: float = 0.1,
    kappa: float = 10.0,
    horizon: float = 0.0,
    lifetime: float = 0.0,
    false_alarm: float = 0.0,
    trust: float = 250.0,
) -> Player:
    means, (arms, n, S) = known.means, nothing_seen(known)
    prior, apart = known.problem.prior or [1.0] * len(means), divergences(known.problem)
    while True:
        own = [sum(n[i] * kl(S[i] / n[i], row[i]) for i in range(arms) if n[i]) for row in means]
        limit = sum(math.log(plays + 1) for plays in n)
        limit += -math.log(false_alarm) if false_alarm else math.inf
        if min(own) > limit:
            yield from imed_from(arms, n, S)
        t = sum(n) + 1
        h = max(horizon - t + 1, 1) if horizon else lifetime or kappa * t ** (1 + delta)
        costs = [
            c - math.log(w) if w else math.inf
            for c, w in zip(known.misfits(n, S), prior, strict=True)
        ]
        least = min(c for c, misfit in zip(costs, own, strict=True) if misfit <= limit)
        weights = [
            w if misfit <= limit or c > least else 0.0
            for w, c, misfit in zip(prior, costs, own, strict=True)
        ]
        p, _ = posterior(known.misfits(n, S), weights, h)
        hat = next(
            i
            for i, (c, misfit) in enumerate(zip(costs, own, strict=True))
            if misfit <= limit and c <= least + EQUAL
        )
        units = np.array(means)[:, np.newaxis]
        (arm,), (leader,) = frugal_arms(units, [1.0], p, hat, h, apart[:, :, np.newaxis])
        if false_alarm and arm == leader:
            arm = doubted(t, n, S, max(means[hat]), trust, leader)
        S[arm] += yield arm
        n[arm] += 1


def frugal_arms(
    means: np.ndarray,
    shares: Sequence[float],
    p: Sequence[float],
    hat: int,
    h: float,
    apart: np.ndarray,
    pending: np.ndarray | None = None,
) -> tuple[list[int], list[int]]:
    """Return what frugality plays in each context, and who leads there.

    Sums are over all pairs of models, and all choices of an arm per context are tried. ``means`` is
    [θ, context, arm], ``apart`` D(φ‖θ) by [φ, θ, context, arm], ``pending`` by context and arm.
    """
    weights, (models, contexts, arms) = np.array(p), means.shape
    gaps = means.max(axis=2, keepdims=True) - means
    gaps[gaps <= 1e-12] = 0
    loss = np.einsum("m,mxa->xa", weights, gaps)
    leaders = []
    for x in range(contexts):
        best = [a for a in range(arms) if gaps[hat, x, a] == 0]
        least = min(loss[x, a] for a in best)
        leaders.append(next(a for a in best if loss[x, a] * (1 - EQUAL) <= least))
    value = np.zeros((contexts, arms))
    for m in range(models):
        stake = p[m] * sum(s * gaps[m, x, leaders[x]] for x, s in enumerate(shares))
        w = weights.copy()
        w[m] = 0
        if pending is not None and pending.any():
            both = apart[:, m] + apart[m]
            w *= np.exp(-(both * pending).sum(axis=(1, 2)) / 8)
            is_rival = (weights >= 0.2 * weights[hat]) & (np.arange(models) != m)
            w[~is_rival] = 0
            if is_rival.any():  # they stand for all
                w *= (weights.sum() - weights[m]) / weights[is_rival].sum()
        if stake > 0 and w.sum() > 0:
            told = np.einsum("f,fxa->xa", w, apart[:, m]) / w.sum()
            value += stake * w.sum() * told / (1 + told)
    found, most = leaders, 1 / h
    for choice in itertools.product(range(arms), repeat=contexts):
        gain = sum(s * value[x, choice[x]] for x, s in enumerate(shares))
        lost = sum(s * loss[x, choice[x]] for x, s in enumerate(shares))
        ratio = -1.0 if gain <= 0 else gain / lost if lost else math.inf
        if ratio > most * (1 + EQUAL) or (found is leaders and ratio >= most):
            found, most = list(choice), ratio
    return found, leaders


def doubted(t: int, n: list[int], S: list[float], top: float, trust: float, leader: int) -> int:
    """The arm that its rewards least refute to pay more, if they do so too little by now."""
    arms = range(len(n))
    start = trust * (len(n) - 1) ** 4
    if t <= start or len(n) == 1:
        return leader
    better = min(top + 0.5 / math.log(max(t, 2)), (1 + top) / 2)
    refuted = {
        i: n[i] * kl(S[i] / n[i], better) if n[i] and S[i] < n[i] * better else 0.0
        for i in arms
        if i != leader
    }
    least = min(refuted, key=lambda i: refuted[i])
    return least if refuted[least] < math.log(t / start) else leader


def posterior(costs: Sequence[float], prior: Sequence[float], h: float) -> tuple[list[float], int]:
    """The posterior, 0 where odds are below e^−40/h², and the first model that has most of it."""
    energy = [c - math.log(w) if w else math.inf for c, w in zip(costs, prior, strict=True)]
    energy = [e - min(energy) for e in energy]
    odds = [math.exp(-e) if e <= 40 + 2 * math.log(max(h, 1)) else 0.0 for e in energy]
    return [odd / sum(odds) for odd in odds], first_least(energy)


def divergences(problem: Problem) -> np.ndarray:
    """D_i(φ‖θ), [φ, θ, i].

    Where θ rules out what φ pays, by adding up over the values. What is ruled out counts for twenty
    nats there, or for two more than it costs any model that does not rule it out.
    """
    models, rewards = np.arange(len(problem.models)), problem.rewards
    found = np.array([rewards.divergence(int(model), models) for model in models])
    if not np.isinf(found).any():
        return found
    wins = getattr(rewards, "probabilities", rewards.unit_means)
    chances = wins if wins.ndim == 3 else np.stack([wins, 1 - wins], axis=-1)
    with np.errstate(divide="ignore"):
        costs = -np.log(chances)
    finite = np.where(np.isinf(costs), 0, costs)
    costs = np.where(np.isinf(costs), np.maximum(20, finite.max(axis=0) + 2), costs)
    for one, other, arm in np.argwhere(np.isinf(found)):
        found[one, other, arm] = chances[one, arm] @ (costs[other, arm] - costs[one, arm])
    return found


def least_squares(known: Known) -> Player:
    means, (_, n, S) = known.means, nothing_seen(known)
    while True:
        arm = best_arm(means[first_least(misfits(means, n, S, squares=True))])
        S[arm] += yield arm
        n[arm] += 1


def ucb_s(known: Known, alpha: float = 4.0) -> Player:
    means, (arms, n, S) = known.means, nothing_seen(known)
    while True:
        t = max(sum(n), 1)
        inside = [row for row in means if _fits(row, n, S, alpha / 4, t)]
        if inside:
            top = max(map(max, inside))
            arm = min(best_arm(row) for row in inside if max(row) >= top - 1e-12)
        else:
            index = [
                S[i] / n[i] + math.sqrt(2 * math.log(t) / n[i]) if n[i] else math.inf
                for i in range(arms)
            ]
            arm = index.index(max(index))
        S[arm] += yield arm
        n[arm] += 1


def m_ucb(known: Known) -> Player:
    means, (arms, n, S) = known.means, nothing_seen(known)
    while True:
        t = max(sum(n), 1)
        played = [i for i in range(arms) if n[i]]
        radius = {i: math.sqrt(math.log(len(means) * t**3) / (2 * n[i])) for i in played}
        optimal = [
            (-max(row), best_arm(row))
            for row in means
            if all(abs(S[i] / n[i] - row[i]) <= radius[i] for i in played)
        ]
        if optimal:
            highest = min(optimal)[0]
            arm = min(arm for top, arm in optimal if top <= highest + 1e-12)
        else:
            missing = [i for i in range(arms) if not n[i]]
            index = {i: S[i] / n[i] + math.sqrt(2 * math.log(t) / n[i]) for i in played}
            arm = missing[0] if missing else min(played, key=lambda i: (-index[i], i))
        S[arm] += yield arm
        n[arm] += 1


def ts_c(known: Known, alpha: float = 3.0) -> Player:
    means, (arms, n, S) = known.means, nothing_seen(known)
    while True:
        t = max(sum(n), 1)
        inside = [row for row in means if _fits(row, n, S, alpha / 2, t)]
        competitive = sorted({best_arm(row) for row in inside} or range(arms))
        unknown = [i for i in competitive if n[i] == 0]
        stream = known.stream(sum(n))
        if unknown:
            arm = unknown[0]
        elif len(competitive) == 1:
            (arm,) = competitive
        else:
            drawn = [stream.normal(S[i] / n[i], 1 / math.sqrt(4 * n[i])) for i in competitive]
            arm = competitive[drawn.index(max(drawn))]
        S[arm] += yield arm
        n[arm] += 1


def ucb_c(known: Known, alpha: float = 3.0) -> Player:
    means, (arms, n, S) = known.means, nothing_seen(known)
    while True:
        t = max(sum(n), 1)
        inside = [row for row in means if _fits(row, n, S, alpha / 2, t)]
        competitive = {best_arm(row) for row in inside} or set(range(arms))
        index = [
            S[i] / n[i] + math.sqrt(alpha / 2 * math.log(t) / n[i]) if n[i] else math.inf
            for i in range(arms)
        ]
        arm = min(competitive, key=lambda i: (-index[i], i))
        S[arm] += yield arm
        n[arm] += 1


def ata(known: Known, c: float = 1.0) -> Player:
    means, rates, (arms, n, S) = known.means, known.rates, nothing_seen(known)
    while True:
        costs = known.misfits(n, S)
        guess = first_least(costs)
        arm = best_arm(means[guess])
        rivals, pulls = rates[guess]
        ratio = min((costs[r] - costs[guess] for r in rivals), default=math.inf)
        if ratio <= math.log(c * (sum(n) + 1)):
            shares = (
                [pull / sum(pulls) for pull in pulls]
                if sum(pulls) > 0
                else [0.0 if i == arm else 1 / (arms - 1) for i in range(arms)]
            )
            bounds = np.cumsum(shares)
            arm = int(np.searchsorted(bounds, known.stream(sum(n)).random(), side="right"))
            arm = min(arm, max(i for i in range(arms) if shares[i] > 0))
        S[arm] += yield arm
        n[arm] += 1


def ossb(known: Known, gamma: float = 0.0, epsilon: float = 0.01) -> Player:
    means, rates, (arms, n, S) = known.means, known.rates_over_all, nothing_seen(known)
    s = 0
    while True:
        guess = first_least(known.misfits(n, S))
        c, best = rates[guess][1], best_arm(means[guess])
        log = math.log(sum(n) + 1)
        if all(n[x] >= (1 + gamma) * c[x] * log for x in range(arms) if x != best):
            arm = best
        else:
            s += 1
            arm = n.index(min(n))
            if min(n) > epsilon * s:
                arm = min((x for x in range(arms) if c[x] > 0), key=lambda x: (n[x] / c[x], x))
        S[arm] += yield arm
        n[arm] += 1


def bpr(known: Known) -> Player:
    largest, (arms, n, S) = known.largest, nothing_seen(known)
    middle = largest - known.gap / 2
    while True:
        if 0 in n:
            arm = n.index(0)
        else:
            seen = [S[i] / n[i] for i in range(arms)]
            arm = seen.index(max(seen))
            if max(seen) < middle:
                weights = np.array([(largest - mean) ** -2 for mean in seen])
                draw = known.stream(sum(n)).random() * weights.sum()
                arm = min(int(np.searchsorted(np.cumsum(weights), draw, side="right")), arms - 1)
        S[arm] += yield arm
        n[arm] += 1


def thompson_theta(known: Known) -> Player:
    means, (_, n, S) = known.means, nothing_seen(known)
    while True:
        weights = np.exp(-np.array(known.misfits(n, S)))
        draw = known.stream(sum(n)).random() * weights.sum()
        model = min(int(np.searchsorted(np.cumsum(weights), draw, side="right")), len(means) - 1)
        arm = best_arm(means[model])
        S[arm] += yield arm
        n[arm] += 1


def ids_theta(known: Known) -> Player:
    means, (_, n, S) = known.means, nothing_seen(known)
    prior = known.problem.prior or [1.0] * len(means)
    while True:
        arm, other, chance = ids(means, known.misfits(n, S), prior)
        if 0 < chance < 1 and known.stream(sum(n)).random() < chance:
            arm = other
        S[arm] += yield arm
        n[arm] += 1


def ids(means: Any, costs: list[float], prior: Sequence[float]) -> tuple[int, int, float]:
    """The law on two arms of the least (expected regret)²/variance: (arm, other, other's chance).

    By the definition, in sixty digits: there nothing is lost where nearly all weight is on one
    model. Of equal ratios one arm comes before two.
    """
    with localcontext() as digits:
        digits.prec = 60
        energy = [
            Decimal(cost) - Decimal(weight).ln() if weight else Decimal("Infinity")
            for cost, weight in zip(costs, prior, strict=True)
        ]
        odds = [(min(energy) - e).exp() if e <= min(energy) + 80 else Decimal(0) for e in energy]
        total = _sum(odds)
        seen = [
            (weight / total, best_arm(row), [Decimal(mean) for mean in row])
            for weight, row in zip(odds, means, strict=True)
            if weight
        ]
        arms = range(len(means[0]))
        regret = [
            _sum([p * max(row[best] - row[a], Decimal(0)) for p, best, row in seen]) for a in arms
        ]
        overall = [_sum([p * row[a] for p, _, row in seen]) for a in arms]
        gain = [Decimal(0) for _ in arms]
        for winner in {best for _, best, _ in seen}:
            own = [(p, row) for p, best, row in seen if best == winner]
            mass = _sum([p for p, _ in own])
            for a in arms:
                mean = _sum([p * row[a] for p, row in own]) / mass
                gain[a] += mass * (mean - overall[a]) ** 2
        gain = [v if v > Decimal("1e-90") else Decimal(0) for v in gain]  # what rounding left
        laws = [(_ratio(regret[a], gain[a]), a, a, Decimal(0)) for a in arms]
        for b in arms:
            for a in arms:
                if regret[a] > regret[b] and gain[a] > gain[b]:
                    # Where the derivative of (Δ_b + qd)²/(v_b + qe) by q is 0.
                    d, e = regret[a] - regret[b], gain[a] - gain[b]
                    q = (e * regret[b] - 2 * d * gain[b]) / (d * e)
                    if 0 < q < 1:
                        laws.append((_ratio(regret[b] + q * d, gain[b] + q * e), b, a, q))
        least = laws[0]
        for law in laws:
            if law[0] < least[0] * (1 - Decimal(EQUAL)):
                least = law
        return least[1], least[2], float(least[3])


def _sum(numbers: list[Decimal]) -> Decimal:
    return sum(numbers, Decimal(0))


def _ratio(regret: Decimal, gain: Decimal) -> Decimal:
    if regret == 0:
        return Decimal(0)
    return regret**2 / gain if gain else Decimal("Infinity")
