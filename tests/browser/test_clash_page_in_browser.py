"""A page of clashes opens from a file, lists and filters them, and shows what is chosen."""

import io

import numpy as np
import pytest

from broadphase import cli

pytest.importorskip("typer")
trimesh = pytest.importorskip("trimesh")


@pytest.fixture(scope="module")
def tab(watch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clashes")
    scene = trimesh.Scene()
    for name, size, x in (("block", 2.0, 0.0), ("bolt", 1.0, 1.0), ("cover", 2.0, 2.5)):
        pose = np.eye(4)
        pose[0, 3] = x
        scene.add_geometry(trimesh.creation.box((size,) * 3), node_name=name, geom_name=name, transform=pose)
    scene.export(folder / "parts.glb")
    cli.main(["clash", str(folder / "parts.glb"), "--clearance", "0.6", "-o", str(folder / "page.html")])
    return watch((folder / "page.html").as_uri(), offline=True)


def picture(tab):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(tab.page.locator("#stage").screenshot())).convert("RGB"))


def test_clash_page_lists_filters_and_shows(tab, keep):
    tab.wait_for("note", "penetrates, depth 0.5 m")
    assert tab.page.locator("#list button").count() == 3
    assert "3 parts, all of them closed. Lengths in m." in tab.text("facts")
    first = picture(tab)
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 20
    tab.page.locator("#list button").nth(2).click()
    tab.wait_for("note", "near, gap 0.5 m")
    tab.page.wait_for_timeout(100)
    assert (picture(tab) != first).any()
    tab.page.get_by_label("near 1").set_checked(False)
    assert tab.page.locator("#list button").count() == 2
    tab.page.locator("#search").fill("cover")
    assert (
        tab.page.locator("#list button")
        .all_inner_texts()[0]
        .split(": ")[1]
        .startswith(("bolt – cover", "cover – bolt"))
    )
    keep(tab.page)


def test_clash_page_opens_groups(watch, tmp_path):
    scene = trimesh.Scene()
    for row in range(4):
        pose = np.eye(4)
        pose[0, 3] = 0.5 * row
        name = f"bolt.{row}" if row else "flange"
        scene.add_geometry(trimesh.creation.box((2, 2, 2)), node_name=name, geom_name=name, transform=pose)
    scene.export(tmp_path / "parts.glb")
    for name in ("first.json", "page.html"):
        options = [] if name == "first.json" else ["--group-by", "name", "--baseline", str(tmp_path / "first.json")]
        cli.main(["clash", str(tmp_path / "parts.glb"), *options, "-o", str(tmp_path / name)])
    tab = watch((tmp_path / "page.html").as_uri(), offline=True)
    tab.wait_for("note", "penetrates")
    assert sorted(tab.page.locator("#list summary").all_inner_texts()) == ["bolt – bolt (3)", "flange – bolt (3)"]
    assert "0 new, 6 unchanged, 0 gone." in tab.text("facts")
    assert tab.page.locator("#list details[open] button").count() == 3
    tab.page.locator("#list details:not([open]) summary").click()
    tab.page.locator("#list details").nth(1).locator("button").nth(2).click()
    assert tab.page.locator("#list [aria-current]").count() == 1
    assert tab.errors == []


def test_clash_page_loads_nothing_else_and_has_no_errors(tab):
    assert len([url for url in tab.requested if not url.startswith(("data:", "blob:"))]) == 1
    assert tab.errors == []
