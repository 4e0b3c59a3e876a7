"""How often verdicts are wrong, and how long they take.

`python benchmarks/verdicts.py [RUNS] [HORIZON]` plays twelve problems by three rules, and looks
for a verdict after every play. A run is wrong if any of its verdicts ever names
an arm that is not best under the truth. The table gives the share of wrong runs with its lower 99 %
limit, at error .05 and .001, and the median time of the first verdict beside ln(1/error)/D*, about
what any rule needs that is wrong with probability at most that: D* = max_w min_θ Σ_i w_i D_i(θ°‖θ),
over shares w of arms and models θ under which no best arm of θ° is best.

The last lines are of agents to whom successes are told at once and failures never, by how rewards
count: the share that lost the truth, at error .05.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from numba import njit
from scipy.optimize import linprog
from scipy.stats import beta

import fpbandits as fpb
from fpbandits.agent.belief import gaps, not_ruled_out
from fpbandits.agent.ledger import Late
from fpbandits.core.arrays import Floats

ERRORS = 0.05, 0.001


def problems() -> dict[str, fpb.Problem]:
    """Return twelve problems by name."""
    random = np.random.default_rng(7)
    two, three = ["p", "q"], ["p", "q", "r"]
    return {
        "bernoulli 2": fpb.Problem.bernoulli([[0.6, 0.5], [0.4, 0.5]]),
        "bernoulli near": fpb.Problem.bernoulli([[0.55, 0.5], [0.5, 0.55]]),
        "bernoulli 6": fpb.Problem.bernoulli(random.uniform(0.2, 0.8, (6, 4))),
        "bernoulli prior": fpb.Problem.bernoulli(
            random.uniform(0.2, 0.8, (6, 3)), prior={"theta1": 0.2}
        ),
        "bernoulli 24": fpb.Problem.bernoulli(random.uniform(0.1, 0.9, (24, 3))),
        "two-point 3": fpb.Problem.bernoulli(
            [[0.6, 0.5, 0.2], [0.5, 0.3, 0.28], [0.7, 0.2, 0.1]], value=[9, 12, 15]
        ),
        "two-point 5": fpb.Problem.bernoulli(random.uniform(0.1, 0.5, (5, 3)), value=[9, 12, 15]),
        "gaussian 2": fpb.Problem.gaussian([[0.0, 0.3], [0.6, 0.3]], deviation=1),
        "gaussian 5": fpb.Problem.gaussian(random.normal(0, 0.5, (5, 3)), deviation=1),
        "gaussian far": fpb.Problem.gaussian(random.normal(0, 2, (4, 3)), deviation=1),
        "contexts bernoulli": fpb.Problem.bernoulli(
            random.uniform(0.2, 0.8, (4, 2, 3)), contexts=two
        ),
        "contexts gaussian": fpb.Problem.gaussian(
            random.normal(0, 0.5, (5, 3, 2)), deviation=1, contexts=three
        ),
    }


@njit(cache=False)
def play(
    rule: int,
    runs: int,
    horizon: int,
    random: np.random.Generator,
    normal: bool,
    unit: Floats,
    chance: Floats,
    value: Floats,
    gap: Floats,
    divergence: Floats,
    prior: Floats,
    upto: Floats,
    errors: Floats,
) -> tuple[Floats, Floats]:
    """Play runs whose truth is the first model.

    Return per error and run whether a verdict was ever wrong, and when there first was one for
    every context.
    """
    models, contexts, arms = gap.shape
    wrong, first = np.zeros((errors.size, runs)), np.full((errors.size, runs), np.inf)
    log, p, index = np.zeros(models), np.zeros(models), np.zeros(arms)
    plays, sums = np.zeros(contexts * arms), np.zeros(contexts * arms)
    for run in range(runs):
        log[:] = np.log(prior)
        p[:] = prior
        plays[:], sums[:] = 0, 0
        for t in range(1, horizon + 1):
            context = np.searchsorted(upto, random.random(), "right")
            start, arm = context * arms, 0
            if rule == 0:
                arm = information_for_its_loss(p, gap[:, context], divergence, start, 5 * t**1.1)
            elif rule == 1:
                drawn, left = 0, random.random() - p[0]
                while left >= 0 and drawn < models - 1:
                    drawn += 1
                    left -= p[drawn]
                arm = int(np.argmin(gap[drawn, context]))
            else:
                total = plays[start : start + arms].sum()
                for each in range(arms):
                    n = plays[start + each]
                    index[each] = np.inf
                    if n > 0:
                        index[each] = sums[start + each] / n + np.sqrt(2 * np.log(total) / n)
                arm = int(np.argmax(index))
            pair = start + arm
            if normal:  # one unit is two deviations
                reward = unit[0, pair] + 0.5 * random.standard_normal()
                for model in range(models):
                    log[model] -= 2 * (reward - unit[model, pair]) ** 2
            else:
                paid = random.random() < chance[0, pair]
                reward = value[pair] if paid else 0.0
                for model in range(models):
                    log[model] += np.log(chance[model, pair] if paid else 1 - chance[model, pair])
            plays[pair] += 1
            sums[pair] += reward
            p[:] = np.exp(log - log.max())
            p /= p.sum()
            for row in range(errors.size):
                verdicts = 0
                for place in range(contexts):
                    named = -1
                    for each in range(arms):
                        agreed = named < 0
                        for model in range(models):
                            out = p[model] * (1 - prior[model]) <= (
                                errors[row] * prior[model] * (1 - p[model])
                            )
                            agreed = agreed and (out or gap[model, place, each] == 0)
                        if agreed:
                            named = each
                    verdicts += named >= 0
                    if named >= 0 and gap[0, place, named] > 0:
                        wrong[row, run] = 1
                if verdicts == contexts:
                    first[row, run] = min(first[row, run], t)
    return wrong, first


@njit(cache=False)
def information_for_its_loss(
    p: Floats, gap: Floats, divergence: Floats, start: int, horizon: float
) -> int:
    """Return the arm of most information for its loss, if that is worth it, else the leader.

    The default's rule, context by context.
    """
    models, arms = gap.shape
    leader = int(np.argmin(gap[np.argmax(p)]))
    best, most = leader, 0.0
    for arm in range(arms):
        loss, value = 0.0, 0.0
        for theta in range(models):
            loss += p[theta] * gap[theta, arm]
            stake = p[theta] * gap[theta, leader]
            if stake > 0:
                for phi in range(models):
                    value += stake * p[phi] * divergence[phi, theta, start + arm]
        if value * horizon >= loss and value > most * loss:
            best, most = arm, value / max(loss, 1e-300)
    return best


def measured(problem: fpb.Problem, rule: int, runs: int, horizon: int) -> list[list[float]]:
    """Return for each error the share of wrong runs, its lower limit and the median time."""
    rewards, models = problem.rewards, np.arange(len(problem.models))
    wrong, first = play(
        rule,
        runs,
        horizon,
        np.random.default_rng(1),
        not rewards.bounded,
        rewards.unit_means,
        np.array(getattr(rewards, "probabilities", rewards.unit_means)),
        np.array(getattr(rewards, "unit_value", np.ones(problem.pairs))),
        gaps(problem),
        np.array([rewards.divergence(int(phi), models) for phi in models]),
        problem.weights.prior,
        np.cumsum(problem.shares or (1.0,))[:-1],
        np.array(ERRORS),
    )
    found = []
    for each, times in zip(wrong, first, strict=True):
        count = int(each.sum())
        lower = float(beta.ppf(0.01, count, runs - count + 1)) if count else 0.0
        found.append([count / runs, lower, float(np.median(times))])
    return found


def least_rate(problem: fpb.Problem) -> float:
    """D*: the largest rate at which models of another best arm can be told from the truth."""
    best = gaps(problem) == 0
    others = np.flatnonzero((best[1:] <= ~best[0]).all(axis=2).any(axis=1)) + 1
    if not len(others):
        return np.inf
    apart = problem.rewards.divergence(0, others)  # [θ, pair]
    arms, shares = len(problem.arms), problem.shares or (1.0,)
    found = linprog(
        [*np.zeros(apart.shape[1]), -1],
        A_ub=np.column_stack([-apart, np.ones(len(others))]),
        b_ub=np.zeros(len(others)),
        A_eq=[
            [*(float(pair // arms == context) for pair in range(apart.shape[1])), 0.0]
            for context in range(len(shares))
        ],
        b_eq=shares,
    )
    rates: Floats = np.asarray(found.x)
    return float(rates[-1])


def lost(late: Late, arms: int, runs: int, seed: int = 0) -> float:
    """Return the share of agents that rule the truth out where failures are never told."""
    problem = fpb.Problem.bernoulli([[0.5] * arms, [0.75] * arms])
    random, count = np.random.default_rng(seed), 0
    warnings.simplefilter("ignore")  # rewards pile up
    for run in range(runs):
        agent = fpb.Agent(problem, "ucb1", late=late, seed=run, explore=1)
        out = False
        for _ in range(15 * arms):
            decision = agent.ask()
            if random.random() < 0.5:
                agent.tell(decision, 1)
            weights = np.array(list(agent.posterior().values()))
            out = out or not not_ruled_out(weights, problem.weights.prior, 0.05)[0]
        count += out
    return count / runs


def main(runs: int, horizon: int) -> None:
    """Print the table."""
    print(f"{runs:,} runs, horizon {horizon:,}; per error: wrong (lower 99 %), median time, bound")
    for name, problem in problems().items():
        rate = least_rate(problem)
        for number, rule in enumerate(("frugal", "thompson-theta", "ucb1")):
            began = time.perf_counter()
            cells = []
            found = measured(problem, number, runs, horizon)
            for error, (share, lower, median) in zip(ERRORS, found, strict=True):
                bound = np.log(1 / error) / rate
                flag = "" if lower <= error else " TOO MANY"
                cells.append(f"{share:6.2%} ({lower:5.2%}){flag} {median:6.0f} {bound:6.0f}")
            took = f"{time.perf_counter() - began:4.0f} s"
            print(f"{name:20s} {rule:15s} {'   '.join(cells)}  {took}", flush=True)
    counted: tuple[Late, ...] = "in-order", "all-in-order"
    for arms in (3, 5, 10):
        shares = [f"{late} {lost(late, arms, 300):.0%}" for late in counted]
        print(f"failures never told, {arms} arms: {', '.join(shares)} lost the truth", flush=True)


if __name__ == "__main__":
    numbers = [int(float(word)) for word in sys.argv[1:]]
    main(*(numbers + [10_000, 2_000][len(numbers) :]))
