"""Self-contained HTML pages from the Jinja templates in ``templates/``.

Pages use no scripts and no network, and pictures are embedded. The same content gives the same
bytes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from fpbandits.core.extras import needed_for
from fpbandits.report.times import as_written

if TYPE_CHECKING:
    from markupsafe import Markup

_SUBSCRIPT = re.compile(r"(?<![A-Za-z])([A-Za-zΑ-Ωα-ω])_(?:\{([^}]*)\}|([A-Za-z0-9]+))")
"""A single letter with a subscript: D_1, C_i or Σ_{i∈C}."""

_POWER = re.compile(r"\^(?:\(([^)]*)\)|([A-Za-z0-9]+))")
"""A power: ^2, ^n or ^(7/2)."""

_LONG_INTEGER = re.compile(r"(?<![\w.,-])\d{4,}(?!\w)")
_NO_BREAK = "\u00a0"
"""A space at which no line is broken."""


def fill(template: str, **content: Any) -> str:
    """Return a page from a template; texts are escaped."""
    with needed_for("a page", "plot"):
        from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fpbandits.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["data_url"] = data_url
    environment.filters["typeset"] = typeset
    return environment.get_template(template).render(content)


def typeset(text: str) -> Markup:
    """Return a text as HTML, with subscripts, powers, minus signs and numbers typeset.

    >>> print(typeset("C_i > k^(7/2), -0.5 or 23260"))
    C<sub>i</sub> &gt; k<sup>7/2</sup>, −0.5 or 23,260
    """
    from markupsafe import Markup, escape

    text = as_written(text.replace("T=", "T = ").replace("θ'", "θ′"))
    # `as_written` turns numbers too large to print into "beyond 10¹⁰⁰": move that word forward.
    text = re.sub(r"(?:near |beyond )?T = beyond ", "far beyond T = ", text)
    text = re.sub(r"(?<![\w.)\]])-(?=\d)", "−", text)
    text = _LONG_INTEGER.sub(lambda match: f"{int(match[0]):,}", text)
    text = re.sub(r"(?<=\d) ?%", f"{_NO_BREAK}%", text)
    # No line break after "T =" or before "· 10".
    text = re.sub(r"\bT = (?=\d)", f"T{_NO_BREAK}={_NO_BREAK}", text).replace(
        " · 10", f"{_NO_BREAK}·{_NO_BREAK}10"
    )
    text = str(escape(text))
    text = _SUBSCRIPT.sub(lambda match: f"{match[1]}<sub>{match[2] or match[3]}</sub>", text)
    return Markup(_POWER.sub(lambda match: f"<sup>{match[1] or match[2]}</sup>", text))


def data_url(picture: bytes, kind: str = "svg+xml") -> str:
    """Return a picture as a URL that contains it."""
    return f"data:image/{kind};base64,{b64encode(picture).decode()}"
