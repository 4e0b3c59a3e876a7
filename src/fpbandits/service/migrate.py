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

**Erased units** stay erased: one that was erased in the new experiment observes nothing more. One
that was erased in the old experiment keeps what it had observed in the new one, until it is erased
there, too.

**If the truth moves** with every decision, a unit observes history only before its first decision
in the new experiment. Later rewards are left out.

The new experiment takes requests once all units are there. If the work is interrupted, the same
command finishes it: a unit that has observed some rewards already observes the rest. Rewards that
the old experiment gets meanwhile may come with the next run.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from fpbandits.agent.agent import Agent
from fpbandits.core.checks import known_name
from fpbandits.errors import ConflictError, InputError, UnknownError, counted, quote, within
from fpbandits.problem.posterior import Evidence
from fpbandits.problem.problem import Problem
from fpbandits.service.experiment import (
    MIGRATING,
    OPEN,
    Experiment,
    checked_experiment,
    complete_definition,
    same_definition,
)
from fpbandits.service.export import Rewards, Row
from fpbandits.service.step import ERASED, OBSERVED, Event, Unit
from fpbandits.service.store import Change, History, Store, Transaction, Wanted
from fpbandits.service.verify import experiments_of, whole_history

_AT_ONCE = 5_000
"""Rewards that are observed in one transaction: it must not take long."""

_NONE = "none"
"""In place of a model, where none allows a unit's rewards."""

Identity = tuple[Any, ...]
"""Arm, context, reward and time of a decision. Those that share it are interchangeable."""

_identity = itemgetter("arm", "context", "reward", "time")


class Observation(NamedTuple):
    """A reward of a unit's history.

    Attributes
    ----------
    unit, row
        The unit, and the reward.
    number
        Its index in the history, from 0.
    identity, occurrence
        What tells it from other rewards, and how many of the history up to it share that.
    """

    unit: str
    row: Row
    number: int
    identity: Identity
    occurrence: int


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
    erased
        Units whose history was left out, because they were erased in the new experiment.
    not_erased
        Units that were erased in the old experiment, and whose history the new one still has.
    decided
        How many rewards were left out, by unit, because the truth moves with every decision, and
        the new experiment has decided for the unit already.
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
    erased: int = 0
    not_erased: int = 0
    decided: Counter[str] = field(default_factory=Counter)
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
    control: str | None = None,
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
    control
        Another arm for the units of the control group.
    progress
        Called with what is done so far, in words.
    """
    (kept_source,) = experiments_of(store, old)
    source = Experiment.from_kept(kept_source)
    wanted = _wanted(source, new, definition, control)
    _check_retired(retire, source.problem, wanted.problem)
    existing = store.experiment(wanted.name)
    if existing is not None and not same_definition(existing.definition, wanted.definition):
        raise ConflictError(f"{quote(new)} is another experiment: give the new one its own name")
    if existing is not None and existing.id <= kept_source.id:
        raise ConflictError(
            f"{quote(new)} is no newer than {quote(old)}, which may have its rewards already: they "
            "would count twice; give the new one its own name"
        )
    migration, erased = Migration(), set[str]()
    if existing is not None:
        with store.history(existing.id) as history:
            erased = {unit for (unit,) in history.rows("erased_units")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        with whole_history(store, kept_source) as history:
            _check(history, source, wanted, retire, erased, migration, progress)
        kept, _ = store.add_experiment(
            wanted.name, wanted.definition, wanted.revision, status=MIGRATING
        )
        experiment = wanted.as_kept(kept)
        if kept.status != MIGRATING:
            experiment.check_serving()
        with whole_history(store, kept_source) as history:
            erased_at = dict[str, float]()
            remaining = (each for each in history.events() if each[0] not in erased)
            events = _noting_erased(remaining, erased_at)
            observations = _observations(Rewards(source.late).rows(events), experiment.problem)
            given = 0
            while page := list(islice(observations, _AT_ONCE)):
                migration.added += _give(store, experiment, page, erased_at, migration.decided)
                given += len(page)
                progress(f"{given:,} of {counted(max(given, migration.rewards), 'reward')} given")
        migration.rewards -= migration.decided.total()
        migration.not_erased = _count_not_erased(store, experiment, erased_at)
    if kept.status == MIGRATING:
        store.change_experiment(kept, OPEN)
    return migration


def _wanted(
    source: Experiment, new: str, definition: Mapping[str, object], control: str | None
) -> Experiment:
    """Return the new experiment; its control group, if any, is the old one's unless defined."""
    fields = {**complete_definition(source.definition), **definition}
    if control is not None:
        if fields["control"] is None:
            raise InputError(f"{quote(source.name)} has no control group", about=("control",))
        fields["control"] = {**fields["control"], "arm": control}
    try:
        return checked_experiment(new, fields)
    except UnknownError as error:
        if control is not None or "control" in definition or error.place[:1] != ("control",):
            raise
        raise InputError(
            f"its arm {quote(fields['control']['arm'])} is missing from the new models: give it "
            "another one with --control ARM",
            place=("the control group",),
        ) from None


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
    erased: Collection[str],
    migration: Migration,
    progress: Callable[[str], None],
) -> None:
    """Count all rewards into ``migration``; refuse one that the new models do not allow.

    Those of units that were ``erased`` in the new experiment are left out.
    """
    rewards = Rewards(source.late)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, rows in groupby(rewards.rows(history.events()), itemgetter("unit")):
        if name in erased:
            migration.erased += 1
            continue
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


def _noting_erased(
    events: Iterable[tuple[str, Event]], erased_at: dict[str, float]
) -> Iterator[tuple[str, Event]]:
    """Yield all events, and note when units were erased; their other events follow."""
    for unit, event in events:
        if event.kind == ERASED:
            erased_at[unit] = event.time
        yield unit, event


def _observations(rows: Iterator[Row], problem: Problem) -> Iterator[Observation]:
    """Yield units' rewards of arms that a problem has, in order; also those that were inherited."""
    for unit, group in groupby(rows, itemgetter("unit")):
        occurrences = Counter[Identity]()
        for number, row in enumerate(row for row in group if row["arm"] in problem.arms):
            identity = _identity(row)
            occurrences[identity] += 1
            yield Observation(unit, row, number, identity, occurrences[identity])


def _give(
    store: Store,
    experiment: Experiment,
    observations: list[Observation],
    erased_at: Collection[str],
    decided: Counter[str],
) -> int:
    """Let units observe a part of their history, in one transaction; return how much was new.

    Parameters
    ----------
    store, experiment
        The store, and the new experiment.
    observations
        The part, unit by unit.
    erased_at
        Units that were erased in the old experiment.
    decided
        Counts rewards that are left out; see `Migration`.
    """
    given = {unit: list(group) for unit, group in groupby(observations, itemgetter(0))}
    unit_keys = sorted((experiment.id, unit) for unit in given)
    locked = store.transaction(Wanted([experiment.stamp], unit_keys))
    # What the history shows is as of its first use, when nobody else can erase these units.
    with locked as transaction, store.history(experiment.id) as inherited:
        if not transaction.current:
            raise ConflictError(f"{quote(experiment.name)} has changed meanwhile: begin again")
        changes = []
        for name, history in given.items():
            row = transaction.rows[experiment.id, name]
            unit = Unit(experiment, name, row.steps, row.state, {}, lambda number: ())
            before = unit.agent.observed
            # Where neither experiment erased a unit, numbers tell what it has observed: it may have
            # too many rewards to read them again. One erased in the new one has observed none.
            if row.steps and (name in erased_at or not before):
                observed, is_erased = _inherited(inherited, name)
                if is_erased:
                    continue
                new = [each for each in history if each.occurrence > observed[each.identity]]
            else:
                new = [each for each in history if each.number >= before]
                _check_same(transaction, row.id, history[: len(history) - len(new)])
            too_late = experiment.problem.transitions is not None and row.steps > before
            for each in new:
                if too_late:
                    decided[name] += 1
                else:
                    unit.observe(each.row, unit.agent.observed)
            if unit.events:
                changes.append(Change.of(row.id, unit))
        transaction.write(changes)
    return sum(len(change.events) for change in changes)


def _check_same(transaction: Transaction, id: int, known: Sequence[Observation]) -> None:
    """Refuse another history than the one that a unit has observed, by the last known reward."""
    if known:
        last = known[-1]
        for event in transaction.resolutions(id, last.number):
            if event.kind == OBSERVED and _identity(event._asdict()) != last.identity:
                reason = "its history is that of another experiment: give the new one its own name"
                raise ConflictError(f"{quote(last.unit)}: {reason}")


def _inherited(history: History, unit: str) -> tuple[Counter[Identity], bool]:
    """Return what a unit has observed in the new experiment, and whether it was erased there."""
    observed, is_erased = Counter[Identity](), False
    for _, kind, *identity in history.rows("inherited", json.dumps([unit])):
        if kind == ERASED:
            is_erased = True
        else:
            observed[tuple(identity)] += 1
    return observed, is_erased


def _count_not_erased(store: Store, experiment: Experiment, erased_at: Mapping[str, float]) -> int:
    """Count units with rewards in the new experiment from before they were erased in the old."""
    with store.history(experiment.id) as history:
        rows = history.rows("inherited", json.dumps(list(erased_at)))
        return len(
            {unit for unit, kind, *_, time in rows if kind == OBSERVED and time < erased_at[unit]}
        )
