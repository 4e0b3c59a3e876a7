"""Figure 1: every slot and every bar, of a run that is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fpbandits.paper.experiments import Episodes
from fpbandits.paper.material import Material
from fpbandits.paper.report.episodes import arms_by_episode, slots

ALL = (0, 1, 2, 3)
ARMS = (ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, (0, 2, 3), (0,), (0, 2), (0,), (0,))


def of(made_up: Material, *arms: tuple[int, ...]) -> Material:
    return replace(made_up, episodes=Episodes(3, arms))


def test_slots_stand_side_by_side(made_up: Material) -> None:
    """Three rows of three episodes: the first six, and those around the first that is short."""
    (axes,) = slots(of(made_up, *ARMS)).axes
    bars = [(bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()) for bar in axes.patches]  # type: ignore[attr-defined]  # they are rectangles
    numbers = [text.get_text() for text in axes.texts if text.get_text().isdecimal()]
    expected, names = [], []
    for row, episodes in enumerate(((0, 1, 2), (3, 4, 5), (7, 8, 9))):
        left = 0.0
        for k in episodes:
            for offset, arm in enumerate(ARMS[k]):
                middle = -1.7 * row
                expected.append((left + offset + 0.04, middle - 0.32, 0.92, 0.64))
                names.append(str(arm + 1))
            left += len(ARMS[k]) + 0.7
    np.testing.assert_allclose(bars, expected)
    assert numbers == names
    words = {text.get_text(): text.get_position() for text in axes.texts}
    assert words["initialisation"] == pytest.approx((2, 0.38))
    assert words["episode 1"] == pytest.approx((4.7 + 2, 0.38))
    assert words["episode 8"] == pytest.approx((4.7 + 1.5, -3.4 + 0.38))
    assert words["t = 1"] == pytest.approx((0.04, -0.4))
    assert words["t = 5"] == pytest.approx((4.74, -0.4))
    assert words["t = 33"] == pytest.approx((4.74, -3.4 - 0.4))
    assert words["t = 36"] == pytest.approx((4.7 + 3.7 + 0.04, -3.4 - 0.4))
    headings = [word for word in words if word.startswith("episode")]
    assert headings == [f"episode {k}" for k in (1, 2, 3, 4, 5, 7, 8, 9)]


@pytest.mark.parametrize(("episodes", "last"), [(9, [5, 6, 7]), (7, [5, 6]), (5, [])])
def test_where_no_episode_is_short_the_last_row_is_around_the_sixth(
    episodes: int, last: list[int], made_up: Material
) -> None:
    (axes,) = slots(of(made_up, *[ALL] * episodes)).axes
    headings = [text.get_text() for text in axes.texts if text.get_text().startswith("episode")]
    shown = [*range(1, min(6, episodes)), *last]
    assert headings == [f"episode {k}" for k in shown]


def test_consecutive_episodes_are_one_bar(made_up: Material) -> None:
    """Of an arm that was played in episodes 1 to 8 and 10: from 0.5 to 8.5, and 9.5 to 10.5."""
    (axes,) = arms_by_episode(of(made_up, *ARMS)).axes
    found = []
    for bars in axes.collections:
        for path in bars.get_paths():
            corners = np.asarray(path.vertices, float)
            found.append([*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()])
    expected = [
        [start, -arm - 0.38, end, -arm + 0.38]
        for arm, spans in enumerate(
            ([(0.5, 12.5)], [(0.5, 7.5)], [(0.5, 8.5), (9.5, 10.5)], [(0.5, 8.5)])
        )
        for start, end in spans
    ]
    np.testing.assert_allclose(found, expected)
    assert axes.get_xlim() == (0, 12), "a quarter more than the last episode of several arms"
    assert all(upper > lower for lower, upper in pairwise(sorted(axes.get_ylim())))
    assert not any(line.get_visible() for line in axes.get_xgridlines())
