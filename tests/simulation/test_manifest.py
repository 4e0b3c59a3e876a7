"""What was asked for is known by all that decides about it, policies of one's own included."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from kept import ask

from fpbandits.errors import ConflictError


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
