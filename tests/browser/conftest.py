"""A browser for the tests of pages: headless Chromium, drawing in software. Without Chromium the tests are skipped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from watching import FEWER_FRAMES, FLAGS, VIEWPORT, WAIT, Watched, chromium

ROOT = Path(__file__).resolve().parents[2]
PICTURES = Path(os.environ.get("BROADPHASE_SCREENSHOTS") or ROOT / "build" / "browser")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """Playwright, if it and a browser are there."""
    driver = pytest.importorskip("playwright.sync_api", reason="tests in a browser need Playwright")
    pytest.importorskip("PIL", reason="tests in a browser look at pictures by Pillow")
    if chromium() is None:
        pytest.skip("no Chromium was found for the tests in a browser; CHROMIUM= can name one")
    with driver.sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="module")
def browser(driver: Any) -> Iterator[Any]:
    """A browser for all tests of a module, as starting one takes seconds."""
    running = driver.launch(executable_path=chromium(), args=FLAGS)
    yield running
    running.close()


@pytest.fixture
def browser_of(driver: Any) -> Callable[..., Any]:
    """Starts a browser with more flags."""

    @contextmanager
    def start(*flags: str) -> Iterator[Any]:
        running = driver.launch(executable_path=chromium(), args=[*FLAGS, *flags])
        try:
            yield running
        finally:
            running.close()

    return start


@pytest.fixture(scope="module")
def watch(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Opens addresses, each in a tab of its own."""
    tabs: list[Watched] = []

    def watch_at(url: str, **context: Any) -> Watched:
        tab = Watched(browser.new_page(**{"viewport": VIEWPORT} | context))
        tab.page.add_init_script(FEWER_FRAMES)
        tabs.append(tab)
        tab.page.set_default_timeout(WAIT)
        tab.page.goto(url)
        # The page warns that the browser draws in software, which covers a good part of the picture.
        tab.page.add_style_tag(content="#webgl-software-rendering { display: none }")
        return tab

    yield watch_at
    for tab in tabs:
        tab.page.close()


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[[Any], None]:
    """Saves a screenshot of a page, under the name of the test."""

    def keep_of(page: Any, suffix: str = "") -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "_", request.node.name).strip("_")
        page.screenshot(path=PICTURES / f"{name}{suffix}.png", timeout=WAIT)

    return keep_of
