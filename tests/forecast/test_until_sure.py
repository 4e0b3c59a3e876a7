"""Plays until a verdict, against agents that are followed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.core.streams import run_stream
from fpbandits.forecast.until_sure import is_sure, plays_until_sure
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.truths import truths

TABLE = {"loyal": [0.9, 0.8, 0.7], "regular": [0.6, 0.5, 0.3], "thrifty": [0.5, 0.2, 0.05]}
SHOP = fpb.Problem.bernoulli(
    list(TABLE.values()), value=[9, 12, 15], models=list(TABLE), prior={"loyal": 2}
)
ERROR = 0.1


def by_hand(problem: fpb.Problem, truth: int, run: int, horizon: int) -> int:
    """Follow an agent, in fractions: rewards are drawn as in simulation, one number each."""
    agent, stream = fpb.Agent(problem), run_stream(0, run)
    chances = [[Fraction(c).limit_denominator(100) for c in row] for row in TABLE.values()]
    prior = [Fraction(p).limit_denominator(100) for p in problem.prior or ()]
    best = [paid.index(max(paid)) for paid in ([9 * a, 12 * b, 15 * c] for a, b, c in chances)]
    weights = list(prior)
    for t in range(1, horizon + 1):
        decision = agent.ask()
        arm = problem.arms.index(decision.arm)
        paid = stream.random() < float(chances[truth][arm])
        agent.tell(decision.id, (9, 12, 15)[arm] if paid else 0)
        weights = [
            w * (row[arm] if paid else 1 - row[arm])
            for w, row in zip(weights, chances, strict=True)
        ]
        total = sum(weights)
        left = [
            k
            for k in range(3)
            if weights[k] / (total - weights[k]) > Fraction(1, 10) * prior[k] / (1 - prior[k])
        ]
        assert (agent.verdict(ERROR) is None) == (len({best[k] for k in left}) != 1)
        if len({best[k] for k in left}) == 1:
            return t
    return 0


def test_as_an_agent_followed_by_hand() -> None:
    spec = RunSpec(horizon=150, runs=25, seed=0, truth="prior")
    found = plays_until_sure(make_cell(SHOP, fpb.Frugal(), spec), 25, ERROR)
    drawn = truths(SHOP, "prior", 0, range(25))
    assert drawn is not None
    assert found.tolist() == [by_hand(SHOP, int(drawn[run]), run, 150) for run in range(25)]
    assert len(set(found.tolist())) > 10


def test_one_arm_best_under_all_is_sure_at_once_and_no_information_never_is() -> None:
    same = fpb.Problem.bernoulli([[0.5, 0.4], [0.6, 0.3]])
    blind = fpb.Problem.discrete(
        [[[0, 1, 0], [0.5, 0, 0.5]], [[0, 1, 0], [0.5, 0, 0.5]]], support=[0, 0.6, 1]
    )
    for problem in (same, blind):
        spec = RunSpec(horizon=50, runs=3, seed=2, truth="theta1")
        found = plays_until_sure(make_cell(problem, fpb.Frugal(), spec), 3, 0.3)
        assert found.tolist() == [1, 1, 1]


def weights(*shares: float) -> np.ndarray:
    return np.asarray(np.log(np.array(shares)))


@pytest.mark.parametrize(
    ("posterior", "sure"),
    [
        ((0.5, 0.3, 0.2), False),
        ((0.9, 0.09, 0.01), False),  # the second is not ruled out, and holds another arm best
        ((0.97, 0.001, 0.029), True),  # the third holds the same arm best as the first
        ((0.001, 0.998, 0.001), True),
    ],
)
def test_when_it_is_sure(posterior: tuple[float, ...], sure: bool) -> None:
    best = np.array([[[True, False]], [[False, True]], [[True, False]]])
    prior = np.array([0.4, 0.4, 0.2])
    odds = 0.05 * prior / (1 - prior)
    assert is_sure(7.0 + weights(*posterior), odds, best, np.zeros(3)) is sure


def test_with_contexts_there_must_be_an_arm_in_each() -> None:
    best = np.array([[[True, False], [True, False]], [[True, False], [False, True]]])
    odds = np.full(2, 0.05)  # posterior odds of 1 to 20 rule a model out
    assert not is_sure(weights(0.9, 0.1), odds, best, np.zeros(2))
    assert is_sure(weights(20.1, 1.0), odds, best, np.zeros(2))
    assert not is_sure(weights(19.9, 1.0), odds, best, np.zeros(2))
