"""Recordings hold every step as it was, from `record` until `close`."""

import copy
import gc
from pathlib import Path

import numpy as np
import pytest

import broadphase as bp
from broadphase.recording.rerun_file import APART
from broadphase.shapes.turning import as_matrices, quaternions_of
from cases import run_script


class Stream:
    """Stands in for a stream of Rerun, and remembers what is logged."""

    def __init__(self, name):
        self.logged, self.times, self.is_closed = [], [], False

    def save(self, path, default_blueprint=None):
        Path(path).write_bytes(b"recorded")

    def set_time(self, timeline, **value):
        self.times.append((timeline, *value.values()))

    def log(self, name, archetype):
        self.logged.append((name, type(archetype).__name__))

    def flush(self):
        pass

    def disconnect(self):
        self.is_closed = True


@pytest.fixture
def stream(monkeypatch, tmp_path):
    rerun = pytest.importorskip("rerun", reason="the extra `record` is not installed")
    monkeypatch.chdir(tmp_path)
    made = []
    monkeypatch.setattr(rerun, "RecordingStream", lambda name: made.append(Stream(name)) or made[0])
    return made


def two_balls():
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1.5, 0]], velocities=[[0, 0], [1, 0]])
    return world


def test_steps_are_written_until_the_recording_is_closed(stream):
    world = two_balls()
    world.step()
    with bp.recording.record(world, "run.rrd") as recording:
        assert recording.path.name == "run.rrd"
        world.step(dt=0.1)
        names = [name for name, _ in stream[0].logged]
        world.step(dt=1.0)
    world.step()
    assert stream[0].times == [("frame", 2), ("time", 0.1), ("frame", 3), ("time", 1.1)]
    assert {"bodies/discs", "contacts/points", "contacts/normals", "figures/pairs/touching"} <= set(names)
    assert ("log", "TextLog") in stream[0].logged  # the end of the touch
    assert ("contacts/points", "Clear") in stream[0].logged  # does not stay on the screen
    assert stream[0].is_closed
    recording.close()


def test_body_that_a_handler_puts_into_the_row_of_another_is_not_drawn_as_touching(stream):
    world = bp.World(dim=2)
    world.add_many(bp.Circle(1), [[0, 0], [1, 0]], layer="a")

    @world.on_enter("a", "a")
    def replace(event):
        world.remove(0)
        world.add(bp.Circle(1), position=(50, 50))

    with bp.recording.record(world, "run.rrd") as recording:
        world.step(0.1)
        assert (recording._colours() == APART).all()
        assert recording._entered(world.frame).tolist() == []
        assert "events/enter" not in [name for name, _ in stream[0].logged]


def test_recording_replaces_an_older_file_when_it_is_closed(stream, tmp_path):
    path = tmp_path / "run.rrd"
    path.write_bytes(b"old")
    with bp.recording.record(two_balls(), path):
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"recorded"
    assert [found.name for found in tmp_path.iterdir()] == ["run.rrd"]


def test_recording_of_a_world_that_is_dropped_is_finished(stream, tmp_path):
    bp.recording.record(two_balls(), tmp_path / "run.rrd")
    gc.collect()
    assert stream[0].is_closed
    assert (tmp_path / "run.rrd").exists()


def test_recording_not_closed_is_finished_at_exit(tmp_path):
    pytest.importorskip("rerun")
    path = tmp_path / "run.rrd"
    script = "import broadphase as bp; world = bp.World(dim=2); world.add(bp.Circle(1), position=(0, 0));"
    run_script(f"{script} recording = bp.recording.record(world, {str(path)!r}); world.step(0.1)")
    assert path.read_bytes().startswith(b"RRF")
    assert [found.name for found in tmp_path.iterdir()] == ["run.rrd"]


def test_world_may_be_recorded_twice_at_once(stream):
    world = two_balls()
    with bp.recording.record(world, "a.rrd"):
        with bp.recording.record(world, "b.rrd"):
            world.step()
        world.step()
    assert sum(name == "figures/bodies" for one in stream for name, _ in one.logged) == 3


def test_recorder_that_fails_does_not_mask_the_exception_of_a_handler(stream):
    world = two_balls()

    @world.on_enter()
    def fail(event):
        raise KeyError("of the handler")

    def fail_to_write(*_, **__):
        raise OSError("disk full")

    with bp.recording.record(world, "run.rrd"):
        stream[0].set_time = fail_to_write
        with pytest.raises(KeyError, match="of the handler") as caught:
            world.step()
    assert "disk full" in "".join(caught.value.__notes__)


def test_copy_of_a_recorded_world_is_not_recorded(stream):
    world = two_balls()
    with bp.recording.record(world, "run.rrd"):
        copy.deepcopy(world).step()
        assert not stream[0].logged


def test_step_whose_handler_raises_is_written(stream):
    world = two_balls()

    @world.on_enter()
    def fail(event):
        raise KeyError(event.kind)

    with bp.recording.record(world, "run.rrd"):
        with pytest.raises(KeyError):
            world.step()
        assert ("frame", 1) in stream[0].times


@pytest.mark.parametrize("dimension", [2, 3])
def test_every_shape_is_written_to_a_real_file(dimension, tmp_path):
    pytest.importorskip("rerun")
    test_plotting = pytest.importorskip("test_plotting")
    kinds = test_plotting.all_kinds_2d() if dimension == 2 else test_plotting.all_kinds_3d()
    world = bp.World(dim=dimension)
    places = np.random.default_rng(3).normal(size=(len(kinds), dimension))
    world.add_many(kinds, places * 4, angular_velocities=1.0 if dimension == 2 else (1.0, 0, 0))
    with bp.recording.record(world, tmp_path / "run.rrd"):
        for _ in range(3):
            world.step(dt=0.1)
            world.remove(world.rows[-1:])
    data = (tmp_path / "run.rrd").read_bytes()
    assert data.startswith(b"RRF")
    names = ["outlines", "discs", "points"] if dimension == 2 else ["balls", "boxes", "solids", "lines", "points"]
    assert not [name for name in names if f"/bodies/{name}".encode() not in data]


def test_import_of_the_package_does_not_import_rerun():
    assert run_script("import sys, broadphase; print('rerun' in sys.modules)").strip() == "False"


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rerun", None)
    world = two_balls()
    with pytest.raises(bp.errors.MissingExtraError, match=r"broadphase\[record\]"):
        bp.recording.record(world, "run.rrd")
    world.step()


def test_quaternions_are_those_of_the_matrices():
    given = np.random.default_rng(5).normal(size=(50, 4))
    given = np.concatenate([given, np.eye(4)])
    given /= np.linalg.norm(given, axis=1, keepdims=True)
    found = quaternions_of(as_matrices(given, 3))
    assert np.allclose(np.abs((found * given).sum(axis=1)), 1.0)
