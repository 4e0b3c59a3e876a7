"""Types keep the names of the models that they are like."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from logs import drawn

import fpbandits as fpb
from fpbandits.errors import InputError
from fpbandits.fitting.naming import names_and_order

OLD = fpb.Problem.bernoulli(
    [[0.9, 0.5, 0.1], [0.1, 0.5, 0.9], [0.5, 0.9, 0.5]],
    arms=["a", "b", "c"],
    models=["x", "type2", "z"],
)
ROLES: Any = {"unit": "user", "arm": "arm", "reward": "reward"}


def named(means: Any, shares: Any, pairs: str = "abc") -> tuple[tuple[str, ...], list[int]]:
    names, order = names_and_order(np.array(shares), np.array(means).T, list(pairs), OLD)
    return names, order.tolist()


def test_without_earlier_models_the_largest_comes_first() -> None:
    names, order = names_and_order(np.array([0.2, 0.5, 0.3]), np.zeros((3, 3)), list("abc"), None)
    assert (names, order.tolist()) == (("type1", "type2", "type3"), [1, 2, 0])


def test_in_any_order_each_gets_its_own_name_back() -> None:
    random = np.random.default_rng(0)
    for order in permutations(range(3)):
        means = OLD.means[list(order)] + random.uniform(-0.1, 0.1, (3, 3))
        names, found = named(means, random.dirichlet(np.ones(3)))
        assert names == OLD.models
        assert [order[kind] for kind in found] == [0, 1, 2]


@pytest.mark.parametrize("prior", [None, {"x": 8, "y": 1, "z": 1}])
def test_names_are_those_of_the_best_of_all_matchings(prior: Any) -> None:
    """Of the arms b and c, which both have; a type nearer to the average than to its match is new.

    The average is weighted by the prior.
    """
    random, arms = np.random.default_rng(1), ["a", "b", "c"]
    outcomes = set()
    for _ in range(60):
        before, after = random.random((2, 3, 3))
        old = fpb.Problem.bernoulli(before, arms=arms, models=["x", "y", "z"], prior=prior)
        names, order = names_and_order(
            np.array([0.5, 0.2, 0.3]), np.array(after).T, ["d", "c", "b"], old
        )
        seen = after[:, [2, 1]]
        average = np.average(before[:, 1:], axis=0, weights=[8, 1, 1] if prior else None)

        def away(kind: int, where: Any, seen: Any = seen) -> float:
            return float(np.sum((seen[kind] - where) ** 2))

        def off(kinds: Any, before: Any = before, away: Any = away) -> float:
            return float(sum(away(kind, before[model, 1:]) for model, kind in enumerate(kinds)))

        best = min(permutations(range(3)), key=off)
        kept = [m for m in range(3) if away(best[m], before[m, 1:]) <= away(best[m], average)]
        new = [kind for kind in (0, 2, 1) if kind not in [best[m] for m in kept]]
        assert names == (*("xyz"[m] for m in kept), *(f"type{i + 1}" for i in range(len(new))))
        assert order.tolist() == [*(best[m] for m in kept), *new]
        outcomes.add(len(kept))
    assert outcomes >= {2, 3}


def test_new_types_get_numbers_that_are_not_taken() -> None:
    #  The second is far from all three and near to their average; so is the last.
    means = [[0.12, 0.5, 0.9], [0.5, 0.6, 0.5], [0.88, 0.5, 0.1], [0.5, 0.65, 0.5]]
    assert named(means, [0.1, 0.2, 0.3, 0.4]) == (("x", "type2", "type1", "type3"), [2, 0, 3, 1])


def test_arms_that_both_have_decide() -> None:
    assert named([[0.1, 0.5], [0.5, 0.9]], [0.5, 0.5], "dc")[0] == ("type2", "z")
    with pytest.raises(InputError, match="has no arm in common with the log"):
        named([[0.1], [0.5]], [0.5, 0.5], "d")


def test_a_refit_with_more_data_keeps_names_and_order(tmp_path: Any) -> None:
    """Shares of 0.5 and 0.5 change places with a few new units: names do not."""
    first = drawn(1, units=500, shares=(0.5, 0.5))
    more = drawn(2, units=50, shares=(0.5, 0.5))
    fit = fpb.fit(first.log, **ROLES)
    fit.save(tmp_path / "models.toml")
    means = dict(zip(fit.problem.models, fit.problem.means, strict=True))
    both = {name: np.concatenate([first.log[name], more.log[name]]) for name in first.log}
    both["user"] = np.concatenate([first.log["user"], more.log["user"] + 500])
    swapped = fpb.load_problem(tmp_path / "models.toml").reordered(
        np.array([1, 0]), np.array([0, 1, 2])
    )
    for like in (tmp_path / "models.toml", swapped):
        again = fpb.fit(both, like=like, **ROLES)
        for name, row in zip(again.problem.models, again.problem.means, strict=True):
            assert np.abs(row - means[name]).max() < 0.1
    assert again.problem.models == ("type2", "type1")
