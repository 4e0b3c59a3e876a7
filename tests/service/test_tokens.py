"""Tokens: hashed in a file, one role each."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.service.tokens import add_token, is_loopback, read_tokens


def test_a_token_is_known_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    decide = add_token(file, "decide", "the shop")
    admin = add_token(file, "admin")
    lines = file.read_text().splitlines()
    assert lines == [
        f"decide {hashlib.sha256(decide.encode()).hexdigest()} the shop",
        f"admin {hashlib.sha256(admin.encode()).hexdigest()}",
    ]
    assert len(decide) > 40
    assert decide != admin
    tokens = read_tokens(file)
    assert [tokens.role(token) for token in (decide, admin)] == ["decide", "admin"]
    for wrong in ("", "x", decide[:-1], decide + "x", decide.upper(), "é", "\udcff"):
        assert tokens.role(wrong) is None


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
    tokens = read_tokens(file)
    for token in (*known, "wrong", ""):
        compared.clear()
        tokens.role(token)
        assert compared == [hashlib.sha256(each.encode()).hexdigest() for each in known]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no token"),
        (b"# only a remark\n\n", "holds no token"),
        (b"secret-token-itself\n", "row 1: a line begins with decide or admin"),
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


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_addresses(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.org", "localhost.x"])
def test_addresses_that_others_can_reach(host: str) -> None:
    assert not is_loopback(host)
