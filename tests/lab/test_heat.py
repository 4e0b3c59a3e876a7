from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.heat import (
    MUST,
    NEED_NOT,
    NOT_ALIKE,
    confusion,
    confusion_picture,
    means_picture,
)
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem


def pixels(svg: str) -> np.ndarray:
    found = re.search(r"base64,([^\"]+)", svg)
    assert found
    return np.array(Image.open(io.BytesIO(base64.b64decode(found[1]))))


def naive_confusion(means: list[list[float]]) -> list[list[int]]:
    """The definition of B(θ°), by loops; who must be told apart has a better arm."""
    best = [row.index(max(row)) for row in means]
    return [
        [
            NOT_ALIKE
            if best[truth] == best[other] or means[other][best[truth]] != means[truth][best[truth]]
            else NEED_NOT
            if means[other][best[truth]] == max(means[other])
            else MUST
            for other in range(len(means))
        ]
        for truth in range(len(means))
    ]


@pytest.mark.parametrize("name", ["paper:two", "paper:grid"])
def test_confusion_is_by_definition(name: str) -> None:
    problem = built_in(name)
    assert confusion(problem).tolist() == naive_confusion(problem.means.tolist())


def test_a_picture_has_a_pixel_per_cell_and_light_is_high() -> None:
    problem = EXAMPLES["paper:two"].make()
    found = pixels(means_picture(problem)).astype(int)
    assert found.shape == (2, 2, 4)
    brightness = found[..., :3].sum(axis=2)
    assert (np.argsort(brightness.ravel()) == np.argsort(problem.means.ravel())).all()


@pytest.mark.parametrize("problem", [EXAMPLES["cold start"].make(), built_in("paper:grid")])
def test_pictures_are_svg_with_words(problem: Problem) -> None:
    for svg in (means_picture(problem), confusion_picture(problem, confusion(problem))):
        picture = ElementTree.fromstring(svg)
        assert picture.findtext("title")


def test_names_of_all_kinds_stay_text() -> None:
    problem = Problem.bernoulli([[0.1, 0.2]], arms=["<b>", "a&b"], models=['"x"'])
    picture = ElementTree.fromstring(means_picture(problem))
    assert [text.text for text in picture.iter("text")] == ['"x"', "<b>", "a&b"]


def test_equal_means_are_drawn_too() -> None:
    assert pixels(means_picture(Problem.bernoulli([[0.5, 0.5]]))).shape == (1, 2, 4)
