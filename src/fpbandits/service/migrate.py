"""`migrate`: a new experiment that begins with what another one has learned.

Experiments never change, so new models need a new experiment. Its units inherit the history of the
old one's: every reward that counts, in the order of counting, is observed under the new models, and
stands in the new log as an event *observed*. So the new log alone explains the new decisions.

**Arms** that the new models do not have are *retired*: their rewards are left out. Each must be
named, so that an arm which is spelled differently is not lost. Arms that only the new models have
are new to every unit.

**Pending decisions** stay with the old experiment, and so do the rewards that they block: send
their rewards there. Run the same command again to bring rewards that count since then to the new
experiment, while it is served.

The new experiment takes requests once all units are there. If the work is interrupted, the same
command finishes it: a unit that has observed some rewards already observes the rest. Rewards that
the old experiment gets meanwhile may come with the next run.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter

from fpbandits.agent.agent import Agent
from fpbandits.core.checks import known_name
from fpbandits.errors import ConflictError, InputError, counted, quote, within
from fpbandits.problem.posterior import Evidence
from fpbandits.problem.problem import Problem
from fpbandits.service.experiment import (
    MIGRATING,
    OPEN,
    Experiment,
    checked_experiment,
    same_definition,
)
from fpbandits.service.export import Rewards, Row
from fpbandits.service.step import OBSERVED, Unit
from fpbandits.service.store import Change, History, Store, Transaction
from fpbandits.service.verify import experiments_of

_AT_ONCE = 5_000
"""Rewards that are observed in one transaction: it must not take long."""

_NONE = "none"
"""In place of a model, where none allows a unit's rewards."""

Observation = tuple[str, int, Row]
"""A unit, the index of one of its rewards, from 0, and that reward."""


@dataclass
class Migration:
    """What a new experiment has inherited from an old one.

    Attributes
    ----------
    units, rewards
        How many units have a history, and how many rewards are in it.
    added
        Rewards that this run added: all of them, unless there was an earlier run.
    retired
        How many rewards of retired arms were left out, by arm.
    pending, blocked
        Decisions of the old experiment without a reward, and rewards that these block there.
    types
        The number of units by their likeliest models in the old and in the new experiment; "none"
        where no model allows a unit's rewards.
    """

    units: int = 0
    rewards: int = 0
    added: int = 0
    retired: Counter[str] = field(default_factory=Counter)
    pending: int = 0
    blocked: int = 0
    types: dict[str, Counter[str]] = field(default_factory=dict)


def migrate(
    store: Store,
    old: str,
    new: str,
    definition: Mapping[str, object],
    *,
    retire: Sequence[str] = (),
    progress: Callable[[str], None] = lambda words: None,
) -> Migration:
    """Make an experiment with the history of another, or bring it the rewards since the last run.

    Parameters
    ----------
    store
        The store of both experiments.
    old, new
        Their names.
    definition
        The definition of the new one; fields that it leaves out are as in the old one.
    retire
        Arms of the old one that the new models do not have.
    progress
        Called with what is done so far, in words.
    """
    (kept_source,) = experiments_of(store, old)
    source = Experiment.from_kept(kept_source)
    wanted = checked_experiment(new, {**json.loads(kept_source.definition), **definition})
    _check_retired(retire, source.problem, wanted.problem)
    existing = store.experiment(wanted.name)
    if existing is not None and not same_definition(existing.definition, wanted.definition):
        raise ConflictError(f"{quote(new)} is another experiment: give the new one its own name")
    if existing is not None and existing.id <= kept_source.id:
        raise ConflictError(
            f"{quote(new)} is no newer than {quote(old)}, which may have its rewards already: they "
            "would count twice; give the new one its own name"
        )
    migration = Migration()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        with store.history(kept_source.id) as history:
            _check(history, source, wanted, retire, migration, progress)
        kept, _ = store.add_experiment(
            wanted.name, wanted.definition, wanted.revision, status=MIGRATING
        )
        experiment = wanted.stored(kept)
        if kept.status != MIGRATING:
            experiment.check_serving()
        with store.history(kept_source.id) as history:
            observations = _observations(Rewards(source.late), history, experiment.problem)
            given = 0
            while page := list(islice(observations, _AT_ONCE)):
                migration.added += _give(store, experiment, page)
                given += len(page)
                progress(f"{given:,} of {counted(max(given, migration.rewards), 'reward')} given")
    if kept.status == MIGRATING:
        store.change_experiment(kept, OPEN)
    return migration


def _check_retired(retire: Sequence[str], old: Problem, new: Problem) -> None:
    for arm in retire:
        known_name("arm", arm, old.arms)
        if arm in new.arms:
            raise InputError(f"the new models have the arm {quote(arm)}: it is not retired")


def _check(
    history: History,
    source: Experiment,
    wanted: Experiment,
    retire: Sequence[str],
    migration: Migration,
    progress: Callable[[str], None],
) -> None:
    """Count all rewards into ``migration``; refuse one that the new models do not allow."""
    rewards = Rewards(source.late)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, rows in groupby(rewards.rows(history.events()), itemgetter("unit")):
        agent, evidence, allowed = wanted.agent(name), Evidence(source.problem), True
        for row in rows:
            arm, context, reward = row["arm"], row["context"], row["reward"]
            try:
                evidence.add(arm, reward, context)
            except InputError:  # the old models do not allow it either, and played on
                allowed = False
            if arm in wanted.problem.arms:
                with within(("unit", name), ("reward", agent.observed + 1)):
                    agent.observe(arm, reward, context)
            elif arm in retire:
                migration.retired[arm] += 1
            else:
                raise InputError(
                    f"it was played in {quote(source.name)}, and the new models do not have it: "
                    f"add it to them, or leave its rewards out with --retire {quote(arm)}",
                    place=(("unit", name), ("arm", arm)),
                )
            if rewards.counted % _AT_ONCE == 0:
                progress(f"{rewards.counted:,} rewards checked")
        if agent.observed:
            migration.units += 1
            migration.rewards += agent.observed
            types[_likeliest(evidence) if allowed else _NONE][_likeliest(agent)] += 1
    migration.pending, migration.blocked = rewards.pending, rewards.blocked
    migration.types = {old: types[old] for old in (*source.problem.models, _NONE) if old in types}


def _likeliest(evidence: Agent | Evidence) -> str:
    """Return the likeliest model."""
    try:
        posterior = evidence.posterior()
    except ConflictError:
        return _NONE
    return max(posterior, key=posterior.__getitem__)


def _observations(rewards: Rewards, history: History, problem: Problem) -> Iterator[Observation]:
    """Yield units' rewards of arms that a problem has, in order; also those that were inherited."""
    for unit, group in groupby(rewards.rows(history.events()), itemgetter("unit")):
        for number, row in enumerate(row for row in group if row["arm"] in problem.arms):
            yield unit, number, row


def _give(store: Store, experiment: Experiment, observations: list[Observation]) -> int:
    """Let units observe a part of their history, in one transaction; return how much was new."""
    given = {unit: list(group) for unit, group in groupby(observations, itemgetter(0))}
    unit_keys = sorted((experiment.id, unit) for unit in given)
    with store.transaction([experiment.stamp], unit_keys, [], []) as transaction:
        if not transaction.current:
            raise ConflictError(f"{quote(experiment.name)} has changed meanwhile: begin again")
        changes = []
        for unit_key in unit_keys:
            row, name = transaction.rows[unit_key], unit_key[1]
            unit = Unit(experiment, name, row.steps, row.state, {}, lambda number: ())
            # An earlier run may have given it its first rewards.
            observed = unit.agent.observed
            _check_same(transaction, row.id, given[name], observed - 1)
            for _, number, reward in given[name]:
                if number >= observed:
                    unit.observe(reward, number)
            if unit.events:
                changes.append(Change.of(row.id, unit))
        transaction.write(changes)
    return sum(len(change.events) for change in changes)


def _check_same(
    transaction: Transaction, unit: int, given: Iterable[Observation], last: int
) -> None:
    """Refuse another history than the one that a unit has observed, by its ``last`` reward."""
    for name, number, row in given:
        for event in transaction.resolutions(unit, last) if number == last else ():
            observed = event.arm, event.context, event.reward, event.time
            expected = itemgetter("arm", "context", "reward", "time")(row)
            if event.kind == OBSERVED and observed != expected:
                reason = "its history is that of another experiment: give the new one its own name"
                raise ConflictError(f"{quote(name)}: {reason}")
