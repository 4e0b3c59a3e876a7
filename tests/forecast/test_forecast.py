"""A forecast's numbers against simulations and formulas of their own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from inspect import Parameter, signature
from random import Random
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.forecast import forecast as module
from fpbandits.forecast.forecast import Forecast, Off, _baselines, _off, _plays_thompson
from fpbandits.policies import Frugal, Thompson
from fpbandits.policies.parsing import the_policy
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.stopping import play_until_verdict
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


def test_no_policy_is_below_the_floor(found: Forecast) -> None:
    content = found.as_dict()
    assert content["floor"] == pytest.approx(fpb.floor(SHOP, 300).value, rel=0.01)
    assert content["floor"] <= content["regret"]["mean"]
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
    drawn = random.choices(list(table), [2, 1, 1], k=120)
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
    # Only twelve truths were drawn, four near each model; runs under one truth lose alike.
    assert differ(content["off"]["regret"], lost, 12) < 4


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
        ({"error": "much"}, "expected a number"),
        ({"off": -0.1}, "off"),
        ({"off": 0}, "off is 0: it must be above 0 and below 1"),
        ({"off": 1.5}, "off"),
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


def test_every_number_of_the_contract(found: Forecast) -> None:
    """All but ``off``, each from what stands behind it."""
    cell = make_cell(SHOP, Frugal(), RunSpec(horizon=300, runs=200, seed=4, truth="prior"))
    plays = np.sort(play_until_verdict(cell, 200, 0.05).plays)
    assert plays[0] > 0, "all of them were sure"
    regret = fpb.simulate(SHOP, "frugal", truth="prior", horizon=300, runs=200, seed=4)
    lost, drawn = regret.final_regret("frugal"), np.array(truths(SHOP, "prior", 4, range(200)))
    low, high = regret.confidence_interval("frugal")
    thompson = fpb.simulate(SHOP, "thompson", truth="prior", horizon=300, runs=200, seed=4)
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert content.pop("off").keys() == {"by", "regret", "worst", "thompson", "until"}
    assert content == {
        "problem": "shop",
        "horizon": 300,
        "truth": None,
        "policy": "frugal",
        "runs": 200,
        "seed": 4,
        "first_arm": fpb.Agent(SHOP).ask().arm,
        "regret": {
            "mean": pytest.approx(lost.mean()),
            "interval": pytest.approx([low[-1], high[-1]]),
            "q95": pytest.approx(np.quantile(lost, 0.95)),
        },
        "per_truth": {
            name: pytest.approx(lost[drawn == index].mean())
            for index, name in enumerate(SHOP.models)
        },
        "floor": found.floors[300].value if found.floors else None,
        "floor_upper": None,
        "floor_method": "pairs",
        "until_sure": {"error": 0.05, "median": plays[100], "q95": plays[190], "share": 1.0},
        "baselines": {
            # .9, 0 and 2.1 per play, under priors of a half, a quarter, a quarter.
            "always 12 EUR": pytest.approx(300 * (0.45 + 0.525)),
            "thompson": pytest.approx(thompson.final_regret("thompson").mean()),
        },
    }
    # Twelve times, evenly spaced in log t.
    assert list(found.floors or {}) == sorted({round(300 ** (k / 11)) for k in range(12)})
    one = replace(found, result=fpb.simulate(SHOP, "frugal", truth="prior", horizon=9, runs=1))
    assert one.as_dict()["regret"]["interval"] == [None, None]
    unknown = replace(found, floors=None, until_sure=None, off=None).as_dict()
    assert {key for key, value in unknown.items() if value is None} == {
        "truth",
        "floor",
        "floor_upper",
        "floor_method",
        "until_sure",
        "off",
    }
    exact = replace(found, floors={300: fpb.Floor(1.0, 2.0, "belief")}).as_dict()
    assert [exact[key] for key in ("floor", "floor_upper", "floor_method")] == [1.0, 2.0, "belief"]


def test_what_is_taken_if_nothing_is_said() -> None:
    """As documented: ten thousand plays, a thousand runs, a twentieth of error and of range."""
    given = {name: each.default for name, each in signature(fpb.forecast).parameters.items()}
    assert given == {
        "problem": Parameter.empty,
        "horizon": 10_000,
        "truth": None,
        "policy": None,
        "runs": 1000,
        "seed": 0,
        "error": 0.05,
        "off": 0.05,
        "workers": None,
        "executor": None,
        "progress": None,
    }


def nobody_is_near(monkeypatch: pytest.MonkeyPatch, **tables: list[list[float]]) -> list[Any]:
    """Replace the runs near models, which take longest, by tables: [size, model]."""
    asked: list[Any] = []

    def near(problem: Any, policies: Any, spec: Any, sizes: Any, chosen: Any, **how: Any) -> Any:
        asked.append((policies, sizes, chosen))
        zeros = np.zeros((len(sizes), len(chosen)))
        return {name: np.array(tables.get(name, zeros)) for name in policies}

    monkeypatch.setattr(module, "regret_nearby", near)
    return asked


def test_how_wrong_models_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are a quarter to four times ``off``; models weigh as in the prior, of 2, 1 and 1."""
    spec = RunSpec(horizon=50, runs=9, seed=0)
    own: list[list[float]] = [[1, 2, 3], [2, 3, 4], [4, 8, 16], [5, 9, 17], [9, 9, 9]]
    asked = nobody_is_near(monkeypatch, chosen=own, thompson=[[8.0, 8, 8]] * 5)
    assert _off(SHOP, Frugal(), spec, 0.05, None) == Off(0.05, 8.0, 16.0, 8.0, 0.05)
    ((policies, sizes, chosen),) = asked
    assert sizes == pytest.approx([0.0125, 0.025, 0.05, 0.1, 0.2])
    assert chosen == [0, 1, 2]
    assert policies == {"chosen": (Frugal(), 66), "thompson": (Thompson(), 16)}
    # Under one truth that is the model; the largest sizes that are tried are half a range.
    asked = nobody_is_near(monkeypatch, chosen=[[1.0], [2], [3]], thompson=[[0.5], [0.5], [0.5]])
    assert _off(SHOP, Frugal(), spec, 0.3, "regular") == Off(0.3, 3.0, 3.0, 0.5, None)
    ((policies, sizes, chosen),) = asked
    assert (sizes, chosen) == (pytest.approx([0.075, 0.15, 0.3]), [1])
    assert policies == {"chosen": (Frugal(), 200), "thompson": (Thompson(), 50)}
    asked = nobody_is_near(monkeypatch, chosen=[[1.0]] * 5, thompson=[[2.0]] * 5)
    assert _off(SHOP, Frugal(), spec, 0.125, "loyal") == Off(0.125, 1.0, 1.0, 2.0, 0.5)
    # Without a prior models weigh the same; what takes too long is not compared with.
    two = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], value=[3, 4])
    asked = nobody_is_near(monkeypatch, chosen=[[1.0, 2]] * 5)
    long = RunSpec(horizon=10**7 + 1, runs=9, seed=0)
    assert _off(two, Frugal(), long, 0.05, None) == Off(0.05, 1.5, 2.0, None, None)
    assert list(asked[0][0]) == ["chosen"]
    plain = the_policy("optimal:horizon=50", 50)
    discrete = fpb.Problem.discrete([[[0.5, 0.5]], [[0.2, 0.8]]], support=[0, 1])
    assert _off(two, plain, spec, 0.05, None) is None
    assert _off(discrete, Frugal(), spec, 0.05, None) is None


def test_what_a_single_arm_loses() -> None:
    """By hand, per play: a loses .1 on mobiles and b 0; on desktops b loses .2 of all, and a 0."""
    problem = fpb.Problem.bernoulli(
        [[[0.4, 0.5], [0.8, 0.6]], [[0.9, 0.5], [0.8, 0.6]], [[0.1, 0.5], [0.3, 0.9]]],
        contexts=["mobile", "desktop"],
        shares=[0.25, 0.75],
        arms=["a", "b"],
    )
    a = [0.25 * 0.1, 0.0, 0.25 * 0.4 + 0.75 * 0.6]
    b = [0.75 * 0.2, 0.25 * 0.4 + 0.75 * 0.2, 0.0]
    assert sum(b) < sum(a)
    assert _baselines(problem, 10, None, None) == {"always b": pytest.approx(10 * sum(b) / 3)}
    assert _baselines(problem, 10, "theta2", None) == {"always b": pytest.approx(2.5)}
    known = replace(problem, prior=(0.8, 0.1, 0.1))
    lost = 0.8 * a[0] + 0.1 * (a[1] + a[2])
    assert _baselines(known, 10, None, None) == {"always a": pytest.approx(10 * lost)}


def test_slow_parts_have_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 runs of Thompson sampling, 500 until sure; neither where plays are too many."""
    nobody_is_near(monkeypatch)
    asked: list[tuple[int, float]] = []

    def until(cell: Any, runs: int, error: float, **how: Any) -> Any:
        asked.append((runs, error))
        return play_until_verdict(cell, 4, error, **how)

    monkeypatch.setattr(module, "play_until_verdict", until)
    found = fpb.forecast("paper:two", horizon=3, runs=600, error=0.2)
    assert found.others is not None
    assert (found.result.runs, found.others.runs) == (600, 200)
    assert asked == [(500, 0.2)]
    found = fpb.forecast("paper:two", horizon=3, runs=300, policy="thompson")
    assert found.result.runs == 300, "it is what was asked for"
    found = fpb.forecast("paper:two", horizon=10**7 + 1, runs=2, truth="theta1")
    assert found.until_sure is None
    assert asked == [(500, 0.2), (300, 0.05)]
    assert (found.floors, found.others is not None) == (None, True)


def test_each_stage_has_its_share_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_is_near(monkeypatch)
    told: list[tuple[str, float, float]] = []
    fpb.forecast("paper:two", horizon=40, runs=20, progress=lambda *each: told.append(each))
    by_name: dict[str, list[tuple[float, float]]] = {}
    for name, share, of_all in told:
        by_name.setdefault(name, []).append((share, of_all))
    assert by_name["floor"][-1] == pytest.approx((1, 0.7))
    assert by_name["until sure"][-1] == pytest.approx((1, 0.6))
    assert max(by_name["frugal"][-1][1], by_name["thompson"][-1][1]) == pytest.approx(0.4)
    for name, first, last in (("until sure", 0.4, 0.6), ("floor", 0.6, 0.7)):
        for share, of_all in by_name[name]:
            assert of_all == pytest.approx(first + (last - first) * share)
    # The runs of both policies were 40.
    assert min(of_all for _, _, of_all in told) < 0.4


def test_a_model_called_prior_must_not_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], models=["prior", "other"])
    with pytest.raises(fpb.InputError, match="a model is called 'prior': name the true one"):
        fpb.forecast(problem, horizon=3, runs=2)
    nobody_is_near(monkeypatch)
    assert fpb.forecast(problem, horizon=3, runs=2, truth="prior").as_dict()["truth"] == "prior"


def test_where_nothing_can_be_compiled_thompson_sampling_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = fpb.Problem.bernoulli([[0.123, 0.4], [0.6, 0.1]])
    monkeypatch.setattr("numba.core.config.DISABLE_JIT", 1)
    assert not _plays_thompson(problem, 10)
