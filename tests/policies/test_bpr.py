"""What BPR is told, where there is no such number, and its stability check."""

from __future__ import annotations

import numpy as np
import pytest
from moments import Moment, assert_certain_as, moments, planned

from fpbandits import InputError, Problem, load_problem
from fpbandits.policies import BPR


def turned(generator: np.random.Generator) -> Problem:
    """Models that have the same means in another order."""
    row = generator.choice(np.linspace(0.05, 0.95, 10), int(generator.integers(2, 5)))
    return Problem.bernoulli([np.roll(row, k).tolist() for k in range(len(row))])


def test_it_is_certain_while_the_leaders_lowest_mean_is_the_largest_and_near_the_top() -> None:
    def leads(one: Moment, more: int, by: float) -> bool:
        leader, means = one.cycle[0], one.unit_means
        low, _ = one.mean_ahead(leader, more)
        below = means.max() - means
        gap = below[below > 1e-9].min(initial=1.0)
        others = np.delete(one.seen, leader)
        return bool(low + by >= means.max() - gap / 2 and (others < low + by).all())

    def leading(one: Moment) -> bool:
        """Whether the arm was not drawn."""
        return one.cycle[0] == one.seen.argmax() and leads(one, 0, 0)

    assert_certain_as(leads, filter(leading, moments(BPR(), 200, turned)))


def test_only_a_leader_that_is_near_the_top_may_be_played_again() -> None:
    """μ* = .6 and Δ = .2: the leader's mean must be at least .5. Else arms are drawn."""
    policy, problem = BPR(), Problem.bernoulli([[0.6, 0.4], [0.4, 0.6]])
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 2)

    class Draws:
        """A stream that gives one number at most."""

        def __init__(self, *numbers: float) -> None:
            self.numbers = list(numbers)

        def random(self) -> float:
            return self.numbers.pop()

    def plan(first: float, second: float, *draws: float) -> int:
        state.plays[:], state.sums[:] = 1000, [1000 * first, 1000 * second]
        stream: object = Draws(*draws)
        assert planned(policy, prepared, state, workspace, None, 10, stream) == (1, 1)  # type: ignore[arg-type]
        return int(workspace.cycle[0])

    assert plan(0.3, 0.5) == 1
    # Weights 1/.3² and 1/.2² are 100/9 and 25: the first arm has 100/325 of them.
    assert plan(0.3, 0.4, 100 / 325 - 1e-9) == 0
    assert plan(0.3, 0.4, 100 / 325 + 1e-9) == 1
    assert plan(0.3, 0.4, 1.0) == 1, "where rounding leaves nothing below the draw"


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
