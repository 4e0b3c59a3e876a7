"""What a fit found, drawn and on a page."""

from __future__ import annotations

import json
import math
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from logs import drawn
from rich.console import Console

import fpbandits as fpb
from fpbandits.fitting.doubts import Apart
from fpbandits.fitting.report import (
    choice_figure,
    fit_table,
    types_figure,
    with_error,
    write_report,
)
from fpbandits.report.text import LOOK_ALIKE


@pytest.fixture(scope="module")
def found() -> fpb.Fit:
    return fpb.fit(drawn(1, units=400).log, unit="user", arm="arm", reward="reward", name="$shop_")


def test_every_mean_and_error_is_in_its_place(found: fpb.Fit) -> None:
    shares, axes = types_figure(found).axes[:2]
    shown = {text.get_position(): text.get_text() for text in axes.texts}
    means = found.problem.means
    assert shown == {
        (arm, row): f"{means[row, arm]:.3f}\n±{found.error_table[row, arm]:.3f}"
        for row in range(2)
        for arm in range(3)
    }
    frames = {(round(p.get_x() + 0.46), round(p.get_y() + 0.46)) for p in axes.patches}  # type: ignore[attr-defined]
    assert frames == {(int(own.argmax()), row) for row, own in enumerate(means)}
    widths = [bar.get_width() for bar in shares.patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx(list(found.shares.values()))
    assert [label.get_text() for label in shares.get_yticklabels()] == list(found.problem.models)
    for label in (*shares.get_yticklabels(), *axes.get_xticklabels()):
        assert not label.get_parse_math(), "a name with dollar signs is no formula"


def test_the_likelihoods_are_drawn(found: fpb.Fit) -> None:
    axes, other = choice_figure(found).axes
    numbers: Any = axes.lines[0].get_xydata()
    np.testing.assert_allclose(numbers, list(found.held_out.items()))
    bic: Any = other.lines[0].get_ydata()
    np.testing.assert_allclose(bic, np.array(list(found.bic.values())) / found.events)
    assert axes.get_title() == "$shop_: 2 types chosen"


def test_many_columns_have_bars_for_numbers() -> None:
    means = np.random.default_rng(0).uniform(0.1, 0.9, (2, 30))
    wide = fpb.fit(
        drawn(2, units=600, means=means, shown=6).log,
        unit="user",
        arm="arm",
        reward="reward",
        types=2,
    )
    axes = types_figure(wide).axes[1]
    assert len(axes.texts) == 0
    assert len(axes.lines) == 60


def test_the_page_needs_nothing_but_itself(found: fpb.Fit, tmp_path: Path) -> None:
    page = write_report(found, tmp_path / "folder")
    text = page.read_text()
    assert page == tmp_path / "folder" / "report.html"
    assert "$shop_: 2 types of units" in text
    assert re.findall(r'(?:src|href)="(?!data:|#)', text) == []
    assert "<script" not in text
    for warning in found.warnings:
        assert warning[1:].split(":")[0].replace("'", "&#39;") in text
    assert text.count("<img") == 2
    assert fpb.load_problem(page.with_name("models.toml")) == found.problem
    again = write_report(found, tmp_path / "again")
    assert again.read_bytes() == page.read_bytes(), "equal fits are equal pages"


def test_a_number_of_types_that_was_given_is_not_called_a_choice(tmp_path: Path) -> None:
    given = fpb.fit(drawn(1, units=100).log, unit="user", arm="arm", reward="reward", types=2)
    text = write_report(given, tmp_path).read_text()
    assert "2, as was asked for" in text
    assert "held out" not in text
    assert text.count("<img") == 1


def test_the_table_says_it_all(found: fpb.Fit) -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(fit_table(found))
    text = console.export_text()
    assert "2 types from 3,200 rewards of 400 units" in text
    (head,) = [line.split() for line in text.splitlines() if line.startswith("type ")]
    assert head == ["type", "share", *found.problem.arms]
    for name, share in found.shares.items():
        assert f"{name}  {share:.1%}" in text
    for apart in found.told_apart:
        assert str(apart)[:60] in text.replace("\n", " ")


def made_up(contexts: bool = False, arms: int = 3, **more: Any) -> fpb.Fit:
    """Two types whose means, errors and shares are round numbers."""
    means = np.tile([[0.5, 0.25, 0.75], [0.25, 1.0, 0.5]], (1, arms // 3))
    naming: Any = {"arms": [f"{9 + arm} EUR" for arm in range(arms)], "name": "shop"}
    if contexts:
        means = np.stack([means, means[:, ::-1]], axis=1)
        naming["contexts"] = ["home", "away"]
    errors = {"theta1": np.full(means.shape[1:], 0.05), "theta2": np.full(means.shape[1:], 0.0125)}
    content: dict[str, Any] = {
        "problem": fpb.Problem.bernoulli(means, **naming),
        "shares": {"theta1": 0.75, "theta2": 0.25},
        "share_errors": {"theta1": 0.03125, "theta2": 0.0125},
        "errors": errors,
        "units": 400,
        "events": 2000,
        "held_out": {1: -0.7, 2: -0.5, 3: -0.625},
        "bic": {1: 3000.0, 2: 2000.0, 3: 2500.0},
        "pseudo_count": 2.5,
        "sureness": 0.875,
        "warnings": ("said",),
        "told_apart": (
            Apart("theta1", ("11 EUR",), (), ("theta2",), ()),
            Apart("theta2", ("10 EUR",), ("theta1",), (), ()),
        ),
    }
    return fpb.Fit(**{**content, **more})


def printed(fit: fpb.Fit) -> list[str]:
    console = Console(width=80, record=True, file=StringIO())
    console.print(fit_table(fit))
    return console.export_text().splitlines()


def test_the_table_line_by_line() -> None:
    lines = printed(made_up())
    assert lines[:5] == [
        "2 types from 2,000 rewards of 400 units, bernoulli rewards in [0, 1]",
        "type          share         9 EUR        10 EUR        11 EUR",
        "theta1  75.0% ±3.1%  0.500 ±0.050  0.250 ±0.050  0.750 ±0.050",
        "theta2  25.0% ±1.2%  0.250 ±0.013  1.000 ±0.013  0.500 ±0.013",
        "",
    ]
    said = [
        "A unit's likeliest type has probability 88% on average.",
        LOOK_ALIKE,
        "theta1: playing '11 EUR' looks the same under 'theta2', which costs to find out",
        "theta2: playing '10 EUR' tells 'theta1' apart for free",
        "Note: said",
    ]
    assert " ".join(lines[5:]).split() == " ".join(said).split()
    assert lines[-2:] == ["", "Note: said"]
    assert "Note" not in " ".join(printed(made_up(warnings=())))


def test_the_table_of_one_type_tells_nothing_apart() -> None:
    problem = fpb.Problem.bernoulli([[0.5, 0.25]], arms=["a", "b"])
    one = made_up(problem=problem, shares={"theta1": 1.0}, errors={"theta1": np.full(2, 0.05)})
    lines = printed(one)
    assert lines[0].startswith("1 type from 2,000 rewards of 400 units")
    assert lines[4:] == [
        "A unit's likeliest type has probability 88% on average.",
        "",
        "Note: said",
    ]


def test_wide_tables_come_in_blocks_of_80_characters() -> None:
    """Of 30 columns the first twelve: the first ones are best for both types, others equal them."""
    lines = printed(made_up(arms=30))
    heads = [line for line in lines if line.startswith("type")]
    columns = [f"{9 + arm} EUR" for arm in range(12)]
    assert [head.split()[2::2] for head in heads] == [
        [str(9 + arm) for arm in range(start, start + 4)] for start in (0, 4, 8)
    ]
    assert " ".join(heads).count(" EUR") == len(columns)
    widths = {len(line) for line in lines if line.startswith("theta1 ")}
    # Names of 6, shares of 11 and 4 columns of 12, with two spaces between them.
    assert widths == {6 + 2 + 11 + 4 * (2 + 12)}
    assert "… and 18 more columns, best for no type: see --save, --report or --json" in lines


@pytest.mark.parametrize("letters", [19, 20, 21, 22])
def test_a_long_name_is_cut_to_20_letters(letters: int) -> None:
    arms = ["a" * letters, "b" * letters, "c"]
    problem = fpb.Problem.bernoulli(made_up().problem.means, arms=arms)
    (head,) = [line for line in printed(made_up(problem=problem)) if line.startswith("type")]
    cut = [name if letters <= 20 else f"{name[:19]}…" for name in arms[:2]]
    assert head.split() == ["type", "share", *cut, "c"]


def test_blocks_are_as_wide_as_80_characters_allow() -> None:
    """Type and share take 6 + 2 + 11, two names of 20 letters 44 more, and 17 are left."""
    means = made_up().problem.means
    for last, widths in ((15, [80]), (16, [63, 37])):
        arms = ["a" * 20, "b" * 20, "c" * last]
        lines = printed(made_up(problem=fpb.Problem.bernoulli(means, arms=arms)))
        assert [len(line) for line in lines if line.startswith("type")] == widths


def test_the_figure_of_pairs_in_contexts() -> None:
    fit = made_up(contexts=True)
    shares, axes = types_figure(fit).axes[:2]
    assert axes.get_xlabel() == "context: arm"
    assert types_figure(made_up()).axes[1].get_xlabel() == "arm"
    # Best at home are the third and the second arm, away, in turned order, the first and second.
    patches: Any = axes.patches
    corners = [(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in patches]
    best = [(2, 0), (3, 0), (1, 1), (4, 1)]
    np.testing.assert_allclose(corners, [(x - 0.46, y - 0.46, 0.92, 0.92) for x, y in best])
    assert not any(patch.get_fill() for patch in patches)
    # White on dark, black on light: the middle of 0.25 and 1 is 0.625.
    colours = [text.get_color() for text in axes.texts]
    means = fit.problem.rewards.means.ravel()
    assert colours == ["white" if mean < 0.625 else "black" for mean in means]
    assert "± standard error" in axes.get_title()
    (bars,) = shares.collections
    segments: Any = bars.get_segments()  # type: ignore[attr-defined]
    ends = [segment[:, 0].tolist() for segment in segments]
    np.testing.assert_allclose(
        ends, [[s - 1.96 * e, s + 1.96 * e] for s, e in ((0.75, 0.03125), (0.25, 0.0125))]
    )
    for label in (*shares.get_yticklabels(), *axes.get_xticklabels()):
        assert not label.get_parse_math()
    assert not any(shares.spines[side].get_visible() for side in ("top", "right"))


def test_intervals_of_many_columns_are_as_high_as_their_share_of_all_means() -> None:
    """At most 0.9 of a cell; where all means are the same, any error is more than that."""
    errors = {"theta1": np.full(30, 0.05), "theta2": np.full(30, 0.4)}
    axes = types_figure(made_up(arms=30, errors=errors)).axes[1]
    assert "bars: 95 % intervals" in axes.get_title()
    halves = []
    for number, line in enumerate(axes.lines):
        row, column = divmod(number, 30)
        xs, ys = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert xs.tolist() == [column, column]
        assert ys.mean() == pytest.approx(row)
        halves.append((ys[1] - ys[0]) / 2)
    np.testing.assert_allclose(halves, np.repeat([1.96 * 0.05 / 0.75, 0.45], 30))
    same = fpb.Problem.bernoulli(np.full((2, 30), 0.5))
    tiny = {name: np.full(30, 1e-3) for name in ("theta1", "theta2")}
    axes = types_figure(made_up(problem=same, errors=tiny)).axes[1]
    assert {round(float(np.ptp(np.asarray(line.get_ydata()))), 9) for line in axes.lines} == {0.9}


def test_numbers_are_written_in_up_to_24_columns() -> None:
    for arms, written in ((24, True), (27, False)):
        axes = types_figure(
            made_up(arms=arms, errors={name: np.full(arms, 0.05) for name in ("theta1", "theta2")})
        ).axes[1]
        assert bool(axes.texts) == written
        assert len(axes.lines) == (0 if written else 2 * arms)


def test_names_below_columns_are_vertical_where_there_is_no_room() -> None:
    """Six letters fit into an inch; three columns are three inches wide."""
    means = made_up().problem.means
    for letters, angle in ((6, 0.0), (7, 90.0)):
        named = fpb.Problem.bernoulli(means, arms=[letter * letters for letter in "abc"])
        axes = types_figure(made_up(problem=named)).axes[1]
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {angle}
    long = fpb.Problem.bernoulli(means, arms=["a" * 26, "b" * 27, "c"])
    labels = types_figure(made_up(problem=long)).axes[1].get_xticklabels()
    assert [label.get_text() for label in labels] == ["a" * 26, "b" * 25 + "…", "c"]


def test_the_choice_is_marked_and_up_is_better_for_both() -> None:
    axes, other = choice_figure(made_up()).axes
    assert axes.get_title() == "shop: 2 types chosen"
    assert not axes.title.get_parse_math()
    bic: Any = other.lines[0].get_ydata()
    assert bic.tolist() == [1.5, 1.0, 1.25]
    assert other.yaxis.get_inverted()
    mark: Any = axes.lines[1].get_xdata()
    assert list(mark) == [2, 2]


def test_a_page_has_a_figure_of_the_choice_if_there_was_one(tmp_path: Path) -> None:
    for count in (1, 2):
        numbers = dict.fromkeys(range(1, count + 1), -0.5)
        folder = tmp_path / str(count)
        page = write_report(made_up(held_out=numbers, bic=numbers), folder)
        assert page.read_text().count("<img") == count
        names = {"fit.json", "models.toml", "report.html", "types.png", "types.svg"}
        names |= {"choice.png", "choice.svg"} if count == 2 else set()
        assert {path.name for path in folder.iterdir()} == names
        text = (folder / "fit.json").read_text()
        assert json.loads(text) == made_up(held_out=numbers, bic=numbers).as_dict()
        assert text.startswith('{\n "types": 2,\n')


def test_errors_have_two_digits() -> None:
    assert with_error(54.2, 12.3) == ("54", "12")
    assert with_error(4.5531, 0.0996) == ("4.55", "0.10")
    assert with_error(0.2, 0.00123) == ("0.2000", "0.0012")
    assert with_error(54321.0, 1230.0) == ("54321", "1230")
    assert with_error(1.5, 0.0) == ("1.5", "0")
    assert with_error(1.23456789, math.nan) == ("1.23457", "0")
    assert with_error(2.5, 1.04) == ("2.5", "1.0")
    assert with_error(2.5, 9.96) == ("2", "10")
    assert with_error(0.5, 1.26e-7) == ("0.50000000", "0.00000013")
    assert with_error(1 / 3, 1.26e-8) == ("0.333333", "1.3e-08")


def test_the_table_shows_every_best_arm() -> None:
    """Of 30 arms the best of each type is one of the last."""
    means = np.full((2, 30), 0.2)
    means[[0, 1], [28, 29]] = 0.9
    log = drawn(2, units=300, means=means, shown=30, repeats=1).log
    wide = fpb.fit(log, unit="user", arm="arm", reward="reward", types=2)
    console = Console(width=80, record=True, file=StringIO())
    console.print(fit_table(wide))
    lines = console.export_text().splitlines()
    heads = [line.split() for line in lines if line.startswith("type ")]
    shown = [arm for head in heads for arm in head[2:]]
    assert shown == [*map(str, range(10)), "28", "29"]
    assert "… and 18 more columns, best for no type: see --save, --report or --json" in lines
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if "look the same on an arm if" in line]
