"""Whatever decides about runs has a version."""

from __future__ import annotations

from pathlib import Path

import pytest

import fpbandits
from fpbandits.policies.code_cache import digest_of_sources
from fpbandits.simulation.versions import SOURCES, versions


def test_all_that_decides_about_runs_has_a_version() -> None:
    """SciPy solves programs for some policies, and the theory makes what others play by."""
    assert {"fpbandits", "numpy", "scipy", "numba", "python", "sources"} == versions().keys()
    assert len({digest_of_sources(), digest_of_sources("theory/*.py")}) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "glob", lambda path, pattern: [])
        assert digest_of_sources("theory/*.py") == digest_of_sources()


@pytest.mark.parametrize("pattern", SOURCES)
def test_every_source_is_there(pattern: str) -> None:
    """A file that was moved would silently be left out."""
    assert list(Path(fpbandits.__file__).parent.glob(pattern))
