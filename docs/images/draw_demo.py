"""Draw the moving picture and the still of the demo: what its page shows in Chromium.

    python docs/images/draw_demo.py

Needs the extra ``demo``, the dependency group ``browser``, and Chromium.
"""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from playwright.sync_api import sync_playwright

import broadphase as bp
from broadphase.demo import DemoPage, Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "browser"))

from watching import FLAGS, WAIT, Watched, chromium  # noqa: E402

VIEW = {"width": 1200, "height": 640}
WIDTH = 900  # pixels of the moving picture
STEPS = 6  # of the world between two frames: a tenth of a second
MOST_BYTES = 1_500_000
# The tale: so many frames each, with a method, with or without its cells.
TALE = ((14, "brute_force", False), (14, "auto", False), (14, "octree", True))
# Frames are taken one by one, so nobody can say how many there are in a second; and the browser draws in software.
STYLE = "#webgl-software-rendering, tr:has(#bp-fps) { display: none }"


class ByHand(Simulation):
    """A simulation that does some steps when it is told to, and goes by the seconds of its world."""

    def __init__(self, scene: str, **options: Any) -> None:
        self._seconds, self._wanted = 0.0, 1
        super().__init__(scene, clock=lambda: self._seconds, **options)

    def tick(self) -> bp.Frame | None:
        """Do a step, if one is wanted."""
        frame = None
        while self._wanted > 0:
            self._wanted -= 1
            self._seconds += 1 / 60
            frame = super().tick()
        return frame

    def go_on(self, steps: int) -> None:
        """Want some steps."""
        self._wanted = steps


@contextmanager
def showing(simulation: Simulation) -> Iterator[DemoPage]:
    """Have a page as long as it is needed."""
    page = DemoPage(simulation)
    try:
        yield page
    finally:
        page.stop()


def take(page: DemoPage, tab: Watched) -> Image.Image:
    """Do some steps, and take a picture once the page shows them."""
    received = tab.bytes_received
    page.wish("step", lambda: page.simulation.go_on(STEPS))
    while tab.bytes_received == received:
        tab.page.wait_for_timeout(20)
    tab.page.wait_for_timeout(400)
    return Image.open(io.BytesIO(tab.page.screenshot(timeout=WAIT))).convert("RGB")


def open_page(browser: Any, page: DemoPage) -> Watched:
    """Open the page in a tab, and wait until it shows something."""
    tab = Watched(browser.new_page(viewport=VIEW))
    tab.page.set_default_timeout(WAIT)
    tab.page.goto(page.url)
    tab.page.add_style_tag(content=STYLE)
    tab.wait_for("bp-hits", r"\d")
    tab.pixels()
    tab.page.wait_for_timeout(3000)
    return tab


def write_moving(frames: list[Image.Image], path: Path) -> None:
    """Write as good a picture as the bytes allow."""
    for quality in range(80, 10, -10):
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=100, loop=0, quality=quality, method=4)
        if path.stat().st_size <= MOST_BYTES:
            return
    raise ValueError(f"{path.name} needs more than {MOST_BYTES:,} bytes")


def main() -> None:
    """Draw both."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium was found; CHROMIUM= can name one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)

        with showing(ByHand("rectangles", method=TALE[0][1], size=0.6)) as page:
            tab = open_page(browser, page)
            frames = []
            for count, method, cells in TALE:
                page.controls.method.value, page.controls.cells.value = method, cells
                take(page, tab)
                frames += [take(page, tab) for _ in range(count)]
            tab.page.close()
        height = round(WIDTH * frames[0].height / frames[0].width)
        small = [frame.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
        write_moving(small, HERE / "demo.webp")

        with showing(ByHand("machine_gun")) as page:
            tab = open_page(browser, page)
            for _ in range(3):
                still = take(page, tab)
            still.quantize(192, dither=Image.Dither.NONE).save(HERE / "demo.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
