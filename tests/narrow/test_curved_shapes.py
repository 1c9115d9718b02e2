"""Cylinders, cones, ellipsoids and sectors, against formulas and an oracle that knows how far each reaches."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import broadphase as bp
from reaches import reach
from shape_cases import Numbers, rotations, shape_of

EXACT = 1e-9  # of the size of the larger shape
CURVED = ["Cylinder", "Cone", "Ellipsoid"]
OTHERS = ["Point", "Sphere", "Segment", "Capsule", "Box", "Triangle"]


def signed_distance(first, second):
    """The widest gap along any direction: the best of many, and from there to where it is the widest nearby."""

    def gaps(ways):
        ways = ways / np.linalg.norm(ways, axis=-1, keepdims=True)
        return -reach(second, -ways) - reach(first, ways)

    ways = np.random.default_rng(0).normal(size=(1000, first.dim))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    found = gaps(ways)
    best = -np.inf
    for way in ways[np.argsort(-found)[: 1 if found.max() > 0 else 6]]:  # of shapes that are apart, there is one peak
        for _ in range(2):  # from where the first search ended, as it may have got stuck on a ridge
            options = {"xatol": 1e-11, "fatol": 1e-13, "maxiter": 2000}
            end = minimize(lambda at: -gaps(at[np.newaxis])[0], way, method="Nelder-Mead", options=options)
            way = end.x / np.linalg.norm(end.x)
        best = max(best, -end.fun)
    return best


def size_of(*shapes):
    return max(np.ptp(bp.Shapes(shape, np.zeros((1, shape.dim))).boxes[0], axis=0).max() for shape in shapes)


def pairs_of(d, curved, others, apart, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        for name in curved:
            for other in others:
                first = shape_of(name, Numbers(rng, d))
                second = shape_of(other, Numbers(rng, d))
                kinds = type(second), {key: getattr(second, key) for key in second._parameters if key != "offset"}
                yield first, kinds[0](**kinds[1], offset=second.offset + apart * rng.normal(size=d))


@pytest.mark.parametrize("apart", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    ("d", "curved", "others"),
    [
        (3, CURVED, [*CURVED, *OTHERS]),
        (2, ["Sector"], ["Sector", "Point", "Circle", "Capsule", "Rectangle", "Triangle"]),
    ],
    ids=["space", "plane"],
)
def test_signed_distances_are_those_of_the_widest_gap(d, curved, others, apart):
    for first, second in pairs_of(d, curved, others, apart, 1, int(10 * apart)):
        true, size = signed_distance(first, second), size_of(first, second)
        for one, other in ((first, second), (second, first)):
            assert bp.distance(one, other) == pytest.approx(true, abs=EXACT * size), (one, other)
            if abs(true) > EXACT * size:
                assert bp.overlaps(one, other) is bool(true < 0)
        contact = bp.contacts(first, second)
        assert len(contact.pairs) == (true <= 0) or abs(true) <= EXACT * size
        if len(contact.pairs):
            assert contact.depths[0] == pytest.approx(-true, abs=EXACT * size)
            normal = contact.normals[0][np.newaxis]
            assert reach(first, normal)[0] + reach(second, -normal)[0] == pytest.approx(-true, abs=1e-6 * size)


# ---- Closed formulas for points ----


def to_cylinder(shape, point):
    along = shape.end - shape.start
    length, unit = np.linalg.norm(along), along / np.linalg.norm(along)
    height = (point - shape.start) @ unit
    beside = np.linalg.norm(point - shape.start - height * unit) - shape.radius
    beyond = max(-height, height - length)
    return max(beside, beyond) if min(beside, beyond) <= 0 else np.hypot(beside, beyond)


def to_ellipse_point(radii, point):
    """Outside: the nearest point is where the normal leads to it, which one number names."""

    def excess(t):
        return ((radii * point / (t + radii**2)) ** 2).sum() - 1

    t = brentq(excess, 0, 10 * np.linalg.norm(point) * radii.max() + 10, xtol=1e-15, rtol=1e-15)
    return np.linalg.norm(point - radii**2 * point / (t + radii**2))


def test_points_are_as_far_from_cylinders_as_the_formula_says():
    rng = np.random.default_rng(1)
    for _ in range(300):
        shape = bp.Cylinder(*rng.normal(size=(2, 3)), rng.random())
        point = 2 * rng.normal(size=3)
        found, size = bp.distance(shape, bp.Point(offset=point)), size_of(shape)
        assert found == pytest.approx(to_cylinder(shape, point), abs=EXACT * size)


def test_points_are_as_far_from_ellipsoids_as_the_formula_says():
    rng = np.random.default_rng(2)
    for _ in range(300):
        radii, way = rng.uniform(0.05, 1, 3), rng.normal(size=3)
        point = way / np.linalg.norm(way / radii) * rng.uniform(1.001, 4)
        found = bp.distance(bp.Ellipsoid(radii), bp.Point(offset=point))
        assert found == pytest.approx(to_ellipse_point(radii, point), abs=EXACT * 2 * radii.max())


def test_distances_that_anyone_can_check():
    drum = bp.Cylinder((0, 0, -1), (0, 0, 1), 0.5)
    hat = bp.Cone((0, 0, 0), (0, 0, 2), 1)
    egg = bp.Ellipsoid((1, 2, 3))
    eye = bp.Sector(10, np.pi / 2)
    cases = [
        (drum, bp.Cylinder((3, 0, -1), (3, 0, 1), 0.25), 2.25),  # side by side
        (drum, bp.Cylinder((0, 0, 4), (0, 0, 5), 2), 3),  # one on the other
        (drum, bp.Cylinder((3, -5, 0), (3, 5, 0), 0.5), 2),  # crossed
        (drum, bp.Box(2, 2, 2, offset=(0, 0, 2.5)), 0.5),
        (drum, bp.Sphere(1, offset=(0, 0, 1.5)), -0.5),
        (hat, bp.Cone((0, 0, 7), (0, 0, 5), 1), 3),  # tip to tip
        (hat, bp.Point(offset=(0, 0, -1)), 1),
        (hat, bp.Point(offset=(2, 0, 0)), 1),
        (egg, bp.Ellipsoid((1, 2, 3), offset=(5, 0, 0)), 3),
        (egg, bp.Sphere(1, offset=(0, 0, -6)), 2),
        (egg, bp.Ellipsoid((0, 0, 0), offset=(0, 5, 0)), 3),
        (bp.Ellipsoid((2, 2, 2)), bp.Ellipsoid((1, 1, 1), offset=(0, 0, 2.5)), -0.5),
        (eye, bp.Point(offset=(11, 0)), 1),
        (eye, bp.Circle(1, offset=(0, -3)), np.sqrt(4.5) - 1),
        (eye, bp.Point(offset=(-3, 0)), 3),
        (bp.Sector(2, np.pi), bp.Point(offset=(-1, 1)), 1),  # half a disc
        (bp.Sector(2, 0), bp.Point(offset=(3, 0)), 1),  # a line
    ]
    for first, second, gap in cases:
        assert bp.distance(first, second) == pytest.approx(gap, abs=1e-9), (first, second)
        assert bp.distance(second, first) == pytest.approx(gap, abs=1e-9), (first, second)
        assert bp.overlaps(first, second) is bool(gap < 0)


# ---- Boxes, rays, motion ----


@pytest.mark.parametrize("name", [*CURVED, "Sector"])
def test_boxes_are_the_tightest(name):
    rng = np.random.default_rng(3)
    d = 2 if name == "Sector" else 3
    for _ in range(200):
        shape = shape_of(name, Numbers(rng, d))
        lower, upper = bp.Shapes(shape, np.zeros((1, d))).boxes[0]
        assert np.allclose(upper, reach(shape, np.eye(d)), rtol=0, atol=1e-12)
        assert np.allclose(lower, -reach(shape, -np.eye(d)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [*CURVED, "Sector"])
def test_rays_end_where_they_first_touch(name):
    rng = np.random.default_rng(4)
    d, hits = 2 if name == "Sector" else 3, 0
    for _ in range(60):
        shape = shape_of(name, Numbers(rng, d))
        origin = 3 * rng.normal(size=d)
        way = rng.normal(size=d) / 4 + shape.offset - origin
        way /= np.linalg.norm(way)
        found = bp.raycast(bp.Shapes(shape, np.zeros((1, d))), origin, way)
        length, size = found.distances.item(), size_of(shape)
        inside = signed_distance(shape, bp.Point(offset=origin)) <= 0
        if inside:
            assert length == 0
            continue
        far = min(length, 10.0)
        for share in np.linspace(0, 1, 15)[:-1]:
            assert bp.distance(shape, bp.Point(offset=origin + share * far * way)) > 0
        if length < np.inf:
            hits += 1
            end = bp.Point(offset=origin + length * way)
            assert bp.distance(shape, end) == pytest.approx(0, abs=1e-8 * max(size, length))
            assert found.normals.reshape(d) @ way <= 1e-6
    assert hits > 10


@pytest.mark.parametrize("name", [*CURVED, "Sector"])
def test_what_moves_first_touches_at_its_time_of_impact(name):
    rng = np.random.default_rng(5)
    d, hits = 2 if name == "Sector" else 3, 0
    others = ["Rectangle", "Circle", "Sector"] if d == 2 else ["Box", "Sphere", *CURVED]
    for _ in range(20):
        for other in others:
            first, second = shape_of(name, Numbers(rng, d)), shape_of(other, Numbers(rng, d))
            start = rng.normal(size=d) * 4
            motion = (second.offset - first.offset - start) * 1.5
            time = bp.time_of_impact(bp.Shapes(first, start), second, motions=motion).times.item()
            size = size_of(first, second)
            if bp.overlaps(bp.Shapes(first, start), second):
                assert time == 0
                continue
            for share in np.linspace(0, min(time, 1), 10)[:-1]:
                assert bp.distance(bp.Shapes(first, start + share * motion), second) > 0
            if time <= 1:
                hits += 1
                gap = bp.distance(bp.Shapes(first, start + time * motion), second)
                assert gap == pytest.approx(0, abs=1e-6 * max(size, np.linalg.norm(motion)))
    assert hits > 30


# ---- What is not allowed, and the edges of what is ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bp.Cylinder((0, 0, 0), (0, 0, 0), 1), "end is start: it has no axis"),
        (lambda: bp.Cylinder([[0, 0, 0], [1, 0, 0]], (1, 0, 0), 1), "end: row 1 is start: it has no axis"),
        (lambda: bp.Cylinder(np.zeros((2, 3)), np.ones((3, 3)), 1), "start has 2 rows and end has 3"),
        (lambda: bp.Cone(np.zeros((2, 3)), np.ones((3, 3)), 1), "base has 2 rows and apex has 3"),
        (lambda: bp.Cylinder((0, 0), (1, 0), 1), r"start must be \(3,\) or \(n, 3\)"),
        (lambda: bp.Cylinder((0, 0, 0), (1, 0, 0), -1), "radius is -1.0, which is negative"),
        (lambda: bp.Cone((0, 0, 1), (0, 0, 1), 1), "apex is base: it has no axis"),
        (lambda: bp.Ellipsoid((1, -2, 3)), "radii has -2.0, which is negative"),
        (lambda: bp.Ellipsoid([(1, 2, 3), (1, 2, np.nan)]), "radii: row 1 has nan"),
        (lambda: bp.Sector(1, [1, 4]), "angle: row 1 is 4.0, which is more than pi: a Compound"),
        (lambda: bp.Sector(-1, 1), "radius is -1.0, which is negative"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1.0, 1e9, 1e30])
def test_sizes_of_any_order_have_their_distances(scale):
    shapes = [
        bp.Cylinder((0, 0, -scale), (0, 0, scale), scale), bp.Cone((0, 0, -scale), (0, 0, scale), scale),
        bp.Ellipsoid((scale, scale, scale)),
    ]  # fmt: skip
    for shape in shapes:
        assert bp.distance(shape, bp.Point(offset=(0, 0, 3 * scale))) == pytest.approx(2 * scale, rel=1e-9)
    eye = bp.Sector(scale, 1)
    assert bp.distance(eye, bp.Point(offset=(-scale, 0))) == pytest.approx(scale, rel=1e-9)


def test_shapes_without_volume_touch_what_they_should():
    disc = bp.Ellipsoid((1, 1, 0))
    needle = bp.Cylinder((0, 0, -1), (0, 0, 1), 0)
    assert bp.overlaps(disc, needle)
    assert bp.distance(disc, bp.Point(offset=(0, 0, 2))) == pytest.approx(2, abs=1e-9)
    assert bp.distance(needle, bp.Point(offset=(3, 0, 0))) == pytest.approx(3, abs=1e-9)
    assert bp.distance(disc, bp.Ellipsoid((1, 1, 0), offset=(0, 0, 0.5))) == pytest.approx(0.5, abs=1e-9)
    assert not bp.overlaps(bp.Sector(0, 1), bp.Point(offset=(1e-3, 0)))


def lattice_shape(name, rng):
    """Sizes and places of halves along the axes: faces, edges and rims in line with each other, or in one place."""
    axis, offset = np.eye(3)[rng.integers(3)] * rng.choice([-2, -1, 1, 3]), rng.integers(-3, 4, 3) / 2
    half = rng.integers(0, 4) / 2
    return {
        "Cylinder": lambda: bp.Cylinder((0, 0, 0), axis, half, offset=offset),
        "Cone": lambda: bp.Cone((0, 0, 0), axis, half, offset=offset),
        "Ellipsoid": lambda: bp.Ellipsoid(rng.integers(0, 4, 3) / 2, offset=offset),
        "Point": lambda: bp.Point(offset=offset),
        "Sphere": lambda: bp.Sphere(half, offset=offset),
        "Segment": lambda: bp.Segment(offset, offset + axis),
        "Capsule": lambda: bp.Capsule(offset, offset + axis, half),
        "Box": lambda: bp.Box(*rng.integers(0, 4, 3), offset=offset),
        "Triangle": lambda: bp.Triangle(rng.integers(-3, 4, (3, 3)) / 2),
    }[name]()


@pytest.mark.parametrize("name", CURVED)
@pytest.mark.parametrize("other", [*CURVED, *OTHERS])
def test_shapes_in_line_have_the_distances_of_the_same_pairs_turned_and_moved(name, other):
    rng = np.random.default_rng(7)
    n = 250
    first, second = ([lattice_shape(one, rng) for _ in range(n)] for one in (name, other))
    turns, moved = rng.normal(size=(n, 4)), rng.normal(size=(n, 3))
    pairs, zeros = np.stack([np.arange(n)] * 2, axis=1), np.zeros((n, 3))
    straight = bp.distance(bp.Shapes(first, zeros), bp.Shapes(second, zeros), pairs=pairs)
    turned_ones = bp.distance(bp.Shapes(first, moved, turns), bp.Shapes(second, moved, turns), pairs=pairs)
    assert np.abs(straight - turned_ones).max() <= 4 * EXACT
    swapped = bp.distance(bp.Shapes(second, zeros), bp.Shapes(first, zeros), pairs=pairs)
    assert np.array_equal(straight, swapped)
    hits = bp.overlaps(bp.Shapes(first, zeros), bp.Shapes(second, zeros), pairs=pairs)
    assert np.array_equal(np.flatnonzero(straight <= 0), hits[:, 0])


def test_many_at_once_have_the_answers_of_each():
    rng = np.random.default_rng(6)
    n = 40
    drums = bp.Shapes(bp.Cylinder(rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.random(n)),
                      rng.normal(size=(n, 3)), rotations(rng, 3, n))  # fmt: skip
    eggs = bp.Shapes(bp.Ellipsoid(rng.random((n, 3))), rng.normal(size=(n, 3)), rotations(rng, 3, n))
    pairs = np.argwhere(np.ones((n, n)))
    gaps = bp.distance(drums, eggs, pairs=pairs)
    hits = set(map(tuple, bp.overlaps(drums, eggs).tolist()))
    assert hits == {tuple(pair) for pair, gap in zip(pairs.tolist(), gaps.tolist(), strict=True) if gap <= 0}
    assert 100 < len(hits) < n * n
    again = bp.distance(drums, eggs, pairs=pairs[::-1])[::-1]
    assert np.array_equal(gaps, again)
