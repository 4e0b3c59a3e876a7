"""Problems with contexts, analyzed: against brute force, and in words."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from oracle import SAME, kl_bernoulli, kl_discrete
from scipy.optimize import linprog

from fpbandits import Problem, analyze, save_problem
from fpbandits.theory.analysis import ContextAnalysis
from fpbandits.theory.contexts import ContextCase

Table = list[list[list[Any]]]
"""A law by model, context and arm: a mean, or the probabilities of each value."""

SUPPORT = [0.0, 0.5, 1.0]


class Oracle:
    """The definitions by plain loops; laws, models, contexts and arms by index."""

    def __init__(self, laws: Table) -> None:
        self.laws = laws
        self.contexts, self.arms = range(len(laws[0])), range(len(laws[0][0]))
        self.pairs = list(product(self.contexts, self.arms))

    def mean(self, theta: int, context: int, arm: int) -> float:
        law = self.laws[theta][context][arm]
        if isinstance(law, float):
            return law
        return float(np.dot(law, SUPPORT))

    def best(self, theta: int, context: int) -> list[int]:
        means = [self.mean(theta, context, arm) for arm in self.arms]
        return [arm for arm in self.arms if means[arm] >= max(means) - SAME]

    def gap(self, theta: int, context: int, arm: int) -> float:
        if arm in self.best(theta, context):
            return 0.0
        return max(self.mean(theta, context, a) for a in self.arms) - self.mean(theta, context, arm)

    def told_by(self, truth: int, theta: int) -> list[int]:
        """The contexts in which the best arm's law tells."""
        found = []
        for x in self.contexts:
            arm = self.best(truth, x)[0]
            if self.laws[truth][x][arm] != self.laws[theta][x][arm]:
                found.append(x)
        return found

    def plays_worse(self, truth: int, theta: int) -> bool:
        return any(self.best(truth, x)[0] not in self.best(theta, x) for x in self.contexts)

    def confused(self, truth: int) -> list[int]:
        others = range(len(self.laws))
        return [o for o in others if self.plays_worse(truth, o) and not self.told_by(truth, o)]

    def divergence(self, truth: int, theta: int, context: int, arm: int) -> float:
        one, other = self.laws[truth][context][arm], self.laws[theta][context][arm]
        if isinstance(one, float):
            return kl_bernoulli(one, other)
        return kl_discrete(one, other)

    def constraints(self, truth: int) -> list[list[float]]:
        """What a play of every pair tells of each model that must be told and is not, by a look."""
        rows = [
            [self.divergence(truth, theta, *pair) for pair in self.pairs]
            for theta in self.confused(truth)
        ]
        return [row for row in rows if math.inf not in row]

    def least_regret(self, truth: int) -> float:
        """By the dual program: the most that models can charge, none of a pair above its gap."""
        rows = self.constraints(truth)
        if not rows:
            return 0.0
        gaps = [self.gap(truth, *pair) for pair in self.pairs]
        charged: Any = linprog([-1.0] * len(rows), A_ub=np.array(rows).T, b_ub=gaps)
        assert charged.success
        return -float(charged.fun)


def random_laws(generator: np.random.Generator) -> Table:
    """Few values and copied rows, so that laws and best arms often agree."""
    models, contexts, arms = (int(generator.integers(2, most)) for most in (9, 5, 5))
    if generator.random() < 0.3:
        values: list[Any] = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25], [0.2, 0.3, 0.5]]
    else:
        values = [[0.2, 0.5, 0.8], [0.1, 0.3, 0.5, 0.7, 0.9], [0.0, 0.4, 0.6, 1.0]][
            generator.integers(3)
        ]
    pick = generator.integers(len(values), size=(models, contexts, arms))
    for theta in range(1, models):
        kept = generator.random((contexts, arms)) < generator.choice([0.0, 0.5, 0.9])
        pick[theta][kept] = pick[theta - 1][kept]
    return [[[values[i] for i in row] for row in table] for table in pick.tolist()]


def made(laws: Table) -> Problem:
    contexts = [f"x{number}" for number in range(len(laws[0]))]
    if isinstance(laws[0][0][0], float):
        return Problem.bernoulli(laws, contexts=contexts)
    return Problem.discrete(laws, SUPPORT, contexts=contexts)


def test_analysis_equals_brute_force() -> None:
    generator = np.random.default_rng(14)
    kinds: set[str] = set()
    for _ in range(200):
        laws = random_laws(generator)
        problem, oracle = made(laws), Oracle(laws)
        analysis = analyze(problem)
        assert isinstance(analysis, ContextAnalysis)
        arms, models = problem.arms, problem.models
        best = [[oracle.best(theta, x) for x in oracle.contexts] for theta in range(len(laws))]
        firsts = {found[0] for row in best for found in row}
        assert analysis.candidate_arms == tuple(arms[arm] for arm in sorted(firsts))
        tied = [any(len(found) > 1 for found in row) for row in best]
        assert analysis.ties == tuple(name for name, tie in zip(models, tied, strict=True) if tie)
        for truth, case in enumerate(analysis.cases):
            kinds.add(check_case(problem, oracle, truth, case))
    # Every kind of verdict comes about, so that none is checked in name only.
    assert kinds == {"logarithmic", "free by ties", "the same decisions", "told"}


def check_case(problem: Problem, oracle: Oracle, truth: int, case: ContextCase) -> str:
    arms, models, contexts = problem.arms, problem.models, problem.contexts
    assert case.truth == models[truth]
    for x, context in enumerate(contexts):
        assert case.best_arm[context] == arms[oracle.best(truth, x)[0]]
        for a, arm in enumerate(arms):
            assert case.gaps[context][arm] == pytest.approx(oracle.gap(truth, x, a), abs=1e-12)
    confused = oracle.confused(truth)
    assert case.confusion_set == tuple(models[theta] for theta in confused)
    assert case.told_by == {
        models[theta]: tuple(contexts[x] for x in oracle.told_by(truth, theta))
        for theta in range(len(models))
        if oracle.plays_worse(truth, theta)
    }
    least = oracle.least_regret(truth)
    pulls = [case.theorem2.pulls[contexts[x]][arms[a]] for x, a in oracle.pairs]
    gaps = [oracle.gap(truth, x, a) for x, a in oracle.pairs]
    assert case.theorem2.coefficient == pytest.approx(least, rel=1e-7, abs=1e-9)
    assert np.dot(pulls, gaps) == pytest.approx(least, rel=1e-7, abs=1e-9)
    assert min(pulls) >= 0
    for row in oracle.constraints(truth):
        assert np.dot(pulls, row) >= 1 - 1e-7
    for x in oracle.contexts:
        assert case.theorem2.pulls[contexts[x]][case.best_arm[contexts[x]]] == 0
    positive = [gap for gap in gaps if gap > 0]
    assert case.ucb1.log_coefficient == pytest.approx(sum(8 / gap for gap in positive))
    assert case.ucb1.constant == pytest.approx((1 + math.pi**2 / 3) * sum(positive))
    assert case.regime == ("logarithmic" if least > 1e-12 else "bounded")
    if least > 1e-12:
        assert case.verdict.startswith("logarithmic, because it looks like")
        assert models[confused[0]] in case.verdict
        return "logarithmic"
    if confused:
        assert "costs nothing to tell them apart" in case.verdict
        return "free by ties"
    if not case.told_by:
        assert case.verdict == "bounded: the same decisions are best under every model"
        return "the same decisions"
    assert case.verdict.startswith("bounded: for free, x")
    return "told"


def cases(problem: Problem, truth: str | None = None) -> Any:
    """The cases of an analysis, with contexts or without."""
    return analyze(problem, truth).cases


MEANS = {
    "loyal": [[0.9, 0.5], [0.8, 0.6]],
    "thrifty": [[0.4, 0.5], [0.8, 0.6]],
    "idle": [[0.4, 0.5], [0.1, 0.6]],
}


def shop(*models: str, **more: Any) -> Problem:
    return Problem.bernoulli(
        [MEANS[name] for name in models],
        models=models,
        contexts=["mobile", "desktop"],
        arms=["9 EUR", "12 EUR"],
        name="shop",
        **more,
    )


def test_a_context_that_tells_for_free_is_named() -> None:
    loyal, thrifty, idle = cases(shop("loyal", "thrifty", "idle"))
    assert loyal.verdict == (
        "bounded: for free, mobile tells it from thrifty and 1 other, desktop tells it from idle"
    )
    assert loyal.told_by == {"thrifty": ("mobile",), "idle": ("mobile", "desktop")}
    assert loyal.outlook == loyal.verdict.replace("bounded", "losses stop")
    assert thrifty.verdict == "logarithmic, because it looks like loyal while you play well"
    assert thrifty.outlook.startswith(
        "losses never stop: playing the best arms does not tell thrifty from loyal, so other arms"
    )
    assert thrifty.told_by == {"loyal": (), "idle": ("desktop",)}
    # 12 EUR pays the same to all, but 9 EUR on the desktop does not: idle plays 12 EUR there.
    assert idle.confusion_set == ("loyal", "thrifty")


def test_one_context_pays_for_what_another_gets_for_free() -> None:
    """The only play that tells thrifty from loyal is the wrong one on mobiles."""
    (case,) = cases(shop("loyal", "thrifty"), truth="thrifty")
    needed = 1 / kl_bernoulli(0.4, 0.9)
    assert case.theorem2.pulls["mobile"]["9 EUR"] == pytest.approx(needed)
    assert case.theorem2.coefficient == pytest.approx(0.1 * needed)
    told_on_desktop = Problem.bernoulli(
        [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.7, 0.6]]], contexts=["mobile", "desktop"]
    )
    assert cases(told_on_desktop, truth="theta2")[0].regime == "bounded"


def test_shares_drop_out_and_the_range_scales_regret() -> None:
    rare = cases(shop("loyal", "thrifty", shares=[0.01, 0.99]), truth="thrifty")[0]
    even = cases(shop("loyal", "thrifty"), truth="thrifty")[0]
    assert rare == even
    means = 30 * np.array([MEANS["loyal"], MEANS["thrifty"]])
    wide = Problem.bernoulli(means, contexts=["mobile", "desktop"], range=(0, 30))
    case = cases(wide, truth="theta2")[0]
    assert case.theorem2.coefficient == pytest.approx(30 * even.theorem2.coefficient)
    assert case.gaps["mobile"]["arm1"] == pytest.approx(3.0)
    assert case.theorem2.pulls["mobile"]["arm1"] == pytest.approx(
        even.theorem2.pulls["mobile"]["9 EUR"]
    )


def test_arms_that_tie_but_for_rounding_cost_nothing() -> None:
    problem = Problem.bernoulli([[[0.3, 0.1 + 0.2]], [[0.3, 0.9]]], contexts=["all"])
    (case,) = cases(problem, truth="theta1")
    assert case.gaps == {"all": {"arm1": 0, "arm2": 0}}
    assert case.theorem2.coefficient == 0
    assert case.verdict == (
        "bounded: it looks like theta2 while you play well, but it costs nothing to tell them apart"
    )


@pytest.mark.parametrize("truth", range(3))
def test_one_context_is_as_good_as_none(truth: int) -> None:
    """On problems without ties, all that both analyses say is the same."""
    rows = [[0.9, 0.5, 0.2], [0.2, 0.5, 0.1], [0.3, 0.5, 0.7]]
    alone = Problem.bernoulli([[row] for row in rows], contexts=["all"])
    here = cases(alone, truth=f"theta{truth + 1}")[0]
    plain = cases(Problem.bernoulli(rows), truth=f"theta{truth + 1}")[0]
    assert here.best_arm == {"all": plain.best_arm}
    assert here.confusion_set == plain.confusion_set
    assert here.gaps == {"all": plain.gaps}
    assert here.theorem2.coefficient == pytest.approx(plain.theorem2.all_arms.coefficient)
    assert here.ucb1.log_coefficient == pytest.approx(plain.ucb1.log_coefficient)


def test_json_has_contexts_and_what_was_by_arm_by_context(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    save_problem(shop("loyal", "thrifty"), tmp_path / "shop.toml")
    code, out, _ = run(
        capsys, "analyze", str(tmp_path / "shop.toml"), "--truth", "thrifty", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert found["contexts"] == ["mobile", "desktop"]
    assert found["arms"] == ["9 EUR", "12 EUR"]
    (case,) = found["cases"]
    assert case["best_arm"] == {"mobile": "12 EUR", "desktop": "9 EUR"}
    assert case["gaps"] == {
        "mobile": {"9 EUR": pytest.approx(0.1), "12 EUR": 0},
        "desktop": {"9 EUR": 0, "12 EUR": pytest.approx(0.2)},
    }
    pulls = case["theorem2"]["pulls"]
    assert {context: list(row) for context, row in pulls.items()} == {
        "mobile": ["9 EUR", "12 EUR"],
        "desktop": ["9 EUR", "12 EUR"],
    }
    assert case["confusion_set"] == ["loyal"]
    assert case["regime"] == "logarithmic"
    assert set(case["ucb1"]) == {"log_coefficient", "constant"}


@pytest.mark.parametrize("count", [1, 3, 4])
def test_three_contexts_that_tell_are_named(count: int) -> None:
    means = [[[0.9, 0.5]] * count, [[0.4, 0.5]] * count]
    problem = Problem.bernoulli(means, contexts=[f"x{k}" for k in range(count)])
    told = ", ".join(f"x{k} tells it from theta2" for k in range(min(count, 3)))
    (case,) = cases(problem, "theta1")
    assert case.verdict == f"bounded: for free, {told}{' …' if count > 3 else ''}"


def test_a_case_in_words_and_in_the_users_units() -> None:
    """theta2 looks like theta1 while 12 EUR is sold on mobiles."""
    means = 10 * np.array([MEANS["loyal"], MEANS["thrifty"]])
    problem = Problem.bernoulli(means, contexts=["m", "d"], range=(0, 10))
    (case,) = cases(problem, "theta2")
    coefficient = 10 * 0.1 / kl_bernoulli(0.4, 0.9)
    logs, sums = 10 * (8 / 0.1 + 8 / 0.2), 10 * (1 + math.pi**2 / 3) * 0.3
    assert " ".join(str(case).split()) == (
        "theta2: losses never stop: playing the best arms does not tell theta2 from theta1, so "
        "other arms must be tried again and again. In the long run this costs at least "
        f"{math.log(10) * coefficient:.4g} more each time the number of plays grows tenfold "
        "best arm arm2 in m; arm1 in d "
        f"any policy regret ≥ {coefficient:.4g} · ln T in the long run "
        f"UCB1 in each regret ≤ {sums:.1f} + {logs:.4g} · ln T"
    )
    gaps = {"m": {"arm1": 1.0, "arm2": 0.0}, "d": {"arm1": 0.0, "arm2": 2.0}}
    assert case.gaps == {name: pytest.approx(row) for name, row in gaps.items()}


def test_with_tied_best_arms_losses_can_stop() -> None:
    """A policy may play the second of two best arms, which need not tell."""
    tied = Problem.bernoulli([[[0.5, 0.5]], [[0.4, 0.6]]], contexts=["all"])
    first, second = cases(tied)
    assert first.outlook == "losses can stop: for free, all tells it from theta2"
    assert second.outlook == "losses stop: the same decisions are best under every model"
    assert first.facts["best arm"] == "arm1 in every context"
