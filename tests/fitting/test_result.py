"""A fit's result: as JSON, as a problem file, in words, drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from logs import drawn

import fpbandits as fpb
from fpbandits.fitting.doubts import Apart


@pytest.fixture(scope="module")
def found() -> fpb.Fit:
    return fpb.fit(drawn(1, units=1200).log, unit="user", arm="arm", reward="reward")


def test_the_dict_is_json_of_the_promised_shape(found: fpb.Fit) -> None:
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    promised = "types shares models errors arms units events bic held_out warnings"
    assert set(promised.split()) <= set(content)
    assert content["models"]["type1"] == found.problem.means[0].tolist()
    assert content["errors"]["type2"] == found.errors["type2"].tolist()
    assert content["arms"] == ["0", "1", "2"]
    assert set(content["bic"]) == set(content["held_out"]) == {"1", "2", "3", "4"}


def test_the_whole_dict() -> None:
    """Without contexts means are lists; with contexts they are lists by context."""
    means = np.array([[[0.5, 0.25], [0.75, 0.5]], [[0.25, 1.0], [0.0, 0.5]]])
    plain = fpb.Problem.bernoulli(means[:, 0], arms=["a", "b"], models=["x", "y"])
    seen = fpb.Problem.bernoulli(means, contexts=["c", "d"], arms=["a", "b"], models=["x", "y"])
    for problem, errors in ((plain, np.full(2, 0.125)), (seen, np.full((2, 2), 0.125))):
        fit = fpb.Fit(
            problem=problem,
            shares={"x": 0.75, "y": 0.25},
            share_errors={"x": 0.03, "y": 0.02},
            errors={"x": errors, "y": 2 * errors},
            units=40,
            events=200,
            held_out={1: -0.7, 2: -0.5},
            bic={1: 300.0, 2: 200.0},
            pseudo_count=2.5,
            sureness=0.875,
            warnings=("said",),
            told_apart=(Apart("x", ("a",), ("y",), (), ()), Apart("y", ("b",), (), ("x",), ())),
        )
        wanted: dict[str, Any] = {
            "types": 2,
            "shares": {"x": 0.75, "y": 0.25},
            "share_errors": {"x": 0.03, "y": 0.02},
            "models": {"x": [0.5, 0.25], "y": [0.25, 1.0]},
            "errors": {"x": [0.125, 0.125], "y": [0.25, 0.25]},
            "arms": ["a", "b"],
            "family": "bernoulli",
            "units": 40,
            "events": 200,
            "bic": {"1": 300.0, "2": 200.0},
            "held_out": {"1": -0.7, "2": -0.5},
            "pseudo_count": 2.5,
            "sureness": 0.875,
            "warnings": ["said"],
            "told_apart": {
                "x": {"best": ["a"], "free": ["y"], "costly": []},
                "y": {"best": ["b"], "free": [], "costly": ["x"]},
            },
        }
        if problem is seen:
            wanted["models"] = {
                "x": {"c": [0.5, 0.25], "d": [0.75, 0.5]},
                "y": {"c": [0.25, 1.0], "d": [0.0, 0.5]},
            }
            for name, own in wanted["errors"].items():
                wanted["errors"][name] = {"c": own, "d": own}
            wanted["contexts"] = ["c", "d"]
        assert fit.as_dict() == wanted


def test_it_is_saved_as_a_problem(found: fpb.Fit, tmp_path: Path) -> None:
    found.save(tmp_path / "models.toml")
    assert fpb.load_problem(tmp_path / "models.toml") == found.problem


def test_repr_says_what_was_found(found: fpb.Fit) -> None:
    assert repr(found).startswith("Fit(2 types from 9,600 rewards of 1,200 units: type1 ")


def test_it_is_drawn_into_a_file(found: fpb.Fit, tmp_path: Path) -> None:
    figure = found.plot(tmp_path / "types.png")
    assert (tmp_path / "types.png").read_bytes().startswith(b"\x89PNG")
    assert len(figure.axes) == 3, "shares, means, and the scale of colours"
    with pytest.raises(fpb.InputError, match="unknown figure ending"):
        found.plot(tmp_path / "types.pdf")
