"""A fit's result: as JSON, as a problem file, in words, drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logs import drawn

import fpbandits as fpb


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
