"""Regret over time: no policy is left out of the figure."""

from __future__ import annotations

from fpbandits import FPUCB, load_problem, simulate


def test_policies_may_be_more_than_colours() -> None:
    policies = [FPUCB(slack=number / 100) for number in range(75)]
    result = simulate(load_problem("paper:two"), policies, horizon=5, runs=1)
    lines = result.plot().axes[0].lines
    assert [line.get_label() for line in lines] == list(map(str, policies))
