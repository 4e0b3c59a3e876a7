r"""The eligible arms of a decision as a cell of a log: names joined by ``|``.

In a name, ``|`` is written ``\|`` and ``\`` is written ``\\``. Other backslashes stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def arms_to_text(arms: Iterable[str]) -> str:
    r"""Return names of arms as a cell.

    >>> print(arms_to_text(["9 EUR", "12|15 EUR"]))
    9 EUR|12\|15 EUR
    """
    return "|".join(re.sub(r"[\\|]", r"\\\g<0>", arm) for arm in arms)


def text_to_arms(text: str) -> list[str]:
    """Return the names of arms in a cell, without the spaces around them."""
    names = re.findall(r"((?:\\[\\|]|[^|])*)\|", text + "|")
    return [re.sub(r"\\([\\|])", r"\1", name.strip()) for name in names]
