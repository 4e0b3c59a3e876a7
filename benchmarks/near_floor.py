"""How far the default is from the least Bayes regret that any policy can have, with two models.

Random problems of two models and two to four arms, with random priors. The default decides by
posterior and time alone, so that its Bayes regret is computed on the same grid of beliefs as the
floor: nothing is simulated. What it holds of each belief, expected loss and information value, is
asked of the rule itself, on a problem whose prior is that belief.

One problem is simulated too, as a check on all of this. Run by hand, ``python
benchmarks/near_floor.py [PROBLEMS] [SEED]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from by_belief import regret_by_belief

from fpbandits import Problem, floor, simulate
from fpbandits.core.arrays import Floats, Ints
from fpbandits.engine.contract import Ahead
from fpbandits.engine.ready import NO_STREAM, ready
from fpbandits.policies import Frugal

ANYTIME = 10**3, 10**4, 10**5
KNOWN = 30, 10**2, 10**3, 10**4


def random_problem(random: np.random.Generator) -> Problem:
    """Draw means and prior; the two models have different best arms."""
    while True:
        means = 0.05 + 0.9 * random.random((2, int(random.integers(2, 5))))
        if means[0].argmax() != means[1].argmax():
            second = 0.01 + 0.98 * random.random()
            return Problem.bernoulli(means, prior={"theta1": 1 - second, "theta2": second})


class Rule:
    """What the default decides at any belief and time, by its own expected losses and values."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.own = problem, ready(Frugal(), problem)
        self.beliefs = np.zeros((0, 2))

    def look(self, posterior: Floats) -> None:
        """Ask the rule what it holds of every belief, once."""
        policy, state = self.own.policy, self.own.policy.new_state(self.problem)
        self.beliefs = posterior
        self.leader = np.zeros(len(posterior), int)
        self.best = np.zeros(len(posterior), int)
        self.ratio = np.zeros(len(posterior))
        for row, belief in enumerate(posterior):
            with np.errstate(all="ignore"):
                prior = np.minimum(np.log(belief.max()) - np.log(belief), 1e250)
                theta = self.own.prepared.theta._replace(prior=prior)
                prepared = self.own.prepared._replace(theta=theta)
                policy.plan(prepared, state, self.own.workspace, Ahead(None, 1, 0, None), NO_STREAM)
                now = self.own.workspace.now
                ratio = np.where(now.value > 0, now.value / now.loss, 0.0)
            self.leader[row] = self.own.workspace.leaders[0]
            self.best[row], self.ratio[row] = ratio.argmax(), ratio.max()

    def decide(self, horizon: Callable[[int], float]) -> Callable[[int, Floats], Ints]:
        """Return its decisions, for h(t)."""

        def decide(t: int, posterior: Floats) -> Ints:
            if not np.array_equal(posterior, self.beliefs):
                self.look(posterior)
            return np.where(self.ratio * horizon(t) >= 1, self.best, self.leader)

        return decide


def left(horizon: int, t: int) -> float:
    """Return how many plays are left."""
    return horizon - t + 1.0


def main() -> None:
    """Print the regret over the floor, problem by problem, and geometric means."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    rows = []
    for number in range(count):
        problem = random_problem(random)
        floors = {T: floor(problem, T).value for T in (*KNOWN, ANYTIME[-1])}
        rule = Rule(problem)
        anytime = regret_by_belief(problem, rule.decide(lambda t: 10 * t**1.1), ANYTIME[-1])
        row = [anytime[T - 1] / floors[T] for T in ANYTIME]
        for T in KNOWN:
            known = regret_by_belief(problem, rule.decide(partial(left, T)), T)
            row.append(known[-1] / floors[T])
        rows.append(row)
        print(number, " ".join(f"{ratio:6.3f}" for ratio in row), flush=True)
        if number == 0:
            compare(problem, anytime)
    heads = [f"anytime {T:g}" for T in ANYTIME] + [f"horizon={T:g}" for T in KNOWN]
    for head, column in zip(heads, np.array(rows).T, strict=True):
        mean = np.exp(np.log(column).mean())
        print(f"{head:>16}: geometric mean {mean:.4f}, worst {column.max():.3f}")


def compare(problem: Problem, exact: Floats) -> None:
    """Simulate the same, and print both."""
    result = simulate(problem, Frugal(), truth="prior", horizon=10**4, times=[10**3], runs=20_000)
    for T, regret in zip((10**3, 10**4), result.regret("frugal").T, strict=True):
        error = regret.std() / np.sqrt(len(regret))
        print(f"  T = {T:g}: simulated {regret.mean():.4f} ± {error:.4f}, exact {exact[T - 1]:.4f}")


if __name__ == "__main__":
    main()
