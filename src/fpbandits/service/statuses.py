"""The kinds of errors that only a service has, and the HTTP status of every kind.

=====  ===========================================================================
400    what cannot be read
401    no token, or an unknown one
403    a token for other work
404    an experiment, a unit or a decision that there is not
409    at odds with what is there: another experiment, another reward
413    more than is taken at once
422    a value that cannot be: also a policy, a context or a field that is unknown
500    a mistake of the server's own
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
)


class UnreadableError(InputError):
    """A body is not JSON."""


class ForbiddenError(RefusedError):
    """A token that is known, for other work than this."""


class MissingError(UnknownError):
    """There is no such experiment, unit or decision."""


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
    """Return the status of an error: that of its kind, or of the nearest kind that it is one of."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def kind_of(status: int) -> type[Error]:
    """Return the kind of error that a status stands for; others than the service answer, too."""
    if status in (502, 504):  # someone in between does not reach it
        return UnavailableError
    return _KINDS.get(status, Error if status >= 500 else InputError)
