"""Means in a data frame: a row per model, a column per arm."""

from __future__ import annotations

from typing import Any, Protocol, cast

from fpbandits.core.checks import Numbers, number_text
from fpbandits.core.names import Naming


class Frame(Protocol):
    """A data frame of pandas or Polars."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def to_numpy(self) -> Any:
        """Return the numbers."""


def unframed(rows: Any, naming: Naming) -> tuple[Numbers, Naming]:
    """Return the numbers of a pandas or Polars frame, and the names of arms and models.

    The frame's labels are the names that ``naming`` does not give. An index of 0, 1, … has no
    names. Anything but a frame is returned as it is.
    """
    columns, to_numpy = getattr(rows, "columns", None), getattr(rows, "to_numpy", None)
    if columns is None or to_numpy is None:
        return rows, naming
    labels: dict[str, Any] = {"arms": list(map(_text, columns))}
    index = getattr(rows, "index", None)
    if index is not None and type(index).__name__ != "RangeIndex":
        labels["models"] = list(map(_text, index))
    return to_numpy(), cast(Naming, labels | {k: v for k, v in naming.items() if v is not None})


def _text(label: Any) -> str:
    return number_text(label) if isinstance(label, float) else str(label)
