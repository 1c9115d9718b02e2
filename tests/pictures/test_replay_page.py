"""Replay pages hold the run that was simulated. tests/browser plays them."""

import base64
import json
import re
import tracemalloc
import zlib

import numpy as np
import pytest

import broadphase as bp
from broadphase import scenes
from broadphase.recording import Replay, save_replay
from broadphase.recording.replay import Tracks


def data_of(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)[1])


def unpacked(text, dtype):
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    width = np.dtype(dtype).itemsize
    return planes.reshape(width, -1).T.copy().view(dtype).ravel()


def places_of(data):
    """Decode as the page does: second differences modulo 65536."""
    channels = data["dim"] + data["rotationSize"]
    bends = unpacked(data["poses"], "<u2").reshape(data["frames"], -1, channels).astype(np.int64)
    steps = np.cumsum(bends[1:], axis=0)
    numbers = np.cumsum(np.concatenate([bends[:1], steps]), axis=0) & 0xFFFF
    lower, upper = np.array(data["lower"]), np.array(data["upper"])
    d = data["dim"]
    return lower + numbers[..., :d] / 65_535 * (upper - lower), numbers[..., d:]


@pytest.mark.parametrize("name", ["bouncing_rectangles", "bouncing_spheres"])
def test_positions_and_touching_bodies_are_those_of_the_run(name, tmp_path):
    scene = scenes.load(name)
    save_replay(scene, tmp_path / "run.html", steps=20)
    data = data_of(tmp_path / "run.html")
    places, _ = places_of(data)
    touching = unpacked(data["touching"], np.uint8).reshape(20, -1)
    stats = {name: unpacked(values, "<f8") for name, values in data["stats"].items()}
    run = scene.start()
    step = (np.array(data["upper"]) - data["lower"]) / 65_535
    for number in range(20):
        frame = run.step()
        assert (np.abs(places[number] - run.world.positions) <= 0.51 * step).all()
        flags = np.unpackbits(touching[number], bitorder="little")[: len(run.world)]
        assert np.array_equal(np.flatnonzero(flags), np.unique(frame.pairs))
        assert stats["pairs"][number] == len(frame.pairs)
        assert stats["tests"][number] == frame.stats["tests"]
    assert data["title"] == scene.title
    assert len(unpacked(data["track"], "<i4")) == len(run.world)


def test_page_refers_to_no_other_file_or_address(tmp_path):
    save_replay("bouncing_spheres", tmp_path / "run.html", steps=3)
    text = (tmp_path / "run.html").read_text("utf-8")
    assert not re.search(r"https?://|src=|<link|@import|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text.partition("<title>")[0]  # and browsers hold it to that
    assert "%" not in re.sub(r"\d%|% ", "", text.split("<script>")[0])  # every part was filled in


def test_title_cannot_break_the_page(tmp_path):
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0))
    save_replay(world, tmp_path / "run.html", steps=2, title="</script><b>%DATA% & co")
    text = (tmp_path / "run.html").read_text("utf-8")
    assert text.count("</script>") == 2
    assert "<title>&lt;/script&gt;&lt;b&gt;%DATA% &amp; co</title>" in text
    assert data_of(tmp_path / "run.html")["title"] == "</script><b>%DATA% & co"


def test_tracks_of_reused_rows_and_changed_shapes_are_separate():
    world = bp.World(dim=2)
    tracks = Tracks(world)
    rows = world.add_many(bp.Circle(1), [[0, 0], [9, 0]])
    tracks.add(world.step())
    world.remove(rows[0])
    tracks.add(world.step())
    assert world.add_many(bp.Circle(1), [[5, 5]]).tolist() == [0]  # the row is reused by another body
    tracks.add(world.step())
    world.set_shapes([1], bp.Rectangle(2, 2))
    tracks.add(world.step())
    poses = tracks.poses()
    assert poses.lifetimes.tolist() == [[0, 1], [0, 3], [2, 4], [3, 4]]
    pieces = tracks.pieces()
    assert [pieces.forms[form].name for form in pieces.form[np.argsort(pieces.rows)]] == ["disc", "disc", "disc", "box"]


def test_body_that_a_handler_puts_into_the_row_of_another_does_not_touch():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0], [1.5, 0]], layer="a")
    tracks = Tracks(world)

    @world.on_enter("a", "a")
    def replace(event):
        if world.positions[0, 0] == 0:
            world.remove(0)
            world.add(bp.Circle(1), position=(50, 50))

    tracks.add(world.step(0.1))
    assert world.positions[0].tolist() == [50, 50]
    touching = np.unpackbits(tracks.poses().touching, axis=1, bitorder="little")
    assert touching[0, :3].tolist() == [0, 1, 1]  # the tracks of rows 0, 1, 2


def test_memory_of_a_run_is_about_the_size_of_its_numbers(tmp_path):
    world = bp.World(dim=2)
    rng = np.random.default_rng(0)
    world.add_many(bp.Circle(0.1), rng.random((5000, 2)) * 1000, velocities=rng.normal(size=(5000, 2)))
    replay = Replay(world)
    for _ in range(3):
        replay.add(world.step())
    tracemalloc.start()
    try:
        for _ in range(100):
            replay.add(world.step())
        replay.save(tmp_path / "run.html")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * 5000 * 2 * 103


@pytest.mark.parametrize("dim", [2, 3])
def test_saving_twice_and_between_frames_gives_the_run_so_far(dim, tmp_path):
    world = bp.World(dim=dim)
    shape = bp.Rectangle(1, 2) if dim == 2 else bp.Box(1, 2, 3)
    spin = 30.0 if dim == 2 else (0, 0, 3.0)
    world.add(shape, position=[1e9] * dim, velocity=[1.0] * dim, angular_velocity=spin)
    replay = Replay(world)
    seen = []
    for number in range(8):
        replay.add(world.step(1.0))
        seen.append(world.positions[0].copy())
        for _ in range(2):
            replay.save(tmp_path / "run.html")
            data = data_of(tmp_path / "run.html")
            assert data["frames"] == number + 1
            step = (np.array(data["upper"]) - data["lower"]) / 65_535
            assert (np.abs(places_of(data)[0][:, 0] - seen) <= 0.51 * step + 1e-6).all()


def test_positions_of_any_size_are_kept(tmp_path):
    for size in (1e-30, 1.0, 1e30):
        world = bp.World(dim=2)
        world.add_many(bp.Circle(size), [[0, 0], [size, size / 3]], velocities=[[size, 0], [0, -size]])
        replay = Replay(world)
        seen = []
        for _ in range(5):
            replay.add(world.step(0.1))
            seen.append(world.positions.copy())
        replay.save(tmp_path / "run.html")
        data = data_of(tmp_path / "run.html")
        step = (np.array(data["upper"]) - data["lower"]) / 65_535
        assert (np.abs(places_of(data)[0] - seen) <= 0.51 * step).all()


def test_run_that_is_too_long_is_refused_before_it_begins_and_names_the_limit(tmp_path):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), np.zeros((100, 2)))
    with pytest.raises(ValueError, match=r"1,000,000 frames of 100 bodies are too many .* shows 150,000,000"):
        save_replay(world, tmp_path / "run.html", steps=1_000_000)
    assert world.number == 0
    with pytest.raises(ValueError, match=r"shows 150,000,000"):
        save_replay(bp.World(dim=2), tmp_path / "run.html", steps=10**9)
    for steps in (-1, 1.5):
        with pytest.raises(ValueError, match="steps"):
            save_replay(world, tmp_path / "run.html", steps=steps)
    assert not (tmp_path / "run.html").exists()


def test_rotations_are_those_of_the_run(tmp_path):
    world = bp.World(dim=2)
    world.add(bp.Rectangle(4, 1), position=(0, 0), angular_velocity=2.0)
    save_replay(world, tmp_path / "run.html", steps=10, dt=0.1)
    _, angles = places_of(data_of(tmp_path / "run.html"))
    assert np.allclose(angles.ravel() / 65_536 * 2 * np.pi, 0.2 * np.arange(1, 11), atol=1e-4)
    world = bp.World(dim=3)
    world.add(bp.Box(4, 1, 1), position=(0, 0, 0), angular_velocity=(0, 0, 1.0))
    save_replay(world, tmp_path / "run.html", steps=10, dt=0.1)
    _, numbers = places_of(data_of(tmp_path / "run.html"))
    turns = numbers[:, 0] / 65_535 * 2 - 1
    assert np.allclose(turns[-1], [np.cos(0.5), 0, 0, np.sin(0.5)], atol=1e-4)


@pytest.mark.parametrize("dimension", [2, 3])
def test_empty_world_makes_a_page(dimension, tmp_path):
    save_replay(bp.World(dim=dimension), tmp_path / "run.html", steps=2)
    assert data_of(tmp_path / "run.html")["frames"] == 2
    Replay(bp.World(dim=dimension)).save(tmp_path / "none.html")
    assert data_of(tmp_path / "none.html")["frames"] == 0


def test_run_too_large_for_a_browser_raises(monkeypatch):
    monkeypatch.setattr("broadphase.recording.replay.MOST_NUMBERS", 10)
    with pytest.raises(ValueError, match="too many for a page"):
        save_replay("bouncing_spheres", "never.html", steps=3)


def test_save_replay_is_a_name_of_the_package():
    assert bp.save_replay is save_replay


def test_save_replay_reports_each_step(tmp_path):
    told = []
    save_replay("bouncing_spheres", tmp_path / "run.html", steps=3, progress=lambda *counts: told.append(counts))
    assert told == [("step", 1, 3), ("step", 2, 3), ("step", 3, 3)]
