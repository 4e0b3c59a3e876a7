"""API tokens: bearer tokens, from a file that holds only their hashes.

A line per token: its role, the SHA-256 of the token in hexadecimal, and a remark if you like. After
the role may stand the experiments that the token is for, escaped as in addresses::

    decide/pricing,checkout 5d41…  the shop's web servers
    admin                   9b74…  deployment
    metrics                 77f2…  Prometheus

*decide* may ask for decisions, send rewards and look at units; *admin* may do all that, make and
change experiments and read the log; *metrics* may only read /metrics. Tokens are random and long,
so that a plain hash keeps them. Every token given is compared with every line, in a time that does
not depend on either.

A server reads the file again when it has changed: so a line that is deleted is a token revoked.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, get_args
from urllib.parse import quote as escaped
from urllib.parse import unquote, urlsplit

from fpbandits.core.storage import read_whole, shown
from fpbandits.errors import Error, InputError, RefusedError, StorageError, quote
from fpbandits.service.statuses import ForbiddenError

Role = Literal["decide", "admin", "metrics"]
ROLES: tuple[Role, ...] = get_args(Role)

_ENOUGH: dict[Role, tuple[Role, ...]] = {
    "decide": ("decide", "admin"),
    "admin": ("admin",),
    "metrics": ("metrics", "decide", "admin"),
}
"""Roles that may do the work of a role."""

_HASH = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**20

_AGAIN = 1.0
"""Seconds between two looks whether a file of tokens has changed."""

FORWARDED = (
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "via",
)
"""Headers by which a proxy says that it passes on a request of someone else's."""

_logger = logging.getLogger("fpbandits.service")


class Access(NamedTuple):
    """What a token may do, and with which experiments; None: with all."""

    role: Role
    experiments: frozenset[str] | None = None


class Roles(Protocol):
    """Whatever knows what tokens may do."""

    def access(self, token: str) -> Access | None:
        """Return what a token may do; None if it is unknown."""


class Tokens:
    """The hashes of tokens, and what each may do."""

    def __init__(self, lines: list[tuple[Access, str]]) -> None:
        self._lines = lines

    def access(self, token: str) -> Access | None:
        """Return what a token may do; None if it is unknown."""
        given = _hashed(token)
        found: Access | None = None
        for access, kept in self._lines:
            if hmac.compare_digest(given, kept):
                found = access
        return found if token else None


class TokenFile:
    """The tokens of a file, which is read again when it has changed.

    If what stands there then is wrong, that is logged, and the tokens stay as they were.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = _mark(path)
        self._tokens = read_tokens(path)
        self._looked = time.monotonic()

    def access(self, token: str) -> Access | None:
        """Return what a token may do; None if it is unknown."""
        now = time.monotonic()
        if now - self._looked >= _AGAIN:
            self._looked = now
            self._look()
        return self._tokens.access(token)

    def _look(self) -> None:
        mark = _mark(self._path)
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._tokens = read_tokens(self._path)
            _logger.info("tokens read again")
        except Error as error:
            _logger.error(
                "tokens cannot be read, and stay as they were", extra={"detail": str(error)}
            )


def _mark(path: Path) -> tuple[int, ...]:
    """Return what changes when a file does."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_tokens(path: Path) -> Tokens:
    """Read a file of tokens, and say in which line something is wrong."""
    try:
        text = read_whole(path, _LARGEST).decode()
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", place=(shown(path),)) from None
    lines: list[tuple[Access, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        # What stands there may be a token by mistake: it is not shown.
        word, _, rest = line.strip().partition(" ")
        title, limited, named = word.partition("/")
        role = next((role for role in ROLES if role == title), None)
        if role is None:
            wanted = f"a line begins with {', '.join(ROLES)}"
            raise InputError(wanted, place=(shown(path), ("row", number)))
        only = frozenset(map(unquote, named.split(","))) if limited else None
        kept = rest.split()[0] if rest.split() else ""
        if not _HASH.fullmatch(kept) or kept == _hashed(""):
            raise InputError(
                f"after {role} comes the SHA-256 of the token, 64 hexadecimal digits; fpbandits "
                "token makes both"
            ).at(shown(path), ("row", number))
        lines.append((Access(role, only), kept))
    if not lines:
        raise InputError("it holds no token; fpbandits token makes one", place=(shown(path),))
    return Tokens(lines)


def add_token(path: Path, role: str, remark: str = "", experiments: Sequence[str] = ()) -> str:
    """Make a token, add its hash to a file, and return it: it is kept nowhere else.

    It is for some ``experiments``, or without any for all.
    """
    if role not in ROLES:
        raise InputError(f"unknown role {quote(role)}: expected {', '.join(ROLES)}")
    if role == "metrics" and experiments:
        raise InputError("a token for metrics is not for single experiments: they are a server's")
    only = "/" + ",".join(escaped(name, safe="") for name in experiments) if experiments else ""
    if not remark.isprintable():
        raise InputError(f"the remark {quote(remark)} must be one line")
    before = b""
    if path.exists():
        read_tokens(path)
        before = read_whole(path, _LARGEST)
    token = secrets.token_urlsafe(32)
    line = f"{role}{only} {_hashed(token)} {remark}".rstrip()
    end = "\n" if before and not before.endswith(b"\n") else ""
    _append(path, f"{end}{line}\n".encode())
    return token


def _append(path: Path, content: bytes) -> None:
    """Add to a file in one piece, so that nobody else who does it is lost; its mode stays."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(file, content) != len(content):
                raise OSError(28, "No space left on device")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise StorageError(f"cannot be written ({error.strerror})", place=(shown(path),)) from None


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def authorize(
    tokens: Roles | None, headers: Mapping[str, str], role: Role, experiment: str | None = None
) -> None:
    """Refuse a request unless its token has a role, and is for the experiment, if it is of one.

    Without tokens it is enough to be on this machine. A browser or a proxy is, too: so what a page
    from elsewhere sends, or a proxy passes on, is refused.
    """
    if tokens is None:
        if any(name in headers for name in FORWARDED):
            raise ForbiddenError("without tokens, nothing that a proxy passes on is served")
        _refuse_pages(headers.get("host", ""), headers.get("origin"))
        return
    kind, _, token = headers.get("authorization", "").partition(" ")
    found = tokens.access(token.strip() if kind.lower() == "bearer" else "")
    if found is None:
        raise RefusedError("a token is needed: Authorization: Bearer TOKEN")
    if found.role not in _ENOUGH[role]:
        raise ForbiddenError(f"this token is for {found.role}, and this needs one for {role}")
    if found.experiments is not None and experiment not in found.experiments:
        raise ForbiddenError("this token is for other experiments")


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
