"""A spec is checked where it is made; files and results are written from its fields."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept import ask, assert_equal

from fpbandits import UCB1, InputError, Result, load_problem, load_results, simulate
from fpbandits.errors import ConflictError
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.manifest import make_manifest, spec_of
from fpbandits.simulation.spec import SETTINGS, RunSpec


def test_numbers_become_whole_and_times_end_with_the_horizon() -> None:
    times: Any = np.array([500.0, 20, 20])
    spec = RunSpec(horizon=1e4, times=times, runs=np.float64(3), seed=2)
    assert (spec.horizon, spec.times, spec.runs, spec.seed) == (10_000, (20, 500, 10_000), 3, 2)
    assert {type(number) for number in (spec.horizon, spec.runs, *spec.times)} == {int}
    assert RunSpec(horizon=3).times == (1, 2, 3)
    with pytest.raises(FrozenInstanceError):
        spec.runs = 4  # type: ignore[misc]


def test_another_spec_is_checked_as_well() -> None:
    spec = RunSpec(horizon=100, times=[10])
    assert replace(spec, seed=7, truth="theta2") == RunSpec(
        horizon=100, times=[10], seed=7, truth="theta2"
    )
    with pytest.raises(InputError, match="runs is 0: it must be at least 1"):
        replace(spec, runs=0)


def test_simulate_has_a_keyword_for_every_field_with_the_same_default() -> None:
    keywords, own = signature(simulate).parameters, signature(RunSpec).parameters
    assert [field.name for field in fields(RunSpec)] == list(own)
    for name, parameter in own.items():
        assert keywords[name].default == parameter.default


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seed": 10**30, "shuffle": True, "runs": 1},
        {"leap": False, "times": [1, 7]},
        {"worst_case": True, "horizon": 2**53},
        {"truth": [0.3, 0.7]},
        {"truth": "prior"},
        {"truth": {0: "theta1", 30: [0.2, 0.9]}, "horizon": 90, "times": [45]},
    ],
)
def test_a_manifest_tells_the_spec_of_a_cell(changes: Any) -> None:
    cell = make_cell(load_problem("paper:two"), UCB1(), RunSpec(**changes))
    manifest = json.loads(json.dumps(make_manifest({"a": cell})))
    assert spec_of(manifest["cells"][0], manifest) == cell.spec


def test_a_setting_that_is_added_leaves_earlier_files_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if ``worst_case`` were new: files of before lack it, and so do new ones without it."""
    monkeypatch.setitem(SETTINGS, "worst_case", False)
    before = ask(tmp_path / "runs", runs=3)
    (entry, *_) = json.loads((tmp_path / "runs" / "manifest.json").read_text())["cells"]
    assert "worst_case" not in entry
    assert before.settings == {"shuffle": True, "leap": True}
    assert load_results(tmp_path / "runs")["ucb1"].leap_error == before.leap_error > 0
    assert_equal(ask(tmp_path / "runs", runs=3), before)
    with pytest.raises(ConflictError, match=r"\(worst_case None there, True here\)"):
        ask(tmp_path / "runs", runs=3, worst_case=True)
    after = ask(tmp_path / "other", runs=3, worst_case=True)
    assert load_results(tmp_path / "other")["ucb1"].settings == after.settings
    for result in (before, after):
        result.save(tmp_path / "result.npz")
        assert_equal(Result.load(tmp_path / "result.npz"), result)
    assert after.as_dict()["worst_case"] is True
