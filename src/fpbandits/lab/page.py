"""The page with its tabs and parts, built for each browser tab.

The sheet of a browser tab and its last valid problem are kept while the lab runs, so reloading the
page loses only the undo steps and the simulations.
"""

from __future__ import annotations

from nicegui import app, ui

from fpbandits import __version__
from fpbandits.lab.analysis import AnalysisPart
from fpbandits.lab.forecast import ForecastPart
from fpbandits.lab.live import LivePart
from fpbandits.lab.models import ModelsPart
from fpbandits.lab.parts import STYLE, section
from fpbandits.lab.play import PlayPart
from fpbandits.lab.session import Session
from fpbandits.lab.watch import WatchPart
from fpbandits.problem.problem import Problem
from fpbandits.service.store import Store

_LOADING = 60.0
"""Seconds that a browser has to load the page's scripts."""


async def build(problem: Problem, store: Store | None) -> None:
    """Build the page for a browser tab that has opened or reloaded it."""
    ui.add_css(STYLE)
    for field in (ui.select, ui.input):
        field.default_props("outlined dense")
    ui.colors(primary="#005a8f")
    dark = ui.dark_mode(None)
    with ui.element("header").classes("head"):
        ui.html("fpbandits lab", tag="h1")
        ui.label(f"version {__version__}").classes("quiet")
        ui.space()
        ui.toggle({None: "system", False: "light", True: "dark"}).bind_value(dark, "value").props(
            'no-caps dense unelevated aria-label="colours"'
        ).classes("plain")
    loading = ui.label("Loading the models …").classes("quiet loading").props('role="status"')
    await ui.context.client.connected(_LOADING)
    storage = app.storage.tab
    session = Session(storage.get("problem", problem), storage.get("sheet"))
    session.listen(lambda: storage.update(problem=session.problem, sheet=session.sheet))
    loading.delete()
    with ui.tabs().props('no-caps align="left" inline-label') as tabs:
        models, play, watch = ui.tab("Models"), ui.tab("Play"), ui.tab("Watch")
        live = None if store is None else ui.tab("Live")
    with ui.tab_panels(tabs, value=models, animated=False, keep_alive=True).classes("panels"):
        with ui.tab_panel(models), ui.element("div").classes("beside"):
            with ui.element("div").classes("stacked"):
                with section("Models"):
                    ModelsPart(session)
                with section("What playing will cost"):
                    ForecastPart(session)
            with section("What can be learned for free"):
                AnalysisPart(session)
        with ui.tab_panel(play), section("Play"):
            PlayPart(session)
        with ui.tab_panel(watch), section("Watch"):
            WatchPart(session)
        if store is not None and live is not None:
            with ui.tab_panel(live), section("Live"):
                LivePart(store)
