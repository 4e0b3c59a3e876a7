"""Figures of long runs: where lines cross."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fpbandits.paper.material import Material
from fpbandits.paper.report.far import crossing


def test_where_means_cross_there_is_a_mark(made_up: Material) -> None:
    """On the 24 permutations at T = 1e4."""
    ours = made_up.results["permutations-fp-ucb-near"]
    results = dict(made_up.results)
    for policy, plays in (("ucb1", 10), ("fp-ucb", np.where(ours.times <= 10**4, 10, 5))):
        pulls = np.zeros_like(ours.pulls["fp-ucb"])
        pulls[:, :, 3] = plays
        results[f"permutations-{policy}-near"] = replace(
            ours, pulls={policy: pulls}, plans={policy: ours.plans["fp-ucb"]}
        )
    changed = replace(made_up, results=results)
    (axes,) = crossing(changed).axes
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    found = [(line.get_xdata(), line.get_ydata()) for line in marks]
    assert np.allclose(np.array(found[0], float), [[10**4], [0]])
    labels = [line.get_label() for line in axes.lines]
    assert "24 permutations of [.6, .4, .3, .2]: T ≈ 10⁴" in labels
    bottom = axes.get_ylim()[0]
    lowest = min(
        float(changed.difference(name, "ucb1", "fp-ucb", "near")[1].mean(axis=0).min())
        for name in ("permutations", "grid-6", "grid-4")
    )
    assert bottom == 1.75 * lowest < -1
