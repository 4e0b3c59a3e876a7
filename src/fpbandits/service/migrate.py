"""`migrate`: a new experiment that begins with what another one has learned.

Experiments never change, so new models are a new experiment. Each unit of the old one is given to
the new one as history: every reward that counts, in the order in which it was told, is observed
under the new models, and stands in the new log as an event *observed*. So the new log explains the
new decisions by itself.

The new experiment takes requests only when all units are there. If the work is interrupted, the
same command goes on from there: a unit that has events already is left as it is. Rewards that the
old experiment is told meanwhile, for units that were given over already, stay with it: stop asking
it first.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from fpbandits.errors import ConflictError, quote, within
from fpbandits.service.experiment import Experiment, checked_experiment
from fpbandits.service.export import Row, rows_of
from fpbandits.service.step import OBSERVED, Event, Unit
from fpbandits.service.store import Change, Store
from fpbandits.service.verify import experiments_of

_AT_ONCE, _REWARDS_AT_ONCE = 500, 50_000
"""Units and rewards after which a transaction is committed: it must not take long."""

History = tuple[str, list[Row]]


def migrate(
    store: Store,
    old: str,
    new: str,
    definition: Mapping[str, object],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Begin an experiment with the history of another; return how many units there were.

    What ``definition`` leaves out is as in the old one.
    """
    (before,) = experiments_of(store, old)
    wanted = checked_experiment(new, {**json.loads(before.definition), **definition})
    if store.experiment(wanted.name) is None:
        _try(store, before.id, wanted)
    kept, fresh = store.add_experiment(wanted.name, wanted.definition, open=False)
    if not fresh and json.loads(kept.definition) != json.loads(wanted.definition):
        raise ConflictError(f"{quote(new)} is another experiment: give the new one its own name")
    if kept.open:
        raise ConflictError(f"{quote(new)} is there already, and takes requests")
    experiment = Experiment.from_definition(kept.id, kept.name, kept.definition)
    units = 0
    with warnings.catch_warnings(), store.history(before.id) as history:
        warnings.simplefilter("ignore")  # an agent's remarks were made when it was told
        for some in _in_turn(_histories(history.events())):
            _give(store, experiment, some)
            units += len(some)
            if progress is not None:
                progress(units)
    store.open_experiment(kept.id)
    return units


def _try(store: Store, old: int, experiment: Experiment) -> None:
    """Say which reward the new models do not allow, before anything of them is kept."""
    with warnings.catch_warnings(), store.history(old) as history:
        warnings.simplefilter("ignore")
        for unit, rows in _histories(history.events()):
            _observed(experiment, unit, rows, 0.0)


def _observed(experiment: Experiment, name: str, rows: list[Row], now: float) -> Unit:
    """Return a unit that has observed its history."""
    unit = Unit(experiment, name, 0, None, {}, lambda number: ())
    for number, row in enumerate(rows):
        with within(("unit", name), ("reward", number + 1)):
            unit.observe(row["arm"], row["context"], row["reward"], number, now)
    return unit


def _histories(events: Iterator[tuple[str, Event]]) -> Iterator[History]:
    """Yield units with their rewards, also those that they had from an experiment before."""
    for unit, group in groupby(events, lambda each: each[0]):
        own = list(group)
        observed: list[Row] = [
            {"arm": event.arm, "context": event.context, "reward": event.reward}
            for _, event in own
            if event.kind == OBSERVED
        ]
        yield unit, observed + list(rows_of(own))


def _in_turn(histories: Iterator[History]) -> Iterator[list[History]]:
    """Yield as many units as one transaction takes."""
    some: list[History] = []
    for each in histories:
        some.append(each)
        if len(some) == _AT_ONCE or sum(len(rows) for _, rows in some) >= _REWARDS_AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _give(store: Store, experiment: Experiment, histories: list[History]) -> None:
    """Let units observe their history, in one transaction."""
    told = {unit: rows for unit, rows in histories if rows}
    unit_keys = sorted((experiment.id, unit) for unit in told)
    with store.transaction(unit_keys, [], []) as transaction:
        changes = []
        for unit_key in unit_keys:
            row, name = transaction.rows[unit_key], unit_key[1]
            if row.steps:
                continue
            unit = _observed(experiment, name, told[name], transaction.now)
            changes.append(Change.of(row.id, unit))
        transaction.write(changes)
