"""`adopt`: from now on, this version's revision of the rule decides in an experiment.

A rule's revision grows when it decides differently. An experiment goes on by the revision that it
began with; a server that has another one does not serve it, until an administrator adopts that one
here. This is an event *adopted* in the log, and each unit's state is rebuilt from the log: that of
an agent of the new revision that played the same arms and had the same rewards. So `verify` can
check what is decided from then on.

Meanwhile the experiment takes no requests. If the work is interrupted, it takes none until the same
command has finished. One that was closed is closed again thereafter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from operator import itemgetter

from fpbandits.errors import ConflictError, quote
from fpbandits.service.experiment import (
    ADOPTING,
    CLOSED,
    DELETING,
    MIGRATING,
    OPEN,
    STATES,
    Experiment,
    Kept,
)
from fpbandits.service.step import ADOPTED
from fpbandits.service.step import CLOSED as CLOSED_EVENT
from fpbandits.service.store import History, Rebuilt, Store
from fpbandits.service.unit_state import pack_unit
from fpbandits.service.verify import Verification, experiments_of, follow

_AT_ONCE = 200
"""Units whose states are written in one transaction."""


def adopt(store: Store, name: str, progress: Callable[[int], None] | None = None) -> Kept:
    """Let this version's revision decide in an experiment; return its new edition.

    Idempotent. ``progress`` is called with the number of units that have their new state.
    """
    (kept,) = experiments_of(store, name)
    experiment = Experiment.from_kept(kept)
    if kept.status == MIGRATING:
        raise ConflictError(f"{quote(name)} is still being migrated: finish that first")
    if experiment.is_current and kept.status != ADOPTING:
        return kept
    status = _status_before(store, kept) if kept.status == ADOPTING else kept.status
    kept = store.change_experiment(kept, ADOPTING)
    _rebuild(store, kept, experiment, progress)
    return store.change_experiment(kept, status, experiment.policy.revision, ADOPTED)


def _status_before(store: Store, kept: Kept) -> str:
    """Return the status that an experiment had before an `adopt` that was interrupted."""
    with store.history(kept.id) as history:
        kinds = [kind for (kind,) in history.rows("closings")]
    return CLOSED if kinds[-1:] == [CLOSED_EVENT] else OPEN


def needs_adopting(kept: Kept) -> bool:
    """Tell whether servers of this version decide for an experiment only after `adopt`."""
    other = kept.revision != Experiment.from_kept(kept).policy.revision
    return other and kept.status != DELETING


def renew_states(store: Store, progress: Callable[[int], None] | None = None) -> int:
    """Rebuild the units' states of experiments where an earlier version wrote another form.

    Only of those whose rule is the same: their decisions do not change, so nothing is adopted. No
    server may be running. Returns the number of experiments.
    """
    renewed = 0
    store.check_writing()  # a SQLite file must be in the mode for writing before it is read
    for kept in store.experiments():
        experiment = Experiment.from_kept(kept)
        same_rule = kept.revision == experiment.policy.revision
        if kept.states != STATES and same_rule and kept.status != DELETING:
            _rebuild(store, kept, experiment, progress)
            store.change_experiment(kept, kept.status, kept.revision)
            renewed += 1
    return renewed


def _rebuild(
    store: Store,
    kept: Kept,
    experiment: Experiment,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Replace the states of an experiment's units by those that follow from the log."""
    units = 0
    with warnings.catch_warnings(), store.history(kept.id) as history:
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        rebuilt = _rebuild_units(experiment, history)
        while page := list(islice(rebuilt, _AT_ONCE)):
            store.rebuild(kept, page)
            units += len(page)
            if progress is not None:
                progress(units)


def _rebuild_units(experiment: Experiment, history: History) -> Iterator[Rebuilt]:
    """Yield units in the states that follow from the log."""
    for unit, rows in groupby(history.events(), itemgetter(0)):
        result = Verification()
        agent, due, _ = follow(experiment, unit, (event for _, event in rows), result)
        # Another revision may decide differently; an event that cannot be repeated is damage.
        if result.impossible:
            raise ConflictError(f"the log is damaged: {result.shown[0]}")
        yield Rebuilt(unit, pack_unit(experiment, agent, due), due[0][1] if due else None)
