"""Spheres decide in an octree and a sweep: in pairs, balls, rays, views and records, compared with fractions."""

from fractions import Fraction
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

import broadphase as bp
from query_cases import arguments_of

KINDS = ("uniform", "lattice", "tangent", "far", "huge", "tiny", "mixed")

# Every kind in one dimension, every dimension with some: fractions of huge and tiny numbers are slow.
CASES = [(kind, 1 + number % 4) for number, kind in enumerate(KINDS)] + [("tangent", d) for d in (1, 3, 4)]


def scene(kind, count, dimension, seed):
    """Centers and radii; the last fifth has infinite radii, which means none."""
    rng = np.random.default_rng([seed, dimension, KINDS.index(kind)])
    centers, radii = rng.uniform(-5, 5, (count, dimension)), rng.uniform(0, 1.5, count)
    if kind in ("lattice", "tangent"):
        centers, radii = rng.integers(-4, 5, (count, dimension)) * 1.0, rng.integers(0, 4, count) / 2
    if kind == "tangent":  # in tenths, which doubles round
        centers, radii = centers / 10, radii / 10
    if kind == "far":
        centers += 2.0**40
    scale = {"huge": 2.0**1015, "tiny": 2.0**-1060}.get(kind, 1.0)
    if kind == "mixed":
        scale = 2.0 ** rng.integers(-300, 300, (count, 1))
        radii = radii * scale[:, 0]
        scale = scale * rng.choice([0, 1], (count, 1))
    centers, radii = centers * scale, radii * (scale if np.ndim(scale) == 0 else 1.0)
    radii[-count // 5 :] = np.inf
    return centers, radii


def tree_of(centers, radii, make=bp.Octree):
    reach = np.where(np.isfinite(radii), radii, np.abs(centers).max() / 8)[:, np.newaxis]
    boxes = np.stack([centers - reach, centers + reach], axis=1)
    boxes[np.isfinite(radii)] = [[-np.inf], [np.inf]]
    options = {"leaf_capacity": 2} if make is bp.Octree else {}
    return make(boxes, spheres=(centers, radii), **options)


def exact(values):
    return [Fraction(float(value)) for value in values]


def gap(low, high, center):
    """The square of the distance of a box and a point; None for a box at infinity."""
    total = Fraction(0)
    for least, most, at in zip(low, high, exact(center), strict=True):
        if at < least:
            total += (Fraction(float(least)) - at) ** 2
        elif at > most:
            total += (at - Fraction(float(most))) ** 2
    return total


def touches(tree, centers, radii, row, center, radius):
    """Whether a ball meets the sphere of a row, or its box if it has none."""
    if np.isinf(radii[row]):
        return gap(*tree.boxes_of([row])[0].tolist(), center) <= Fraction(float(radius)) ** 2
    reach = Fraction(float(radius)) + Fraction(float(radii[row]))
    return sum((a - b) ** 2 for a, b in zip(exact(centers[row]), exact(center), strict=True)) <= reach**2


def hits(origin, direction, limit, center, radius):
    """Whether a ray, a closed segment of length `limit`, meets a closed ball: by the nearest point of the segment."""
    offset = [a - b for a, b in zip(exact(origin), exact(center), strict=True)]
    along, radius = exact(direction), Fraction(float(radius))
    a, b = sum(x * x for x in along), sum(x * y for x, y in zip(offset, along, strict=True))
    outside = sum(x * x for x in offset) - radius**2
    if outside <= 0:
        return True
    if a == 0 or b >= 0:
        return False
    if np.isinf(limit) or Fraction(float(limit)) ** 2 * a >= b * b:  # the nearest point is on the segment
        return outside - b * b / a <= 0
    # Nearest is the end, at t = limit / sqrt(a): outside + 2 b t + a t^2 <= 0.
    length = Fraction(float(limit))
    left = outside + length**2
    return left <= 0 or left**2 * a <= 4 * b * b * length**2


@pytest.mark.parametrize("make", [bp.Octree, bp.SweepAndPrune])
@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_spheres_decide_pairs_and_balls_exactly(kind, dimension, make):
    centers, radii = scene(kind, 30, dimension, 1)
    tree = tree_of(centers, radii, make)
    boxes = tree.boxes_of()
    meet = {
        (i, j)
        for i, j in combinations(range(30), 2)
        if (boxes[i, 0] <= boxes[j, 1]).all() and (boxes[j, 0] <= boxes[i, 1]).all()
    }
    expected = []
    for i, j in sorted(meet):
        round_one, other = (i, j) if np.isfinite(radii[i]) else (j, i)
        if np.isinf(radii[round_one]) or touches(tree, centers, radii, other, centers[round_one], radii[round_one]):
            expected.append([i, j])
    assert tree.pairs(by="sphere", sort=True).tolist() == expected
    at, reach = scene(kind, 30, dimension, 2)
    reach = np.where(np.isfinite(reach), reach, 0.0)
    found = tree.query_ball(at, reach, by="sphere")
    for number in range(30):
        wanted = [row for row in range(30) if touches(tree, centers, radii, row, at[number], reach[number])]
        assert found[number].tolist() == wanted


@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_spheres_decide_rays_exactly(kind, dimension):
    centers, radii = scene(kind, 30, dimension, 3)
    tree = tree_of(centers, radii)
    origins, limits = scene(kind, 40, dimension, 4)
    rng = np.random.default_rng(dimension)
    directions = rng.integers(-2, 3, (40, dimension)) * rng.choice([1.0, 0.1, 1e-200, 1e200], (40, 1))
    directions[:20] = centers[rng.integers(0, 30, 20)] / 4 - origins[:20] / 4
    limits[:10] *= 4
    found = tree.raycast_all(origins, directions, limits, by="sphere")
    boxed = tree.raycast_all(origins, directions, limits)
    for number in range(40):
        ray = origins[number], directions[number], limits[number]
        wanted = {row for row in range(30) if np.isfinite(radii[row]) and hits(*ray, centers[row], radii[row])}
        wanted |= {row for row in boxed[number][0].tolist() if np.isinf(radii[row])}
        rows, distances = found[number]
        assert set(rows.tolist()) == wanted, number
        assert (np.diff(distances) >= 0).all()
        assert (distances <= limits[number]).all()
    first = tree.raycast(origins, directions, limits, by="sphere")
    hit = np.diff(found.offsets) > 0
    np.testing.assert_array_equal(first.rows[hit], found.rows[found.offsets[:-1][hit]])
    np.testing.assert_array_equal(first.distances[hit], found.distances[found.offsets[:-1][hit]])
    assert (first.rows[~hit] == -1).all()
    assert np.isinf(first.distances[~hit]).all()
    np.testing.assert_array_equal(tree.raycast_any(origins, directions, limits, by="sphere"), hit)


def test_distance_of_a_hit_is_right_to_a_few_roundings():
    tree = bp.Octree.from_spheres([[3.0, 4.0], [1e8, 1.0], [2e9, 0.0]], [1.0, 1.5, 1e9])
    distances = tree.raycast([[0, 4.0], [0, 0], [0, 0.0]], [[5, 0], [1e-9, 0], [1, 0]], by="sphere").distances
    np.testing.assert_allclose(distances, [2, 1e8 - np.sqrt(1.5**2 - 1), 1e8 - np.sqrt(1.5**2 - 1)], rtol=1e-15)


def test_ray_that_ends_on_a_sphere_hits_it_however_the_distance_is_rounded():
    # 0.3 + 0.1 is less than 0.4, in numbers as they are stored; divided and multiplied by 0.05 it is not.
    tree = bp.Octree.from_spheres([[-0.1]], 0.0)
    assert tree.raycast([[0.3]], [[-0.05]], 0.4, by="sphere").rows.tolist() == [0]
    assert tree.raycast([[0.3]], [[-0.05]], np.nextafter(0.4, 0) - 1e-16, by="sphere").rows.tolist() == [-1]


def test_ray_that_hits_farther_than_numbers_reach_is_a_hit():
    tree = bp.Octree.from_spheres([[1.5e308, 0.0]], 1.0)
    hits = tree.raycast([[-1.5e308, 0.0]], [[1, 0]], by="sphere")
    assert hits.rows.tolist() == [0]
    assert hits.distances[0] > 1e308


@pytest.mark.parametrize("dimension", [2, 3])
def test_spheres_decide_views_as_the_distance_to_the_region_does(dimension):
    # The distance of a point and a region, by alternating projections (Dykstra), which know nothing of faces.
    rng = np.random.default_rng(dimension)
    centers, radii = rng.uniform(-4, 4, (300, dimension)), rng.uniform(0, 1.0, 300)
    tree = bp.Octree.from_spheres(centers, radii)
    for count in (1, 2, dimension + 1, 6):
        normals = rng.normal(0, 1, (count, dimension))
        units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        planes = np.column_stack([units, np.full(count, 1.0)]) * rng.uniform(0.1, 9, (count, 1))
        near, corrections = centers.copy(), np.zeros((count, *centers.shape))
        for _ in range(400):
            for k in range(count):
                wanted = near + corrections[k]
                height = np.minimum(wanted @ units[k] + 1.0, 0.0)
                near = wanted - height[:, np.newaxis] * units[k]
                corrections[k] = wanted - near
        away = np.linalg.norm(near - centers, axis=1) - radii
        assert (np.abs(away) > 1e-7).all(), "no sphere is in doubt"
        found = tree.frustum(planes=planes, by="sphere")
        assert found.tolist() == np.flatnonzero(away < 0).tolist()
        assert len(tree.frustum(planes=planes)) > len(found) or count < 3


def test_camera_sees_spheres_and_not_the_corners_of_their_boxes():
    camera = bp.cameras.perspective(np.pi / 2, 1.0, 1.0, 100.0) @ bp.cameras.look_at([0, 0, 0], [0, 0, -1])
    # Beside the right side, whose normal is (-1, 0, -1): the second touches it, and the corner of the third's box does.
    centers = [[0, 0, -5], [5 + 2**0.5, 0, -5], [6.5, 0, -5], [0, 0, 1], [0, 0, -102]]
    tree = bp.Octree.from_spheres(centers, 1)
    assert tree.frustum(camera).tolist() == [0, 1, 2]
    assert tree.frustum(camera, by="sphere").tolist() == [0, 1]
    both = tree.frustum(np.stack([camera, camera]), by="sphere", workers=2)
    assert [rows.tolist() for rows in both] == [[0, 1], [0, 1]]
    assert tree.frustum(planes=[[0, 0, 0, -1]], by="sphere").tolist() == []
    assert tree.frustum(planes=[[0, 0, 0, 1]], by="sphere").tolist() == [0, 1, 2, 3, 4]


def test_records_of_spheres_say_where_along_which_normal_and_how_deep():
    tree = bp.Octree(
        [[[-np.inf] * 2, [np.inf] * 2]] * 2 + [[[3, -1], [9, 5]], [[-9, -9], [9, -1.5]]],
        spheres=([[0, 0], [3, 4], [0, 0], [0, 0]], [2, 4, np.inf, np.inf]),
    )
    records = tree.records(by="sphere")
    by_pair = {(int(one["first"]), int(one["second"])): one for one in records}
    assert sorted(by_pair) == [(0, 1), (0, 3), (1, 2), (2, 3)][:3] + ([(2, 3)] if (2, 3) in by_pair else [])
    both, wall, inside = by_pair[0, 1], by_pair[0, 3], by_pair[1, 2]
    np.testing.assert_allclose(both["normal"], [0.6, 0.8])
    assert both["depth"] == 1
    np.testing.assert_allclose(both["position"], [0.9, 1.2])
    assert (wall["normal"].tolist(), wall["depth"], wall["position"].tolist()) == ([0, -1], 0.5, [0, -1.75])
    # The center of the second sphere is on the left side of the box.
    assert (inside["normal"].tolist(), inside["depth"]) == ([1, 0], 4)
    swapped = tree.records([[1, 0], [3, 0], [2, 1]], by="sphere")
    for one, other in zip(swapped, (both, wall, inside), strict=True):
        np.testing.assert_array_equal(one["normal"], 0 - other["normal"])
        np.testing.assert_array_equal(one["position"], other["position"])
        assert (one["depth"], one["cell"]) == (other["depth"], other["cell"])


def test_records_of_spheres_moved_by_the_depth_only_touch():
    rng = np.random.default_rng(6)
    centers, radii = rng.uniform(0, 6, (150, 3)), rng.uniform(0.1, 1.0, 150)
    tree = bp.Octree.from_spheres(centers, radii)
    records = tree.records(by="sphere")
    i, j = records["first"], records["second"]
    assert np.stack([i, j], axis=1).tolist() == tree.pairs(by="sphere", sort=True).tolist()
    moved = centers[j] + records["normal"] * records["depth"][:, np.newaxis]
    np.testing.assert_allclose(np.linalg.norm(moved - centers[i], axis=1), radii[i] + radii[j], rtol=1e-12)


def test_records_of_rays_have_the_normals_of_spheres():
    tree = bp.Octree.from_spheres([[5.0, 0], [9, 0], [20, 0]], [1.0, 0.0, 2.0])
    records = tree.ray_records([[0, 0.6], [8, 0], [20.5, 0]], [[2, 0], [1, 0], [0, 1]], by="sphere")
    assert records["row"].tolist() == [0, 2, 1, 2, 2]
    np.testing.assert_allclose(records["distance"], [4.2, 20 - np.sqrt(4 - 0.36), 1, 10, 0])
    np.testing.assert_allclose(records["normal"][[0, 2, 3, 4]], [[-0.8, 0.6], [-1, 0], [-1, 0], [0, 0]])
    nearest = tree.ray_records([[0, 0.6]], [[2, 0]], by="sphere", nearest=True)
    assert nearest["row"].tolist() == [0]


def reach_of(low, high, way, center):
    """The least square of the distance of a moving box and a point, in fractions: at the ends, or where the slope of
    the squares is zero, whichever sides of the box count along each axis."""
    low, high, way, center = (exact(values) for values in (low, high, way, center))

    def away(time):
        gaps = [max(a + time * v - c, c - b - time * v, 0) for a, b, v, c in zip(low, high, way, center, strict=True)]
        return sum(gap * gap for gap in gaps)

    times = {Fraction(0), Fraction(1)}
    for sides in product((0, 1, 2), repeat=len(low)):
        count = [(side, v) for side, v in zip(sides, way, strict=True) if side < 2]
        offsets = [(low, high)[side][k] - center[k] for k, side in enumerate(sides) if side < 2]
        bend = sum(v * v for _, v in count)
        if bend:
            slope = sum(offset * v for offset, (_, v) in zip(offsets, count, strict=True))
            times.add(min(max(-slope / bend, Fraction(0)), Fraction(1)))
    return min(map(away, times))


@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_spheres_decide_shapecasts_exactly(kind, dimension):
    centers, radii = scene(kind, 12, dimension, 5)
    radii = np.where(np.isfinite(radii), radii, 0.0)
    low, _ = scene(kind, 12, dimension, 6)
    wide, _ = scene(kind, 12, dimension, 7)
    lower, upper = np.minimum(low, low + (wide - low) / 8), np.maximum(low, low + (wide - low) / 8)
    motions = centers[::-1] / 2 - lower / 2
    motions[:3], motions[3:6, 0] = 0.0, 0.0
    trees = [bp.Octree.from_spheres(centers[[row]], radii[[row]]) for row in range(12)]
    found = np.stack([tree.shapecast((lower, upper), motions, by="sphere").times for tree in trees])
    wanted = [
        [reach_of(lower[k], upper[k], motions[k], centers[row]) <= Fraction(float(radii[row])) ** 2 for k in range(12)]
        for row in range(12)
    ]
    assert np.isfinite(found).tolist() == wanted
    assert (found[np.isfinite(found)] <= 1).all()
    # The first of all, and the lowest row where several are first.
    first = bp.Octree.from_spheres(centers, radii).shapecast((lower, upper), motions, by="sphere")
    np.testing.assert_array_equal(first.times, found.min(axis=0))
    hit = np.isfinite(first.times)
    np.testing.assert_array_equal(first.rows[hit], found.argmin(axis=0)[hit])
    assert (first.rows[~hit] == -1).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_times_of_shapecasts_are_those_at_which_the_boxes_reach_the_spheres(dimension):
    rng = np.random.default_rng(dimension)
    centers, radii = rng.uniform(-4, 4, (300, dimension)), rng.uniform(0.1, 1, 300)
    lower = rng.uniform(-9, 9, (200, dimension))
    upper, motions = lower + rng.uniform(0, 1, (200, dimension)), -1.5 * lower
    hits = bp.Octree.from_spheres(centers, radii).shapecast((lower, upper), motions, by="sphere")

    def gaps(times):
        begin, end = (corner + times[:, np.newaxis] * motions for corner in (lower, upper))
        ways = np.maximum(np.maximum(begin[:, np.newaxis] - centers, centers - end[:, np.newaxis]), 0)
        return np.linalg.norm(ways, axis=2) - radii

    touched = hits.rows >= 0
    assert touched.sum() > 20
    ends = np.where(touched, hits.times, 1.0)
    np.testing.assert_allclose(
        gaps(ends)[touched, hits.rows[touched]], np.minimum(gaps(0 * ends)[touched, hits.rows[touched]], 0), atol=1e-12
    )
    for share in np.linspace(0, 1 - 1e-9, 40):
        assert (gaps(ends * share)[ends > 0] > 0).all(), "nothing was touched before"


def test_shapecasts_of_rows_without_spheres_are_those_of_boxes_and_filters_count():
    boxes = [[[-np.inf] * 2, [np.inf] * 2], [[6, 0], [7, 9]]]
    tree = bp.Octree(boxes, spheres=([[4, 0], [0, 0]], [1, np.inf]), layer=[1, 2])
    way = [[0, 0, 1, 0.5]], [[10, 0]]
    np.testing.assert_allclose(tree.shapecast(*way, by="sphere").times, [0.2], rtol=1e-15)
    assert tree.shapecast(*way, by="sphere", mask=2).rows.tolist() == [1]
    assert tree.shapecast(*way, by="sphere", ignore=0).times.tolist() == [0.5]
    assert tree.shapecast([[0, 0.5, 1, 1]], [[5, 5]], by="sphere").rows.tolist() == [1], "beside the sphere"
    assert len(tree.shapecast(np.empty((0, 4)), np.empty((0, 2)), by="sphere").rows) == 0
    keyed = bp.Octree.from_spheres([[4, 0], [6, 0]], 1, batch=[0, 1])
    assert keyed.shapecast(*way, by="sphere", batch=1).rows.tolist() == [1]
    with pytest.raises(ValueError, match="boxes: row 0 is not finite"):
        tree.shapecast([[0, 0, 1, np.inf]], [[10, 0]], by="sphere")


@pytest.mark.parametrize("make", [bp.Octree, bp.SweepAndPrune])
@pytest.mark.parametrize("dimension", [2, 3])
def test_spheres_decide_oriented_boxes(make, dimension):
    rng = np.random.default_rng(dimension)
    centers, radii = rng.uniform(-4, 4, (200, dimension)), rng.uniform(0, 1, 200)
    index = make.from_spheres(centers, radii)
    middles, half = rng.uniform(-4, 4, (40, dimension)), rng.uniform(0, 2, (40, dimension))
    axes = np.linalg.qr(rng.normal(size=(40, dimension, dimension)))[0]
    found = index.query_obb(middles, half, axes, by="sphere")
    ways = np.abs(np.einsum("qka,qnk->qna", axes, centers - middles[:, np.newaxis])) - half[:, np.newaxis]
    away = np.linalg.norm(np.maximum(ways, 0), axis=2) - radii
    assert (np.abs(away) > 1e-9).all(), "no sphere is in doubt"
    for number in range(40):
        assert found[number].tolist() == np.flatnonzero(away[number] < 0).tolist()
    assert len(found.rows) < len(index.query_obb(middles, half, axes).rows)


@pytest.mark.parametrize("kind", ["tangent", "lattice", "huge", "far"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_spheres_and_boxes_after_a_quarter_turn_are_decided_exactly(kind, dimension):
    centers, radii = scene(kind, 30, dimension, 8)
    tree = tree_of(centers, radii)
    boxes = tree.boxes_of()
    middles, half = scene(kind, 10, dimension, 9)
    half = np.where(np.isfinite(half), half, 0.0)[:, np.newaxis] * np.arange(1, dimension + 1)
    turn = np.zeros((dimension, dimension))
    turn[np.arange(dimension), np.roll(np.arange(dimension), 1)] = -1.0
    found = tree.query_obb(middles, half, turn, by="sphere")
    reach = np.abs(half @ turn.T)
    for number in range(10):
        low, high = middles[number] - reach[number], middles[number] + reach[number]
        wanted = []
        for row in range(30):
            meets = (boxes[row, 0] <= high).all() and (boxes[row, 1] >= low).all()
            if meets and np.isfinite(radii[row]):
                meets = gap(low, high, centers[row]) <= Fraction(float(radii[row])) ** 2
            wanted += [row] if meets else []
        assert found[number].tolist() == wanted


@pytest.mark.parametrize("scale", [1.0, 2.0**600, 2.0**-600, 1e308])
def test_spheres_that_touch_an_oriented_box_are_never_missed(scale):
    rng = np.random.default_rng(8)
    axes = np.linalg.qr(rng.normal(size=(50, 3, 3)))[0]
    half = rng.uniform(0.1, 1, (50, 3))
    # From a corner outwards, in the space between its three faces.
    ways = rng.uniform(0.1, 1, (50, 3))
    corners = np.einsum("qka,qa->qk", axes, half)
    radii = rng.uniform(0.01, 0.5, 50)
    centers = (
        corners + np.einsum("qka,qa->qk", axes, ways / np.linalg.norm(ways, axis=1, keepdims=True)) * radii[:, None]
    )
    for larger, is_found in ((1e-15, True), (-1e-9, False)):
        for k in range(50):
            tree = bp.Octree.from_spheres(centers[[k]] * scale / 4, (radii[[k]] + larger) * scale / 4)
            found = tree.query_obb([[0, 0, 0]], half[k] * scale / 4, axes[[k]], by="sphere")
            assert len(found.rows) == is_found


def test_pairs_of_spheres_come_in_chunks_and_by_rows():
    centers, radii = scene("lattice", 60, 3, 1)
    sweep = tree_of(centers, radii, bp.SweepAndPrune)
    wanted = sweep.pairs(by="sphere", sort=True).tolist()
    stream = sweep.iter_pairs(by="sphere", chunk=7)
    sweep.update(None, spheres=(centers + 90, np.where(np.isfinite(radii), radii, 1.0)))
    assert sorted(pair for chunk in stream for pair in chunk.tolist()) == wanted
    sweep = tree_of(centers, radii, bp.SweepAndPrune)
    for row, found in zip(range(60), sweep.query_rows(range(60), by="sphere"), strict=True):
        assert found.tolist() == [a + b - row for a, b in sorted(wanted) if row in (a, b)]
    with pytest.raises(ValueError, match='by="sphere" is for pairs within one index'):
        sweep.iter_pairs(sweep, by="sphere")


def test_wrong_bounds_are_refused_by_every_question():
    tree = bp.Octree.from_spheres([[0.0, 0]], 1)
    right = arguments_of(np.ones((1, 2, 2)), np.eye(2)[:1])
    for ask in (
        tree.pairs,
        tree.count_pairs,
        tree.records,
        *(partial(getattr(tree, name), **right[name]) for name in right),
        lambda **given: bp.SweepAndPrune.from_spheres([[0.0, 0]], 1).query_rows([0], **given),
        tree.iter_pairs,
    ):
        with pytest.raises(ValueError, match="unknown by 'ball'"):
            ask(by="ball")
    plain = bp.Octree([[0, 0, 1, 1]])
    assert plain.raycast([[-1, 0.5]], [[1, 0]], by="sphere").rows.tolist() == [0]


@pytest.mark.parametrize("make", [bp.Octree, bp.SweepAndPrune])
@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_spheres_decide_boxes_points_and_counts_exactly(kind, dimension, make):
    centers, radii = scene(kind, 30, dimension, 1)
    tree = tree_of(centers, radii, make)
    assert tree.count_pairs(by="sphere") == len(tree.pairs(by="sphere"))
    low, _ = scene(kind, 20, dimension, 3)
    wide, _ = scene(kind, 20, dimension, 4)
    lower, upper = np.minimum(low, wide), np.maximum(low, wide)
    for found, least, most in (
        (tree.query((lower, upper), by="sphere"), lower, upper),
        (tree.query_points(low, by="sphere"), low, low),
    ):
        boxes = tree.boxes_of()
        for number in range(20):
            wanted = []
            for row in range(30):
                meets = (boxes[row, 0] <= most[number]).all() and (boxes[row, 1] >= least[number]).all()
                if meets and np.isfinite(radii[row]):
                    meets = gap(least[number], most[number], centers[row]) <= Fraction(float(radii[row])) ** 2
                wanted += [row] if meets else []
            assert found[number].tolist() == wanted


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["uniform", "lattice", "far", "huge"])
def test_nearest_of_spheres_is_by_the_farther_of_box_and_sphere(kind, dimension):
    centers, radii = scene(kind, 60, dimension, 1)
    tree = tree_of(centers, radii)
    points, limits = scene(kind, 25, dimension, 2)
    limits = np.where(np.isfinite(limits), limits * 3, np.inf)
    boxes = tree.boxes_of()
    scale = float(np.abs(centers).max())
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = (
            np.maximum(np.maximum(boxes[:, 0] - points[:, np.newaxis], points[:, np.newaxis] - boxes[:, 1]), 0) / scale
        )
        to_boxes = np.sqrt((gaps**2).sum(axis=2)) * scale
        ways = (points[:, np.newaxis] - centers) / scale
        to_spheres = np.sqrt((ways**2).sum(axis=2)) * scale - np.where(np.isfinite(radii), radii, np.inf)
    away = np.maximum(to_boxes, np.maximum(to_spheres, 0))
    for k in (1, 4, 70):
        found = tree.nearest(points, k, limits, by="sphere", ignore=2)
        for number in range(25):
            wanted = sorted((d, row) for row, d in enumerate(away[number]) if d <= limits[number] and row != 2)[:k]
            own = [row for row in found.rows[number].tolist() if row >= 0]
            assert np.allclose(
                found.distances[number][: len(own)], [d for d, _ in wanted], rtol=1e-9, atol=1e-12 * scale
            )
            assert np.allclose(away[number][own], [d for d, _ in wanted], rtol=1e-9, atol=1e-12 * scale)


def test_objects_that_have_spheres_are_not_moved_without_them():
    boxes = [[-1, -1, 1, 1], [3, 3, 5, 5], [7, 7, 11, 11]]
    tree = bp.Octree(boxes, spheres=([[0, 0], [4, 4], [9, 9]], [1, np.inf, 2]))
    tree.move([1], [[4, 4, 6, 6]])
    before = tree.boxes_of().tolist()
    with pytest.raises(ValueError, match="row 2 has a sphere: give the new ones by spheres="):
        tree.move([1, 2], [[4, 4, 6, 6], [0, 0, 1, 1]])
    assert tree.boxes_of().tolist() == before
    tree.move([2], [[0, 0, 1, 1]], spheres=([[0, 0]], np.inf))
    tree.move([2], [[0, 0, 2, 2]])


def test_a_row_that_leaves_the_world_is_named():
    tree = bp.Octree([[1, 1, 2, 2], [3, 3, 4, 4], [5, 5, 6, 6]], bounds=[0, 0, 8, 8], outside="raise")
    with pytest.raises(ValueError, match="row 2 is not inside the world"):
        tree.move([0, 2], [[1, 1, 2, 2], [7, 7, 9, 9]])


def test_a_sweep_of_spheres_keeps_them_through_changes():
    random = np.random.default_rng(3)
    centers, radii = random.random((200, 3)) * 6, random.random(200) * 0.5
    sweep = bp.SweepAndPrune.from_spheres(centers, radii, axis=0)
    rows = sweep.insert(None, spheres=(centers[:20] + 0.1, radii[:20]))
    sweep.move([5, 6], None, spheres=(centers[7:9], radii[7:9]))
    sweep.remove([0, 210])
    assert rows.tolist() == list(range(200, 220))
    all_centers, all_radii = np.concatenate([centers, centers[:20] + 0.1]), np.concatenate([radii, radii[:20]])
    all_centers[[5, 6]], all_radii[[5, 6]] = centers[7:9], radii[7:9]
    wanted = [
        [i, j]
        for i, j in combinations(range(220), 2)
        if not {i, j} & {0, 210} and np.linalg.norm(all_centers[i] - all_centers[j]) <= all_radii[i] + all_radii[j]
    ]
    assert sweep.pairs(by="sphere", sort=True).tolist() == wanted
    with pytest.raises(ValueError, match="row 1 has a sphere"):
        sweep.update(sweep.boxes_of(sweep.rows))
    with pytest.raises(bp.errors.UnsupportedQueryError, match="does not support nearest"):
        sweep.nearest([[0, 0, 0]], by="sphere")


@pytest.mark.parametrize("nothing", [[], np.empty((0, 6)), np.empty((0, 2, 3), np.float32)])
def test_no_boxes_meet_no_spheres(nothing):
    assert len(bp.Octree.from_spheres([[0, 0, 0]], 1).query(nothing, by="sphere")) == 0


def test_shapecast_that_only_grazes_a_sphere_touches_it_there():
    tree = bp.Octree.from_spheres([[5, 2], [5, 9]], 1)
    for box, motion, time in (
        ([[0, 0, 1, 1]], [[10, 0]], 0.4),  # beneath the sphere, along a side of the box
        ([[0, 0, 1, 1]], [[-10, 0]], np.inf),
        ([[4.5, -9, 5.5, -8]], [[0, 9]], 1.0),  # ends where it touches
    ):
        assert tree.shapecast(box, motion, by="sphere").times.tolist() == [pytest.approx(time)]
