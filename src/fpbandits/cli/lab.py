"""``fpbandits lab``: a local web page for editing, analyzing and playing models."""

from __future__ import annotations

from typing import Annotated

import typer

from fpbandits.cli.options import ProblemName, whole_number


def lab(
    problem: ProblemName = "paper:two",
    port: Annotated[int, whole_number("--port", "N", "The port; 0 for any free one.")] = 0,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Show a service's experiments: sqlite:///FILE or postgresql://…"
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Edit, play and watch a set of models on a web page.

    The page is served to this machine only, and loads nothing from elsewhere. Ctrl-C ends it.
    """
    from fpbandits.core.extras import needed_for
    from fpbandits.errors import InputError
    from fpbandits.problem.files import load_problem
    from fpbandits.service.store import open_store

    if not 0 <= port <= 65535:
        raise InputError(f"--port {port} is not a port: give 1 to 65535, or 0 for any free one")
    loaded = load_problem(problem)
    with needed_for("the lab", "lab"):
        from fpbandits.lab.server import serve
    opened = None if store is None else open_store(store)
    serve(loaded, port, store=opened, open_browser=browser)
