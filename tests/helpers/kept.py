"""One small question that is kept in a folder, and what two answers have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fpbandits import FPUCB, UCB1, Result, Thompson, load_problem, simulate

POLICIES = [FPUCB(), UCB1(), Thompson()]


def ask(out: Path | None, **changes: Any) -> Result:
    question: dict[str, Any] = {"horizon": 2000, "runs": 60, "seed": 3, "shuffle": True}
    policies = changes.pop("policies", POLICIES)
    return simulate(load_problem("paper:two"), policies, out=out, **(question | changes))


def assert_equal(first: Result, second: Result) -> None:
    assert first.policies == second.policies
    for policy in first.policies:
        assert np.array_equal(first.pulls[policy], second.pulls[policy])
        assert np.array_equal(first.plans[policy], second.plans[policy])
    assert first.as_dict() == second.as_dict()


def chunks(out: Path) -> list[Path]:
    return sorted((out / "chunks").iterdir())
