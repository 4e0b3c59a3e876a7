"""A forecast's numbers against simulations and formulas of their own."""

from __future__ import annotations

import json
import math
from random import Random

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.forecast.forecast import Forecast, _plays_thompson
from fpbandits.simulation.truths import truths

SHOP = fpb.Problem.bernoulli(
    [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]],
    value=[9, 12, 15],
    arms=["9 EUR", "12 EUR", "15 EUR"],
    models=["loyal", "regular", "thrifty"],
    prior={"loyal": 2},
    name="shop",
)


@pytest.fixture(scope="module")
def found() -> Forecast:
    return fpb.forecast(SHOP, horizon=300, runs=200, seed=4)


def test_json_of_the_contract(found: Forecast) -> None:
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    for key in ("problem", "horizon", "policy", "first_arm", "regret", "per_truth", "floor"):
        assert key in content
    assert content["regret"].keys() == {"mean", "interval", "q95"}
    assert {"error", "median", "q95", "share"} == content["until_sure"].keys()
    assert content["baselines"].keys() == {"always 12 EUR", "thompson"}
    assert {"by", "regret", "worst"} <= content["off"].keys()
    assert (content["problem"], content["horizon"], content["policy"]) == ("shop", 300, "frugal")


def test_regret_is_that_of_a_simulation(found: Forecast) -> None:
    result = fpb.simulate(SHOP, "frugal", truth="prior", horizon=300, runs=200, seed=4)
    regret = result.final_regret("frugal")
    content = found.as_dict()
    assert content["regret"]["mean"] == pytest.approx(regret.mean())
    assert content["regret"]["q95"] == pytest.approx(np.quantile(regret, 0.95))
    low, high = result.confidence_interval("frugal")
    assert content["regret"]["interval"] == pytest.approx([low[-1], high[-1]])
    drawn = truths(SHOP, "prior", 4, range(200))
    own = regret[np.array(drawn) == 2].mean()
    assert content["per_truth"]["thrifty"] == pytest.approx(own)
    thompson = fpb.simulate(SHOP, "thompson", truth="prior", horizon=300, runs=200, seed=4)
    lost = thompson.final_regret("thompson").mean()
    assert content["baselines"]["thompson"] == pytest.approx(lost)


def test_the_other_numbers(found: Forecast) -> None:
    content = found.as_dict()
    assert content["first_arm"] == fpb.Agent(SHOP).ask().arm
    # What 12 EUR loses: .9, 0 and 2.1 per play, under priors of a half, a quarter, a quarter.
    assert content["baselines"]["always 12 EUR"] == pytest.approx(300 * (0.45 + 0.525))
    assert content["floor"] == pytest.approx(fpb.floor(SHOP, 300).value, rel=0.01)
    assert content["floor"] <= content["regret"]["mean"]
    assert list(found.floors or {})[-1] == 300
    off = content["off"]
    assert off["worst"] >= off["regret"] > content["regret"]["mean"]


def played_by_an_agent(
    policy: str, means: list[float], random: Random, error: float = 0.0
) -> tuple[float, int]:
    """Play 300 times with a live agent; return the regret, and when there is a verdict, or 999."""
    agent, lost, sure = fpb.Agent(SHOP, policy, seed=random.getrandbits(32)), 0.0, 999
    for play in range(1, 301):
        decision = agent.ask()
        arm = SHOP.arms.index(decision.arm)
        value = (9, 12, 15)[arm]
        agent.tell(decision, value if random.random() < means[arm] / value else 0)
        lost += max(means) - means[arm]
        if error and sure == 999 and agent.verdict(error) is not None:
            sure = play
    return lost, sure


def differ(first: float, second: list[float], runs: int) -> float:
    """Return how far a mean of some runs is from that of others, in standard errors."""
    error = float(np.std(second)) * math.sqrt(1 / runs + 1 / len(second))
    return abs(first - float(np.mean(second))) / error


def test_live_agents_lose_as_much(found: Forecast) -> None:
    """Drawn truths, rewards and moved means are this test's own.

    Each of seven comparisons fails by chance about once in 10,000 seeds.
    """
    content, random = found.as_dict(), Random(11)
    table = {"loyal": (8.1, 9.6, 10.5), "regular": (5.4, 6, 4.5), "thrifty": (4.5, 2.4, 0.75)}
    drawn = random.choices(list(table), [2, 1, 1], k=200)
    runs = [played_by_an_agent("frugal", list(table[truth]), random, 0.05) for truth in drawn]
    regret = [lost for lost, _ in runs]
    assert differ(content["regret"]["mean"], regret, 200) < 4
    assert 0.85 < np.mean(np.array(regret) <= content["regret"]["q95"]) < 1
    for truth, chance in (("loyal", 0.5), ("regular", 0.25)):
        own = [lost for lost, of in zip(regret, drawn, strict=True) if of == truth]
        assert differ(content["per_truth"][truth], own, int(200 * chance)) < 4
    plays = [sure for _, sure in runs]
    assert 0.36 < np.mean(np.array(plays) <= content["until_sure"]["median"]) < 0.68
    assert abs(np.mean(np.array(plays) <= 300) - content["until_sure"]["share"]) < 0.15
    thompson = [
        played_by_an_agent("thompson", list(table[truth]), random)[0] for truth in drawn[:60]
    ]
    assert differ(content["baselines"]["thompson"], thompson, 200) < 4
    # Means may be off by .05 of 15 EUR, and cannot exceed the price or be negative.
    moved = [
        [
            min(max(mean + random.uniform(-0.75, 0.75), 0), price)
            for mean, price in zip(table[truth], (9, 12, 15), strict=True)
        ]
        for truth in drawn
    ]
    lost = [played_by_an_agent("frugal", means, random)[0] for means in moved]
    assert differ(content["off"]["regret"], lost, 200) < 4


def test_words_on_one_screen(found: Forecast) -> None:
    lines = str(found).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0] == "shop: 3 models, 3 arms, 300 plays, the truth drawn from the prior"
    text = " ".join(str(found).split())
    for words in ("Start with 15 EUR", "on average", "half of the runs know the best arm after"):
        assert words in text


def test_under_one_truth() -> None:
    found = fpb.forecast("paper:two", horizon=200, runs=50, truth="theta2")
    content = found.as_dict()
    assert content["truth"] == "theta2"
    assert content["floor"] is None
    assert content["per_truth"].keys() == {"theta2"}
    assert content["per_truth"]["theta2"] == content["regret"]["mean"]
    assert "the truth is theta2" in str(found)


def test_with_contexts_and_a_policy_in_plain_python() -> None:
    problem = fpb.Problem.bernoulli(
        [[[0.9, 0.5], [0.3, 0.4]], [[0.2, 0.5], [0.3, 0.4]]], contexts=["a", "b"]
    )
    found = fpb.forecast(problem, horizon=40, runs=20, policy="optimal:horizon=40")
    content = found.as_dict()
    assert content["first_arm"].keys() == {"a", "b"}
    assert content["until_sure"] is None
    assert content["off"] is None
    assert content["floor_upper"] is not None
    assert "Start with" in str(found)


def test_revenue_has_no_floor_and_models_that_are_far_off_can_be_asked_for() -> None:
    revenue = fpb.Problem.revenue([[0.5, 0.2], [0.1, 0.2]], [[30, 60], [30, 90]], shape=2)
    content = fpb.forecast(revenue, horizon=20, runs=10).as_dict()
    assert (content["floor"], content["off"]) == (None, None)
    content = fpb.forecast("paper:two", horizon=20, runs=10, off=0.6).as_dict()
    assert content["off"]["by"] == 0.6


def test_a_policy_that_expects_change_is_never_sure() -> None:
    content = fpb.forecast("paper:two", horizon=20, runs=10, policy="frugal:change_rate=0.1")
    assert content.as_dict()["until_sure"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error": 0}, "error"),
        ({"error": 1}, "error"),
        ({"off": -0.1}, "off"),
        ({"truth": "nobody"}, "nobody"),
        ({"horizon": 0}, "horizon"),
        ({"policy": "bpr"}, "bpr"),
        ({"policy": 7}, "policy"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(fpb.InputError, match=words):
        fpb.forecast("paper:two", **change)  # type: ignore[arg-type]


def test_progress_never_falls_and_ends_the_work_if_it_raises() -> None:
    shares: list[float] = []
    fpb.forecast(
        SHOP, horizon=50, runs=20, progress=lambda name, share, of_all: shares.append(of_all)
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1
    seen: list[str] = []

    def stop_until_sure(name: str, share: float, of_all: float) -> None:
        seen.append(name)
        if name == "until sure":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fpb.forecast(SHOP, horizon=50, runs=20, progress=stop_until_sure)
    assert seen.count("until sure") == 1


def test_without_leaps_thompson_sampling_is_left_out_of_long_forecasts() -> None:
    """It would take years: with a value for each arm it plays step by step."""
    priced = fpb.Problem.bernoulli([[0.6, 0.4], [0.6, 0.1]], value=[9, 15])
    assert not _plays_thompson(priced, 10**7 + 1)
    assert _plays_thompson(priced, 10**7)
    assert _plays_thompson(fpb.load_problem("paper:two"), 10**14)
