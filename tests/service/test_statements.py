"""Migrations, and the schema that they lead to. What they do to old stores: test_upgrade."""

from __future__ import annotations

import pytest

from fpbandits.agent import state as agent_state
from fpbandits.service.statements import SCHEMA, migrations


def test_both_stores_have_the_same_tables() -> None:
    for table in ("experiments", "units", "events"):
        for name, prefix in (("sqlite", ""), ("postgres", "fpbandits.")):
            ((_, first), *_) = migrations(name, 0)
            assert any(f"CREATE TABLE {prefix}{table} (" in each for each in first)


def test_a_change_of_what_agents_keep_is_a_change_of_stores() -> None:
    """Units' states are agents' own, without the agent's schema: both move together."""
    assert (SCHEMA, agent_state.SCHEMA) == (3, 2)


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_migrations_are_numbered_from_1_to_the_schema(name: str) -> None:
    assert [number for number, _ in migrations(name, 0)] == list(range(1, SCHEMA + 1))
    assert [number for number, _ in migrations(name, 1)] == list(range(2, SCHEMA + 1))
    assert not any("--" in each for _, wanted in migrations(name, 0) for each in wanted)
