"""The narrow phase over arrays: every kind with every other, in one call as one by one, and against plain NumPy."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.narrow import row_pairs
from oracles.shapes import parts_of, shape_distance
from shape_cases import KINDS, hull, mixed, rotations

NAN = float("nan")
COUNTS = {2: 150, 3: 40}  # of shapes; the oracle takes its time


def scene(dimension, count=None, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    count = count or COUNTS[dimension]
    shapes = mixed(rng, dimension, count)
    places, turns = rng.normal(size=(count, dimension)) * spread, rotations(rng, dimension, count)
    parts = [parts_of(*each) for each in zip(shapes, places, turns, strict=True)]
    return bp.Shapes(shapes, places, turns), parts, rng


def every_pair(count):
    return np.stack(np.triu_indices(count, 1), axis=1).astype(np.int32)


def some_pairs(rng, count, wanted=400):
    return rng.integers(count, size=(wanted, 2))


@pytest.mark.parametrize("dimension", KINDS)
def test_distances_are_those_of_plain_numpy(dimension):
    shapes, parts, rng = scene(dimension)
    pairs = some_pairs(rng, len(shapes))
    expected = [shape_distance(parts[i], parts[j]) for i, j in pairs.tolist()]
    assert np.allclose(bp.distance(shapes, pairs=pairs), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dimension", KINDS)
def test_overlaps_are_the_pairs_without_a_distance(dimension):
    shapes, _, _ = scene(dimension)
    everything = every_pair(len(shapes))
    distances = bp.distance(shapes, pairs=everything)
    assert np.abs(distances).min() > 1e-9  # so that rounding decides nothing
    found = bp.overlaps(shapes)
    assert found.dtype == np.int32
    assert np.array_equal(found, everything[distances <= 0])
    assert np.array_equal(bp.overlaps(shapes, pairs=everything[::-1]), everything[::-1][distances[::-1] <= 0])


@pytest.mark.parametrize("dimension", KINDS)
def test_two_sets_are_asked_as_one_set_of_both(dimension):
    both, _, _ = scene(dimension, 60, spread=1.0)
    halves = [bp.Shapes([both[row] for row in rows], both.positions[rows.start : rows.stop],
                        both.rotations[rows.start : rows.stop]) for rows in (range(25), range(25, 60))]  # fmt: skip
    found = bp.overlaps(both)
    of_both = found[(found[:, 0] < 25) & (found[:, 1] >= 25)]
    across = of_both - [0, 25]
    assert len(across) > 20
    assert np.array_equal(bp.overlaps(*halves), across)
    assert np.allclose(bp.distance(*halves, pairs=across), bp.distance(both, pairs=of_both), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", KINDS)
def test_one_call_for_all_kinds_equals_a_call_for_each_pair(dimension):
    shapes, _, rng = scene(dimension, 60, spread=0.5)
    pairs = bp.overlaps(shapes)
    assert len(pairs) > 70
    together = bp.contacts(shapes, pairs=pairs)
    origins, directions = rng.normal(size=(2, len(pairs), dimension)) * 3
    motions = rng.normal(size=(len(pairs), dimension))
    apart = some_pairs(rng, len(shapes), len(pairs))
    distances, hits = bp.distance(shapes, pairs=apart), bp.raycast(shapes, origins, directions, rows=apart[:, 0])
    impacts = bp.time_of_impact(shapes, pairs=apart, motions=motions)
    for k in range(len(pairs)):
        alone = bp.contacts(shapes, pairs=pairs[k : k + 1])
        for field in bp.narrow.Contacts._fields:
            assert np.array_equal(getattr(alone, field)[0], getattr(together, field)[k], equal_nan=field == "points")
        assert bp.distance(shapes, pairs=[apart[k]])[0] == distances[k]
        hit = bp.raycast(shapes, origins[k], directions[k], rows=[apart[k, 0]])
        assert np.array_equal(hit.distances[0], hits.distances[k])
        assert hits.rows[k] == hit.rows[0] == (apart[k, 0] if np.isfinite(hits.distances[k]) else -1)
        assert np.array_equal(hit.normals[0], hits.normals[k], equal_nan=True)
        impact = bp.time_of_impact(shapes, pairs=[apart[k]], motions=motions[k])
        assert np.array_equal(impact.times[0], impacts.times[k])


@pytest.mark.parametrize("dimension", KINDS)
def test_contacts_lead_out_of_each_other_and_lie_between_the_surfaces(dimension):
    shapes, parts, _ = scene(dimension, {2: 40, 3: 80}[dimension], spread=0.7)
    found = bp.contacts(shapes)
    most = 2 if dimension == 2 else 4
    assert np.array_equal(found.pairs, bp.overlaps(shapes))
    assert found.points.shape == (len(found.pairs), most, dimension)
    assert (found.counts.min(), found.counts.max()) == (1, most)
    assert (found.depths >= 0).all()
    assert np.allclose(np.linalg.norm(found.normals, axis=1), 1, rtol=0, atol=1e-12)
    there = np.arange(most) < found.counts[:, np.newaxis]
    assert np.array_equal(~np.isnan(found.points).any(axis=2), there)
    assert np.array_equal(~np.isnan(found.points).all(axis=2), there)
    single = [k for k, (i, j) in enumerate(found.pairs) if len(parts[i]) == len(parts[j]) == 1]
    for k in single[:150]:
        i, j = found.pairs[k]
        apart = [part._replace(points=part.points + found.normals[k] * found.depths[k]) for part in parts[j]]
        assert abs(shape_distance(parts[i], apart)) < 1e-9
        for point in found.points[k, : found.counts[k]]:
            place = parts_of(bp.Point(), point)
            outside = max(shape_distance(parts[i], place), shape_distance(parts[j], place))
            assert outside < found.depths[k] / 2 + 1e-9  # a flat shape does not hold what is midway


@pytest.mark.parametrize("dimension", KINDS)
def test_the_other_way_round_is_the_same_with_the_opposite_normal(dimension):
    shapes, _, _ = scene(dimension, 60, spread=0.7)
    pairs = bp.overlaps(shapes)
    there, back = bp.contacts(shapes, pairs=pairs), bp.contacts(shapes, pairs=pairs[:, ::-1])
    assert np.array_equal(back.pairs, pairs[:, ::-1])
    assert np.array_equal(there.depths, back.depths)
    assert np.array_equal(there.normals, -back.normals)


@pytest.mark.parametrize("dimension", KINDS)
def test_rays_enter_where_the_distance_ends(dimension):
    shapes, parts, rng = scene(dimension, 60, seed=4)
    rows = rng.integers(len(shapes), size=120)
    origins = rng.normal(size=(120, dimension)) * 4
    directions = shapes.positions[rows] - origins + rng.normal(size=(120, dimension))
    hits = bp.raycast(shapes, origins, directions, rows=rows)
    units = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    assert {2: 25, 3: 5}[dimension] < np.isfinite(hits.distances).sum() < 110
    for k, row in enumerate(rows):
        reach = hits.distances[k]
        hit = np.isfinite(reach)
        before = np.linspace(0, reach if hit else 20, 7)[: -1 if hit else None]
        gaps = [shape_distance(parts[row], parts_of(bp.Point(), origins[k] + t * units[k])) for t in before]
        if reach > 0:
            assert min(gaps, default=1) > 0
            assert np.isnan(hits.normals[k]).all() != hit
        else:
            assert gaps[0] <= 1e-9
        if hit and reach > 0:
            on_it = parts_of(bp.Point(), origins[k] + reach * units[k])
            assert abs(shape_distance(parts[row], on_it)) < 1e-9
            assert abs(np.linalg.norm(hits.normals[k]) - 1) < 1e-12
            assert hits.normals[k] @ units[k] <= 1e-9


def test_rays_end_at_their_longest_distance():
    disc = bp.Shapes(bp.Circle(1), [[5, 0]])
    hits = bp.raycast(disc, [[0, 0]] * 3, (1e-300, 0), rows=[0, 0, 0], max_distance=[3.9, 4, np.inf])
    assert hits.distances.tolist() == [np.inf, 4, 4]
    assert np.isnan(hits.normals[0]).all()
    assert bp.raycast(disc, (0, 0), (1e300, 0)).distances.tolist() == [4]
    assert bp.raycast(disc, (5, 0.5), (0, 0)).distances.tolist() == [0]
    assert bp.raycast(disc, (9, 9), (0, 0)).distances.tolist() == [np.inf]


@pytest.mark.parametrize("dimension", KINDS)
def test_impacts_are_when_the_distance_ends(dimension):
    shapes, parts, rng = scene(dimension, 60, seed=4)
    pairs = some_pairs(rng, len(shapes), 100)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    others = rng.normal(size=(len(pairs), dimension))
    motions = 1.5 * (shapes.positions[pairs[:, 1]] - shapes.positions[pairs[:, 0]]) + others
    found = bp.time_of_impact(shapes, pairs=pairs, motions=motions, other_motions=others)
    assert np.array_equal(found.pairs, pairs)
    moving = (found.times > 0) & np.isfinite(found.times)
    assert moving.sum() > 12

    def gap(k, time):
        i, j = pairs[k]
        moved = [part._replace(points=part.points + time * (motions[k] - others[k])) for part in parts[i]]
        return shape_distance(moved, parts[j])

    for k in range(len(pairs)):
        time = found.times[k]
        if not np.isfinite(time):
            assert min(gap(k, t) for t in np.linspace(0, 1, 6)) > 0
            assert np.isnan(found.normals[k]).all()
        elif time > 0:
            assert abs(gap(k, time)) < 1e-8
            assert min(gap(k, t) for t in np.linspace(0, time, 6)[:-1]) > 0
            assert abs(np.linalg.norm(found.normals[k]) - 1) < 1e-12
        else:
            assert gap(k, 0) < 1e-9


@pytest.mark.parametrize("dimension", KINDS)
def test_answers_in_portions_and_from_many_threads_are_the_same(dimension, monkeypatch):
    shapes, _, rng = scene(dimension, 60)
    pairs = some_pairs(rng, len(shapes), 101)
    motions, offsets = rng.normal(size=(2, 101, dimension))
    first, second = pairs.astype(np.int32).T.copy()

    def ask(_=None):
        return [
            bp.overlaps(shapes, pairs=pairs),
            row_pairs.overlap_mask(shapes, shapes, first, second, offsets),
            *row_pairs.separations(shapes, shapes, first, second, offsets),
            *row_pairs.contacts_of(shapes, shapes, first, first),
            *row_pairs.ray_hits(shapes, first, motions * 5, -motions),
            *row_pairs.impacts(shapes, shapes, first, second, motions, offsets),
        ]

    whole = ask()
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(ask, range(8))]
    monkeypatch.setattr(row_pairs, "_PORTION", 7)
    for answer in [*answers, ask()]:
        for one, other in zip(whole, answer, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_touching_shapes_overlap():
    shapes = bp.Shapes(
        [bp.Circle(1), bp.Circle(2), bp.Rectangle(2, 2), bp.Point(), bp.Segment((0, -1), (0, 1))],
        [[0, 0], [3, 0], [0, 2], [1, 3], [-1, 0]],
    )
    assert bp.overlaps(shapes).tolist() == [[0, 1], [0, 2], [0, 4], [2, 3], [2, 4]]
    assert bp.distance(shapes, pairs=bp.overlaps(shapes)).tolist() == [0] * 5
    assert bp.contacts(shapes).depths.tolist() == [0] * 5


@pytest.mark.parametrize(("height", "count"), [(-1 / 16, 2), (0, 2), (1 / 16, 1)])
def test_the_second_corner_of_a_tilted_side_counts_where_it_is_inside(height, count):
    tilted = bp.ConvexPolygon([(-1, -1 / 8), (1, height), (1, 2), (-1, 2)])
    found = bp.contacts(bp.Shapes([bp.Rectangle(4, 2), tilted], [[0, -1], [0, 0]]), pairs=[[0, 1], [1, 0]])
    assert found.depths.tolist() == [1 / 8] * 2
    assert found.normals.tolist() == [[0, 1], [0, -1]]
    for points in found.points.tolist():
        assert points[:count] == [[-1, -1 / 16], [1, height / 2]][:count]
    assert found.counts.tolist() == [count] * 2


def test_a_capsule_on_another_of_its_length_rests_on_two_points_whatever_the_angle():
    angles = np.arange(360) * np.pi / 180
    capsule = bp.Capsule((0, 0), (1, 0), 0.25)
    above = 0.375 * np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    found = bp.contacts(bp.Shapes(capsule, np.zeros((360, 2)), angles), bp.Shapes(capsule, above, angles),
                        pairs=np.repeat(np.arange(360), 2).reshape(360, 2))  # fmt: skip
    assert found.counts.tolist() == [2] * 360
    assert np.allclose(found.depths, 0.125, rtol=0, atol=1e-15)


def test_a_disc_just_beyond_a_corner_is_pushed_along_the_line_from_it():
    # So little beyond that the side, whose normal is another one, is as near up to rounding.
    shapes = bp.Shapes([bp.Rectangle(2, 2), bp.Capsule((-1, 0), (1, 0), 0.25), bp.Circle(1.5)],
                       [[0, -1], [0, 0], [1 + 1e-7, 1]])  # fmt: skip
    normals = bp.contacts(shapes, pairs=[[0, 2], [1, 2], [2, 0], [2, 1]]).normals
    assert np.allclose(normals, [[1e-7, 1]] * 2 + [[-1e-7, -1]] * 2, rtol=1e-8, atol=0)


@pytest.mark.parametrize("other", [bp.Rectangle(2, 1), bp.ConvexPolygon([(-1, -0.5), (1, -0.5), (0, 0.5)])])
def test_shapes_with_an_edge_whose_square_is_rounded_to_a_multiple_of_the_least_number_overlap(other):
    short = bp.Capsule((0, 0), (2.6e-162, 0), 1.1)  # its length by the root of its square: 2.2e-162
    shapes = bp.Shapes([short, other], [[0, 0], [0, 1.5]])
    assert bp.overlaps(shapes).tolist() == [[0, 1]]
    assert np.allclose(bp.distance(shapes, pairs=[[0, 1]]), [-0.1], rtol=0, atol=1e-15)


def test_normals_of_capsules_that_are_nearly_parallel_are_perpendicular_to_both():
    rng = np.random.default_rng(30)
    for angle in (1e-3, 1e-4, 1e-5, 1e-6):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        first, second = (np.array([[-1, -tilt, 0], [1, tilt, 0]]) @ axes for tilt in (0, angle))
        shapes = bp.Shapes([bp.Capsule(*first, 0.5), bp.Capsule(*second, 0.25)], np.zeros((2, 3)))
        normal = bp.contacts(shapes).normals[0]
        assert np.allclose([normal @ (end - begin) for begin, end in (first, second)], 0, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dimension", KINDS)
def test_no_shapes_and_no_pairs_have_empty_answers(dimension):
    none = bp.Shapes([], np.empty((0, dimension)))
    some = bp.Shapes(bp.Point(), np.zeros((3, dimension)))
    assert bp.overlaps(none).shape == bp.overlaps(some, none).shape == bp.overlaps(none, some).shape == (0, 2)
    for pairs in ([], np.empty((0, 2), int)):
        assert bp.distance(some, pairs=pairs).shape == (0,)
        assert bp.time_of_impact(some, pairs=pairs, motions=np.zeros(dimension)).times.shape == (0,)
        found = bp.contacts(some, pairs=pairs)
        assert [len(values) for values in found] == [0] * 5
        assert found.points.shape == (0, {2: 2, 3: 4}[dimension], dimension)
    assert bp.raycast(none, np.empty((0, dimension)), np.zeros(dimension)).normals.shape == (0, dimension)


def test_pairs_of_any_integers_are_taken_and_a_shape_meets_itself():
    shapes = bp.Shapes(bp.Circle([1, 2]), [[0, 0], [5, 0]])
    for dtype in (np.int8, np.uint64, np.int64, ">i4"):
        assert bp.distance(shapes, pairs=np.array([[0, 1], [1, 1]], dtype)).tolist() == [2, -4]
    assert bp.distance(shapes, pairs=np.array([[0, 0], [1, 0]]).T[:, ::-1].tolist()).tolist() == [2, -2]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s, o: bp.overlaps(s, o), "shapes have 2 dimensions and other 3"),
        (lambda s, o: bp.distance(s, pairs=[[0, 1], [0, 2]]), "pairs, second: number 1 is 2, but there are 2 shapes"),
        (lambda s, o: bp.distance(s, pairs=[[0, 1], [-1, 0]]), "pairs, first: number 1 is -1"),
        (lambda s, o: bp.contacts(s, pairs=[0, 1]), "pairs must have shape (m, 2), not (2,)"),
        (lambda s, o: bp.raycast(s, [[0, 0], [NAN, 0]], (1, 0)), "origins: row 1 has nan, which is not finite"),
        (lambda s, o: bp.raycast(s, (0, 0), [[np.inf, 0], [1, 0]]), "directions: row 0 has inf"),
        (lambda s, o: bp.raycast(s, (0, 0), (1, 0, 0)), "directions must have shape (2, 2) or (2,), not (3,)"),
        (lambda s, o: bp.raycast(s, [[0, 0]] * 3, (1, 0)), "origins must have shape (2, 2) or (2,), not (3, 2)"),
        (lambda s, o: bp.raycast(s, (0, 0), (1, 0), rows=[2]), "rows: number 0 is 2, but there are 2"),
        (lambda s, o: bp.raycast(s, (0, 0), (1, 0), max_distance=[1, NAN]), "max_distance: row 1 has nan"),
        (lambda s, o: bp.raycast(s, (0, 0), (1, 0), max_distance=-1), "max_distance: row 0 has -1.0"),
        (lambda s, o: bp.raycast(s, (0, 0), (1, 0), max_distance=[1] * 3), "max_distance must be one number or"),
        (lambda s, o: bp.time_of_impact(s, pairs=[[0, 1]], motions=[[0, NAN]]), "motions: row 0 has nan"),
        (lambda s, o: bp.time_of_impact(s, pairs=[[0, 1]], motions=(2e40, 0)), "motions: row 0 has 2e+40"),
        (lambda s, o: bp.raycast(s, (0, -2e40), (1, 0)), "origins: row 0 has -2e+40, which is beyond 1e+40"),
    ],
)
def test_what_cannot_be_asked_raises_and_names_the_row(ask, message):
    flat, solid = bp.Shapes(bp.Circle(1), [[0, 0], [5, 0]]), bp.Shapes(bp.Sphere(1), [[0, 0, 0]])
    with pytest.raises(ValueError, match=re.escape(message)):
        ask(flat, solid)


def test_what_are_no_placed_shapes_raises_type_error():
    shapes = bp.Shapes(bp.Circle(1), [[0, 0]])
    with pytest.raises(TypeError, match=r"shapes must be Shapes or a Shape, not \[Circle\(radius=1.0\)\]"):
        bp.overlaps([bp.Circle(1)])
    with pytest.raises(TypeError, match=r"other must be Shapes or a Shape, not \[\[0, 0, 1, 1\]\]"):
        bp.overlaps(shapes, [[0, 0, 1, 1]])
    with pytest.raises(TypeError, match="pairs, first must be integers"):
        bp.distance(shapes, pairs=[[0.0, 0.0]])


class Asked:
    """Answers of the core for pairs with geometry; remembers which were asked for."""

    def __init__(self):
        self.asked = []

    def geometry_overlaps(self, a, of_a, b, of_b, first, second, offsets):
        self.asked.append((first.tolist(), second.tolist(), offsets))
        return first % 2 == 0

    def geometry_distances(self, a, of_a, b, of_b, first, second, offsets, within, workers):
        self.asked.append((first.tolist(), second.tolist(), offsets, within, workers))
        return first + 100.0, np.tile([0.0, 0.0, 1.0], (len(first), 1))

    def geometry_contacts(self, a, of_a, b, of_b, first, second, offsets):
        count = len(first)
        points = np.full((count, 4, 3), NAN)
        points[:, 0] = 7
        return np.tile([0.0, 1.0, 0.0], (count, 1)), first + 10.0, np.ones(count, np.int8), points

    def geometry_rays(self, a, of_a, rows, origins, directions, workers):
        return origins[:, 0] + 50, directions

    def geometry_impacts(self, a, of_a, b, of_b, first, second, motions, offsets):
        return np.full(len(first), 0.25), motions


def test_pairs_with_geometry_and_only_they_are_asked_with_what_is_kept_of_it(monkeypatch):
    core = Asked()
    for name in ("overlaps", "distances", "contacts", "rays", "impacts"):
        monkeypatch.setattr(_native, f"geometry_{name}", getattr(core, f"geometry_{name}"))
    rng = np.random.default_rng(6)
    shapes = bp.Shapes([bp.Sphere(1), hull(rng), bp.Sphere(2), hull(rng)], [[0, 0, 0], [1, 0, 0], [0, 2, 0], [1, 1, 0]])
    pairs = np.array([[0, 2], [0, 1], [1, 2], [2, 3], [3, 1]], np.int32)
    offsets = 0.1 * rng.normal(size=(5, 3))
    first, second = pairs.T.copy()
    known = bp.Shapes(bp.Sphere([1, 2]), [[0, 0, 0], [0, 2, 0]])
    assert row_pairs.overlap_mask(shapes, shapes, first, second, offsets).tolist()[1:] == [True, False, True, False]
    assert core.asked[0][:2] == ([0, 1, 2, 3], [1, 2, 3, 1])
    assert np.array_equal(core.asked[0][2], offsets[1:])
    distances, normals = row_pairs.separations(shapes, shapes, first, second)
    assert core.asked[1][2:] == (None, np.inf, 1)
    assert distances[1:].tolist() == [100, 101, 102, 103]
    assert distances[0] == bp.distance(known, pairs=[[0, 1]])
    assert normals[1:, 2].tolist() == [1] * 4
    found = row_pairs.contacts_of(shapes, shapes, first, second)
    assert found.depths[1:].tolist() == [10, 11, 12, 13]
    assert found.counts[1:].tolist() == [1] * 4
    assert found.points[1:, 0, 0].tolist() == [7] * 4
    assert found.depths[0] == bp.contacts(known).depths[0]
    hits = bp.raycast(shapes, (0, -5, 0), (0, 1, 0))
    assert hits.distances.tolist() == [4, 50, 5, 50]
    impacts = bp.time_of_impact(shapes, pairs=pairs, motions=(0, 1, 0))
    assert impacts.times.tolist() == [0, 0.25, 0.25, 0.25, 0.25]
    assert impacts.normals[1].tolist() == [0, 1, 0]


@pytest.mark.parametrize("dimension", KINDS)
@pytest.mark.parametrize("exponent", [-130, -40, 40, 130])
def test_answers_do_not_depend_on_the_unit_of_length(dimension, exponent):
    rng = np.random.default_rng(20)
    unit = 2.0**exponent
    sizes, places, turns = rng.random((30, dimension)), rng.normal(size=(30, dimension)), rotations(rng, dimension, 30)
    ends, pairs, motions = rng.normal(size=(2, 30, dimension)), every_pair(60), rng.normal(size=(1770, dimension))
    answers = []
    for scale in (1.0, unit):
        boxes = (bp.Rectangle if dimension == 2 else bp.Box)(*sizes.T * scale, offset=sizes[::-1] * scale)
        shapes = bp.Shapes([boxes, bp.Capsule(*(ends * scale), sizes[:, 0] * scale)], np.tile(places * scale, (2, 1)),
                           np.concatenate([turns, turns]))  # fmt: skip
        found, hits = bp.contacts(shapes), bp.raycast(shapes, 2 * ends[0, :1] * scale, -ends[0, 0])
        impacts = bp.time_of_impact(shapes, pairs=pairs, motions=motions * scale)
        lengths = (bp.distance(shapes, pairs=pairs), found.depths, found.points, hits.distances)
        answers.append((found.pairs, found.normals, impacts.times, *(length / scale for length in lengths)))
    for one, other in zip(*answers, strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)
