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

from fpbandits import UCB1, InputError, Problem, Result, load_problem, load_results, simulate
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
    starts = [0, 30] if isinstance(changes.get("truth"), dict) else None
    assert manifest["cells"][0].get("starts") == starts


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


def test_what_is_played_if_nothing_is_said() -> None:
    spec = RunSpec()
    assert (spec.horizon, spec.runs, spec.seed, spec.truth) == (100_000, 100, 0, None)
    assert (spec.delay, spec.stop) == (0, None)
    assert spec.settings == {"shuffle": False, "leap": True, "worst_case": False}


@pytest.mark.parametrize("power", [2, 4, 15])
def test_default_times_are_a_hundred_evenly_spaced_in_log_t(power: int) -> None:
    spaced = sorted({round(10 ** (power * k / 99)) for k in range(100)})
    assert list(RunSpec(horizon=10**power).times) == pytest.approx(spaced, rel=1e-12)


def test_runs_that_stop_are_recorded_at_their_end_alone() -> None:
    assert RunSpec(horizon=50, stop=0.05).times == (50,)
    assert RunSpec(horizon=50, times=[50], stop=0.05).times == (50,)
    assert RunSpec(horizon=50, stop=0.05).settings["stop"] == 0.05


def test_step_by_step_at_most_ten_million_plays() -> None:
    how: tuple[dict[str, Any], ...] = ({"delay": 1}, {"delay": "batch:2"}, {"stop": 0.05})
    for each in how:
        assert RunSpec(horizon=10**7, times=[10**7], **each).horizon == 10**7
        with pytest.raises(InputError, match="horizon is 10000001, and may be 10000000 at most"):
            RunSpec(horizon=10**7 + 1, times=[10**7 + 1], **each)
    assert RunSpec(horizon=10**7 + 1, leap=False).horizon == 10**7 + 1, "it only takes its time"


@pytest.mark.parametrize("stop", [0, 1, -0.1, 1.5])
def test_an_error_is_a_probability(stop: float) -> None:
    with pytest.raises(InputError, match="it must be a probability, above 0 and below 1"):
        RunSpec(stop=stop)


def test_the_error_of_a_leap_by_hand() -> None:
    """1e-18 for each statistic of rewards, or their sum; nothing where nothing leaps."""
    two = load_problem("paper:two")
    thirds = Problem.discrete([[[0.2, 0.3, 0.5]] * 2], support=[0, 0.5, 1])
    assert RunSpec().leap_error(two) == 1e-18
    assert RunSpec().leap_error(thirds) == pytest.approx(3e-18, rel=1e-9, abs=0), "one per point"
    exact: tuple[dict[str, Any], ...] = (
        {"leap": False},
        {"worst_case": True},
        {"delay": 1},
        {"delay": "geometric:2"},
        {"stop": 0.05},
    )
    for how in exact:
        assert RunSpec(**how).leap_error(thirds) == 0
