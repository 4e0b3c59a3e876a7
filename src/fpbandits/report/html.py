"""HTML pages that need nothing but themselves: no scripts, no network, pictures inside.

They are made of text and figures, read well on a telephone and on paper, in the light and in the
dark, and are the same bytes for the same content. What a page says and looks like is in
``templates/``.
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
_POWER = re.compile(r"\^(?:\(([^)]*)\)|([A-Za-z0-9]+))")
_FIXED = "\u00a0"
"""A space at which no line is broken."""
_LARGE = re.compile(r"(?<![\w.,-])\d{4,}(?!\w)")


def fill(template: str, **content: Any) -> str:
    """Return a page from a template; its content is escaped."""
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
    environment.filters["inside"] = _inside
    environment.filters["typeset"] = typeset
    return environment.get_template(template).render(content)


def typeset(text: str) -> Markup:
    """Return a text with its symbols and numbers as they are printed, ready for a page.

    >>> print(typeset("C_i > k^(7/2), -0.5 or 23260"))
    C<sub>i</sub> &gt; k<sup>7/2</sup>, −0.5 or 23,260
    """
    from markupsafe import Markup, escape

    text = as_written(text.replace("T=", "T = ").replace("θ'", "θ′"))
    text = re.sub(r"(?:near |beyond )?T = beyond ", "far beyond T = ", text)
    text = re.sub(r"(?<![\w.)\]])-(?=\d)", "−", text)
    text = _LARGE.sub(lambda found: f"{int(found[0]):,}", text)
    text = re.sub(r"(?<=\d) ?%", f"{_FIXED}%", text)
    # A line that ends in "T =" is hard to read.
    text = re.sub(r"\bT = (?=\d)", f"T{_FIXED}={_FIXED}", text).replace(
        " · 10", f"{_FIXED}·{_FIXED}10"
    )
    text = str(escape(text))
    text = _SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{found[2] or found[3]}</sub>", text)
    return Markup(_POWER.sub(lambda found: f"<sup>{found[1] or found[2]}</sup>", text))


def _inside(svg: bytes) -> str:
    """Return a picture as a data URL."""
    return "data:image/svg+xml;base64," + b64encode(svg).decode()
