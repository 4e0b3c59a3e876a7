"""How long the lab lets people wait: start, page, answer to an edit, first curve; needs Chromium.

Every figure is the median of some tries, first to last as the browser sees them. Run it twice: the
first run compiles what the second finds on disk.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections import defaultdict
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from screenshots import FLAGS, PATIENCE, a_lab, choose

import fpbandits as fpb
from fpbandits.files import problem_to_toml

_ANSWERED = "text => document.querySelector('.verdict').innerText.includes(text)"


def type_into(page: Page, row: int, column: str, text: str) -> float:
    """Type into a cell, and return when the last key was pressed."""
    page.locator(f'.ag-center-cols-container [row-index="{row}"] [col-id="{column}"]').click()
    page.keyboard.press("F2")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
    begun = time.perf_counter()
    page.keyboard.press("Enter")
    return begun


def edit(page: Page, problem: fpb.Problem, number: int) -> float:
    """Edit the first mean so that the words change; return the seconds until they have."""
    mean = 0.61 + number / 100
    means = problem.means.copy()
    means[0, 0] = mean
    arms, parameters = problem.arms, problem.parameters
    changed = fpb.Problem.bernoulli(means, arms=arms, parameters=parameters)
    words = fpb.analyze(changed, parameters[0]).cases[0].facts["FP-UCB"]
    begun = type_into(page, 0, "a0", f"{mean:.2f}")
    page.wait_for_function(_ANSWERED, arg=words)
    return time.perf_counter() - begun


def open_file(page: Page, problem: fpb.Problem) -> float:
    """Open a problem; return the seconds until its analysis is there."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    content = problem_to_toml(problem).encode()
    begun = time.perf_counter()
    chooser.value.set_files({"name": "p.toml", "mimeType": "text/plain", "buffer": content})
    facts = fpb.analyze(problem, problem.parameters[0]).cases[0].facts
    page.wait_for_function(_ANSWERED, arg=facts["FP-UCB"])
    return time.perf_counter() - begun


def curve(page: Page) -> float:
    """Play to 10^12; return the seconds until there is a curve."""
    page.get_by_role("tab", name="Play").click()
    page.locator(".slide .q-slider__track-container").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    begun = time.perf_counter()
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".paper img").wait_for()
    return time.perf_counter() - begun


def once(chromium: Any, times: dict[str, list[float]]) -> None:
    """Start a lab, use it, and note how long everything took."""
    permutations = fpb.load_problem("paper:permutations")
    large = fpb.Problem.bernoulli(np.random.default_rng(0).uniform(0.1, 0.9, (1000, 50)).round(3))
    begun = time.perf_counter()
    with a_lab() as address:
        times["start until the address is printed"].append(time.perf_counter() - begun)
        page = chromium.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.locator(".verdict table").wait_for()
        times["start until the page is there and answers"].append(time.perf_counter() - begun)
        choose(page, "example", "paper:permutations")
        page.wait_for_timeout(5000)  # what is loaded beside the page has an end
        for number in range(5):
            seconds = edit(page, permutations, number)
            times["edit at 24 models until the words change"].append(seconds)
        times["first curve to 10^12, 24 models"].append(curve(page))
        page.get_by_role("tab", name="Models").click()
        times["1,000 models × 50 arms, until analyzed"].append(open_file(page, large))
        page.close()


def main() -> None:
    """Measure three times, and print."""
    times: dict[str, list[float]] = defaultdict(list)
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for _ in range(3):
            once(chromium, times)
        chromium.close()
    for what, seconds in times.items():
        print(f"{what:<42} {statistics.median(seconds):6.2f} s  (worst {max(seconds):.2f})")


if __name__ == "__main__":
    main()
