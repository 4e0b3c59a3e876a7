"""The commands of docs/logs.md, the README and docs/service.md, typed in, do what stands there."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import httpx
import numpy as np
import pytest
from command import run
from scipy.stats import binom
from serving import serving

import fpbandits as fpb
from fpbandits import Client, load_problem
from fpbandits.service.client import Served
from fpbandits.service.http import make_app
from fpbandits.service.store import open_store

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "logs.md"
README = ROOT / "README.md"


def commands() -> list[tuple[str, list[str]]]:
    """Return the commands of the page, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_every_command_prints_what_stands_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command, expected in commands():
        program, *words = shlex.split(command)
        if program == "fpbandits":
            code, out, _ = run(capsys, *words)
            assert code == 0
        elif program == "python":
            out = subprocess.check_output([sys.executable, ROOT / words[0], *words[1:]], text=True)
        else:
            out = subprocess.check_output([program, *words], text=True)
        assert [line.rstrip() for line in out.splitlines()] == expected, command
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried > 5) == (0, True)
    page = (tmp_path / "fit" / "report.html").read_text()
    assert "spring: 3 types of units" in page


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server whose store is fpbandits.db, beside the README's pricing.toml."""
    monkeypatch.chdir(tmp_path)
    problem = re.search(r'```toml\n(name = "pricing".*?)```', README.read_text(), re.DOTALL)
    assert problem is not None
    Path("pricing.toml").write_text(problem[1])
    with serving(make_app(open_store("fpbandits.db", make=True))) as address:
        yield address


def test_the_lines_of_curl_decide_reward_and_look_at_a_unit(served: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    _, _, section = README.read_text().partition("## How do I run it for a million users?")
    section = section.partition("\n## ")[0].replace("localhost:8000", served)
    (put,) = re.findall(r"^python3 .*", section, re.MULTILINE)
    subprocess.check_call(put.replace("python3", sys.executable, 1), shell=True)
    lines = re.findall(r"^\$ (curl .*)\n(.*)", section, re.MULTILINE)
    assert len(lines) == 3
    for command, expected in lines:
        out = subprocess.check_output(shlex.split(command), text=True)
        # " …" leaves out the rest of an answer, "…" the rest of a number.
        wanted = re.escape(expected).replace("\\ …", ".*").replace("…", "[0-9]*")
        assert re.fullmatch(wanted, out), out


VISITS, USERS = 8, 120


@pytest.mark.parametrize(
    "definition",
    [{"explore": 0.3}, {"policy": "thompson-theta:change_rate=0.3"}],
    ids=["frugal", "thompson-theta"],
)
def test_the_circle_closes(
    served: str, capsys: pytest.CaptureFixture[str], definition: dict[str, Any]
) -> None:
    """What was served is exported, fitted, evaluated, migrated and proved.

    The estimate of what frugal earns is more than three and a half errors from what simulation says
    in one of 2,000 logs; benchmarks/circle.py counts how often intervals hold it.
    """
    problem, random = load_problem("pricing.toml"), Random(1)
    kinds = {f"user-{n}": random.randrange(3) for n in range(USERS)}
    with Client(served, experiment="pricing") as client:
        client.create(problem, **definition)
        for visit in range(VISITS):
            asked = [{"unit": unit, "key": f"visit-{visit}"} for unit in kinds]
            told = []
            for decision in client.ask_all(asked):
                assert isinstance(decision, Served)
                mean = problem.means[kinds[decision.unit], problem.arms.index(decision.arm)]
                price = float(decision.arm.split()[0])
                told.append((decision, price if random.random() < mean / price else 0.0))
            assert set(client.tell_all(told)) == {"told"}
    page = (ROOT / "docs" / "service.md").read_text()
    _, _, section = page.partition("## The circle")
    commands = re.findall(r"^fpbandits (.*)", section.partition("\n## ")[0], re.MULTILINE)
    names = [command.split()[0] for command in commands]
    assert names == ["export", "fit", "evaluate", "migrate", "verify"]
    said = {}
    for name, command in zip(names, commands, strict=True):
        code, said[name], error = run(capsys, *shlex.split(command))
        assert code == 0, error
    assert said["verify"] == f"{VISITS * USERS:,} decisions, all as logged\n"
    assert set(load_problem("newer.toml").models) <= {*problem.models, "type1"}, "names stay"
    assert f"{USERS} units, {VISITS * USERS:,} rewards" in said["migrate"]
    roles: Any = {"unit": "unit", "arm": "arm", "reward": "reward", "propensity": "propensity"}
    found = fpb.evaluate("log.parquet", problem, **roles)
    mean = found.policies["frugal"].mean
    off = abs(mean.value - _true_reward(problem, found.least_propensity))
    assert off < 3.5 * (mean.high - mean.low) / (2 * 1.96)


def _true_reward(problem: fpb.Problem, least: float) -> float:
    """Return what frugal earns per decision, of those that are accepted."""
    how: Any = {"horizon": VISITS, "times": range(1, VISITS + 1), "runs": 4_000, "leap": False}
    regret = fpb.simulate(problem, "frugal", truth="prior", **how).mean_regret("frugal")
    earned = problem.means.max(axis=1).mean() - np.diff(regret, prepend=0.0)
    accepted = binom.sf(np.arange(VISITS), VISITS, least)
    return float(accepted @ earned / accepted.sum())


def test_the_shop_asks_a_service_for_its_prices(served: str) -> None:
    spec = importlib.util.spec_from_file_location("shop", ROOT / "examples" / "storefront.py")
    assert spec is not None
    assert spec.loader is not None
    shop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shop)
    server = shop.opened(served, port=0)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}") as browser:
            shown = browser.get("/").text
            assert browser.get("/").text == shown
            assert httpx.get(browser.base_url.join("/favicon.ico")).status_code == 404
            sold = browser.post("/").text
            assert browser.post("/").text == sold
            visitor = browser.cookies["visitor"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        shop.Shop.client.close()
    with Client(served, experiment="shop") as client:
        unit = client.unit(visitor)
    (arm,) = (arm for arm, plays in unit["plays"].items() if plays)
    assert f"for you: {arm}" in shown
    assert f"Sold for {arm}" in sold
    assert (unit["plays"][arm], unit["pending"]) == (1, {})
