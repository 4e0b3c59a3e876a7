"""Where a store is, by its address. What stores do: tests/helpers/stores.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.service.store import open_store


def test_a_sqlite_file_has_three_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///a.db", make=True).close()
    for address in ("sqlite:///a.db", f"sqlite:///{tmp_path}/a.db", "a.db"):
        open_store(address).close()
    assert Path("a.db").exists()


@pytest.mark.parametrize(
    "address", ["", "mysql://me:secret@host/db", "sqlite://a.db", "sqlite:///", "sqlite://"]
)
def test_what_is_no_address_is_refused_and_no_password_shown(address: str) -> None:
    with pytest.raises(InputError, match=r"sqlite:///FILE") as caught:
        open_store(address, make=True)
    assert "secret" not in str(caught.value)


def test_without_psycopg_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "fpbandits.service.postgres", raising=False)
    with pytest.raises(InputError, match=r"pip install 'fpbandits\[postgres\]'"):
        open_store("postgresql://127.0.0.1:1/none")
