"""`migrate`: a new experiment that begins with what another one has learned.

Experiments never change, so new models are a new experiment. Each unit of the old one is given to
the new one as history: every reward that counts, in the order of counting, is observed under the
new models, and stands in the new log as an event *observed*. So the new log explains the new
decisions by itself.

**Arms** that the new models do not have are *retired*: the rewards of these are left out. Each must
be named, so that an arm which is spelled differently is not lost. Arms that only the new models
have are new to every unit.

**Pending decisions** stay with the old experiment, and so do the rewards that they block: send
their rewards there. The same command, run again, brings what counts since then to the new
experiment, while that is served.

The new experiment takes requests only when all units are there. If the work is interrupted, the
same command goes on from there: a unit that has observed some rewards already observes the rest.
Rewards that the old experiment gets meanwhile may come with the next run.
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
_SAME = "arm", "context", "reward", "time"
"""What tells an event of the history from others."""

Observation = tuple[str, int, Row]
"""A unit, which of its rewards this is, counted from 0, and the reward."""


@dataclass
class Migration:
    """What one experiment has of another.

    Attributes
    ----------
    units, rewards
        How many have a history, and how many rewards are in it.
    added
        Rewards that this run added; all of them, unless it was run before.
    retired
        Rewards of retired arms, which were left out, by arm.
    pending, blocked
        Decisions that the old experiment has no reward of yet, and rewards that do not count there
        because of these.
    types
        Units by their likeliest model in the old experiment, then in the new one; "none" where no
        model allows a unit's rewards.
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
    """Begin an experiment with the history of another, or bring it what has come since then.

    Parameters
    ----------
    store
        Where both experiments are.
    old, new
        Their names.
    definition
        Of the new one; what it leaves out is as in the old one.
    retire
        Arms of the old one that the new models do not have.
    progress
        Called with what is done so far, in words.
    """
    (before,) = experiments_of(store, old)
    source = Experiment.from_kept(before)
    wanted = checked_experiment(new, {**json.loads(before.definition), **definition})
    _check_retired(retire, source.problem, wanted.problem)
    there = store.experiment(wanted.name)
    if there is not None and not same_definition(there.definition, wanted.definition):
        raise ConflictError(f"{quote(new)} is another experiment: give the new one its own name")
    found = Migration()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        with store.history(before.id) as history:
            _check(history, source, wanted, retire, found, progress)
        kept, _ = store.add_experiment(
            wanted.name, wanted.definition, wanted.revision, status=MIGRATING
        )
        experiment = wanted.stored(kept)
        if kept.status != MIGRATING:
            experiment.check_serving()
        with store.history(before.id) as history:
            observations = _observations(Rewards(source.late), history, experiment.problem)
            given = 0
            while some := list(islice(observations, _AT_ONCE)):
                found.added += _give(store, experiment, some)
                given += len(some)
                progress(f"{given:,} of {counted(max(given, found.rewards), 'reward')} given")
    if kept.status == MIGRATING:
        store.change_experiment(kept, OPEN)
    return found


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
    found: Migration,
    progress: Callable[[str], None],
) -> None:
    """Count what is to be given; say which reward the new models do not allow."""
    rewards = Rewards(source.late)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, rows in groupby(rewards.rows(history.events()), itemgetter("unit")):
        agent, before, allowed = wanted.agent(name), Evidence(source.problem), True
        for row in rows:
            arm, context, reward = row["arm"], row["context"], row["reward"]
            try:
                before.add(arm, reward, context)
            except InputError:  # the old models do not allow it either, and played on
                allowed = False
            if arm in wanted.problem.arms:
                with within(("unit", name), ("reward", agent.observed + 1)):
                    agent.observe(arm, reward, context)
            elif arm in retire:
                found.retired[arm] += 1
            else:
                raise InputError(
                    f"it was played in {quote(source.name)}, and the new models do not have it: "
                    f"add it to them, or leave its rewards out with --retire {quote(arm)}",
                    place=(("unit", name), ("arm", arm)),
                )
            if rewards.counted % _AT_ONCE == 0:
                progress(f"{rewards.counted:,} rewards checked")
        if agent.observed:
            found.units += 1
            found.rewards += agent.observed
            types[_likeliest(before) if allowed else _NONE][_likeliest(agent)] += 1
    found.pending, found.blocked = rewards.pending, rewards.blocked
    found.types = {old: types[old] for old in (*source.problem.models, _NONE) if old in types}


def _likeliest(believer: Agent | Evidence) -> str:
    try:
        posterior = believer.posterior()
    except ConflictError:
        return _NONE
    return max(posterior, key=posterior.__getitem__)


def _observations(rewards: Rewards, history: History, problem: Problem) -> Iterator[Observation]:
    """Yield units' rewards in order, also those that they had from an experiment before."""
    for unit, group in groupby(rewards.rows(history.events()), itemgetter("unit")):
        for number, row in enumerate(row for row in group if row["arm"] in problem.arms):
            yield unit, number, row


def _give(store: Store, experiment: Experiment, observations: list[Observation]) -> int:
    """Let units observe some of their history, in one transaction; return how much was new."""
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
    """Refuse to go on with another history than the one that a unit has begun with."""
    for name, number, row in given:
        for event in transaction.resolutions(unit, last) if number == last else ():
            there = event.arm, event.context, event.reward, event.time
            if event.kind == OBSERVED and there != itemgetter(*_SAME)(row):
                other = "its history is that of another experiment: give the new one its own name"
                raise ConflictError(f"{quote(name)}: {other}")
