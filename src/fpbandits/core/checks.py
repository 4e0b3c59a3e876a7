"""Validation of the caller's arguments: numbers, names, ranges, paths.

Everything else trusts its arguments. Names are returned as plain `str` and arrays as plain
`ndarray`, whatever subclass they were.
"""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Collection, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from fpbandits.core.arrays import TOLERANCE
from fpbandits.errors import InputError, Name, quote, unknown, wrong_type, wrong_value

Numbers = Sequence[Any] | np.ndarray[Any, Any]
"""Nested sequences of numbers, or an array."""

Range = tuple[float, float]
"""The lowest and the highest reward, in the user's units."""

_LONGEST_NAME = 1_000
"""Characters of a name."""

_MOST_DIGITS = 1_000
"""Digits of a whole number."""

LARGEST = 1e100
"""The largest reward, in the user's units: its square is finite. `amount` writes no larger one."""

_DIRECTIONS = ("LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Unicode's names for controls that reverse the direction of the text after them."""


def is_list(value: object) -> TypeGuard[Numbers]:
    """Return whether a value is a sequence or an array, and not a text."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    texts = str | bytes | bytearray | memoryview
    return isinstance(value, Sequence) and not isinstance(value, texts)


def plain_list(value: Numbers) -> Numbers:
    """Return a list as a plain list and an array as a plain array, without their subclasses.

    A row of a matrix is a matrix again, and a masked array hides some of its values.
    """
    if not isinstance(value, np.ndarray):
        return list(value)
    if isinstance(value, np.ma.MaskedArray):
        raise InputError("a masked array may lack values: fill it, or leave them out")
    return np.asarray(value)


def plain_text(text: str) -> str:
    """Return a text as a plain `str`: a subclass may print, compare and hash differently.

    >>> plain_text(np.str_("loyal"))
    'loyal'
    """
    return str.__str__(text)


def is_real(value: object) -> bool:
    """Return whether a value is a real number; booleans and time spans are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def flag(what: str, value: object) -> bool:
    """Return True or False, or raise an error if the value is neither."""
    if not isinstance(value, bool | np.bool_):
        raise wrong_type(what, value, "True or False")
    return bool(value)


def checked_path(given: object) -> Path:
    """Return a path, or raise an error if it is not one or too long for any file system."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise InputError(f"expected the path of a file or folder, not {quote(given)}")
    checked = Path(plain_text(path))
    # File systems allow 255 bytes for a name, and operating systems 4,095 for a path.
    lengths = [len(part.encode(errors="surrogatepass")) for part in checked.parts]
    if any(length > 255 for length in lengths) or sum(lengths) + len(lengths) > 4000:
        too_long = "this path is longer than any that a file can have"
        raise InputError(too_long, place=(quote(str(checked)),))
    return checked


def whole_number(
    what: str, value: object, *, least: int = 0, most: int | None = None, why: str = ""
) -> int:
    """Return ``value`` as an int, or raise an error if it is not a whole number within limits.

    ``why`` explains the upper limit.

    >>> whole_number("horizon", 1e6, least=1)
    1000000
    """
    if not is_real(value):
        raise wrong_type(what, value, "a whole number")
    real: Any = value
    try:
        integer = int(real)
        whole = bool(integer == real)
    except (OverflowError, ValueError):  # it is infinite, or not a number
        whole = False
    if not whole:
        raise wrong_value(what, value, "be a whole number")
    if integer < least:
        raise wrong_value(what, value, f"be at least {least}")
    # Results and agents are saved as text, and Python does not write much longer integers.
    if integer >= 10**_MOST_DIGITS:
        raise wrong_value(what, value, f"have at most {_MOST_DIGITS:,} digits")
    if most is not None and integer > most:
        raise wrong_value(what, value, f"be at most {most:,}{f', {why}' if why else ''}")
    return integer


def number(value: object, *place: Name) -> float:
    """Return a finite float, or raise an error at this location."""
    if isinstance(value, bool | np.bool_):
        raise InputError(f"expected a number, not the boolean {value}", place=place)
    if not is_real(value):
        kind = "the text " if isinstance(value, str) else ""
        raise InputError(f"expected a number, not {kind}{quote(value)}", place=place)
    given: Any = value
    try:
        real = float(given)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise InputError(f"{quote(value)} is not a finite number", place=place)
    return real


def checked_name(owner: Name, name: object, *, most: int = _LONGEST_NAME) -> str:
    """Return a name that can be shown anywhere, or raise an error."""
    if not isinstance(name, str):
        raise InputError(f"its name must be a text, not {quote(name)}", place=(owner,))
    name = plain_text(name)
    if not name.strip():
        raise InputError("its name is empty", place=(owner,))
    if len(name) > most:
        raise InputError(f"its name has {len(name):,} of {most} letters", place=(owner,))
    if printable(name) != name:
        raise InputError(f"its name {quote(name)} has a control character", place=(owner,))
    if name != name.strip():
        raise InputError(f"its name {quote(name)} has spaces around it", place=(owner,))
    return name


def known_name(kind: str, name: object, known: Collection[str]) -> str:
    """Return a name if it is a known one, or raise an error that lists them."""
    if not isinstance(name, str):
        article = "an" if kind[0] in "aeiou" else "a"
        hint = f": write {quote(str(name))}" if str(name) in known else ""
        reason = f"{article} {kind} is named by a text, not {quote(name)}{hint}"
        raise InputError(reason, about=(kind,))
    name = plain_text(name)
    if name not in known:
        raise unknown(kind, name, known)
    return name


def printable(text: str) -> str:
    r"""Return a text with control and direction characters escaped.

    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(letter: str) -> str:
    # Other unprintable characters are harmless, such as those that join emoji.
    breaks = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
    turns = unicodedata.bidirectional(letter) in _DIRECTIONS
    return repr(letter)[1:-1] if breaks or turns else letter


def checked_range(given: object) -> Range:
    """Return the lowest and the highest reward, after checking that they can map to 0 and 1."""
    ends: Any = given
    if not is_list(ends) or len(ends) != 2:
        raise wrong_type("range", given, "[lowest, highest]")
    low, high = (number(value, "range") for value in plain_list(ends))
    text = f"range {range_text((low, high))}"
    if not low < high:
        raise InputError(f"{text}: the lowest must be below the highest", about=("range",))
    width, size = high - low, max(-low, high)
    # Regret is a multiple of the width, so the width must not be extreme either.
    if size > LARGEST or width < 1e-100 or math.ulp(size) > TOLERANCE * width:
        raise InputError(
            f"{text}: floating point cannot map it to [0, 1] with twelve digits; shift or scale "
            "the rewards",
            about=("range",),
        )
    return low, high


def number_text(value: float) -> str:
    """Return a number for a message: twelve digits, or more if it has more."""
    return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(float(value))


def amount(value: float | None) -> str:
    """Return a number as people write it in a table: four digits, and words where it is large.

    >>> amount(0.22012), amount(19552.31), amount(2117154.1), amount(3e17), amount(1e193)
    ('0.2201', '19,552.3', '2.12 million', '3·10^17', 'beyond 10^100')
    """
    if value is None or math.isnan(value):
        return ""
    if value < 0:
        return f"-{amount(-value)}"
    if value > LARGEST:
        return "beyond 10^100"
    if round(value, 1) < 1e6:
        return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"
    digits, _, exponent = f"{value:.2e}".partition("e+")
    power = int(exponent)
    words = {6: " million", 9: " billion", 12: " trillion"}
    thousands = power // 3 * 3
    if thousands in words:
        return f"{float(digits) * 10 ** (power - thousands):.3g}{words[thousands]}"
    return f"{float(digits):g}·10^{power}"


def range_text(limits: Range) -> str:
    """Return a range for a message."""
    return f"[{number_text(limits[0])}, {number_text(limits[1])}]"
