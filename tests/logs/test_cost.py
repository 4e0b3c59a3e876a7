"""Logs of revenue, read as profit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import refusal, run

import fpbandits as fpb
from fpbandits.errors import InputError

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
