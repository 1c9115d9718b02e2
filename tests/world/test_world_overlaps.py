"""What overlaps something in a world, and what a moving shape touches first: the same however the bodies are kept."""

from functools import partial
from itertools import product

import numpy as np
import pytest

import broadphase as bp
import shape_cases
from broadphase.errors import UnsupportedQueryError
from broadphase.index.queries import QUERIES
from broadphase.methods import METHODS
from broadphase.narrow.row_pairs import impacts, overlap_mask
from broadphase.shapes.placed import shapes_of_boxes
from query_cases import arguments_of
from world_query_cases import ball

EVERY_METHOD = ["auto", *(method.name for method in METHODS)]


class Scene:
    """Bodies of all kinds, with layers and batches and gaps in their rows, and queries about them."""

    def __init__(self, d, seed, count=9, **options):
        self.d, self.rng = d, np.random.default_rng([d, seed])
        self.world = bp.World(dim=d, **options)
        every = shape_cases.BOUNDED if options.get("boundary") == "wrap" else shape_cases.CLASSES
        for name in every[d]:
            kept = name in shape_cases.KEPT
            numbers = shape_cases.Numbers(self.rng, d) if kept else shape_cases.Rows(self.rng, d, count)
            layer = self.rng.choice(["ball", "wall"], count).tolist()
            self.world.add_many(
                shape_cases.shape_of(name, numbers), self.places(count), rotations=self.turns(count), layer=layer,
                batch=self.rng.integers(0, 3, count), body_type="kinematic",
            )  # fmt: skip
        self.world.remove(self.rng.choice(self.world.rows, count, replace=False))
        self.world.move(self.world.rows[::3], self.places(len(self.world.rows[::3])))

    def places(self, count):
        return self.rng.uniform(-1, 11, (count, self.d))

    def turns(self, count):
        return self.rng.uniform(0, 6, count) if self.d == 2 else self.rng.normal(size=(count, 4))

    def calls(self, count):
        """Give queries by name that a world answers with any method, and the filters that they are asked with."""
        rng, d = self.rng, self.d
        places, turns = self.places(count), self.turns(count)
        motions = rng.normal(size=(count, d)) * rng.choice([0, 1, 30], (count, 1))
        boxes = np.stack([places, places + rng.uniform(0, 4, (count, d))], axis=1)
        stick = bp.Capsule([0] * d, [4] * d, 0.25)
        given = arguments_of(boxes, motions, distance=1.5)
        calls = {
            query.name: partial(call, query.name, **given[query.name])
            for query in QUERIES
            if query.in_worlds and all(query.capability in method.capabilities for method in METHODS)
        }
        calls["of shapes"] = partial(call, "query_shape", stick, places, turns)
        calls["casts"] = partial(call, "shapecast", stick, places, motions, turns)
        rows = rng.choice(self.world.rows, (count, 2))
        filters = [
            {},
            {"mask": "wall", "ignore": rows},
            {"batch": rng.integers(0, 4, count), "workers": 2},
            {"batch": 1, "layer": "ball", "ignore": rows[:1]},
        ]
        return calls, filters


def call(name, *arguments, world, **options):
    return getattr(world, name)(*arguments, **options)


def listed(found):
    return [np.asarray(part).tolist() for part in (found if isinstance(found, tuple) else (found.rows, found.offsets))]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("count", [3, 600])  # on both sides of what is joined, and of what is sorted along a curve
def test_queries_do_not_depend_on_how_the_bodies_are_kept(d, count):
    scene = Scene(d, count, method="brute_force", margin=0.0)
    calls, filters = scene.calls(count)
    some = 0
    for (name, ask), filtered in product(calls.items(), filters):
        scene.world.method, expected = "brute_force", None
        for method in EVERY_METHOD:
            scene.world.method = method
            for _ in range(2):  # many boxes are filed by the second call
                found = listed(ask(world=scene.world, **filtered))
                expected = found if expected is None else expected
                assert found == expected, (name, method, filtered)
        some += len(expected[0]) > 0
    assert some > len(calls)


@pytest.mark.parametrize("d", [2, 3])
def test_queries_do_not_depend_on_the_margin(d):
    narrow, wide = (Scene(d, 5, method="bvh", margin=margin) for margin in (0.0, 3.0))
    calls, filters = narrow.calls(40)
    for ask, filtered in product(calls.values(), filters):
        assert listed(ask(world=narrow.world, **filtered)) == listed(ask(world=wide.world, **filtered))


@pytest.mark.parametrize("kind", ["boxes", "balls", "both"])
def test_many_queries_after_each_change_find_what_each_finds_alone(kind):
    rng = np.random.default_rng([7, len(kind)])
    world = bp.World(dim=2)
    shapes = {"boxes": [bp.AABB([1, 2])], "balls": [bp.Circle(0.7)], "both": [bp.AABB([1, 2]), bp.Circle(0.7)]}[kind]

    def add(count):
        for shape in shapes:
            world.add_many(shape, rng.uniform(0, 20, (count, 2)), layer=rng.choice(["ball", "wall"], count).tolist())

    changes = [
        lambda: add(100),
        lambda: world.move(world.rows[::2], rng.uniform(0, 20, (len(world.rows[::2]), 2))),
        lambda: world.remove(world.rows[3::7]),
        lambda: (world.velocities.__setitem__(slice(None), 3.0), world.step(0.5)),
        lambda: world.set_filters(world.rows[::3], mask=0),
        lambda: add(3),
        lambda: world.remove(world.rows),
    ]
    for change in changes:
        change()
        places = rng.uniform(-1, 21, (120, 2))
        boxes = np.concatenate([places, places + rng.uniform(0, 3, (120, 2))], axis=1)
        for options in ({}, {"mask": "wall"}, {}, {"ignore": int(world.rows[0]) if len(world.rows) else -1}):
            for ask, given, more in (
                (world.query, boxes, ()), (world.query_points, places, ()), (world.query_ball, places, (1.0,)),
            ):  # fmt: skip
                alone = [ask(one, *more, **options).tolist() for one in given]
                assert [rows.tolist() for rows in ask(given, *more, **options)] == alone


# Periodic worlds ------------------------------------------------------------------------------------------------------


def rows_of_images(world, placed, size, allowed=None):
    """Find which bodies each placed shape overlaps, by trying its nearest images with each body."""
    rows, count, found = world.rows, len(placed), []
    if allowed is not None:
        rows = rows[allowed(rows)]
    pairs = np.tile(rows, count), np.repeat(np.arange(count, dtype=np.int32), len(rows))
    for periods in product(range(-3, 4), repeat=world.dim):
        offsets = np.broadcast_to(np.array(periods) * size, (len(pairs[0]), world.dim)).copy()
        found.append(overlap_mask(world.shapes, placed, *pairs, offsets))
    hit = np.logical_or.reduce(found).reshape(count, len(rows))
    return [rows[of_query].tolist() for of_query in hit]


@pytest.mark.parametrize("method", ["auto", "grid"])
@pytest.mark.parametrize("d", [2, 3])
def test_queries_across_periodic_boundaries_try_every_image_of_every_kind(d, method):
    size = np.array([10.0, 9.0, 8.0][:d])
    scene = Scene(d, 8, count=3, boundary="wrap", bounds=[[0] * d, size], method=method)
    world, rng, count = scene.world, scene.rng, 12
    places, turns, half = scene.places(count), scene.turns(count), rng.uniform(0, 4, (count, d))
    radii = rng.uniform(0, 3, count)
    solid = bp.Rectangle if d == 2 else bp.Box
    asked = {
        "points": (world.query_points(places), bp.Shapes(bp.Point(), places)),
        "balls": (world.query_ball(places, radii), bp.Shapes(ball(d, radii), places)),
        "boxes": (
            world.query(np.stack([places - half, places + half], axis=1)),
            shapes_of_boxes(np.stack([places - half, places + half], axis=1)),
        ),
        "oriented boxes": (world.query_obb(places, half, turns), bp.Shapes(solid(*2 * half.T), places, turns)),
    }
    for name in shape_cases.BOUNDED[d]:
        shape = shape_cases.shape_of(name, shape_cases.Numbers(rng, d))
        asked[name] = world.query_shape(shape, places, turns), bp.Shapes(shape, places, turns)
    for name, (found, placed) in asked.items():
        expected = rows_of_images(world, placed, size)
        assert [rows.tolist() for rows in found] == expected, name
    assert sum(len(found.rows) for found, _ in asked.values()) > 100


def test_bodies_far_from_a_periodic_world_are_found_with_their_filters():
    size = np.array([10.0, 10.0])
    world = bp.World(dim=2, boundary="wrap", bounds=[[0, 0], size])
    rng = np.random.default_rng(3)
    world.add_many(bp.Circle(0.5), rng.uniform(0, 10, (40, 2)), layer="near", batch=np.arange(40) % 2)
    far = rng.uniform(0, 10, (40, 2)) + rng.integers(-3, 4, (40, 2)) * 10 * [1, 1000]
    world.add_many(bp.Circle(0.5), far, body_type="kinematic", layer="far", batch=np.arange(40) % 2)
    places = rng.uniform(0, 10, (30, 2))
    away = (world.positions - places[:, np.newaxis] + 5) % 10 - 5
    near = (away**2).sum(axis=2) <= 1.5**2
    batches = np.arange(30) % 2
    rows, own = np.arange(80), np.tile(np.arange(40) % 2, 2)
    ignored = rng.integers(0, 80, (30, 3))
    is_ignored = (ignored[:, :, np.newaxis] == rows).any(axis=1)
    is_own = own == batches[:, np.newaxis]
    for options, allowed in (
        ({}, True),
        ({"mask": "far"}, rows >= 40),
        ({"batch": batches}, is_own),
        ({"ignore": ignored}, ~is_ignored),
        ({"mask": "far", "batch": batches, "ignore": ignored}, (rows >= 40) & is_own & ~is_ignored),
    ):
        found = world.query_ball(places, 1.0, **options)
        assert [some.tolist() for some in found] == [np.flatnonzero(hit).tolist() for hit in near & allowed]
        # A ball that is everywhere finds all that the query may find.
        found = world.query_ball(places, 100.0, **options)
        every = np.broadcast_to(allowed, near.shape)
        assert [some.tolist() for some in found] == [np.flatnonzero(hit).tolist() for hit in every]


# Casts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-300, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e300])
@pytest.mark.parametrize("d", [2, 3])
def test_casts_of_any_length_touch_what_every_pair_says(d, length):
    scene = Scene(d, 11)
    world, count = scene.world, 60
    world.refresh()
    places, motions = scene.places(count), scene.rng.normal(size=(count, d)) * length
    motions[::7, 0] = 0
    for name in shape_cases.CLASSES[d]:
        shape = shape_cases.shape_of(name, shape_cases.Numbers(scene.rng, d))
        moving = bp.Shapes(shape, places)
        queries, rows = np.repeat(np.arange(count, dtype=np.int32), len(world.rows)), np.tile(world.rows, count)
        times = impacts(moving, world.shapes, queries, rows, motions[queries])[0]
        with np.errstate(over="ignore"):
            ends = moving.boxes + motions[:, np.newaxis]
        lower, upper = np.minimum(moving.boxes[:, 0], ends[:, 0]), np.maximum(moving.boxes[:, 1], ends[:, 1])
        boxes = world.shapes.boxes[rows]
        times[((lower[queries] > boxes[:, 1]) | (upper[queries] < boxes[:, 0])).any(axis=1)] = np.inf
        times = times.reshape(count, -1)
        found = world.shapecast(shape, places, motions)
        assert found.times.tolist() == times.min(axis=1).tolist(), name
        first = np.where(times.min(axis=1) < np.inf, world.rows[times.argmin(axis=1)], -1)
        assert found.rows.tolist() == first.tolist(), name


def test_of_bodies_touched_at_one_time_a_cast_finds_the_lowest_row():
    world = bp.World(dim=2)
    world.add_many(bp.AABB([1.0, 1.0]), [[5, y] for y in (3, -3, 0, 1, -1, 2, -2)])
    wide = bp.AABB([1.0, 9.0])
    found = world.shapecast(wide, [[0, 0], [5, 0]], [[10, 0], [10, 0]])
    assert found.rows.tolist() == [0, 0]
    assert found.times.tolist() == [0.4, 0.0]
    assert world.shapecast(wide, [[0, 0]], [[10, 0]], ignore=[[0, 1]]).rows.tolist() == [2]


class Blot(bp.CustomShape, dim=2, parameters=("size",)):
    """A square; `broken` has its test raise."""

    broken = False

    @staticmethod
    def bounds(values):
        half = np.stack([values["size"], values["size"]], axis=1) / 2
        return -half, half

    @staticmethod
    def overlaps(blots, others):
        if Blot.broken:
            raise RuntimeError("out of ink")
        return np.ones(len(blots), np.bool_)


@pytest.mark.parametrize("method", ["bvh", "grid"])
def test_casts_stop_in_front_of_custom_shapes_and_are_refused_by_those_in_their_way(method):
    world = bp.World(dim=2, method=method)
    wall = world.add(bp.Rectangle(1, 5), position=(5, 0))
    blot = world.add(Blot(size=1), position=(9, 0))
    assert world.shapecast(bp.Circle(0.5), [[0, 0]], [20, 0]).rows.tolist() == [wall.row]
    assert world.shapecast(bp.Circle(0.5), [[9, 3]], [0, 1]).rows.tolist() == [-1]
    for begin, motion in (([20, 0], [-20, 0]), ([9, 0], [0, 0]), ([0, 0], [9, 0.5])):
        with pytest.raises(
            UnsupportedQueryError, match=f"row {blot.row} is a Blot, a custom shape, which offers no time"
        ):
            world.shapecast(bp.Circle(0.5), [[50, 50], begin], motion, ignore=wall if motion[1] else None)
    with pytest.raises(UnsupportedQueryError, match="row 1 is a Blot"):
        world.shapecast(Blot(size=1), [[50, 50], [0, 0]], [20, 0])


@pytest.mark.parametrize("boundary", ["none", "wrap"])
def test_an_exception_of_a_custom_test_changes_nothing(boundary, monkeypatch):
    world = bp.World(dim=2, boundary=boundary, bounds=[[0, 0], [10, 10]])
    world.add_many(bp.Circle(0.5), [[1, 1], [9.8, 5], [3, 3]])
    world.add_many(Blot(size=1.0), [[1.5, 1], [0.2, 5], [7, 7]])
    queries = [[0.5, 0.5, 2, 2], [9, 4.5, 10, 5.5], [2.5, 2.5, 7, 7]]
    before = listed(world.query(queries))
    across = [4] if boundary == "wrap" else []
    assert before == [[0, 3, 1, *across, 2, 5], [0, 2, 3 + len(across), 5 + len(across)]]
    monkeypatch.setattr(Blot, "broken", True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of ink"):
            world.query(queries)
    assert listed(world.query(queries[2:], ignore=5)) == [[2], [0, 1]]  # nothing is left to be asked
    monkeypatch.setattr(Blot, "broken", False)
    assert listed(world.query(queries)) == before
