"""API tokens: bearer tokens, from a file that holds only their hashes.

A line per token: its role, the SHA-256 of the token in hexadecimal, and a remark if you like. After
the role may stand the experiments that the token is for, escaped as in addresses::

    decide/pricing,checkout 5d41…  the shop's web servers
    admin                   9b74…  deployment
    metrics                 77f2…  Prometheus

*decide* may ask for decisions, send rewards and look at units; *admin* may do all that, make and
change experiments and read the log; *metrics* may only read /metrics. Tokens are random and long,
so a plain hash is safe. Every token is compared with every line, in a time that depends on neither.

A server reads the file again when it has changed: to revoke a token, delete its line.
"""

from __future__ import annotations

import errno
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

_SUFFICIENT: dict[Role, tuple[Role, ...]] = {
    "decide": ("decide", "admin"),
    "admin": ("admin",),
    "metrics": ("metrics", "decide", "admin"),
}
"""The roles that may do what needs a role."""

_HASH = re.compile(r"[0-9a-f]{64}")

_LARGEST_FILE = 2**20
"""Most bytes of a file of tokens."""

_CHECK_SECONDS = 1.0
"""Seconds between two checks whether a file of tokens has changed."""

FORWARDED = frozenset(
    ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
)
"""Headers by which a proxy says that it forwards a request."""

_logger = logging.getLogger("fpbandits.service")


class Access(NamedTuple):
    """What a token may do, and with which experiments; None: with all."""

    role: Role
    experiments: frozenset[str] | None = None


class Roles(Protocol):
    """What a server needs to know of tokens."""

    def access(self, token: str) -> Access | None:
        """Return what a token may do; None if it is unknown."""


class Tokens:
    """The hashes of tokens, and what each may do."""

    def __init__(self, lines: list[tuple[Access, str]]) -> None:
        self._lines = lines

    def access(self, token: str) -> Access | None:
        """Return what a token may do; None if it is unknown."""
        given, allowed = _hash(token), None
        for access, kept in self._lines:  # all of them: the time must not tell which
            if hmac.compare_digest(given, kept):
                allowed = access
        return allowed if token else None


class TokenFile:
    """The tokens of a file, which is read again when it has changed.

    If it is wrong then, that is logged, and the tokens stay as they were. If no line is left, no
    token is valid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fingerprint = _fingerprint(path)
        self._tokens = read_tokens(path)
        self._checked = time.monotonic()

    def access(self, token: str) -> Access | None:
        """Return what a token may do; None if it is unknown."""
        now = time.monotonic()
        if now - self._checked >= _CHECK_SECONDS:
            self._checked = now
            self._renew()
        return self._tokens.access(token)

    def _renew(self) -> None:
        """Read the file again if it has changed."""
        fingerprint = _fingerprint(self._path)
        if fingerprint == self._fingerprint:
            return
        self._fingerprint = fingerprint
        try:
            self._tokens = read_tokens(self._path, may_be_empty=True)
            _logger.info("tokens read again")
        except Error as error:
            _logger.error(
                "tokens cannot be read, and stay as they were", extra={"detail": str(error)}
            )


def _fingerprint(path: Path) -> tuple[int, ...]:
    """Return numbers that change when a file does, or who may read it."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def read_tokens(path: Path, *, may_be_empty: bool = False) -> Tokens:
    """Read a file of tokens, and say in which line something is wrong."""
    try:
        text = read_whole(path, _LARGEST_FILE).decode()
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", place=(shown(path),)) from None
    lines: list[tuple[Access, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        # Errors do not quote the line: it may hold a token by mistake.
        first, _, rest = line.strip().partition(" ")
        title, slash, named = first.partition("/")
        role = next((role for role in ROLES if role == title), None)
        if role is None:
            reason = f"a line begins with {', '.join(ROLES)}"
            raise InputError(reason, place=(shown(path), ("row", number)))
        experiments = frozenset(map(unquote, named.split(","))) if slash else None
        kept = rest.split()[0] if rest.split() else ""
        if not _HASH.fullmatch(kept) or kept == _hash(""):
            raise InputError(
                f"after {role} comes the SHA-256 of the token, 64 hexadecimal digits; fpbandits "
                "token makes both"
            ).at(shown(path), ("row", number))
        lines.append((Access(role, experiments), kept))
    if not lines and not may_be_empty:
        raise InputError("it holds no token; fpbandits token makes one", place=(shown(path),))
    return Tokens(lines)


def add_token(path: Path, role: str, remark: str = "", experiments: Sequence[str] = ()) -> str:
    """Make a token, add its hash to a file, and return it: it is stored nowhere.

    It is for these ``experiments``, or for all if there are none.
    """
    if role not in ROLES:
        raise InputError(f"unknown role {quote(role)}: expected {', '.join(ROLES)}")
    if role == "metrics" and experiments:
        raise InputError("a token for metrics is not for single experiments: they are a server's")
    named = "/" + ",".join(escaped(name, safe="") for name in experiments) if experiments else ""
    if not remark.isprintable():
        raise InputError(f"the remark {quote(remark)} must be one line")
    before = read_whole(path, _LARGEST_FILE) if path.exists() else b""
    if before:  # else another process may have made the file, and is about to write
        read_tokens(path, may_be_empty=True)
    token = secrets.token_urlsafe(32)
    line = f"{role}{named} {_hash(token)} {remark}".rstrip()
    end = "\n" if before and not before.endswith(b"\n") else ""
    _append(path, f"{end}{line}\n".encode())
    return token


def _append(path: Path, content: bytes) -> None:
    """Append to a file by one write, so that what others append meanwhile is not lost."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(file, content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise StorageError(f"cannot be written ({error.strerror})", place=(shown(path),)) from None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def authorize(
    tokens: Roles | None, headers: Mapping[str, str], role: Role, experiment: str | None = None
) -> None:
    """Refuse a request unless its token has a role, and is for its experiment, if there is one.

    Without tokens, all requests from this machine are allowed. Browsers and proxies on it pass on
    requests from elsewhere, so those of web pages and those that were forwarded are refused.
    """
    if tokens is None:
        if not FORWARDED.isdisjoint(headers):
            raise ForbiddenError("without tokens, nothing that a proxy passes on is served")
        _refuse_pages(headers.get("host", ""), headers.get("origin"))
        return
    kind, _, token = headers.get("authorization", "").partition(" ")
    access = tokens.access(token.strip() if kind.lower() == "bearer" else "")
    if access is None:
        raise RefusedError("a token is needed: Authorization: Bearer TOKEN")
    if access.role not in _SUFFICIENT[role]:
        raise ForbiddenError(f"this token is for {access.role}, and this needs one for {role}")
    if access.experiments is not None and experiment not in access.experiments:
        raise ForbiddenError("this token is for other experiments")


@lru_cache(100)  # errors are not cached, and all other requests have the same headers
def _refuse_pages(host: str, origin: str | None) -> None:
    """Refuse a request that a web page from elsewhere sends."""
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
