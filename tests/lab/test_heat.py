from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from PIL import Image

from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.heat import confusion_picture, means_picture
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem
from fpbandits.theory.figure import MUST, NEED_NOT, NOT_ALIKE, confusion


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


def without_image(svg: str) -> str:
    return re.sub(r'base64,[^"]*', "base64,…", svg)


def test_a_small_picture_is_laid_out_by_its_cells_and_names() -> None:
    """A cell is 26 by 26, a letter 7.2 wide; 8 are between a name and the cells, 2 beyond it."""
    problem = Problem.bernoulli(
        [[0.2, 0.8, 0.8], [0.6, 0.3, 0.1]], arms=["a", "b&", "c"], models=["model", "n" * 23]
    )
    image = '<image href="data:image/png;base64,…" width="78" height="52" '
    assert without_image(means_picture(problem)) == (
        '<svg class="heat" viewBox="-168 -24 246 76" width="246" role="img">'
        "<title>mean reward from 0.1 (dark) to 0.8 (light). model: best b&amp;, c; "
        f"{'n' * 23}: best a</title>"
        f'{image}preserveAspectRatio="none" style="image-rendering:pixelated"/>'
        '<circle cx="39.0" cy="13.0" r="5" class="best"/>'
        '<circle cx="65.0" cy="13.0" r="5" class="best"/>'
        '<circle cx="13.0" cy="39.0" r="5" class="best"/>'
        '<text x="-8" y="17" text-anchor="end">model</text>'
        f'<text x="-8" y="43" text-anchor="end">{"n" * 21}…</text>'
        '<text transform="translate(17 -8) rotate(-90)">a</text>'
        '<text transform="translate(43 -8) rotate(-90)">b&amp;</text>'
        '<text transform="translate(69 -8) rotate(-90)">c</text></svg>'
    )


def test_colours_run_from_the_lowest_mean_to_the_highest() -> None:
    problem = Problem.gaussian([[-3.0, 1.0, 5.0], [3.0, 0.0, -1.0]], deviation=1)
    shares = [[0, 0.5, 1], [0.75, 0.375, 0.25]]
    expected = np.array(matplotlib.colormaps["cividis"](shares, bytes=True))
    assert pixels(means_picture(problem)).tolist() == expected.tolist()
    assert "from -3 (dark) to 5 (light)" in means_picture(problem)
    flat = np.array(matplotlib.colormaps["cividis"]([[0.5, 0.5]], bytes=True))
    assert pixels(means_picture(Problem.bernoulli([[0.5, 0.5]]))).tolist() == flat.tolist()


def test_who_looks_alike_has_a_colour() -> None:
    """Under a, arm 2 is best; b pays as much there and has a better arm, c another one as good."""
    means = [[0.2, 0.5, 0.1], [0.9, 0.5, 0.1], [0.5, 0.5, 0.3], [0.3, 0.4, 0.1]]
    problem = Problem.bernoulli(means, models=["a", "b", "c", "d<"])
    grey, orange, sky = [128, 128, 128, 56], [0xD5, 0x5E, 0, 255], [0x56, 0xB4, 0xE9, 255]
    picture = confusion_picture(problem, confusion(problem))
    assert pixels(picture).tolist() == [[grey, orange, sky, grey], *[[grey] * 4] * 3]
    assert "<title>a looks like b</title>" in picture
    labels = re.findall(r"<text ([^>]*)>([^<]*)</text>", picture)
    names = ["a", "b", "c", "d&lt;"]
    assert labels == [
        *(
            (f'x="-8" y="{17 + 26 * row}" text-anchor="end"', name)
            for row, name in enumerate(names)
        ),
        *(
            (f'transform="translate({17 + 26 * row} -8) rotate(-90)"', name)
            for row, name in enumerate(names)
        ),
    ]
    alone = Problem.bernoulli([[0.5, 0.4]])
    assert "<title>no two must be told apart at a cost</title>" in confusion_picture(
        alone, confusion(alone)
    )


def test_in_contexts_models_look_alike_if_no_best_arm_tells_them_apart() -> None:
    """In each of two contexts, arm 1 is best under a; only b pays the same for both."""
    a, b, c = [[0.6, 0.2], [0.5, 0.3]], [[0.6, 0.9], [0.5, 0.1]], [[0.6, 0.9], [0.4, 0.1]]
    problem = Problem.bernoulli([a, b, c], contexts=["x", "y"], models=["a", "b", "c"])
    assert confusion(problem).tolist() == [
        [NOT_ALIKE, MUST, NOT_ALIKE],
        [NOT_ALIKE] * 3,
        [NOT_ALIKE] * 3,
    ]
    # Rows of pairs, context by context, and a mark at the best arm of each context.
    picture = means_picture(problem)
    assert re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', picture)[:3] == [
        ("13.0", "13.0"),
        ("65.0", "13.0"),
        ("39.0", "39.0"),
    ]
    assert picture.count('text-anchor="end"') == 3
    assert picture.count("rotate(-90)") == 4


@pytest.mark.parametrize(("models", "size"), [(40, 26), (41, 26 * 40 / 41), (521, 2)])
def test_many_rows_are_smaller_and_have_no_names(models: int, size: float) -> None:
    means = np.full((models, 2), [0.3, 0.6])
    problem = Problem.bernoulli(
        means, arms=["first", "b"], models=[f"m{n:03}" for n in range(models)]
    )
    picture = means_picture(problem)
    assert f'width="{size * 2}" height="{size * models}" ' in picture
    named = models == 40
    left, top = 7.2 * 4 + 10 if named else 0, 7.2 * 5 + 10
    assert (
        f'viewBox="{-left:.0f} {-top:.0f} {left + size * 2:.0f} {top + size * models:.0f}"'
        in picture
    )
    assert picture.count('text-anchor="end"') == (40 if named else 0)
    assert picture.count("<circle") == (40 if named else 0)
    for column, name in enumerate(("first", "b")):
        middle = f"{size * (column + 0.5) + 4:.0f}"
        assert f'<text transform="translate({middle} -8) rotate(-90)">{name}</text>' in picture
    assert picture.count(": best b") == 40  # in the title
    colours = confusion_picture(problem, confusion(problem))
    assert colours.count("<text") == (80 if named else 0)


def test_forty_pairs_that_look_alike_are_named() -> None:
    """Each of 45 models pays the same for the best arm under the first, and has a better one."""
    means = [[0.5, 0.1], *([0.5, 0.6 + 0.005 * n] for n in range(45))]
    problem = Problem.bernoulli(means)
    picture = confusion_picture(problem, confusion(problem))
    assert picture.count("theta1 looks like ") == 40
