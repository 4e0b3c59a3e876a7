"""What tests of the page's parts share: a page without a browser, and a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from nicegui import core, ui
from nicegui.client import Client
from nicegui.page import page

from fpbandits.lab import play
from fpbandits.service.store import Store, open_store


@pytest.fixture
def on_page(monkeypatch: pytest.MonkeyPatch) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Run a test within a page that no browser shows, and whose timers do not tick."""
    monkeypatch.setattr(play, "compile_ahead", lambda *arguments: None)
    monkeypatch.setattr(ui.timer, "_can_start", lambda timer: asyncio.Event().wait())

    def run_test(test: Coroutine[Any, Any, None]) -> None:
        async def within_page() -> None:
            monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
            with Client(page("/"), request=None) as client:
                await test
            client.delete()

        asyncio.run(within_page())

    return run_test


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}", make=True)
    yield opened
    opened.close()
