"""The command line: ``fpbandits analyze | simulate | sweep | reproduce | leaderboard | policies``.

One command per file. A command turns words into calls of the library and results into text; its
docstring and the options in its signature are what ``--help`` prints. Heavy imports stand inside
the commands, so that ``--help`` answers at once.
"""

from fpbandits.cli.app import main

__all__ = ["main"]
