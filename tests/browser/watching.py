"""Shared by the tests in a browser: finding Chromium, and a tab whose requests, errors and pixels can be examined."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import time
from collections.abc import Callable
from typing import Any

import numpy as np

FLAGS = (
    "--no-sandbox",  # which a container rarely permits
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--webgl-msaa-sample-count=0",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
VIEWPORT = {"width": 900, "height": 480}  # small: drawing in software takes time for every pixel
# Ten pictures a second: drawn in software, those of sixty take all the time that there is.
FEWER_FRAMES = """{
    const ask = window.requestAnimationFrame.bind(window), cancel = window.cancelAnimationFrame.bind(window);
    const waiting = new Map();
    let number = 0, last = 0;
    window.requestAnimationFrame = draw => {
        const own = ++number, later = Math.max(0, last + 100 - performance.now());
        const timer = setTimeout(() => waiting.set(own, ["frame", ask(now => {
            waiting.delete(own); last = performance.now(); draw(now);
        })]), later);
        waiting.set(own, ["timer", timer]);
        return own;
    };
    window.cancelAnimationFrame = own => {
        const [kind, id] = waiting.get(own) ?? [];
        if (kind === "timer") clearTimeout(id); else if (kind) cancel(id);
        waiting.delete(own);
    };
}"""
WAIT = 120_000.0  # milliseconds that anything may take on a busy machine
TOUCHING, APART, SELECTED, QUERIED = (0xD5, 0x5E, 0x00), (0x8A, 0x9B, 0xB0), (0xF0, 0xE4, 0x42), (0x56, 0xB4, 0xE9)

# The picture is there from when the page has drawn it until the browser shows it: until the end of a frame. Pages that
# draw on demand may not draw in the next one; pages that are slow draw fewer pixels than the canvas has on the screen.
_GRAB = """() => new Promise((done, fail) => {
    let left = 600;
    const look = () => {
        const canvas = document.querySelector("canvas[data-engine]") ?? document.querySelector("canvas");
        if (canvas && canvas.width) {
            const copy = document.createElement("canvas");
            copy.width = canvas.clientWidth; copy.height = canvas.clientHeight;
            const flat = copy.getContext("2d");
            flat.imageSmoothingEnabled = false;
            flat.drawImage(canvas, 0, 0, copy.width, copy.height);
            const pixels = flat.getImageData(0, 0, copy.width, copy.height).data;
            if (pixels.some((value, at) => at % 4 == 3 && value)) { done(copy.toDataURL("image/png")); return; }
        }
        if (left--) requestAnimationFrame(look); else fail("the canvas stays empty");
    };
    requestAnimationFrame(look);
})"""


def chromium() -> str | None:
    """Find a browser."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, filter(None, names))), None)


def share_near(pixels: np.ndarray, colour: tuple[int, int, int], within: int = 48) -> float:
    """Return the share of a picture that has nearly a colour: shading makes bodies brighter or darker."""
    return float(is_near(pixels, colour, within).mean())


def is_near(pixels: np.ndarray, colour: tuple[int, int, int], within: int = 48) -> np.ndarray:
    return (np.abs(pixels.astype(int) - colour) <= within).all(axis=-1)


class Watched:
    """A tab, with the addresses it requested, its errors, and the number of bytes it received."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requested: list[str] = []
        self.errors: list[str] = []
        self.bytes_received = 0
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        page.on("websocket", lambda socket: socket.on("framereceived", self._count))

    def _note(self, message: Any) -> None:
        # viser prevents the default of a press on a body, in a listener that may not: nothing comes of it.
        if message.type == "error" and "preventDefault inside passive" not in message.text:
            self.errors.append(message.text)

    def _count(self, payload: str | bytes) -> None:
        self.bytes_received += len(payload)

    def text(self, name: str) -> str:
        """Read the element with an id."""
        return str(self.page.inner_text(f"#{name}")).strip()

    def numbers(self, *names: str) -> list[float]:
        """Read the first number of each of the elements with these ids, all at once."""
        texts = self.page.evaluate("names => names.map(name => document.getElementById(name).innerText)", list(names))
        found = [re.search(r"[\d,]+(\.\d+)?", text) for text in texts]
        assert all(found), dict(zip(names, texts, strict=True))
        return [float(one[0].replace(",", "")) for one in found if one]

    def wait_for(self, name: str, pattern: str) -> str:
        """Wait until the text of the element with an id matches a pattern."""
        rule = "([name, pattern]) => new RegExp(pattern).test(document.getElementById(name)?.innerText ?? '')"
        self.wait_until(rule, [name, pattern])
        return self.text(name)

    def wait_until(self, rule: str, arg: Any = None) -> None:
        """Wait until an expression or a function of JavaScript gives true.

        Not by Playwright's ``wait_for_function``: from its second try on, the policy of a replay page forbids it.
        """
        self._wait(lambda: self.page.evaluate(rule, arg), rule)

    def wait_until_demo(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so of the demo: what viser hands over comes in any order."""
        self._wait(is_so, "what is waited for of the demo")

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + WAIT / 1000
        while not is_so():
            assert time.monotonic() < end, f"still not: {what}"
            self.page.wait_for_timeout(20)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list, by mouse."""
        self.page.get_by_label(label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def tick(self, label: str, on: bool) -> None:
        """Set or clear a checkbox."""
        self.page.get_by_label(label, exact=True).set_checked(on)

    def pixels(self) -> np.ndarray:
        """Return what the canvas shows, in pixels of the screen: shape (height, width, 3), uint8."""
        from PIL import Image

        png = base64.b64decode(self.page.evaluate(_GRAB).partition(",")[2])
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))

    def pixels_when(self, is_right: Any, what: str) -> np.ndarray:
        """Wait until what the canvas shows satisfies a condition, and return it."""
        until = time.monotonic() + WAIT / 1000
        while True:
            pixels = self.pixels()
            if is_right(pixels):
                return pixels
            assert time.monotonic() < until, f"the picture never shows {what}"
            self.page.wait_for_timeout(50)

    def still_pixels(self) -> np.ndarray:
        """Wait until for a second the canvas has not changed and nothing came, and return what it shows."""
        last, received = self.pixels(), self.bytes_received
        until = time.monotonic() + WAIT / 1000
        while True:
            self.page.wait_for_timeout(1000)
            pixels = self.pixels()
            if np.array_equal(pixels, last) and self.bytes_received == received:
                return pixels
            assert time.monotonic() < until, "the picture keeps changing"
            last, received = pixels, self.bytes_received

    def place(self) -> tuple[float, float]:
        """Return the upper left corner of the canvas in the tab."""
        box = self.page.locator("canvas[data-engine]").bounding_box()
        return box["x"], box["y"]
