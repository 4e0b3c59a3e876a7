"""`migrate`: a new experiment that begins with what another one has learned.

Experiments never change, so new models are a new experiment. Each unit of the old one is given to
the new one as history: every reward that counts, in the order in which it came, is observed under
the new models, and stands in the new log as an event *observed*. So the new log explains the new
decisions by itself.

The new experiment takes requests only when all units are there. If the work is interrupted, the
same command goes on from there: a unit that has observed some rewards already observes the rest.
Rewards that the old experiment gets meanwhile, for units that were given over already, stay with
it: stop asking it first.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, islice
from operator import itemgetter

from fpbandits.errors import ConflictError, quote, within
from fpbandits.service.experiment import (
    MIGRATING,
    OPEN,
    Experiment,
    checked_experiment,
    same_definition,
)
from fpbandits.service.export import Row, rows_of
from fpbandits.service.step import Event, Unit
from fpbandits.service.store import Change, Store
from fpbandits.service.verify import experiments_of

_AT_ONCE = 5_000
"""Rewards that are observed in one transaction: it must not take long."""

Observation = tuple[str, int, Row]
"""A unit, which of its rewards this is, counted from 0, and the reward."""


def migrate(
    store: Store,
    old: str,
    new: str,
    definition: Mapping[str, object],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Begin an experiment with the history of another; return how many units have any.

    What ``definition`` leaves out is as in the old one. ``progress`` is told how many rewards were
    observed.
    """
    (before,) = experiments_of(store, old)
    wanted = checked_experiment(new, {**json.loads(before.definition), **definition})
    if store.experiment(wanted.name) is None:
        _try(store, before.id, wanted)
    kept, fresh = store.add_experiment(
        wanted.name, wanted.definition, wanted.revision, status=MIGRATING
    )
    if not fresh and not same_definition(kept.definition, wanted.definition):
        raise ConflictError(f"{quote(new)} is another experiment: give the new one its own name")
    if kept.status != MIGRATING:
        raise ConflictError(f"{quote(new)} is there already, and takes requests")
    experiment = wanted.stored(kept)
    units, rewards = set[str](), 0
    with warnings.catch_warnings(), store.history(before.id) as history:
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        observations = _observations(history.events())
        while some := list(islice(observations, _AT_ONCE)):
            _give(store, experiment, some)
            units.update(unit for unit, _, _ in some)
            rewards += len(some)
            if progress is not None:
                progress(rewards)
    store.change_experiment(kept, OPEN)
    return len(units)


def _try(store: Store, old: int, experiment: Experiment) -> None:
    """Say which reward the new models do not allow, before anything of them is kept."""
    with warnings.catch_warnings(), store.history(old) as history:
        warnings.simplefilter("ignore")
        for name, some in groupby(_observations(history.events()), itemgetter(0)):
            _observe(Unit(experiment, name, 0, None, {}, lambda number: ()), some, 0.0)


def _observe(unit: Unit, observations: Iterable[Observation], now: float) -> None:
    """Let a unit observe its history."""
    for name, number, row in observations:
        with within(("unit", name), ("reward", number + 1)):
            unit.observe(row["arm"], row["context"], row["reward"], number, now)


def _observations(events: Iterator[tuple[str, Event]]) -> Iterator[Observation]:
    """Yield units' rewards in order, also those that they had from an experiment before."""
    for unit, group in groupby(rows_of(events, observed=True), itemgetter("unit")):
        for number, row in enumerate(group):
            yield unit, number, row


def _give(store: Store, experiment: Experiment, observations: list[Observation]) -> None:
    """Let units observe some of their history, in one transaction."""
    given = {unit: list(some) for unit, some in groupby(observations, itemgetter(0))}
    unit_keys = sorted((experiment.id, unit) for unit in given)
    with store.transaction([experiment.stamp], unit_keys, [], []) as transaction:
        if not transaction.current:
            raise ConflictError(f"{quote(experiment.name)} has changed meanwhile: begin again")
        changes = []
        for unit_key in unit_keys:
            row, name = transaction.rows[unit_key], unit_key[1]
            unit = Unit(experiment, name, row.steps, row.state, {}, lambda number: ())
            # What it has observed already are its first rewards.
            _observe(unit, (each for each in given[name] if each[1] >= row.steps), transaction.now)
            if unit.events:
                changes.append(Change.of(row.id, unit))
        transaction.write(changes)
