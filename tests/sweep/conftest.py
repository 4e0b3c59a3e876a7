from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from studies import write_study

from fpbandits.sweep.study import Study, load_study

Written = Callable[[str], Study]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_study(tmp_path)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return a function that writes a text to a file and reads it as a study."""

    def write(text: str) -> Study:
        path = tmp_path / "other.toml"
        path.write_text(text)
        return load_study(path)

    return write
