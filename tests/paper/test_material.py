"""Comparisons are made run by run, at every time that both policies were recorded at."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fpbandits import Problem
from fpbandits.paper.material import INFORMATIVE, Material, _since


def test_comparisons_name_the_time_from_which_on_they_hold(made_up: Material) -> None:
    """FP-UCB 50 ahead of UCB1 but for one recorded time, t = 10⁴: the next one is named."""
    ours = made_up.results["permutations-fp-ucb-near"]
    noise = np.random.default_rng(0).integers(0, 3, ours.runs)
    pulls = np.zeros_like(ours.pulls["fp-ucb"])
    pulls[:, :, 3] = noise[:, np.newaxis]
    ahead = replace(ours, pulls={"fp-ucb": pulls})
    theirs_pulls = pulls.copy()
    theirs_pulls[:, :, 3] += 125
    theirs_pulls[:, ours.times == 10**4, 3] = 0
    behind = replace(ours, pulls={"ucb1": theirs_pulls}, plans={"ucb1": ours.plans["fp-ucb"]})
    doctored = replace(
        made_up,
        results={
            f"permutations-{policy}-{distance}": result
            for policy, result in (("fp-ucb", ahead), ("ucb1", behind))
            for distance in ("near", "far")
        },
    )
    expected = int(ours.times[np.flatnonzero(ours.times == 10**4)[0] + 1])
    assert doctored.ahead_from("permutations", "fp-ucb", "ucb1") == expected
    crossing = doctored.crossing("permutations", overtaking="fp-ucb", overtaken="ucb1")
    assert crossing is not None
    assert 10**4 < crossing < expected
    assert doctored.ahead_from("permutations", "ucb1", "fp-ucb") is None


def crossing_of(made_up: Material, plays: Callable[[int], int]) -> float | None:
    """Return where FP-UCB's regret falls below UCB1's, if its plays of arm 4 are so many more.

    A play of arm 4 loses 0.4.
    """
    ours = made_up.results["permutations-fp-ucb-near"]
    pulls = np.zeros_like(ours.pulls["fp-ucb"])
    pulls[:, :, 3] = 100
    behind = replace(ours, pulls={"ucb1": pulls}, plans={"ucb1": ours.plans["fp-ucb"]})
    pulls = pulls.copy()
    pulls[:, :, 3] += np.array([plays(time) for time in ours.times.tolist()])
    results = {
        "permutations-fp-ucb-near": replace(ours, pulls={"fp-ucb": pulls}),
        "permutations-ucb1-near": behind,
    }
    return replace(made_up, results=results).crossing(
        "permutations", overtaking="fp-ucb", overtaken="ucb1"
    )


def test_means_cross_at_the_last_time_in_between(made_up: Material) -> None:
    """From 1 play more at t = 1e4 to 3 fewer at the next time: a quarter of the way in ln t."""
    times = made_up.results["permutations-fp-ucb-near"].times.tolist()
    after = times[times.index(10**4) + 1]
    expected = 10**4 * (after / 10**4) ** 0.25
    assert crossing_of(made_up, lambda t: 1 if t <= 10**4 else -3) == pytest.approx(expected)
    assert crossing_of(
        made_up, lambda t: -1 if 50 < t < 200 else 1 if t <= 10**4 else -3
    ) == pytest.approx(expected), "the last of two"
    assert crossing_of(made_up, lambda t: 0 if t <= 10**4 else -3) == pytest.approx(10**4)
    assert crossing_of(made_up, lambda t: -1) is None
    assert crossing_of(made_up, lambda t: 1) is None
    assert crossing_of(made_up, lambda t: -1 if t < 10**6 else 0) is None
    last = times[-2] * (times[-1] / times[-2]) ** 0.25
    assert crossing_of(made_up, lambda t: 1 if t < 10**6 else -3) == pytest.approx(last)


def test_since_when_all_is_true() -> None:
    assert _since({1: True, 10: True, 100: True}) == 1
    assert _since({100: True, 10: True, 1: False}) == 10
    assert _since({1: True, 10: False, 100: True}) == 100
    assert _since({1: True, 10: False}) is None


@pytest.mark.parametrize(
    ("first", "last", "start"), [(4, 14, 10**4), (8, 14, 10**8), (14, 14, 10**14), (4, 13, None)]
)
def test_since_when_regret_grows_in_every_decade(
    first: int, last: int, start: int | None, give: Callable[..., Material]
) -> None:
    """By a little for sure; in other decades by more on average, which may be chance."""

    def slopes(setting: str, policy: str, begin: int, end: int) -> list[float]:
        power = round(math.log10(begin))
        assert (begin, end) == (10**power, 10 ** (power + 1))
        return [0.5] * 8 if first <= power <= last else [-1.0, 3.0] * 4

    assert give(slopes=slopes).growing_from("grid-4") == start


def test_the_growth_of_lai_and_robbins_by_hand(
    made_up: Material, give: Callable[..., Material]
) -> None:
    """Where the regrets of 100 and 60 at T = 1e15 would meet."""

    def kl(p: float, q: float) -> float:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    growth = 0.2 / kl(0.4, 0.6) + 0.3 / kl(0.3, 0.6) + 0.4 / kl(0.2, 0.6)
    assert made_up.lai_robbins("permutations") == pytest.approx(growth)
    at_the_end = {("fp-ucb", 10**15): [99.0, 101.0], ("thompson", 10**15): [60.0]}
    given = give(regrets=lambda setting, *asked: at_the_end[asked])
    assert given.meeting("permutations") == pytest.approx(15 + 39 / growth / math.log(10))


def test_the_nearest_experiment_is_asked_unless_one_is_named(made_up: Material) -> None:
    """Up to T = 1e6; UCB1 has 20 runs near and 4 far, and plays of arm 4 lose 0.4."""
    near, far = (made_up.results[f"permutations-ucb1-{distance}"] for distance in ("near", "far"))
    for setting in ("permutations", "grid-6"):  # UCB1 does not use the models
        for time, distance, result in (
            (10**6, None, near),
            (10**6, "far", far),
            (10**7, None, far),
        ):
            found = made_up.regret(setting, "ucb1", time, distance)  # type: ignore[arg-type]  # it is one
            (index,) = np.flatnonzero(result.times == time)
            assert found.tolist() == result.regret("ucb1")[:, index].tolist()
    late, early = (made_up.regret("permutations", "ucb1", time, "far") for time in (10**6, 10**3))
    expected = (late - early) / math.log(1000)
    found = made_up.slope("permutations", "ucb1", 10**3, 10**6, "far")
    np.testing.assert_allclose(found, expected)
    assert len(made_up.slope("permutations", "ucb1", 10**3, 10**6)) == 20
    plays = made_up.plays("permutations", "arm3", 10**6)
    ours = made_up.results["permutations-fp-ucb-far"]
    assert plays.tolist() == ours.pulls["fp-ucb"][:, ours.times == 10**6, 2][:, 0].tolist()


def test_the_third_arm_informs_and_is_best_nowhere() -> None:
    means = [[0.5, 0.4, 0.49], [0.5, 0.6, 0.01]]
    assert Problem.bernoulli(means, name="informative") == INFORMATIVE
