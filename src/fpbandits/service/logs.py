"""The server's own log: one JSON per line, on standard error.

It holds no tokens and no bodies. Of a request's path it has only the route's pattern, so that it
names no unit (a user, a device). Only a unit whose request failed inside is named, in ``detail``.
"""

from __future__ import annotations

import json
import logging
import random
import re
import sys
import time

_FIELDS = (
    "request",
    "method",
    "route",
    "experiment",
    "status",
    "milliseconds",
    "detail",
    "address",
)
"""Fields that a line may have beside its time, level, message and traceback."""

_ID = re.compile(r"[!-~]{1,128}")
"""An id that a caller may give a request: printable and short."""

_logger = logging.getLogger("fpbandits.service")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        extra = ((name, getattr(record, name, None)) for name in _FIELDS)
        line |= {name: value for name, value in extra if value is not None}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def request_id(given: str | None) -> str:
    """Return the id that the caller gave a request if it is valid, else a new one."""
    return given if given and _ID.fullmatch(given) else f"{random.getrandbits(64):016x}"


def log_answer(
    request: str, method: str, route: str, experiment: str | None, status: int, seconds: float
) -> None:
    """Log an answer."""
    extra = {"request": request, "method": method, "route": route, "experiment": experiment}
    took = {"status": status, "milliseconds": round(seconds * 1000, 1)}
    _logger.info("answered", extra={**extra, **took})


def log_to_stderr() -> None:
    """Write to standard error what the package logs, and the warnings of Uvicorn and asyncio."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("fpbandits", "uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "fpbandits" else logging.WARNING)
