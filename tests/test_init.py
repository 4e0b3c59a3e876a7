"""The public names, and when they are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fpbandits


def test_every_public_name_can_be_had() -> None:
    everything: dict[str, object] = {}
    exec("from fpbandits import *", everything)
    names = vars(fpbandits)["__all__"]
    assert {"Error", "Policy", "load_results", "simulate"} < set(names)
    for name in names:
        assert getattr(fpbandits, name) is everything[name]
        assert name in dir(fpbandits)


def test_who_cites_it_cites_this_version() -> None:
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {fpbandits.__version__}\n" in citation


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="simulat"):
        _ = fpbandits.simulat  # type: ignore[attr-defined]  # that is the test


def test_importing_it_imports_nothing_heavy() -> None:
    script = (
        "import sys, fpbandits\nfpbandits.__version__, dir(fpbandits), fpbandits.InputError\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'typer'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert output.stdout == "[]\n"


def test_agents_and_simulations_import_little() -> None:
    """Neither an extra's packages are imported nor solvers, which take 0.2 s."""
    script = (
        "import sys, fpbandits as fpb\n"
        "fpb.Agent('paper:two').ask(); fpb.simulate('paper:two', 'ucb1', horizon=10, runs=1)\n"
        "others = ('cloudpickle distributed fastapi jinja2 matplotlib pandas rich typer '\n"
        "          'scipy.optimize scipy.sparse')\n"
        "print(sorted(set(others.split()) & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert output.stdout == "[]\n"
