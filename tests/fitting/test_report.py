"""What a fit found, drawn and on a page."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from logs import drawn
from rich.console import Console

import fpbandits as fpb
from fpbandits.fitting.report import (
    choice_figure,
    fit_table,
    types_figure,
    with_error,
    write_report,
)


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


def test_errors_have_two_digits() -> None:
    assert with_error(54.2, 12.3) == ("54", "12")
    assert with_error(4.5531, 0.0996) == ("4.55", "0.10")
    assert with_error(0.2, 0.00123) == ("0.2000", "0.0012")
    assert with_error(54321.0, 1230.0) == ("54321", "1230")
    assert with_error(1.5, 0.0) == ("1.5", "0")


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
