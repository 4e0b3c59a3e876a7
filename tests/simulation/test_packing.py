"""Batches as bytes: large problems are known from before, or not; policies are there, or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fpbandits import UCB1, InputError, Problem, load_problem
from fpbandits.simulation import packing, workers
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.packing import pack_batch, unpack_batch
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.versions import versions
from fpbandits.simulation.workers import RunRange


def test_a_worker_remembers_so_many_problems() -> None:
    cell = make_cell(load_problem("paper:two"), UCB1(), RunSpec(runs=1, horizon=1))
    for number in range(70):
        problem = Problem.bernoulli([[0.5, number / 100]], truth="theta1")
        packed = pack_batch({0: replace(cell, problem=problem)}, [RunRange(0, 0, 1)], False)
        assert len(workers._play_packed(*packed).played) == 1
        assert len(workers._play_packed(packed[0], {}).played) == 1
    assert len(packing._problems_here) == 64


def test_a_policy_that_workers_cannot_import() -> None:
    cell = make_cell(load_problem("paper:two"), UCB1(), RunSpec(runs=1, horizon=1))
    packed, problems = pack_batch({0: cell}, [RunRange(0, 0, 1)], True)
    assert b"UCB1" in packed
    with pytest.raises(InputError, match=r"a worker cannot load the policy .* importable there"):
        unpack_batch(packed.replace(b"UCB1", b"UCB9"), problems)


def test_problems_that_differ_in_shares_alone_are_told_apart() -> None:
    means, contexts = [[[0.5, 0.4], [0.5, 0.4]]], ["often", "rarely"]
    cells = {
        number: make_cell(
            Problem.bernoulli(means, contexts=contexts, shares=shares),
            UCB1(),
            RunSpec(truth="theta1", runs=1),
        )
        for number, shares in enumerate([[0.9, 0.1], [0.1, 0.9]])
    }
    together, _ = unpack_batch(*pack_batch(cells, [], True))
    alone = [unpack_batch(*pack_batch({0: cell}, [], True))[0][0] for cell in cells.values()]
    for found in ([together[0], together[1]], alone):
        assert [cell.problem.shares for cell in found] == [(0.9, 0.1), (0.1, 0.9)]


def test_a_small_problem_is_sent_and_a_large_one_only_if_asked() -> None:
    """131,072 bytes are small; a worker that lacks a problem replies without runs."""
    packing._problems_here.clear()
    spec = RunSpec(runs=1, horizon=1, truth="theta1")
    for models, sent in ((2_000, True), (10_000, False)):
        problem = Problem.bernoulli(np.linspace(0.1, 0.9, 2 * models).reshape(models, 2))
        cells, ranges = {0: make_cell(problem, UCB1(), spec)}, [RunRange(0, 0, 1)]
        packed, problems = pack_batch(cells, ranges, False)
        assert bool(problems) == sent
        assert (len(packing._pack_problem(problem, "")) <= 131_072) == sent
        assert len(pack_batch(cells, ranges, True)[1]) == 1
    assert workers._play_packed(packed, {}) == ([], 0.0, versions())
