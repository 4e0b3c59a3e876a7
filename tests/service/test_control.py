"""A control group: by hash, flagged in the log and in exports, left out by `evaluate`."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
from serving import serving
from stores import PROBLEM, put, served
from waiting import LONG

import fpbandits as fpb
from fpbandits.service.control import Control
from fpbandits.service.export import export
from fpbandits.service.http import make_app
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.store import open_store

CONTROL = {"arm": "b", "share": 0.3}


def test_about_the_share_is_in_control_and_other_seeds_choose_others() -> None:
    """A count of 4,000 units is within 4 standard deviations but for 6 in 100,000."""
    units = [f"u{n}" for n in range(4_000)]
    found = [{unit for unit in units if Control("b", 0.3, seed).has(unit)} for seed in (0, 1)]
    for group in found:
        assert abs(len(group) - 1200) < 4 * (4_000 * 0.3 * 0.7) ** 0.5
    assert abs(len(found[0] & found[1]) - 360) < 4 * (4_000 * 0.09 * 0.91) ** 0.5
    # Who is in a small group is in a larger one, too.
    assert {unit for unit in units if Control("a", 0.1, 0).has(unit)} < found[0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_export_flags_the_group_and_evaluate_leaves_it_out(tmp_path: Path, ending: str) -> None:
    path, random = tmp_path / f"log.{ending}", np.random.default_rng(0)
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        experiment = put(store, policy="thompson-theta:change_rate=0.5", control=CONTROL)
        for number in range(6):
            arms = [
                each["arm"] for each in served(store, experiment, [Ask(f"u{n}") for n in range(60)])
            ]
            rewards = [float(random.random() < (0.9 if arm == "a" else 0.5)) for arm in arms]
            told = [Tell((f"u{n}", number), reward) for n, reward in enumerate(rewards)]
            served(store, experiment, list(told))
        export(store, "e", path)
    group = [experiment.control_arm(f"u{n}") is not None for n in range(60)]
    if ending == "csv":
        with path.open() as file:
            rows = list(csv.DictReader(file))
        assert {row["unit"]: row["control"] for row in rows} == {
            f"u{n}": str(each) for n, each in enumerate(group)
        }
    found = fpb.evaluate(
        path,
        experiment.problem,
        "ucb1",
        unit="unit",
        arm="arm",
        reward="reward",
        propensity="propensity",
    )
    assert found.units == 60 - sum(group)
    assert found.events == 6 * found.units


def test_the_log_flags_the_group_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "a.db"), make=True)
    with (
        serving(make_app(store)) as address,
        httpx.Client(base_url=f"{address}/v1/experiments", timeout=LONG) as client,
    ):
        definition = {"problem": PROBLEM, "policy": "ucb1", "control": CONTROL}
        made = client.put("/e", json=definition)
        assert (made.status_code, made.json()["control"]) == (201, CONTROL)
        asks = [{"unit": f"u{n}"} for n in range(20)]
        arms = {each["unit"]: each["arm"] for each in client.post("/e/decisions", json=asks).json()}
        lines = [json.loads(line) for line in client.get("/e/log").text.splitlines()]
        group = {line["unit"] for line in lines if line["control"]}
        assert 0 < len(group) < 20
        assert {arms[unit] for unit in group} == {"b"}
        report = client.get("/e/report").json()
        assert report["control"]["control"]["units"] == len(group)
        for wrong, words in (
            ({"arm": "c", "share": 0.1}, "control: unknown arm 'c'"),
            ({"arm": "a", "share": 1}, "control: share is 1.0: it must be above 0 and below 1"),
            ({"arm": "a"}, "control must be an object"),
            ("a", "control must be an object"),
        ):
            answer = client.put("/f", json={**definition, "control": wrong})
            assert answer.status_code == 422
            assert words in answer.json()["error"]
        assert client.put("/e", json={**definition, "control": None}).status_code == 409
