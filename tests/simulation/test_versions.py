"""Whatever decides about runs has a version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpbandits
from fpbandits.engine.code_cache import SOURCES, digest_of, sources
from fpbandits.simulation import manifest, workers
from fpbandits.simulation.versions import versions


def test_all_that_decides_about_runs_has_a_version() -> None:
    """SciPy solves programs for some policies, and the theory makes what others play by."""
    assert {"fpbandits", "numpy", "scipy", "numba", "python", "sources"} == versions().keys()
    assert versions()["sources"] == SOURCES[:16]


@pytest.mark.parametrize("file", ["binomial.py", "kernel.py", "truths.py", "arrays.py", "lower.py"])
def test_another_source_is_another_version(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of samplers, loops and truths, of constants, and of the theory that some policies play by."""
    read = Path.read_bytes
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: read(path) + (b"#" if path.name == file else b"")
    )
    assert digest_of(sources()) != SOURCES


def test_runs_of_an_earlier_release_are_not_mixed_with_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 8 runs are played by this version; the 5 of before stay, and do not count."""
    problem, now = fpbandits.load_problem("paper:two"), versions()
    asked: Any = {"horizon": 1000, "truth": "theta1", "out": tmp_path}
    with monkeypatch.context() as before:
        for module in (manifest, workers):
            before.setattr(module, "versions", lambda: now | {"fpbandits": "0.1.0"})
        fpbandits.simulate(problem, fpbandits.UCB1(), runs=5, **asked)
    with pytest.warns(
        UserWarning, match="runs of another version are left alone, and played again"
    ):
        result = fpbandits.simulate(problem, fpbandits.UCB1(), runs=8, **asked)
    played = dict.fromkeys(("0.1.0", fpbandits.__version__), 0)
    for chunk in (tmp_path / "chunks").glob("*.npz"):
        with np.load(chunk) as arrays:
            header = json.loads(str(arrays["header"]))
        for _, start, stop in header["pieces"]:
            played[header["versions"]["fpbandits"]] += stop - start
    assert played == {"0.1.0": 5, fpbandits.__version__: 8}
    assert fpbandits.load_results(tmp_path)["ucb1"].versions == result.versions == now
