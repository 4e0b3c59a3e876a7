"""The page: its head, its tabs, and the parts in them, for one browser tab each.

What a tab has open is kept for it as long as the lab runs, so that loading the page again loses
nothing; but for steps back and what was played.
"""

from __future__ import annotations

from nicegui import app, ui

from fpbandits import __version__
from fpbandits.lab.free import FreePart
from fpbandits.lab.live import LivePart
from fpbandits.lab.models import ModelsPart
from fpbandits.lab.parts import STYLE
from fpbandits.lab.play import PlayPart
from fpbandits.lab.watch import WatchPart
from fpbandits.lab.workbook import Workbook
from fpbandits.problem.problem import Problem
from fpbandits.service.store import Store

_PATIENCE = 60.0
"""Seconds that a browser has to load what the page is made of."""


async def build(problem: Problem, store: Store | None) -> None:
    """Build the page for whoever has just opened it, or has opened it again."""
    ui.add_css(STYLE)
    ui.colors(primary="#005a8f")
    dark = ui.dark_mode(None)
    with ui.element("header").classes("head"):
        ui.html("fpbandits lab", tag="h1", sanitize=True)
        ui.label(f"version {__version__}").classes("quiet")
        ui.space()
        ui.toggle({None: "system", False: "light", True: "dark"}).bind_value(dark, "value").props(
            'no-caps dense unelevated aria-label="colours"'
        ).classes("plain")
    loading = ui.label("Loading the models …").classes("quiet loading").props('role="status"')
    await ui.context.client.connected(_PATIENCE)
    workbook = Workbook(problem)
    kept = app.storage.tab
    if "sheet" in kept:
        workbook.change(kept["sheet"])
    workbook.listen(lambda: kept.update(sheet=workbook.sheet))
    loading.delete()
    with ui.tabs().props('no-caps align="left" inline-label') as tabs:
        models, play, watch = ui.tab("Models"), ui.tab("Play"), ui.tab("Watch")
        live = None if store is None else ui.tab("Live")
    with ui.tab_panels(tabs, value=models, animated=False, keep_alive=True).classes("panels"):
        with ui.tab_panel(models), ui.element("div").classes("beside"):
            with _section("Models"):
                ModelsPart(workbook)
            with _section("What can be learned for free"):
                FreePart(workbook)
        with ui.tab_panel(play), _section("Play"):
            PlayPart(workbook)
        with ui.tab_panel(watch), _section("Watch"):
            WatchPart(workbook)
        if store is not None and live is not None:
            with ui.tab_panel(live), _section("Live"):
                LivePart(store)


def _section(name: str) -> ui.element:
    return ui.element("section").props(f'aria-label="{name}"')
