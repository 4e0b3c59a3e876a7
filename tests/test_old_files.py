"""Files of earlier versions, in the words of then, are read as before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.simulation.archive import from_npz, to_npz
from fpbandits.sweep.study import load_study

NEW = fpb.Problem.bernoulli(
    [[0.9, 0.5], [0.2, 0.5]], arms=["a", "b"], models=["x", "y"], truth="x", name="old"
)
TOML = """
name = "old"
arms = ["a", "b"]
true = "x"
[parameters]
x = [0.9, 0.5]
y = [0.2, 0.5]
"""
OLD_WORDS = {"truth": "true", "truth_means": "true_means", "worst_case": "exact"}


def aged(table: Any) -> dict[str, Any]:
    """A table in the words of then."""
    return {OLD_WORDS.get(key, key): value for key, value in table.items()}


def test_problems(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(TOML)
    (tmp_path / "old.csv").write_text("parameter,a,b\nx,0.9,0.5\ny,0.2,0.5\n")
    for ending in (".toml", ".csv"):
        assert fpb.load_problem(tmp_path / f"old{ending}") == NEW
    assert fpb.load_problem(tmp_path / "old.toml").truth == "x"
    (tmp_path / "old.toml").write_text(TOML + "[models]\nx = [1, 1]\n")
    with pytest.raises(fpb.InputError, match="parameters and models mean the same: give models"):
        fpb.load_problem(tmp_path / "old.toml")


def test_studies(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(TOML)
    (tmp_path / "study.toml").write_text(
        'problems = [{ problem = "old.toml", true = "y" }]\n'
        'policies = ["optimist:safe=7", { policy = "frugal", switch = [0, 0.1] }]\n'
        "horizons = 9\n"
    )
    study = load_study(tmp_path / "study.toml")
    assert {cell.truth for cell in study.cells.values()} == {"y"}
    assert [str(cell.policy) for cell in study.cells.values()] == [
        "optimist:false_alarm=0.0009118819655545162",
        "frugal",
        "frugal:change_rate=0.1",
    ]


def test_agents() -> None:
    agent = fpb.Agent(NEW, fpb.Frugal(false_alarm=np.exp(-7)))
    for reward in (1, 0, 1):
        agent.tell(agent.ask(), reward)
    # The default kept one number more: how many plays had been paid for.
    old = {**agent.state(), "policy": "frugal:safe=7.0", "beliefs": [3.0]}
    again = fpb.Agent.from_state(old, NEW)
    assert again.state() == agent.state()


def test_results(tmp_path: Path) -> None:
    result = fpb.simulate(NEW, "ucb1", horizon=50, runs=3)
    result.save(tmp_path / "new.npz")
    header, arrays = from_npz((tmp_path / "new.npz").read_bytes(), "result", (2,))
    old = {**aged(header), "schema": 1, "settings": aged(header["settings"]), "problem": TOML}
    arrays = {key: array for key, array in aged(arrays).items() if key != "header"}
    (tmp_path / "old.npz").write_bytes(to_npz(old, arrays))
    again = fpb.Result.load(tmp_path / "old.npz")
    assert again.as_dict() == result.as_dict()
    assert again.settings == result.settings
    np.testing.assert_array_equal(again.truth_means, result.truth_means)


def test_folders_of_runs_are_read_and_nothing_is_added(tmp_path: Path) -> None:
    result = fpb.simulate(NEW, "ucb1", horizon=50, runs=3, out=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest |= {"schema": 1, "problems": [TOML], "cells": [*map(aged, manifest["cells"])]}
    del manifest["digest"]
    digest = hashlib.sha256(json.dumps(manifest).encode()).hexdigest()
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "digest": digest}))
    again = fpb.load_results(tmp_path)["ucb1"]
    assert again.as_dict() == result.as_dict()
    with pytest.raises(fpb.ConflictError, match="runs of an earlier version, which load_results"):
        fpb.simulate(NEW, "ucb1", horizon=50, runs=9, out=tmp_path)
