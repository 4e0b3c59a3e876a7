"""Every public name, command, option, field and endpoint is in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from generate import openapi, reference
from typer.main import get_command

import fpbandits
from fpbandits.cli.app import COMMANDS, app
from fpbandits.engine.options import options
from fpbandits.families import FAMILIES
from fpbandits.policies import POLICIES, SMALL
from fpbandits.problem.files import _COMMON_FIELDS as COMMON_FIELDS
from fpbandits.sweep.study import _FIELDS as STUDY_FIELDS


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference()


def section(page: str, title: str) -> str:
    """Return the part of a page under a heading."""
    (found,) = re.findall(rf"^## {re.escape(title)}(?:,.*?)?\n.*?(?=^## |\Z)", page, re.M | re.S)
    return str(found)


def test_every_command_and_option_is_there(pages: dict[str, str]) -> None:
    group = get_command(app)
    for name in COMMANDS:
        part = section(pages["commands"], name)
        for option in group.commands[name].params:  # type: ignore[attr-defined]
            assert option.help, (name, option.name)
            assert all(f"`{flag}" in part for flag in option.opts if flag.startswith("-"))


def test_words_of_options_are_written_as_they_are_typed(pages: dict[str, str]) -> None:
    """Upper case, as in GEOMETRIC:N, would be refused."""
    for written in (r"`--delay N\|geometric:N\|batch:N`", r"`--missing drop\|refuse`"):
        assert written in pages["commands"]


def test_every_public_name_is_there_once(pages: dict[str, str]) -> None:
    text = "".join(page for name, page in pages.items() if name.startswith("python-"))
    named = re.findall(r"^\.\. auto(?:class|function):: fpbandits\.(\w+)$", text, re.M)
    assert sorted(named) == dir(fpbandits)
    assert all(getattr(fpbandits, name).__doc__ for name in named)


def test_every_policy_and_option_is_there(pages: dict[str, str]) -> None:
    for name, kind in (POLICIES | SMALL).items():
        part = section(pages["policies"], name)
        for option in options(kind):
            (meaning,) = re.findall(rf"^\| `{option}` \| `.*?` \| (.*) \|$", part, re.M)
            assert meaning


def test_every_endpoint_and_field_is_there(pages: dict[str, str]) -> None:
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items():
            part = section(pages["http"], f"{method.upper()} {path}")
            for parameter in operation["parameters"]:
                assert f"`{parameter['name']}`" in part
            content = operation.get("requestBody", {}).get("content", {})
            for media in content.values():
                for field in media["schema"].get("anyOf", [media["schema"]])[0]["properties"]:
                    assert f"| `{field}` |" in part


def test_every_field_of_a_file_is_there() -> None:
    page = (Path(__file__).parents[1] / "docs" / "formats.md").read_text()
    families = FAMILIES.values()
    problem = {field for family in families for field in (*family.fields, *family.optional)}
    for field in (*COMMON_FIELDS, *problem, "cost"):
        assert re.search(rf"`{field}( = |`)", page), field
    for family in families:
        assert f'`"{family.name}"' in page
    for field in STUDY_FIELDS:
        assert f"`{field}`" in section(page, "Studies"), field
