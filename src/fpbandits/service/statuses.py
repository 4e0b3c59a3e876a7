"""The kinds of errors that only a service has, and the HTTP status of every kind.

=====  ===========================================================================
400    the body cannot be read
401    no token, or an unknown one
403    a token of another role
404    no such experiment, unit or decision
409    a conflict with something that exists: another experiment, another reward
413    the body or the list is too large
422    a wrong value: also a policy, a context or a field that is unknown
500    a failure inside the server
503    the store does not answer, too many wait, or an experiment was just changed
=====  ===========================================================================
"""

from __future__ import annotations

from fpbandits.errors import (
    ConflictError,
    Error,
    InputError,
    RefusedError,
    TooLargeError,
    UnavailableError,
    UnknownError,
    quote,
)


class UnreadableError(InputError):
    """A body is not JSON."""


class ForbiddenError(RefusedError):
    """The token is known, and has no permission for this."""


class MissingError(UnknownError):
    """There is no such experiment, unit or decision."""


def unknown_unit(name: str) -> MissingError:
    """Return the error for a unit that nothing was decided for."""
    reason = f"unknown unit {quote(name)}: nothing was decided for it yet"
    return MissingError(reason, about=(("unit", name),))


STATUSES: dict[type[Error], int] = {
    UnreadableError: 400,
    RefusedError: 401,
    ForbiddenError: 403,
    MissingError: 404,
    ConflictError: 409,
    TooLargeError: 413,
    InputError: 422,
    Error: 500,
    UnavailableError: 503,
}

_KINDS = {status: kind for kind, status in STATUSES.items()}


def status_of(error: Error) -> int:
    """Return the status of an error: that of its class, or of its nearest base class."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def kind_of(status: int) -> type[Error]:
    """Return the kind of error that a status stands for; it may come from a proxy."""
    if status in (502, 504):  # a proxy does not reach the service
        return UnavailableError
    return _KINDS.get(status, Error if status >= 500 else InputError)
