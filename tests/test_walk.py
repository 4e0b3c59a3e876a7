"""examples/walk.py goes once around, here with households drawn from a known truth."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import serving

from fpbandits import load_problem
from fpbandits.service.http import make_app
from fpbandits.service.store import open_store

WALK = Path(__file__).parents[1] / "examples" / "walk.py"


@contextmanager
def served_here(store: str) -> Iterator[str]:
    with serving(make_app(open_store(store, make=True))) as address:
        yield address


def test_the_walk_finds_both_kinds_and_shows_more_of_what_is_bought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In truth one brand for all is bought in 0.6·0.7 + 0.4·0.1 = 46 % of purchases, favourites of
    each kind in 70 %. Of 72 households with six purchases either is beyond 58 % once in 1,000."""
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("walk", WALK)
    assert spec is not None
    assert spec.loader is not None
    walk = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walk)
    monkeypatch.setattr(walk, "served", served_here)
    walk.walk(walk.drawn(240))
    out = capsys.readouterr().out
    commands = re.findall(r"^\$ fpbandits (\w+)", out, re.MULTILINE)
    around = ["fit", "analyze", "forecast", "evaluate", "export", "fit", "migrate", "verify"]
    assert commands == around
    assert load_problem("models.toml").models == load_problem("newer.toml").models
    assert len(load_problem("newer.toml").models) == 2
    (second,) = re.findall(r"second half: .*? ([\d.]+)% of the brand .* it ([\d.]+)%", out)
    shown, single = map(float, second)
    assert shown > 58 > single
    assert out.endswith("864 decisions, all as logged\n")
