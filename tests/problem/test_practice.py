"""Practice sets are those of their seed, of the sizes that are promised, and worth playing."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from fpbandits import Problem
from fpbandits.core.arrays import Floats
from fpbandits.families import FAMILIES
from fpbandits.families.bernoulli import Bernoulli
from fpbandits.families.gaussian import Gaussian
from fpbandits.families.revenue import Revenue
from fpbandits.families.two_point import TwoPoint
from fpbandits.problem.files import problem_from_toml, problem_to_toml
from fpbandits.problem.practice import practice

SEEDS = range(60)
"""Enough for every size that a kind may have to come up at both of its ends, but for luck; as the
seeds are fixed, there is none."""

SIZES = {
    "logistic demand": ((6, 40), (4, 12), 0),
    "elastic demand": ((6, 40), (4, 12), 0),
    "tastes": ((4, 16), (8, 20), 0),
    "tastes by daytime": ((4, 12), (4, 8), 3),
    "stars": ((4, 12), (4, 8), 0),
    "share watched": ((4, 12), (4, 10), 0),
    "links": ((6, 16), (8, 8), 0),
    "links, measured": ((5, 12), (8, 8), 3),
    "trial": ((3, 27), (2, 4), 0),
    "doses": ((6, 18), (4, 6), 0),
    "uniform means": ((6, 40), (3, 10), 0),
    "coarse means": ((2, 60), (3, 6), 0),
    "linear offers": ((5, 16), (3, 8), 4),
    "logistic sales": ((5, 16), (3, 8), 4),
}
"""Fewest and most models and arms, and how many contexts. Of coarse means alike ones are left out,
so that there may be fewer than the eight that are drawn."""


@pytest.fixture(scope="module")
def by_kind() -> dict[str, list[Problem]]:
    """Return the problems of all seeds, by kind."""
    problems: dict[str, list[Problem]] = {}
    for seed in SEEDS:
        for problem in practice(seed):
            problems.setdefault(problem.name, []).append(problem)
    return problems


def best_arms(problem: Problem) -> set[tuple[int, ...]]:
    """The best arms in all contexts, of every model."""
    arms = problem.means.argmax(axis=-1).reshape(len(problem.models), -1)
    return set(map(tuple, arms.tolist()))


def values(problem: Problem) -> Floats:
    """Return what each arm pays if it pays, which is the same in all contexts."""
    by_context = np.reshape(problem.rewards.content["value"], (-1, len(problem.arms)))
    assert (by_context == by_context[0]).all()
    return np.asarray(by_context[0])


def test_a_seed_draws_the_same_sets_and_another_seed_others() -> None:
    assert practice(3) == practice(3)
    assert practice() == practice(0)
    for one, other in zip(practice(3), practice(4), strict=True):
        assert one.name == other.name
        assert one != other, one.name


FINGERPRINTS = {
    "logistic demand": "39a5f87d",
    "elastic demand": "997448d2",
    "tastes": "602b9190",
    "tastes by daytime": "6e19d66f",
    "stars": "25bd958c",
    "share watched": "9fbd04a4",
    "links": "18d438c9",
    "links, measured": "06e24c01",
    "trial": "9148d553",
    "doses": "33d9de53",
    "uniform means": "a572b590",
    "coarse means": "7b5d79dc",
    "linear offers": "774665b3",
    "logistic sales": "b1b0149a",
}
"""Of the sets of the first eight seeds, written with six digits."""


def test_seeds_draw_the_sets_that_they_always_drew(by_kind: dict[str, list[Problem]]) -> None:
    """What was measured on a set, here and by others, is measured on the same set later."""
    for kind, wanted in FINGERPRINTS.items():
        texts = [
            re.sub(r"\d+\.\d+(?:e-?\d+)?", lambda number: f"{float(number[0]):.6g}", text)
            for text in map(problem_to_toml, by_kind[kind][:8])
        ]
        fingerprint = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
        assert fingerprint == wanted, kind


def test_each_kind_comes_once_and_has_the_promised_sizes(by_kind: dict[str, list[Problem]]) -> None:
    assert [problem.name for problem in practice(0)] == list(SIZES)
    for kind, (models, arms, contexts) in SIZES.items():
        problems = by_kind[kind]
        assert len(problems) == len(SEEDS)
        counts = [len(problem.models) for problem in problems]
        assert models[0] <= min(counts), kind
        assert max(counts) <= models[1], kind
        counts = [len(problem.arms) for problem in problems]
        assert (min(counts), max(counts)) == arms, f"{kind}: both ends come up"
        assert {len(problem.contexts) for problem in problems} == {contexts}, kind


def test_all_families_with_and_without_contexts() -> None:
    kinds = {(type(problem.rewards), bool(problem.contexts)) for problem in practice(0)}
    assert {family for family, _ in kinds} == {*FAMILIES.values(), TwoPoint} - {Revenue}
    for family in (Bernoulli, TwoPoint, Gaussian):
        assert {(family, False), (family, True)} <= kinds


def test_every_set_has_a_prior_and_no_truth_of_its_own(by_kind: dict[str, list[Problem]]) -> None:
    for problems in by_kind.values():
        for problem in problems:
            assert problem.truth is None
            assert problem.prior is not None
            assert len(set(problem.prior)) == len(problem.models), "not all alike"
            assert min(problem.prior) > 0


def test_files_give_the_same_sets_back() -> None:
    for problem in practice(1):
        again = problem_from_toml(problem_to_toml(problem), "practice.toml")
        assert again == problem
        assert (again.name, again.prior) == (problem.name, problem.prior)


def test_there_is_something_to_learn(by_kind: dict[str, list[Problem]]) -> None:
    """Nearly always another truth has another best arm: else there is nothing to play for.

    Of few models or few prices it may be one arm, so it is counted: at most one set in ten.
    """
    for kind, problems in by_kind.items():
        idle = sum(len(best_arms(problem)) == 1 for problem in problems)
        assert idle <= len(SEEDS) / 10, kind


def test_rewards_are_the_price_less_the_cost_or_the_rate(by_kind: dict[str, list[Problem]]) -> None:
    for kind in ("logistic demand", "elastic demand"):
        for problem in by_kind[kind]:
            prices = np.array([float(arm.removesuffix(" EUR")) for arm in problem.arms])
            (cost,) = set((prices - values(problem)).tolist())
            assert cost == 0 if kind == "logistic demand" else 0 < cost < prices[0]
            chances = problem.means / values(problem)
            assert (np.diff(chances) < 0).all(), "dearer sells less"
            assert 0 < chances.min()
            assert chances.max() < 0.7
    for kind in ("links", "links, measured"):
        for problem in by_kind[kind]:
            rates = [float(arm.removesuffix(" Mbit/s")) for arm in problem.arms]
            assert rates == [6, 9, 12, 18, 24, 36, 48, 54] == values(problem).tolist()
            assert np.diff(problem.means / rates).max() < 1e-12, "faster arrives more rarely"


def test_tastes_are_few_and_effects_of_treatments_small(by_kind: dict[str, list[Problem]]) -> None:
    for kind in ("tastes", "tastes by daytime"):
        for problem in by_kind[kind]:
            # What is little is less than 0.12 · 1.3.
            liked = (problem.means > 0.156).sum(axis=-1)
            assert liked.max() <= 3, kind
    for problem in by_kind["trial"]:
        control = problem.means[:, 0]
        assert len(set(control.tolist())) == 1, "the control is known"
        effects = problem.means[:, 1:] - control[:, np.newaxis]
        assert len(np.unique(effects.round(12))) == 3
        assert -0.15 <= effects.min() <= -0.05
        assert 0.08 <= effects.max() <= 0.2
        assert len(problem.models) == 3 ** (len(problem.arms) - 1), "all that may be the case"


def test_coarse_means_have_few_levels_and_no_model_twice(by_kind: dict[str, list[Problem]]) -> None:
    for problem in by_kind["coarse means"]:
        assert 2 <= len(np.unique(problem.means)) <= 5
        assert len(np.unique(problem.means, axis=0)) == len(problem.models)
