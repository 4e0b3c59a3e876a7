"""What claims measure, number by number, on runs that follow a formula.

The texts are in ``measured.json``: whoever changes what a claim measures changes them too.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fpbandits.paper.claims import CLAIMS
from fpbandits.paper.material import Material

MEASURED = json.loads(Path(__file__).with_name("measured.json").read_text())


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_measures(name: str, made_up: Material) -> None:
    claim = CLAIMS[name](made_up)
    found = {"verdict": claim.verdict, "measured": claim.measured, "horizon": claim.horizon}
    assert found == MEASURED.get(name)


def test_nothing_else_is_measured() -> None:
    assert set(MEASURED) == set(CLAIMS)
