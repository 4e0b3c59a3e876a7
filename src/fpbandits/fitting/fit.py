"""`fit`: from a log to a set of models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import checked_range, known_name, number_text, whole_number
from fpbandits.errors import InputError, counted, within
from fpbandits.families import ESTIMATORS
from fpbandits.families.estimator import Estimator, Rewards
from fpbandits.fitting.cells import cells_of
from fpbandits.fitting.choose import MOST_TYPES, Choice, choose
from fpbandits.fitting.doubts import Seen, doubts, tell_apart
from fpbandits.fitting.em import Mixture, Sample
from fpbandits.fitting.errors import Errors, standard_errors
from fpbandits.fitting.naming import names_and_order
from fpbandits.fitting.result import Fit
from fpbandits.logs.cost import less_cost
from fpbandits.logs.log import Log, log_name, read_log
from fpbandits.logs.sketch import sketch
from fpbandits.logs.sources import Progress
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem

_FEWEST_PLAYS = 2
"""Rows per arm, below which a log is refused."""


def fit(
    log: Any,
    *,
    unit: str,
    arm: str,
    reward: str,
    context: str | None = None,
    key: str | None = None,
    family: str = "bernoulli",
    range: Sequence[float] | None = None,
    types: int | None = None,
    seed: int = 0,
    arms: Sequence[str] | None = None,
    cost: float | Sequence[float] | None = None,
    missing: str = "refuse",
    like: Problem | str | os.PathLike[str] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> Fit:
    """Find the types of units in a log, and what every arm pays under each.

    Parameters
    ----------
    log
        The path of a .csv, .tsv (also gzipped, .gz) or .parquet file, or a data frame: pandas,
        Polars, Arrow, or a dict of columns.
    unit, arm, reward, context
        The names of its columns; a context is what was seen before a decision, if anything.
    key
        The column that tells a reward from others, if there is one: no key may come twice.
    family
        "bernoulli" (rewards of 0 or 1, the ends of the range, or 0 and a value of each arm),
        "revenue" (0, or an amount that varies), "beta", "gaussian" or "discrete".
    range
        The lowest and the highest reward, for families that have a range.
    types
        How many types there are; by default as many as predict held-out units best.
    seed
        The seed of all random numbers.
    arms
        The arms that there may be, in order; by default those in the log, sorted.
    cost
        What a sale costs, one number or one for each arm: then rewards other than 0 are revenue,
        and the models are of profit, reward − cost.
    missing
        "refuse" rows in which something is missing, or "drop" them.
    like
        Models of an earlier fit, or their file: types that are like them keep their names and
        order.
    name
        The name of the problem; by default the file's name.
    progress
        Called with the name of what is under way, its share, and the share of all.
    **given
        Parameters of the family that are known and need not be fitted: ``deviation``,
        ``concentration``, ``shape``, ``support`` or ``value``.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> user = np.repeat(np.arange(600), 6)
    >>> arm = np.tile([0, 1, 2], 1200)
    >>> chances = np.array([[.9, .5, .1], [.1, .5, .8]])
    >>> sold = random.random(3600) < chances[user % 2, arm]
    >>> found = fit({"user": user, "arm": arm, "sold": sold}, unit="user", arm="arm", reward="sold")
    >>> found.types
    2
    """
    kind = ESTIMATORS[known_name("reward family", family, ESTIMATORS)]
    for field in given:
        families = [each.family for each in ESTIMATORS.values() if field in each.given]
        if families and kind.family not in families:
            wanted = f"{field} is for {' and '.join(families)} rewards"
            raise InputError(f"{wanted}, not for {kind.family}: leave it out", about=(field,))
        known_name(f"field of {kind.family} rewards", field, kind.given)
    limits = None if range is None else checked_range(range)
    seed = whole_number("seed", seed)
    if types is not None:
        types = whole_number("types", types, least=1, most=MOST_TYPES)
    tell = progress or (lambda *told: None)
    earlier = None if like is None else the_problem(like)
    read = read_log(
        log,
        unit=unit,
        arm=arm,
        reward=reward,
        context=context,
        key=key,
        arms=arms,
        missing=missing,
        progress=tell,
    )
    with read.naming_rows():
        read = less_cost(read, cost)
    if name is None:
        name = log_name(log, "fit")
    where = Path(log).name if isinstance(log, str | os.PathLike) else "the log"
    with within(where):
        _check_sizes(read, types)
    with read.naming_rows():
        rewards = Rewards(read.reward, read.pair, read.pair_names, limits, read.arms)
        estimator = kind.of_log(rewards, given)
    tell("adding up rewards", 0.0, 0.0)
    cells = cells_of(read, estimator)
    mixture, choice = choose(cells, estimator, types, seed, tell)
    means = estimator.means(mixture.parameters, mixture.common)
    names, order = names_and_order(np.exp(mixture.log_shares), means, read.pair_names, earlier)
    mixture = mixture.ordered(order)
    sample = Sample(cells, cells.weights(), estimator, choice.pseudo_count)
    tell("finding standard errors", 0.0, 0.0)
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 2)))
    errors = standard_errors(sample, mixture, random)
    return _result(read, sample, mixture, choice, errors, names, name)


def _check_sizes(log: Log, types: int | None) -> None:
    """Refuse a log that is too small, or whose rewards cannot tell types apart."""
    if len(log.units) == 1:
        raise InputError(
            f"all rewards are of one unit, {log.units[0]!r}: types are told apart by comparing "
            "units"
        )
    if len(log.arms) == 1:
        raise InputError(
            f"all rewards are of one arm, {log.arms[0]!r}: there is nothing to choose from"
        )
    if np.ptp(log.reward) == 0:
        raise InputError(
            f"all rewards are {number_text(float(log.reward[0]))}: there is nothing to learn from "
            "them"
        )
    if len(log.reward) < _FEWEST_PLAYS * len(log.arms):
        raise InputError(
            f"{counted(len(log.arms), 'arm')} in {counted(len(log.reward), 'row')}: most were "
            "played once, and say nothing of each other. Is it the right column? Dates, "
            "identifiers or exact prices make arms if they are grouped"
        )
    if types is not None and types > len(log.units):
        raise InputError(
            f"{counted(types, 'type')} for {counted(len(log.units), 'unit')}: there cannot be "
            "more types than units"
        )


def _result(
    log: Log,
    sample: Sample,
    mixture: Mixture,
    choice: Choice,
    errors: Errors,
    names: tuple[str, ...],
    name: str,
) -> Fit:
    """Return what was found, with names and in the user's units."""
    shares = np.exp(mixture.log_shares)
    problem = _problem(log, sample.estimator, mixture, names, shares, name)
    means = problem.rewards.means.T
    _, plays, _, _, _ = sample.expect(mixture)
    sureness = sample.sureness(mixture)
    arms = len(log.arms)
    seen_by_unit = np.unique(log.unit.astype(np.int64) * arms + log.pair % arms)
    shown = np.bincount(seen_by_unit % arms, minlength=arms) / len(log.units)
    seen = Seen(
        names,
        log.arms,
        problem.pair_names,
        len(log.units),
        len(log.reward),
        shown,
        plays,
        shares,
        means,
        errors.means,
        sureness,
        choice.types,
        min(choice.bic, key=choice.bic.__getitem__),
        choice.perhaps,
        [(sample.estimator.means(end.parameters, end.common), off) for end, off in choice.rivals],
        log.dropped,
    )
    shape = problem.means.shape[1:]
    return Fit(
        problem,
        dict(zip(names, shares.tolist(), strict=True)),
        dict(zip(names, errors.shares.tolist(), strict=True)),
        {kind: row.reshape(shape) for kind, row in zip(names, errors.means.T, strict=True)},
        len(log.units),
        len(log.reward),
        choice.held_out,
        choice.bic,
        choice.pseudo_count,
        sureness,
        tuple(doubts(seen)),
        tuple(tell_apart(names, log.arms, means, errors.means)),
    )


def _problem(
    log: Log,
    estimator: Estimator,
    mixture: Mixture,
    names: tuple[str, ...],
    shares: Floats,
    name: str,
) -> Problem:
    """Return the types as a problem, with how often each context came."""
    rows = np.swapaxes(estimator.rows(mixture.parameters, mixture.common), 0, 1)
    fields = estimator.fields(mixture.common)
    naming: dict[str, Any] = {
        "arms": log.arms,
        "models": names,
        "prior": dict(zip(names, shares.tolist(), strict=True)),
        "name": name,
        "fitted_units": sketch(log.units),
    }
    if "range" in fields:
        naming["range"] = fields.pop("range")
    if log.contexts:
        came = np.bincount(log.pair // len(log.arms), minlength=len(log.contexts))
        naming["contexts"] = log.contexts
        naming["shares"] = (came / came.sum()).tolist()
        rows = rows.reshape(len(names), len(log.contexts), len(log.arms), *rows.shape[2:])
    return Problem.of_family(estimator.family, np.ascontiguousarray(rows), fields, **naming)
