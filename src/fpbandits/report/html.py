"""HTML pages that need nothing but themselves: no scripts, no network, pictures inside.

They are made of text and figures, read well on a telephone and on paper, and are the same bytes
for the same content. What a page says and looks like is in ``templates/``.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any


def fill(template: str, **content: Any) -> str:
    """Return a page: a template, filled. What is filled in is text, and never markup."""
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
    return environment.get_template(template).render(content)


def _inside(svg: bytes) -> str:
    """Return the address of a picture that is inside the page."""
    return "data:image/svg+xml;base64," + b64encode(svg).decode()
