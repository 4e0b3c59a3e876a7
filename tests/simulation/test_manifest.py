"""What was asked for is known by all that decides about it, policies of one's own included."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from kept import ask

from fpbandits import UCB1, Thompson, load_problem
from fpbandits.errors import ConflictError
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.manifest import difference, make_manifest
from fpbandits.simulation.spec import RunSpec


@pytest.mark.parametrize(
    ("policies", "spec", "digest"),
    [
        (
            (UCB1(), Thompson()),
            RunSpec(truth="theta1", horizon=10**4, runs=12, seed=5),
            "8cb9bdf86749356732536b6e7c4bdec369ca55b84ada11ab9d07d7c013148200",
        ),
        (
            (UCB1(),),
            RunSpec(truth={0: "theta1", 300: "theta2", 777: [0.2, 0.9]}, horizon=5000),
            "1b6ae529d5f64445e7b65964396376b9b5689c3addd8e5fd9aef420f2a6814c6",
        ),
    ],
)
def test_folders_of_earlier_versions_are_known_by_the_same_digest(
    policies: Any, spec: RunSpec, digest: str
) -> None:
    """As an earlier version wrote it: else a folder could not be resumed."""
    problem = load_problem("paper:two")
    cells = {str(policy): make_cell(problem, policy, spec) for policy in policies}
    assert make_manifest(cells)["question"] == digest


def test_a_policy_of_ones_own_is_known_by_its_code(tmp_path: Path) -> None:
    def policy(body: str) -> Any:
        path = tmp_path / f"{body}.py"
        path.write_text(
            "from fpbandits import UCB1\n\n\nclass Mine(UCB1):\n"
            f"    name = 'mine'\n    note = '{body}'\n"
        )
        spec = importlib.util.spec_from_file_location(body, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["mine"] = module
        spec.loader.exec_module(module)
        kind = module.Mine
        kind.__module__ = "mine"
        return kind()

    out = tmp_path / "out"
    ask(out, policies=policy("one"), runs=2)
    ask(out, policies=policy("one"), runs=3)
    with pytest.raises(ConflictError, match=r"holds other runs \(code '"):
        ask(out, policies=policy("two"), runs=3)
    del sys.modules["mine"]


def test_how_two_questions_differ_is_said_in_a_few_words() -> None:
    def asked(*names: str, times: list[int] | None = None, **more: Any) -> dict[str, Any]:
        return {
            "times": [times or [10, 100]],
            "cells": [{"name": name, "times": 0, "truth": "a", **more} for name in names],
        }

    assert difference(asked("x", "y"), asked("x")) == "'x, y' there, 'x' here"
    long = [f"a rather long name of cell {number}" for number in range(5)]
    other = [*long[:3], "another", long[4]]
    assert difference(asked(*long), asked(*other)) == f"'{long[3]}' there, 'another' here"
    assert difference(asked(*long), asked(*long[:4])) == "'5 cells' there, '4 cells' here"
    assert difference(asked("x"), asked("x", times=[10, 99])) == "T = 100 there, 99 here"
    assert difference(asked("x"), asked("x", truth="b")) == "truth 'a' there, 'b' here"
    assert difference(asked("x", seed=1), asked("x", seed=2)) == "seed 1 there, 2 here"
    assert difference(asked("x"), asked("x", times=[5, 100])) == "another problem, or other times"
