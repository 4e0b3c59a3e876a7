from __future__ import annotations

from pathlib import Path

import pytest
from studies import Written, write_study

from fpbandits.sweep.study import Study, load_study


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
