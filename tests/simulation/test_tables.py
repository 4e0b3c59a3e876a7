"""The table of regret in plain text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cells import Cells
from rich.cells import cell_len
from scipy import stats

from fpbandits import UCB1, Problem, Result, load_problem, simulate
from fpbandits.simulation.tables import regret_html, regret_table, truths_table


@pytest.fixture(scope="module")
def result() -> Result:
    """Two policies of 4 runs whose pulls, and so regrets of 0.4 per pull of arm 2, are known."""
    base = simulate(load_problem("paper:two"), UCB1(), horizon=10**6, runs=4, times=[10**6])
    few = base.pulls["ucb1"].copy()
    few[:, -1, 1] = [0, 10, 20, 30]
    plans = base.plans["ucb1"]
    return replace(
        base, pulls={"few": few, "a longer name": 1000 * few}, plans=dict.fromkeys("fa", plans)
    )


def test_every_number_is_in_its_place(result: Result) -> None:
    title, head, rule, few, many = regret_table(result).splitlines()
    assert title == "paper:two, truth theta1: regret at T = 1e+06, 4 runs, seed 0"
    assert head.split("  ")[0] == "policy"
    assert set(rule) == {"─"}
    assert len(rule) == max(map(len, (head, few, many)))
    regret = 0.4 * np.array([0, 10, 20, 30])
    low, high = stats.t.interval(0.95, 3, loc=6, scale=stats.sem(regret))
    numbers = [6, low, high, regret.std(ddof=1), 6, np.quantile(regret, 0.95)]
    assert few.split() == ["few", *(f"{x:.4g}" for x in numbers[:2]), "…"] + [
        f"{x:.4g}" for x in numbers[2:]
    ]
    cells = [f"{1000 * x:,.1f}" for x in numbers]
    cells.insert(2, "…")
    assert many.split() == ["a", "longer", "name", *cells]
    assert len(few) == len(many), "figures stand below each other"


def test_a_single_run_leaves_spread_empty(result: Result) -> None:
    line = regret_table(result.first(1)).splitlines()[-2]
    assert line.split() == ["few", "0", "0", "0"]


def test_what_could_steer_a_terminal_is_spelled_out(result: Result) -> None:
    """A result may come from someone else's file."""
    pulls = {"a\x1b]0;x\x07\u202e\n": result.pulls["few"]}
    text = regret_table(replace(result, pulls=pulls, truth="t\x1b[2J\r\x9b"))
    assert "\\x1b]0;x\\x07\\u202e\\n" in text
    assert "truth t\\x1b[2J\\r\\x9b: regret" in text
    assert len(text.splitlines()) == 4
    assert all(line.isprintable() for line in text.splitlines())


def test_a_notebook_shows_the_same_numbers(result: Result) -> None:
    named = replace(result, pulls={"<b>": result.pulls["few"]})
    text, rows = regret_table(named).splitlines(), Cells(named._repr_html_()).rows
    assert regret_html(named) == named._repr_html_()
    assert [" ".join(row).split() for row in rows] == [text[1].split(), text[3].split()]
    assert text[0].split(": ", 1)[1].split(": ")[-1] in named._repr_html_()


def test_every_truth_has_its_rows(result: Result) -> None:
    """The second truth's runs lose twice as much per pull of arm 2."""
    other = replace(result, truth="短い", truth_means=np.array([1.3, 0.5]))
    title, head, rule, *rows = truths_table({"theta1": result, "短い": other}).splitlines()
    assert title == "paper:two, each truth in turn: regret at T = 1e+06, 4 runs, seed 0"
    assert " ".join(head.split()) == "truth policy mean regret 95 % interval 95 % quantile"
    alone = [regret_table(each).splitlines()[3:] for each in (result, other)]
    names = ["theta1", "", "短い", ""]
    for row, line, name in zip(rows, alone[0] + alone[1], names, strict=True):
        words = line.split()
        (place,) = [place for place, word in enumerate(words) if word == "…"]
        expected = [*name.split(), *words[: place + 2], words[-1]]
        assert row.split() == expected
    assert rows[2].split()[2] == "12"
    assert {cell_len(row) for row in rows} == {cell_len(rule)}, "figures stand below each other"


@pytest.mark.parametrize(
    ("delay", "words"),
    [
        (0, ""),
        (1, ", rewards 1 decision late"),
        ("geometric:300", ", rewards 300 decisions late on average"),
        ("batch:1000", ", rewards known 1,000 at a time"),
    ],
)
def test_the_title_says_how_runs_were_played(result: Result, delay: int | str, words: str) -> None:
    late = {} if delay == 0 else {"delay": delay}
    title = regret_table(replace(result, settings={**result.settings, **late})).splitlines()[0]
    assert title.endswith(f"4 runs, seed 0{words}")
    shuffled = replace(result, settings={**result.settings, **late, "shuffle": True})
    title = regret_table(shuffled).splitlines()[0]
    assert title.endswith(f"4 runs, seed 0, arms and models shuffled{words}")


def test_verdicts_take_the_place_of_spread(result: Result) -> None:
    """For one truth and for several; three of four runs have a verdict, and one is wrong."""
    stops = {name: np.array([[1, 3000, 0, 7], [0, 1, 0, 0]]) for name in result.policies}
    stopped = replace(result, stops=stops, settings={**result.settings, "stop": 0.05})
    title, head, _, few, _ = regret_table(stopped).splitlines()
    assert title == (
        "paper:two, truth theta1: until a verdict of error 0.05, T = 1e+06, 4 runs, seed 0"
    )
    columns = (
        "policy  median plays  95 % quantile  with a verdict  wrong  mean regret  95 % interval"
    )
    assert head.split() == columns.split()
    low, high = stats.t.interval(0.95, 3, loc=6, scale=stats.sem(0.4 * np.array([0, 10, 20, 30])))
    expected = ["few", "3,000", "beyond", "T", "75", "%", "25", "%"]
    assert few.split() == [*expected, "6", f"{low:.4g}", "…", f"{high:.4g}"]
    _, head, _, *rows = truths_table({"theta1": stopped}).splitlines()
    assert head.split() == ["truth", *columns.split()]
    assert rows[0].split() == ["theta1", *few.split()]


def test_names_stand_left_and_numbers_right(result: Result) -> None:
    _, head, _, few, many = regret_table(result).splitlines()
    assert few.startswith("few  ")
    assert many.startswith("a longer name  ")
    assert head.startswith("policy  ")
    _, head, _, first, second = truths_table({"theta1": result}).splitlines()
    assert head.startswith("truth   policy")
    assert first.startswith("theta1  few  ")
    assert second.startswith("        a longer name  ")


def test_the_last_recorded_time_counts(result: Result) -> None:
    """At the first of two times nothing is lost yet."""
    pulls = np.concatenate([np.zeros((4, 1, 2), np.int64), result.pulls["few"]], axis=1)
    twice = replace(result, times=np.array([1, 10**6]), pulls={"few": pulls})
    alone = replace(result, pulls={"few": result.pulls["few"]})
    assert regret_table(twice) == regret_table(alone)


def test_a_truth_that_moves_is_said_to() -> None:
    moving = Problem.bernoulli(
        [[0.9, 0.5], [0.2, 0.5]], transitions=[[0.5, 0.5], [0.5, 0.5]], name="moods"
    )
    title = simulate(moving, UCB1(), truth="theta2", horizon=3, runs=1).table().splitlines()[0]
    assert title == "moods, truth theta2 at first, then moving: regret at T = 3, 1 run, seed 0"
