"""Settings of a server: from a file, checked, each in its place."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.service.connections import limited_protocol
from fpbandits.service.settings import Settings, read_settings


def test_a_file_changes_some_settings_and_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("most_pending = 7\npatience = 2\naccess_log = true\n")
    assert read_settings(file) == Settings(most_pending=7, patience=2, access_log=True)
    file.write_text("")
    assert read_settings(file) == Settings()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("most_pendin = 7", "unknown setting 'most_pendin': did you mean 'most_pending'?"),
        ("most_pending = 0", "most_pending is 0: it must be at least 1"),
        ("most_pending = 1.5", "most_pending is 1.5: it must be a whole number"),
        ("patience = 0", "patience is 0: it must be above 0"),
        ("drain_seconds = -1", "drain_seconds is -1: it must be above 0"),
        ("patience = 'x'", "patience"),
        ("access_log = 1", "access_log"),
        ("patience", "not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_in_one_line(
    tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(content)
    with pytest.raises(InputError) as caught:
        read_settings(file)
    assert str(caught.value).startswith("limits.toml: ") or "limits.toml: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_setting_is_described() -> None:
    described = Settings.__doc__ or ""
    assert all(f"    {field.name}\n" in described for field in fields(Settings))


def test_defaults_are_those_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
    table = page.partition("| setting | default |")[2].partition("\n\n")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.M))
    assert {
        field.name: json.loads(documented.pop(field.name)) for field in fields(Settings)
    } == asdict(Settings())
    assert documented == {}


def test_connections_have_the_limits_of_the_settings() -> None:
    kind = limited_protocol(Settings(most_connections=3, largest_head=100, request_seconds=5))
    assert kind.most_connections == 3
    assert (kind.settings.largest_head, kind.settings.request_seconds) == (100, 5)
