"""Comparisons are made run by run, at every time that both policies were recorded at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fpbandits.paper.material import Material


def test_comparisons_name_the_time_from_which_on_they_hold(material: Material) -> None:
    """FP-UCB 50 ahead of UCB1 but for one recorded time, t = 10⁴: the next one is named."""
    ours = material.results["permutations-fp-ucb-near"]
    noise = np.random.default_rng(0).integers(0, 3, ours.runs)
    pulls = np.zeros_like(ours.pulls["fp-ucb"])
    pulls[:, :, 3] = noise[:, np.newaxis]
    ahead = replace(ours, pulls={"fp-ucb": pulls})
    theirs_pulls = pulls.copy()
    theirs_pulls[:, :, 3] += 125
    theirs_pulls[:, ours.times == 10**4, 3] = 0
    behind = replace(ours, pulls={"ucb1": theirs_pulls}, plans={"ucb1": ours.plans["fp-ucb"]})
    doctored = replace(
        material,
        results={
            f"permutations-{policy}-{distance}": result
            for policy, result in (("fp-ucb", ahead), ("ucb1", behind))
            for distance in ("near", "far")
        },
    )
    expected = int(ours.times[np.flatnonzero(ours.times == 10**4)[0] + 1])
    assert doctored.ahead_from("permutations", "fp-ucb", "ucb1") == expected
    crossing = doctored.crossing("permutations", "fp-ucb", "ucb1")
    assert crossing is not None
    assert 10**4 < crossing < expected
    assert doctored.ahead_from("permutations", "ucb1", "fp-ucb") is None
