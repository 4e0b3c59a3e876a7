"""The floor by pairs lies below the exact one, and above each way of naming pairs by hand."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from oracle import kl_bernoulli
from scipy.sparse import csr_array

import fpbandits as fpb
from fpbandits.theory import pairs
from fpbandits.theory.bracket import stages
from fpbandits.theory.floor import floor
from fpbandits.theory.pairs import _best_split, costly_pairs, floor_by_pairs


def three(seed: int) -> fpb.Problem:
    random = np.random.default_rng(seed)
    prior = {f"theta{k}": float(random.uniform(0.2, 1)) for k in (1, 2, 3)}
    return fpb.Problem.bernoulli(random.uniform(0.1, 0.9, (3, 2)), prior=prior)


@pytest.mark.parametrize("seed", range(6))
def test_below_the_exact_floor(seed: int) -> None:
    problem = three(seed)
    times = [5, 20, 60]
    exact = [floor(problem, time).value for time in times]
    found = floor_by_pairs(problem, times)
    assert (found <= np.array(exact) + 1e-9).all()
    assert (np.diff(found) >= -1e-9).all()


def test_above_any_pair_named_with_all_that_is_left() -> None:
    """Name a pair with probability π(θ) + π(φ), else the truth itself."""
    problem = three(3)
    (found,) = floor_by_pairs(problem, [300])
    prior = np.array(problem.prior)
    for pair in combinations(range(3), 2):
        share = prior[list(pair)].sum()
        weights = dict(zip(("theta1", "theta2"), prior[list(pair)] / share, strict=True))
        alone = fpb.Problem.bernoulli(problem.means[list(pair)], prior=weights)
        assert found >= share * floor(alone, 300).value * (1 - 0.02)


def test_two_models_are_one_pair() -> None:
    two = fpb.Problem.bernoulli([[0.5, 0.3], [0.5, 0.6]], prior={"theta1": 2})
    assert floor_by_pairs(two, [400])[0] == pytest.approx(floor(two, 400).value, rel=0.01)


def test_models_that_share_a_best_arm_make_no_pair() -> None:
    problem = fpb.Problem.bernoulli([[0.5, 0.3], [0.7, 0.6], [0.2, 0.4]])
    assert costly_pairs(problem).tolist() == [[0, 2], [1, 2]]
    assert floor_by_pairs(fpb.Problem.bernoulli([[0.5, 0.3], [0.7, 0.6]]), [9]).tolist() == [0]


def test_of_many_pairs_the_costliest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    means = [[0.5, 0.49], [0.5, 0.51], [0.5, 0.9]]
    problem = fpb.Problem.bernoulli(means)
    monkeypatch.setattr(pairs, "_MOST_PAIRS", 1)
    # To tell the first from the second takes a hundred times as many plays as from the third.
    assert costly_pairs(problem).tolist() == [[0, 1]]


def test_the_costliest_pairs_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nat costs where it is cheapest, by loops; a play may tell nothing, or everything."""
    random = np.random.default_rng(3)
    means = random.choice([0.0, 0.2, 0.4, 0.5, 0.7, 0.9], (7, 2, 3))
    means[1] = means[0]
    problem = fpb.Problem.bernoulli(means, contexts=["a", "b"], shares=[0.2, 0.8])

    def price(first: int, second: int) -> float:
        """Of one nat, which needs no play where a play tells everything."""
        prices = []
        for context in range(2):
            for arm in range(3):
                one, other = means[first, context, arm], means[second, context, arm]
                lost = sum(
                    means[m, context].max() - means[m, context, arm] for m in (first, second)
                )
                told = kl_bernoulli(one, other) + kl_bernoulli(other, one)
                if told > 0:
                    prices.append(float(lost / told))
        return min(prices)

    def shared(first: int, second: int) -> bool:
        """Whether in every context some arm is best under both."""
        best = means == means.max(axis=2, keepdims=True)
        return bool((best[first] & best[second]).any(axis=1).all())

    costly = [pair for pair in combinations(range(7), 2) if not shared(*pair)]
    assert costly_pairs(problem).tolist() == list(map(list, costly))
    assert 10 < len(costly) < 21
    by_price = sorted(costly, key=lambda pair: price(*pair))
    for most in (1, 3, len(costly)):
        monkeypatch.setattr(pairs, "_MOST_PAIRS", most)
        chosen = [tuple(pair) for pair in costly_pairs(problem).tolist()]
        assert chosen == sorted(chosen)
        assert len(chosen) == most
        dearest = sorted(price(*pair) for pair in by_price[-most:])
        assert sorted(price(*pair) for pair in chosen) == pytest.approx(dearest)


def test_the_best_split_is_that_of_a_program_by_hand() -> None:
    """Beliefs (1, 0, 0), (½, ½, 0) and (0, ½, ½) of a prior of ½, ¼ and ¼."""
    split = csr_array(np.array([[1, 0.5, 0], [0, 0.5, 0.5], [0, 0, 0.5]]))
    prior = np.array([0.5, 0.25, 0.25])
    # Half of the second model's share goes with the first, or all of it with the third.
    assert _best_split(split, np.array([0.0, 3.0, 2.0]), prior) == pytest.approx(1.5)
    assert _best_split(split, np.array([0.0, 2.0, 3.0]), prior) == pytest.approx(1.5)
    assert _best_split(split, np.array([1.0, 2.0, 3.5]), prior) == pytest.approx(0.5 + 1.75)
    assert _best_split(split, np.zeros(3), prior) == 0


def test_a_program_without_a_solution_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "linprog", lambda *_, **__: SimpleNamespace(x=None))
    assert _best_split(csr_array(np.eye(2)), np.ones(2), np.full(2, 0.5)) == 0


def test_each_pair_has_its_share_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth, or less if there are more pairs; beliefs are half a unit of log-odds apart."""
    assert pairs._LOG_ODDS.tolist() == [number / 2 for number in range(-30, 31)]
    budgets: list[float] = []

    def noted(problem: fpb.Problem, horizon: int, budget: float) -> object:
        budgets.append(budget)
        return stages(problem, horizon, 1e4)

    monkeypatch.setattr(pairs, "stages", noted)
    means = np.array([[0.1, 0.2 + k / 1000] if k % 2 else [0.6, 0.2 + k / 1000] for k in range(24)])
    few = floor_by_pairs(fpb.Problem.bernoulli(means[:3]), [3])
    assert budgets == [1e8, 1e8]
    many = floor_by_pairs(fpb.Problem.bernoulli(means), [3])
    assert budgets[2:] == [1e10 / 144] * 144
    assert few[0] > 0
    assert many[0] > 0


def test_an_error_in_the_report_of_progress_ends_the_work() -> None:
    told: list[float] = []
    problem = three(1)
    floor_by_pairs(problem, [20], told.append)
    assert told == sorted(told)
    assert told[-1] == 1

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        floor_by_pairs(problem, [20], stop)
