"""Where a store is, by its address. What stores do: tests/helpers/stores.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fpbandits.agent import state as agent_state
from fpbandits.errors import InputError
from fpbandits.service import store
from fpbandits.service.store import migrations, open_store


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


def test_both_stores_have_the_same_tables() -> None:
    for table in ("experiments", "units", "events"):
        for name, prefix in (("sqlite", ""), ("postgres", "fpbandits.")):
            ((_, first), *_) = migrations(name, 0)
            assert any(f"CREATE TABLE {prefix}{table} (" in each for each in first)


def test_a_change_of_what_agents_keep_is_a_change_of_stores() -> None:
    """Units' states are agents' own, without the agent's schema: both move together."""
    assert (store.SCHEMA, agent_state.SCHEMA) == (3, 2)


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_migrations_are_numbered_from_1_to_the_schema(name: str) -> None:
    assert [number for number, _ in migrations(name, 0)] == list(range(1, store.SCHEMA + 1))
    assert [number for number, _ in migrations(name, 1)] == list(range(2, store.SCHEMA + 1))
    assert not any("--" in each for _, wanted in migrations(name, 0) for each in wanted)
