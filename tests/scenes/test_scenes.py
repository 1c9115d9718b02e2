"""Scenes: the content of their files, and equal results on every machine."""

import hashlib
import json
import tomllib
from importlib import resources

import numpy as np
import pytest

import broadphase as bp
from broadphase import scenes

BALLS = """
title = "Balls"

[world]
dim = 2
bounds = [[0, 0], [100, 50]]
boundary = "bounce"
dt = 0.5
steps = 20
seed = 3

[[group]]
name = "balls"
count = 40
shape = { type = "circle", radius = { from = 1, to = 3, skew = 2 } }
velocity = { from = -4, to = 4 }

[[group]]
name = "walls"
body_type = "static"
mask = ["balls"]
shape = { type = "rectangle", width = 4, height = 50 }
place = { how = "list", at = [[2, 25], [98, 25]] }
"""


def parse(text):
    return scenes.parse(tomllib.loads(text), "balls.toml", "balls")


def test_load_file_gives_all_attributes_of_a_scene(tmp_path):
    path = tmp_path / "balls.toml"
    path.write_text(BALLS)
    scene = scenes.load(path)
    assert (scene.name, scene.title, scene.dim, scene.boundary) == ("balls", "Balls", 2, "bounce")
    assert (scene.dt, scene.steps, scene.seed, scene.method) == (0.5, 20, 3, "auto")
    assert scene.layers == {"balls": 0, "walls": 0}
    world = scene.build()
    assert len(world) == 42
    assert world.dim == 2
    assert np.array_equal(world.positions[40:], [[2, 25], [98, 25]])
    assert (np.abs(world.velocities[:40]) <= 4).all()
    assert (world.velocities[:40] != 0).all()
    assert not world.velocities[40:].any()


def test_json_says_the_same_as_toml(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(tomllib.loads(BALLS)))
    (tmp_path / "a.toml").write_text(BALLS)
    assert scenes.load(tmp_path / "a.json") == scenes.load(tmp_path / "a.toml")


def test_bundled_scenes_are_those_in_the_folder():
    folder = resources.files("broadphase.data").joinpath("scenes")
    assert sorted(file.name for file in folder.iterdir()) == [f"{name}.toml" for name in scenes.NAMES]


@pytest.mark.parametrize("name", scenes.NAMES)
def test_bundled_scene_runs_as_documented(name):
    scene = scenes.load(name)
    assert name in scenes.load.__doc__
    run = scene.run(5)
    assert run.steps == 5
    assert len(run.world) == sum(group.count for group in scene.groups) + run.added - run.removed
    assert np.isfinite(run.world.positions).all()


def test_bundled_scenes_are_those_of_the_origins():
    rectangles, spheres = scenes.load("bouncing_rectangles").build(), scenes.load("bouncing_spheres").build()
    assert len(rectangles) == 1000
    assert np.array_equal(np.unique(np.ptp(rectangles.shapes.boxes, axis=1).round(9)), [10])
    assert 4.9 < np.abs(rectangles.velocities).max() <= 5
    assert len(spheres) == 300
    assert np.array_equal(np.unique(np.ptp(spheres.shapes.boxes, axis=1).round(6)), [700])
    assert 9000 < np.abs(spheres.positions).max() <= 9650
    sizes = np.ptp(scenes.load("crowd").build().shapes.boxes, axis=1).max(axis=1)
    assert sizes.min() < 1.1
    assert np.median(sizes) < 30
    assert sizes.max() > 390


GOLDEN = {
    "balls": "7227416d6b70f271",
    "bouncing_rectangles": "ebe227b3d8ef2425",
    "bouncing_spheres": "68d8656f455c630d",
    "crowd": "eed9a12b864be1d6",
    "machine_gun": "eb0e369658f741fd",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_first_frame_of_a_scene_is_the_same_everywhere(name):
    world = (parse(BALLS) if name == "balls" else scenes.load(name)).build()
    numbers = np.concatenate([world.positions.ravel(), world.velocities.ravel(), world.rotations.ravel()])
    records = world.shapes.store.records(world.rows)[2]
    digest = hashlib.sha256(numbers.astype("<f8").tobytes() + records.astype("<f8").tobytes()).hexdigest()
    assert digest[:16] == GOLDEN[name]


EVENTS = {
    "bouncing_rectangles": "aad9133f5cfb7f62",
    "bouncing_spheres": "dfff1d6f5724c8f8",
}  # nothing turns there: no sine, which may differ


@pytest.mark.parametrize("name", EVENTS)
def test_events_of_a_scene_are_the_same_everywhere(name):
    digest = hashlib.sha256()
    scenes.load(name).run(
        100, on_frame=lambda frame: digest.update(frame.enter.tobytes() + b"/" + frame.exit.tobytes())
    )
    assert digest.hexdigest()[:16] == EVENTS[name]


def test_groups_and_seeds_do_not_disturb_each_other():
    scene = parse(BALLS)
    more = BALLS.replace(
        '[[group]]\nname = "walls"', '[[group]]\nname = "dust"\nshape = { type = "point" }\n\n[[group]]\nname = "walls"'
    )
    assert np.array_equal(parse(more).build().positions[:40], scene.build().positions[:40])
    assert not np.array_equal(scene.changed(seed=4).build().positions[:40], scene.build().positions[:40])
    fewer = scene.changed(factor=0.5)
    assert [group.count for group in fewer.groups] == [20, 1]


def test_run_steps_as_often_as_asked_and_shows_every_frame():
    frames = []
    run = parse(BALLS).run(7, on_frame=frames.append)
    assert run.steps == len(frames) == 7
    assert frames[-1].time == pytest.approx(3.5)
    assert parse(BALLS).changed(steps=3, dt=0.25).run().world.time == pytest.approx(0.75)


@pytest.mark.parametrize("method", ["auto", *(method.name for method in bp.METHODS)])
def test_every_method_runs_the_same_scene(method):
    def events(scene):
        kept = []
        scene.run(15, on_frame=lambda frame: kept.append((frame.enter.tobytes(), frame.exit.tobytes())))
        return kept

    assert events(parse(BALLS).changed(method=method)) == events(parse(BALLS))


def test_settings_of_the_method_reach_the_world():
    text = BALLS.replace("seed = 3", 'seed = 3\nmethod = { name = "linear_tree", depth = 2, bounds = [0, 0, 50, 50] }')
    run = parse(text).run(3)
    assert run.world.method == bp.LinearTree.options(depth=2, bounds=[[0, 0], [50, 50]])
    assert run.world.index_stats()["depth"] == 2


def test_budget_of_a_scene_leaves_pairs_for_the_next_step():
    deferred = []
    text = BALLS.replace("seed = 3", "seed = 3\nbudget = { tests = 2 }")
    parse(text).run(5, on_frame=lambda frame: deferred.append(len(frame.deferred)))
    assert max(deferred) > 0


GUN = """
[world]
dim = 2
seed = 1

[layers]
bullets = 5

[[group]]
name = "wall"
body_type = "static"
shape = { type = "rectangle", width = 1, height = 100 }
place = { how = "list", at = [[50, 0]] }

[[group]]
name = "bullets"
count = 0
mask = "wall"
shape = { type = "circle", radius = 0.5 }
place = { how = "list", at = [[0, 0], [0, 5]] }
velocity = [10, 0]

[[rule]]
emit = "bullets"
count = 1
interval = 2
start = 1
stop = 8

[[rule]]
remove = "bullets"
touching = "wall"
"""


def test_rules_emit_on_time_and_remove_at_the_wall():
    run = parse(GUN).start()
    added, present, heights = [], [], []
    for _ in range(20):
        frame = run.step()
        added.append(run.added)
        present.append(len(run.world) - 1)
        heights += [float(run.world.positions[row, 1]) for row in frame.enter.ravel() if row != 0]
    assert added == [0, 1, 1, 2, 2, 3, 3, *[4] * 13]
    # A bullet that leaves at 0 touches the wall at 49.5 - 0.5 in its 5th step, and is gone after the next begins.
    assert max(present) == 3
    assert present[-1] == 0
    assert run.removed == 4
    assert heights == [0, 5, 0, 5]


def test_events_of_removed_bodies_keep_handles_and_layers():
    run = parse(GUN).start()
    log = scenes.EventLog(run, stay=True)
    found = []
    for _ in range(20):
        columns = log.columns(run.step())
        found += [{name: values[row] for name, values in columns.items()} for row in range(len(columns["frame"]))]
    enters = [one for one in found if one["event"] == "enter"]
    exits = [one for one in found if one["event"] == "exit"]
    assert len(enters) == len(exits) == 4
    assert not [one for one in found if one["event"] == "stay"]
    for begin, end in zip(enters, exits, strict=True):
        assert (begin["first_handle"], begin["second_handle"]) == (end["first_handle"], end["second_handle"])
        assert end["frame"] == begin["frame"] + 1
        assert {begin["first_layer"], begin["second_layer"]} == {"wall", "bullets"}
        assert (begin["first_layer"], begin["second_layer"]) == (end["first_layer"], end["second_layer"])
    assert len({one["second_handle"] for one in enters}) == 4
    assert len({one["second"] for one in enters}) < 4


def place(text, dim=2, count=30, bounds="bounds = [[0, 0], [10, 20]]"):
    group = f"[[group]]\ncount = {count}\nshape = {{ type = 'point' }}\nplace = {{ {text} }}"
    return parse(f"[world]\ndim = {dim}\n{bounds}\n{group}").build().positions


def test_uniform_places_fill_their_region():
    places = place("in = [[2, 3], [4, 9]]", count=2000)
    assert (places >= [2, 3]).all()
    assert (places <= [4, 9]).all()
    np.testing.assert_allclose(places.mean(axis=0), [3, 6], atol=0.2)
    assert place("").max() > 10  # all of the world


def test_grid_places_are_cell_centers_first_axis_fastest():
    assert place('how = "grid", spacing = 5', count=3).tolist() == [[2.5, 2.5], [7.5, 2.5], [2.5, 7.5]]
    full = place('how = "grid", spacing = [2, 5], in = [[0, 0], [4, 10]]', count=4)
    assert full.tolist() == [[1, 2.5], [3, 2.5], [1, 7.5], [3, 7.5]]


def test_clusters_are_dense_and_inside():
    places = place('how = "clusters", clusters = 3, spread = 0.1', count=300)
    assert (places >= 0).all()
    assert (places <= [10, 20]).all()
    assert len(np.unique(places.round(), axis=0)) < 40


def test_list_place_gives_the_count_or_repeats():
    assert place('how = "list", at = [[1, 2], [3, 4]]', count=3).tolist() == [[1, 2], [3, 4], [1, 2]]


def test_random_rotations_are_unit_quaternions_and_angles():
    boxes = "[world]\ndim = {}\n[[group]]\ncount = 50\nrotation = 'random'\nplace = {{ in = [{}, {}] }}\n"
    boxes += "shape = {{ type = {} }}"
    turned = parse(boxes.format(3, [0] * 3, [9] * 3, "'box', x = 1, y = 2, z = 3")).build().rotations
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), 1)
    assert len(np.unique(turned.round(6), axis=0)) == 50
    angles = parse(boxes.format(2, [0] * 2, [9] * 2, "'rectangle', width = 1, height = 2")).build().rotations
    assert angles.shape == (50,)
    assert 0 <= angles.min() < 1 < 5 < angles.max() < 2 * np.pi


SHAPES = {
    'type = "point", offset = [1, 2]': [[1, 2], [1, 2]],
    'type = "circle", radius = 2': [[-2, -2], [2, 2]],
    'type = "segment", start = [0, 0], end = [3, 1]': [[0, 0], [3, 1]],
    'type = "capsule", start = [0, 0], end = [3, 1], radius = 1': [[-1, -1], [4, 2]],
    'type = "rectangle", width = 2, height = 4': [[-1, -2], [1, 2]],
    'type = "rectangle", width = 2, height = 4, rotation = 1.5707963267948966': [[-2, -1], [2, 1]],
    'type = "aabb", size = [2, 4], offset = [1, 0]': [[0, -2], [2, 2]],
    'type = "triangle", corners = [[0, 0], [1, 0], [0, 1]]': [[0, 0], [1, 1]],
    'type = "convex_polygon", corners = [[0, 0], [2, 0], [2, 1], [0, 1]]': [[0, 0], [2, 1]],
    'type = "compound", parts = [{ type = "circle", radius = 1 }, { type = "point", offset = [5, 0] }]': [
        [-1, -1],
        [5, 1],
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shape_types_give_their_classes(shape):
    text = f"[world]\ndim = 2\n[[group]]\nshape = {{ {shape} }}\nplace = {{ how = 'list', at = [[0, 0]] }}"
    np.testing.assert_allclose(parse(text).build().shapes.boxes[0], SHAPES[shape], atol=1e-9)
