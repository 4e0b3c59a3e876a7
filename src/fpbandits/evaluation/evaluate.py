"""`evaluate`: what policies would have earned on a log of randomised decisions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.arrays import Bools, Counts
from fpbandits.core.checks import flag, whole_number
from fpbandits.engine.policy import Eligible
from fpbandits.engine.ready import ready
from fpbandits.errors import InputError, counted, quote, within
from fpbandits.evaluation.baselines import baselines, best_eligible
from fpbandits.evaluation.estimates import Ratio
from fpbandits.evaluation.rejection import accept_rows, check_rewards, sums_by_unit
from fpbandits.evaluation.result import Earned, Evaluation
from fpbandits.evaluation.thinning import (
    check_balance,
    check_propensities,
    drawn_pairs,
    least_propensity,
    uniform_propensities,
    usable_rows,
)
from fpbandits.logs.cost import less_cost
from fpbandits.logs.log import Log, read_log
from fpbandits.logs.sketch import share_within
from fpbandits.logs.sources import Progress, has_column
from fpbandits.policies.parsing import Policies, named_policies
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem

_CONTROL = "control"
"""The column by which an exported log flags units of a control group, which always get one arm."""

_FEWEST_DECISIONS = 30
"""With fewer accepted decisions no interval can be trusted."""

_FEWEST_UNITS = 10
"""With fewer units that made decisions no interval can be trusted."""


def evaluate(
    log: Any,
    problem: Problem | str | os.PathLike[str],
    policies: Policies | None = None,
    *,
    unit: str,
    arm: str,
    reward: str,
    context: str | None = None,
    time: str | None = None,
    key: str | None = None,
    among: str | None = None,
    propensity: str | None = None,
    uniform: bool = False,
    cost: float | Sequence[float] | None = None,
    missing: str = "refuse",
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Estimate what policies would have earned per decision, from a log of randomised decisions.

    Every unit has its own agent, which sees the unit's rows by time, or in the log's order. Where
    it decides as the log did, the row is accepted and the agent observes its reward; other rows are
    skipped, and some more at random, so that arms which the log preferred are not accepted more
    often than others. Accepted rows are distributed as if the policy had played, so the estimate is
    of each unit's first decisions by the policy: as many as are accepted, a share of the log's.

    Parameters
    ----------
    log
        The path of a .csv, .csv.gz, .tsv or .parquet file, or a data frame; see `fit`. Where a
        column "control" holds nothing but true and false, as in a log that a service exports, rows
        in which it is true are left out, and a warning says how many.
    problem
        The candidate models; or what `load_problem` takes. Fit them to other units than these, or
        the policies that use them look better than they are: a warning says so.
    policies
        One or several, as for `simulate`; by default the default policy.
    unit, arm, reward, context
        The names of the log's columns; a context if, and only if, the problem has contexts.
    time, key
        Columns that say when each decision was made, a number or a date, and that identify it: no
        key may occur twice.
    among
        The column that says which arms were eligible, as "9 EUR|12 EUR"; an empty cell means all.
    propensity
        The column with the probability with which the arm that was played was chosen.
    uniform
        In place of a propensity: every eligible arm was as likely as any other.
    cost
        What a sale costs, if the models are of profit and the log of revenue; see `fit`.
    missing
        "refuse" rows in which something is missing, or "drop" them.
    seed
        The seed of the thinning and of randomised policies.
    progress
        Called with what is under way, the share of it that is done, and the share of all.

    Examples
    --------
    >>> import numpy as np
    >>> import fpbandits as fpb
    >>> problem = fpb.Problem.bernoulli([[.9, .1], [.1, .9]], arms=["a", "b"])
    >>> random = np.random.default_rng(1)
    >>> user, arm = np.repeat(np.arange(200), 20), random.integers(2, size=4000)
    >>> sold = random.random(4000) < np.where(user % 2 == arm, .9, .1)
    >>> log = {"user": user, "arm": np.array(["a", "b"])[arm], "sold": sold}
    >>> fpb.evaluate(log, problem, unit="user", arm="arm", reward="sold", uniform=True)
    the log: reward per decision of 200 units, models of problem
               mean  95 % interval  above best arm   95 % interval  decisions
    ─────────────────────────────────────────────────────────────────────────
    the log   0.491  0.476 … 0.506           0.006  -0.051 … 0.062      4,000
    always a  0.485  0.427 … 0.544                                      1,994
    frugal    0.825  0.808 … 0.843           0.340   0.275 … 0.405      1,982
    <BLANKLINE>
    4,000 of 4,000 rows usable. Each unit has an agent of its own, which made about
    9.9 decisions: a policy that learns earns more later.
    """
    problem = the_problem(problem)
    refuse_moving(problem, "evaluate")
    named = named_policies(policies)
    seed = whole_number("seed", seed)
    uniform = flag("uniform", uniform)
    where = Path(log).name if isinstance(log, str | os.PathLike) else "the log"
    _check_arguments(problem, context, propensity, uniform)
    players = {name: ready(policy, problem) for name, policy in named.items()}
    for name, player in players.items():
        if among is not None and player.policy.eligible is Eligible.REFUSED:
            raise InputError(f"{name} cannot decide among some of the arms: leave it out")
    report = progress or (lambda *shares: None)
    columns: dict[str, Any] = {"unit": unit, "arm": arm, "reward": reward, "context": context}
    columns |= {"time": time, "key": key, "among": among}
    flagged = _CONTROL not in (*columns.values(), propensity) and has_column(log, _CONTROL)
    read = read_log(
        log,
        **columns,
        missing=missing,
        numbers=() if propensity is None else (propensity,),
        control=_CONTROL if flagged else None,
        arms=problem.arms,
        contexts=problem.contexts,
        progress=report,
    )
    chances = uniform_propensities(read) if propensity is None else read.extra[propensity]
    with read.naming_rows():
        read = less_cost(read, cost)
        check_propensities(read, chances)
        for player in players.values():
            check_rewards(player, read)
    with within(where):
        check_balance(read, chances, uniform)
    least = least_propensity(read, chances)
    coins = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    usable = usable_rows(chances, least, coins)

    def earned_by(rows: Bools) -> Earned:
        """Return what these rows earned, if they are enough."""
        with within(where):
            _check_enough(read, rows, int(usable.sum()), least)
        return Earned(Ratio.of(*sums_by_unit(read, rows)), int(rows.sum()))

    drawn = drawn_pairs(read)
    by_baseline, warnings = {}, _warn_of_log(read, problem)
    # Rewards that are one of a few values were checked above: others do not tell.
    if cost is not None and problem.rewards.chances() is None:
        warnings.append(
            "rewards are less their cost: are the models, too? Only models fitted with the same "
            "cost are of profit"
        )
    context_of, arm_of = np.divmod(read.pair, len(read.arms))
    if read.among is not None and read.sets is not None:
        best = best_eligible(problem, drawn, read.sets)[context_of, read.among]
        by_baseline["best eligible arm"] = earned_by(usable & (arm_of == best))
    else:
        for name, arms in baselines(problem, drawn).items():
            by_baseline[name] = earned_by(usable & (arm_of == arms[context_of]))
    by_policy = {}
    for index, (name, player) in enumerate(players.items()):

        def report_share(done: float, name: str = name, index: int = index) -> None:
            report(name, done, (index + done) / len(players))

        accepted = accept_rows(player, read, usable, seed, report_share)
        warnings += _warn_of_stuck(name, read, accepted.stuck)
        by_policy[name] = earned_by(accepted.rows)
        if np.ptp(read.reward[accepted.rows]) == 0:
            warnings.append(
                f"all rewards of {name}'s decisions are the same: its interval has no width, and "
                "cannot be trusted"
            )
    return Evaluation(
        where,
        problem.name,
        Earned(Ratio.of(*sums_by_unit(read)), len(read.reward)),
        by_baseline,
        by_policy,
        len(read.reward),
        int(usable.sum()),
        least,
        seed,
        tuple(warnings),
    )


def _warn_of_log(log: Log, problem: Problem) -> list[str]:
    """Return warnings about the log: rows left out, units that the models were fitted to."""
    warnings = (
        [f"{counted(log.dropped, 'row')} left out: something is missing"] if log.dropped else []
    )
    if log.control:
        rows = counted(log.control, "row")
        warnings.append(f"{rows} of control units left out: their arm was not drawn")
    seen = share_within(log.units, problem.fitted_units)
    if seen is None:
        warnings.append(
            "too few units to tell whether the models were fitted to some of them: if so, policies "
            "and baselines look better than they will on others"
        )
    elif seen > 0:
        warnings.append(
            f"about {seen:.0%} of these units are among those that the models were fitted to: "
            "policies and baselines look better than they will on others"
        )
    return warnings


def _warn_of_stuck(name: str, log: Log, stuck: Counts) -> list[str]:
    """Return a warning if a policy asked for an arm that the log never played."""
    if not stuck.any():
        return []
    pair = int(stuck.argmax())
    share = f"{stuck[pair]:,} of {counted(len(log.units), 'unit')}"
    return [
        f"{name} asked for {quote(log.pair_names[pair])}, which the log never played, in {share}: "
        "what came after is not counted, and its mean is that of the decisions before"
    ]


def _check_arguments(
    problem: Problem, context: str | None, propensity: str | None, uniform: bool
) -> None:
    """Refuse arguments that contradict each other or the problem."""
    if len(problem.arms) == 1:
        raise InputError(
            f"{problem.name} has one arm, {problem.arms[0]!r}: every policy would have done as the "
            "log did"
        )
    if uniform and propensity is not None:
        raise InputError("a propensity and uniform both say how arms were chosen: give one of them")
    if not uniform and propensity is None:
        raise InputError(
            "how were the log's arms chosen? Only randomised decisions tell what others would have "
            "earned: name the column of their propensities (--propensity), or say that every arm "
            "was as likely as any other (--uniform)"
        )
    if problem.contexts and context is None:
        raise InputError(f"{problem.name} has contexts: say which column holds them (--context)")
    if not problem.contexts and context is not None:
        raise InputError(f"{problem.name} has no contexts: leave out the column {quote(context)}")


def _check_enough(read: Log, accepted: Bools, usable: int, least: float) -> None:
    """Refuse a log of which too little is accepted."""
    decisions, units = int(accepted.sum()), len(np.unique(read.unit[accepted]))
    if decisions >= _FEWEST_DECISIONS and units >= _FEWEST_UNITS:
        return
    raise InputError(
        f"of {counted(len(read.reward), 'row')} {usable:,} could be used (the least propensity is "
        f"{least:.2g}), and {decisions:,} of {counted(units, 'unit')} were decided alike: too few "
        f"to tell. It takes {_FEWEST_DECISIONS} of {_FEWEST_UNITS} units or more"
    )
