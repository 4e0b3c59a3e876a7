"""Logs of revenue, read as profit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import refusal, run

import fpbandits as fpb
from fpbandits.errors import InputError
from fpbandits.logs.cost import less_cost
from fpbandits.logs.log import Log, read_log

ROLES: Any = {"unit": "user", "arm": "price", "reward": "paid"}
PRICES, COSTS = np.array([9.0, 12.0]), [4.0, 5.0]
CHANCES = np.array([[0.9, 0.8], [0.6, 0.2]])


def log(seed: int = 1, users: int = 120, visits: int = 10) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), visits)
    arm = random.integers(2, size=len(user))
    sold = random.random(len(user)) < CHANCES[user % 2, arm]
    return {"user": user, "price": PRICES[arm], "paid": PRICES[arm] * sold}


def test_models_are_of_profit_and_so_is_what_policies_earn() -> None:
    revenue = log()
    profit = {**revenue, "paid": np.where(revenue["paid"] > 0, revenue["paid"] - 4, 0.0)}
    found = fpb.fit(revenue, types=2, cost=4, **ROLES)
    same = fpb.fit(profit, types=2, **ROLES)
    assert np.asarray(found.problem.rewards.content["value"]).tolist() == [5.0, 8.0]
    assert found.problem == same.problem
    assert np.array_equal(found.error_table, same.error_table)
    how: Any = {"uniform": True, **ROLES}
    earned = fpb.evaluate(revenue, same.problem, cost=[4], **how)
    assert earned.as_dict() == fpb.evaluate(profit, same.problem, **how).as_dict()


def test_each_arm_has_its_cost_in_every_context() -> None:
    revenue = {**log(), "where": ["home", "away"] * 600}
    found = fpb.fit(revenue, types=1, cost=COSTS, context="where", **ROLES)
    assert np.asarray(found.problem.rewards.content["value"]).tolist() == [5.0, 7.0] * 2


def revenue_log(rewards: list[float], arms: list[int] | None = None) -> Log:
    columns = {"u": range(len(rewards)), "a": arms or [1] * len(rewards), "r": rewards}
    return read_log(columns, unit="u", arm="a", reward="r")


def test_a_sale_pays_its_reward_less_the_cost() -> None:
    log = revenue_log([0, 9, 0, 12.5, -3], [1, 1, 2, 2, 1])
    assert less_cost(log, None) is log
    assert less_cost(log, 2).reward.tolist() == [0, 7, 0, 10.5, -5]
    assert less_cost(log, np.array([4, 5])).reward.tolist() == [0, 5, 0, 7.5, -7]
    assert less_cost(log, [0.5]).reward.tolist() == [0, 8.5, 0, 12, -3.5]
    with pytest.raises(InputError) as caught:
        less_cost(log, [1, 12.5])
    assert caught.value.place == (("index", 3), ("arm", "2"))


def test_rewards_of_1_are_sales_where_the_cost_is_above_1() -> None:
    assert less_cost(revenue_log([0, 0, 0]), 4).reward.tolist() == [0, 0, 0]
    assert less_cost(revenue_log([0, 1, 1]), 0.75).reward.tolist() == [0, 0.25, 0.25]
    assert less_cost(revenue_log([0, 1, 2]), 1.5).reward.tolist() == [0, -0.5, 0.5]
    with pytest.raises(InputError, match="every sale has the reward 1") as caught:
        less_cost(revenue_log([0, 1, 1]), 1.5)
    assert caught.value.path == ["cost"]
    mixed = revenue_log([1, 1], [1, 2])
    assert less_cost(mixed, [1.5, 0.5]).reward.tolist() == [-0.5, 0.5]


@pytest.mark.parametrize(
    ("arms", "names"),
    [(8, "1, 2, 3, 4, 5, 6, 7, 8"), (9, "1, 2, 3, 4, 5, 6, 7, 8, …")],
)
def test_eight_arms_are_named_where_costs_are_not_as_many(arms: int, names: str) -> None:
    log = revenue_log([1.0] * arms, list(range(1, arms + 1)))
    with pytest.raises(InputError) as caught:
        less_cost(log, [1, 2])
    words = f"cost has 2 numbers for {arms} arms, which are, in order, {names}"
    assert str(caught.value).removeprefix("cost: ") == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ([1, 2, 3], "cost has 3 numbers for 2 arms, which are, in order, 9, 12"),
        ("x", "cost"),
        ([4, float("nan")], "cost"),
        ([9, 1], "arm '9': it was sold for 9, which is its cost"),
    ],
)
def test_a_cost_that_cannot_be_is_refused(cost: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fpb.fit(log(users=20), types=1, cost=cost, **ROLES)


def test_sales_that_count_1_each_are_not_what_was_paid() -> None:
    counted = {**log(users=20)}
    counted["paid"] = (counted["paid"] > 0) * 1.0
    with pytest.raises(InputError, match="every sale has the reward 1, which is less than its"):
        fpb.fit(counted, types=1, cost=4, **ROLES)
    with pytest.raises(InputError, match="reward 1 is a sale, not what was paid: with value, give"):
        fpb.fit(counted, types=1, value=[9, 12], **ROLES)
    # A share of a EUR per sale, and what it cost.
    assert fpb.fit(counted, types=1, cost=0.4, **ROLES).problem.means.max() < 0.6


def test_costs_are_given_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, revenue = tmp_path / "log.csv", log()
    rows = zip(*revenue.values(), strict=True)
    path.write_text("user,price,paid\n" + "".join(f"{u},{p:g},{r:g}\n" for u, p, r in rows))
    words = (str(path), "--unit", "user", "--arm", "price", "--reward", "paid", "--cost")
    models = str(tmp_path / "models.toml")
    assert run(capsys, "fit", *words, "4,5", "--types", "2", "--save", models)[0] == 0
    assert "value = [5.0, 7.0]" in Path(models).read_text()
    file, *roles = words
    code, out, error = run(capsys, "evaluate", file, models, *roles, "4,5", "--uniform")
    assert (code, "always" in out) == (0, True), error
    assert "cost has 3 numbers" in refusal(capsys, "fit", *words, "1,2,3")
