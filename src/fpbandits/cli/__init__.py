"""The command line: ``fpbandits analyze | simulate | sweep | fit | …``.

One command per file. A command turns words into calls of the library and results into text; its
docstring and the options in its signature are what ``--help`` prints. Heavy imports stand inside
the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit; see `fpbandits.cli.app.run`."""
    try:
        # Here, so that Ctrl-C may come while it is imported.
        from fpbandits.cli.app import run

        run(arguments)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
