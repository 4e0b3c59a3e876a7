"""Optional dependencies, and what to install if one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fpbandits.errors import InputError


@contextmanager
def needed_for(what: str, extra: str, otherwise: str = "") -> Iterator[None]:
    """Turn a failed import in this block into an error that names the extra to install.

    ``otherwise`` ends the message, with another way out.

    >>> with needed_for("drawing", "plot"):
    ...     import matplotlib_of_yore
    Traceback (most recent call last):
    fpbandits.errors.InputError: drawing needs matplotlib_of_yore: pip install 'fpbandits[plot]'
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "more packages").partition(".")[0]
        raise InputError(
            f"{what} needs {package}: pip install 'fpbandits[{extra}]'{otherwise}"
        ) from None
