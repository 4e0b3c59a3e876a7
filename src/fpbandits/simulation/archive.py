"""Arrays in one .npz file, with a header in JSON that says what they are."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from fpbandits.storage import check_kind

Arrays = Mapping[str, np.ndarray[Any, Any]]


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the content of a file; the header tells its kind and schema."""
    stream = io.BytesIO()
    everything: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    np.savez_compressed(stream, **everything)
    return stream.getvalue()


def unpack(content: bytes, kind: str, schemas: Collection[int]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays; what is damaged raises whatever its decoders do."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        header = check_kind(json.loads(str(arrays["header"])), kind, schemas)
        return header, {name: arrays[name] for name in arrays.files}
