"""What the tests of the store and of crashes share."""

from __future__ import annotations

from typing import Any

import pytest
from kept import ask

from fpbandits import Result
from fpbandits.simulation import store, workers
from fpbandits.simulation.cell import Cell


@pytest.fixture(scope="session")
def undisturbed() -> Result:
    return ask(None)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the runs that are really played."""
    counts: list[int] = []
    play = Cell.play

    def counting(cell: Cell, runs: range, *others: Any) -> Any:
        found = play(cell, runs, *others)
        counts.append(len(found[1]))
        return found

    monkeypatch.setattr(Cell, "play", counting)
    return counts


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small files: a few runs per batch, and a file for each."""
    monkeypatch.setattr(workers, "SECONDS", 0.0)
    monkeypatch.setattr(store, "EVERY", 0.0)
