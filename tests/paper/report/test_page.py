"""The texts of the report's chapters, with numbers that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from fpbandits.paper.material import Material
from fpbandits.paper.report import page
from fpbandits.paper.report.far import meeting_text

SETTINGS = ("two-1", "two-2", "permutations", "grid-6", "grid-4")
REGRETS = {
    ("grid-4", "fp-ucb", 10**6): [49.0, 51.0],
    ("grid-4", "fp-ucb", 10**4): [20.0, 20.0],
    ("permutations", "thompson", 10**5): [41.0, 42.0],
    ("permutations", "fp-ucb", 10**5): [188.0],
    ("permutations", "thompson", 10**15): [60.0],
    ("permutations", "fp-ucb", 10**15): [100.0],
    **{(name, "frugal", 10**12): [1.0 + index] for index, name in enumerate(SETTINGS)},
    **{(name, "fp-ucb", 10**12): [110.0 + index] for index, name in enumerate(SETTINGS)},
}


def growing(setting: str, policy: str, start: int, end: int) -> list[float]:
    """Grow from T = 1e11 on."""
    return [0.5 if start >= 10**11 else -0.5] * 8


def crossed(material: Material) -> Material:
    """Let FP-UCB lose as much as UCB1 on the 24 permutations up to T = 1e4, and then less."""
    ours = material.results["permutations-fp-ucb-near"]
    more = np.where(ours.times <= 10**4, 0, -10)
    results = dict(material.results)
    for policy in ("fp-ucb", "ucb1"):
        pulls = np.zeros_like(ours.pulls["fp-ucb"])
        pulls[:, :, 3] = 100 + (more if policy == "fp-ucb" else 0)
        results[f"permutations-{policy}-near"] = replace(
            ours, pulls={policy: pulls}, plans={policy: ours.plans["fp-ucb"]}
        )
    return replace(material, results=results)


def passing(material: Material, time: float) -> Material:
    """Let regret on the counterexample be above the printed constant from some time on."""
    result = material.results["minimum-fp-ucb-far"]
    pulls = np.zeros_like(result.pulls["fp-ucb"])
    most = material.constant("minimum", "printed")
    pulls[:, result.times >= time, 1] = round(1.01 * most / 0.01)
    changed = replace(result, pulls={"fp-ucb": pulls})
    return replace(material, results={**material.results, "minimum-fp-ucb-far": changed})


def all_text(material: Material) -> str:
    """Return the texts of all chapters and the captions of their figures."""
    chapters = [chapter for part in page.chapters(material).values() for chapter in part]
    texts = [text for each in chapters for text in (each["text"], *each["figures"].values())]
    return " ".join(" ".join(texts).split())


def test_the_numbers_of_the_chapters(give: Callable[..., Material], made_up: Material) -> None:
    material: Any = give(
        passing(crossed(made_up), 10**6),
        regrets=lambda *asked: REGRETS[asked],
        slopes=growing,
    )
    text = all_text(material)
    lr = made_up.lai_robbins("permutations")
    for said in (
        "FP-UCB pays its whole bill early. On average FP-UCB has lost more than UCB1 up to "
        "T ≈ 1e4, and less from there on.",
        "Up to T = 10⁶ the mean regrets of FP-UCB and UCB1 do not cross.",
        "by T = 10⁵ it has lost 41.5, and FP-UCB 188.",
        f"{len(made_up.case('grid-4').confusion_set)} of the models look like the truth",
        "From T = 10⁴ to 10⁶ FP-UCB's regret grows by 30:",
        "stands still for decades, before it grows again beyond T = 1e11:",
        f"here {lr:.3g}. Carried on from T = 10¹⁵ at that rate, it meets FP-UCB "
        f"{meeting_text(material)}.",
        "between 1 and 5 on the five problems; FP-UCB’s is between 1.1e+02 and 114.",
        "and passes the printed D_1 near T = 1e6.",
    ):
        assert said in text
    still: Any = give(
        passing(made_up, np.inf),
        regrets=lambda *asked: REGRETS[asked],
        slopes=lambda *asked: [0.0] * 8,
    )
    text = all_text(still)
    assert "passes the printed D_1 near T = ∞." in text
    assert "grows again" not in text


def test_beyond_a_power_of_100_no_time_is_told(
    give: Callable[..., Material], made_up: Material
) -> None:
    """A regret that is larger by 85 powers of ten, as Thompson sampling grows, or by 86."""
    by = np.log(10) * made_up.lai_robbins("permutations")
    for powers, said in ((84.5, "near T = 3.2 · 10⁹⁹"), (85.5, "only beyond T = 10¹⁰⁰")):
        regrets = {"fp-ucb": [powers * by], "thompson": [0.0]}
        given = give(regrets=lambda setting, policy, time, regrets=regrets: regrets[policy])
        assert meeting_text(given) == said


def test_regret_at_1e6_with_its_interval(made_up: Material) -> None:
    result = made_up.results["permutations-fp-ucb-far"]
    sample = result.regret("fp-ucb")[:, result.times.tolist().index(10**6)]
    low, high = stats.t.interval(0.95, len(sample) - 1, sample.mean(), stats.sem(sample))
    assert page._regret_at_1e6(result) == f"{sample.mean():.4g} ({low:.4g} … {high:.4g})"
