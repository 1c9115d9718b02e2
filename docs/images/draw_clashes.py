"""Draw the picture of docs/clashes.md: a page of clashes, as Chromium shows it.

    python docs/images/draw_clashes.py               # clashes.png beside this file

Needs the extras ``cli`` and ``io``, the dependency group ``browser``, and Chromium.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image
from playwright.sync_api import sync_playwright

from broadphase import cli

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "browser"))

from watching import FLAGS, WAIT, Watched, chromium  # noqa: E402

VIEW = {"width": 1000, "height": 520}
ACROSS_X = trimesh.transformations.rotation_matrix(np.pi / 2, (0, 1, 0))


def plant() -> trimesh.Scene:
    """Make two walls, beams, and pipes through them, some too near."""
    scene = trimesh.Scene()

    def add(name: str, mesh: trimesh.Trimesh, *place: float, turn: np.ndarray | None = None) -> None:
        pose = np.eye(4) if turn is None else turn.copy()
        pose[:3, 3] = place
        scene.add_geometry(mesh, node_name=name, geom_name=name, transform=pose)

    box, pipe = trimesh.creation.box, trimesh.creation.cylinder
    add("wall north", box((6.0, 0.2, 2.6)), 0, 1.6, 1.3)
    add("slab", box((6.0, 3.6, 0.2)), 0, 0, -0.1)
    for k in range(3):
        add(f"beam {k + 1}", box((0.25, 3.0, 0.3)), 2.0 * k - 2.0, 0, 2.3)
    add("supply duct", pipe(0.35, 5.6, sections=48), 0, -0.2, 2.0, turn=ACROSS_X)
    add("return duct", pipe(0.3, 5.6, sections=48), 0, 0.75, 1.82, turn=ACROSS_X)
    add("drain", pipe(0.08, 5.6, sections=32), 0, -1.0, 0.09, turn=ACROSS_X)
    add("riser", pipe(0.12, 2.6, sections=32), 1.0, 1.45, 1.3)
    add("pump", trimesh.creation.icosphere(3, 0.45), -1.2, -0.6, 0.5)
    return scene


def main() -> None:
    """Write the page and take its picture."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium was found; CHROMIUM= can name one")
    # From there, so that the page names no folder.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), sync_playwright() as playwright:
        report = Path(folder, "report.html")
        plant().export("plant.glb")
        cli.main(["clash", "plant.glb", "--clearance", "0.1", "--tolerance", "0.001", "--output", report.name])
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = Watched(browser.new_page(viewport=VIEW))
        tab.page.set_default_timeout(WAIT)
        tab.page.goto(report.as_uri())
        tab.wait_for("note", "depth")
        tab.page.locator("#list button").nth(2).click()
        tab.page.wait_for_timeout(500)
        picture = Image.open(io.BytesIO(tab.page.screenshot(timeout=WAIT))).convert("RGB")
        picture.quantize(192, dither=Image.Dither.NONE).save(HERE / "clashes.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
