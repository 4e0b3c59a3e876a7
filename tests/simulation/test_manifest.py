"""What was asked for is known by all that decides about it, policies of one's own included."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from kept import ask

from fpbandits import UCB1, Thompson, load_problem
from fpbandits.core.storage import DamagedError
from fpbandits.errors import ConflictError, StorageError
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.manifest import difference, make_manifest, read_manifest
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


def test_names_are_shown_up_to_60_characters() -> None:
    def asked(name: str) -> dict[str, Any]:
        return {"times": [[10]], "cells": [{"name": name, "times": 0}, {"name": "z", "times": 0}]}

    short = "x" * 57
    assert difference(asked(short), asked("y")).endswith("xx, z' there, 'y, z' here")
    assert difference(asked(short + "x"), asked("y")).endswith("xx' there, 'y' here")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    ask(folder, policies=UCB1(), runs=2, truth={0: "theta1", 30: "theta2"}, horizon=50)
    return folder


def sealed(content: dict[str, Any], folder: Path) -> Path:
    """Write a manifest with the digest that it should have."""
    path = folder / "manifest.json"
    rest = {key: value for key, value in content.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(rest).encode()).hexdigest()
    path.write_text(json.dumps({**rest, "digest": digest}))
    return path


FIELDS: list[tuple[str, Any]] = [
    ("problems", None),
    ("problems", "x"),
    ("problems", [3]),
    ("cells", None),
    ("cells", [3]),
    ("times", None),
    ("times", {}),
    ("times", 3),
    ("times", []),
    ("times", [[]]),
    ("times", [["x"]]),
    ("times", [[50, 30]]),
    ("times", [[0, 50]]),
    ("times", "x"),
    ("question", None),
    ("question", 3),
    ("versions", None),
    ("versions", []),
]
OF_A_CELL: list[tuple[str, Any]] = [
    ("name", 3),
    ("problem", -1),
    ("problem", 1),
    ("problem", True),
    ("truth", None),
    ("truth_means", "x"),
    ("truth_means", [1]),
    ("policy", 3),
    ("code", 3),
    ("seed", -1),
    ("seed", "x"),
    ("times", -1),
    ("times", 1),
    ("runs", 0),
    ("runs", 2.0),
    ("shuffle", 1),
    ("leap", None),
    ("worst_case", "no"),
    ("starts", 3),
    ("starts", [0.0]),
    ("another", 3),
]


def test_a_manifest_whose_fields_are_odd_is_refused(kept: Path, tmp_path: Path) -> None:
    """Whatever its digest says; and one that lacks a field. It is not taken for damaged."""
    whole = json.loads((kept / "manifest.json").read_text())
    (cell,) = whole["cells"]
    assert read_manifest(sealed(whole, tmp_path))["cells"] == [cell]
    forged = [{**whole, key: value} for key, value in FIELDS]
    forged += [{**whole, "cells": [{**cell, key: value}]} for key, value in OF_A_CELL]
    forged += [{k: v for k, v in whole.items() if k != key} for key, _ in FIELDS]
    forged += [
        {**whole, "cells": [{k: v for k, v in cell.items() if k != key}]}
        for key in cell
        if key != "starts"
    ]
    for content in forged:
        with pytest.raises(StorageError, match="fields are missing, or are not what they should"):
            read_manifest(sealed(content, tmp_path))
    for starts in ({}, {"starts": [0]}):
        once = {**{k: v for k, v in cell.items() if k != "starts"}, **starts}
        assert read_manifest(sealed({**whole, "cells": [once]}, tmp_path))["cells"] == [once]


def test_a_manifest_of_schema_1_has_old_names(kept: Path, tmp_path: Path) -> None:
    whole = json.loads((kept / "manifest.json").read_text())
    assert whole["schema"] == 2
    old_names = {"truth": "true", "truth_means": "true_means", "worst_case": "exact"}
    (cell,) = whole["cells"]
    old = {old_names.get(key, key): value for key, value in cell.items()}
    found = read_manifest(sealed({**whole, "schema": 1, "cells": [old]}, tmp_path))
    assert found["cells"] == [cell]
    with pytest.raises(StorageError, match="fields are missing"):
        read_manifest(sealed({**whole, "cells": [old]}, tmp_path))
    with pytest.raises(StorageError, match="fields are missing"):
        read_manifest(sealed({**whole, "schema": 1, "cells": 3}, tmp_path))


def test_a_changed_manifest_is_damaged(kept: Path, tmp_path: Path) -> None:
    whole = json.loads((kept / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**whole, "question": "x"}))
    with pytest.raises(DamagedError, match="its checksum is another"):
        read_manifest(tmp_path / "manifest.json")
