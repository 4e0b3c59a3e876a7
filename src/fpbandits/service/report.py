"""`report`: how an experiment is doing, and how its policy compares with the control group.

Everything is as of one moment. Counts and sums come from the log, what units believe from their
states. Rewards are those that count in the log: the reward that came, or the default in its stead.
`fpbandits.service.comparison` has the theorem behind the interval.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.errors import Error
from fpbandits.service.comparison import error_at, half_width, looks, mean, ratio_p_value
from fpbandits.service.experiment import Experiment
from fpbandits.service.step import DECISION, ERASED, EXPIRED, FORGOT, LATE, REWARD, unpacked
from fpbandits.service.store import History, Store
from fpbandits.service.verify import experiments_of

EVERY_UNIT = 2**62

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


def report(store: Store, name: str, *, error: float = 0.05, most_units: int = EVERY_UNIT) -> Report:
    """Report on an experiment.

    Parameters
    ----------
    store, name
        The experiment.
    error
        How often the intervals against the control group may be wrong, all looks together.
    most_units
        Units whose states are read, for what they believe; spread evenly over all.
    """
    (kept,) = experiments_of(store, name)
    experiment = Experiment.from_kept(kept)
    with store.history(kept.id) as history:
        control = experiment.control
        names = dict(history.rows("names"))
        in_control = {number for number, unit in names.items() if control and control.has(unit)}
        kinds = Counter(dict(history.rows("count_kinds")))
        by_unit: defaultdict[str, _Sums] = defaultdict(_Sums)
        arms: defaultdict[str, _Sums] = defaultdict(_Sums)
        groups: defaultdict[bool, _Sums] = defaultdict(_Sums)
        for number, arm, *sums in history.rows("by_unit_and_arm"):
            unit, group = names[number], number in in_control
            arms[arm] = arms[arm].plus(*sums)
            groups[group] = groups[group].plus(*sums)
            by_unit[unit] = by_unit[unit].plus(*sums)
        found: Report = {
            "experiment": name,
            "status": kept.status,
            "units": len(by_unit),
            **groups[False].plus(*groups[True]).shown(),
            "pending": kinds[DECISION] - kinds[REWARD] - kinds[EXPIRED] - kinds[FORGOT],
            "expired": kinds[EXPIRED],
            "forgotten": kinds[FORGOT],
            "late": kinds[LATE],
            "erased": kinds[ERASED],
            "arms": {arm: arms[arm].shown() for arm in experiment.problem.arms},
            **_believed(experiment, history, by_unit, most_units),
        }
        if control is None:
            return found | {"control": None, "over_time": _over_time(history, experiment, None, 0)}
        others = len(names) - len(in_control)
        p_value = ratio_p_value(len(in_control), others, control.share)
        over_time = _over_time(history, experiment, in_control, error)
        last = over_time[-1] if over_time else {}
        return found | {
            "control": {
                "arm": control.arm,
                "policy": {"units": others, **groups[False].shown()},
                "control": {"units": len(in_control), **groups[True].shown()},
                "difference": last.get("difference"),
                "interval": last.get("interval"),
                "as_of": last.get("rewards"),
                "error": error,
                "sample_ratio": {
                    "share": control.share,
                    "p_value": p_value,
                    "fits": p_value >= _SUSPICIOUS,
                },
            },
            "over_time": over_time,
        }


def _believed(
    experiment: Experiment, history: History, by_unit: dict[str, _Sums], most: int
) -> Report:
    """Return what units believe, by their likeliest models, and two alarms."""
    models: defaultdict[str, _Sums] = defaultdict(_Sums)
    looked, misfits, blocked = Counter[str](), 0, 0
    every = max(1, -(-len(by_unit) // most))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for unit, state in history.rows("some_states", every) if experiment.is_current else ():
            try:
                agent, _ = unpacked(experiment, unit, state)
                posterior = agent.posterior()
            except Error:  # it cannot be read, or an earlier version kept too little
                continue
            likeliest = max(posterior, key=posterior.__getitem__)
            looked[likeliest] += 1
            models[likeliest] = models[likeliest].plus(*by_unit.get(unit, _Sums()))
            misfits += agent.misfits
            blocked += sum(each.rewards for each in agent.blocked.values())
    return {
        "looked_at": looked.total(),
        "misfits": misfits,
        "blocked": blocked,
        "models": {
            model: {"units": looked[model], **models[model].shown()}
            for model in experiment.problem.models
        },
    }


def _over_time(
    history: History, experiment: Experiment, in_control: set[int] | None, error: float
) -> list[Report]:
    """Return the mean rewards up to every look so far, and the intervals if there is a control."""
    found, before, after = list[Report](), 0, 0
    decisions, sums = Counter[int](), Counter[int]()
    for look, rewards in enumerate(looks(), 1):
        rows = history.rows("rewards_since", after, rewards - before)
        newer = list(rows)
        if sum(row[1] for row in newer) < rewards - before:
            return found
        for unit, count, total, *_ in newer:
            decisions[unit] += count
            sums[unit] += total
        before, after = rewards, max(row[3] for row in newer)
        about: Report = {"rewards": rewards, "time": max(row[4] for row in newer)}
        units = sorted(decisions)
        if in_control is None:
            about["mean_reward"] = sums.total() / rewards
        else:
            sides = [[unit for unit in units if (unit in in_control) is it] for it in (False, True)]
            groups = [(_column(decisions, side), _column(sums, side)) for side in sides if side]
            about |= _compared(experiment, groups, error_at(look, error))
        found.append(about)
    raise AssertionError("looks never end")


def _column(numbers: Counter[int], units: list[int]) -> Floats:
    return np.array([numbers[unit] for unit in units], float)


def _compared(experiment: Experiment, groups: list[tuple[Floats, Floats]], error: float) -> Report:
    """Return the mean rewards of both groups at a look, and their difference with an interval."""
    if len(groups) < 2:
        return {"policy": None, "control": None, "difference": None, "interval": None}
    policy, control = (mean(*group) for group in groups)
    found = {"policy": policy, "control": control, "difference": policy - control}
    low, high = experiment.problem.rewards.range
    if not experiment.problem.rewards.bounded:
        return found | {"interval": None}
    scale = high - low
    units = [(decisions, (sums - low * decisions) / scale) for decisions, sums in groups]
    width = scale * half_width(units, error)
    interval = [max(-scale, policy - control - width), min(scale, policy - control + width)]
    return found | {"interval": interval}
