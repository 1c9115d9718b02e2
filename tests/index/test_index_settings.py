"""Settings of index classes as values: checked, compared, described, and used by worlds."""

import copy
import json
import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.index.options import INDEX_CLASSES, IndexOptions
from index_cases import CLASSES

GIVEN = {name: {} for name in CLASSES} | {
    "SweepAndPrune": {"axis": [3.0, 4.0]},
    "LinearTree": {
        "storage": "flat",
        "traversal": "covered_leaves",
        "tuning": "origin",
        "most_depth": 5,
        "tune_every": 7,
        "tune_shares": (0.25, 0.5),
        "bounds": [[0, -np.inf], [90, 90]],
    },
    "Octree": {"minimum": 0.5, "leaf_capacity": 1, "looseness": 1, "bounds": [0, 0, 64, 64]},
    "BVH": {"quality": "sah", "workers": 2},
    "Index": {"workers": 2},
}


def made(name):
    return getattr(bp, name).options(**GIVEN[name])


def world_of(method, count=80):
    rng = np.random.default_rng(5)
    world = bp.World(dim=2, method=method, bounds=[[0, 0], [60, 60]], boundary="bounce")
    world.add_many(bp.Circle(2), rng.uniform(2, 58, (count, 2)), velocities=rng.normal(0, 5, (count, 2)))
    return world


def test_options_name_every_index_class():
    assert {made(name).method for name in GIVEN} == {row.name for row in bp.METHODS} | {"auto"}


@pytest.mark.parametrize("name", GIVEN)
def test_options_are_values_that_survive_pickling_json_and_repr(name):
    options = made(name)
    assert options == made(name)
    assert hash(options) == hash(made(name))
    assert pickle.loads(pickle.dumps(options)) == options
    assert bp.index.IndexOptions.of(json.loads(json.dumps(options.describe(), allow_nan=False))) == options
    assert eval(repr(options), {**vars(bp), "inf": np.inf}) == options
    assert (options == getattr(bp, name).options()) == (not GIVEN[name])
    with pytest.raises(AttributeError):
        options.settings = ()


@pytest.mark.parametrize("name", GIVEN)
def test_options_make_an_index_like_the_class_itself(name):
    rng = np.random.default_rng(3)
    lower = rng.uniform(0, 50, (200, 2))
    boxes = np.stack([lower, lower + 3], axis=1)
    index, same = made(name).make(boxes, layer=3), getattr(bp, name)(boxes, layer=3, **GIVEN[name])
    for one in (index, same):
        np.testing.assert_array_equal(one.pairs(sort=True), bp.pairs(boxes, sort=True))
    for key in ("depth", "cells", "nodes", "tests"):
        assert index.stats().get(key) == same.stats().get(key)
    again = pickle.loads(pickle.dumps(index))
    assert again.stats().get("cells") == index.stats().get("cells")


def test_options_of_a_class_say_what_is_wrong():
    with pytest.raises(TypeError, match=r"Octree\.options: unknown setting 'loosenes' \(did you mean 'looseness'\?\)"):
        bp.Octree.options(loosenes=1)
    with pytest.raises(ValueError, match="looseness must be 1 or more"):
        bp.Octree.options(looseness=0.5)
    with pytest.raises(ValueError, match="unknown quality"):
        bp.BVH.options(quality="best")
    with pytest.raises(ValueError, match="axis"):
        bp.SweepAndPrune.options(axis=[0.0, 0.0])
    with pytest.raises(ValueError, match="unknown method"):
        bp.index.IndexOptions.of({"leaf_capacity": 1})
    with pytest.raises(ValueError, match="name=value"):
        bp.Octree.options().with_texts(["leaf_capacity"])


@pytest.mark.parametrize("name", GIVEN)
def test_world_with_settings_has_the_events_of_any_other(name):
    world, other = world_of(made(name)), world_of("brute_force")
    for _ in range(12):
        frame, expected = world.step(0.1), other.step(0.1)
        np.testing.assert_array_equal(frame.enter, expected.enter)
        np.testing.assert_array_equal(frame.exit, expected.exit)
    assert world.method == made(name)
    assert world.stats()["method"] == made(name).method
    world.validate()


@pytest.mark.parametrize("name", GIVEN)
def test_settings_reach_the_index_of_a_world_and_its_snapshots(name):
    options = made(name)
    world = world_of(options)
    world.step(0.1)
    same = options.make(world.boxes[world.rows])
    same.pairs()
    for key in ("depth", "cells", "bytes_by_level", "tests"):
        if options.method not in ("auto", "brute_force"):
            assert world.index_stats().get(key) == same.stats().get(key), key
    again = bp.World.from_bytes(world.to_bytes())
    assert again.method == options
    assert again.to_bytes() == world.to_bytes()
    assert copy.deepcopy(world).method == options


def test_world_refuses_settings_that_do_not_fit_it():
    for options, message in (
        (bp.LinearTree.options(depth=40), "depth must be from 0 to 29"),
        (bp.LinearTree.options(bounds=[[0] * 3, [1] * 3]), "two corners of 2 numbers"),
        (bp.Octree.options(bounds=[[0] * 3, [1] * 3]), "two corners of 2 numbers"),
        (bp.SweepAndPrune.options(axis=2), "axis must be 0 to 1"),
        (bp.SweepAndPrune.options(axis=[1, 1, 1]), "2 finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            bp.World(dim=2, method=options)
        world = bp.World(dim=2)
        with pytest.raises(ValueError, match=message):
            world.method = options
        assert world.method == "auto"


def test_world_changes_its_settings_at_any_time():
    world = world_of("octree")
    for options in (bp.Octree.options(leaf_capacity=1), bp.LinearTree.options(depth=4), "auto", bp.BVH.options()):
        world.method = options
        world.step(0.1)
        assert world.method == options
        world.validate()


def test_snapshot_with_settings_that_do_not_exist_is_refused():
    data = world_of(bp.Octree.options(leaf_capacity=7)).to_bytes()
    from broadphase.world.snapshot_format import pack, unpack

    for wrong in ({"name": "octree", "leafs": 1}, {"name": "octree", "leaf_capacity": 0}, {"name": "tree"}, {}, []):
        about, arrays = unpack(data)
        about["world"]["method"] = wrong
        with pytest.raises(ValueError, match="method"):
            bp.World.from_bytes(pack(about, arrays))


@pytest.mark.parametrize("name", GIVEN)
def test_unknown_attribute_of_an_index_cannot_be_set(name):
    index = getattr(bp, name)([[0.0, 0.0, 1.0, 1.0]])
    for attribute in ("dept", "leaf_capacity", "quality", "axes", "margin"):
        with pytest.raises(AttributeError):
            setattr(index, attribute, 3)
    assert not hasattr(index, "__dict__")


def test_class_of_users_keeps_its_own_attributes():
    class Named(bp.BVH):
        pass

    index = Named([[0.0, 0.0, 1.0, 1.0]])
    index.label = "walls"
    again = copy.deepcopy(index)
    assert (again.label, len(again)) == ("walls", 1)
    again.insert([[0.5, 0.5, 2.0, 2.0]])
    assert again.pairs().tolist() == [[0, 1]]


@pytest.mark.parametrize("name", INDEX_CLASSES)
def test_an_index_class_stands_for_its_defaults_in_a_world(name):
    kind = INDEX_CLASSES[name]
    world = bp.World(dim=2, method=kind)
    assert world.method == kind.options() == IndexOptions.of(kind) == IndexOptions.of(name)
    assert world.stats()["method"] == name
    rows = world.add_many(bp.Circle(1), [[0, 0], [1, 0], [9, 9]])
    assert world.step().enter.tolist() == [[0, 1]]
    world.method = "bvh"
    world.positions[rows[2]] = 0, 1
    assert world.step().enter.tolist() == [[0, 2], [1, 2]]
    world.method = kind
    assert world.method == kind.options()
    again = bp.World.from_bytes(world.to_bytes())
    assert again.method in (name, kind.options())
    assert again.to_bytes() == world.to_bytes()


@pytest.mark.parametrize("kind", [int, bp.World, bp.index.BoxIndex, bp.Circle])
def test_a_class_that_is_no_index_is_refused_as_a_method(kind):
    with pytest.raises(TypeError, match="a method is a name, an index class, options or a dictionary, not <class"):
        bp.World(dim=2, method=kind)
    world = bp.World(dim=2)
    with pytest.raises(TypeError, match="a method is a name"):
        world.method = kind
    assert world.method == "auto"
