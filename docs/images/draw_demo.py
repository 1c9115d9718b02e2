"""Draw the animation and the still pictures of the demo: its page as Chromium shows it.

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
WIDTH = 900  # of the animation, in pixels
STEPS = 6  # of the world between two frames: a tenth of a second
MOST_BYTES = 1_500_000
# What the animation shows: a number of frames, the method, with or without its cells.
SEQUENCE = ((14, "brute_force", False), (14, "auto", False), (14, "octree", True))
# Hidden: frames per second mean nothing here, as frames are taken one by one; and the browser draws in software.
STYLE = "#webgl-software-rendering, tr:has(#bp-fps), tr:has(#bp-pictures) { display: none }"


class ByHand(Simulation):
    """A simulation that steps on request, and takes the seconds of its world for the time."""

    def __init__(self, scene: str, **options: Any) -> None:
        self._seconds, self._wanted = 0.0, 1
        super().__init__(scene, clock=lambda: self._seconds, **options)

    def tick(self) -> bp.world.Frame | None:
        """Do the steps that were requested."""
        frame = None
        while self._wanted > 0:
            self._wanted -= 1
            self._seconds += 1 / 60
            frame = super().tick()
        return frame

    def go_on(self, steps: int) -> None:
        """Request some steps."""
        self._wanted = steps


@contextmanager
def showing(simulation: Simulation) -> Iterator[DemoPage]:
    """Provide a page, and stop it afterwards."""
    page = DemoPage(simulation)
    try:
        yield page
    finally:
        page.stop()


def take(page: DemoPage, tab: Watched) -> Image.Image:
    """Step, and take a picture once the page shows the result."""
    received = tab.bytes_received
    page.request("step", lambda: page.simulation.go_on(STEPS))
    while tab.bytes_received == received:
        tab.page.wait_for_timeout(20)
    tab.page.wait_for_timeout(400)
    return Image.open(io.BytesIO(tab.page.screenshot(timeout=WAIT))).convert("RGB")


def open_page(browser: Any, page: DemoPage) -> Watched:
    """Open the page in a tab, and wait until it shows figures."""
    tab = Watched(browser.new_page(viewport=VIEW))
    tab.page.set_default_timeout(WAIT)
    tab.page.goto(page.url)
    tab.page.add_style_tag(content=STYLE)
    tab.wait_for("bp-hits", r"\d")
    tab.pixels()
    tab.page.wait_for_timeout(3000)
    return tab


def write_animation(frames: list[Image.Image], path: Path) -> None:
    """Write the animation in the best quality that fits into the bytes allowed."""
    for quality in range(80, 10, -10):
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=100, loop=0, quality=quality, method=4)
        if path.stat().st_size <= MOST_BYTES:
            return
    raise ValueError(f"{path.name} needs more than {MOST_BYTES:,} bytes")


def save_still(picture: Image.Image, name: str) -> None:
    """Write a still picture in few colours."""
    picture.quantize(192, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


def main() -> None:
    """Draw them."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium was found; CHROMIUM= can name one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)

        with showing(ByHand("rectangles", method=SEQUENCE[0][1], size=0.6)) as page:
            tab = open_page(browser, page)
            frames = []
            for count, method, cells in SEQUENCE:
                page.controls.method.value, page.controls.cells.value = method, cells
                take(page, tab)
                frames += [take(page, tab) for _ in range(count)]
            tab.page.close()
        height = round(WIDTH * frames[0].height / frames[0].width)
        small = [frame.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
        write_animation(small, HERE / "demo.webp")

        with showing(ByHand("clusters", method="octree")) as page:
            tab = open_page(browser, page)
            page.controls.cells.value = True
            for _ in range(3):
                still = take(page, tab)
            save_still(still, "demo.png")

        with showing(Simulation("rectangles")) as page:
            tab = open_page(browser, page)
            page.controls.race.value = True
            tab.wait_for("bp-answer", "falls below 60")
            tab.page.wait_for_timeout(5000)
            save_still(Image.open(io.BytesIO(tab.page.screenshot(timeout=WAIT))).convert("RGB"), "demo_race.png")
        browser.close()


if __name__ == "__main__":
    main()
