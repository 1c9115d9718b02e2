"""Shapes of the user's own types: found like the others wherever it is asked which shapes overlap."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import broadphase as bp
from broadphase.plotting.pieces import pieces_of


class Ring(bp.CustomShape, dim=2, parameters=("inner", "outer")):
    """The area between two circles. All others are taken as if they were the discs within their boxes."""

    asked: list[tuple[str, int]] = []  # noqa: RUF012

    @staticmethod
    def bounds(values):
        corner = np.stack([values["outer"], values["outer"]], axis=1)
        return -corner, corner

    @staticmethod
    def overlaps(rings, others):
        if isinstance(others, bp.shapes.CustomRows):
            if others.shape_type is not Ring:
                return NotImplemented
            Ring.asked.append(("Ring", len(rings)))
            away = np.linalg.norm(rings.origins - others.origins, axis=1)
            return rings_overlap(away, *rings.values.values(), *others.values.values())
        Ring.asked.append((type(others[0]).__name__, len(rings)))
        centers, radii = others.boxes.mean(axis=1), np.diff(others.boxes, axis=1)[:, 0].max(axis=1) / 2
        away = np.linalg.norm(rings.to_local(centers), axis=1)
        return rings_overlap(away, *rings.values.values(), 0.0, radii)


def rings_overlap(away, inner, outer, other_inner, other_outer):
    return (away <= outer + other_outer) & (away + other_outer >= inner) & (away + outer >= other_inner)


class Half(bp.CustomShape, dim=2):
    """The half of a square that is right of its origin. It knows points, and the origins of custom shapes."""

    @staticmethod
    def bounds(values):
        return (-1, -1), (1, 1)

    @staticmethod
    def overlaps(halves, others):
        points = others.origins if isinstance(others, bp.shapes.CustomRows) else others.positions
        if not isinstance(others, bp.shapes.CustomRows) and not isinstance(others[0], bp.Point):
            return NotImplemented
        local = halves.to_local(points)
        return (local[:, 0] >= 0) & (np.abs(local) <= 1).all(axis=1)


class Shell(bp.CustomShape, dim=3, parameters=("radius",)):
    """A sphere without its inside; others are taken as points."""

    @staticmethod
    def bounds(values):
        corner = np.repeat(values["radius"][:, np.newaxis], 3, axis=1)
        return np.array([-corner, corner])

    @staticmethod
    def overlaps(shells, others):
        centers = others.origins if isinstance(others, bp.shapes.CustomRows) else others.boxes.mean(axis=1)
        return np.linalg.norm(shells.to_local(centers), axis=1) <= shells.values["radius"]


# One of each type of the plane, each in a box with its centre at the origin, and the radius the test of `Ring` sees.
PLAIN = [
    (bp.Point(), 0.0),
    (bp.Circle(1.5), 1.5),
    (bp.Segment((-1, 0), (1, 0)), 1.0),
    (bp.Capsule((-1, 0), (1, 0), 0.5), 1.5),
    (bp.AABB((2, 2)), 1.0),
    (bp.Rectangle(2, 1), 1.0),
    (bp.Triangle([[-1, -1], [1, -1], [0, 1]]), 1.0),
    (bp.ConvexPolygon([[-1, -1], [1, -1], [1, 1], [-1, 1]]), 1.0),
    (bp.Compound([bp.Circle(1, offset=(-1, 0)), bp.Circle(1, offset=(1, 0))]), 2.0),
]


def mixed(rng, count):
    """Give shapes, positions, and inner and outer radii as the test of `Ring` sees them; half of them rings."""
    shapes, radii = [], np.zeros((count, 2))
    for row in range(count):
        if row % 2:
            inner = rng.uniform(0, 3)
            radii[row] = inner, inner + rng.uniform(0.1, 1)
            shapes.append(Ring(inner=radii[row, 0], outer=radii[row, 1]))
        else:
            shape, radius = PLAIN[row // 2 % len(PLAIN)]
            shapes.append(shape)
            radii[row] = 0.0, radius
    return shapes, rng.uniform(-8, 8, (count, 2)), radii


def boxes_of(shapes, positions, radii):
    """Give bounding boxes in plain NumPy."""
    boxes = np.stack([positions - radii[:, 1:], positions + radii[:, 1:]], axis=1)
    for row, shape in enumerate(shapes):
        flat = {bp.Segment: (1, 0), bp.Capsule: (1.5, 0.5), bp.Rectangle: (1, 0.5), bp.Compound: (2, 1)}
        if type(shape) in flat:
            half = np.array(flat[type(shape)])
            boxes[row] = positions[row] - half, positions[row] + half
    return boxes


def pairs_by_numpy(shapes, positions, radii):
    """Give all pairs with a ring that overlap by boxes and by the test."""
    first, second = np.triu_indices(len(shapes), 1)
    boxes, rings = boxes_of(shapes, positions, radii), np.array([isinstance(shape, Ring) for shape in shapes])
    meet = (np.maximum(boxes[first, 0], boxes[second, 0]) <= np.minimum(boxes[first, 1], boxes[second, 1])).all(axis=1)
    away = np.linalg.norm(positions[first] - positions[second], axis=1)
    hit = meet & (rings[first] | rings[second]) & rings_overlap(away, *radii[first].T, *radii[second].T)
    return np.stack([first[hit], second[hit]], axis=1)


def with_rings(shapes, pairs):
    rings = np.array([isinstance(shape, Ring) for shape in shapes])
    return pairs[rings[pairs].any(axis=1)]


def as_set(pairs):
    return set(map(tuple, np.asarray(pairs).tolist()))


@pytest.mark.parametrize("seed", range(4))
def test_overlaps_with_every_kind_equals_plain_numpy(seed):
    shapes, positions, radii = mixed(np.random.default_rng(seed), 120)
    placed = bp.Shapes(shapes, positions)
    expected = pairs_by_numpy(shapes, positions, radii)
    assert len(expected) > 100
    found = bp.overlaps(placed)
    assert_array_equal(with_rings(shapes, found), expected)
    everything = np.stack(np.triu_indices(120, 1), axis=1)
    assert_array_equal(bp.overlaps(placed, pairs=everything), found)
    assert_array_equal(bp.overlaps(placed, pairs=everything[:, ::-1])[:, ::-1], found)


def test_overlaps_asks_once_for_each_pair_of_types():
    shapes, positions, _ = mixed(np.random.default_rng(5), 120)
    Ring.asked.clear()
    bp.overlaps(bp.Shapes(shapes, positions))
    names = [name for name, _ in Ring.asked]
    assert sorted(names) == sorted({*(type(shape).__name__ for shape, _ in PLAIN), "Ring"})


@pytest.mark.parametrize("budget", [None, bp.Budget(tests=10**6), bp.Budget(seconds=60.0)])
@pytest.mark.parametrize("method", ["bvh", "auto"])
def test_world_steps_give_the_events_of_plain_numpy(method, budget):
    rng = np.random.default_rng(6)
    shapes, positions, radii = mixed(rng, 60)
    world = bp.World(dim=2, method=method)
    velocities = rng.uniform(-1, 1, (60, 2))
    rows = world.add_many(shapes, positions, velocities=velocities)
    assert_array_equal(rows, np.arange(60))
    before: set[tuple[int, int]] = set()
    for _ in range(12):
        frame = world.step(0.5, budget=budget)
        now = as_set(pairs_by_numpy(shapes, world.positions, radii))
        assert as_set(with_rings(shapes, frame.pairs)) == now
        assert as_set(with_rings(shapes, frame.enter)) == now - before
        assert as_set(with_rings(shapes, frame.exit)) == before - now
        before = now


def test_pairs_that_a_budget_leaves_are_found_later():
    shapes, positions, radii = mixed(np.random.default_rng(11), 60)
    world = bp.World(dim=2)
    world.add_many(shapes, positions)
    frames = [world.step(budget=bp.Budget(tests=40))]
    assert len(frames[0].deferred) > 40
    while len(frames[-1].deferred):
        frames.append(world.step(budget=bp.Budget(tests=40)))
    entered = np.concatenate([with_rings(shapes, frame.enter) for frame in frames])
    assert sorted(map(tuple, entered.tolist())) == sorted(as_set(pairs_by_numpy(shapes, positions, radii)))


def test_world_queries_follow_the_rule_of_overlaps():
    shapes, positions, radii = mixed(np.random.default_rng(7), 80)
    world = bp.World(dim=2)
    world.add_many(shapes, positions)
    rings = np.arange(1, 80, 2)
    centers = np.random.default_rng(8).uniform(-8, 8, (40, 2))
    found = world.query_shape(Ring(inner=1, outer=2), centers)
    boxes = world.query(np.stack([centers - 0.5, centers + 0.5], axis=1))
    points = world.query_points(centers)
    for at, center in enumerate(centers):
        for answer, inner, outer in ((found, 1.0, 2.0), (boxes, 0.0, 0.5), (points, 0.0, 0.0)):
            away = np.linalg.norm(positions - center, axis=1)
            near = (np.abs(positions - center) <= radii[:, 1:] + outer).all(axis=1)
            expected = np.flatnonzero(near & rings_overlap(away, *radii.T, inner, outer))
            assert_array_equal(np.intersect1d(answer[at], rings), np.intersect1d(expected, rings))


def test_query_of_a_box_gives_the_test_boxes_of_the_given_corners():
    seen = []

    class Seeing(Half, dim=2):
        @staticmethod
        def overlaps(rows, others):
            seen.append((others.boxes.tolist(), others[0]))
            return np.ones(len(rows), bool)

    world = bp.World(dim=2)
    world.add(Seeing(), position=(0, 0))
    assert world.query([[[0.1, 0.2], [0.3, 0.7]]]).rows.tolist() == [0]
    boxes, shape = seen[0]
    assert boxes == [[[0.1, 0.2], [0.3, 0.7]]]
    assert isinstance(shape, bp.AABB)
    np.testing.assert_allclose(shape.size, (0.2, 0.5))


def test_rotation_and_offset_are_seen_by_the_test():
    points = bp.Shapes(bp.Point(), [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])
    for turn, expected in ((0.0, [0, 2, 3]), (np.pi, [1, 2, 3]), (np.pi / 2, [0, 1, 2])):
        for halves in (bp.Shapes(Half(), (0, 0), turn), bp.Shapes(Half(rotation=turn), (0, 0))):
            assert bp.overlaps(halves, points)[:, 1].tolist() == expected
    moved = bp.Shapes(Half(offset=(0.25, 0)), (0, 0))
    assert bp.overlaps(moved, points)[:, 1].tolist() == [0]


def test_box_of_a_turned_shape_holds_its_turned_bounds():
    placed = bp.Shapes(Half(offset=(1, 0)), [[10, 0]], [np.pi / 4])
    center, reach = np.array([10 + np.sqrt(0.5), np.sqrt(0.5)]), np.sqrt(2.0)
    np.testing.assert_allclose(placed.boxes[0], [center - reach, center + reach])


def test_two_types_ask_the_one_that_knows_the_other_in_either_order():
    halves, rings = bp.Shapes(Half(), [[0, 0]]), bp.Shapes(Ring(inner=1, outer=2), [[0.5, 0], [-0.5, 0]])
    assert bp.overlaps(halves, rings).tolist() == [[0, 0]]
    assert bp.overlaps(rings, halves).tolist() == [[0, 0]]


def test_types_that_do_not_know_each_other_raise_with_both_names():
    world = bp.World(dim=2)
    world.add(Half(), position=(0, 0))
    world.add(bp.Circle(1), position=(0, 0))
    with pytest.raises(bp.errors.UnsupportedQueryError, match=r"a Half overlaps a Circle is not known: Half\.overlaps"):
        world.step()


def test_space_with_hulls_and_meshes_equals_plain_numpy():
    rng = np.random.default_rng(9)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = [[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6]]
    solids = [bp.ConvexHull(corners), bp.Mesh(corners, faces), bp.Sphere(1), bp.Box(2, 2, 2)]
    shapes = [Shell(radius=2.0) if row % 2 else solids[row // 2 % 4] for row in range(60)]
    positions = rng.uniform(-4, 4, (60, 3))
    found = bp.overlaps(bp.Shapes(shapes, positions))
    shells = np.arange(60) % 2 == 1
    first, second = np.triu_indices(60, 1)
    reach = np.where(shells, 2.0, 1.0)
    apart = positions[first] - positions[second]
    hit = (np.abs(apart) <= (reach[first] + reach[second])[:, np.newaxis]).all(axis=1)
    hit &= (np.linalg.norm(apart, axis=1) <= 2.0) & (shells[first] | shells[second])
    assert_array_equal(found[shells[found].any(axis=1)], np.stack([first[hit], second[hit]], axis=1))
    plain = [row for row in range(60) if not shells[row]]
    alone = bp.overlaps(bp.Shapes([shapes[row] for row in plain], positions[plain]))
    assert as_set(np.array(plain)[alone]) == as_set(found[~shells[found].any(axis=1)])


def test_periodic_world_finds_rings_across_its_seam():
    world = bp.World(dim=2, bounds=[[0, 0], [10, 10]], boundary="wrap")
    world.add(Ring(inner=1, outer=2), position=(0.5, 5))
    world.add(bp.Circle(0.5), position=(9.0, 5))
    world.add(bp.Circle(0.25), position=(0.5, 5))
    assert world.step().pairs.tolist() == [[0, 1]]
    assert world.query([[[8.6, 4.9], [8.8, 5.1]]]).rows.tolist() == [0, 1]


def test_removed_shapes_exit_and_types_are_forgotten():
    world = bp.World(dim=2)
    ring = world.add(Ring(inner=1, outer=2), position=(0, 0))
    world.add(bp.Circle(1), position=(1.5, 0))
    assert world.step().enter.tolist() == [[0, 1]]
    world.remove(ring)
    assert world.step().exit.tolist() == [[0, 1]]
    assert len(world._columns.geometries) == 0


def test_shape_of_an_actor_is_equal_to_the_one_given():
    world = bp.World(dim=2)
    given = Ring(inner=1, outer=2, offset=(3, 4), rotation=0.5)
    shape = world.add(given, position=(0, 0)).shape
    assert shape.values == {"inner": 1.0, "outer": 2.0}
    assert repr(shape) == repr(given) == "Ring(inner=1.0, outer=2.0, offset=[3.0, 4.0], rotation=0.5)"
    assert shape == given != Ring(inner=1, outer=2)
    assert len({shape, given}) == 1


def test_shapes_of_many_rows_are_taken_apart_and_pickled():
    rings = Ring(inner=[1, 2, 3], outer=4)
    assert [ring.values["inner"] for ring in rings] == [1.0, 2.0, 3.0]
    assert pickle.loads(pickle.dumps(rings)) == rings
    placed = pickle.loads(pickle.dumps(bp.Shapes(rings, [[0, 0]] * 3)))
    assert placed[2] == Ring(inner=3, outer=4)
    assert len(Ring(inner=[], outer=[])) == 0


class Failing(Half, dim=2):
    """It answers with whatever `answer` makes."""

    answer = staticmethod(lambda rows: np.ones(len(rows), bool))

    @staticmethod
    def overlaps(rows, others):
        return Failing.answer(rows)


def raising(rows):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (raising, RuntimeError, "broken"),
        (lambda rows: np.ones(len(rows)), TypeError, r"Failing\.overlaps must return an array of bool, not of float64"),
        (
            lambda rows: np.ones(7, bool),
            ValueError,
            r"Failing\.overlaps must return an array of shape \(1,\), not \(7,\)",
        ),
        (lambda rows: None, TypeError, r"Failing\.overlaps must return an array of bool, not of object \(NoneType\)"),
        (lambda rows: NotImplemented, bp.errors.UnsupportedQueryError, "a Failing overlaps a Circle"),
    ],
)
def test_step_with_a_failing_test_changes_nothing_and_names_the_type(monkeypatch, answer, error, text):
    world = bp.World(dim=2)
    world.add(Failing(), velocity=(1, 0), position=(0, 0))
    world.add(bp.Circle(1), velocity=(0.5, 0), position=(0, 0))
    world.step(0.25)
    monkeypatch.setattr(Failing, "answer", staticmethod(answer))
    before = world.positions.copy(), world.number, world.time
    with pytest.raises(error, match=text) as caught:
        world.step(0.25)
    if error is RuntimeError:
        assert caught.value.__notes__ == ["raised by Failing.overlaps, asked about 1 of Circle"]
    assert_array_equal(world.positions, before[0])
    assert (world.number, world.time) == before[1:]
    monkeypatch.undo()
    frame = world.step(0.25)
    assert (frame.enter.tolist(), frame.pairs.tolist(), frame.number) == ([], [[0, 1]], before[1] + 1)


def test_test_that_steps_its_world_is_refused(monkeypatch):
    world = bp.World(dim=2)
    world.add(Failing(), position=(0, 0))
    world.add(bp.Circle(1), position=(0, 0))
    monkeypatch.setattr(Failing, "answer", staticmethod(lambda rows: world.step()))
    with pytest.raises(RuntimeError, match="world"):
        world.step()
    monkeypatch.undo()
    assert world.step().pairs.tolist() == [[0, 1]]


def test_what_needs_more_than_overlap_is_refused_with_the_type():
    world = bp.World(dim=2)
    world.add(Ring(inner=1, outer=2), position=(0, 0))
    world.add(bp.Circle(0.1), position=(-9, 0), velocity=(20, 0), ccd=True)
    shapes, circle = world.shapes, bp.Shapes(bp.Circle(1), [[1, 0]])
    asked = [
        ("distance", lambda: bp.distance(shapes, circle, pairs=[[0, 0]])),
        ("contact", lambda: bp.contacts(circle, shapes)),
        ("raycast", lambda: bp.raycast(shapes, (-5, 0), (1, 0), rows=[0])),
        ("raycast", lambda: world.raycast((-5, 0), (1, 0))),
        ("distance", lambda: world.nearest([[0, 0]])),
        ("time of impact", lambda: bp.time_of_impact(circle, shapes, pairs=[[0, 0]], motions=(1, 0))),
        ("time of impact", lambda: world.shapecast(bp.Circle(1), (-5, 0), (10, 0))),
    ]
    for what, ask in asked:
        with pytest.raises(
            bp.errors.UnsupportedQueryError, match=f"row 0 is a Ring, a custom shape, which offers no {what}"
        ):
            ask()
    before = world.positions.copy()
    with pytest.raises(bp.errors.UnsupportedQueryError, match="a Ring, a custom shape, which offers no time of impact"):
        world.step(1.0)
    assert_array_equal(world.positions, before)


def test_snapshots_and_copies_are_refused_with_the_type(tmp_path):
    world = bp.World(dim=2)
    world.add(bp.Circle(1), position=(0, 0))
    ring = world.add(Ring(inner=1, outer=2), position=(0, 0))
    for save in (world.to_bytes, lambda: pickle.dumps(world), lambda: copy.deepcopy(world)):
        with pytest.raises(TypeError, match="a snapshot cannot hold custom shapes, and row 1 is a Ring"):
            save()
    world.remove(ring)
    assert bp.World.from_bytes(world.to_bytes()).step().number == 1


def test_contacts_of_frames_leave_out_custom_shapes():
    world = bp.World(dim=2)
    world.add_many([Ring(inner=1, outer=2), bp.Circle(1), bp.Circle(1)], [[0, 0], [1.5, 0], [2, 0]])
    seen = []
    world.on_enter(lambda event: seen.append(event.contact is None))
    frame = world.step()
    assert frame.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert frame.contacts.pairs.tolist() == [[1, 2]]
    assert sorted(seen) == [False, True, True]
    held = world.step()
    world.add(bp.Circle(1), position=(0, 0))  # has the contacts of the frame computed
    assert held.contacts.pairs.tolist() == [[1, 2]]


def test_queries_from_threads_agree():
    shapes, positions, _ = mixed(np.random.default_rng(10), 60)
    world = bp.World(dim=2)
    world.add_many(shapes, positions)
    expected = world.query([[[-3, -3], [3, 3]]]).rows
    found = []
    threads = [threading.Thread(target=lambda: found.append(world.query([[[-3, -3], [3, 3]]]).rows)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for rows in found:
        assert_array_equal(rows, expected)


def test_wrong_classes_and_values_are_refused():
    with pytest.raises(ValueError, match="class Flat: dim must be 2 or 3, not 4"):
        type("Flat", (bp.CustomShape,), {}, dim=4)
    with pytest.raises(ValueError, match="class Named: 'offset' cannot be the name"):
        type("Named", (bp.CustomShape,), {}, dim=2, parameters=("offset",))
    bare = type("Bare", (bp.CustomShape,), {"bounds": staticmethod(lambda values: ((0, 0), (1, 1)))}, dim=2)
    with pytest.raises(TypeError, match="class Bare must define overlaps"):
        bare()
    with pytest.raises(TypeError, match="Ring needs the parameter outer"):
        Ring(inner=1)
    with pytest.raises(TypeError, match="Ring has no parameter colour"):
        Ring(inner=1, outer=2, colour=3)
    with pytest.raises(ValueError, match="outer: row 1 has nan"):
        Ring(inner=1, outer=[2, np.nan])
    with pytest.raises(ValueError, match="2 dimensions"):
        bp.World(dim=3).add(Ring(inner=1, outer=2), position=(0, 0, 0))
    with pytest.raises(ValueError, match="cannot be part of a compound"):
        bp.Compound([Ring(inner=1, outer=2)])


@pytest.mark.parametrize(
    ("bounds", "error", "text"),
    [
        (None, TypeError, "must return two arrays"),
        (((0, 0, 0), (1, 1, 1)), ValueError, r"lower must have shape \(1, 2\) or \(2,\), not \(3,\)"),
        (((0, 0), (1, np.inf)), ValueError, "upper: row 0 has inf"),
        (((0, 2), (1, 1)), ValueError, "row 0 has lower above upper"),
    ],
)
def test_wrong_bounds_are_refused_with_the_type(bounds, error, text):
    body = {"bounds": staticmethod(lambda values: bounds), "overlaps": staticmethod(raising)}
    wrong = type("Wrong", (bp.CustomShape,), body, dim=2)
    with pytest.raises(error, match=rf"Wrong\.bounds.*{text}"):
        wrong()


def test_validate_knows_custom_shapes():
    world = bp.World(dim=2)
    world.add_many([Ring(inner=1, outer=2), bp.Circle(1)], [[0, 0], [1.5, 0]])
    world.step(1.0)
    world.validate()


def test_pictures_show_bounding_boxes():
    pieces = pieces_of(bp.Shapes(Half(offset=(1, 2), rotation=np.pi / 2), [[5, 5]]))
    assert [form.name for form in pieces.forms] == ["box"]
    np.testing.assert_allclose(pieces.anchors, [[1, 2]])
    np.testing.assert_allclose(pieces.matrices, [[[0, -1], [1, 0]]], atol=1e-12)
