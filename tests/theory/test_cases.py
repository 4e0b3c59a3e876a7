"""Cases against brute force: the paper's problems, and hundreds of random ones."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import seed as drawn_by
from hypothesis import strategies as st
from oracle import K_of, Oracle, k_of, kl_bernoulli, kl_beta, kl_discrete

from fpbandits import Problem, analyze, load_problem, simulate
from fpbandits.families.beta import Beta
from fpbandits.families.discrete import Discrete
from fpbandits.families.gaussian import Gaussian
from fpbandits.families.two_point import TwoPoint
from fpbandits.policies import Frugal, Optimist
from fpbandits.theory import bounds
from fpbandits.theory.cases import Case, Nearest


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-8, abs=1e-9)


def oracle_means(problem: Problem) -> list[list[float]]:
    low, width = problem.range[0], width_of(problem)
    low = low if math.isfinite(low) else 0.0
    return [[(mean - low) / width for mean in row] for row in problem.means.tolist()]


def width_of(problem: Problem) -> float:
    """The user's units to one of ours: the width of the range, or two deviations."""
    if isinstance(problem.rewards, Gaussian):
        return 2 * problem.rewards.deviation
    return problem.range[1] - problem.range[0]


def default_of(oracle: Oracle) -> float | None:
    """(1 + δ)(1 + D)·|S| times the lower bound, by the words of docs/default.md."""
    truth, everything = oracle.truth, range(len(oracle.means))
    best = oracle.best_arms(truth)
    rivals = {
        theta
        for arm in best
        for theta in everything
        if oracle.same_law(truth, theta, arm) and arm not in oracle.best_arms(theta)
    }
    if not rivals:
        return 0.0
    twins = [
        theta
        for theta in set(everything) - {truth}
        if oracle.same_law(truth, theta, oracle.star) and oracle.star in oracle.best_arms(theta)
    ]
    arms = list(range(len(oracle.gaps)))
    largest = max(oracle.divergence(truth, theta, arm) for theta in rivals for arm in arms)
    if len(best) > 1 or twins or math.isinf(largest):
        return None
    return 1.1 * (1 + largest) * len(rivals) * oracle.lower(sorted(rivals), arms)


def optimist_of(oracle: Oracle) -> float | None:
    """(1 + δ) Σ Δ_a/D_a by brute force; None where best arms tie."""
    means, truth = oracle.means, oracle.truth

    def best(theta: int) -> set[int]:
        top = max(means[theta])
        return {arm for arm, mean in enumerate(means[theta]) if top - mean <= 1e-12}

    if len(best(truth)) > 1:
        return None
    (star,) = best(truth)
    total = 0.0
    for arm in set(range(len(means[0]))) - {star}:
        against = [
            oracle.divergence(truth, theta, arm)
            for theta in range(len(means))
            if oracle.same_law(truth, theta, star)
            and arm in best(theta)
            and star not in best(theta)
        ]
        if against:
            total += (means[truth][star] - means[truth][arm]) / min(against)
    return 1.1 * total


def oracle_of(problem: Problem, truth: int) -> Oracle:
    means = oracle_means(problem)
    rewards = problem.rewards
    if isinstance(rewards, Discrete):
        laws = rewards.probabilities.tolist()
        return Oracle(
            means,
            truth,
            lambda a, b, arm: kl_discrete(laws[a][arm], laws[b][arm]),
            lambda a, b, arm: all(
                abs(p - q) <= 1e-12 for p, q in zip(laws[a][arm], laws[b][arm], strict=True)
            ),
        )

    def same(a: int, b: int, arm: int) -> bool:
        return bool(abs(means[a][arm] - means[b][arm]) <= 1e-12)

    if isinstance(rewards, Beta):
        c = rewards.concentration
        return Oracle(
            means,
            truth,
            lambda a, b, arm: 0.0 if same(a, b, arm) else kl_beta(means[a][arm], means[b][arm], c),
            same,
        )
    if isinstance(rewards, Gaussian):
        return Oracle(
            means, truth, lambda a, b, arm: 2 * (means[a][arm] - means[b][arm]) ** 2, same
        )
    chances = means
    if isinstance(rewards, TwoPoint):
        chances = rewards.probabilities.tolist()
    return Oracle(
        means,
        truth,
        lambda a, b, arm: (
            0.0 if same(a, b, arm) else kl_bernoulli(chances[a][arm], chances[b][arm])
        ),
        same,
    )


def check(problem: Problem, case: Case, candidate_arms: tuple[str, ...]) -> Oracle:
    """Compare every number of a case with brute force."""
    truth = problem.models.index(case.truth)
    oracle = oracle_of(problem, truth)
    width = width_of(problem)
    arms, models = problem.arms, problem.models

    assert candidate_arms == tuple(arms[i] for i in oracle.A)
    assert case.best_arm == arms[oracle.star]
    assert case.confusion_set == tuple(models[theta] for theta in oracle.B)
    assert case.confusing_arms == tuple(arms[i] for i in oracle.C)
    assert case.regime == ("logarithmic" if oracle.log_coefficient() > 0 else "bounded")
    assert case.verdict.startswith(case.regime)
    assert case.gaps == {arms[i]: close(gap * width) for i, gap in enumerate(oracle.gaps)}
    assert case.betas == {arms[i]: close(beta * width) for i, beta in oracle.betas.items()}

    others = [i for i in oracle.A if i != oracle.star]
    printed = {i: oracle.pulls(i, printed=True) for i in others}
    corrected = {i: oracle.pulls(i, printed=False) for i in others}
    assert case.theorem1.printed.constants == {
        arms[i]: close(bound) for i, bound in printed.items() if bound is not None
    }
    assert case.theorem1.corrected.constants == {
        arms[i]: close(bound) for i, bound in corrected.items() if bound is not None
    }
    if oracle.B:
        assert case.theorem1.printed.constant is None
    else:
        d1 = len(oracle.A) * max((oracle.gaps[i] * (printed[i] or 0) for i in others), default=0)
        assert case.theorem1.printed.constant == close(d1 * width)
    total = sum(oracle.gaps[i] * (corrected[i] or 0) for i in others)
    assert case.theorem1.corrected.constant == close(total * width)
    for bound in (case.theorem1.printed, case.theorem1.corrected):
        assert bound.log_coefficient == close(oracle.log_coefficient() * width)

    assert list(case.theorem1.terms) == [models[theta] for theta in oracle.others]
    for theta in oracle.others:
        term, alpha = case.theorem1.terms[models[theta]], oracle.alpha(theta)
        assert term.alpha == close(alpha * width)
        assert term.k == k_of(alpha)
        assert term.K == close(K_of(alpha, len(oracle.A)))
        assert term.k + term.K <= term.lemma2
    if oracle.others:
        assert case.nearest is not None
        alpha = min(map(oracle.alpha, oracle.others))
        assert case.nearest.alpha == close(alpha * width)
        assert case.nearest.plays == math.ceil(12 * math.log(k_of(alpha)) / alpha**2)

    everything = list(range(len(arms)))
    needed = oracle.needed()
    assert case.theorem2.confusion_set == tuple(models[theta] for theta in needed)
    for bound2, against, allowed in (
        (case.theorem2, needed, oracle.A),
        (case.theorem2.all_arms, needed, everything),
        (case.theorem2.printed, oracle.B, oracle.A),
    ):
        assert bound2.coefficient == close(oracle.lower(against, allowed) * width)
        assert list(bound2.pulls) == [arms[i] for i in allowed if i != oracle.star]
        spent = sum(c * case.gaps[arm] for arm, c in bound2.pulls.items())
        assert bound2.coefficient == close(spent)
        for theta in against:
            gained = [
                (c, oracle.divergence(truth, theta, arms.index(arm)))
                for arm, c in bound2.pulls.items()
            ]
            if not any(math.isinf(d) for _, d in gained):
                assert sum(c * d for c, d in gained) >= 1 - 1e-7

    for bound3, expected in (
        (case.default, default_of(oracle)),
        (case.optimist, optimist_of(oracle)),
    ):
        assert bound3.log_coefficient == (None if expected is None else close(expected * width))

    positive = [gap for gap in oracle.gaps if gap > 0]
    assert case.ucb1.log_coefficient == close(8 * sum(1 / gap for gap in positive) * width)
    assert case.ucb1.constant == close((1 + math.pi**2 / 3) * sum(positive) * width)
    return oracle


FAMILIES = ("bernoulli", "bernoulli", "beta", "discrete")
LEVELS = [0.1, 0.2, 0.25, 0.4, 0.6, 0.7, 0.9]


@st.composite
def problems(draw: st.DrawFn, families: tuple[str, ...] = FAMILIES) -> Problem:
    """Few levels, so that means coincide: confusion and ties are common, and so is neither."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arms = draw(st.integers(2, 4))
    count = draw(st.integers(2, 14))
    family = draw(st.sampled_from(families))
    low, width = draw(st.sampled_from([(0, 1), (0, 1), (-3, 8), (10, 0.5)]))
    limits = (low, low + width)
    if family == "discrete":
        laws = np.array([[5, 0, 5], [2.5, 5, 2.5], [0, 10, 0], [7, 1, 2], [1, 1, 8]]) / 10
        rows = laws[generator.integers(0, len(laws), (count, arms))]
        return Problem.discrete(rows, [low, low + width / 2, low + width], range=limits)
    levels = generator.choice(LEVELS, draw(st.integers(2, 7)), replace=False)
    means = low + width * generator.choice(levels, (count, arms))
    if family == "beta":
        return Problem.beta(means, 10, range=limits)
    if family == "gaussian":  # where distances are up to 8 units
        return Problem.gaussian(means, draw(st.sampled_from([0.05, 0.5])) * width)
    if family == "two-point":
        value = generator.choice([9.0, 12.0, 15.0], arms)
        return Problem.bernoulli(generator.choice(LEVELS, (count, arms)), value=value.tolist())
    return Problem.bernoulli(means, range=limits)


def test_random_problems_agree_with_brute_force() -> None:
    seen: Counter[str] = Counter()

    @drawn_by(4)
    @settings(max_examples=300, deadline=None, database=None)
    @given(problems(), st.data())
    def compare(problem: Problem, data: st.DataObject) -> None:
        # A truth with a low best mean is one that others can surpass.
        lowest = problem.models[int(problem.means.max(axis=1).argmin())]
        truth = data.draw(st.sampled_from([lowest, *problem.models]) | st.just(lowest))
        analysis = analyze(problem, truth)
        oracle = check(problem, analysis.cases[0], analysis.candidate_arms)
        tied = [theta for theta in range(len(oracle.means)) if len(oracle.best_arms(theta)) > 1]
        assert analysis.ties == tuple(problem.models[theta] for theta in tied)
        seen["problems"] += 1
        seen[analysis.cases[0].regime] += 1
        seen["tied" if tied else "not tied"] += 1
        seen["truth tied"] += oracle.truth in tied
        seen["arms outside A"] += len(oracle.A) < len(problem.arms)
        seen["forced"] += analysis.cases[0].theorem2.coefficient > 0
        seen["an arm outside A helps"] += (
            analysis.cases[0].theorem2.all_arms.coefficient
            < analysis.cases[0].theorem2.coefficient - 1e-9
        )
        seen["confused but not forced"] += len(oracle.B) > len(oracle.needed())

    compare()
    assert seen["problems"] >= 200
    kinds = ["bounded", "logarithmic", "tied", "not tied", "truth tied", "arms outside A"]
    kinds += ["forced", "confused but not forced"]
    assert all(seen[kind] >= 20 for kind in kinds), seen
    assert seen["an arm outside A helps"] >= 3, seen


def test_normal_and_two_point_rewards_agree_with_brute_force() -> None:
    """Where distances may be more than one unit, and arms differ in what they can pay."""
    seen: Counter[str] = Counter()

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(problems(("gaussian", "two-point")), st.data())
    def compare(problem: Problem, data: st.DataObject) -> None:
        lowest = problem.models[int(problem.means.max(axis=1).argmin())]
        truth = data.draw(st.sampled_from([lowest, *problem.models]) | st.just(lowest))
        analysis = analyze(problem, truth)
        oracle = check(problem, analysis.cases[0], analysis.candidate_arms)
        seen[analysis.cases[0].regime] += 1
        seen["forced"] += analysis.cases[0].theorem2.coefficient > 0
        seen["far apart"] += any(oracle.alpha(theta) > 1 for theta in oracle.others)

    compare()
    kinds = ["bounded", "logarithmic", "forced", "far apart"]
    assert all(seen[kind] >= 15 for kind in kinds), seen


def test_with_many_ties_the_regime_is_that_of_the_bound() -> None:
    """Bounded exactly where Σ Δ_i/β_i² over C(θ°), by loops over whole numbers, is 0."""
    random = np.random.default_rng(7)
    seen: Counter[tuple[bool, str]] = Counter()
    for _ in range(400):
        levels = random.integers(1, 4, (int(random.integers(2, 6)), int(random.integers(2, 5))))
        rows = levels.tolist()
        best = [row.index(max(row)) for row in rows]
        for truth, case in zip(rows, analyze(Problem.bernoulli(levels / 4)).cases, strict=True):
            arm = truth.index(max(truth))
            confused = [
                i for row, i in zip(rows, best, strict=True) if i != arm and row[arm] == truth[arm]
            ]
            costly = any(truth[i] < truth[arm] for i in confused)
            assert case.regime == ("logarithmic" if costly else "bounded")
            assert (case.theorem1.corrected.log_coefficient > 0) is costly
            assert case.verdict.startswith(case.regime)
            if not costly:
                assert case.theorem2.all_arms.coefficient == 0
            seen[bool(confused), case.regime] += 1
    assert min(seen.values()) >= 20, seen
    assert len(seen) == 3, seen


def test_two_models() -> None:
    problem = load_problem("paper:two")
    analysis = analyze(problem)
    first, second = analysis.cases
    for case in analysis.cases:
        check(problem, case, analysis.candidate_arms)
    assert (first.regime, second.regime) == ("bounded", "logarithmic")
    assert first.theorem1.corrected.constants["arm2"] == pytest.approx(1092.93, abs=0.005)
    assert first.theorem1.printed.constants["arm2"] == pytest.approx(1092.93, abs=0.005)
    assert second.confusion_set == ("theta1",)
    assert second.betas == {"arm1": close(0.7)}
    assert second.theorem1.corrected.log_coefficient == pytest.approx(7.347, abs=0.0005)
    assert second.theorem2.coefficient == pytest.approx(0.2201, abs=0.00005)
    assert first.theorem2.coefficient == 0


@pytest.mark.parametrize("name", ["paper:permutations", "paper:grid"])
def test_bounded_cases_of_the_paper(name: str) -> None:
    problem = load_problem(name)
    analysis = analyze(problem, "0.6,0.4,0.3,0.2")
    case = analysis.cases[0]
    check(problem, case, analysis.candidate_arms)
    assert case.regime == "bounded"
    for arm in ("arm2", "arm3", "arm4"):
        assert case.theorem1.corrected.constants[arm] == pytest.approx(21724.74, abs=0.005)
        assert case.theorem1.printed.constants[arm] == pytest.approx(4312.36, abs=0.005)
    term = case.theorem1.terms["0.4,0.6,0.3,0.2"]
    assert term.k == 2327
    assert term.lemma2 == pytest.approx(6.5e10, rel=0.01)


def test_logarithmic_case_of_the_paper() -> None:
    problem = load_problem("paper:grid")
    analysis = analyze(problem, "0.4,0.3,0.2,0.2")
    case = analysis.cases[0]
    check(problem, case, analysis.candidate_arms)
    assert len(case.confusion_set) == 37
    assert case.betas == {"arm2": close(0.3), "arm3": close(0.4), "arm4": close(0.4)}
    assert case.theorem1.corrected.log_coefficient == pytest.approx(43.33, abs=0.005)
    assert case.theorem2.coefficient == pytest.approx(1.7389, abs=0.00005)
    assert list(case.theorem2.pulls.values()) == pytest.approx([5.441, 2.987, 2.987], abs=0.0005)


def test_every_case_of_the_grid() -> None:
    problem = load_problem("paper:grid")
    analysis = analyze(problem)
    assert len(analysis.ties) == 112
    confused = [case for case in analysis.cases if case.confusion_set]
    assert len(confused) == 192
    # In 111 of them the arm played is a best arm of all that is confused with the truth.
    assert sum(not case.theorem2.confusion_set for case in confused) == 111
    # In 3 of them all arms are alike under the truth, so that there is nothing to lose.
    free = {case.truth for case in confused if case.regime == "bounded"}
    assert free == {",".join([mean] * 4) for mean in ("0.4", "0.3", "0.2")}
    assert all(not any(case.gaps.values()) for case in confused if case.truth in free)
    # Every case is compared with the definitions; brute-force corners for a spread of them.
    for case in analysis.cases[::9]:
        check(problem, case, analysis.candidate_arms)


def test_minimum_in_proposition_1_gives_a_false_bound() -> None:
    """Plain simulation of Algorithm 1 exceeds the printed D_1; the corrected one is far away."""
    means = [[0.5, 0.49], [0.01, 0.9], [0.501, 0.502]]
    problem = Problem.bernoulli(means)
    case = analyze(problem, "theta1").cases[0]
    assert case.regime == "bounded"
    assert case.theorem1.printed.constants["arm2"] == pytest.approx(1472.28, abs=0.005)
    assert case.theorem1.printed.constant == pytest.approx(29.45, abs=0.005)
    assert case.theorem1.corrected.constants["arm2"] > 1e9
    assert "only just" in case.verdict

    horizon, regrets = 20_000, []
    for seed in range(3):
        generator = np.random.default_rng(seed)
        rewards = (generator.random((2, horizon)) < np.array(means[0])[:, None]).astype(int)
        plays, sums = [1, 1], [int(rewards[0, 0]), int(rewards[1, 0])]
        k = 1
        while sum(plays) < horizon:
            radius = [math.sqrt(3 * math.log(k) / n) for n in plays]
            fitting = [
                row
                for row in means
                if all(abs(sums[i] / plays[i] - row[i]) <= radius[i] for i in (0, 1))
            ]
            for arm in sorted({0 if row[0] >= row[1] else 1 for row in fitting}) or [0, 1]:
                sums[arm] += int(rewards[arm, plays[arm]])
                plays[arm] += 1
            k += 1
        regrets.append(0.01 * plays[1])
    # The regret is close to 100 in every run: both arms are played in turn all the while.
    assert case.theorem1.printed.constant is not None
    assert min(regrets) > 3 * case.theorem1.printed.constant


def test_an_arm_that_is_never_best_can_inform() -> None:
    problem = Problem.bernoulli([[0.5, 0.4, 0.49], [0.5, 0.6, 0.01]])
    analysis = analyze(problem, "theta1")
    case = analysis.cases[0]
    check(problem, case, analysis.candidate_arms)
    assert analysis.candidate_arms == ("arm1", "arm2")
    assert case.theorem2.coefficient == pytest.approx(1.233, abs=0.0005)
    assert case.theorem2.all_arms.coefficient == pytest.approx(0.0064, abs=0.00005)
    assert case.theorem2.all_arms.pulls["arm3"] > 0


def test_everything_scales_with_the_range() -> None:
    means = np.array([[0.4, 0.3, 0.2], [0.4, 0.6, 0.2], [0.3, 0.2, 0.9]])
    unit = analyze(Problem.bernoulli(means), "theta1").cases[0]
    scaled = analyze(Problem.bernoulli(5 + 20 * means, range=(5, 25)), "theta1").cases[0]
    assert scaled.gaps["arm2"] == close(20 * unit.gaps["arm2"])
    assert scaled.betas["arm2"] == close(20 * unit.betas["arm2"])
    assert scaled.ucb1.log_coefficient == close(20 * unit.ucb1.log_coefficient)
    for name in ("log_coefficient", "constant"):
        one, other = unit.theorem1.corrected, scaled.theorem1.corrected
        assert getattr(other, name) == close(20 * getattr(one, name))
    assert scaled.theorem2.coefficient == close(20 * unit.theorem2.coefficient)
    assert scaled.theorem2.pulls == {k: close(v) for k, v in unit.theorem2.pulls.items()}
    assert scaled.theorem1.terms["theta3"].K == close(unit.theorem1.terms["theta3"].K)
    assert scaled.theorem1.corrected.constants == {
        k: close(v) for k, v in unit.theorem1.corrected.constants.items()
    }


def test_means_within_the_tolerance_are_equal() -> None:
    near = Problem.bernoulli([[0.5, 0.4], [0.5 + 0.9e-12, 0.6]])
    far = Problem.bernoulli([[0.5, 0.4], [0.5 + 1.5e-12, 0.6]])
    assert analyze(near, "theta1").cases[0].regime == "logarithmic"
    case = analyze(far, "theta1").cases[0]
    assert case.regime == "bounded"
    assert case.nearest is not None
    assert case.nearest.plays > 1e24
    json.dumps(analyze(far).as_dict(), allow_nan=False)
    # The same after mapping to [0, 1]: one part in 1e12 of a wide range is a tie.
    wide = Problem.bernoulli([[500, 400], [500 + 0.9e-9, 600]], range=(0, 1000))
    assert analyze(wide, "theta1").cases[0].regime == "logarithmic"
    tied = Problem.bernoulli([[0.5, 0.5 + 0.9e-12], [0.4, 0.3]])
    assert analyze(tied).ties == ("theta1",)
    case = analyze(tied, "theta1").cases[0]
    assert case.best_arm == "arm1"
    assert case.gaps == {"arm1": 0.0, "arm2": 0.0}


def test_normal_rewards_that_are_far_apart_take_one_play() -> None:
    # α = 7.3 deviations are 3.65 on the scale of the bounds, and 12 ln 3 / 3.65² = 0.99; k_i is 3.
    problem = Problem.gaussian([[7.3, 1], [0, 1]], deviation=1.0)
    case = analyze(problem, truth="theta1").cases[0]
    assert case.nearest == Nearest("theta2", 7.3, 1)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=2, max_size=6))
def test_differences_around_the_tolerance_do_no_harm(steps: list[list[int]]) -> None:
    """Equality within a tolerance is not transitive; every result must stay a number."""
    means = [[0.5 + 0.6e-12 * step for step in row] for row in steps]
    text = json.dumps(analyze(Problem.bernoulli(means)).as_dict(), allow_nan=False)
    assert "cases" in text


def test_delta_is_the_one_that_is_played() -> None:
    """Theory comes before policies, so it cannot look there."""
    assert Optimist().delta == Frugal().delta == bounds.DELTA


def test_what_is_certain_costs_optimism_nothing() -> None:
    """An arm that would always pay under the other model is refuted by its first failure."""
    case = analyze(Problem.bernoulli([[0.5, 0.3], [0.5, 1]]), "theta1").cases[0]
    assert case.optimist.log_coefficient == 0
    assert "  optimist       regret is bounded" in str(case).splitlines()
    tied = analyze(Problem.bernoulli([[0.5, 0.5], [0.5, 0.9]]), "theta1").cases[0]
    assert tied.optimist.log_coefficient is None
    assert "optimist" not in str(tied)
    near = Problem.bernoulli([[0.5, 0.5 - 1e-10], [0.5, 0.5 + 1e-10]])
    most = analyze(near, "theta1").cases[0].optimist.log_coefficient
    # kl(p, p + d) is 2d² at p = ½, up to a share of d².
    assert most == pytest.approx(1.1 * 1e-10 / (2 * (2e-10) ** 2), rel=1e-5)


def test_optimism_keeps_its_bound() -> None:
    """From T = 10^6 to 10^12 regret grows as fast as proven, and no faster.

    Seed fixed; the mean of 400 runs is within 5 standard errors but once in a million.
    """
    result = simulate(
        "paper:two", Optimist(), truth="theta2", horizon=10**12, runs=400, times=[10**6]
    )
    growth = (result.regret("optimist")[:, 1] - result.regret("optimist")[:, 0]) / math.log(10**6)
    most = analyze("paper:two", "theta2").cases[0].optimist.log_coefficient
    assert most is not None
    assert growth.mean() == pytest.approx(most, abs=5 * growth.std() / 20)
    assert growth.std() / 20 < 0.02 * most
