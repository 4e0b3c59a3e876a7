"""`report`: how an experiment is doing, and how its policy compares with the control group.

Everything is read at one moment. Counts and sums come from the log; the units' likeliest models
come from their states. The reward of a decision is the one that came in time, or the experiment's
default reward if the decision expired. The groups are compared at *looks*: when the experiment's
number of rewards first reaches one of a fixed list (`looks`). `fpbandits.service.comparison` has
the theorem behind the interval.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.errors import Error
from fpbandits.service.comparison import error_at, half_width, looks, mean, ratio_p_value
from fpbandits.service.experiment import Experiment
from fpbandits.service.step import DECISION, ERASED, EXPIRED, FORGOT, LATE, REWARD
from fpbandits.service.store import History, Store
from fpbandits.service.unit_state import unpack_unit
from fpbandits.service.verify import experiments_of, whole_history

EVERY_UNIT = 2**62
"""More units than any experiment has."""

_SUSPICIOUS = 1e-3
"""Below this p-value the control group is not the share of units that was asked for."""

Report = dict[str, Any]


class _Sums(NamedTuple):
    """Decisions, rewards and their sum."""

    decisions: int = 0
    rewards: int = 0
    total: float = 0.0

    def plus(self, decisions: int, rewards: int, total: float) -> _Sums:
        return _Sums(self.decisions + decisions, self.rewards + rewards, self.total + total)

    def shown(self) -> Report:
        average = self.total / self.rewards if self.rewards else None
        return {"decisions": self.decisions, "rewards": self.rewards, "mean_reward": average}


class _NewRewards(NamedTuple):
    """The rewards of a unit since the last look: how many, their sum, and where the last one is.

    ``unit_id`` is the unit's number in the store, and ``last_seq`` an event's in the log.
    """

    unit_id: int
    rewards: int
    total: float
    last_seq: int
    last_time: float


def report(store: Store, name: str, *, error: float = 0.05, most_units: int = EVERY_UNIT) -> Report:
    """Report on an experiment.

    Parameters
    ----------
    store, name
        The experiment.
    error
        An upper bound on the probability that at least one of the intervals, over all looks, misses
        the true difference.
    most_units
        How many units' states are read at most. If there are more units, at least ``most_units``/2
        are read, spread evenly over all.
    """
    (kept,) = experiments_of(store, name)
    experiment = Experiment.from_kept(kept)
    with whole_history(store, kept) as history:
        control = experiment.control
        # All units with events. Those that `migrate` took over may have no decision here yet; the
        # test of the control group's share counts them, too.
        names = dict(history.rows("names"))
        in_control = {unit_id for unit_id, unit in names.items() if control and control.has(unit)}
        kinds = Counter(dict(history.rows("count_kinds")))
        by_unit: defaultdict[str, _Sums] = defaultdict(_Sums)
        arms: defaultdict[str, _Sums] = defaultdict(_Sums)
        groups: defaultdict[bool, _Sums] = defaultdict(_Sums)
        for unit_id, arm, *sums in history.rows("by_unit_and_arm"):
            unit, group = names[unit_id], unit_id in in_control
            arms[arm] = arms[arm].plus(*sums)
            groups[group] = groups[group].plus(*sums)
            by_unit[unit] = by_unit[unit].plus(*sums)
        summary: Report = {
            "experiment": name,
            "status": kept.status,
            "units": len(by_unit),  # with decisions
            **groups[False].plus(*groups[True]).shown(),
            "pending": kinds[DECISION] - kinds[REWARD] - kinds[EXPIRED] - kinds[FORGOT],
            "expired": kinds[EXPIRED],
            "forgotten": kinds[FORGOT],
            "late": kinds[LATE],
            "erased": kinds[ERASED],  # units
            "arms": {arm: arms[arm].shown() for arm in experiment.problem.arms},
            **_beliefs(experiment, history, by_unit, most_units),
        }
        if control is None:
            over_time = _over_time(history, experiment, None, error)
            return summary | {"control": None, "over_time": over_time}
        others = len(names) - len(in_control)
        p_value = ratio_p_value(len(in_control), others, control.share)
        over_time = _over_time(history, experiment, in_control, error)
        last = over_time[-1] if over_time else {}
        return summary | {
            "control": {
                "arm": control.arm,
                "policy": {"units": others, **groups[False].shown()},
                "control": {"units": len(in_control), **groups[True].shown()},
                "difference": last.get("difference"),
                "interval": last.get("interval"),
                "as_of": last.get("rewards"),  # the last look: the groups' sums may be newer
                "error": error,
                "sample_ratio": {
                    "share": control.share,
                    "p_value": p_value,
                    "fits": p_value >= _SUSPICIOUS,
                },
            },
            "over_time": over_time,
        }


def _beliefs(
    experiment: Experiment, history: History, by_unit: dict[str, _Sums], most_units: int
) -> Report:
    """Return sums by the units' likeliest models, and two alarms: misfits and blocked rewards."""
    models: defaultdict[str, _Sums] = defaultdict(_Sums)
    units, units_read, misfits, blocked = Counter[str](), 0, 0, 0  # ``units``: by likeliest model
    # If the experiment uses another revision of the policy's rule than this software has, none of
    # its states can be read.
    states = history.rows("some_states", most_units) if experiment.is_current else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # misfits are counted below
        for unit, state in states:
            try:
                agent, _ = unpack_unit(experiment, unit, state)
            except Error:  # a damaged state
                continue
            units_read += 1
            misfits += agent.misfits
            blocked += sum(waiting.rewards for waiting in agent.blocked.values())
            try:
                posterior = agent.posterior()
            except Error:  # no model allows its rewards, or an old state lacks what is needed
                continue
            likeliest = max(posterior, key=posterior.__getitem__)
            units[likeliest] += 1
            models[likeliest] = models[likeliest].plus(*by_unit.get(unit, _Sums()))
    return {
        "looked_at": units_read,
        "misfits": misfits,
        "blocked": blocked,
        "models": {
            model: {"units": units[model], **models[model].shown()}
            for model in experiment.problem.models
        },
    }


def _over_time(
    history: History, experiment: Experiment, in_control: set[int] | None, error: float
) -> list[Report]:
    """Return the mean rewards at every look so far, and the intervals if there is a control group.

    ``in_control`` has the ids of its units.
    """
    past = list[Report]()
    read = last_seq = 0  # how many rewards were read, and the number of the last one's event
    counts, sums = Counter[int](), defaultdict[int, float](float)
    for look, wanted in enumerate(looks(), 1):
        missing = wanted - read
        by_unit = list(starmap(_NewRewards, history.rows("rewards_since", last_seq, missing)))
        if sum(new.rewards for new in by_unit) < missing:
            return past
        for new in by_unit:
            counts[new.unit_id] += new.rewards
            sums[new.unit_id] += new.total
        read, last_seq = wanted, max(new.last_seq for new in by_unit)
        point: Report = {"rewards": wanted, "time": max(new.last_time for new in by_unit)}
        if in_control is None:
            point["mean_reward"] = sum(sums.values()) / wanted
        else:
            # Sorted, so that sums are rounded alike whatever the order of the rows.
            policy = sorted(unit_id for unit_id in counts if unit_id not in in_control)
            control = sorted(unit_id for unit_id in counts if unit_id in in_control)
            groups = [
                (_column(counts, unit_ids), _column(sums, unit_ids))
                for unit_ids in (policy, control)
                if unit_ids
            ]
            point |= _compare(experiment, groups, error_at(look, error))
        past.append(point)
    raise AssertionError("looks never end")


def _column(values: Mapping[int, float], unit_ids: list[int]) -> Floats:
    return np.array([values[unit_id] for unit_id in unit_ids], float)


def _compare(experiment: Experiment, groups: list[tuple[Floats, Floats]], error: float) -> Report:
    """Return the mean rewards of both groups at a look, and their difference with an interval.

    ``groups`` has, for the policy and then for the control group, two arrays by unit: how many
    rewards, and their sum. A group without rewards is missing, and then nothing is compared.
    """
    if len(groups) < 2:
        return {"policy": None, "control": None, "difference": None, "interval": None}
    policy, control = (mean(*group) for group in groups)
    means = {"policy": policy, "control": control, "difference": policy - control}
    low, high = experiment.problem.rewards.range
    if not experiment.problem.rewards.bounded:
        return means | {"interval": None}
    scale = high - low
    rescaled = [(counts, (sums - low * counts) / scale) for counts, sums in groups]  # to [0, 1]
    width = scale * half_width(rescaled, error)
    interval = [max(-scale, policy - control - width), min(scale, policy - control + width)]
    return means | {"interval": interval}
