"""The lab in a real browser, used as a person would.

One server and one browser serve all tests here; each test has a tab, or two, of its own. After each
the browser's console must be free of errors, nothing may have been asked of anyone but the lab, and
the lab must not have written a word.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from command import COMMAND
from playwright.sync_api import BrowserContext, Locator, Page, expect, sync_playwright
from stores import one, put, served

import fpbandits as fpb
from fpbandits.forecast.report import answers
from fpbandits.lab.examples import EXAMPLES
from fpbandits.problem.problem import Problem
from fpbandits.service.messages import Ask, Request, Tell
from fpbandits.service.report import report
from fpbandits.service.store import open_store

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium here: on Debian, apt-get install chromium"
)

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE = 180_000
"""Milliseconds: a busy machine compiles for long, and a test must not fail for that."""

NewTab = Callable[..., Page]

expect.set_options(timeout=PATIENCE)


def the_store(said: Path) -> str:
    return f"sqlite:///{said.with_name('store.db')}"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A lab on an empty store: where it is, and the file that takes what it says."""
    said = tmp_path_factory.mktemp("lab") / "stderr"
    open_store(the_store(said), make=True).close()
    with said.open("w") as errors:
        process = subprocess.Popen(
            [*COMMAND, "lab", "--no-browser", "--store", the_store(said)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], said
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    """A browser as a person has one: its tabs share what it has loaded once."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium.new_context()
        chromium.close()


@pytest.fixture
def new_tab(lab: tuple[str, Path], browser: BrowserContext) -> Iterator[NewTab]:
    address, said = lab
    wrong: list[str] = []
    tabs: list[Page] = []

    def open_tab(width: int = 1300, scheme: Literal["light", "dark"] = "light") -> Page:
        tab = browser.new_page()
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda each: wrong.append(each.text) if each.type == "error" else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("request", lambda each: None if own(each.url) else wrong.append(each.url))
        tab.goto(address)
        expect(tab.locator(".verdict table")).to_be_visible()
        tabs.append(tab)
        return tab

    def own(url: str) -> bool:
        site = address.partition("?")[0]
        return url.startswith((site, site.replace("http", "ws"), "data:", "blob:"))

    yield open_tab
    for tab in tabs:
        tab.close()
    assert wrong == []
    assert said.read_text() == ""


def cell(tab: Page, row: int, column: str) -> Locator:
    if row < 0:
        return tab.locator(f'.ag-floating-top [col-id="{column}"]')
    return tab.locator(f'.ag-row[row-index="{row}"]:not(.ag-row-pinned) [col-id="{column}"]')


def type_into(tab: Page, row: int, column: str, text: str, *, enter: bool = True) -> None:
    """Type into a cell as people do, and wait until it shows what was typed.

    Without ``enter`` the cell is still being edited then.

    A table that is drawn anew while someone types forgets it: within a moment of its being shown
    nobody does, but this may. So what is not there after a while is typed again, once.
    """
    place = cell(tab, row, column)
    for patience in (20_000, 180_000):
        place.click()
        tab.keyboard.press("F2")
        tab.keyboard.press("Control+a")
        tab.keyboard.press("Delete")
        tab.keyboard.type(text)
        try:
            if enter:
                tab.keyboard.press("Enter")
                expect(place).to_have_text(text, timeout=patience)
            else:
                expect(place.locator("input")).to_have_value(text, timeout=patience)
            return
        except AssertionError:
            if patience > 20_000:
                raise


def choose(tab: Page, example: str) -> None:
    tab.get_by_label("example").click()
    tab.get_by_role("option", name=example, exact=True).click()
    expect(notice(tab, "Models")).to_contain_text(f"'{example}'")


def notice(tab: Page, part: str) -> Locator:
    return tab.locator(f'section[aria-label="{part}"] .notice')


def open_file(tab: Page, name: str, content: bytes) -> None:
    with tab.expect_file_chooser() as chooser:
        tab.get_by_role("button", name="Open a file").click()
    chooser.value.set_files({"name": name, "mimeType": "text/plain", "buffer": content})


def saved(tab: Page) -> bytes:
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save").click()
    return download.value.path().read_bytes()


def paste(tab: Page, text: str) -> None:
    tab.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const how = {clipboardData: data, bubbles: true, cancelable: true};
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", how));
        }""",
        text,
    )


def verdicts(problem: Problem) -> list[str]:
    return [case.verdict for case in fpb.analyze(problem).cases]


def test_an_edit_changes_the_words_as_analyze_does(new_tab: NewTab) -> None:
    tab = new_tab()
    before = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])
    after = Problem.bernoulli([[0.9, 0.5], [0.2, 0.6]])
    assert verdicts(before) != verdicts(after)
    for words in verdicts(before):
        expect(tab.locator(".glance")).to_contain_text(words)
    type_into(tab, 1, "a1", "0.6")
    for words in verdicts(after):
        expect(tab.locator(".glance")).to_contain_text(words)
    tab.get_by_label("if the truth is").click()
    tab.get_by_role("option", name="theta2").click()
    expect(tab.locator(".verdict")).to_contain_text(f"theta2: {verdicts(after)[1]}")
    for fact in fpb.analyze(after, "theta2").cases[0].facts.values():
        expect(tab.locator(".verdict")).to_contain_text(fact)
    tab.get_by_role("button", name="Undo").click()
    for words in verdicts(before):
        expect(tab.locator(".glance")).to_contain_text(words)


BAD_EDITS = [
    (0, "a0", "1.5", "mean 1.5 is outside the range"),
    (0, "a0", "-1", "mean -1 is outside the range"),
    (1, "a1", "half", "expected a number, not the text 'half'"),
    (1, "a1", "", "expected a number, not the text ''"),
    (1, "a0", "nan", "nan is not a finite number"),
    (1, "a0", "1e999", "inf is not a finite number"),
    (0, "name", "", "model 1: its name is empty"),
    (1, "name", "theta1", "duplicate model name 'theta1'"),
    (-1, "a1", "", "arm 2: its name is empty"),
    (-1, "a1", "arm1", "duplicate arm name 'arm1'"),
    (0, "prior", "-2", "it must be 0 or more"),
    (1, "prior", "often", "expected a number, not the text 'often'"),
]

BAD_FILES = [
    ("broken.toml", b"arms = [", "broken.toml: not valid TOML"),
    ("empty.csv", b"", "empty.csv: the file is empty"),
    ("high.csv", b"model,a\nx,3", "high.csv: row 2: model 'x', arm 'a': mean 3"),
    ("short.csv", b"model,a,b\nx,0.3", "short.csv: row 2"),
    ("latin.csv", "model,größe\nx,1".encode("latin-1"), "byte 0xf6 is not UTF-8"),
    ("field.toml", b"arm = ['a']\n[models]\nx = [0.5]", "did you mean 'arms'"),
    ("family.toml", b"reward = 'bernouli'\n[models]\nx = [0.5]", "did you mean 'bernoulli'"),
    ("twice.toml", b"[models]\nx = [0.5]\nx = [0.4]", "for the second time"),
]


def test_twenty_mistakes_are_told_in_place_and_nothing_is_lost(new_tab: NewTab) -> None:
    assert len(BAD_EDITS) + len(BAD_FILES) == 20
    tab = new_tab()
    type_into(tab, 0, "a0", "0.8")  # what must not be lost
    file, place = saved(tab), tab.locator(".grid").bounding_box()
    for row, column, text, words in BAD_EDITS:
        type_into(tab, row, column, text)
        expect(notice(tab, "Models")).to_contain_text(words)
        wrong = cell(tab, row, column)
        expect(wrong).to_have_class(re.compile(r"\bbad\b"))
        expect(tab.locator(".bad")).to_have_count(1)
        expect(notice(tab, "What can be learned for free")).to_contain_text(
            "last table without mistakes"
        )
        assert tab.locator(".grid").bounding_box() == place, "the page jumps"
        tab.get_by_role("button", name="Save").click()
        expect(notice(tab, "Models")).to_contain_text("not saved")
        tab.get_by_role("button", name="Undo").click()
        expect(tab.locator(".bad")).to_have_count(0)
        expect(notice(tab, "Models")).to_contain_text("2 models, 2 arms")
    for name, content, words in BAD_FILES:
        open_file(tab, name, content)
        expect(notice(tab, "Models")).to_contain_text(words)
        expect(tab.locator("body")).not_to_contain_text("Traceback")
    assert saved(tab) == file


def test_what_is_wrong_with_a_cell_is_told_to_who_points_at_it(new_tab: NewTab) -> None:
    tab = new_tab()
    type_into(tab, 0, "a0", "7")
    expect(cell(tab, 0, "a0")).to_have_class(re.compile(r"\bbad\b"))  # told, and drawn again
    tab.mouse.move(0, 0)
    cell(tab, 0, "a0").hover()
    expect(tab.locator(".ag-tooltip")).to_contain_text("mean 7 is outside the range [0, 1]")


def test_examples_contexts_fields_and_files(new_tab: NewTab, tmp_path: Path) -> None:
    tab = new_tab()
    for name in ("pricing", "cold start"):
        choose(tab, name)
        expect(tab.locator(".sentence")).to_have_text(EXAMPLES[name].sentence)
    expect(cell(tab, 0, "a0")).to_have_text("0.3")
    for row in range(4):  # whoever leaves a cell by way of a tab has edited it all the same
        here, there = [("evening", "morning"), ("morning", "evening")][row % 2]
        tab.get_by_role("tab", name=here).click()
        expect(cell(tab, 0, "a1")).to_have_text("0.2" if here == "evening" else "0.12")
        type_into(tab, row, "a0", f"0.9{row}", enter=False)
        tab.get_by_role("tab", name=there).click()
        expect(cell(tab, 0, "a1")).to_have_text("0.2" if there == "evening" else "0.12")
    tab.get_by_label("share of decisions").fill("0.5, 0.6")
    tab.keyboard.press("Enter")
    expect(tab.get_by_text("add up to 1.1, not 1").first).to_be_visible()
    tab.get_by_label("share of decisions").fill("0.5, 0.5")
    tab.keyboard.press("Enter")
    expect(notice(tab, "Models")).to_contain_text("2 contexts")
    (tmp_path / "cold.toml").write_bytes(saved(tab))
    problem = fpb.load_problem(tmp_path / "cold.toml")
    morning, evening = problem.means[:, :, 0].T.tolist()
    assert (morning, evening) == ([0.3, 0.91, 0.05, 0.93], [0.9, 0.08, 0.92, 0.08])
    assert problem.shares == (0.5, 0.5)
    choose(tab, "trial")
    open_file(tab, "cold.toml", (tmp_path / "cold.toml").read_bytes())
    expect(notice(tab, "Models")).to_contain_text("'cold start'")
    assert saved(tab) == (tmp_path / "cold.toml").read_bytes()


def test_a_spreadsheet_is_pasted_and_models_and_arms_come_and_go(new_tab: NewTab) -> None:
    tab = new_tab()
    cell(tab, -1, "name").click()
    paste(tab, "price\tlow\tmiddle\thigh\nrich\t0.9\t0.8\t0.7\npoor\t0.5\t0.2\t0.1\n")
    expect(cell(tab, 1, "a2")).to_have_text("0.1")
    expect(cell(tab, -1, "a2")).to_have_text("high")
    expect(notice(tab, "Models")).to_contain_text("2 models, 3 arms")
    expect(tab.locator(".verdict")).to_contain_text("rich: bounded")
    tab.get_by_role("button", name="Add a model").click()
    expect(cell(tab, 2, "a0")).to_have_text("0.5")
    cell(tab, 0, "a1").click()
    tab.get_by_role("button", name="Remove this arm").click()
    expect(cell(tab, 0, "a1")).to_have_text("0.7")
    tab.get_by_role("button", name="Remove this model").click()
    expect(cell(tab, 0, "name")).to_have_text("poor")
    for _ in range(4):
        tab.get_by_role("button", name="Undo").click()
    expect(cell(tab, 0, "name")).to_have_text("theta1")


def test_a_simulation_to_1e12_is_the_librarys(new_tab: NewTab, tmp_path: Path) -> None:
    tab = new_tab()
    tab.get_by_role("tab", name="Play").click()
    expect(tab.get_by_text("horizon T = 10⁶ plays")).to_be_visible()
    tab.locator(".slide .q-slider__track-container").focus()
    for _ in range(6):
        tab.keyboard.press("ArrowRight")
    expect(tab.get_by_text("horizon T = 10¹² plays")).to_be_visible()
    tab.get_by_label("runs per policy").fill("40")
    tab.get_by_label("seed", exact=True).fill("7")
    tab.get_by_role("button", name="Play", exact=True).click()
    expect(notice(tab, "Play")).to_have_text("played 40 runs of each policy")
    expect(tab.get_by_role("img", name="mean regret over time")).to_be_visible()
    result = fpb.simulate("paper:two", ["frugal", "ucb1"], horizon=10**12, runs=40, seed=7)
    for kind in ("csv", "svg", "png"):
        with tab.expect_download() as download:
            tab.get_by_role("button", name=f"Download {kind.upper()}").click()
        path = tmp_path / download.value.suggested_filename
        if kind == "csv":
            result.to_csv(path)
        else:
            result.plot(path, band="ci")
        assert download.value.path().read_bytes() == path.read_bytes()
    expect(tab.locator(".lines")).to_contain_text("horizon=10**12, runs=40, seed=7")
    tab.get_by_text("draw bounds").click()
    expect(tab.locator(".lines")).to_contain_text("bounds=True")


def test_what_cannot_be_played_is_told_and_what_plays_can_be_stopped(new_tab: NewTab) -> None:
    tab = new_tab()
    choose(tab, "paper:grid")
    tab.get_by_role("tab", name="Play").click()
    play = tab.get_by_role("button", name="Play", exact=True)
    runs = tab.get_by_label("runs per policy")
    for text, words in (("0", "must be at least 1"), ("many", "must be a whole number")):
        runs.fill(text)
        play.click()
        expect(notice(tab, "Play")).to_contain_text(words)
    runs.fill("1e6")
    policies = tab.get_by_label("policies")
    policies.fill("ucb2")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    expect(notice(tab, "Play")).to_contain_text("unknown policy 'ucb2'")
    tab.locator(".q-chip", has_text="ucb2").get_by_role("button").click()
    # What was typed and left without Enter is not dropped in silence.
    policies.fill("frugle")
    tab.get_by_label("seed").click()
    expect(notice(tab, "Play")).to_contain_text("did you mean 'frugal'?")
    play.click()
    expect(notice(tab, "Play")).to_contain_text(re.compile(r"playing … \d+ of 1,000,000 runs"))
    tab.get_by_role("button", name="Stop").click()
    expect(notice(tab, "Play")).to_contain_text("stopped after")
    expect(play).to_be_enabled()
    # What was shown can be taken home, also after something that could not be played.
    runs.fill("0")
    play.click()
    expect(notice(tab, "Play")).to_contain_text("must be at least 1")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download CSV").click()
    assert download.value.path().read_bytes().startswith(b"policy,time,")


def test_a_forecast_is_made_when_it_is_asked_for(new_tab: NewTab) -> None:
    tab = new_tab(400, "dark")
    choose(tab, "pricing")
    here = tab.get_by_role("region", name="What playing will cost")
    ask, plays = here.get_by_role("button", name="Forecast"), here.get_by_label("number of plays")
    for text, words in (("many", "must be a whole number"), ("1e7", "must be at most 1,000,000")):
        plays.fill(text)
        ask.click()
        expect(here.locator(".notice")).to_contain_text(words)
    plays.fill("200")
    ask.click()
    expect(here.get_by_role("img", name="regret over time")).to_be_visible()
    expect(here.locator(".notice")).to_have_text("")
    expected = fpb.forecast(EXAMPLES["pricing"].make(), horizon=200)
    for question, answer in answers(expected).items():
        row = here.locator("tr").filter(has=tab.get_by_text(question, exact=True))
        expect(row).to_contain_text(answer)
    assert tab.evaluate(CUT_OFF) == []
    assert tab.evaluate(FAINT) == []
    assert tab.evaluate(NAMELESS) == []
    # The forecast stays, and says that it is for other models.
    choose(tab, "paper:grid")
    expect(here.locator(".notice")).to_contain_text("The models have changed")
    plays.fill("1e6")
    ask.click()
    here.get_by_role("button", name="Stop").click()
    expect(here.locator(".notice")).to_have_text("stopped")
    expect(ask).to_be_enabled()
    expect(here.locator("table")).to_contain_text("12 EUR")


def test_a_run_is_watched_and_played_along(new_tab: NewTab) -> None:
    tab = new_tab()
    choose(tab, "pricing")
    tab.get_by_role("tab", name="Watch").click()
    tab.get_by_role("button", name="Step", exact=True).click()
    expect(notice(tab, "Watch")).to_contain_text("t = 1 plays")
    suggested = re.search(r"would play (\S+ EUR)", notice(tab, "Watch").inner_text())
    assert suggested
    other = next(arm for arm in ("9 EUR", "12 EUR") if arm != suggested[1])
    tab.get_by_role("button", name=other, exact=True).click()
    expect(tab.get_by_text(f"you; the policy would have played {suggested[1]}")).to_be_visible()
    expect(tab.locator(".roll .yours")).to_have_count(1)
    tab.get_by_role("button", name="100 steps").click()
    expect(notice(tab, "Watch")).to_contain_text("t = 102 plays")
    expect(tab.locator(".next")).to_contain_text("left")
    expect(tab.locator(".bars")).to_contain_text("(the truth)")
    tab.get_by_role("button", name="Go on by itself").click()
    expect(notice(tab, "Watch")).not_to_contain_text("t = 102 plays")
    tab.get_by_role("button", name="Pause").click()
    tab.get_by_label("policy", exact=True).click()
    tab.get_by_role("option", name="ucb1", exact=True).click()
    tab.get_by_role("button", name="Step", exact=True).click()
    expect(tab.locator(".next")).to_contain_text("3 models of 3 left.")


def test_two_tabs_do_not_disturb_each_other(new_tab: NewTab) -> None:
    first, second = new_tab(), new_tab()
    type_into(first, 1, "a1", "0.6")
    choose(second, "trial")
    expect(cell(first, 1, "a1")).to_have_text("0.6")
    expect(notice(first, "Models")).to_contain_text("'paper:two'")
    first.get_by_role("button", name="Undo").click()
    expect(cell(first, 1, "a1")).to_have_text("0.5")
    expect(notice(second, "Models")).to_contain_text("'trial'")


def test_a_thousand_models_of_fifty_arms_stay_usable(new_tab: NewTab, tmp_path: Path) -> None:
    means = np.random.default_rng(0).uniform(0.1, 0.9, (1000, 50)).round(3)
    fpb.save_problem(fpb.Problem.bernoulli(means, name="large"), tmp_path / "large.csv")
    tab = new_tab()
    open_file(tab, "large.csv", (tmp_path / "large.csv").read_bytes())
    expect(notice(tab, "Models")).to_contain_text("1,000 models, 50 arms")
    assert tab.locator(".ag-cell").count() < 1500  # of 51,000: the rest is not in the page
    type_into(tab, 2, "a1", "7")
    expect(cell(tab, 2, "a1")).to_have_class(re.compile(r"\bbad\b"))
    type_into(tab, 2, "a1", "0.7")
    expect(tab.locator(".bad")).to_have_count(0)
    expect(tab.locator(".verdict")).to_contain_text("theta1: ")
    tab.locator(".ag-body-viewport").hover()
    tab.mouse.wheel(0, 34 * 600)
    expect(cell(tab, 605, "name")).to_have_text("theta606")


def test_it_can_be_used_by_keyboard_alone(new_tab: NewTab) -> None:
    tab = new_tab()
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.closest('.ag-root') !== null"):
            break
    else:
        pytest.fail("Tab does not lead into the table")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    place = tab.evaluate("document.activeElement.getAttribute('col-id')")
    row = int(
        tab.evaluate("document.activeElement.closest('[row-index]').getAttribute('row-index')")
    )
    tab.keyboard.type("0.33")
    tab.keyboard.press("Enter")
    expect(cell(tab, row, place)).to_have_text("0.33")
    tab.get_by_role("tab", name="Models", exact=True).focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("button", name="Play", exact=True)).to_be_visible()


FAINT = """() => {
    const shade = text => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const part = x => x <= .04045 * 255 ? x / 255 / 12.92 : ((x / 255 + .055) / 1.055) ** 2.4;
        return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
    };
    const back = element => {
        for (let each = element; each; each = each.parentElement) {
            const colour = shade(getComputedStyle(each).backgroundColor);
            if (colour.length < 4 || colour[3] > .9) return colour;
        }
        return document.body.classList.contains("body--dark") ? [18, 18, 18] : [255, 255, 255];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const style = getComputedStyle(element);
        const shown = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
        if (!walker.currentNode.textContent.trim() || !shown || element.closest("svg, i")) continue;
        if (element.closest("[disabled], .unseen, .disabled, .ag-header, .ag-overlay")) continue;
        const both = [light(shade(style.color)), light(back(element))].sort((a, b) => b - a);
        const ratio = (both[0] + .05) / (both[1] + .05);
        if (ratio < 4.5) found.push(`${walker.currentNode.textContent.trim()}: ${ratio}`);
    }
    return found;
}"""

NAMELESS = """() => [...document.querySelectorAll("input, button, [role=slider], [role=img], img")]
    .filter(each => each.checkVisibility() && !each.closest(".unseen, .ag-root-wrapper"))
    .filter(each => !(each.getAttribute("aria-label") || each.textContent.trim() || each.alt
        || each.closest("label")?.textContent.trim() || each.querySelector("title")))
    .map(each => each.outerHTML.slice(0, 200))"""


CUT_OFF = """() => [...document.querySelectorAll("section .words, section figure > div")]
    .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)
    .map(each => `${each.textContent.trim().slice(0, 60)}: ${each.scrollWidth}`)"""


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_it_fits_can_be_read_and_everything_has_a_name(
    width: int, scheme: Literal["light", "dark"], new_tab: NewTab
) -> None:
    tab = new_tab(width, scheme)
    choose(tab, "pricing")
    prior = tab.locator(".grid .ag-cell.prior").first.bounding_box()
    whole = tab.locator(".grid").bounding_box()
    assert prior is not None
    assert whole is not None
    assert prior["x"] + prior["width"] <= whole["x"] + whole["width"], "three arms and the prior"
    for part in ("Models", "Play", "Watch"):
        tab.get_by_role("tab", name=part, exact=True).click()
        expect(tab.get_by_role("heading", name=part, exact=True)).to_be_visible()
        if part == "Watch":
            tab.get_by_role("button", name="10 steps").click()
            expect(tab.locator(".roll rect")).to_have_count(10)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(FAINT) == []
        assert tab.evaluate(NAMELESS) == []


def test_loading_the_page_again_loses_nothing(new_tab: NewTab) -> None:
    tab = new_tab()
    other = new_tab()
    type_into(tab, 1, "a1", "0.6")
    type_into(tab, 0, "a0", "zero")
    expect(cell(tab, 0, "a0")).to_have_class(re.compile(r"\bbad\b"))  # so the server has it
    tab.reload()
    expect(cell(tab, 1, "a1")).to_have_text("0.6")
    expect(cell(tab, 0, "a0")).to_have_class(re.compile(r"\bbad\b"))
    expect(notice(tab, "Models")).to_contain_text("not the text 'zero'")
    expect(tab.get_by_role("button", name="Undo")).to_be_disabled()
    # The analysis is that of the last table without mistakes.
    expect(tab.locator(".glance")).to_contain_text("11,188 plays of arm2")
    type_into(tab, 0, "a0", "0.9")
    expect(tab.locator(".glance")).to_contain_text("11,188 plays of arm2")
    other.reload()
    expect(cell(other, 1, "a1")).to_have_text("0.5")


def test_names_are_text_wherever_they_stand(new_tab: NewTab) -> None:
    tab = new_tab()
    wicked = "<img src=x onerror=console.error(1)>"
    type_into(tab, 0, "name", wicked)
    type_into(tab, -1, "a0", wicked)
    expect(tab.locator(".verdict")).to_contain_text(f"{wicked}: bounded")
    tab.get_by_role("tab", name="Watch").click()
    tab.get_by_role("button", name="10 steps").click()
    expect(tab.locator(".roll rect")).to_have_count(10)
    expect(tab.locator("section[aria-label=Watch]")).to_contain_text(wicked)
    tab.get_by_role("tab", name="Play").click()
    tab.get_by_label("runs per policy").fill("2")
    tab.get_by_role("button", name="Play", exact=True).click()
    expect(notice(tab, "Play")).to_have_text("played 2 runs of each policy")
    expect(tab.locator("img[src=x]")).to_have_count(0)
    tab.get_by_role("tab", name="Models").click()
    type_into(tab, 1, "name", "1234567890")  # no number to be rounded
    type_into(tab, -1, "a1", "000012345")


def test_a_service_is_followed_as_it_goes_on(new_tab: NewTab, lab: tuple[str, Path]) -> None:
    tab = new_tab(400)
    tab.get_by_role("tab", name="Live").click()
    expect(notice(tab, "Live")).to_have_text("There are no experiments in this store yet.")
    store = open_store(the_store(lab[1]))
    experiment = put(store, "prices", policy="frugal")
    expect(notice(tab, "Live")).to_contain_text("prices: frugal on 2 models; up to date")
    for number in range(40):  # arm a always pays, as under x alone
        arm = one(store, experiment, Ask("user-1"))["arm"]
        one(store, experiment, Tell(("user-1", number), float(arm == "a")))
    one(store, experiment, Ask("user-2"))
    live = tab.locator("section[aria-label=Live]")
    for name, count in (
        ("decisions", 41),
        ("rewards in time", 40),
        ("decisions without a reward yet", 1),
    ):
        row = live.locator("tr").filter(has=tab.get_by_text(name, exact=True))
        expect(row).to_contain_text(str(count))
    expect(live.locator("tr", has_text="units with one plausible model")).to_contain_text(
        "of 2 units"
    )
    expect(live.locator("tr").filter(has=tab.get_by_text("x", exact=True))).to_contain_text("1")
    expect(live.locator("rect").first).to_be_attached()
    going = live.locator("tr").filter(has=tab.get_by_text("mean reward", exact=True))
    expect(going).to_contain_text("of 40 rewards that count")
    expect(live.locator("tr").filter(has=tab.get_by_text("a", exact=True))).to_contain_text("%")
    asked = tab.get_by_label("look up a unit")
    asked.fill("user-9")
    expect(live).to_contain_text("There is no unit 'user-9'")
    asked.fill("user-1")
    expect(live.get_by_role("heading", name="user-1")).to_be_visible()
    expect(live).to_contain_text("Posterior, the likeliest first: x")
    expect(live.locator("circle").first).to_be_attached()
    assert tab.evaluate(CUT_OFF) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.evaluate(FAINT) == []
    store.close()


LONG_NAMES = """
arms = ["premium subscription, 12 months", "the_identifier_of_something_in_a_warehouse"]
contexts = ["weekday morning", "weekend evening"]
[models.x]
"weekday morning" = [0.9, 0.5]
"weekend evening" = [0.3, 0.4]
[models.a_customer_who_is_price_sensitive]
"weekday morning" = [0.2, 0.5]
"weekend evening" = [0.8, 0.1]
"""


def test_a_policy_is_compared_with_its_control_group(
    new_tab: NewTab, lab: tuple[str, Path]
) -> None:
    store = open_store(the_store(lab[1]))
    control = "premium subscription, 12 months"
    experiment = put(store, "compared", LONG_NAMES, control={"arm": control, "share": 0.4}, seed=1)
    units = [f"user-{number}" for number in range(30)]
    asks: list[Request] = [Ask(unit, None, "weekday morning") for unit in units]
    for number in range(5):  # the control group's arm never pays, the other always
        arms = [answer["arm"] for answer in served(store, experiment, asks)]
        rewards = [float(arm != control) for arm in arms]
        served(
            store,
            experiment,
            [Tell((unit, number), reward) for unit, reward in zip(units, rewards, strict=True)],
        )
    tab = new_tab(400)
    tab.get_by_role("tab", name="Live").click()
    tab.get_by_label("experiment").click()
    tab.get_by_role("option", name="compared").click()
    live = tab.locator("section[aria-label=Live]")
    expect(live).to_contain_text(f"Against the control group, which always gets {control}")
    made = report(store, "compared")["control"]
    low, high = made["interval"]
    expect(live).to_contain_text(f"the policy earns {made['difference']:.4g} more")
    expect(live).to_contain_text(f"Interval: {low:.4g} … {high:.4g} (95 % for all looks together)")
    expect(live).to_contain_text("Sample ratio: the control group has")
    expect(live).to_contain_text("Rewards by likeliest model")
    picture = live.get_by_role("img", name="difference from the control group")
    expect(picture.locator("circle")).to_have_count(len(report(store, "compared")["over_time"]))
    tab.get_by_label("look up a unit").fill("user-1")
    expect(live.get_by_role("heading", name="user-1")).to_be_visible()
    assert tab.evaluate(CUT_OFF) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.evaluate(FAINT) == []
    # An experiment without a control group has no such report.
    put(store, "uncontrolled")
    tab.get_by_label("experiment").fill("uncontrolled")
    tab.get_by_role("option", name="uncontrolled").click()
    expect(notice(tab, "Live")).to_contain_text("uncontrolled: ucb1")
    expect(live.get_by_text("Against the control group")).not_to_be_visible()
    store.close()
