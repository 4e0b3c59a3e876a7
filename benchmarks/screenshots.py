"""Take the pictures of the lab that README and docs show, from a lab that is used as there.

They go to docs/figures, and need Chromium: ``.venv/bin/python benchmarks/screenshots.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 300_000
"""Milliseconds: a policy may have to be compiled."""


@contextmanager
def a_lab(**environment: str) -> Iterator[tuple[str, int]]:
    """Start a lab: where it is, and its process; end it when it is no longer needed."""
    command = [sys.executable, "-m", "fpbandits", "lab", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1], process.pid
    finally:
        process.terminate()
        process.wait()


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option of a list."""
    page.get_by_label(label, exact=True).first.click()
    page.get_by_role("option", name=option, exact=True).click()


def models(page: Page) -> None:
    """Show the trial's three models, and what can be learned of them."""
    choose(page, "example", "trial")
    page.locator(".glance", has_text="because it looks like better").wait_for()


def forecast(page: Page) -> None:
    """Show the same, and what playing will cost."""
    models(page)
    page.get_by_role("button", name="Forecast", exact=True).click()
    page.get_by_role("img", name="regret over time").wait_for()


def play(page: Page) -> None:
    """Show curves to 10^12."""
    choose(page, "example", "paper:two")
    page.get_by_role("tab", name="Play").click()
    choose(page, "truth", "theta2")
    page.locator(".slide .q-slider__track-container").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_text("played 100 runs of each policy").wait_for()


def watch(page: Page) -> None:
    """Show a run that someone plays along with."""
    choose(page, "example", "pricing")
    page.get_by_role("tab", name="Watch").click()
    for words in ("10 steps", "15 EUR", "9 EUR", "10 steps"):
        page.get_by_role("button", name=words, exact=True).click()
        page.wait_for_timeout(500)
    page.locator(".roll rect").nth(21).wait_for()


def main() -> None:
    """Take all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with a_lab() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, use, width, scheme in (
            ("lab-models", forecast, 1200, "light"),
            ("lab-play", play, 1000, "light"),
            ("lab-watch", watch, 1000, "dark"),
            ("lab-narrow", models, 400, "light"),
        ):
            page = browser.new_page(
                viewport={"width": width, "height": 600},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            page.set_default_timeout(PATIENCE)
            page.goto(address)
            page.locator(".verdict table").wait_for()
            use(page)
            page.mouse.move(0, 0)
            page.evaluate("document.activeElement.blur()")
            page.wait_for_timeout(700)  # until what was pressed looks so no longer
            path = FIGURES / f"{name}.png"
            page.screenshot(path=path, full_page=True)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
