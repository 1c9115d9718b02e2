"""Rectangle and Box rotate, AABB never does; as long as nothing is rotated, they are the same to the last bit."""

import numpy as np
import pytest

import broadphase as bp

UNTURNED = {2: 0.0, 3: [1.0, 0.0, 0.0, 0.0]}
EIGHTH = {2: np.pi / 4, 3: [np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)]}  # about z


def rotating(sizes, **options):
    return (bp.Rectangle if np.shape(sizes)[-1] == 2 else bp.Box)(*np.moveaxis(np.asarray(sizes), -1, 0), **options)


def scenes(dimension, rotations=None):
    """The same boxes as AABBs and as boxes that rotate, beside shapes of other types."""
    rng = np.random.default_rng(dimension)
    sizes, offsets = rng.integers(0, 4, (60, dimension)) / 2, rng.normal(size=(60, dimension))
    places = np.round(rng.uniform(-3, 3, (120, dimension)) * 4) / 4  # so that many boxes touch and tie
    others = [
        (bp.Circle if dimension == 2 else bp.Sphere)(rng.random(30)),
        bp.Capsule(rng.normal(size=(30, dimension)), np.zeros(dimension), 0.25),
    ]
    for make in (bp.AABB, rotating):
        single, part = make(sizes, offset=offsets), make(sizes[:30])
        shapes = [single[:30], bp.Compound([part, make(sizes[30:])]), *others]
        yield bp.Shapes(shapes, places, rotations)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("rotations", [False, True])
def test_boxes_that_are_not_rotated_equal_aabbs_to_the_last_bit(dimension, rotations):
    fixed, boxes = scenes(dimension, UNTURNED[dimension] if rotations else None)
    assert np.array_equal(fixed.boxes, boxes.boxes)
    assert {len(boxes.store.placed(row)) for row in range(30)} == {2 * dimension}
    pairs = np.stack(np.triu_indices(120, 1), axis=1).astype(np.int32)
    rng = np.random.default_rng(5)
    motions, origins = rng.normal(size=(2, len(pairs), dimension))
    found = bp.overlaps(fixed)
    assert len(found) > {2: 300, 3: 100}[dimension]
    assert np.array_equal(found, bp.overlaps(boxes))
    assert np.array_equal(bp.distance(fixed, pairs=pairs), bp.distance(boxes, pairs=pairs))
    for one, other in (
        (bp.contacts(fixed), bp.contacts(boxes)),
        (
            bp.time_of_impact(fixed, pairs=pairs, motions=motions),
            bp.time_of_impact(boxes, pairs=pairs, motions=motions),
        ),
        (bp.raycast(fixed, origins[:120] * 5, -origins[:120]), bp.raycast(boxes, origins[:120] * 5, -origins[:120])),
    ):
        for of_one, of_other in zip(one, other, strict=True):
            assert np.array_equal(of_one, of_other, equal_nan=True)


@pytest.mark.parametrize("dimension", [2, 3])
def test_rotation_changes_boxes_and_leaves_aabbs(dimension):
    square = [2.0] * dimension
    at = [[0.0] * dimension, [2.2, *[0.0] * (dimension - 1)]]
    origin, direction = [5.0, 0.9, 0.0][:dimension], [-1.0, 0.0, 0.0][:dimension]
    for make, overlap, contact, hit in ((bp.AABB, [], 0, 1.8), (rotating, [[0, 1]], 1, None)):
        shapes = bp.Shapes(make(square), at, [EIGHTH[dimension], UNTURNED[dimension]])
        assert bp.overlaps(shapes).tolist() == overlap
        assert len(bp.contacts(shapes).pairs) == contact
        shapes.move(rotations=[UNTURNED[dimension], EIGHTH[dimension]])
        distance = bp.raycast(shapes, origin, direction, rows=[1]).distances[0]
        assert distance == pytest.approx(1.8 if hit else 5 - 2.2 - (2**0.5 - 0.9))
        impact = bp.time_of_impact(shapes, pairs=[[1, 0]], motions=[-2.0, *[0.0] * (dimension - 1)]).times[0]
        assert impact == pytest.approx(0.1 if hit else 0.0, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_boxes_rotated_and_back_equal_those_never_rotated(dimension):
    _, boxes = scenes(dimension)
    before, records = bp.overlaps(boxes), [boxes.store.placed(row) for row in range(120)]
    boxes.move(rotations=EIGHTH[dimension])
    assert {len(boxes.store.placed(row)) for row in range(30)} == {(2 + dimension) * dimension}
    assert not np.array_equal(bp.overlaps(boxes), before)
    boxes.move(rotations=UNTURNED[dimension])
    assert np.array_equal(bp.overlaps(boxes), before)
    assert all(np.array_equal(boxes.store.placed(row), record) for row, record in enumerate(records))


@pytest.mark.parametrize("dimension", [2, 3])
def test_boxes_rotated_relative_to_their_actor_are_not_taken_for_unrotated_ones(dimension):
    own = rotating([2.0] * dimension, rotation=EIGHTH[dimension])
    assert bp.Shapes(own, [0.0] * dimension).boxes[0, 1, 0] == pytest.approx(2**0.5)
    whole = bp.Compound([own, rotating([2.0] * dimension)])
    assert bp.Shapes(whole, [0.0] * dimension).boxes[0, 1, 0] == pytest.approx(2**0.5)


def test_worlds_rotate_boxes_and_not_aabbs():
    for make, enters in ((bp.AABB, 0), (lambda size: bp.Rectangle(*size), 1)):
        world = bp.World(2)
        body = world.add(make((2, 2)), position=(0, 0))
        world.add(make((2, 2)), position=(2.2, 0))
        assert len(world.step().enter) == 0
        body.rotation = np.pi / 4
        assert len(world.step().enter) == enters
        body.rotation = 0.0
        assert len(world.step().exit) == enters


@pytest.mark.parametrize("dimension", [2, 3])
def test_worlds_of_unrotated_boxes_have_the_frames_of_aabbs(dimension):
    frames = []
    for make in (bp.AABB, rotating):
        rng = np.random.default_rng(11)
        world = bp.World(dimension)
        world.add_many(
            make(rng.integers(1, 4, (300, dimension)) / 2),
            rng.integers(0, 20, (300, dimension)),
            velocities=rng.integers(-2, 3, (300, dimension)) / 4,
            rotations=[UNTURNED[dimension]] * 300,
        )
        frames.append([world.step() for _ in range(20)])
    entered = 0
    for one, other in zip(*frames, strict=True):
        entered += len(one.enter)
        assert np.array_equal(one.enter, other.enter)
        assert np.array_equal(one.exit, other.exit)
    assert entered > 50


@pytest.mark.parametrize("dimension", [2, 3])
def test_bodies_that_change_between_boxes_and_other_shapes_are_placed_as_new_ones(dimension):
    rng = np.random.default_rng(12)
    shapes = [
        rotating([1.0, 2.0, 3.0][:dimension]),
        bp.Capsule([0.0] * dimension, [1.0] * dimension, 0.5),
        rotating([2.0] * dimension, rotation=EIGHTH[dimension]),
        bp.AABB([1.5] * dimension),
        (bp.Circle if dimension == 2 else bp.Sphere)(1.0),
    ]
    world = bp.World(dimension)
    bodies = [world.add(shapes[0], position=[3.0 * k, *[0.0] * (dimension - 1)]) for k in range(10)]
    for _ in range(40):
        body = bodies[int(rng.integers(10))]
        body.shape = shapes[int(rng.integers(5))]
        body.rotation = UNTURNED[dimension] if rng.integers(2) else EIGHTH[dimension]
        world.step()
        fresh = bp.Shapes([each.shape for each in bodies], world.positions, world.rotations)
        assert np.array_equal(fresh.boxes, world.shapes.boxes)
        assert np.array_equal(bp.overlaps(fresh), bp.overlaps(world.shapes))
        for row in range(10):
            assert np.array_equal(fresh.store.placed(row), world.shapes.store.placed(row))
