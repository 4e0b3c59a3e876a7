"""What BPR is told, and where there is no such number."""

from __future__ import annotations

import pytest

from fpbandits import InputError, Problem, load_problem
from fpbandits.policies import BPR


def test_it_knows_the_largest_mean_and_the_gap_below() -> None:
    for problem, arms, largest, gap in (
        (load_problem("paper:permutations"), 4, 0.6, 0.2),
        (Problem.bernoulli([[8, 2], [5, 8]], range=(0, 10)), 2, 0.8, 0.3),
        (Problem.bernoulli([[0.5, 0.5]]), 2, 0.5, 1.0),
    ):
        known = BPR().prepare(problem)
        assert (known.arms, known.largest) == (arms, largest)
        assert known.gap == pytest.approx(gap)


def test_it_is_refused_where_largest_means_differ() -> None:
    with pytest.raises(InputError) as caught:
        BPR().prepare(load_problem("paper:two"))
    assert str(caught.value) == (
        "bpr needs one largest mean that all models share, and in paper:two it lies between "
        "0.5 and 0.9 on [0, 1]: choose another policy"
    )
