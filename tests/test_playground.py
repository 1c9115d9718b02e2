"""The playground of the documentation, in a real browser: the same pairs as in Python. After `make playground`."""

import functools
import http.server
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, oracle

ROOT = Path(__file__).resolve().parents[1]
CORE, CHROMIUM = ROOT / "build/playground/broadphase.wasm", "/usr/bin/chromium"
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = [
    pytest.mark.skipif(not CORE.exists(), reason="not compiled: make playground"),
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Chromium is not installed"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "docs/playground/index.html", folder)
    shutil.copy(CORE, folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        errors = []
        page.on("pageerror", lambda error: errors.append(error))
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        page.wait_for_function("window.playground && document.getElementById('time').textContent")
        page.keyboard.press("Space")  # paused
        yield page
        assert not errors
        browser.close()
    server.shutdown()
    server.server_close()


def boxes_of(page):
    return np.array(page.evaluate("Array.from(playground.boxes())"), np.float32).reshape(-1, 4)


@pytest.mark.parametrize("clusters", [0, 12])
@pytest.mark.parametrize("count", [0, 1, 2, 700, 5000])
def test_every_method_finds_the_pairs_of_the_oracle(page, count, clusters):
    page.evaluate(f"playground.core().make({count}, 3, 1000, {550 / max(count, 1) ** 0.5}, {clusters})")
    for frame in range(3):
        page.evaluate("playground.core().step(1 / 60)")
        corners = f"Array.from(new Float32Array(core.memory.buffer, core.boxes(), {4 * count}))"
        boxes = np.array(page.evaluate(f"(core => {corners})(playground.core())"), np.float32).reshape(-1, 4)
        assert boxes.size == 0 or ((boxes.min() >= -1) and (boxes.max() <= 1001))
        wanted = oracle.pairs(boxes.reshape(-1, 2, 2))
        for method in range(7):
            found = page.evaluate(
                """method => {
                    const core = playground.core(), m = core.find(method), stride = core.stride();
                    const all = new Int32Array(core.memory.buffer, core.pairs(), 2 * stride);
                    return [Array.from(all.slice(0, m)), Array.from(all.slice(stride, stride + m))];
                }""",
                method,
            )
            pairs = np.array(found, np.int32).T.reshape(-1, 2)
            assert_same_pairs(pairs, wanted, f"method {method}, frame {frame}")
            assert_same_pairs(bp.pairs(boxes), pairs)


@pytest.mark.parametrize("method", [3, 4, 5, 6])
def test_cells_of_methods_hold_the_boxes(page, method):
    page.evaluate("playground.core().make(2000, 5, 1000, 12, 12)")
    cells = page.evaluate(
        """method => {
            const core = playground.core(), count = core.cells(method);
            return Array.from(new Float32Array(core.memory.buffer, core.cell_list(), 5 * count));
        }""",
        method,
    )
    cells = np.array(cells).reshape(-1, 5)
    assert len(cells) > 1
    assert (cells[:, :2] <= cells[:, 2:4]).all()
    assert cells[:, 4].min() == 0


def test_squares_are_dragged_and_controls_act(page):
    page.evaluate("playground.core().make(playground.count(), 7, 1000, 8, 0)")
    before = boxes_of(page)
    area = page.locator("#picture").bounding_box()
    x, y = ((before[5, :2] + before[5, 2:]) / 2 / 1000).tolist()
    page.mouse.move(area["x"] + x * area["width"], area["y"] + (1 - y) * area["height"])
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2, steps=4)
    page.mouse.up()
    moved = np.flatnonzero((boxes_of(page) != before).any(axis=1))
    assert len(moved) == 1
    assert np.abs(boxes_of(page)[moved[0], :2] - 500).max() < 20
    page.select_option("#method", "5")
    page.locator("#count").fill("3")
    assert page.evaluate("playground.count()") == 1000
    page.wait_for_function("document.getElementById('share').textContent === '499,500'")
    assert page.locator("#said").text_content() == "Paused: Space goes on."
