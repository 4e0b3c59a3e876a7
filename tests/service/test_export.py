"""The rows of an exported log: what counts, in its order, with the caller's keys."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow.parquet import read_table
from stores import PROBLEM, one, put

from fpbandits.cli.verify import export as command
from fpbandits.logs.log import read_log
from fpbandits.problem.files import problem_to_toml
from fpbandits.problem.problem import Problem
from fpbandits.service import export as export_module
from fpbandits.service.export import _COLUMNS, export
from fpbandits.service.messages import Ask, Forget, Tell
from fpbandits.service.migrate import migrate
from fpbandits.service.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        yield store


def test_every_column_is_in_the_help_and_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "circle.md").read_text(encoding="utf-8")
    for column in _COLUMNS:
        assert re.search(rf"\b{column}\b", command.__doc__ or "")
        assert f"`{column}`" in page


def exported(store: Store, name: str, path: Path) -> list[dict[str, Any]]:
    export(store, name, path)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_has_the_callers_key_and_the_times_of_decision_and_reward(
    store: Store, tmp_path: Path
) -> None:
    experiment = put(store)
    one(store, experiment, Ask("u", "order-7"))
    one(store, experiment, Ask("u"))
    one(store, experiment, Tell(("u", 0), 1.0))
    one(store, experiment, Tell(("u", 1), 0.0))
    first, second = exported(store, "e", tmp_path / "log.csv")
    events = {(each.event.kind, each.event.number): each.event for each in store.log(1, 0, 99)}
    assert first == {
        "unit": "u",
        "arm": "a",
        "reward": "1.0",
        "propensity": "1.0",
        "among": "",
        "time": str(events["decision", 0].time),
        "told": str(events["reward", 0].time),
        "decision": "0@u",
        "key": "order-7",
        "inherited": "False",
    }
    assert (second["key"], second["decision"]) == ("", "1@u")


@pytest.mark.parametrize(
    ("late", "counted"), [("any", [3, 1, 2]), ("in-order", [1, 3]), ("all-in-order", [])]
)
def test_what_a_pending_decision_blocks_is_left_out(
    store: Store, tmp_path: Path, late: str, counted: list[int]
) -> None:
    """UCB1 plays a, b, a, b here; the first is pending, other rewards come in disorder."""
    experiment, path = put(store, late=late), tmp_path / "log.csv"
    for number, arm in enumerate("abab"):
        assert one(store, experiment, Ask("u"))["arm"] == arm, number
    for number in (3, 1, 2):
        one(store, experiment, Tell(("u", number), 1.0))
    assert [row["decision"] for row in exported(store, "e", path)] == [f"{n}@u" for n in counted]
    found = export(store, "e", path)
    assert (found.counted, found.blocked, found.pending) == (len(counted), 3 - len(counted), 1)
    one(store, experiment, Forget(("u", 0)))
    assert len(exported(store, "e", path)) == 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_eligible_arms_of_any_name_can_be_evaluated_and_inherited(
    store: Store, tmp_path: Path, ending: str
) -> None:
    names = ["red|blue", "red", "back\\\\slash\\"]
    problem = Problem.bernoulli([[0.9, 0.1, 0.3], [0.1, 0.9, 0.3]], arms=names)
    experiment = put(store, problem=problem_to_toml(problem), policy="thompson-theta")
    some = [["red|blue", "red"], ["red|blue", names[2]], None]
    for number in range(30):
        one(store, experiment, Ask("u", None, None, some[number % 3]))
        one(store, experiment, Tell(("u", number), float(number % 2)))
    migrate(store, "e", "f", {"seed": 1})
    inherited = [each.event.eligible for each in store.log(2, 0, 99)]
    assert inherited == some * 10
    for name in "ef":
        path = tmp_path / f"log.{ending}"
        export(store, name, path)
        log = read_log(path, unit="unit", arm="arm", reward="reward", among="among", arms=names)
        assert log.among is not None
        assert log.sets is not None
        eligible = [[names[arm] for arm in np.flatnonzero(log.sets[each])] for each in log.among]
        assert eligible == [each or names for each in some * 10]


def test_inherited_history_is_in_the_next_export_and_marked(store: Store, tmp_path: Path) -> None:
    experiment = put(store, policy="thompson-theta")
    for number in range(4):
        some = ["b"] if number == 2 else None
        one(store, experiment, Ask("u", f"k{number}", None, some))
        one(store, experiment, Tell(("u", number), float(number % 2)))
    before = exported(store, "e", tmp_path / "log.csv")
    assert [row["among"] for row in before] == ["", "", "b", ""]
    migrate(store, "e", "f", {"problem": PROBLEM.replace("0.2", "0.3")})
    new = put(store, "f", PROBLEM.replace("0.2", "0.3"), policy="thompson-theta")
    one(store, new, Ask("u", "k9"))
    one(store, new, Tell(("u", 0), 1.0))
    migrate(store, "f", "g", {"problem": PROBLEM})
    for name, own in (("f", 1), ("g", 0)):
        rows = exported(store, name, tmp_path / f"{name}.csv")
        assert [row["inherited"] for row in rows] == ["True"] * (len(rows) - own) + ["False"] * own
        for row, old in zip(rows, before, strict=False):
            same = ("unit", "arm", "reward", "propensity", "among", "time")
            assert [row[column] for column in same] == [old[column] for column in same]
            assert (row["key"], row["decision"], row["told"]) == ("", "", "")
    assert len(rows) == 5
    found = export(store, "f", tmp_path / "log.parquet")
    assert (found.counted, found.inherited) == (5, 4)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_are_written_some_at_a_time(
    store: Store, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = put(store)
    for number in range(5):
        one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", number), 1.0))
    whole, parts, progress = tmp_path / f"whole.{ending}", tmp_path / f"parts.{ending}", list[int]()
    export(store, "e", whole, progress.append)
    monkeypatch.setattr(export_module, "_AT_ONCE", 2)
    export(store, "e", parts, progress.append)
    assert progress == [5, 2, 4, 5]
    if ending == "csv":
        assert whole.read_bytes() == parts.read_bytes()
    else:
        assert read_table(whole) == read_table(parts)
        assert read_table(parts).num_rows == 5
