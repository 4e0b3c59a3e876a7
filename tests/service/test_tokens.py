"""Tokens: hashed in a file, one role each."""

from __future__ import annotations

import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from fpbandits.errors import InputError
from fpbandits.service import tokens
from fpbandits.service.statuses import ForbiddenError
from fpbandits.service.tokens import (
    FORWARDED,
    Access,
    Role,
    Roles,
    TokenFile,
    Tokens,
    add_token,
    authorize,
    is_loopback,
    read_tokens,
)


def role_of(known: Roles, token: str) -> str | None:
    found = known.access(token)
    return found and found.role


def test_a_token_is_for_some_experiments_or_for_all(tmp_path: Path) -> None:
    file, here = tmp_path / "tokens", "prix, été/100%"
    some = add_token(file, "decide", "the shop", ["pricing", here])
    every, watching = add_token(file, "admin"), add_token(file, "metrics")
    known = read_tokens(file)
    assert known.access(some) == Access("decide", frozenset({"pricing", here}))
    assert known.access(every) == Access("admin")

    def may(token: str, role: Role, experiment: str | None) -> bool:
        try:
            authorize(known, {"authorization": f"Bearer {token}"}, role, experiment)
        except ForbiddenError:
            return False
        return True

    assert all(may(some, "decide", name) for name in ("pricing", here))
    assert not any(may(some, "decide", name) for name in ("other", "pricing,", "", None))
    assert not may(some, "admin", "pricing")
    assert not may(some, "metrics", None)  # they are of all experiments
    roles: tuple[Role, ...] = ("decide", "admin", "metrics")
    assert [may(every, role, None) for role in roles] == [True, True, True]
    assert [may(watching, role, None) for role in roles] == [False, False, True]
    with pytest.raises(InputError, match="not for single experiments"):
        add_token(file, "metrics", experiments=["pricing"])


def test_a_token_is_known_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    decide = add_token(file, "decide", "the shop")
    admin = add_token(file, "admin")
    lines = file.read_text().splitlines()
    assert lines == [
        f"decide {hashlib.sha256(decide.encode()).hexdigest()} the shop",
        f"admin {hashlib.sha256(admin.encode()).hexdigest()}",
    ]
    assert len(decide) == 43  # 32 bytes in base 64
    assert decide != admin
    found = read_tokens(file)
    assert [role_of(found, token) for token in (decide, admin)] == ["decide", "admin"]
    for wrong in ("", "x", decide[:-1], decide + "x", decide.upper(), "é", "\udcff"):
        assert role_of(found, wrong) is None


def test_every_line_is_compared_whatever_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    known = [add_token(file, "decide") for _ in range(3)]
    compared: list[str] = []
    true_comparison = hmac.compare_digest

    def compare(first: str, second: str) -> bool:
        compared.append(second)
        return true_comparison(first, second)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    found = read_tokens(file)
    for token in (*known, "wrong", ""):
        compared.clear()
        role_of(found, token)
        assert compared == [hashlib.sha256(each.encode()).hexdigest() for each in known]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no token"),
        (b"# only a remark\n\n", "holds no token"),
        (b"secret-token-itself\n", "row 1: a line begins with decide, admin, metrics"),
        (b"\ndecide secret-token-itself\n", "row 2: after decide comes the SHA-256"),
        (b"admin\n", "row 1: after admin comes"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_and_no_secret(
    tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_tokens(file)
    assert "secret" not in str(caught.value)


def test_bad_roles_and_remarks_leave_the_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    with pytest.raises(InputError, match="unknown role 'root'"):
        add_token(file, "root")
    with pytest.raises(InputError, match="one line"):
        add_token(file, "decide", "two\nadmin lines")
    assert not file.exists()
    file.write_text("something else")
    with pytest.raises(InputError, match="row 1"):
        add_token(file, "decide")
    assert file.read_text() == "something else"


def test_a_file_whose_last_line_is_deleted_admits_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    token = add_token(file, "admin")
    monkeypatch.setattr(tokens, "_CHECK_SECONDS", 0.0)
    known = TokenFile(file)
    file.write_text("# revoked\n")
    assert role_of(known, token) is None
    again = add_token(file, "admin")
    assert [role_of(known, each) for each in (token, again)] == [None, "admin"]


def test_a_file_that_changes_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens"
    first = add_token(file, "decide")
    monkeypatch.setattr(tokens, "_CHECK_SECONDS", 0.0)
    known = TokenFile(file)
    assert role_of(known, first) == "decide"
    second = add_token(file, "admin")
    assert [role_of(known, each) for each in (first, second)] == ["decide", "admin"]
    file.write_text("\n".join(file.read_text().splitlines()[1:]))  # the first is revoked
    assert [role_of(known, each) for each in (first, second)] == [None, "admin"]
    for wrong in ("not a line", "admin"):
        file.write_text(wrong)
        assert role_of(known, second) == "admin"
    file.unlink()
    assert role_of(known, second) == "admin"
    assert [record.levelname for record in caplog.records].count("ERROR") == 3


def test_a_file_is_looked_at_once_per_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, clock = tmp_path / "tokens", [1000.0]
    token = add_token(file, "decide")
    monkeypatch.setattr(tokens, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    known, looked = TokenFile(file), list[float]()
    monkeypatch.setattr(tokens, "_fingerprint", lambda path: looked.append(clock[0]))
    for clock[0] in (1000.0, 1000.75, 1001.0, 1001.5, 1001.75, 1002.0, 1009.0):
        assert role_of(known, token) == "decide"
    assert looked == [1001.0, 1002.0, 1009.0]


def test_a_file_that_could_not_be_read_for_a_while_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    token = add_token(file, "decide")
    monkeypatch.setattr(tokens, "_CHECK_SECONDS", 0.0)
    known = TokenFile(file)
    add_token(file, "admin")
    file.write_text(file.read_text().splitlines()[1])  # the first is revoked
    with monkeypatch.context() as unreadable:
        unreadable.setattr(tokens, "read_tokens", Mock(side_effect=InputError("not yours")))
        assert role_of(known, token) == "decide"
    file.chmod(0o640)
    assert role_of(known, token) is None


def test_tokens_made_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: add_token(file, "decide", str(n)), range(40)))
    known = read_tokens(file)
    assert {role_of(known, token) for token in made} == {"decide"}


def test_a_file_that_another_process_has_just_made_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.touch()
    token = add_token(file, "decide")
    assert role_of(read_tokens(file), token) == "decide"


def test_the_mode_of_a_file_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    add_token(file, "decide")
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    file.write_text(file.read_text().rstrip("\n"))
    add_token(file, "admin")
    assert file.stat().st_mode & 0o777 == 0o640
    assert len(file.read_text().splitlines()) == 2


def test_the_hash_of_nothing_admits_nobody(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    nothing = hashlib.sha256(b"").hexdigest()
    file.write_text(f"admin {nothing}\n")
    with pytest.raises(InputError, match="row 1"):
        read_tokens(file)
    assert Tokens([(Access("admin"), nothing)]).access("") is None


@pytest.mark.parametrize("name", sorted(FORWARDED))
def test_without_tokens_nothing_is_served_to_a_proxy(name: str) -> None:
    here = {"host": "127.0.0.1:8000"}
    authorize(None, here, "admin")
    with pytest.raises(ForbiddenError, match="a proxy passes on"):
        authorize(None, {**here, name: "192.0.2.1"}, "decide")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_addresses(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.org", "localhost.x"])
def test_addresses_that_others_can_reach(host: str) -> None:
    assert not is_loopback(host)
