"""Logs: a unit, an arm and a reward per row, from CSV, Parquet or a data frame.

If there are contexts, a row also has the context that was seen before the decision. A log is read
some ten thousand rows at a time, so that memory holds a few numbers per row and nothing else. Names
become numbers: units in order of appearance, arms and contexts sorted, 9 before 12.

An error names the row: in a file as spreadsheets count, the header being row 1; in a data frame
from 0, as data frames count.

A log with every row twice makes types look clearer than they are, so it is refused. Equal rows (the
same unit, arm and reward) are common; it is not that each of them occurs an even number of times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.core.arrays import Bools, Floats, Ints
from fpbandits.core.checks import checked_name, checked_path, known_name
from fpbandits.core.storage import shown
from fpbandits.errors import Error, InputError, Place, counted, quote, unknown, wrong_type
from fpbandits.families.estimator import Codes
from fpbandits.logs.among import text_to_arms
from fpbandits.logs.columns import Column, Flags, Labels, Reals, Times, given_names
from fpbandits.logs.sources import Progress, file_chunks, frame_chunks, line_of

MISSING = ("refuse", "drop")
"""What to do with rows in which something is missing."""

_LABELS = ("unit", "arm", "context", "key", "among")
"""Roles of columns of names."""

_MAY_BE_EMPTY = ("among", "control")
"""Roles of columns in which a value may be missing."""

_FEWEST_REPEATED = 50
"""If there are fewer distinct rows, each may occur twice by chance."""

_UNITS_CHECKED_FIRST = 1000
"""Rows of these units are checked for repetition first: as a rule that is enough to see none."""


@dataclass(frozen=True, eq=False)
class Log:
    """A log in numbers: one unit, pair and reward per row, in the order of the rows.

    Attributes
    ----------
    units
        Names of the units.
    arms, contexts
        Names of the arms and contexts.
    unit, pair, reward
        Of each row: an index into ``units``; context · number of arms + arm, as in a `Problem`; and
        the reward, in the user's units.
    extra
        Further columns of numbers, by name.
    time
        When each row happened, if a column says so.
    dropped, control
        How many rows were left out because something was missing in them, and how many others
        because a column says that they are a control unit's.
    among, sets
        If a column says which arms were eligible: the set of each row, and whether an arm is in a
        set, sets[set, arm].
    """

    units: Sequence[str]
    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    unit: Codes
    pair: Codes
    reward: Floats
    extra: Mapping[str, Floats]
    time: Floats | None
    dropped: int
    control: int
    place: Callable[[int], Place]
    """Where a row is, by its number from 0."""
    among: Codes | None = None
    sets: Bools | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of a context and an arm there are."""
        return len(self.arms) * max(1, len(self.contexts))

    @property
    def pair_names(self) -> list[str]:
        """Names of the pairs."""
        if not self.contexts:
            return list(self.arms)
        return [f"{context}: {arm}" for context in self.contexts for arm in self.arms]

    def by_unit(self) -> Ints:
        """Return rows sorted by unit, those of a unit by time, or without times in log order."""
        if self.time is None:
            return np.argsort(self.unit, kind="stable")
        return np.lexsort((self.time, self.unit))

    @contextmanager
    def naming_rows(self) -> Iterator[None]:
        """Let an error that concerns a row say where that is."""
        try:
            yield
        except InputError as error:
            raise _at_row(error, self.place) or error from None


def log_name(source: Any, otherwise: str) -> str:
    """Return the name of a log's file without its endings."""
    if not isinstance(source, str | os.PathLike):
        return otherwise
    return Path(source).name.removesuffix(".gz").rsplit(".", 1)[0]


def _at_row(error: Error, place: Callable[[int], Place]) -> Error | None:
    """Return an error about a row with the place of that row; None if it is about no row."""
    match error.place:
        case (("index", int(row)), *_):
            return error.at(*place(row), dropping=1)
    return None


def read_log(
    source: Any,
    *,
    unit: str,
    arm: str,
    reward: str,
    context: str | None = None,
    time: str | None = None,
    key: str | None = None,
    among: str | None = None,
    numbers: Sequence[str] = (),
    arms: Sequence[str] | None = None,
    contexts: Sequence[str] | None = None,
    control: str | None = None,
    missing: str = "refuse",
    progress: Progress | None = None,
) -> Log:
    """Read a log from a file's path or a data frame, and check every row.

    ``key`` names a column whose values must differ, ``among`` one of the arms that were eligible,
    as "9 EUR|12 EUR", empty if all were; ``numbers`` further columns to keep. If the column
    ``control`` holds nothing but true and false, rows in which it is true are left out. ``arms``
    and ``contexts`` are the names that may occur: by default any. A data frame is anything that
    gives its columns by name: pandas, Polars, Arrow, a dict.
    """
    roles = {"unit": unit, "arm": arm, "reward": reward}
    optional = {"context": context, "time": time, "key": key, "among": among, "control": control}
    roles |= {role: name for role, name in optional.items() if name is not None}
    known_name("value of missing", missing, MISSING)
    names = [*roles.values(), *numbers]
    for role, name in [*roles.items(), *(("a further column", name) for name in numbers)]:
        if not isinstance(name, str) or not name:
            raise wrong_type(role, name, "a column's name")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        words = f"the column {quote(twice)} is given two roles: each needs one of its own"
        raise InputError(words, about=(("column", twice),))
    known = {"arm": given_names("arms", arms), "context": given_names("contexts", contexts)}
    where, path, by_lines = "the log", Path(), False

    def place(row: int) -> Place:
        return where, ("row", line_of(path, row)) if by_lines else ("index", row)

    try:
        if isinstance(source, str | os.PathLike):
            path = checked_path(source)
            where, by_lines = shown(path), path.suffix.lower() != ".parquet"
            chunks = file_chunks(path, names, progress)
        else:
            chunks = frame_chunks(source, names)
        drop = missing == "drop"
        return _collect(chunks, roles, tuple(numbers), known, drop, place)
    except Error as error:
        raise _at_row(error, place) or error.at(where) from None


def _collect(
    chunks: Iterable[Sequence[Any]],
    roles: Mapping[str, str],
    numbers: tuple[str, ...],
    known: Mapping[str, Sequence[str] | None],
    drop: bool,
    place: Callable[[int], Place],
) -> Log:
    """Turn chunks of columns into a log, and check it.

    Parameters
    ----------
    chunks
        Columns, in the order of roles and numbers, some rows at a time.
    roles
        The name of each role's column.
    numbers
        Names of further columns of numbers.
    known
        The names that may occur in a role's column; None for any.
    drop
        Whether to leave out rows in which something is missing, or to refuse the log.
    place
        Returns where a row is, by its number from 0.
    """
    labels = {role: Labels(role) for role in _LABELS if role in roles}
    reward, time, flags = Reals("reward"), Times("time"), Flags("control")
    columns: dict[str, Labels | Reals | Flags]
    columns = {**labels, "reward": reward, "time": time, "control": flags}
    extra = {name: Reals(name) for name in numbers}
    readers = [*(columns[role] for role in roles), *extra.values()]
    for chunk in chunks:
        for reader, values in zip(readers, chunk, strict=True):
            reader.add(values)
    kept = _present([reader for reader in readers if reader.role not in _MAY_BE_EMPTY], drop)
    dropped, control = int(len(kept) - kept.sum()), 0
    if "control" in roles and not flags.missing().any():
        control = int(kept @ flags.all())
        kept &= flags.all() == 0
    rewards = reward.all()[kept]
    if not len(rewards):
        nothing = "in every row something is missing" if len(kept) else "there are no rows"
        nothing = "all units are control units" if control else nothing
        raise InputError(f"{nothing}: expected a row per reward")
    rows = np.flatnonzero(kept)
    units, unit = labels["unit"].kept(kept)
    arms, arm = labels["arm"].sorted(known["arm"], kept)
    pair = arm
    contexts: tuple[str, ...] = ()
    if "context" in labels:
        contexts, context = labels["context"].sorted(known["context"], kept)
        pair = context * np.int32(len(arms)) + arm
    for kind, names in (("arm", arms), ("context", contexts)):
        for name in names:
            checked_name((kind, name), name)
    if "key" in labels:
        _refuse_repeated_keys(*labels["key"].kept(kept), rows)
    else:
        _refuse_repeated_rows(unit, pair, rewards)
    sets, among = None, None
    if "among" in labels:
        sets, among = _read_sets(*labels["among"].kept(kept), arms, arm, rows)
    return Log(
        units,
        arms,
        contexts,
        unit,
        pair,
        rewards,
        {name: column.all()[kept] for name, column in extra.items()},
        time.all()[kept] if "time" in roles else None,
        dropped,
        control,
        lambda row: place(int(rows[row])),
        among,
        sets,
    )


def _read_sets(
    texts: list[str | None], codes: Codes, arms: Sequence[str], arm: Codes, rows: Ints
) -> tuple[Bools, Codes]:
    """Return sets[set, arm] of the arms that were eligible, and the set of each row."""
    sets = np.ones((len(texts), len(arms)), bool)
    for number, text in enumerate(texts):
        if text is not None:
            names = text_to_arms(text)
            for name in names:
                if name not in arms:
                    row = int(rows[(codes == number).argmax()])
                    raise unknown("arm", name, arms).at(("index", row), "among")
            sets[number] = [eligible in names for eligible in arms]
    outside = ~sets[codes, arm]
    if outside.any():
        row = int(outside.argmax())
        eligible_arms = quote(texts[codes[row]])
        words = f"{quote(arms[arm[row]])} was played, and eligible were {eligible_arms}"
        raise InputError(words, place=(("index", int(rows[row])),))
    return sets, codes


def _present(readers: Sequence[Column], drop: bool) -> Bools:
    """Return the rows in which nothing is missing; refuse the others, unless they are dropped."""
    missing = np.stack([reader.missing() for reader in readers])
    incomplete: Bools = np.logical_or.reduce(missing)
    if incomplete.any() and not drop:
        row = int(incomplete.argmax())
        role = readers[int(missing[:, row].argmax())].role
        count = f"{incomplete.sum():,} of {counted(len(incomplete), 'row')} lack something"
        words = f"the {role} is missing. {count}: --missing drop leaves them out"
        raise InputError(words, place=(("index", row),))
    complete: Bools = ~incomplete
    return complete


def _refuse_repeated_keys(names: list[str], keys: Codes, rows: Ints) -> None:
    """Refuse keys that occur twice."""
    if len(names) < len(keys):
        _, first = np.unique(keys, return_index=True)
        again = np.delete(np.arange(len(keys)), first)
        count = f"{counted(len(again), 'row')} of {len(keys):,} repeat a key"
        words = f"the key {quote(names[keys[again[0]]])} was there before. {count}"
        raise InputError(f"{words}: leave the copies out", place=(("index", int(rows[again[0]])),))


def _refuse_repeated_rows(unit: Codes, pair: Codes, reward: Floats) -> None:
    """Refuse a log in which every row occurs the same number of times, more than once."""
    if np.ptp(reward) == 0:
        return  # then equal rows say nothing
    for checked in (unit < _UNITS_CHECKED_FIRST, np.ones(len(unit), bool)):
        # One number for all three sorts faster than three columns.
        values, kinds = np.unique(reward[checked], return_inverse=True)
        kinds += len(values) * (
            unit[checked] + (int(unit.max()) + 1) * pair[checked].astype(np.int64)
        )
        _, counts = np.unique(kinds, return_counts=True)
        times = int(np.gcd.reduce(counts))
        if times == 1 or len(counts) < _FEWEST_REPEATED:
            return
    raise InputError(
        f"every row is there {times} times, with the same unit, arm and reward: leave the copies "
        "out. If they are rewards of their own, name a column whose values differ (--key)"
    )
