"""HTML pages that need nothing but themselves: no scripts, no network, pictures inside.

They are made of text and figures, read well on a telephone and on paper, and are the same bytes
for the same content.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from html import escape

_STYLE = """
:root { --ink: #1c1c1e; --soft: #5c5f66; --line: #d9dbe0; --paper: #ffffff; --tint: #f5f6f8; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 74rem; padding: 1.5rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans",
  sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0 .75rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 2rem 0 .4rem; }
p { margin: .5rem 0 1rem; max-width: 48rem; }
a { color: #0b5394; }
code { font-size: .92em; background: var(--tint); padding: .1em .3em; border-radius: 3px; }
nav a { display: inline-block; margin: 0 1.1rem .3rem 0; }
.figures { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fit,
  minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; break-inside: avoid; }
figure img { width: 100%; height: auto; display: block; }
figcaption { font-size: .9rem; color: var(--soft); padding: .3rem .25rem 0; max-width: 38rem; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .82rem;
  font-weight: 600; white-space: nowrap; border: 1px solid; margin-right: .4rem; }
.holds { color: #0a5d3f; background: #e3f4ec; border-color: #0a5d3f55; }
.beyond { color: #7a4a00; background: #fdf1d8; border-color: #7a4a0055; }
.fails { color: #9a1c1c; background: #fbe6e4; border-color: #9a1c1c55; }
.tally { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0 1.5rem; padding: 0; }
.tally .badge { font-size: 1rem; padding: .25rem .9rem; }
ul.verdicts { list-style: none; margin: 0 0 1rem; padding: 0; }
ul.verdicts li { display: flex; gap: .75rem; align-items: baseline; padding: .3rem 0;
  border-bottom: 1px solid var(--line); }
ul.verdicts li > :first-child { flex: 0 0 14rem; }
ul.verdicts li .badge { white-space: normal; }
article { border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem; margin: 1rem 0;
  break-inside: avoid; }
article h4 { margin: .35rem 0 .6rem; font-size: 1.02rem; }
article .id { color: var(--soft); font-size: .85rem; margin-left: .5rem; }
table { border-collapse: collapse; font-size: .9rem; margin: 0 0 1rem; }
th, td { text-align: left; padding: .15rem 1.2rem .15rem 0; border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: 8rem 1fr; gap: .35rem 1rem; margin: 0;
  font-size: .93rem; }
dt { color: var(--soft); }
dd { margin: 0; }
dd ul { margin: 0; padding-left: 1.1rem; }
li.lead { list-style: none; margin-left: -1.1rem; }
@media (max-width: 40rem) {
  body { padding: .75rem .8rem 3rem; }
  h1 { font-size: 1.35rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
  ul.verdicts li { display: block; }
}
@media print {
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  nav { display: none; }
  .figures { grid-template-columns: 1fr 1fr; }
  h2, h3 { break-after: avoid; }
}
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page; ``body`` is HTML."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # An empty icon keeps browsers from asking for one.
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def element(name: str, text: str, **attributes: str) -> str:
    """Return an element that holds plain text."""
    return wrapped(name, [escape(text)], **attributes)


def wrapped(name: str, content: Iterable[str], **attributes: str) -> str:
    """Return an element that holds HTML; ``kind`` is its class."""
    named = {("class" if key == "kind" else key): value for key, value in attributes.items()}
    given = "".join(f' {key}="{escape(value)}"' for key, value in named.items())
    return f"<{name}{given}>{''.join(content)}</{name}>"


def figure(svg: bytes, description: str, caption: str) -> str:
    """Return a figure with its picture inside the page."""
    source = "data:image/svg+xml;base64," + b64encode(svg).decode()
    image = f'<img src="{source}" alt="{escape(description)}">'
    return wrapped("figure", [image, element("figcaption", caption)])
