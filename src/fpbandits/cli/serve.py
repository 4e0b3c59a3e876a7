"""``fpbandits serve`` and ``token``: decisions over HTTP, and API tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fpbandits.cli import options
from fpbandits.errors import InputError


def serve(
    store: Annotated[
        str, typer.Option(metavar="URL", help="sqlite:///FILE, or postgresql://…")
    ] = "sqlite:///fpbandits.db",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, options.whole_number("--port", "N", "0 for any free port.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="API tokens; without it, only this machine may connect."),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Limits and how long things may take, in TOML."),
    ] = None,
) -> None:
    """Serve decisions over HTTP, until Ctrl-C.

    Every answer is in the store before it is sent, so a crash loses none. Several servers may share
    a PostgreSQL database.
    """
    from fpbandits.service.server import run_server
    from fpbandits.service.settings import read_settings
    from fpbandits.service.store import without_password

    run_server(
        store,
        host,
        port,
        token_file,
        lambda address: _say(f"serving at {address} from {without_password(store)}"),
        None if settings is None else read_settings(settings),
    )


def token(
    file: Annotated[Path, typer.Argument(help="The file of tokens; created if it does not exist.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="decide, admin or metrics.")] = "decide",
    experiment: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only for this experiment; may be repeated."),
    ] = None,
    remark: Annotated[str, typer.Option(metavar="TEXT", help="A note on whose token it is.")] = "",
) -> None:
    """Make an API token for a server.

    The token is printed, and its hash is added to a file for serve --token-file.
    """
    from fpbandits.service.tokens import add_token

    if experiment and "" in experiment:
        raise InputError("--experiment is empty: name an experiment, or leave it out for all")
    sys.stdout.write(f"{add_token(file, role, remark, experiment or ())}\n")
    _say(f"its hash is in {file}; the token itself is shown only now")


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
