"""A log in numbers, whatever it came from; and every wrong cell is named by its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpbandits.errors import Error, InputError
from fpbandits.logs import sources
from fpbandits.logs.log import Log, log_name, read_log

ROWS = [("u2", 12, 1.0, "m"), ("u1", 9, 0.0, "d"), ("u2", 9, 1.0, "d"), ("u3", 100, 0.5, "m")]
COLUMNS: dict[str, Any] = {
    name: [row[place] for row in ROWS] for place, name in enumerate(["user", "arm", "pay", "on"])
}


def read(source: Any, **how: Any) -> Log:
    return read_log(source, unit="user", arm="arm", reward="pay", **how)


def to_csv(path: Path, rows: list[Any] | None = None) -> Path:
    lines = ["user,arm,pay,on", *(",".join(map(str, row)) for row in rows or ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def check(log: Log) -> None:
    assert list(log.units) == ["u2", "u1", "u3"], "in order of appearance"
    assert log.arms == ("9", "12", "100"), "by size, not by letters"
    assert log.contexts == ("d", "m")
    assert log.unit.tolist() == [0, 1, 0, 2]
    assert log.pair.tolist() == [3 + 1, 0, 0, 3 + 2]
    assert log.reward.tolist() == [1, 0, 1, 0.5]
    assert log.pair_names[4] == "m: 12"


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make: Any) -> None:
    check(read(make(COLUMNS), context="on"))


@pytest.mark.parametrize("at_once", [1, 3, 2**16])
def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(sources, "_AT_ONCE", at_once)
    check(read(to_csv(tmp_path / "log.csv"), context="on"))
    pd.DataFrame(COLUMNS).to_parquet(tmp_path / "log.parquet")
    check(read(tmp_path / "log.parquet", context="on"))


def test_names_may_be_categories_numbers_or_truths() -> None:
    frame = pd.DataFrame(COLUMNS)
    frame["on"] = frame["on"].astype("category")
    check(read(frame, context="on"))
    floats = {**COLUMNS, "arm": np.array([12.0, 9.0, 9.0, 100.0])}
    assert read(floats).arms == ("9", "12", "100")
    assert read({**COLUMNS, "pay": [True, False, True, True]}).reward.tolist() == [1, 0, 1, 1]


def test_further_columns_are_kept() -> None:
    log = read({**COLUMNS, "chance": [0.1, 0.2, 0.3, 0.4]}, numbers=["chance"])
    assert log.extra["chance"].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_arms_may_be_said() -> None:
    log = read(COLUMNS, arms=["100", "12", "9", "1"])
    assert log.arms == ("100", "12", "9", "1")
    assert log.pair.tolist() == [1, 2, 2, 0]
    assert read(COLUMNS, arms=[100, 12.0, np.int64(9), "1"]).arms == log.arms


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("user", None, "the unit is missing"),
        ("arm", None, "the arm is missing"),
        ("arm", " ", "the arm is missing"),
        ("arm", float("nan"), "the arm is missing"),
        ("on", "", "the context is missing"),
        ("pay", "yes", "the reward is 'yes': expected a number"),
        ("pay", "1_0", "the reward is '1_0': expected a number"),
        ("pay", None, "the reward is missing"),
        ("pay", float("nan"), "the reward is missing"),
        ("pay", float("inf"), "the reward is inf: expected a finite number"),
        ("pay", "", "the reward is missing"),
    ],
)
def test_a_wrong_cell_is_named_by_its_row(
    tmp_path: Path, column: str, value: Any, words: str
) -> None:
    values = list(COLUMNS[column])
    values[2] = value
    with pytest.raises(InputError, match=words) as caught:
        read({**COLUMNS, column: np.array(values, object)}, context="on")
    assert str(caught.value).startswith("the log: row 2, counted from 0: ")
    rows = [list(row) for row in ROWS]
    rows[2][list(COLUMNS).index(column)] = "" if value is None else value
    path = to_csv(tmp_path / "log.csv", rows)
    if value != value and column == "arm":
        return  # to CSV it is the text nan, a name like another
    with pytest.raises(InputError, match=f"log.csv: row 4: the {words.split()[1]} "):
        read(path, context="on")


def test_a_missing_number_of_a_float_column_is_named() -> None:
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(InputError, match="row 1, counted from 0: the reward is missing"):
            read(frame({**COLUMNS, "pay": [1.0, None, 0.0, 0.0]}))


@pytest.mark.parametrize(
    ("column", "values", "dtype"),
    [
        ("user", ["ann", None, "bob", "bob"], "string"),
        ("arm", [9, None, 12, 12], "Int64"),
        ("pay", [True, None, False, True], "boolean"),
    ],
)
def test_missing_values_of_pandas_are_missing(column: str, values: list[Any], dtype: Any) -> None:
    frame = pd.DataFrame({**COLUMNS, column: pd.array(values, dtype=dtype)})
    with pytest.raises(InputError, match=r"row 1, counted from 0: the [a-z]+ is missing"):
        read(frame)
    assert read(frame, missing="drop").dropped == 1


@pytest.mark.parametrize("make", ["Int64", "int64[pyarrow]", "polars", "arrow", "parquet"])
def test_integers_keep_their_digits_next_to_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setattr(sources, "_AT_ONCE", 2)  # with a gap in the second chunk alone
    first = 2**60
    users = [first, first + 1, None, first]
    source: Any
    if make == "polars":
        source = pl.DataFrame({**COLUMNS, "user": users})
    elif make == "arrow":
        source = pa.table({**COLUMNS, "user": users})
    elif make == "parquet":
        source = tmp_path / "log.parquet"
        pq.write_table(pa.table({**COLUMNS, "user": users}), source)
    else:
        source = pd.DataFrame({**COLUMNS, "user": pd.array(users, dtype=make)})
    log = read(source, missing="drop")
    assert log.units == [str(first), str(first + 1)]
    assert log.unit.tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [float, object])
def test_floats_are_whole_numbers_or_refused(dtype: type) -> None:
    users: Any = np.array([1.0, 4915112345636.0, 0.5, -(2.0**53) + 1], dtype)
    wanted = ["1", "4915112345636", "0.5", "-9007199254740991"]
    assert read({**COLUMNS, "user": users}).units == wanted
    users[2] = 2.0**53
    words = r"row 2, counted from 0: unit: 9007199254740992\.0 is a float that may have lost digits"
    with pytest.raises(InputError, match=words):
        read({**COLUMNS, "user": users})


def test_a_wrong_cell_of_any_chunk_is_named_by_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_AT_ONCE", 1)
    rows = [*ROWS[:3], ("u3", 100, "x", "m")]
    with pytest.raises(InputError, match=r"log\.csv: row 5: the reward is 'x'"):
        read(to_csv(tmp_path / "log.csv", rows))
    floats = pa.table({**COLUMNS, "user": [1.0, 2.0, 2.0**53, 4.0]})
    pq.write_table(floats, tmp_path / "log.parquet")
    with pytest.raises(InputError, match=r"log.parquet: row 2, counted from 0: unit: 9007"):
        read(tmp_path / "log.parquet")


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="row 3, counted from 0: unknown arm '100'"):
        read(COLUMNS, arms=["9", "12"])
    with pytest.raises(InputError, match="the column 'arm' is given two roles"):
        read_log(COLUMNS, unit="arm", arm="arm", reward="pay")
    with pytest.raises(InputError, match="there are no rows"):
        read({"user": [], "arm": [], "pay": []})
    with pytest.raises(InputError, match="unit must be a column's name, not 3"):
        read_log(COLUMNS, unit=3, arm="arm", reward="pay")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="arms must be a list of names, not '9'"):
        read(COLUMNS, arms="9")
    with pytest.raises(InputError, match="a further column must be a column's name, not ''"):
        read(COLUMNS, numbers=[""])
    with pytest.raises(InputError, match="the column 'pay' is given two roles"):
        read(COLUMNS, numbers=["pay"])
    with pytest.raises(InputError, match="its name has 2,000 of 1000 letters"):
        read({**COLUMNS, "arm": ["a", "b", "c" * 2000, "a"]})


def test_names_and_numbers_of_pairs() -> None:
    log = read(COLUMNS)
    assert (log.pairs, log.pair_names) == (3, ["9", "12", "100"])
    log = read(COLUMNS, context="on")
    assert log.pairs == 6
    assert log.pair_names == ["d: 9", "d: 12", "d: 100", "m: 9", "m: 12", "m: 100"]
    assert (log.dropped, log.control, log.extra, log.among, log.sets) == (0, 0, {}, None, None)


def test_logs_are_called_as_their_files() -> None:
    for name in ("shop.csv", "shop.tsv.gz", "shop.parquet"):
        assert log_name(Path("logs.d") / name, "fit") == "shop"
        assert log_name(f"logs.d/{name}", "fit") == "shop"
    assert log_name("may.2026.csv", "fit") == "may.2026"
    assert log_name(COLUMNS, "fit") == "fit"


def test_sets_of_eligible_arms() -> None:
    """Of rows that stay, each set once; an empty cell stands for all arms."""
    among = ["12|9", " 9 ", "", "100 | 9"]
    log = read({**COLUMNS, "among": among}, among="among")
    assert log.sets is not None
    assert log.among is not None
    all_sets = [[True, True, False], [True, False, False], [True] * 3, [True, False, True]]
    assert log.sets[log.among].tolist() == all_sets
    gaps = {**COLUMNS, "pay": [1, None, 1, 1], "arm": [9, 9, 9, 100]}
    among[0] = "9"
    log = read({**gaps, "among": among}, among="among", missing="drop")
    assert log.sets is not None
    assert log.among is not None
    assert log.arms == ("9", "100")
    assert log.sets[log.among].tolist() == [[True, False], [True, True], [True, True]]
    for cell, words in (("z|100", "among: unknown arm 'z'"), ("9", "'100' was played, and elig")):
        for pay, how in ((1, {}), (None, {"missing": "drop"})):
            changed = {**gaps, "pay": [1, pay, 1, 1], "among": [*among[:3], cell]}
            with pytest.raises(InputError, match=rf"row 3, counted from 0: {words}"):
                read(changed, among="among", **how)


def test_rows_of_control_units_are_left_out() -> None:
    flags = ["true", "False", "FALSE", "false"]
    log = read({**COLUMNS, "c": flags}, control="c")
    assert (log.units, log.control, log.dropped) == (["u2", "u1", "u3"], 1, 0)
    assert [log.place(row)[1] for row in range(3)] == [("index", row) for row in (1, 2, 3)]
    # A row that is dropped counts as such alone.
    gaps = {**COLUMNS, "pay": [None, 0.0, 1.0, 1.0]}
    log = read({**gaps, "c": ["true", "true", "false", "false"]}, control="c", missing="drop")
    assert (log.units, log.control, log.dropped) == (["u2", "u3"], 1, 1)
    with pytest.raises(InputError, match="all units are control units: expected a row per rew"):
        read({**COLUMNS, "c": ["true"] * 4}, control="c")
    # Anything but true and false in every row is another column of that name.
    log = read({**COLUMNS, "c": ["true", "", "false", "false"]}, control="c")
    assert (len(log.reward), log.control) == (4, 0)


def test_what_is_missing_is_told_by_its_role() -> None:
    source = {**COLUMNS, "chance": [0.1, None, 0.3, 0.4], "id": ["a", "b", "", "d"]}
    how: Any = {"numbers": ["chance"], "key": "id"}
    words = r"row 1, .*: the chance is missing\. 2 of 4 rows lack something: --missing drop leaves"
    with pytest.raises(InputError, match=words):
        read(source, **how)
    log = read(source, missing="drop", **how)
    assert log.extra["chance"].tolist() == [0.1, 0.4]
    assert log.dropped == 2


@given(st.binary(max_size=300))
def test_any_bytes_are_a_log_or_one_error(tmp_path_factory: Any, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "log.csv"
    for start in (b"", b"user,arm,pay\n", b"user,arm,pay\nu,a,1\n"):
        path.write_bytes(start + content)
        said: str | None = None
        try:
            log = read(path)
        except Error as error:
            said = str(error)
        if said is None:
            assert len(log.reward) == len(log.unit) == len(log.pair) >= 1
        else:
            assert said.startswith(str(path))
            assert len(said.splitlines()) == 1


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_missing_values_are_counted_and_may_be_dropped(make: Any) -> None:
    gaps = make({**COLUMNS, "user": ["u2", None, "u2", "u3"], "pay": [1.0, 0.0, None, 0.5]})
    with pytest.raises(InputError, match=r"row 1, .*: the unit is missing. 2 of 4 rows lack some"):
        read(gaps)
    log = read(gaps, context="on", missing="drop")
    assert (list(log.units), log.arms, log.contexts) == (["u2", "u3"], ("12", "100"), ("m",))
    assert (log.unit.tolist(), log.reward.tolist(), log.dropped) == ([0, 1], [1, 0.5], 2)
    assert log.place(1)[1] == ("index", 3), "rows keep their numbers"
    with pytest.raises(InputError, match=r"row 3, .*: unknown arm '100'"):
        read(gaps, missing="drop", arms=["9", "12"])
    with pytest.raises(InputError, match=r"in every row something is missing"):
        read({**COLUMNS, "pay": [None] * 4}, missing="drop")
    with pytest.raises(InputError, match=r"unknown value of missing 'skip': known are 'refuse'"):
        read(gaps, missing="skip")


def test_truths_and_gaps_of_a_csv_file(tmp_path: Path) -> None:
    rows = [("u", "a", word) for word in ("True", "false", " TRUE", "NA", "1")]
    path = to_csv(tmp_path / "log.csv", [(*row, "m") for row in rows])
    log = read(path, missing="drop")
    assert (log.reward.tolist(), log.dropped) == ([1, 0, 1, 1], 1)
    assert log.place(3) == (str(path), ("row", 6))


def test_times_are_numbers_or_dates() -> None:
    def order(times: Any) -> list[int]:
        return list(read({**COLUMNS, "user": list("aaaa"), "at": times}, time="at").by_unit())

    assert order([3, 1, 2, 0]) == order(["3", "1.5", "2", "1e-3"]) == [3, 1, 2, 0]
    dates = ["2026-11-18T09:30:00+02:00", "2026-11-18T07:00:00Z", "2026-11-18 07:29", "2026-11-17"]
    assert order(dates) == [3, 1, 2, 0]
    assert order(pd.to_datetime(dates, utc=True, format="ISO8601")) == [3, 1, 2, 0]
    with pytest.raises(
        InputError, match=r"row 2, .*: the time is '9': expected .* the same in all"
    ):
        order([*dates[:2], "9", dates[3]])
    with pytest.raises(InputError, match=r"row 1, .*: the time is 'noon': expected a number or a"):
        order([dates[0], "noon", *dates[2:]])
    with pytest.raises(InputError, match=r"row 1, .*: the time is missing"):
        order(np.array([dates[3], "NaT", dates[3], dates[3]], "M8[us]"))


def test_repeated_rows_and_keys_are_refused() -> None:
    random = np.random.default_rng(0)
    user, arm, pay = np.repeat(np.arange(80), 5), random.integers(3, size=400), random.random(400)
    log = {"user": user, "arm": arm, "pay": (pay < 0.5).astype(int)}
    assert len(read(log).reward) == 400
    twice = {name: np.tile(column, 2) for name, column in log.items()}
    with pytest.raises(InputError, match=r"every row is there 2 times, .*--key"):
        read(twice)
    assert len(read({**twice, "id": np.arange(800)}, key="id").reward) == 800
    with pytest.raises(InputError, match=r"row 400, .* the key '0' was there before. 400 rows of"):
        read({**twice, "id": np.tile(np.arange(400), 2)}, key="id")
    assert len(read({**twice, "pay": np.ones(800)}).reward) == 800, "equal rows say nothing"
    few = {name: np.tile(column[:40], 2) for name, column in log.items()}
    assert len(read(few).reward) == 80, "by chance"
    with pytest.raises(InputError, match=r"the key '7' was there before\. 2 rows of 4 repeat a"):
        read({**COLUMNS, "id": [7, 7, 8, 8]}, key="id")
    gaps = {**COLUMNS, "id": [5, None, 7, 7]}
    with pytest.raises(InputError, match=r"row 3, .*the key '7' was there before\. 1 row of 3 rep"):
        read(gaps, key="id", missing="drop")


def test_rows_that_differ_among_later_units_are_no_repetition() -> None:
    """Of the first 1,000 units every row is there twice; of another one it is not."""
    unit = np.repeat(np.arange(1001), 2)
    log = {"user": unit, "arm": unit % 3, "pay": unit % 2}
    with pytest.raises(InputError, match="every row is there 2 times"):
        read(log)
    log["arm"] = np.where(np.arange(2002) == 2001, 5, log["arm"])
    assert len(read(log).reward) == 2002
