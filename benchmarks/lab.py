"""How long the lab lets people wait: start, page, answer to an edit, first curve; needs Chromium.

Every figure is the median of some tries, first to last as the browser sees them. At last, the very
first time on a machine: policies have to be compiled, and someone plays at once, or later.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections import defaultdict
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import Page, sync_playwright
from screenshots import FLAGS, PATIENCE, a_lab, choose

import fpbandits as fpb
from fpbandits.problem.files import problem_to_toml

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
    arms, models = problem.arms, problem.models
    changed = fpb.Problem.bernoulli(means, arms=arms, models=models)
    words = fpb.analyze(changed, models[0]).cases[0].facts["FP-UCB"]
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
    facts = fpb.analyze(problem, problem.models[0]).cases[0].facts
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


def curves(page: Page) -> float:
    """Wait until all has been played; return the seconds since Play was pressed."""
    begun = time.perf_counter()
    page.get_by_text("played 100 runs of each policy").wait_for()
    return time.perf_counter() - begun


def first_time(chromium: Any, wait: float) -> None:
    """Play on a machine that has compiled nothing yet, so many seconds after the page is there."""
    with TemporaryDirectory() as folder, a_lab(NUMBA_CACHE_DIR=folder) as (address, pid):
        page = opened(chromium, address)
        page.wait_for_timeout(1000 * wait)
        seconds = curve(page)
        first = page.locator(".paper img").get_attribute("alt") or ""
        rest = curves(page)
        last = page.locator(".paper img").get_attribute("alt") or ""
        used = sum(psutil.Process(pid).cpu_times()[:2])
        print(f"nothing compiled, Play pressed {wait:g} s after the page is there:")
        print(f"  first curve {seconds:6.2f} s  ({first})")
        print(f"  all of them {seconds + rest:6.2f} s  ({last}); {used:.1f} s of CPU in all")
        page.close()


def opened(chromium: Any, address: str) -> Page:
    """Open the page, and wait until it answers."""
    page: Page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.locator(".verdict table").wait_for()
    return page


def once(chromium: Any, times: dict[str, list[float]]) -> None:
    """Start a lab, use it, and note how long everything took."""
    permutations = fpb.load_problem("paper:permutations")
    large = fpb.Problem.bernoulli(np.random.default_rng(0).uniform(0.1, 0.9, (1000, 50)).round(3))
    begun = time.perf_counter()
    with a_lab() as (address, pid):
        times["start until the address is printed"].append(time.perf_counter() - begun)
        page = opened(chromium, address)
        times["start until the page is there and answers"].append(time.perf_counter() - begun)
        used = sum(psutil.Process(pid).cpu_times()[:2])
        times["  of that, CPU of the lab's own"].append(used)
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
    """Measure three times, and print; then the first time."""
    times: dict[str, list[float]] = defaultdict(list)
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for _ in range(3):
            once(chromium, times)
        for what, seconds in times.items():
            print(f"{what:<42} {statistics.median(seconds):6.2f} s  (worst {max(seconds):.2f})")
        for wait in (0, 20):
            first_time(chromium, wait)
        chromium.close()


if __name__ == "__main__":
    main()
