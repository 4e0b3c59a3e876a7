"""`fit` from end to end: a log in, a problem with its prior, errors and doubts out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from logs import drawn, in_turn, matched

import fpbandits as fpb
from fpbandits.errors import InputError
from fpbandits.families import ESTIMATORS
from fpbandits.families.estimator import Rewards
from fpbandits.fitting import fit as module
from fpbandits.fitting.cells import cells_of
from fpbandits.fitting.choose import choose
from fpbandits.fitting.doubts import Seen, tell_apart
from fpbandits.fitting.em import Mixture, Sample
from fpbandits.fitting.errors import standard_errors
from fpbandits.logs.log import read_log

ROLES: Any = {"unit": "user", "arm": "arm", "reward": "reward"}


@pytest.fixture(scope="module")
def found() -> fpb.Fit:
    return fpb.fit(drawn(1, units=1200).log, **ROLES)


def test_types_are_found_with_their_shares_and_errors(found: fpb.Fit) -> None:
    truth = drawn(1, units=1200)
    assert found.types == 2
    assert found.problem.models == ("type1", "type2")
    means, shares = found.problem.means, np.array(list(found.shares.values()))
    assert shares[0] > shares[1], "the largest first"
    order = matched(means, truth.means)
    errors = found.error_table[order]
    # Twelve means and shares, each within four of its errors: one false alarm in a thousand.
    assert (np.abs(means[order] - truth.means) < 4 * errors).all()
    assert (errors < 0.04).all()
    assert abs(shares[order][0] - 0.6) < 4 * next(iter(found.share_errors.values()))
    assert found.problem.prior == pytest.approx(tuple(shares))
    assert (found.units, found.events) == (1200, 9600)


def test_a_file_a_frame_and_a_dict_are_the_same_log(found: fpb.Fit, tmp_path: Path) -> None:
    frame = pd.DataFrame(drawn(1, units=1200).log)
    frame.to_csv(tmp_path / "shop.csv", index=False)
    for log in (frame, tmp_path / "shop.csv"):
        again = fpb.fit(log, **ROLES)
        assert again.problem == found.problem, "bit for bit"
        assert again.error_table.tolist() == found.error_table.tolist()
    assert again.problem.name == "shop"


def test_a_number_of_types_may_be_said() -> None:
    one = fpb.fit(drawn(1, units=200).log, types=1, **ROLES)
    assert (one.types, list(one.bic)) == (1, [1])
    assert one.shares == {"type1": 1.0}


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [("gaussian", "deviation", 0.3), ("beta", "concentration", 6.0), ("discrete", None, 0)],
)
def test_other_families(family: str, key: str | None, value: float) -> None:
    truth = drawn(2, family, units=600)
    found = fpb.fit(truth.log, family=family, types=2, **ROLES)
    means = found.problem.means
    np.testing.assert_allclose(means[matched(means, truth.means)], truth.means, atol=0.08)
    assert found.problem.rewards.name == family
    if key is not None:
        # 4,800 rewards know a deviation to 1 % and a concentration to 2 %.
        assert found.problem.rewards.content[key] == pytest.approx(value, rel=0.1)
        known: Any = {key: 2 * value}
        told = fpb.fit(truth.log, family=family, types=2, **known, **ROLES)
        assert told.problem.rewards.content[key] == pytest.approx(2 * value)


def test_a_deviation_is_in_the_units_of_rewards() -> None:
    truth = drawn(2, "gaussian", units=600)
    one = fpb.fit(truth.log, family="gaussian", types=2, deviation=0.3, **ROLES)
    cents = {**truth.log, "reward": 100 * truth.log["reward"]}
    other = fpb.fit(cents, family="gaussian", types=2, deviation=30, **ROLES)
    np.testing.assert_allclose(other.problem.means, 100 * np.array(one.problem.means), rtol=1e-6)
    np.testing.assert_allclose(list(other.shares.values()), list(one.shares.values()), rtol=1e-6)
    means = np.array(one.problem.means)
    np.testing.assert_allclose(means[matched(means, truth.means)], truth.means, atol=0.03)


def test_arms_with_values_of_their_own() -> None:
    truth = drawn(3, units=600)
    prices = np.array([9.0, 12.0, 15.0])
    log = {**truth.log, "reward": truth.log["reward"] * prices[truth.log["arm"]]}
    found = fpb.fit(log, types=2, **ROLES)
    assert found.problem.rewards.content["value"].tolist() == prices.tolist()  # type: ignore[union-attr]
    wanted = truth.means * prices
    means = found.problem.means
    np.testing.assert_allclose(means[matched(means, wanted)], wanted, atol=1.0)


def test_contexts() -> None:
    truth = drawn(4, units=800, means=[[0.9, 0.5, 0.1, 0.3], [0.1, 0.4, 0.8, 0.7]], shown=3)
    pair = truth.log["arm"]
    log = {
        **truth.log,
        "arm": np.array(["a", "b"])[pair % 2],
        "on": np.array(["m", "t"])[pair // 2],
    }
    found = fpb.fit(log, context="on", types=2, **ROLES)
    problem = found.problem
    assert (problem.arms, problem.contexts) == (("a", "b"), ("m", "t"))
    assert problem.means.shape == (2, 2, 2)
    flat = problem.rewards.means
    np.testing.assert_allclose(flat[matched(flat, truth.means)], truth.means, atol=0.1)
    assert problem.shares == pytest.approx(np.bincount(pair // 2) / len(pair))
    content = found.as_dict()
    by_context = dict(zip("mt", problem.means[0].tolist(), strict=True))
    assert content["models"]["type1"] == by_context
    assert set(content["errors"]["type1"]) == {"m", "t"}


def test_what_doubts_are_about_is_what_the_log_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted row by row; and errors by a bootstrap have a stream of their own."""
    random = np.random.default_rng(8)
    user, arm, on = random.integers(40, size=300), random.integers(3, size=300), np.arange(300) % 2
    paid = (random.random(300) < 0.2 + 0.6 * (user % 2 == arm % 2)).astype(float)
    paid[7] = np.nan
    log = {"user": user, "arm": arm, "on": on, "reward": paid}
    seen: list[Seen] = []
    streams: list[Any] = []

    def noted(sample: Sample, mixture: Mixture, random: np.random.Generator) -> Any:
        streams.append(random.bit_generator.state)
        return standard_errors(sample, mixture, random)

    told: list[Any] = []

    def said(what: Seen) -> list[str]:
        seen.append(what)
        return ["said"]

    monkeypatch.setattr(module, "doubts", said)
    monkeypatch.setattr(module, "standard_errors", noted)
    how: Any = {"context": "on", "types": 2, "missing": "drop", "seed": 3, "arms": list("2103")}
    found = fpb.fit(log, progress=lambda *said: told.append(said), **how, **ROLES)
    problem = found.problem
    (what,) = seen
    kept = [(u, str(a), c) for u, a, c, p in zip(user, arm, on, paid, strict=True) if p == p]
    assert (what.types, what.arms, what.pairs) == (problem.models, problem.arms, problem.pair_names)
    assert (what.units, what.events, what.dropped) == (found.units, 299, 1)
    assert what.units == len({u for u, _, _ in kept})
    shown = [len({u for u, a, _ in kept if a == name}) / what.units for name in problem.arms]
    assert what.shown.tolist() == shown
    assert problem.arms == ("2", "1", "0", "3")
    played = [sum(f"{c}: {a}" == pair for _, a, c in kept) for pair in problem.pair_names]
    np.testing.assert_allclose(what.plays.sum(axis=1), played)
    assert problem.shares == pytest.approx([np.mean([c == k for _, _, c in kept]) for k in (0, 1)])
    assert what.shares.tolist() == list(found.shares.values())
    assert what.means.T.tolist() == problem.rewards.means.tolist()
    assert what.errors.T.tolist() == found.error_table.tolist()
    assert [found.errors[name].shape for name in problem.models] == [(2, 4)] * found.types
    assert (what.sureness, what.chosen, what.perhaps) == (found.sureness, 2, 2)
    assert found.warnings == ("said",)
    stream = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0, 2)))
    assert streams == [stream.bit_generator.state]
    ours = ("adding up rewards", 0.0, 0.0), ("finding standard errors", 0.0, 0.0)
    assert (told[0], told[-1]) == ours
    assert found.told_apart == tuple(
        tell_apart(problem.models, problem.arms, what.means, what.errors)
    )
    monkeypatch.undo()
    assert fpb.fit(log, types=1, missing="drop", **ROLES).as_dict() == (
        fpb.fit(log, types=1, missing="drop", seed=0, **ROLES).as_dict()
    )


def test_seeds_and_sizes_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def noted(*arguments: Any) -> Any:
        seeds.append(arguments[3])
        return choose(*arguments)

    monkeypatch.setattr(module, "choose", noted)
    # As small as a log may be: two units, two arms and two rows for each of these.
    small = {"user": [1, 2, 1, 2], "arm": [1, 1, 2, 2], "reward": [0, 1, 1, 1]}
    assert fpb.fit(small, types=1, **ROLES).units == 2
    assert seeds == [0]
    three = {name: [*column, column[0]] for name, column in small.items()}
    three["arm"][-1] = 3
    with pytest.raises(InputError, match="the log: 3 arms in 5 rows: most were played once"):
        fpb.fit(three, types=1, **ROLES)
    with pytest.raises(InputError, match="3 types for 2 units"):
        fpb.fit(small, types=3, **ROLES)
    assert fpb.fit(small, types=2, **ROLES).types <= 2


def test_doubts_are_told() -> None:
    found = fpb.fit(drawn(5, units=400, shown=1, repeats=1).log, **ROLES)
    assert any("units have 1 rewards on average" in warning for warning in found.warnings)


def test_another_set_of_types_is_told_of_where_it_fits_as_well(found: fpb.Fit) -> None:
    # Two types for three that only names of arms tell apart: 0.5 on two arms is as good on others.
    log = in_turn(200, 200, 200).log
    log["reward"] = 20 * log["reward"] - 5
    two, three = (fpb.fit(log, types=types, range=(-5, 15), **ROLES) for types in (2, 3))
    (said,) = [warning for warning in two.warnings if "another set" in warning]
    assert re.match(
        r"another set of 2 types fits as well, to within 0.0 nats: there type[12] pays [78].* "
        r"(more|less) on '[012]', \d\d.\d times the error given; more units",
        said,
    )
    assert said in two.as_dict()["warnings"]
    for clear in (three, found):
        assert not any("another set" in warning for warning in clear.warnings)


def test_what_an_agent_does_with_it(found: fpb.Fit) -> None:
    agent = fpb.Agent(found.problem, seed=0)
    assert agent.ask().arm in found.problem.arms


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"user": np.zeros(9600)}, "all rewards are of one unit, '0'"),
        ({"arm": np.zeros(9600)}, "all rewards are of one arm, '0'"),
        (
            {"reward": np.where(np.arange(9600) == 5, 7, 1)},
            "row 5, counted from 0: the reward 7 is neither",
        ),
    ],
)
def test_logs_in_which_there_is_nothing_to_find(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fpb.fit({**drawn(1, units=1200).log, **change}, **ROLES)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"types": 0}, "types is 0: it must be at least 1"),
        ({"types": 41}, "types is 41: it must be at most 40"),
        ({"types": 11}, "11 types for 10 units"),
        ({"seed": -1}, "seed is -1"),
        ({"family": "normal"}, "unknown reward family 'normal'"),
        ({"range": (1, 0)}, "the lowest must be below the highest"),
        ({"deviation": 1}, "deviation is for gaussian rewards, not for bernoulli"),
        ({"deviance": 1}, "unknown field of bernoulli rewards 'deviance'"),
    ],
)
def test_bad_arguments_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fpb.fit(drawn(1, units=10).log, **ROLES, **how)


def test_an_agent_begins_where_a_history_ends() -> None:
    """Bayes' rule by hand, on the fitted means and shares, says what to play first.

    A history of 40 rewards, in contexts, leaves one type at 0.99 for most units: then its best arm
    in a context is the first that the default policy plays there.
    """
    random = np.random.default_rng(5)
    means = np.array([[[0.9, 0.4], [0.2, 0.5]], [[0.3, 0.7], [0.6, 0.1]]])

    def drawn_log(units: int, rows: int) -> tuple[dict[str, Any], Any]:
        kinds = random.choice(2, units, p=[0.7, 0.3])
        user = np.repeat(np.arange(units), rows)
        on, arm = random.integers(2, size=(2, len(user)))
        paid = random.random(len(user)) < means[kinds[user], on, arm]
        return {"user": user, "on": on, "arm": arm, "paid": paid.astype(int)}, kinds

    how: Any = {"unit": "user", "arm": "arm", "reward": "paid", "context": "on"}
    problem = fpb.fit(drawn_log(800, 20)[0], **how).problem
    later, kinds = drawn_log(40, 40)
    right = 0
    for user in range(40):
        agent = fpb.Agent(problem)
        weights = np.log(np.array(problem.prior))
        for row in range(40 * user, 40 * user + 40):
            on, arm, paid = (int(later[name][row]) for name in ("on", "arm", "paid"))
            agent.observe(str(arm), paid, str(on))
            chance = problem.means[:, on, arm]
            weights = weights + np.log(chance if paid else 1 - chance)
        posterior = np.exp(weights - weights.max())
        posterior /= posterior.sum()
        if posterior.max() > 0.99:
            kind = int(posterior.argmax())
            for on in range(2):
                best = problem.arms[int(problem.means[kind, on].argmax())]
                assert fpb.Agent.from_state(agent.state(), problem).ask(str(on)).arm == best
            right += kind == kinds[user]
    assert right >= 35


@pytest.mark.parametrize("types", [2, 3])
def test_types_that_are_the_same_are_one(types: int) -> None:
    log = drawn(1, units=400, means=[[0.3, 0.5, 0.6]], shares=(1.0,)).log
    found = fpb.fit(log, types=types, **ROLES)
    assert found.shares == {"type1": 1.0}
    assert f"{types} types came out as 1: types that are the same are one type" in found.warnings
    assert fpb.fit(drawn(1, units=400).log, types=2, **ROLES).types == 2


def test_missing_rewards_are_dropped_if_so_wished() -> None:
    log = drawn(1, units=200).log
    gaps = {**log, "reward": np.where(np.arange(1600) % 16 == 3, np.nan, log["reward"])}
    with pytest.raises(InputError, match=r"row 3, .* 100 of 1,600 rows lack something"):
        fpb.fit(gaps, **ROLES)
    found = fpb.fit(gaps, types=2, missing="drop", **ROLES)
    assert (found.events, found.warnings[0]) == (1500, "100 rows left out: something is missing")


def test_a_gzipped_file_of_truths(tmp_path: Path) -> None:
    log = drawn(1, units=200).log
    frame = pd.DataFrame({**log, "reward": log["reward"] > 0})
    frame.to_csv(tmp_path / "shop.csv.gz", index=False)
    found = fpb.fit(tmp_path / "shop.csv.gz", types=2, **ROLES)
    assert found.problem == fpb.fit(log, types=2, **ROLES).problem
    assert found.problem.name == "shop"


def test_doubled_rows_are_refused() -> None:
    log = {name: np.repeat(column, 2) for name, column in drawn(1, units=200).log.items()}
    with pytest.raises(InputError, match="the log: every row is there 2 times"):
        fpb.fit(log, **ROLES)


def test_revenue_is_fitted_as_well_as_from_the_truth() -> None:
    """Two types from 10⁵ rewards of 0 or a gamma amount: as near as EM that starts at the truth."""
    random = np.random.default_rng(0)
    chances = np.array([[0.3, 0.1, 0.5, 0.2], [0.1, 0.4, 0.2, 0.3]])
    amounts = np.array([[30.0, 60.0, 10.0, 40.0], [50.0, 20.0, 30.0, 45.0]])
    kinds = (random.random(10_000) < 0.4).astype(int)
    user = np.repeat(np.arange(10_000), 10)
    arm = random.integers(4, size=len(user))
    here = kinds[user], arm
    paid = random.random(len(user)) < chances[here]
    log = {"user": user, "arm": arm, "reward": paid * random.gamma(2, amounts[here] / 2)}
    with pytest.raises(InputError, match=r"use --family revenue \(0 or an amount that varies\)"):
        fpb.fit(log, **ROLES)
    found = fpb.fit(log, family="revenue", **ROLES)
    assert found.types == 2
    assert found.problem.rewards.content["shape"] == pytest.approx(2, rel=0.03)
    read = read_log(log, **ROLES)
    rewards = Rewards(read.reward, read.pair, read.pair_names, None, read.arms)
    estimator: Any = ESTIMATORS["revenue"].of_log(rewards, {})
    cells = cells_of(read, estimator)
    sample = Sample(cells, cells.weights(), estimator, found.pseudo_count)
    rates = np.stack([np.log(chances / (1 - chances)), np.log(amounts / estimator.scale)], axis=-1)
    start = np.ascontiguousarray(rates.swapaxes(0, 1))
    best, _ = sample.climb(Mixture(np.log([0.6, 0.4]), start, np.log([2.0])), 1500, 1e-9)
    truth = chances * amounts
    off = np.sqrt(((found.problem.means - truth) ** 2).mean())
    least = np.sqrt(((estimator.means(best.parameters, best.common).T - truth) ** 2).mean())
    assert off < 1.1 * least
