"""Contests are what they say."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from fpbandits import InputError, Problem, analyze, load_problem
from fpbandits.errors import UnknownError
from fpbandits.leaderboard import Contest, contests, own_contests
from fpbandits.problem.files import problem_to_toml
from fpbandits.problem.practice import practice


def test_contests_are_of_the_kinds_they_say() -> None:
    sizes = set()
    for contest in contests("random"):
        case = analyze(contest.problem, str(contest.truths[0])).cases[0]
        bounded = contest.name.endswith("bounded")
        assert case.regime == ("bounded" if bounded else "logarithmic")
        assert (contest.lower_bound > 0) is not bounded
        assert contest.lower_bound == pytest.approx(case.theorem2.all_arms.coefficient)
        sizes.add((len(contest.problem.models), len(contest.problem.arms)))
    assert min(sizes) == (2, 2)
    assert max(sizes) == (256, 16)
    assert len(contests("paper")) == 5
    for contest in contests("wrong"):
        for truth in contest.truths:
            distances = np.abs(contest.problem.means - np.array(truth)).max(axis=1)
            assert distances.min() > 1e-3, "the truth is not among the models"
    names = [contest.name for contest in contests()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("group", "wanted"), [("paper", "91403cef"), ("random", "26feacec"), ("wrong", "b4118b12")]
)
def test_contests_are_those_that_they_always_were(group: str, wanted: str) -> None:
    """Who was ranked earlier was ranked on the same problems: a digest, to six digits."""
    text = "".join(
        f"{each.name} {each.truths} {problem_to_toml(each.problem)}" for each in contests(group)
    )
    short = re.sub(r"\d+\.\d+(?:e-?\d+)?", lambda number: f"{float(number[0]):.6g}", text)
    assert hashlib.sha256(short.encode()).hexdigest()[:8] == wanted


def test_what_makes_no_contest_is_refused() -> None:
    two = load_problem("paper:two")
    with pytest.raises(InputError, match="two problems are called 'paper:two': give each a name"):
        own_contests([two, two])
    many = Problem.bernoulli(np.linspace(0, 1, 2002).reshape(1001, 2), name="many")
    with pytest.raises(InputError, match=r"^many has 1,001 models, too many to play each"):
        own_contests([many])


def test_practice_is_drawn_by_its_seed_and_played_only_when_asked_for() -> None:
    assert {contest.group for contest in contests()} == {"paper", "random", "wrong"}
    drawn = contests("practice", 5)
    assert [contest.problem for contest in drawn] == practice(5)
    assert [contest.problem for contest in contests("practice")] == practice(0)
    assert {contest.group for contest in drawn} == {"practice"}
    assert all(contest.truths == ["prior"] for contest in drawn)
    with pytest.raises(UnknownError, match=r"group 'practise'.*practice"):
        contests("practise")
    with pytest.raises(InputError, match="seed is -1: it must be at least 0"):
        contests("practice", -1)


def test_lower_bound_of_a_drawn_truth_is_its_mean_over_the_prior() -> None:
    means = [[0.9, 0.5], [0.2, 0.5]]
    problem = Problem.bernoulli(means, prior={"theta1": 3, "theta2": 1})
    bounds = [case.theorem2.all_arms.coefficient for case in analyze(problem).cases]
    assert bounds[0] == 0 < bounds[1]
    contest = Contest("drawn", "own", problem, ["prior"])
    assert contest.lower_bound == pytest.approx(bounds[1] / 4)
    alike = Contest("drawn", "own", Problem.bernoulli(means), ["prior"])
    assert alike.lower_bound == pytest.approx(bounds[1] / 2)
