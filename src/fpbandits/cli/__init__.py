"""The command line: ``fpbandits analyze | simulate | sweep | fit | …``.

One command per file. A command parses its options, calls the library and prints the result.
``--help`` prints its docstring and the options in its signature. Slow imports are inside the
commands, so that ``--help`` is fast.
"""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit; see `fpbandits.cli.app.run`."""
    try:
        # Imported here, so that Ctrl-C during the import is caught too.
        from fpbandits.cli.app import run

        run(arguments)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
