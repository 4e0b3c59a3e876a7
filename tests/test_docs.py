"""Commands of README and docs, typed in, print what stands there; measured numbers are on record.

`docs/outputs.py` says what a command is, and refreshes the pages: ``make outputs``.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import httpx
import numpy as np
import pytest
from command import run
from outputs import PAGES, ROOT, agrees, commands, save_files
from outputs import run as run_line
from scipy.stats import binom
from serving import serving

import fpbandits as fpb
from fpbandits import Client, load_problem
from fpbandits.service.client import Served
from fpbandits.service.http import make_app
from fpbandits.service.store import open_store

WITH_COMMANDS = [page for page in PAGES if any(commands(page.read_text()))]
SLOW = re.compile(r"forecast|--runs 1000")
"""Commands that play thousands of runs."""

RESULTS = ROOT / "benchmarks" / "results"
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\d⁰¹²³⁴⁵⁶⁷⁸⁹])|(?<![\w.])\.\d+")


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_every_command_prints_what_stands_there(page: Path, tmp_path: Path, served: str) -> None:
    for command in commands(page.read_text()):
        if "curl " in command.line and shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        if not SLOW.search(command.line):
            printed = run_line(command.line, tmp_path, served.removeprefix("http://"))
            assert agrees(command.expected, printed), f"{command.line}\n{printed}"
    if page.name == "logs.md":  # its Python reads what the commands wrote
        failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
        assert (failed, tried > 5) == (0, True)
        assert "spring: 3 types of units" in (tmp_path / "fit" / "report.html").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_every_slow_command_prints_what_stands_there(page: Path, tmp_path: Path) -> None:
    save_files(tmp_path)
    for command in commands(page.read_text()):
        if SLOW.search(command.line) or page.name == "logs.md":  # which forecasts what it fitted
            printed = run_line(command.line, tmp_path)
            assert agrees(command.expected, printed), f"{command.line}\n{printed}"


def test_no_command_is_shown_that_is_not_run() -> None:
    for page in PAGES:
        text = page.read_text()
        shown = re.sub(r"^```text\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert shown.count("\n$ ") == len(list(commands(text))), page.name


MARK = re.compile(r"^<!-- (measured|not on record): ([\w/]+) -->$", re.MULTILINE)
MARKED = re.compile(r"^<!-- measured: (\w+) -->\n(\S.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r"benchmarks/results/(\w+)\.txt")


def record_of(benchmark: str) -> str:
    """Return the command and what it printed; version, date and machine are no measurements."""
    lines = (RESULTS / f"{benchmark}.txt").read_text().splitlines()
    return "\n".join([lines[0], *lines[4:]])


def on_record(number: str, record: str) -> bool:
    """Say whether a number is in a benchmark's record, perhaps with more digits.

    >>> on_record("1.2", "1.234 s"), on_record("1.3", "1.234 s"), on_record("1,000", "1000")
    (True, False, True)
    """
    digits = len(number.partition(".")[2])
    value = float(number.replace(",", ""))
    kept = (float(each.replace(",", "")) for each in NUMBER.findall(record))
    return any(abs(each - value) <= 0.5 * 10**-digits + 1e-9 for each in kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_numbers_that_are_marked_as_measured_are_on_record(page: Path) -> None:
    for benchmark, text in MARKED.findall(page.read_text()):
        prose = re.sub(r"`[^`]*`", "", text)
        record = record_of(benchmark)
        missing = [each for each in NUMBER.findall(prose) if not on_record(each, record)]
        assert missing == [], f"not in benchmarks/results/{benchmark}.txt"


def test_every_mark_is_right_above_a_block_and_names_a_benchmark() -> None:
    used = set()
    for page in PAGES:
        text = page.read_text()
        marks = MARK.findall(text)
        assert len(marks) == len(re.findall(r"<!-- (?:measured|not on record)", text)), page.name
        assert sum(kind == "measured" for kind, _ in marks) == len(MARKED.findall(text)), page.name
        waiting = [name for kind, name in marks if kind == "not on record"]
        for name in waiting:
            assert (ROOT / "benchmarks" / f"{name}.py").exists(), f"{page.name}: {name}"
        used |= {name for kind, name in marks if kind == "measured"} | set(INCLUDED.findall(text))
    assert used == {each.stem for each in RESULTS.glob("*.txt")}, "each record is on some page"


def test_links_of_the_pages_outside_the_site_lead_somewhere() -> None:
    for page in ROOT.glob("*.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert (ROOT / link).exists(), f"{page.name}: {link}"


def test_pages_are_short() -> None:
    """A README is read in minutes, an explanation in ten. Proofs may take longer."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
    contents = (ROOT / "docs" / "index.md").read_text()
    _, _, listed = contents.partition(":caption: Explanation\n\n")
    names = listed.partition("\n```")[0].split()
    assert {"default", "wrong-models"} <= set(names)
    for name in names:
        words = len((ROOT / "docs" / f"{name}.md").read_text().split())
        assert words <= (1500 if name == "default" else 1200), f"{name}: {words} words"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server whose store is fpbandits.db, beside pricing.toml."""
    monkeypatch.chdir(tmp_path)
    save_files(tmp_path)
    with serving(make_app(open_store("fpbandits.db", make=True))) as address:
        yield address


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
    page = (ROOT / "docs" / "circle.md").read_text()
    commands = re.findall(r"^fpbandits (.*)", page, re.MULTILINE)
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
