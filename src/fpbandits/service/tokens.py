"""Who may: bearer tokens, from a file that holds only their hashes.

A line per token: its role, the SHA-256 of the token in hexadecimal, and a remark if you like::

    decide 5d41…  the shop's web servers
    admin  9b74…  deployment

*decide* may ask for decisions, tell rewards and look at units; *admin* may do all that, make
experiments and read the log. Tokens are random and long, so that a plain hash keeps them. Every
token given is compared with every line, in a time that does not depend on either.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from fpbandits.core.storage import read_whole, shown, write_aside
from fpbandits.errors import InputError, RefusedError, quote
from fpbandits.service.statuses import ForbiddenError

Role = Literal["decide", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

_HASH = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**20


class Tokens:
    """The hashes of tokens, and what each may do."""

    def __init__(self, lines: list[tuple[Role, str]]) -> None:
        self._lines = lines

    def role(self, token: str) -> Role | None:
        """Return what a token may do; None if it is unknown."""
        given = _hashed(token)
        found: Role | None = None
        for role, kept in self._lines:
            if hmac.compare_digest(given, kept):
                found = role
        return found


def read_tokens(path: Path) -> Tokens:
    """Read a file of tokens, and say in which line something is wrong."""
    try:
        text = read_whole(path, _LARGEST).decode()
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", place=(shown(path),)) from None
    lines: list[tuple[Role, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        # What stands there may be a token by mistake: it is not shown.
        word, _, rest = line.strip().partition(" ")
        role = next((role for role in ROLES if role == word), None)
        if role is None:
            wanted = f"a line begins with {' or '.join(ROLES)}"
            raise InputError(wanted, place=(shown(path), ("row", number)))
        kept = rest.split()[0] if rest.split() else ""
        if not _HASH.fullmatch(kept):
            raise InputError(
                f"after {role} comes the SHA-256 of the token, 64 hexadecimal digits; fpbandits "
                "token makes both"
            ).at(shown(path), ("row", number))
        lines.append((role, kept))
    if not lines:
        raise InputError("it holds no token; fpbandits token makes one", place=(shown(path),))
    return Tokens(lines)


def add_token(path: Path, role: str, remark: str = "") -> str:
    """Make a token, add its hash to a file, and return it: it is kept nowhere else."""
    if role not in ROLES:
        raise InputError(f"unknown role {quote(role)}: expected {' or '.join(ROLES)}")
    if not remark.isprintable():
        raise InputError(f"the remark {quote(remark)} must be one line")
    before = ""
    if path.exists():
        read_tokens(path)
        before = read_whole(path, _LARGEST).decode()
        before += "" if before.endswith("\n") else "\n"
    token = secrets.token_urlsafe(32)
    line = f"{role} {_hashed(token)} {remark}".rstrip()
    write_aside(path, f"{before}{line}\n".encode())
    return token


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def authorize(tokens: Tokens | None, headers: Mapping[str, str], role: Role) -> None:
    """Refuse a request unless its token has a role.

    Without tokens it is enough to be on this machine. A browser is, too: so what a page from
    elsewhere sends through it is refused.
    """
    if tokens is None:
        _refuse_pages(headers.get("host", ""), headers.get("origin"))
        return
    kind, _, token = headers.get("authorization", "").partition(" ")
    found = tokens.role(token.strip() if kind.lower() == "bearer" else "")
    if found is None:
        raise RefusedError("a token is needed: Authorization: Bearer TOKEN")
    if role == "admin" and found != "admin":
        raise ForbiddenError("this token is for deciding, and this needs one for administering")


@lru_cache(100)  # few are refused, and all others say the same
def _refuse_pages(host: str, origin: str | None) -> None:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        elsewhere = origin is not None and urlsplit(origin).netloc != host
    except ValueError:  # half a bracket
        raise ForbiddenError("without tokens, Host and Origin must be addresses") from None
    if not is_loopback(name):
        raise ForbiddenError("without tokens, only requests to a loopback address are served")
    if elsewhere:
        raise ForbiddenError("without tokens, pages from elsewhere are not served")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
