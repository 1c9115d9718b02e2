"""Snapshots of worlds that lie, with the right checksum: ValueError, never worse."""

import contextlib
import random

import numpy as np
import pytest

import broadphase as bp
from broadphase.world.snapshot_format import pack, unpack
from forged_snapshots import forged_arrays, forged_headers, refusal_of

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])


def full_world():
    """Make a world whose snapshot has every array."""
    world = bp.World(3, bounds=[[-9, -9, -9], [9, 9, 9]], boundary="bounce", margin=0.5)
    world.layer("walls", priority=2)
    rows = world.add_many(
        [
            bp.Sphere(1),
            bp.Box(1, 2, 3),
            bp.Box(1, 2, 3),
            bp.Capsule((0, 0, 0), (1, 0, 0), 0.5),
            bp.Compound([bp.Sphere(1), bp.Box(1, 1, 1, offset=(1, 0, 0))]),
            bp.Sphere(2),
            bp.Point(),
        ],
        [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0], [0.5, 0, 0], [0.25, 0, 0]],
        velocities=(1, 0, 0),
        rotations=(1, 0, 0, 1),
        angular_velocities=(0, 0, 1),
        layer="walls",
        mask={"walls", "default"},
        group=[0, 1, 2, -1, 0, 0, 0],
        sensor=[True] + [False] * 6,
        ccd=[False] * 4 + [True] * 3,
        update_interval=[1, 1, 1, 2, 1, 1, 1],
        boundary=["remove"] + ["bounce"] * 6,
        batch=7,
    )
    mesh = bp.Mesh(TETRAHEDRON, [[0, 1, 2]])
    world.add_many([bp.ConvexHull(TETRAHEDRON), mesh], [[30, 0, 0], [40, 0, 0]], body_type="static", batch=7)
    world.sleep(rows[1])
    world.ignore([[0, 2]])
    world.step(0.1, budget=bp.Budget(tests=3))
    world.remove(rows[5])
    world.move(rows[:1], [[0.5, 0, 0]])
    world.add(bp.Sphere(1), position=(0, 0, 1), data="x", batch=7)
    world.remove(rows[6])
    return world


FULL = full_world().to_bytes()
ABOUT, ARRAYS = unpack(FULL)


def load(world=None, data=None, without=(), **arrays):
    """Load a snapshot with other things in it."""
    about = {"world": ABOUT["world"] | (world or {}), "data": ABOUT["data"] if data is None else data}
    kept = {name: array for name, array in ARRAYS.items() if name not in without}
    return bp.World.from_bytes(pack(about, kept | {name: np.asarray(array) for name, array in arrays.items()}))


def changed(name, place, value):
    array = ARRAYS[name].copy()
    array[place] = value
    return {name: array}


def test_world_of_these_tests_has_every_array_and_loads():
    assert load().to_bytes() == FULL
    world = load()
    for _ in range(3):
        world.step(0.1)
    expected = {
        "alive", "batches", "body_types", "boundaries", "bounds", "ccd", "changed", "displaced", "generation",
        "generation_then", "groups",
        "hull_points_0", "ignored", "layer", "mask", "mesh_faces_1", "mesh_vertices_1", "positions", "renewed",
        "rotations", "seen_positions", "seen_rotations", "sensors", "asleep", "shape_kinds", "shape_numbers",
        "shape_sizes", "angular_velocities", "time", "touching", "update_intervals", "velocities", "waiting",
        "waiting_dropped", "waiting_since",
    }  # fmt: skip
    assert set(ARRAYS) == expected
    assert len(ARRAYS["waiting"])
    assert len(ARRAYS["touching"])


OPTIONAL = {
    "angular_velocities", "asleep", "batches", "boundaries", "bounds", "ccd", "displaced", "groups", "ignored", "layer",
    "mask", "sensors", "update_intervals",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_missing_longer_shorter_and_other_arrays_are_refused(name):
    array = ARRAYS[name]
    if name not in OPTIONAL:
        with pytest.raises(ValueError, match=r"snapshot|bounds"):
            load(without=[name])
    other = np.uint32 if array.dtype != np.uint32 else np.uint64
    for wrong in (array.astype(other), array[np.newaxis]):
        with pytest.raises(ValueError, match=r"snapshot|bounds"):
            load(**{name: wrong})
    free = {"displaced", "hull_points_0", "ignored", "mesh_faces_1", "mesh_vertices_1", "touching"}
    if array.ndim and name not in free:
        for wrong in (array[:-1], np.concatenate([array, array[:1]])):
            with pytest.raises(ValueError, match=r"snapshot|bounds"):
                load(**{name: wrong})


def test_unknown_arrays_are_refused():
    with pytest.raises(ValueError, match="there are arrays 'more'"):
        load(more=[1])


LIES = {
    "dim": {"world": {"dim": 4}},
    "dim as text": {"world": {"dim": "3"}},
    "dim of others": {"world": {"dim": 2}},
    "method": {"world": {"method": "magic"}},
    "boundary": {"world": {"boundary": "lava"}},
    "margin": {"world": {"margin": -1.0}},
    "workers": {"world": {"workers": 0}},
    "number": {"world": {"number": -1}},
    "number without end": {"world": {"number": 2**70}},
    "slots": {"world": {"slots": 3}},
    "slots without end": {"world": {"slots": 10**12}},
    "no removals": {"world": {"removals": False}},
    "removals as a number": {"world": {"removals": 1}},
    "layers": {"world": {"layers": {"names": ["a"], "priorities": [0]}}},
    "layers of numbers": {"world": {"layers": {"names": ["default", 1], "priorities": [0, 0]}}},
    "too many layers": {"world": {"layers": {"names": ["default", *map(str, range(99))], "priorities": [0] * 100}}},
    "another key": {"world": {"more": 1}},
    "data as a dict": {"data": {"0": 1}},
    "data of a text": {"data": [["0", 1]]},
    "data of no row": {"data": [[99, 1]]},
    "data of a removed row": {"data": [[6, 1]]},
    "data of nothing": {"data": [[0, None]]},
    "data twice": {"data": [[0, 1], [0, 2]]},
    "data of three": {"data": [[0, 1, 2]]},
    "bounds upside down": changed("bounds", 0, 99.0),
    "bounds of NaN": changed("bounds", (0, 0), np.nan),
    "dead row": changed("alive", 0, False),
    "live row": changed("alive", 6, True),
    "generation 0": changed("generation", 0, 0),
    "generation past the last": changed("generation", 0, 2**31),
    "generation past all": changed("generation", 0, 2**40),
    "body type": changed("body_types", 0, 3),
    "boundary of a row": changed("boundaries", 0, 4),
    "update_interval": changed("update_intervals", 0, 0),
    "place of an unused row": changed("positions", 6, 1.0),
    "seen nowhere": changed("seen_positions", (0, 0), np.nan),
    "seen infinitely far": changed("seen_positions", (0, 0), np.inf),
    "seen turned by NaN": changed("seen_rotations", (0, 0), np.nan),
    "seen turned by nothing": changed("seen_rotations", 0, 0.0),
    "flag of 2": changed("changed", 0, 2),
    "renewed flag of 2": changed("renewed", 0, 2),
    "change of an unused row": changed("changed", 6, 1),
    "renewal of none": changed("renewed", 2, 0) | changed("renewed", 5, 0),
    "touching itself": changed("touching", 0, [0, 0]),
    "touching downwards": changed("touching", 0, [1, 0]),
    "touching beyond": changed("touching", 0, [0, 99]),
    "touching below": changed("touching", 0, [-1, 2]),
    "touching twice": {"touching": np.repeat(ARRAYS["touching"], 2, axis=0)},
    "touching in no order": {"touching": np.concatenate([ARRAYS["touching"], [[0, 1]]]).astype(np.int32)[::-1]},
    "waiting beyond": changed("waiting", 0, [0, 99]),
    "waiting twice": {name: np.repeat(ARRAYS[name], 2, axis=0) for name in ARRAYS if name.startswith("waiting")},
    "waiting since tomorrow": changed("waiting_since", 0, 99),
    "waiting since for ever": changed("waiting_since", 0, 0),
    "dropped twice": changed("waiting_dropped", 0, 2),
    "ignored beyond": changed("ignored", 0, [0, 99]),
    "ignored of an unused row": changed("ignored", 0, [0, 6]),
    "displaced beyond": {"displaced": np.array([99], np.int32)},
    "displaced below": {"displaced": np.array([-1], np.int32)},
    "displaced in no order": {"displaced": np.array([1, 0], np.int32)},
    "displaced of an unused row": {"displaced": np.array([6], np.int32)},
    "generation then": changed("generation_then", 0, 5),
    "generation then of 0": changed("generation_then", 5, 0),
    "shape of no kind": changed("shape_kinds", 0, 99),
    "shape of another kind": changed("shape_kinds", 0, 4),
    "shape of negative size": changed("shape_sizes", 0, -1),
    "shape of another size": changed("shape_sizes", 0, 5),
    "shape with NaN": changed("shape_numbers", 0, np.nan),
    "shape without an end": changed("shape_numbers", 0, 1e200),
    "negative radius": changed("shape_numbers", 3, -1.0),
    "negative half": changed("shape_numbers", 8, -1.0),
    "hull beyond": changed("shape_numbers", -38, 7.0),
    "hull of a fraction": changed("shape_numbers", -38, 0.5),
    "hull that is a mesh": changed("shape_numbers", -38, 1.0),
    "hull of another size": changed("shape_numbers", -20, 9.0),
    "flat hull": changed("hull_points_0", (3, 2), 0.0),
    "face beyond": changed("mesh_faces_1", (0, 0), 9),
}


@pytest.mark.parametrize("what", LIES)
def test_lie_with_the_right_checksum_is_refused(what):
    with pytest.raises(ValueError, match=r".") as caught:
        load(**LIES[what])
    assert str(caught.value)


def test_headers_of_other_forms_are_refused():
    for about in (None, [], {}, {"world": None, "data": []}, {"world": [], "data": []}, {"world": {}, "data": []}):
        with pytest.raises(ValueError, match="snapshot"):
            bp.World.from_bytes(pack(about, ARRAYS))


def test_what_is_no_bytes_is_a_type_error():
    with pytest.raises(TypeError):
        bp.World.from_bytes("text")


def test_every_flipped_bit_of_a_world_is_noticed():
    for place in range(0, len(FULL) * 8, 7):
        data = bytearray(FULL)
        data[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="snapshot"):
            bp.World.from_bytes(data)


def lie_and_go_on(rng):
    """Change some bytes of an array, with the right checksum; say whether that was refused."""
    name = rng.choice(sorted(ARRAYS))
    array = ARRAYS[name].copy()
    flat = array.reshape(-1).view(np.uint8)
    for _ in range(rng.randint(1, 3)):
        flat[rng.randrange(len(flat))] = (
            rng.randrange(2) if array.dtype == np.bool_ or rng.random() < 0.3 else rng.randrange(256)
        )
    try:
        world = load(**{name: array})
    except ValueError:
        return True
    assert len(bp.World.from_bytes(world.to_bytes())) == len(world)
    with (
        np.errstate(all="ignore"),
        contextlib.suppress(ValueError, ImportError),
    ):  # a place that is NaN, hulls that meet
        for _ in range(2):
            world.step(0.1)
    return False


FIELDS = {*ARRAYS, *ABOUT["world"], "world", "data", "header"}


def check_forged(what, data):
    message = refusal_of(data)
    assert message is None or any(name in message for name in FIELDS), (what, message)
    return message is not None


def test_every_forged_field_of_a_header_is_refused_by_name_or_makes_a_world_that_works():
    refused = [check_forged((path, value), data) for path, value, data in list(forged_headers(FULL))[::6]]
    assert sum(refused) > len(refused) // 2


def test_every_forged_array_is_refused_by_name_or_makes_a_world_that_works():
    forged = list(forged_arrays(FULL, np.random.default_rng(4)))[::10]
    assert len(forged) // 2 < sum(check_forged(*each) for each in forged) < len(forged)


def test_random_lies_are_refused_or_make_a_world_that_works():
    rng = random.Random(3)
    refused = sum(lie_and_go_on(rng) for _ in range(200))
    assert 50 < refused < 175
