"""When a model counts as ruled out, against odds in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from fpbandits.theory.ruling_out import is_ruled_out


def test_a_model_is_ruled_out_when_its_odds_fell_to_the_error_times_those_of_its_prior() -> None:
    """Eighths are exact in floats, so that equality is tried, too."""
    eighths = [Fraction(n, 8) for n in range(9)]
    seen = {True: 0, False: 0}
    for share, prior, error in product(eighths, eighths[1:8], eighths[:5]):
        others = 1 - share
        # A model that is certain is not ruled out, even if errors do not matter.
        expected = others > 0 and share / others <= error * prior / (1 - prior)
        found = is_ruled_out(*map(float, (share, others, prior, error)))
        assert found == expected, (share, prior, error)
        seen[expected] += 1
    assert min(seen.values()) > 50


def test_arrays_are_taken_entry_by_entry_and_in_any_unit() -> None:
    share, prior = np.array([0.0, 1.0, 2.0, 4.0]), np.full(4, 0.5)
    found = is_ruled_out(share, 4.0 - share, prior, 0.5)
    assert found.tolist() == [True, True, False, False]
    # Shares need not add up to one: the odds of a half are 1, and those of 1 : 20 are 0.05.
    assert is_ruled_out(1.0, 20.0, 0.5, 0.0501)
    assert not is_ruled_out(1.0, 20.0, 0.5, 0.0499)
