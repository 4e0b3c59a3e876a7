"""Pages hold text as text, and nothing that is missing goes unnoticed."""

from __future__ import annotations

import base64

import pytest
from jinja2 import DictLoader, Environment, PackageLoader, UndefinedError

from fpbandits.report.html import fill


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


def test_what_is_missing_is_an_error(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = "{{ misspelt }}"
    with pytest.raises(UndefinedError, match="misspelt"):
        fill("a.html.j2", text="")


def test_pictures_are_inside_the_page(templates: dict[str, str]) -> None:
    templates["a.html.j2"] = '<img src="{{ svg | inside }}">'
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
