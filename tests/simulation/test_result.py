"""What can be asked of a result, and that it comes back from disk as it was."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fpbandits import FPUCB, UCB1, InputError, Problem, Result, load_problem, simulate
from fpbandits.simulation.comparison import Comparison
from fpbandits.simulation.stops import Stops


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(
        load_problem("paper:two"), [FPUCB(), UCB1()], truth="theta2", horizon=1000, runs=25, seed=3
    )


def test_statistics_by_hand(result: Result) -> None:
    pulls = result.pulls["ucb1"]
    regret = [[0.3 * int(arm1) for arm1, _ in run] for run in pulls]
    final = [run[-1] for run in regret]
    assert result.final_regret("ucb1").tolist() == pytest.approx(final)
    mean = math.fsum(final) / 25
    assert result.mean_regret("ucb1")[-1] == pytest.approx(mean)
    std = math.sqrt(sum((value - mean) ** 2 for value in final) / 24)
    assert result.std_regret("ucb1")[-1] == pytest.approx(std)
    low, high = result.confidence_interval("ucb1", 0.9)
    expected = stats.t.interval(0.9, 24, loc=mean, scale=std / 5)
    assert (low[-1], high[-1]) == pytest.approx(expected)
    assert result.quantile_regret("ucb1", 0.5)[-1] == pytest.approx(sorted(final)[12])
    assert result.mean_pulls("ucb1")["arm1"] == pytest.approx(mean / 0.3)


MODELS = Problem.bernoulli([[0.5, 0.25], [0.25, 1.0]], models=["x", "y"], name="models")
PULLS = np.array(
    [
        [[1, 0], [3, 1], [6, 2]],
        [[0, 1], [0, 4], [0, 8]],
        [[1, 0], [4, 0], [8, 0]],
        [[1, 0], [2, 2], [4, 4]],
    ]
)


def by_hand(**changes: Any) -> Result:
    """Four runs up to t = 8; a play of the second arm loses 0.25."""
    settings = {"shuffle": False, "leap": True, "worst_case": False}
    result = Result(
        problem=MODELS,
        truth="x",
        truth_means=np.array([0.5, 0.25]),
        seed=7,
        times=np.array([1, 4, 8]),
        pulls={"p": PULLS},
        plans={"p": np.array([3, 4, 5, 4])},
        settings=settings | changes.pop("settings", {}),
        leap_error=1e-3,
        versions={"numpy": "2"},
    )
    return replace(result, **changes)


def test_all_of_the_json_by_hand() -> None:
    """Regrets 0, .25, 0, 0, then .25, 1, 0, .5, then .5, 2, 0, 1."""
    root = math.sqrt
    assert by_hand().starts == (0,)
    assert by_hand().as_dict() == {
        "problem": "models",
        "truth": "x",
        "horizon": 8,
        "runs": 4,
        "seed": 7,
        "shuffle": False,
        "leap": True,
        "worst_case": False,
        "times": [1, 4, 8],
        "policies": {
            "p": {
                "mean_regret": [0.0625, 0.4375, 0.875],
                "std_regret": pytest.approx([1 / 8, root(35 / 192), root(35 / 48)]),
                "final_regret": [0.5, 2.0, 0.0, 1.0],
                "mean_pulls": {"arm1": 4.5, "arm2": 3.5},
                "mean_plans": 4.0,
                "total_variation": pytest.approx(5 * 2 * 1e-3),
            }
        },
        "versions": {"numpy": "2"},
    }
    for settings, leap in (({"leap": False}, False), ({"delay": 3}, False), ({"stop": 0.1}, False)):
        assert by_hand(settings=settings).as_dict()["leap"] is leap


def test_all_of_the_rows_by_hand() -> None:
    regrets = [[0, 0.25, 0, 0], [0.25, 1, 0, 0.5], [0.5, 2, 0, 1]]
    expected = []
    for time, regret, plays in zip((1, 4, 8), regrets, PULLS.mean(axis=0), strict=True):
        low, high = stats.t.interval(0.95, 3, loc=np.mean(regret), scale=stats.sem(regret))
        q05, median, q95 = np.quantile(regret, (0.05, 0.5, 0.95))
        expected.append(
            {
                "policy": "p",
                "time": time,
                "mean_regret": pytest.approx(np.mean(regret)),
                "std_regret": pytest.approx(np.std(regret, ddof=1)),
                "ci95_low": pytest.approx(low),
                "ci95_high": pytest.approx(high),
                "q05_regret": pytest.approx(q05),
                "median_regret": pytest.approx(median),
                "q95_regret": pytest.approx(q95),
                "pulls arm1": plays[0],
                "pulls arm2": plays[1],
            }
        )
    found = list(by_hand().rows())
    assert found == expected
    assert [list(row) for row in found] == [list(row) for row in expected]
    low, high = by_hand().confidence_interval("p")
    assert (low[-1], high[-1]) == (expected[-1]["ci95_low"], expected[-1]["ci95_high"])
    assert by_hand().quantile_regret("p", 0).tolist() == [0, 0, 0]
    assert by_hand().quantile_regret("p", 1).tolist() == [0.25, 1, 2]
    for share in (-0.1, 1.1):
        with pytest.raises(InputError, match="a quantile's share is between 0 and 1"):
            by_hand().quantile_regret("p", share)
    none = by_hand().compare("p", "p")
    assert (none.difference, none.low, none.high, none.level) == (0, 0, 0, 0.95)


CHANGED: dict[str, Any] = {"starts": (0, 4), "truth_means": MODELS.means}


def test_regret_of_a_truth_that_changes_by_hand() -> None:
    """From t = 4 on a play of the first arm loses 0.75, and of the second nothing."""
    result = by_hand(**CHANGED)
    expected = [[0, 0.25, 2.5], [0.25, 1, 1], [0, 0, 3], [0, 0.5, 2]]
    assert result.regret("p").tolist() == expected
    assert result.final_regret("p").tolist() == [2.5, 1, 3, 2]
    assert result.mean_regret("p").tolist() == [0.0625, 0.4375, 2.125]


def test_the_first_runs_and_the_first_times() -> None:
    """A drawn truth has means for each run, one that changes for each stage."""
    for changes, means in (
        ({}, [0.5, 0.25]),
        ({"truth": "prior", "truth_means": MODELS.means[[0, 1, 1, 0]]}, [[0.5, 0.25]]),
        (CHANGED, MODELS.means.tolist()),
    ):
        first = by_hand(**changes).first(1)
        assert (first.pulls["p"].tolist(), first.plans["p"].tolist()) == ([PULLS[0].tolist()], [3])
        assert first.truth_means.tolist() == means
    stages = by_hand(starts=(0, 1, 4), truth_means=np.array([[0.5, 0.25], [0.25, 1.0], [0, 0.5]]))
    for time, times, starts, means in (
        (1, [1], (0,), [0.5, 0.25]),
        (3, [1], (0,), [0.5, 0.25]),
        (4, [1, 4], (0, 1), MODELS.means.tolist()),
        (8, [1, 4, 8], (0, 1, 4), stages.truth_means.tolist()),
        (2**63 - 1, [1, 4, 8], (0, 1, 4), stages.truth_means.tolist()),
    ):
        cut = stages.until(time)
        assert (cut.times.tolist(), cut.starts, cut.horizon) == (times, starts, times[-1])
        assert cut.truth_means.tolist() == means
        assert cut.pulls["p"].tolist() == PULLS[:, : len(times)].tolist()
    with pytest.raises(InputError, match="time is 9223372036854775808: it must be at most"):
        stages.until(2**63)
    drawn = by_hand(truth="prior", truth_means=MODELS.means[[0, 1, 1, 0]])
    assert drawn.until(4).truth_means.tolist() == drawn.truth_means.tolist()


def test_gaps_are_those_of_each_context_run_and_stage() -> None:
    means = [[[0.5, 0.25], [0.25, 1.0]], [[0.75, 0.25], [0.5, 0.5]]]
    problem = Problem.bernoulli(means, contexts=["a", "b"])
    rows = np.array(means).reshape(2, 4)
    one = by_hand(problem=problem, truth_means=rows[0])
    assert one.gaps.tolist() == [0, 0.25, 0.75, 0]
    several = by_hand(problem=problem, truth_means=rows, starts=(0, 4))
    assert several.gaps.tolist() == [[0, 0.25, 0.75, 0], [0, 0.5, 0, 0]]


def test_a_figure_is_over_log_time_and_without_bounds_if_nothing_is_said() -> None:
    (axes,) = by_hand().plot().axes
    assert (axes.get_xscale(), len(axes.lines)) == ("log", 1)


def test_verdicts_are_counted() -> None:
    """Of four runs three have a verdict, at once, after 3 and after 7 plays, and one is wrong."""
    found = Stops.of(np.array([1, 3, 0, 7]), np.array([0, 1, 0, 0]))
    assert found == Stops(median=7, q95=None, share=0.75, wrong=0.25)
    found = Stops.of(np.arange(1, 21), np.zeros(20, np.int64))
    assert found == Stops(median=11, q95=20, share=1.0, wrong=0.0)
    with_stops = by_hand(stops={"p": np.array([[1, 3, 0, 7], [0, 1, 0, 0]])}, leap_error=0.0)
    alone = with_stops.first(2)
    assert alone.verdicts("p") == Stops(median=3, q95=3, share=1.0, wrong=0.5)
    together = Result.together({"one": alone, "two": alone})
    assert together.stops is not None
    assert {name: stops.tolist() for name, stops in together.stops.items()} == {
        "one": [[1, 3], [0, 1]],
        "two": [[1, 3], [0, 1]],
    }
    assert Result.together({"one": by_hand()}).stops is None


@pytest.mark.parametrize(
    ("difference", "low", "high", "said"),
    [
        (-0.5, -0.9, -0.1, "a has the lower regret, by 0.5 (90% interval 0.1 … 0.9)"),
        (0.5, 0.1, 0.9, "b has the lower regret, by 0.5 (90% interval 0.1 … 0.9)"),
        (0.4, -0.1, 0.9, "no clear difference: 0.4 (90% interval -0.1 … 0.9)"),
        (-0.4, -0.9, 0.1, "no clear difference: -0.4 (90% interval -0.9 … 0.1)"),
    ],
)
def test_a_comparison_in_words(difference: float, low: float, high: float, said: str) -> None:
    comparison = Comparison("a", "b", difference, low, high, 0.9)
    assert str(comparison) == repr(comparison) == said


def test_comparison_is_paired(result: Result) -> None:
    comparison = result.compare("fp-ucb", "ucb1", 0.99)
    differences = result.final_regret("fp-ucb") - result.final_regret("ucb1")
    test: Any = stats.ttest_1samp(differences, 0)
    interval = test.confidence_interval(0.99)
    assert (comparison.low, comparison.high) == pytest.approx((interval.low, interval.high))
    assert comparison.high < 0
    assert str(comparison).startswith("fp-ucb has the lower regret, by")
    assert str(result.compare("ucb1", "fp-ucb")).startswith("fp-ucb has the lower regret, by")
    assert str(result.compare("ucb1", "ucb1")).startswith("no clear difference: 0")


def test_one_run_has_no_spread() -> None:
    single = simulate(load_problem("paper:two"), FPUCB(), horizon=100, runs=1)
    assert np.isnan(single.std_regret("fp-ucb")).all()
    assert single.as_dict()["policies"]["fp-ucb"]["std_regret"][-1] is None
    json.dumps(single.as_dict(), allow_nan=False)
    assert "nan" not in single.table()
    single.plot()


def test_table_and_json(result: Result) -> None:
    text = result.table()
    assert "paper:two, truth theta2: regret at T = 1000, 25 runs, seed 3" in text
    assert f"{result.mean_regret('fp-ucb')[-1]:.4g}" in text
    assert repr(result) == text
    record = result.as_dict()
    keys = {"problem", "truth", "horizon", "runs", "seed", "times", "policies"}
    assert keys <= set(record)
    inside = {"mean_regret", "std_regret", "final_regret", "mean_pulls"}
    assert inside <= set(record["policies"]["ucb1"])
    assert len(record["policies"]["ucb1"]["final_regret"]) == 25
    assert record["versions"]["numpy"] == np.__version__


def test_csv_and_frame_have_a_row_for_each_policy_and_time(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "regret.csv"
    result.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(result.times)
    last = rows[len(result.times) - 1]
    assert last["policy"] == "fp-ucb"
    assert last["time"] == "1000"
    assert float(last["mean_regret"]) == result.mean_regret("fp-ucb")[-1]
    assert float(last["pulls arm1"]) == result.mean_pulls("fp-ucb")["arm1"]
    frame = result.to_frame()
    assert len(frame) == len(rows)
    assert list(frame.columns) == list(rows[0])


def test_without_pandas_a_line_says_how_to_get_it(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs pandas.*: pip install 'fpbandits\[pandas\]'$"):
        result.to_frame()


def test_the_first_runs_are_those_of_a_shorter_simulation(result: Result) -> None:
    shorter = simulate(
        load_problem("paper:two"), [FPUCB(), UCB1()], truth="theta2", horizon=1000, runs=10, seed=3
    )
    assert result.first(10).as_dict() == shorter.as_dict()


def test_figures(result: Result, tmp_path: Path) -> None:
    for band in ("std", "ci", "quantile"):
        figure = result.plot(tmp_path / f"{band}.svg", band=band, bounds=True)
        lines = figure.axes[0].lines
        assert [line.get_label() for line in lines[:2]] == ["fp-ucb", "ucb1"]
        assert np.array_equal(lines[0].get_ydata(), result.mean_regret("fp-ucb"))
        upper: Any = lines[2].get_ydata()
        assert float(upper[-1]) == pytest.approx(3.0 + 7.3469 * math.log(1000), rel=1e-4)
    assert result.plot(log_time=False).axes[0].get_xscale() == "linear"
    with pytest.raises(InputError, match="unknown band 'sd'"):
        result.plot(band="sd")
    outside = simulate(load_problem("paper:two"), truth=[0.5, 0.6], horizon=10, runs=2)
    with pytest.raises(InputError, match="bounds are known for a single model"):
        outside.plot(bounds=True)


def test_a_single_time_and_any_name_can_be_drawn() -> None:
    names: Any = {"$x_": FPUCB(), "a$$b": UCB1()}
    single = simulate(load_problem("paper:two"), names, horizon=1, runs=2)
    single.plot().savefig(io.BytesIO())


def test_bad_questions(result: Result) -> None:
    with pytest.raises(InputError, match="unknown policy 'fpucb': did you mean 'fp-ucb'"):
        result.mean_regret("fpucb")
    with pytest.raises(InputError, match="unknown policy"):
        result.total_variation("fpucb")
    with pytest.raises(InputError, match="between 0 and 1"):
        result.quantile_regret("ucb1", 95)
    with pytest.raises(InputError, match="between 0 and 1"):
        simulate(load_problem("paper:two"), UCB1(), horizon=5, runs=1).compare("ucb1", "ucb1", 7)
    with pytest.raises(InputError, match="between 0 and 1"):
        result.confidence_interval("ucb1", 95)


@pytest.mark.parametrize(
    ("question", "given", "message"),
    [
        ("regret", [["ucb1"]], r"a policy is named by a text, not \['ucb1'\]"),
        ("regret", [np.array(["ucb1"])], "a policy is named by a text, not array"),
        ("quantile_regret", ["ucb1", "half"], "a quantile's share is between 0 and 1, not 'half'"),
        ("confidence_interval", ["ucb1", None], "a level is between 0 and 1, not None"),
        ("first", [0], "runs is 0: it must be at least 1"),
        ("first", ["all"], "runs must be a whole number, not 'all'"),
        ("until", [0], "time is 0: it must be at least 1"),
        ("until", [10**400], "time is 1.* it must be at most"),
        ("save", [3], "expected the path of a file or folder, not 3"),
        ("to_csv", [None], "expected the path of a file or folder, not None"),
        ("plot", [3], "expected the path of a file or folder, not 3"),
    ],
)
def test_odd_questions(result: Result, question: str, given: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        getattr(result, question)(*given)


def test_odd_figures(result: Result) -> None:
    odd: dict[str, Any] = {"band": [], "log_time": 2, "bounds": np.array([True, False])}
    for option, value in odd.items():
        with pytest.raises(InputError, match=r"named by a text|must be True or False"):
            result.plot(**{option: value})


def test_ties_among_true_means_cost_nothing() -> None:
    problem = Problem.bernoulli([[0.5, 0.5]], truth="theta1")
    assert simulate(problem, UCB1(), horizon=100, runs=3).final_regret("ucb1").tolist() == [0, 0, 0]


@pytest.mark.parametrize("time", [10, 25])
def test_what_is_cut_before_the_truth_changes_can_be_loaded(tmp_path: Path, time: int) -> None:
    truth = {0: "theta1", 20: "theta2", 40: "theta1"}
    whole = simulate("paper:two", "ucb1", truth=truth, horizon=50, runs=3, times=range(1, 51))
    cut = whole.until(time)
    cut.save(tmp_path / "cut.npz")
    loaded = Result.load(tmp_path / "cut.npz")
    assert loaded.starts == tuple(start for start in (0, 20) if start < time)
    assert loaded.mean_regret("ucb1").tolist() == whole.mean_regret("ucb1")[:time].tolist()
