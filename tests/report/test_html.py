"""Pages hold text as text, and nothing that is missing goes unnoticed."""

from __future__ import annotations

import base64

import pytest
from jinja2 import DictLoader, Environment, PackageLoader, UndefinedError

from fpbandits.report.html import fill, typeset


@pytest.fixture
def templates(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Templates in the place of the package's own."""
    found: dict[str, str] = {}
    monkeypatch.setattr("jinja2.PackageLoader", lambda package: DictLoader(found))
    return found


def test_what_is_filled_in_is_never_markup(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = '<p title="{{ text }}">{{ text }}</p>'
    page = fill("a.html.j2", text='<script>alert("θ")</script>')
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#34;θ&#34;)&lt;/script&gt;") == 2


def test_commands_leave_no_lines_and_no_spaces(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = "<ul>\n  {% if text %}\n  <li>{{ text }}</li>\n  {% endif %}\n</ul>\n"
    assert fill("a.html.j2", text="x") == "<ul>\n  <li>x</li>\n</ul>\n"


def test_what_is_missing_is_an_error(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = "{{ misspelt }}"
    with pytest.raises(UndefinedError, match="misspelt"):
        fill("a.html.j2", text="")


def test_pictures_are_inside_the_page(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = '<img src="{{ svg | data_url }}">'
    start, content = fill("a.html.j2", svg=b"<svg/>").removesuffix('">').split(";base64,")
    assert start == '<img src="data:image/svg+xml'
    assert base64.b64decode(content) == b"<svg/>"


def test_the_frame_of_every_page_needs_nothing_from_elsewhere() -> None:
    environment = Environment(loader=PackageLoader("fpbandits.report"), autoescape=True)
    blocks = "{% block title %}T{% endblock %}{% block body %}B{% endblock %}"
    frame = environment.from_string('{% extends "page.html.j2" %}' + blocks).render()
    assert frame.lstrip().startswith("<!DOCTYPE html>")
    assert "<title>T</title>" in frame
    for word in ("script", "url(", "@import", "http:", "https:"):
        assert word not in frame


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("C_i and D_1, Σ_{k≥4} k^(7/2), e^x", "C<sub>i</sub> and D<sub>1</sub>, Σ<sub>k≥4</sub> "
         "k<sup>7/2</sup>, e<sup>x</sup>"),
        ("12 ln T/β_i² of α_1(θ')", "12 ln T/β<sub>i</sub>² of α<sub>1</sub>(θ′)"),
        ("a < b & c_i", "a &lt; b &amp; c<sub>i</sub>"),
        ("from T=1e6 to 5.2e4", "from T = 10⁶ to 52,000"),
        ("of 1.18964e+09", "of 1.18964 · 10⁹"),
        ("is -0.05 (-1.5 … 2), grid-6, k-2326", "is −0.05 (−1.5 … 2), grid-6, k-2326"),
        ("19380.7, 2326, 0.12345, 1,472.28", "19,380.7, 2,326, 0.12345, 1,472.28"),
        ("holds beyond T=4.1e193", "holds far beyond T = 10¹⁰⁰"),
        ("would meet near T=4.1e193", "would meet far beyond T = 10¹⁰⁰"),
        ("level 0.1%, 5 %", "level 0.1 %, 5 %"),
        ("snake_case stays", "snake_case stays"),
    ],
)  # fmt: skip
def test_symbols_and_numbers_are_typeset(text: str, shown: str) -> None:
    assert typeset(text).replace("\u00a0", " ") == shown


def test_no_line_ends_before_a_number() -> None:
    assert typeset("at T=1.2e8, 5 %") == "at T\u00a0=\u00a01.2\u00a0·\u00a010⁸, 5\u00a0%"


def test_what_is_typeset_is_not_escaped_twice_nor_never(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = "{{ text | typeset }}"
    assert fill("a.html.j2", text="<b> C_i") == "&lt;b&gt; C<sub>i</sub>"
