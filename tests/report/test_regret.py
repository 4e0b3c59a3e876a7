"""Regret over time: no policy is left out of the figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from fpbandits import FPUCB, load_problem, simulate


def test_policies_may_be_more_than_colours() -> None:
    policies = [FPUCB(slack=number / 100) for number in range(75)]
    result = simulate(load_problem("paper:two"), policies, horizon=5, runs=1)
    lines = result.plot().axes[0].lines
    assert [line.get_label() for line in lines] == list(map(str, policies))


def test_control_characters_of_a_forged_result_leave_the_figure_well_formed(tmp_path: Path) -> None:
    result = simulate(load_problem("paper:two"), FPUCB(), horizon=5, runs=2)
    forged = replace(result, pulls={"a\x1b\0": result.pulls["fp-ucb"]}, true="\x07")
    forged.plot(tmp_path / "forged.svg")
    ElementTree.parse(tmp_path / "forged.svg")
