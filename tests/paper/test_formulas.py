"""Numbers, computed once more in the plainest way."""

from __future__ import annotations

import pytest

from fpbandits.paper.formulas import compute_numbers


def test_numbers_by_brute_force() -> None:
    found = compute_numbers()
    series = sum(k**3.5 / (k - 1) ** 5 for k in range(4, 200_000))
    tail = 2 * 200_000**-0.5  # ∫ x^(−3/2)
    assert found["lemma 2: step (b)"] == pytest.approx(series + tail, abs=1e-5)
    assert found["lemma 2: step (a)"] == pytest.approx(0.04 * 90_001**0.5 - 12)
    assert found["lemma 1: least β − Δ"] == pytest.approx(0.05)
    # √(3 ln 60/60) is .452464…
    assert found["margin of θ°"] == pytest.approx(0.452457 - 0.5, abs=1e-6)
    assert found["margin of a stand-in"] == pytest.approx(0.452457 - 0.1, abs=1e-6)
