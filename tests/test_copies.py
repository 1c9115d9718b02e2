"""Copies and pickles: every public class is as the original and independent of it, or says why it is not."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase import boxes, data, io, morton, recording, scale, scenes, testing
from index_cases import CLASSES
from shape_cases import CLASSES as SHAPES, Numbers, shape_of

BOXES = np.array([[0.0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 10, 10]])
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def flat():
    return bp.Shapes(bp.Circle(1), [[0, 0], [1, 0], [9, 9]])


def solids():
    return bp.Shapes(bp.Sphere(1), [[0, 0, 0], [1, 0, 0], [9, 9, 9]])


def arm():
    return bp.Articulated([bp.Link("a", bp.Sphere(1)), bp.Link("b", bp.Sphere(1), parent="a", joint="prismatic")])


class Ball(bp.Actor):
    """An actor with something of its own."""


class Disc(bp.CustomShape, dim=2):
    """A shape of a user."""

    @staticmethod
    def bounds(values):
        return np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]])

    @staticmethod
    def overlaps(first, second):
        return NotImplemented


def world():
    made = bp.World(2)
    made.add(bp.Circle(1), position=(0, 0), layer="a", actor=bp.Actor, data={"name": "first"})
    made.add(bp.Circle(1), position=(1, 0), layer="a", ccd=True, velocity=(1, 0))
    made.add(bp.Circle(1), position=(9, 9))
    return made


def event():
    made, found = world(), []
    made.on_enter("a", "a")(found.append)
    made.step(0.1)
    return found[0]


def step_info():
    made, found = world(), []

    class Told(bp.Actor):
        def update(self, info):
            found.append(info)

    made.add(bp.Circle(1), position=(50, 0), actor=Told)
    made.step(0.1)
    return found[0]


RESULTS = {
    "Changes": lambda: bp.BVH(BOXES).changes(),
    "ClashGroups": lambda: bp.clashes(solids()).grouped(["a", "b", "b"]),
    "Clashes": lambda: bp.clashes(solids()),
    "Clearances": lambda: bp.clearances(solids(), max_distance=1.0),
    "Contact": lambda: event().contact,
    "Contacts": lambda: bp.contacts(flat()),
    "Delimiters": lambda: bp.SweepAndPrune(BOXES).delimiters(),
    "Event": event,
    "Explanation": lambda: bp.explain(BOXES),
    "Frame": lambda: world().step(0.1),
    "Hit": lambda: world().raycast((-9, 0), (1, 0)),
    "Impact": lambda: bp.world.Impact(0.5, np.array([1.0, 0.0])),
    "Impacts": lambda: bp.time_of_impact(flat(), flat(), pairs=[[0, 1]], motions=[[1, 0]]),
    "IndexStats": lambda: bp.BVH(BOXES).stats(),
    "LidarScan": lambda: world().lidar([0], [0.0]),
    "Nearest": lambda: bp.BVH(BOXES).nearest([[0, 0]], k=2),
    "Neighbors": lambda: bp.neighbors(CUBE, 1.0, distances=True),
    "NeighborTable": lambda: bp.neighbors(CUBE, 1.0, full=True, distances=True).padded(3),
    "Outline": lambda: bp.BVH(BOXES).outline(),
    "PaddedContacts": lambda: bp.contacts(flat()).padded(2, 2),
    "PaddedHits": lambda: bp.BVH(BOXES).raycast_all([[-1, 0.5]], [[1, 0]]).padded(2),
    "PaddedResult": lambda: bp.BVH(BOXES).query(BOXES).padded(2),
    "Poses": lambda: arm().poses([[1.0]]),
    "Collisions": lambda: arm().collides([[0.5], [9.0]], pairs=True),
    "NearestParts": lambda: arm().clearance([[0.5], [9.0]], points=True),
    "QueryResult": lambda: bp.BVH(BOXES).query(BOXES),
    "RayHits": lambda: bp.BVH(BOXES).raycast([[-1, 0.5]], [[1, 0]]),
    "RayHitsAll": lambda: bp.BVH(BOXES).raycast_all([[-1, 0.5]], [[1, 0]]),
    "ShapeRayHits": lambda: bp.raycast(flat(), [[-5, 0]], [[1, 0]]),
    "ShapeRayHitsAll": lambda: bp.raycast(flat(), [[-5, 0]], [[1, 0]], every=True),
    "StepInfo": step_info,
    "ShapecastHits": lambda: bp.BVH(BOXES).shapecast(BOXES, [[1, 0]] * 3),
    "Visible": lambda: world().visible(planes=[[1.0, 0, 5.0]]),
}
ARGUMENTS = {
    **{name: (lambda name=name, d=d: shape_of(name, Numbers(np.random.default_rng(1), d)))
       for d, names in SHAPES.items() for name in names},
    "CustomShape": Disc, "Shapes": flat,
    "CustomRows": lambda: bp.shapes.CustomRows(Disc, {"radius": np.ones(1)}, np.zeros((1, 2)), np.eye(2)[np.newaxis]),
    "Articulated": arm, "Link": lambda: bp.Link("a", bp.Sphere(1)), "Obstacles": lambda: bp.Obstacles(solids()),
    "Actor": lambda: world().actor(0), "Budget": lambda: bp.Budget(1.0, 5), "World": world,
    "IndexOptions": lambda: bp.BVH.options(quality="sah"), "NeighborList": lambda: bp.NeighborList(1.0, skin=0.1),
    **{name: (lambda name=name: getattr(bp, name)(BOXES))
       for name in CLASSES},
    "Cells": lambda: bp.Grid(BOXES).cells if hasattr(bp.Grid(BOXES), "cells") else bp.LinearTree(BOXES).cells,
    "TreeCells": lambda: bp.Octree(BOXES).cells,
    "PaddedPairs": lambda: bp.index.PaddedPairs(np.zeros((2, 2), np.int32), np.int64(1)),
    "scale.BoxColumns": scale.BoxColumns, "scale.Report": lambda: scale.Report(1, 2, 3, 4, 5),
    "scale.Plan": lambda: scale.Plan(2, np.array([5.0]), np.array([0], np.int32), np.array([0, 1], np.int32)),
    "scenes.Scene": lambda: scenes.load("bouncing_spheres"),
    "scenes.Run": lambda: scenes.load("bouncing_spheres").start(),
    "scenes.EventLog": lambda: scenes.EventLog(scenes.load("bouncing_spheres").start()),
    "testing.MovingScene": lambda: testing.MovingScene(BOXES.reshape(-1, 2, 2)),
    "recording.Replay": lambda: recording.Replay(world()),
    **{name: (lambda name=name: getattr(bp.errors, name)("a message"))
       for name in ("FileFormatError", "InvalidBoxError", "InvalidBoxWarning", "MissingExtraError",
                    "PartialFileWarning", "TooManyPairsError", "UnknownRowError", "UnsupportedQueryError")},
}  # fmt: skip
MADE = RESULTS | ARGUMENTS
NOT_MADE = {"BoxIndex", "Shape"}  # bases of others
#: Values without references to anything that runs: dataclasses and tuples that are made from files or rules.
PLAIN = {
    "data.DataSet", "io.BoxFile", "io.Part", "io.PartFile", "scenes.Emit", "scenes.Group",
    "scenes.Remove", "testing.Scene",
}  # fmt: skip
REFUSED = {"recording.Recording", "adapters.Installation", "demo.DemoPage", "gpu.Index"}


SUBJECTS = (bp, bp.errors, bp.explanation, bp.index, bp.narrow, bp.points, bp.robots, bp.shapes, bp.world)


def public_classes():
    for module in (*SUBJECTS, boxes, data, io, morton, recording, scale, scenes, testing):
        prefix = "" if module in SUBJECTS else f"{module.__name__[11:]}."
        names = dir(bp) if module is bp else module.__all__
        yield from (f"{prefix}{name}" for name in names if inspect.isclass(getattr(module, name)))


def facts(value, depth=0):
    """What can be compared of a value: arrays as lists, objects by their public attributes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, repr(value.tolist())
    if isinstance(value, bp.Shapes):
        return len(value), repr(value), facts(value.boxes), facts(value.positions), facts(value.rotations)
    if isinstance(value, bp.Obstacles):
        return facts(value.shapes)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bp.index.BoxIndex):
        return type(value), facts(value.boxes_of(value.rows)), value.pairs().tolist()
    if isinstance(value, bp.World):
        return value.number, value.time, value.positions.tolist(), value.pairs.tolist(), len(value)
    if isinstance(value, bp.Actor):
        return type(value), value.handle, value.data, facts(value.world)
    if isinstance(value, tuple | list):
        return [facts(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {name: facts(one, depth + 1) for name, one in value.items()}
    if type(value).__module__.endswith("_core") or isinstance(value, frozenset | set):
        return sorted(map(repr, value)) if isinstance(value, frozenset | set) else type(value)
    if isinstance(value, int | str | bytes | type | None | np.generic) or callable(value) or depth > 3:
        return repr(value) if callable(value) and not isinstance(value, type) else value
    if isinstance(value, BaseException):
        return type(value), str(value), vars(value)
    if dataclasses.is_dataclass(value):
        return type(value), [facts(getattr(value, one.name), depth + 1) for one in dataclasses.fields(value)]
    names = [name for name, _ in inspect.getmembers(type(value)) if not name.startswith("_")]
    names += [name for name in getattr(value, "__dict__", ()) if not name.startswith("_")]
    found = {name: getattr(value, name, None) for name in names}
    return type(value), {name: facts(one, depth + 1) for name, one in found.items() if not inspect.ismethod(one)}


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def arrays_in(value, seen, depth=0):
    """All arrays that belong to a value."""
    if id(value) in seen or depth > 6:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from arrays_in(one, seen, depth + 1)
    elif isinstance(value, dict):
        for one in value.values():
            yield from arrays_in(one, seen, depth + 1)
    elif type(value).__module__.startswith("broadphase") and not isinstance(value, type):
        for name in [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]:
            yield from arrays_in(getattr(value, name, None), seen, depth + 1)


def test_every_public_class_is_in_one_of_the_lists():
    assert set(public_classes()) - set(MADE) - NOT_MADE - PLAIN - REFUSED == set()


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_plain_values_are_dataclasses_or_tuples(name):
    module, _, kind = name.partition(".")
    made = getattr(importlib.import_module(f"broadphase.{module}"), kind)
    assert dataclasses.is_dataclass(made) or issubclass(made, tuple)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("name", MADE)
def test_copy_is_as_the_original(name, copied):
    original = MADE[name]()
    other = copied(original)
    assert type(other) is type(original)
    assert facts(other) == facts(original)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("name", MADE)
def test_deep_copy_shares_no_array_that_can_be_written(name, copied):
    original = MADE[name]()
    mine = list(arrays_in(original, {}))
    for array in arrays_in(copied(original), {}):
        if array.flags.writeable:
            assert not any(np.shares_memory(array, one) for one in mine)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
def test_changes_of_a_copy_leave_the_original(copied):
    for kind in (getattr(bp, name) for name in CLASSES):
        index = kind(BOXES)
        other = copied(index)
        other.insert([[0, 0, 1, 1]])
        assert (len(index), len(other)) == (3, 4)
        assert len(other.pairs()) == 3
        assert len(index.pairs()) == 1
    one = world()
    other = copied(one)
    other.remove(0)
    other.step(1.0)
    assert (len(one), one.number) == (3, 0)
    assert one.step().pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
def test_copy_of_a_frame_outlives_the_world_with_its_contacts(copied):
    made = world()
    other = copied(made.step(0.1))
    late = made.frame
    depths = other.contacts.depths.tolist()
    made.step(0.1)
    made.remove(0)
    assert other.contacts.depths.tolist() == depths != []
    assert other.pairs.tolist() == [[0, 1]]
    assert other.impacts.pairs.tolist() == late.impacts.pairs.tolist()
    assert repr(other) == "<Frame 1: 1 pairs touch, 1 enter, 0 exit>"
    assert not other.pairs.flags.writeable
    made.add(bp.Circle(1), position=(1, 1))
    frame = made.step()
    made.step()
    with pytest.raises(RuntimeError, match="have expired"):
        _ = copied(frame).contacts


def test_event_and_its_world_are_copied_together():
    found = event()
    kept = {"event": found, "world": found.actor.world}
    for copied in (copy.deepcopy, pickled):
        other = copied(kept)
        assert other["event"].actor.world is other["world"]
        assert other["event"].actor.data == {"name": "first"}
        assert other["event"].contact.depth == found.contact.depth


def test_what_cannot_be_copied_says_why(tmp_path):
    pytest.importorskip("scipy")
    installation = bp.adapters.install("scipy")
    try:
        for copied in (copy.copy, copy.deepcopy, pickled):
            with pytest.raises(TypeError, match="an Installation cannot be copied or pickled: "):
                copied(installation)
    finally:
        installation.__exit__(None, None, None)
    pytest.importorskip("warp")
    for copied in (copy.copy, copy.deepcopy, pickled):
        with pytest.raises(TypeError, match=r"a gpu\.Index cannot be copied or pickled: "):
            copied(bp.gpu.Index.__new__(bp.gpu.Index))
    pytest.importorskip("rerun", reason="the extra `record` is not installed")
    with bp.recording.record(world(), tmp_path / "run.rrd") as running:
        for copied in (copy.copy, copy.deepcopy, pickled):
            with pytest.raises(TypeError, match="a Recording cannot be copied or pickled: "):
                copied(running)


# Drop-ins: as the class of the original library


def group_of(sprites, kind):
    import pygame

    made = kind()
    for x in range(sprites):
        sprite = pygame.sprite.Sprite(made)
        sprite.rect = pygame.Rect(10 * x, 0, 15, 10)
    return made


DROP_INS = {
    ("scipy", "cKDTree", "scipy.spatial"): (lambda kind: kind(CUBE), lambda one: one.query(CUBE)[0].tolist()),
    ("scipy", "KDTree", "scipy.spatial"): (lambda kind: kind(CUBE), lambda one: one.query(CUBE)[0].tolist()),
    ("shapely", "STRtree", "shapely"): (
        lambda kind: kind(importlib.import_module("shapely").box(*BOXES.T)),
        lambda one: one.query(one.geometries).tolist(),
    ),
    ("rtree", "Index", "rtree.index"): (
        lambda kind: kind((row, tuple(box), None) for row, box in enumerate(BOXES.tolist())),
        lambda one: sorted(one.intersection((0, 0, 2, 2))),
    ),
    ("ase", "PrimitiveNeighborList", "ase.neighborlist"): (
        lambda kind: kind([0.6] * 8, skin=0.1),
        lambda one: one.update([True] * 3, np.eye(3) * 5, CUBE),
    ),
    ("ase", "NeighborList", "ase.neighborlist"): (lambda kind: kind([0.6] * 8, skin=0.1), lambda one: one.nupdates),
    ("trimesh", "CollisionManager", "trimesh.collision"): (lambda kind: kind(), lambda one: len(one._objs)),
    ("pygame", "Group", "pygame.sprite"): (lambda kind: group_of(3, kind), len),
    ("arcade", "SpatialHash", "arcade.sprite_list.spatial_hash"): (lambda kind: kind(10), lambda one: one.count),
}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("where", DROP_INS, ids=lambda where: f"{where[0]}.{where[1]}")
def test_drop_in_is_copied_as_the_class_that_it_stands_in_for(where, copied):
    library, name, home = where
    pytest.importorskip(home)
    make, answer = DROP_INS[where]
    ours = getattr(importlib.import_module(f"broadphase.adapters.{library}"), name)
    original = make(ours)
    if name == "CollisionManager" and copied is not copy.copy:  # nor can that of trimesh, which needs python-fcl
        with pytest.raises(TypeError, match="a CollisionManager cannot be pickled or copied deeply"):
            copied(original)
        return
    other = copied(original)
    assert type(other) is ours
    assert answer(other) == answer(original)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
def test_model_of_mesa_is_copied_with_its_space(copied):
    mesa = pytest.importorskip("mesa")
    from broadphase.adapters.mesa import ContinuousSpace, ContinuousSpaceAgent, LegacyContinuousSpace

    model = mesa.Model(seed=1)
    model.empty = ContinuousSpace([[0, 9], [0, 9]], random=model.random)
    model.space = ContinuousSpace([[0, 99], [0, 99]], torus=True, random=model.random, n_agents=3)
    model.old = LegacyContinuousSpace(100, 100, torus=True)
    for x in range(5):
        ContinuousSpaceAgent(model.space, model).position = [10 * x, 50]
        model.old.place_agent(mesa.Agent(model), (10 * x, 50))
    near = [agent.unique_id for agent in model.space.get_agents_in_radius([1, 50], 12)[0]]
    old = [agent.unique_id for agent in model.old.get_neighbors((1, 50), 12)]
    other = copied(model)
    assert [agent.unique_id for agent in other.space.get_agents_in_radius([1, 50], 12)[0]] == near
    assert [agent.unique_id for agent in other.old.get_neighbors((1, 50), 12)] == old
    moved = other.space.active_agents[0]
    moved.position = [40, 50]
    ContinuousSpaceAgent(other.space, other).position = [2, 50]
    other.old.move_agent(next(iter(other.old._agent_to_index)), (60, 50))
    ContinuousSpaceAgent(other.empty, other).position = [2, 2]
    assert moved.position.tolist() == [40, 50]
    assert len(other.empty.get_agents_in_radius([2, 2], 1)[0]) == 1
    expected = [agent.unique_id for agent in other.space.active_agents if abs(agent.position[0] - 1) <= 12]
    assert [agent.unique_id for agent in other.space.get_agents_in_radius([1, 50], 12)[0]] == expected
    assert len(other.old.get_neighbors((1, 50), 12)) == len(old) - 1
    assert [agent.unique_id for agent in model.space.get_agents_in_radius([1, 50], 12)[0]] == near
    assert [agent.unique_id for agent in model.old.get_neighbors((1, 50), 12)] == old
    assert len(model.empty.active_agents) == 0


def test_shallow_copies_of_spaces_of_mesa_see_what_the_original_sees():
    mesa = pytest.importorskip("mesa")
    from broadphase.adapters.mesa import ContinuousSpace, ContinuousSpaceAgent, LegacyContinuousSpace

    model = mesa.Model(seed=1)
    space = ContinuousSpace([[0, 99], [0, 99]], random=model.random)
    agents = [ContinuousSpaceAgent(space, model) for _ in range(3)]
    for agent in agents:
        agent.position = [50, 50]
    old = LegacyContinuousSpace(100, 100, torus=True)
    plain = mesa.Agent(model)
    old.place_agent(plain, (1, 1))
    assert old.get_neighbors((1, 1), 1) == [plain]
    other, other_old = copy.copy(space), copy.copy(old)
    assert other.get_agents_in_radius([50, 50], 1)[0] == agents
    agents[0].position = [1, 1]
    assert other.get_agents_in_radius([50, 50], 1)[0] == agents[1:]
    assert other_old.get_neighbors((1, 1), 1) == [plain]
