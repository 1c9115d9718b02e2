"""A replay page opens from a file and plays, without Python and without a network."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.recording import Replay, save_replay

STEPS = 120


@pytest.fixture(scope="module")
def tab(watch, tmp_path_factory):
    path = tmp_path_factory.mktemp("replay") / "run.html"
    save_replay("bouncing_spheres", path, steps=STEPS)
    return watch(path.as_uri(), offline=True)


def positions(tab) -> np.ndarray:
    return np.array(tab.page.evaluate("Array.from(window.replay.run.positions)"))


def test_replay_plays_by_itself(tab, keep):
    tab.wait_until("window.replay && window.replay.frame > 1")
    before, picture = positions(tab), tab.pixels()
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50
    frame = tab.page.evaluate("window.replay.frame")
    tab.wait_until("frame => window.replay.frame != frame", frame)
    tab.pixels_when(lambda now: (now != picture).any(axis=-1).mean() > 0.002, "a move")
    assert (positions(tab) != before).any()
    keep(tab.page)


def test_replay_pauses_and_seeks(tab, keep):
    button = tab.page.locator("#play")
    assert button.inner_text() == "Pause"
    button.click()
    assert button.inner_text() == "Play"
    tab.still_pixels()
    tab.page.evaluate("window.replay.seek(0)")
    tab.wait_for("count", "^1 /")
    first, first_picture = positions(tab), tab.still_pixels()
    tab.page.evaluate("window.replay.seek(60)")
    tab.wait_for("count", "^61 /")
    assert (positions(tab) != first).any()
    assert (tab.still_pixels() != first_picture).any()
    keep(tab.page)


def test_replay_embedded_on_a_phone_shows_the_picture_and_its_controls(tab, keep):
    size = dict(tab.page.viewport_size)
    tab.page.set_viewport_size({"width": 380, "height": 260})
    keep(tab.page)
    corner, bar, picture = (tab.page.locator(name).bounding_box() for name in ("#corner", "#bar", "#picture"))
    assert corner["y"] + corner["height"] < bar["y"]
    assert corner["width"] * corner["height"] < 0.25 * picture["width"] * picture["height"]
    line, count = (tab.page.locator(name).bounding_box() for name in ("#line", "#count"))
    assert line["width"] > 100
    assert count["x"] + count["width"] <= 380
    tab.page.set_viewport_size(size)


def test_replay_loads_nothing_else_and_has_no_errors(tab):
    assert len([url for url in tab.requested if not url.startswith(("data:", "blob:"))]) == 1
    assert tab.errors == []


def test_replay_of_very_many_frames_opens_and_seeks(watch, tmp_path, keep):
    world = bp.World(dim=2, bounds=[[-5, -5], [5, 5]], boundary="bounce")
    world.add_many(bp.Circle(1), [[0, 0], [2.5, 0]], velocities=[[1, 0.3], [-0.5, 0.2]])
    replay = Replay(world)
    last = 100_000
    for number in range(1, last + 1):
        replay.add(world.step(0.01))
        if number == 75_000:
            then = world.positions.copy()
    replay.save(tmp_path / "long.html")
    tab = watch((tmp_path / "long.html").as_uri(), offline=True)
    tab.wait_until("window.replay && window.replay.drawn > 0")
    tab.page.locator("#play").click()
    tab.page.evaluate("window.replay.seek(74999)")
    tab.wait_for("count", f"^75000 / {last}")
    assert np.allclose(positions(tab).reshape(2, 2), then, atol=1e-3)
    tab.page.evaluate("window.replay.seek(1e9)")
    tab.wait_for("count", f"^{last} / {last}")
    assert tab.page.locator("#error").is_hidden()
    assert tab.errors == []
    keep(tab.page)
