"""Boxes of hulls and meshes: those of their rotated vertices, never smaller, and larger by a few roundings only."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from shape_cases import quaternions

Exact = np.longdouble
# On both sides of the sizes at which the core sorts vertices, and adds levels to its tree: 64, 128, 1024, 8192.
COUNTS = [1, 2, 3, 8, 31, 64, 65, 97, 128, 129, 600, 1024, 1025, 8193]
TILT = np.sqrt([0.5, 0.5, 0, 0])


def matrix_of(rotation):
    """The rotation of a quaternion of any length, in long double."""
    w, x, y, z = np.asarray(rotation, Exact) / np.linalg.norm(np.asarray(rotation, Exact))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ],
        Exact,
    )


def placed_vertices(vertices, offset, inner, position, outer):
    vertices = np.asarray(vertices, Exact)
    if inner is not None:
        vertices = vertices @ matrix_of(inner).T
    vertices = vertices + np.asarray(offset, Exact)
    if outer is not None:
        vertices = vertices @ matrix_of(outer).T
    return vertices + np.asarray(position, Exact)


def assert_tight(box, vertices, size):
    """Compare with the vertices in long double; `size` is that of the numbers that were added up."""
    around = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    assert np.abs(box - around).max() <= 40 * 2.0**-53 * size, (box, around)


def assert_held(shapes, row, vertices):
    """Require that a box holds every vertex where the rounded pose of its shape puts it."""
    record = shapes.store.placed(row).astype(Exact)
    placed = record[1:4] + np.asarray(vertices, Exact) @ record[4:13].reshape(3, 3)
    assert (shapes.boxes[row, 0] <= placed.min(axis=0)).all()
    assert (shapes.boxes[row, 1] >= placed.max(axis=0)).all()


def sphere(rng, count):
    points = rng.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def forms(rng, count):
    """Vertices on a sphere, in a ball, on a lattice with many ties, in a plane, on a line, in one place."""
    yield sphere(rng, count)
    yield rng.normal(size=(count, 3))
    yield rng.integers(-2, 3, (count, 3)).astype(float)
    yield np.column_stack([rng.normal(size=(count, 2)), np.full(count, 0.25)])
    yield np.outer(rng.normal(size=count), [1.0, 2.0, -1.0])
    yield np.tile(rng.normal(size=3), (count, 1))


def mesh_of(vertices):
    return [[0, 0, len(vertices) - 1]]


@pytest.mark.parametrize("count", COUNTS)
def test_boxes_of_rotated_vertices_hold_them_and_are_tight(count):
    rng = np.random.default_rng(count)
    for vertices in forms(rng, count):
        for scale, away in ((1.0, 1.0), (1e-3, 0.0), (1.0, 1e6), (1e30, 1e30)):
            offset, position = rng.normal(size=(2, 3)) * away
            points = vertices * scale + rng.normal(size=3) * scale * rng.choice([0, 1, 100])
            for inner, outer in ((None, quaternions(rng)), (quaternions(rng), None), (*quaternions(rng, 2),)):
                # About a coordinate axis, where faces of the lattice are as high everywhere, in one of three cases.
                if outer is not None and rng.random() < 1 / 3:
                    outer[1:3] = 0
                shape = bp.Mesh(points, mesh_of(points), offset=offset, rotation=inner)
                placed = bp.Shapes(shape, position, outer)
                assert_held(placed, 0, points)
                size = 2 * np.abs(points).max() + 2 * np.abs(offset).max() + np.abs(position).max()
                assert_tight(placed.boxes[0], placed_vertices(points, offset, inner, position, outer), 3 * size)


def test_box_of_an_octahedron_rotated_by_an_eighth_turn():
    octahedron = bp.ConvexHull(np.concatenate([np.eye(3), -np.eye(3)]))
    box = bp.Shapes(octahedron, [[0, 0, 0]], [np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)]).boxes[0]
    assert np.allclose(box, [[-np.sqrt(0.5), -np.sqrt(0.5), -1], [np.sqrt(0.5), np.sqrt(0.5), 1]], rtol=0, atol=1e-14)


def test_boxes_are_the_same_whether_vertices_are_sorted_or_not():
    rng = np.random.default_rng(1)
    vertices, turn = sphere(rng, 64), quaternions(rng)
    few = bp.Shapes(bp.Mesh(vertices, [[0, 1, 2]]), [[0, 0, 0]], turn).boxes
    many = np.concatenate([vertices, vertices * rng.uniform(0.0, 0.5, (500, 64, 1)).reshape(-1, 1)[:64]])
    assert np.array_equal(bp.Shapes(bp.Mesh(many, [[0, 1, 2]]), [[0, 0, 0]], turn).boxes, few)


def test_boxes_of_quarter_turns_are_those_of_the_box_in_its_own_frame():
    rng = np.random.default_rng(2)
    vertices = rng.integers(-9, 10, (100, 3)).astype(float)
    for turn in ([1, 0, 0, 0], [0, 1, 0, 0], TILT, [1, 1, 1, 1]):
        box = bp.Shapes(bp.ConvexHull(vertices), [[0, 0, 0]], turn).boxes[0]
        assert_tight(box, np.rint(placed_vertices(vertices, [0, 0, 0], turn, [0, 0, 0], None)), 30)


def test_boxes_follow_moves_additions_copies_and_pickles():
    rng = np.random.default_rng(3)
    shapes = [bp.ConvexHull(rng.normal(size=(count, 3))) for count in (8, 100, 300)]
    places, turns = rng.normal(size=(3, 3)), quaternions(rng, 3)
    given = bp.Shapes(shapes[:2], places[:2])
    given.extend(shapes[2:], places[2:])
    given.move(rotations=turns)
    for kept in (given, copy.deepcopy(given), pickle.loads(pickle.dumps(given)), bp.Shapes(list(given), places, turns)):
        kept.move(places + 1)
        for row, shape in enumerate(shapes):
            wanted = placed_vertices(shape.vertices, [0, 0, 0], None, places[row] + 1, turns[row])
            assert_tight(kept.boxes[row], wanted, 30)


def require_tight_world(world, shapes):
    """Compare the boxes of a world's rows, and what its index finds."""
    world.validate()
    corners = []
    for row, shape in shapes.items():
        wanted = placed_vertices(shape.vertices, [0, 0, 0], None, world.positions[row], world.rotations[row])
        assert_tight(world.boxes[row], wanted, 100)
        assert_held(world.shapes, row, shape.vertices)
        corners.append(np.stack([wanted.min(axis=0), wanted.max(axis=0)]).astype(float))
        beside = np.stack([wanted.max(axis=0) + 1e-9, wanted.max(axis=0) + 1e-9]).astype(float)
        assert row not in world.query([beside])[0]
    around = np.stack([np.min(corners, axis=0)[0], np.max(corners, axis=0)[1]])
    outline = world.outline()
    assert (outline.lower.min(axis=0) <= around[0]).all()
    assert (outline.upper.max(axis=0) >= around[1]).all()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("method", ["auto", "bvh", "grid"])
def test_boxes_in_worlds_are_tight_after_every_change(method, workers):
    rng = np.random.default_rng(4)
    world = bp.World(dim=3, method=method, workers=workers)
    shapes = {}
    for count in (8, 70, 300, 1000):
        shape = bp.ConvexHull(sphere(rng, count)) if count != 300 else bp.Mesh(sphere(rng, count), [[0, 1, 2]])
        actor = world.add(
            shape,
            position=rng.normal(size=3) * 3,
            rotation=quaternions(rng),
            velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3) * 3,
        )
        shapes[actor.row] = shape
    require_tight_world(world, shapes)
    for _ in range(3):
        world.step(0.1)
        require_tight_world(world, shapes)
    # The number of a geometry that is in no use is given to the next one, in both placements of the world.
    world.remove([1])
    world.step(0.1)
    shapes[1] = bp.Mesh(rng.normal(size=(40, 3)), [[0, 1, 2]])
    assert world.add(shapes[1], position=(0, 0, 0), rotation=quaternions(rng)).row == 1
    shapes[0] = bp.ConvexHull(sphere(rng, 90))
    world.set_shapes([0], shapes[0])
    world.rotations[2] = quaternions(rng)
    for again in (world, copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        again.refresh()
        require_tight_world(again, shapes)
        for _ in range(2):
            again.step(0.1)
            require_tight_world(again, shapes)


def test_bodies_bounce_and_wrap_where_their_vertices_are():
    octahedron = bp.ConvexHull(np.concatenate([np.eye(3), -np.eye(3)]))
    eighth = [np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)]
    world = bp.World(dim=3, bounds=[[0, 0, 0], [10, 10, 10]], boundary="bounce")
    actor = world.add(octahedron, position=(8.5, 5, 5), rotation=eighth, velocity=(1, 0, 0))
    world.step(0.5)  # to 9.0: the vertex at 9.707 is inside, and the corner of the rotated local box would not be
    assert actor.position.tolist() == [9.0, 5.0, 5.0]
    assert actor.velocity.tolist() == [1.0, 0.0, 0.0]
    world.step(0.5)
    assert actor.velocity.tolist() == [-1.0, 0.0, 0.0]
    assert actor.position[0] == pytest.approx(10 - np.sqrt(0.5) - (9.5 - (10 - np.sqrt(0.5))), abs=1e-12)

    wrapping = bp.World(dim=3, bounds=[[0, 0, 0], [10, 10, 10]], boundary="wrap")
    wrapping.add(octahedron, position=(9.2, 5, 5), rotation=eighth)
    wrapping.add(bp.AABB([0.2, 0.2, 0.2]), position=(0.3, 5, 5))  # beyond the vertex, before the corner
    assert wrapping.step(0.1).pairs.tolist() == []


def test_pairs_of_boxes_that_only_corners_of_rotated_boxes_would_make_are_not_found():
    octahedron = bp.ConvexHull(np.concatenate([np.eye(3), -np.eye(3)]))
    placed = bp.Shapes(octahedron, [[0, 0, 0], [1.5, 0, 0]], [np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
    assert len(bp.pairs(placed.boxes)) == 0


def test_robots_use_the_same_boxes():
    rng = np.random.default_rng(5)
    for count in (8, 200):
        links = [
            bp.Link("base", bp.ConvexHull(sphere(rng, count))),
            bp.Link("arm", bp.Mesh(sphere(rng, count), [[0, 1, 2], [3, 4, 5]]), parent="base", joint="revolute"),
        ]
        robot = bp.Articulated(links)
        around = bp.Shapes(bp.ConvexHull(sphere(rng, count)), rng.normal(size=(300, 3)), quaternions(rng, 300))
        angles = rng.uniform(-3, 3, (20, 1))
        obstacles = bp.Obstacles(around)
        for angle, hits in zip(angles, robot.collides(angles, obstacles), strict=True):
            position, rotation = robot.poses([angle])
            own = bp.Shapes([link.shapes[0] for link in robot.links], position[0], rotation[0])
            assert hits == (len(bp.overlaps(own, around)) > 0)


def test_boxes_of_one_geometry_are_computed_by_many_threads_at_once():
    rng = np.random.default_rng(6)
    for _ in range(20):
        hull, turns = bp.ConvexHull(sphere(rng, 3000)), quaternions(rng, 8)
        with ThreadPoolExecutor(8) as pool:
            boxes = list(pool.map(lambda turn, hull=hull: bp.Shapes(hull, [[0, 0, 0]], turn).boxes[0], turns))
        for box, turn in zip(boxes, turns, strict=True):
            assert_tight(box, placed_vertices(hull.vertices, [0, 0, 0], None, [0, 0, 0], turn), 10)


def test_vertices_by_number_keep_their_places_as_numbers_grow():
    table = _native.VerticesByNumber()
    for number in (0, 15, 16, 47, 48, 100_000):
        table.put(number, _native.Vertices(np.eye(3)))
        table.put(number, None)
    with pytest.raises(IndexError):
        table.put(2**31, None)
    with pytest.raises(ValueError, match="shape"):
        _native.Vertices(np.zeros((2, 2)))
