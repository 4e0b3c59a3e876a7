"""Customers drawn from the models, who visit a shop that asks a service for its prices.

    python examples/rehearsal.py pricing.toml http://127.0.0.1:8000 EXPERIMENT [FACTOR]

Each of 300 customers is of a kind that is drawn from the prior, and comes 20 times. With a factor
they buy less often, or more often, than the models say. Sales and non-sales are told at once.
"""

from __future__ import annotations

import sys
from random import Random

import fpbandits as fpb

CUSTOMERS, VISITS = 300, 20


def rehearse(client: fpb.Client, problem: fpb.Problem, factor: float) -> float:
    """Let all customers come, and return what they paid in total."""
    random, total = Random(1), 0.0
    price = {arm: float(arm.split()[0]) for arm in problem.arms}
    prior = problem.posterior([])  # given no rewards
    kinds = random.choices(list(prior), list(prior.values()), k=CUSTOMERS)
    pays = dict(zip(problem.models, problem.means, strict=True))
    for visit in range(VISITS):
        asked = [{"unit": f"customer-{n}", "key": f"visit-{visit}"} for n in range(CUSTOMERS)]
        told = []
        for kind, decision in zip(kinds, client.ask_all(asked), strict=True):
            if isinstance(decision, fpb.Error):
                raise decision
            mean = factor * pays[kind][problem.arms.index(decision.arm)]
            sold = random.random() < mean / price[decision.arm]
            told.append((decision, price[decision.arm] * sold))
        client.tell_all(told)
        total += sum(paid for _, paid in told)
    return total


if __name__ == "__main__":
    file, url, name, *factor = sys.argv[1:]
    with fpb.Client(url, experiment=name) as client:
        paid = rehearse(client, fpb.load_problem(file), float(factor[0]) if factor else 1.0)
    print(f"{CUSTOMERS * VISITS:,} visits of {CUSTOMERS:,} customers, {paid:,.0f} EUR")
